"""Judgements in words: what the numbers of one fit, judge or reference mean. Each is one or two sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bayesbt.agreement.reference import ReferenceAgreement
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.wording import NO_BREAK, listed, number, percent, sentence

Share = tuple[float, float, float]

#: Above this share of decisive judgments for one side, a judge answers by position.
POSITION_SHARE = 0.75

NO_INFORMATION = "carries almost no information about the levels"


def diagnostics_verdict(diagnostics: Mapping[str, Any]) -> str:
    """Say what is poor about a fit; an empty text where nothing is."""
    if diagnostics.get("ok", True):
        return ""
    numbers = [
        f"{name} {number(float(diagnostics[key]), digits)}"
        for key, name, digits in (
            ("rhat_max", "largest R-hat", 3),
            ("ess_bulk_min", "smallest bulk ESS", 0),
            ("ess_tail_min", "smallest tail ESS", 0),
            ("divergences", "divergent transitions", 0),
            ("e_bfmi_min", "lowest E-BFMI", 2),
        )
        if diagnostics.get(key) is not None
    ]
    messages = [str(message).rstrip(".") for message in diagnostics.get("messages", ())]
    return ", ".join(numbers) or "; ".join(messages) or "the engine reported trouble"


def fit_remarks(data: ReportData) -> list[str]:
    """List what the fits say about themselves and their data, once each, without what the checks said."""
    known = {finding.message for finding in data.findings or ()}
    labels: dict[str, list[str]] = {}
    for label, fit in data.fits.items():
        for message in fit.diagnostics.messages:
            if message not in known:
                labels.setdefault(message, []).append(label)
    return [
        sentence(message if len(having) == len(data.fits) else f"{listed(having)}: {message}")
        for message, having in labels.items()
    ]


PositionKind = Literal["undecided", "by position", "leans", "no effect"]


def position_kind(share: Share) -> PositionKind:
    """Class a judge by its share of first-shown wins: (share, lower, upper)."""
    value, lower, upper = share
    if value != value:
        return "undecided"
    if (value >= POSITION_SHARE and lower > 0.5) or (value <= 1 - POSITION_SHARE and upper < 0.5):
        return "by position"
    return "leans" if lower > 0.5 or upper < 0.5 else "no effect"


def position_verdict(judge: str, dimensions: Sequence[str], shares: Sequence[Share]) -> str:
    """Say what a judge's shares of first-shown wins mean; all of one kind and towards one side.

    Parameters
    ----------
    judge : str
    dimensions : sequence of str
        May be empty.
    shares : sequence of tuple
        (share, lower, upper) of each dimension.
    """
    kind = position_kind(shares[0])
    on = f" on {listed(dimensions)}" if dimensions else ""
    if kind == "undecided":
        return f"{judge} gave no decisive judgment{on}, so nothing can be said about its position effect."
    side = "first" if shares[0][0] > 0.5 else "second"
    lowest, highest = (percent(pick(share[0] for share in shares)) for pick in (min, max))
    ends = percent(min(share[1] for share in shares)), percent(max(share[2] for share in shares))
    span = lowest if lowest == highest else f"{lowest} to {highest}"
    numbers = (
        f"the item shown first wins {span} of its decisive judgments "
        f"(95{NO_BREAK}% interval{'s within' if len(shares) > 1 else ''} {ends[0]} to {ends[1]})"
    )
    if kind == "by position":
        return f"{judge} answers by position{on}: {numbers}."
    if kind == "leans":
        return f"{judge} leans towards the item shown {side}{on}: {numbers}."
    return f"{judge} shows no clear position effect{on}: {numbers}."


def reference_worth(agreement: ReferenceAgreement) -> str:
    """How much a ranking knows of its reference: a verb phrase.

    The yardstick is the concordance, the share of pairs of different levels that stand in the right order,
    against the range that levels dealt out at random reach.
    """
    if agreement.upper < agreement.null_lower:
        return "runs against the levels: worse items stand above better ones"
    if agreement.concordance <= agreement.null_upper:
        return NO_INFORMATION
    if agreement.lower <= agreement.null_upper:
        return "may know something of the levels, but these data cannot tell it from chance"
    if agreement.concordance < 0.65:
        return "knows a little of the levels"
    return "follows the levels in part" if agreement.concordance < 0.8 else "follows the levels closely"
