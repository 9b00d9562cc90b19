"""What a report is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from bayesbt.agreement.reference import LabelAccuracy, ReferenceAgreement
from bayesbt.infer.fitted import Fit
from bayesbt.tables import Finding
from bayesbt.tie_comparison import TieComparison


@dataclass(frozen=True)
class ReportData:
    """Everything that a report says.

    Attributes
    ----------
    title : str
        Of the report.
    question : str
        What was asked, in a sentence of the author's; may be empty.
    findings : sequence of Finding, optional
        What the checks found in the data; None where nothing was checked.
    data_summary : mapping
        Further facts about the data by name (``judgments``, ``source``, ``runs``, ...), in order.
    fits : mapping of str to Fit
        By label: the dimension, or the name of the fit.
    tie_comparisons : mapping of str to TieComparison
        By the label of the fit.
    position : DataFrame, optional
        :func:`bayesbt.stability.position_summary`, one row a judge and dimension.
    run_agreement : DataFrame, optional
        :func:`bayesbt.stability.run_agreement`, one row a judge and dimension.
    references : mapping of str to ReferenceAgreement
        By the label of the fit.
    label_accuracies : mapping of str to LabelAccuracy
        By the label of the fit: how many decisive labels chose the better item.
    reference_levels : mapping of str to float
        The reference of each item, higher is better, for the picture.
    reference_title : str
        What the reference is, in a few words.
    judge_facts : sequence of mappings
        One a judge: facts by name (``judge``, ``model``, ``licence``, ``prompt``, ...).
    provenance : mapping
        Versions, seeds, hashes, command lines; may be nested.
    """

    title: str = "Report"
    question: str = ""
    findings: Sequence[Finding] | None = None
    data_summary: Mapping[str, Any] = field(default_factory=dict)
    fits: Mapping[str, Fit] = field(default_factory=dict)
    tie_comparisons: Mapping[str, TieComparison] = field(default_factory=dict)
    position: pd.DataFrame | None = None
    run_agreement: pd.DataFrame | None = None
    references: Mapping[str, ReferenceAgreement] = field(default_factory=dict)
    label_accuracies: Mapping[str, LabelAccuracy] = field(default_factory=dict)
    reference_levels: Mapping[str, float] = field(default_factory=dict)
    reference_title: str = "levels that are known by construction"
    judge_facts: Sequence[Mapping[str, Any]] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def rankings(self) -> dict[str, pd.DataFrame]:
        """The ranking of each fit by label, computed once."""
        return {label: fit.ranking() for label, fit in self.fits.items()}

    @cached_property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """The content of fit.json of each fit by label, computed once."""
        return {label: fit.summary() for label, fit in self.fits.items()}

    @classmethod
    def from_fits(cls, fits: Sequence[Fit] | Mapping[str, Fit], title: str = "Report") -> ReportData:
        """Make a report of fits alone; unnamed fits are labelled by tie model and engine."""
        if not isinstance(fits, Mapping):
            named: dict[str, Fit] = {}
            for fit in fits:
                label = f"{fit.spec.ties}, {fit.engine}"
                again = sum(key == label or key.startswith(f"{label} (") for key in named)
                named[f"{label} ({again + 1})" if again else label] = fit
            fits = named
        return cls(title=title, fits=fits)
