"""Language models as judges: from Pairs and Items to Judgments.

Public: :func:`~bayesbt.judges.run.judge`, :func:`~bayesbt.judges.run.judge_all`,
:func:`~bayesbt.judges.plan.plan`, :func:`~bayesbt.judges.run.preview`,
:func:`~bayesbt.judges.examples.choose_examples`,
:class:`~bayesbt.judges.settings.JudgeSettings`, :class:`~bayesbt.judges.settings.BackendOptions`,
:func:`~bayesbt.judges.fetch.fetch`, :func:`~bayesbt.judges.backends.load_judge`,
:class:`~bayesbt.judges.scripted.ScriptedJudge`. Nothing is imported until it is asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "BackendOptions": "settings",
    "JudgeSettings": "settings",
    "ScriptedJudge": "scripted",
    "choose_examples": "examples",
    "fetch": "fetch",
    "judge": "run",
    "judge_all": "run",
    "load_judge": "backends",
    "plan": "plan",
    "preview": "run",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
