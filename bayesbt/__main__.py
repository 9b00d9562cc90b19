"""``python -m bayesbt`` is ``bayesbt``."""

from bayesbt.cli import main

main()
