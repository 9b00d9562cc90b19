"""The first section, in words: what was asked and found, how sure it is, what is wrong with the data."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bayesbt.infer.fitted import Fit
from bayesbt.reporting.blocks import Block, Bullets, Notice, Section, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.groups import Group, groups, neighbour_certainty, never_compared
from bayesbt.reporting.judging import judge_sentences
from bayesbt.reporting.verdicts import diagnostics_verdict, fit_remarks
from bayesbt.reporting.wording import between, count, listed, number, plural, probability, quoted, sentence

GROUPS_NAMED = 6
SURE = 0.95
FINDINGS_SHOWN = 4


def summary(data: ReportData) -> Section | None:
    """Everything that a hurried reader must know, poor diagnostics first."""
    blocks: list[Block] = [*_poor_diagnostics(data)]
    if data.question:
        blocks.append(Text(sentence(data.question), lead="What was asked."))
    judge = judge_sentences(data)
    if judge:
        blocks.append(Text(" ".join(judge), lead="What the judge is worth."))
    for label, fit in data.fits.items():
        ranking = data.rankings[label]
        about = f" {label}." if len(data.fits) > 1 else ""
        leaders = [_leader(group) for group in groups(ranking)]
        named = len(leaders) * len(data.fits) <= GROUPS_NAMED
        blocks.append(Text(_found(fit, ranking, named), lead=f"What was found.{about}"))
        if named and len(leaders) > 1:
            blocks.append(Bullets(tuple(leaders)))
        blocks.append(Text(_how_sure(data, label, fit, ranking), lead=f"How sure.{about}"))
    blocks += _data_problems(data)
    return Section("summary", "In short", tuple(blocks)) if blocks else None


def _poor_diagnostics(data: ReportData) -> list[Notice]:
    poor = {label: diagnostics_verdict(fit.diagnostics.as_dict()) for label, fit in data.fits.items()}
    return [
        Notice(
            "error",
            f"Poor diagnostics in the fit {quoted(label)}: {trouble}. "
            "Do not rely on its numbers below before this is mended.",
        )
        for label, trouble in poor.items()
        if trouble
    ]


def _found(fit: Fit, ranking: pd.DataFrame, named: bool) -> str:
    found = groups(ranking)
    alone = len(never_compared(ranking))
    size = f"{plural(fit.counts.judgments, 'judgment')} of {plural(len(ranking) - alone, 'item')}"
    size += f" ({alone:,} more never compared)" if alone else ""
    if len(found) == 1:
        return f"{size}. {_leader(found[0])}"
    text = f"{size} in {len(found):,} groups that no comparison links: each group is ranked by itself."
    if not named and fit.strength_draws is not None:
        clear = sum(group.rows["p_best"].iloc[0] >= SURE for group in found)
        surest = max((group.rows.iloc[0] for group in found), key=lambda row: float(row["p_best"]))
        text += (
            f" In {f'{clear:,}' if clear else 'none'} of them the leader is best with probability {SURE:g} "
            f"or more; the surest is {quoted(surest['item'])} with {probability(surest['p_best'])}."
        )
    return text


def _leader(group: Group) -> str:
    rows, top = group.rows, group.rows.iloc[0]
    chance = f" (P(best) {probability(top['p_best'])})" if math.isfinite(top["p_best"]) else ""
    start = "" if group.only else f"{quoted(group.name)}: "
    if len(rows) == 1:
        return f"{start}{quoted(top['item'])} stands alone, compared with nothing else."
    rest = listed([quoted(item) for item in rows["item"].iloc[1:3]])
    unsure = math.isfinite(top["p_best"]) and top["p_best"] < 0.5
    return (
        f"{start}{quoted(top['item'])} {'leads, but not surely' if unsure else 'is strongest'}{chance}, "
        f"with strength {number(top['strength'])}; "
        f"{'then come' if len(rows) > 2 else 'then comes'} {rest}"
        + (f"; weakest is {quoted(rows['item'].iloc[-1])}." if len(rows) > 3 else ".")
    )


def _how_sure(data: ReportData, label: str, fit: Fit, ranking: pd.DataFrame) -> str:
    certainty = neighbour_certainty(fit, ranking)
    if not len(certainty):
        return f"The engine {fit.engine} gives point estimates only: the ranking does not say how sure it is."
    ranking = ranking[ranking["comparisons"] > 0]
    width = (ranking["rank_upper"] - ranking["rank_lower"] + 1).to_numpy(dtype=float)
    sizes = ranking.groupby("component")["item"].transform("size").to_numpy(dtype=float)
    settled = int((certainty >= SURE).sum())
    text = (
        f"Of {plural(len(certainty), 'pair')} of neighbours in the ranking, "
        f"{f'{settled:,}' if settled else 'none'} {'has' if settled < 2 else 'have'} an order that "
        f"holds with probability {SURE:g} or more. "
        f"The rank interval of a typical item spans {count(float(np.median(width)))} of "
        f"{count(float(np.median(sizes)))} places."
    )
    comparison = data.tie_comparisons.get(label)
    if comparison is not None and len(comparison.rank_agreement):
        worst = comparison.rank_agreement.sort_values("kendall").iloc[0]
        text += f" Between tie models {_agreement(float(worst['kendall']), worst['first'], worst['second'])}."
    sd = data.summaries[label].get("parameters", {}).get("strength_sd")
    if sd and sd.get("mean") is not None and sd["mean"] < 0.25:
        text += (
            f" The strengths hardly differ: their standard deviation is {number(sd['mean'])} log-odds "
            f"({between(sd.get('lower'), sd.get('upper'))})."
        )
    return text


def _agreement(least: float, first: str, second: str) -> str:
    """Say how far all rankings agree; tau is rounded down, so that "or more" is true."""
    if least > 1 - 1e-9:
        return "the rankings agree completely"
    bound = number(math.floor(100 * least + 1e-9) / 100 if math.isfinite(least) else least)
    return f"the rankings agree with Kendall’s tau {bound} or more (least alike: {first} and {second})"


def _data_problems(data: ReportData) -> list[Block]:
    lead = "What is wrong with the data."
    serious = sorted(
        (f for f in data.findings or () if f.level != "note"), key=lambda finding: finding.level != "error"
    )
    remarks = len(fit_remarks(data))
    more = f" {plural(remarks, 'remark')} of the fits: see Diagnostics." if remarks else ""
    if data.findings is None:
        return [Text(f"The data were not checked for this report.{more}", lead=lead)] if data.fits else []
    if not serious:
        return [Text(f"The checks found nothing that would harm a fit.{more}", lead=lead)]
    errors = sum(finding.level == "error" for finding in serious)
    tally = [plural(n, noun) for n, noun in ((errors, "error"), (len(serious) - errors, "warning")) if n]
    shown = tuple(sentence(finding.message) for finding in serious[:FINDINGS_SHOWN])
    first = f" The first {len(shown)}:" if len(serious) > len(shown) else ""
    return [Text(f"{listed(tally)}.{more}{first}", lead=lead), Bullets(shown)]
