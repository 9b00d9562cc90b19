"""The section on what the posterior says against its own model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesbt.reporting.blocks import Block, Section, Table, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.wording import count, number, percent

SHOWN = 12


def misfit(data: ReportData) -> Section | None:
    """Show predictive checks, pairs and triads that do not fit, and what the priors decided."""
    found = {label: fit.criticism for label, fit in data.fits.items() if fit.criticism}
    if not found:
        return None
    checks = tuple(row for label, criticism in found.items() for row in _check_rows(label, criticism))
    columns = ("fit", "statistic", "observed", "expected", "surprising")
    blocks: list[Block] = [
        Table(columns, checks, "Observed statistics among replications of the data by the model", words=2)
    ]
    cycles = tuple(row for label, criticism in found.items() for row in _cycle_rows(label, criticism))
    if cycles:
        blocks.append(Table(("fit", "in a circle", "z"), cycles, "Triads that go in a circle", words=2))
    scaled = tuple(row for label, criticism in found.items() for row in _sensitivity_rows(label, criticism))
    if scaled:
        names = ("fit", "parameter", "to the prior", "to the data")
        blocks.append(Table(names, scaled, "Power-scaling sensitivity of the posterior", words=2))
        blocks.append(
            Text(
                "0.1 and more counts: a parameter that moves with its prior alone is decided by it, one that "
                "moves with both is pulled two ways."
            )
        )
    pulling = tuple(row for label, criticism in found.items() for row in _influence_rows(label, criticism))
    if pulling:
        titles = ("fit", "judgment", "outcome", "Pareto k", "limit")
        blocks.append(Table(titles, pulling, "Single judgments on which much hangs", words=3))
    return Section("misfit", "Does the model fit?", tuple(blocks))


def _check_rows(label: str, criticism: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for check in criticism["checks"]:
        write = count if check["name"] == "pairs" else percent
        expected = f"{write(check['lower'])} to {write(check['upper'])}"
        name = {"pairs": "chi-square of the pairs", "first shown": "wins of the first shown"}.get(
            check["name"], check["name"]
        )
        rows.append((label, name, write(check["observed"]), expected, "yes" if check["surprising"] else "no"))
    return rows


def _cycle_rows(label: str, criticism: Mapping[str, Any]) -> list[tuple[str, ...]]:
    names = ("first", "second", "third", "first")
    return [
        (label, " beats ".join(cycle[name] for name in names), number(cycle["z"], 1))
        for cycle in criticism["cycles"][:SHOWN]
    ]


def _sensitivity_rows(label: str, criticism: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (label, name, number(row["prior"], 2), number(row["likelihood"], 2))
        for name, row in criticism["sensitivity"].items()
    ]


def _influence_rows(label: str, criticism: Mapping[str, Any]) -> list[tuple[str, ...]]:
    found = criticism["influence"]
    return [
        (
            label,
            f"{one['item_a']}, {one['item_b']}",
            one["outcome"],
            number(one["pareto_k"], 2),
            number(found["limit"], 2),
        )
        for one in found["above"][:SHOWN]
    ]
