"""The sections of a report, in order: pure functions, ReportData -> Section, or None with nothing to say.

To add a section, write such a function and give it a line in :data:`SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesbt.infer.container import group
from bayesbt.infer.fitted import Fit
from bayesbt.reporting import plots
from bayesbt.reporting.blocks import Block, Bullets, Formula, Heading, Notice, Picture, Section, Table, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.groups import CENTRED_OVER_ALL
from bayesbt.reporting.items import ranking, ranks
from bayesbt.reporting.judges import judges
from bayesbt.reporting.judging import position, stability, worth
from bayesbt.reporting.misfit import misfit
from bayesbt.reporting.summary import summary
from bayesbt.reporting.tie_models import ties
from bayesbt.reporting.verdicts import diagnostics_verdict, fit_remarks
from bayesbt.reporting.wording import MINUS, NONE, count, listed, number, percent, plural, quoted, sentence
from bayesbt.spec import ModelSpec
from bayesbt.ties import TieModel

__all__ = ["SECTIONS", "data_section", "diagnostics", "model", "provenance", "sections"]


def data_section(data: ReportData) -> Section | None:
    """Show the data and its problems."""
    blocks: list[Block] = []
    if data.data_summary:
        facts = tuple(
            (str(name).replace("_", " "), _fact(value)) for name, value in data.data_summary.items()
        )
        blocks.append(Table(("", ""), facts, "The data", words=2))
    if data.fits:
        blocks.append(_counts_table(data))
    for level, title in (("error", "Errors"), ("warning", "Warnings"), ("note", "Notes")):
        found = [finding for finding in data.findings or () if finding.level == level]
        messages = tuple(sentence(finding.message) for finding in found)
        if messages:
            blocks += [Heading(title), Bullets(messages)]
    if data.findings is not None and not data.findings:
        blocks.append(Text("The checks found nothing to report."))
    return Section("data", "Data and its problems", tuple(blocks)) if blocks else None


def _fact(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | np.number):
        return count(float(value))
    if isinstance(value, str) or not isinstance(value, Sequence):
        return NONE if value is None else str(value)
    return listed([str(entry) for entry in value], 12)


def _counts_table(data: ReportData) -> Table:
    rows = []
    for label, fit in data.fits.items():
        each = fit.counts.comparisons
        share = (
            percent(float(fit.counts.ties.sum()) / fit.counts.judgments, 1) if fit.counts.judgments else NONE
        )
        spread = " / ".join(count(float(value)) for value in (each.min(), np.median(each), each.max()))
        components = data.summaries[label]["data"]["components"]
        cells = (fit.counts.judgments, fit.counts.unscored, fit.counts.n_items, components)
        rows.append((label, count(cells[0]), share, *(count(float(cell)) for cell in cells[1:]), spread))
    columns = (
        "fit",
        "judgments",
        "ties",
        "without an outcome",
        "items",
        "groups",
        "comparisons an item: least / median / most",
    )
    return Table(columns, tuple(rows), "What was fitted; repeated runs count as one judgment together")


SYMBOL_OF = {
    "strength_sd": "σ",
    "tie": "t",
    "order": "β",
    "order_judge_sd": "σ_β",
    "tie_judge_sd": "σ_t",
    "adherence_sd": "σ_α",
    "covariate": "γ",
}

SYMBOLS = (
    "s(x) = 1 / (1 + exp(-x)); λ is the strength of an item in log-odds, centred to sum to zero {centred}; "
    "a is the item shown first."
)


def model(data: ReportData) -> Section | None:
    """Write the model with its formulas, and every prior in force."""
    blocks: list[Block] = []
    seen: dict[str, list[str]] = {}
    for label, fit in data.fits.items():
        priors = data.summaries[label]["model"]["priors"]
        seen.setdefault(repr((fit.spec, fit.engine, priors)), []).append(label)
    for labels in seen.values():
        fit, priors = data.fits[labels[0]], data.summaries[labels[0]]["model"]["priors"]
        if len(seen) > 1:
            blocks.append(Heading(listed(labels)))
        tie = fit.spec.tie_model
        blocks.append(Text(f"Tie model: {_tie_model(tie)}. Engine: {fit.engine}."))
        lines = (
            *_predictor_lines(fit.spec),
            *tie.formula,
            *_prior_lines(priors),
        )
        blocks.append(Formula(tuple(line.replace("-", MINUS) for line in lines)))
        if not priors:
            blocks.append(Text(f"No priors: the engine {fit.engine} does not use them."))
    meanings = [SYMBOLS.replace("(-x)", f"({MINUS}x)").format(centred=_centred(data.fits.values()))]
    if any(fit.spec.tie_model.has_tie_parameter for fit in data.fits.values()):
        meanings.append("t is the probability of a tie between items of equal strength.")
    if any(fit.spec.order != "none" for fit in data.fits.values()):
        meanings.append("β is the order effect in log-odds, above 0 in favour of the item shown first.")
    return Section("model", "Model and priors", (*blocks, Text(" ".join(meanings)))) if blocks else None


def _tie_model(tie: TieModel) -> str:
    """Write title and source; the year alone where the source repeats the names of the title."""
    if all(name in tie.source for name in tie.title.split("-")):
        return f"{tie.title} {tie.source[tie.source.index('(') :]}"
    return f"{tie.title}, {tie.source}"


def _centred(fits: Iterable[Fit]) -> str:
    """Say over which items strengths sum to zero; two engines differ from the others."""
    engines = dict.fromkeys(fit.engine for fit in fits)
    over_all = [engine for engine in engines if engine in CENTRED_OVER_ALL]
    if len(over_all) == len(engines):
        return "over all items together"
    apart = f" ({listed(over_all)}: over all items together)" if over_all else ""
    return f"within each group of items that comparisons link{apart}"


def _predictor_lines(spec: ModelSpec) -> Iterator[str]:
    """Write the linear predictor, and what belongs to a judge j."""
    difference = "α_j (λ_a - λ_b)" if spec.judges == "adherence" else "λ_a - λ_b"
    yield f"δ = {difference}" + {"none": "", "shared": " + β", "by-judge": " + β_j"}[spec.order]
    if spec.order == "by-judge":
        yield "β_j ~ Normal(β, σ_β)"
    if spec.judges == "adherence":
        yield "log α_j ~ Normal(0, σ_α), the α_j of geometric mean 1"
    if spec.tie_parameter == "by-judge":
        yield "logit t_j ~ Normal(logit t, σ_t)"
    if spec.covariates:
        yield "λ_i = γ x_i + ε_i,   x: " + ", ".join(spec.covariates) + ", standardised"


def _prior_lines(priors: Mapping[str, str]) -> Iterator[str]:
    for name, prior in priors.items():
        symbol = SYMBOL_OF.get(name, name)
        if name == "tie" and prior.startswith("LogNormal"):
            symbol = "textbook tie parameter (τ or ν)"
        if name == "strength_sd":
            yield "ε_i ~ Normal(0, σ)" if "covariate" in priors else "λ_i ~ Normal(0, σ)"
        yield f"{symbol} ~ {prior}" if "(" in prior else f"{symbol} = {prior} (fixed)"


def diagnostics(data: ReportData) -> Section | None:
    """Whether the fits can be trusted."""
    if not data.fits:
        return None
    blocks: list[Block] = []
    rows, sampled = [], {}
    for label, fit in data.fits.items():
        found = fit.diagnostics.as_dict()
        trouble = diagnostics_verdict(found)
        if trouble:
            blocks.append(Notice("error", f"{quoted(label)}: {trouble}."))
        if found["rhat_max"] is not None:
            sampled[label] = fit
        numbers = [number(found["rhat_max"], 4)]
        numbers += [
            count(found[key]) if found[key] is not None else NONE
            for key in ("ess_bulk_min", "ess_tail_min", "divergences")
        ]
        rows.append(
            (
                label,
                fit.engine,
                "no" if trouble else "yes" if label in sampled else "no chains",
                *(text.split(".")[0] if i else text for i, text in enumerate(numbers)),
            )
        )
    columns = (
        "fit",
        "engine",
        "passed",
        "largest R-hat",
        "smallest bulk ESS",
        "smallest tail ESS",
        "divergences",
    )
    blocks.append(Table(columns, tuple(rows), "Convergence of the samplers", words=3))
    blocks += [Text(note) for note in _engine_notes(data)]
    remarks = fit_remarks(data)
    if remarks:
        blocks.append(Bullets(tuple(remarks)))
    blocks += [picture for label, fit in sampled.items() for picture in _traces(label, fit)]
    return Section("diagnostics", "Diagnostics", tuple(blocks))


def _engine_notes(data: ReportData) -> list[str]:
    """Say what the intervals of engines without chains are worth."""
    notes = []
    engines = dict.fromkeys(fit.engine for fit in data.fits.values() if fit.diagnostics.rhat_max is None)
    for engine in engines:
        fits = [fit for fit in data.fits.values() if fit.engine == engine]
        if any(fit.strength_draws is None for fit in fits):
            notes.append(f"{engine} gives point estimates: no intervals, no probabilities.")
        elif any(fit.result.bayesian for fit in fits):
            notes.append(
                f"{engine} approximates the posterior by a normal distribution around its mode: it has no "
                "chains to check."
            )
        else:
            notes.append(
                f"{engine} is maximum likelihood: intervals are confidence intervals, and ranks and P(best) "
                "come from the normal approximation to the sampling distribution, not from a posterior."
            )
    return notes


def _traces(label: str, fit: Fit) -> list[Picture]:
    posterior = group(fit.idata, "posterior")
    names = [name for name in ("strength_sd", "tie", "order") if posterior is not None and name in posterior]
    if posterior is None or not names:
        return []
    draws = {name: np.asarray(posterior[name].values, dtype=float) for name in names}
    moving = {name: values for name, values in draws.items() if np.ptp(values) > 0}
    if not moving:
        return []
    text = f"{label}: traces and ranks of {listed(moving)}. Chains that agree stay near the dashed line."
    return [Picture(f"trace-{label}", plots.trace_and_ranks(moving), text, text)]


def provenance(data: ReportData) -> Section | None:
    """Where everything comes from, so that it can be made again."""
    facts = dict(data.provenance)
    for label, fit in data.fits.items():
        if fit.provenance:
            facts[f"fit {label}"] = fit.provenance
    rows = tuple(_flat(facts))
    if not rows:
        return None
    table = Table(("", ""), rows, plural(len(rows), "fact"), words=2, folded=len(rows) > 12)
    return Section("provenance", "Provenance", (table,))


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        place = f"{before} / {name}" if before else str(name)
        if isinstance(value, Mapping):
            yield from _flat(value, place)
        elif isinstance(value, list | tuple):
            yield place, " ".join(map(str, value))
        else:
            yield place, str(value)


SECTIONS: tuple[Callable[[ReportData], Section | None], ...] = (
    summary,
    data_section,
    model,
    diagnostics,
    misfit,
    ranking,
    ranks,
    ties,
    position,
    judges,
    stability,
    worth,
    provenance,
)


def sections(data: ReportData) -> list[Section]:
    """All sections that have something to say."""
    return [section for make in SECTIONS if (section := make(data)) is not None]
