"""How JAX is set up for this process. Import it before JAX starts.

Double precision, and four host devices so that four chains can run side by side on a processor.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4".strip()
)

import jax

jax.config.update("jax_enable_x64", True)
