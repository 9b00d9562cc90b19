"""Sections on the judge: position effect, repeated runs, and what its ranking knows of a reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bayesbt.reporting import plots
from bayesbt.reporting.blocks import Block, Bullets, Picture, Section, Table, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.verdicts import NO_INFORMATION, Share, position_kind, position_verdict, reference_worth
from bayesbt.reporting.wording import NONE, between, count, listed, number, percent, plural, quoted

POSITION_LABELS = ("share_first", "lower", "upper")


def _label(row: pd.Series[Any]) -> str:
    named = [name for name in (_named(row, "judge"), _named(row, "dimension")) if name]
    return ", ".join(named) or "all judgments"


def _named(row: pd.Series[Any], column: str) -> str:
    return str(row[column]) if column in row and pd.notna(row[column]) else ""


def _shares(frame: pd.DataFrame) -> list[Share]:
    share, lower, upper = (frame[name].astype(float) for name in POSITION_LABELS)
    return list(zip(share, lower, upper, strict=True))


def position_sentences(data: ReportData) -> list[str]:
    """Say it once for all dimensions of a judge that are alike."""
    if data.position is None:
        return []
    alike: dict[tuple[str, str, bool], list[tuple[str, Share]]] = {}
    for (_, row), share in zip(data.position.iterrows(), _shares(data.position), strict=True):
        judge, dimension = (_named(row, name) for name in ("judge", "dimension"))
        alike.setdefault((judge or "The judge", position_kind(share), share[0] > 0.5), []).append(
            (dimension, share)
        )
    return [
        position_verdict(judge, [name for name, _ in rows if name], [share for _, share in rows])
        for (judge, _, _), rows in alike.items()
    ]


def reference_sentences(data: ReportData) -> list[str]:
    """Say what each ranking knows of the reference, and why it may know little."""
    alike: dict[str, list[str]] = {}
    for label, agreement in data.references.items():
        alike.setdefault(reference_worth(agreement), []).append(label)
    sentences = []
    for phrase, labels in alike.items():
        found = [data.references[label] for label in labels]
        shares = [
            f"{percent(one.concordance)} ({percent(one.lower)} to {percent(one.upper)})" for one in found
        ]
        chance = min(one.null_lower for one in found), max(one.null_upper for one in found)
        names = listed([quoted(label) for label in labels])
        sentences.append(
            f"{'Each of the rankings' if len(labels) > 1 else 'The ranking'} {names} {phrase}. "
            f"Pairs of different levels in the right order: {listed(shares)}; "
            f"levels dealt out at random give {percent(chance[0])} to {percent(chance[1])}."
        )
    return sentences


def judge_sentences(data: ReportData) -> list[str]:
    """Say what the judge is worth: its rankings, its position effect, and what both together mean."""
    sentences = [*reference_sentences(data), *position_sentences(data)]
    ignorant = any(reference_worth(agreement) == NO_INFORMATION for agreement in data.references.values())
    positions = [] if data.position is None else [position_kind(share) for share in _shares(data.position)]
    if ignorant and "by position" in positions:
        sentences.append("Its answers tell where an item stood in the prompt, and hardly how good it is.")
    return sentences


def position(data: ReportData) -> Section | None:
    """Whether the side on which an item was shown decides."""
    effects = _order_effects(data)
    if data.position is None and not effects:
        return None
    blocks: list[Block] = [Bullets(tuple(position_sentences(data)))] if data.position is not None else []
    if data.position is not None and len(data.position):
        blocks += [_position_table(data.position), _position_picture(data.position)]
    if effects:
        rows = tuple((label, number(mean), between(lower, upper)) for label, mean, lower, upper in effects)
        blocks.append(Text("The order effect β is part of the model; at 0 the side shown does not matter."))
        blocks.append(
            Table(
                ("fit", "β (log-odds)", "interval"),
                rows,
                "Order effect, above 0 in favour of the item shown first",
            )
        )
        columns = [list(column) for column in zip(*effects, strict=True)]
        figure = plots.order_effects(plots.Intervals(columns[0], *columns[1:]))
        shown = "; ".join(f"{row[0]}: {row[1]} ({row[2]})" for row in rows)
        blocks.append(
            Picture("order-effect", figure, "Order effect with intervals.", f"Order effect by fit. {shown}.")
        )
    return Section("position", "Position effect", tuple(blocks))


def _order_effects(data: ReportData) -> list[tuple[str, float, float, float]]:
    found: list[tuple[str, float, float, float]] = []
    for label, fit in data.fits.items():
        order = data.summaries[label].get("parameters", {}).get("order")
        if fit.spec.order != "none" and order:
            mean, lower, upper = (_float(order.get(key)) for key in ("mean", "lower", "upper"))
            found.append((label, mean, lower, upper))
    return found


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _position_table(frame: pd.DataFrame) -> Table:
    share, lower, upper = POSITION_LABELS
    both = bool((frame["both_orders"] > 0).any())
    columns = ["judge, dimension", "first wins", "second wins", "ties", "share of first", "95 % interval"]
    columns += ["pairs in both orders", "winner flips", "same winner", "a tie in one"] if both else []
    rows = []
    for _, row in frame.iterrows():
        cells = [_label(row), count(row["first_wins"]), count(row["second_wins"]), count(row["ties"])]
        cells += [
            percent(row[share], 1),
            f"{percent(row[lower], 1)} to {percent(row[upper], 1)}" if row[lower] == row[lower] else NONE,
        ]
        if both:
            cells += [
                count(row["both_orders"]),
                *(percent(row[name]) for name in ("flip", "same_winner", "tied")),
            ]
        rows.append(tuple(cells))
    return Table(tuple(columns), tuple(rows), "First-shown wins among decisive judgments")


def _position_picture(frame: pd.DataFrame) -> Picture:
    labels = [_label(row) for _, row in frame.iterrows()]
    share, lower, upper = (frame[name].to_numpy(dtype=float) for name in POSITION_LABELS)
    notes = [f"n = {count(n)}" for n in frame["first_wins"] + frame["second_wins"]]
    figure = plots.first_shown_shares(plots.Intervals(labels, share, lower, upper), notes=notes)
    shown = "; ".join(
        f"{plots.shorten(label)} {percent(value)}" for label, value in zip(labels, share, strict=True)
    )
    caption = (
        "Share of first-shown wins. With both orders judged and no position effect, near the dashed line."
    )
    return Picture(
        "first-shown", figure, caption, f"Share of decisive judgments won by the item shown first: {shown}."
    )


def stability(data: ReportData) -> Section | None:
    """How alike repeated runs are."""
    frame = data.run_agreement
    if frame is None or not len(frame):
        return None
    names = [
        name for name in frame.columns if name not in ("judge", "dimension") and frame[name].notna().any()
    ]
    rows = tuple((_label(row), *(_cell(name, row[name]) for name in names)) for _, row in frame.iterrows())
    headings = ("judge, dimension", *(name.replace("_", " ") for name in names))
    note = Text(
        "Repeated runs show how much of an answer is chance in drawing it; they are not new judgments."
    )
    return Section(
        "stability", "Repeated runs", (note, Table(headings, rows, "Labels of one pair over the runs"))
    )


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or NONE
    if name == "alpha":
        return number(float(value))
    whole = name in ("pairs", "runs", "incomplete")
    return count(float(value)) if whole else percent(float(value), 1)


def worth(data: ReportData) -> Section | None:
    """Tell the judge, and what its ranking knows of the reference."""
    if not data.references and not data.judge_facts:
        return None
    blocks: list[Block] = []
    if data.references:
        blocks.append(Text(f"The reference: {data.reference_title}.", lead=""))
        blocks.append(Bullets(tuple(judge_sentences(data))))
        blocks.append(_reference_table(data))
    for label in data.fits:
        if label in data.references and data.reference_levels:
            blocks.append(_reference_picture(data, label))
    if data.judge_facts:
        names = list(dict.fromkeys(name for facts in data.judge_facts for name in facts))
        rows = tuple((name, *(str(facts.get(name, NONE)) for facts in data.judge_facts)) for name in names)
        headings = ("", *(str(facts.get("judge", "")) for facts in data.judge_facts))
        blocks.append(Table(headings, rows, "The judge", words=len(headings)))
    return Section("judge", "What the judge is worth", tuple(blocks))


def _reference_table(data: ReportData) -> Table:
    rows = []
    for label, one in data.references.items():
        right = f"{percent(one.concordance, 1)} ({percent(one.lower, 1)} to {percent(one.upper, 1)})"
        chance = f"{percent(one.null_lower, 1)} to {percent(one.null_upper, 1)}"
        tau = f"{number(one.kendall)} ({between(one.kendall_lower, one.kendall_upper)})"
        cells = [label, count(one.n_items), count(one.n_pairs), right, chance, tau]
        if data.label_accuracies:
            label_share = data.label_accuracies.get(label)
            cells.append(
                NONE
                if label_share is None
                else f"{percent(label_share.share, 1)} of {count(label_share.decisive)}"
            )
        rows.append(tuple(cells))
    columns = ["fit", "items", "pairs", "in the right order", "by chance", "Kendall’s tau-b"]
    columns += ["labels for the better item"] if data.label_accuracies else []
    return Table(
        tuple(columns), tuple(rows), "Pairs of different levels, within groups, over the posterior draws"
    )


def _reference_picture(data: ReportData, label: str) -> Picture:
    ranking = data.rankings[label]
    known = ranking[ranking["item"].isin(list(data.reference_levels))]
    level = np.array([data.reference_levels[item] for item in known["item"]], dtype=float)
    figure = plots.reference_levels(
        level, plots.Intervals(list(known["item"]), known["strength"], known["lower"], known["upper"])
    )
    means = "; ".join(
        f"{value:g}: {number(known['strength'][level == value].mean())}" for value in np.unique(level)[:10]
    )
    return Picture(
        f"reference-{label}",
        figure,
        f"{label}: strengths of {plural(len(known), 'item')} against their reference.",
        f"Strengths against the reference for {label}. Mean strength by level: {means}.",
    )
