"""The section that lays the tie models side by side."""

from __future__ import annotations

import pandas as pd

from bayesbt.reporting import plots
from bayesbt.reporting.blocks import Block, Heading, Notice, Picture, Section, Table, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.groups import CENTRED_OVER_ALL
from bayesbt.reporting.wording import NONE, between, count, listed, number, plural, quoted
from bayesbt.tie_comparison import TieComparison

FLIPS_NAMED = 3


def ties(data: ReportData) -> Section | None:
    """Lay the tie models side by side."""
    blocks: list[Block] = []
    for label, comparison in data.tie_comparisons.items():
        if len(data.tie_comparisons) > 1:
            blocks.append(Heading(label))
        warning = narrow_intervals(comparison)
        if warning:
            blocks.append(Notice("warning", warning))
        blocks += (
            [_tie_table(comparison), _parameter_picture(label, comparison)]
            if _has_t(comparison)
            else [_tie_table(comparison)]
        )
        if len(comparison.rank_agreement):
            blocks += _agreement(comparison.rank_agreement)
        blocks.append(_strengths_picture(label, comparison))
    return Section("ties", "Tie models side by side", tuple(blocks)) if blocks else None


def narrow_intervals(comparison: TieComparison) -> str:
    """Say that ``split`` counts ties twice, with its effective comparisons; nothing where there is no tie."""
    rows = {str(row["ties"]): row for _, row in comparison.table.iterrows()}
    if "split" not in rows:
        return ""
    judgments, effective = float(rows["split"]["judgments"]), float(rows["split"]["effective_comparisons"])
    if not effective > judgments:
        return ""
    text = (
        f"“split” enters each tie as two comparisons, one win each way: it counts {count(effective)} of them "
        f"where {plural(judgments, 'judgment')} {'was' if judgments == 1 else 'were'} made. "
        "Its intervals are too narrow."
    )
    if "split-half" in rows:
        ratio = float(rows["split-half"]["interval_width"]) / float(rows["split"]["interval_width"])
        text += f" “split-half”, where a tie counts once, gives intervals {number(ratio)} times as wide."
    return text


def _greek(name: str) -> str:
    return {"theta": "θ", "nu": "ν"}.get(name, name)


def _has_t(comparison: TieComparison) -> bool:
    return bool(comparison.table["tie_parameter"].notna().any())


def _tie_table(comparison: TieComparison) -> Table:
    rows = []
    for _, row in comparison.table.iterrows():
        native = (
            f"{_greek(row['native_name'])} = {number(row['native'])}" if pd.notna(row["native"]) else NONE
        )
        cells = [
            str(row["ties"]),
            number(row["tie_parameter"]),
            between(row["tie_lower"], row["tie_upper"]),
            native,
        ]
        cells += [
            number(row["interval_width"]),
            number(row["relative_width"]),
            count(row["effective_comparisons"]),
        ]
        if pd.notna(comparison.table["order"]).any():
            cells += [number(row["order"]), between(row["order_lower"], row["order_upper"])]
        rows.append(tuple(cells))
    columns = [
        "tie model",
        "t = P(tie)",
        "interval",
        "textbook parameter",
        "interval width",
        "relative width",
        "effective comparisons",
    ]
    if pd.notna(comparison.table["order"]).any():
        columns += ["order effect β", "interval"]
    caption = (
        "t is the probability of a tie between items of equal strength; interval widths are means over the "
        "strengths, in log-odds and relative to the spread of the strengths"
    )
    return Table(tuple(columns), tuple(rows), caption)


def _parameter_picture(label: str, comparison: TieComparison) -> Picture:
    table = comparison.table[comparison.table["tie_parameter"].notna()]
    rows = plots.Intervals(
        list(table["ties"]), table["tie_parameter"], table["tie_lower"], table["tie_upper"]
    )
    notes = [
        f"{_greek(name)} = {number(value)}"
        for name, value in zip(table["native_name"], table["native"], strict=True)
    ]
    shown = "; ".join(
        f"{name} {number(t)}" for name, t in zip(table["ties"], table["tie_parameter"], strict=True)
    )
    return Picture(
        f"tie-parameter-{label}",
        plots.tie_parameters(rows, notes=notes),
        "Tie parameter by model; the textbook parameter at the right.",
        f"Tie parameter by model: {shown}.",
    )


def _agreement(frame: pd.DataFrame) -> list[Block]:
    """Tabulate how the rankings agree, and name pairs that flip between the models least alike."""
    rows = tuple(
        (str(row["first"]), str(row["second"]), number(row["kendall"], 3), count(row["flips"]))
        for _, row in frame.iterrows()
    )
    columns = ("tie model", "against", "Kendall’s tau", "pairs that flip")
    caption = "Do the rankings agree? Pairs that flip stand in opposite orders"
    blocks: list[Block] = [Table(columns, rows, caption, words=2)]
    worst = frame.sort_values("kendall").iloc[0]
    if worst["flips"]:
        shown = [f"{quoted(a)} above {quoted(b)}" for a, b in worst["flipped"][:FLIPS_NAMED]]
        blocks.append(Text(f"{worst['first']} puts {listed(shown)}; {worst['second']} the other way round."))
    return blocks


def _strengths_picture(label: str, comparison: TieComparison) -> Picture:
    frames = {name: fit.ranking().set_index("item") for name, fit in comparison.fits.items()}
    first = next(iter(frames.values()))
    items = list(first.index)
    models = {}
    for name, frame in frames.items():
        rows = frame.loc[items]
        models[name] = plots.Intervals(items, rows["strength"], rows["lower"], rows["upper"])
    over_all = all(fit.engine in CENTRED_OVER_ALL for fit in comparison.fits.values())
    where = "over all items together" if over_all else "within each group"
    note = f" Strengths are centred {where}." if first["component"].nunique() > 1 else ""
    return Picture(
        f"tie-strengths-{label}",
        plots.tie_strengths(models),
        f"Strengths under each tie model, with intervals.{note}",
        f"Strengths of items side by side under {listed(models)}.",
    )
