"""Agreement as tables: labels (1), scores (2), against the best judge (3), stability (4), and more."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bayesbt.agreement.labels import OUTCOME_NAMES
from bayesbt.agreement.measuring import HIGHER_IS_BETTER, METRICS_OF
from bayesbt.agreement.parting_tables import number_or_none, parting_tables
from bayesbt.agreement.published import with_means
from bayesbt.agreement.result import MEAN, Agreement
from bayesbt.agreement.tables import (
    RENDERERS,
    Block,
    Cell,
    Column,
    Page,
    Row,
    Table,
    page_html,
    page_latex,
    page_markdown,
)
from bayesbt.files import atomic_folder

TITLES = {
    "agreement": "agree %",
    "kappa": "Cohen κ",
    "alpha": "Kripp. α",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "mae": "MAE",
    "rmse": "RMSE",
}
MEAN_TITLE = "mean ± sd"
TITLE = "Judges against people"


def metric_columns(dimensions: Sequence[str], metrics: Iterable[str]) -> list[Column]:
    """Columns for each dimension, and for the mean over them where there are several."""
    metrics = list(metrics)
    groups = {name: "" if len(dimensions) == 1 else name for name in dimensions}
    if len(dimensions) > 1:
        groups[MEAN] = MEAN_TITLE
    return [
        Column(group, f"{name}/{metric}", TITLES[metric], HIGHER_IS_BETTER[metric], metric == "agreement")
        for name, group in groups.items()
        for metric in metrics
    ]


def metric_table(
    name: str,
    title: str,
    rows: pd.DataFrame,
    dimensions: Sequence[str],
    kinds: Sequence[str],
    notes: Sequence[str] = (),
) -> Table:
    """Lay out rows of metrics: a judge and prompt a row, metrics of each dimension as columns.

    Parameters
    ----------
    name, title : str
    rows : DataFrame
        ``judge``, ``prompt``, ``dimension``, ``kind``, ``metric``, ``estimate``, and where given ``lower``,
        ``upper``, ``sd``, ``block``.
    dimensions : sequence of str
    kinds : sequence of str
        Which kinds of metrics.
    notes : sequence of str
    """
    chosen = rows[rows["kind"].isin(kinds)]
    present = set(chosen["metric"])
    metrics = [metric for kind in kinds for metric in METRICS_OF[kind] if metric in present]
    columns = metric_columns(dimensions, metrics)
    groups = {column.key[1].rsplit("/", 1)[0]: column.group for column in columns}
    made: dict[tuple[str, str, str], dict[tuple[str, str], Cell]] = {}
    for row in chosen.to_dict(orient="records"):
        key = (str(row.get("block", "judges")), str(row["judge"]), str(row["prompt"]))
        cells = made.setdefault(key, {})
        if row["dimension"] in groups:
            at = (groups[row["dimension"]], f"{row['dimension']}/{row['metric']}")
            cells[at] = Cell(
                *(number_or_none(row.get(part)) for part in ("estimate", "lower", "upper", "sd"))
            )
    blocks: dict[str, Block] = {"judges": "judges", "nulls": "nulls", "published": "published"}
    made_rows = tuple(
        Row(judge, prompt, cells, blocks[block]) for (block, judge, prompt), cells in made.items()
    )
    return Table(name, title, tuple(columns), made_rows, tuple(notes))


def tables_of(agreement: Agreement, published: pd.DataFrame | None = None) -> list[Table]:
    """Every table of an agreement, published rows beside the judges' own where they are given."""
    dimensions = agreement.dimensions
    rows = agreement.metrics.assign(block=agreement.metrics["null"].map({True: "nulls", False: "judges"}))
    if published is not None:
        beside = with_means(published, dimensions)
        rows = pd.concat([rows, beside.assign(block="published")], ignore_index=True)
    share = f"{100 * agreement.settings.interval:g} %"
    ends = (
        f"In brackets {share} intervals: bootstrap over {agreement.settings.unit}; for random null judges, "
    )
    ends += f"over {agreement.settings.null_seeds} seeds."
    ranked = "Bold: best; underlined: second. MAE and RMSE are of z-scores, where RMSE = sqrt(2 - 2 Pearson)."
    tables = [
        metric_table("labels", "Agreement of labels with people", rows, dimensions, ["labels"], [ends]),
        metric_table(
            "scores",
            "Agreement of scores with people, over all items",
            rows,
            dimensions,
            ["scores"],
            [ranked, *_ceiling_notes(agreement)],
        ),
    ]
    if agreement.several_topics:
        tables.append(
            metric_table(
                "within-topic",
                "Agreement of scores with people within topics, averaged over topics",
                rows,
                dimensions,
                ["within_topic"],
            )
        )
    if len(agreement.cross):
        title = f"Agreement with the best judge, {agreement.best}, in the place of people"
        tables.append(metric_table("cross", title, agreement.cross, dimensions, ["labels", "scores"]))
    tables += [*_tests_tables(agreement), *_confusion_tables(agreement), *_bayes_tables(agreement)]
    for parting in agreement.parting:
        tables += parting_tables(parting)
    return [table for table in tables if table.columns and table.rows]


def _ceiling_notes(agreement: Agreement) -> list[str]:
    out = []
    for dimension, known in agreement.ceilings.items():
        out.append(
            f"Noise ceiling, {dimension}: no judge can be expected to correlate above {known['ceiling']:.3f} "
            f"with these people's scores, whose split-half reliability is {known['estimate']:.3f} "
            f"[{known['lower']:.3f}, {known['upper']:.3f}]."
        )
    return out


def _tests_tables(agreement: Agreement) -> list[Table]:
    """Holm-adjusted p of the best of each column against each other configuration."""
    tests = agreement.tests
    out = []
    for kind, title in (("labels", "labels"), ("scores", "scores"), ("within_topic", "scores within topics")):
        own = tests[tests["kind"] == kind]
        if own.empty:
            continue
        groups = {name: "" if len(agreement.dimensions) == 1 else name for name in agreement.dimensions}
        columns = [
            Column(group, f"{name}/{metric}", TITLES[metric], None, digits=4)
            for name, group in groups.items()
            for metric in METRICS_OF[kind]
            if metric in set(own["metric"])
        ]
        rows = []
        for name in agreement.configurations:
            cells = {
                (groups[row["dimension"]], f"{row['dimension']}/{row['metric']}"): Cell(row["p_holm"])
                for row in own[own["worse"] == name].to_dict(orient="records")
            }
            if cells:
                rows.append(Row(name, "", cells))
        note = (
            "One-tailed paired bootstrap; Holm-adjusted over the dimensions and configurations of a metric. "
            "An en dash: this configuration is the best of the column. Differences with percentile and "
            "BCa intervals are in tests.csv."
        )
        title = f"Is the best judge better than this one? p for {title}"
        out.append(Table(f"tests-{kind.replace('_', '-')}", title, tuple(columns), tuple(rows), (note,)))
    return out


def _confusion_tables(agreement: Agreement) -> list[Table]:
    out = []
    for dimension in agreement.dimensions:
        columns = tuple(
            Column(f"people: {truth}", f"{truth}/{answer}", answer, None, digits=0)
            for truth in OUTCOME_NAMES
            for answer in OUTCOME_NAMES
        )
        rows = []
        for (name, own), table in agreement.confusion.items():
            if own == dimension:
                counted = table.to_numpy(dtype=float).ravel().tolist()
                cells = {column.key: Cell(number) for column, number in zip(columns, counted, strict=True)}
                block: Block = "judges" if name in agreement.configurations else "nulls"
                rows.append(Row(name, "", cells, block))
        title = f"Labels of people (above) and of the judge (below), {dimension}"
        out.append(Table(f"confusion-{dimension}", title, columns, tuple(rows)))
    return out


def _bayes_tables(agreement: Agreement) -> list[Table]:
    """Latent correlations, and posteriors of Pearson's correlation, where they were asked for."""
    groups = {name: "" if len(agreement.dimensions) == 1 else name for name in agreement.dimensions}
    parts: dict[str, Mapping[tuple[str, str], Mapping[str, Any]]] = {
        "latent ρ": agreement.latent,
        "Pearson, posterior": {
            key: known["scores"]["pearson"] for key, known in agreement.posterior.items() if "scores" in known
        },
    }
    used = {title: known for title, known in parts.items() if known}
    columns = tuple(
        Column(group, f"{name}/{title}", title, True) for name, group in groups.items() for title in used
    )
    rows = []
    for name in agreement.configurations:
        cells = {
            (groups[dimension], f"{dimension}/{title}"): Cell(known["mean"], known["lower"], known["upper"])
            for title, table in used.items()
            for (own, dimension), known in table.items()
            if own == name
        }
        rows.append(Row(name, "", cells))
    closer = [
        f"P({each['first']} closer to people than {each['second']}, {each['dimension']}, {each['metric']}) = "
        f"{each['p']:.3f}"
        for each in agreement.closer
    ]
    return [Table("posterior", "Posterior agreement with people", columns, tuple(rows), tuple(closer))]


def stability_table(runs: pd.DataFrame) -> Table:
    """Table 4: how the runs of each judge agree, from :func:`bayesbt.stability.run_agreement`."""
    titles = {
        "all_equal": ("all equal %", True),
        "two_equal": ("two equal %", None),
        "all_different": ("all different %", False),
        "alpha": ("Kripp. α", True),
    }
    dimensions = list(dict.fromkeys(runs["dimension"]))
    groups = {name: name if len(dimensions) > 1 else "" for name in dimensions}
    columns = tuple(
        Column(group, f"{name}/{metric}", title, higher, percent=metric != "alpha")
        for name, group in groups.items()
        for metric, (title, higher) in titles.items()
    )
    made: dict[tuple[str, str], dict[tuple[str, str], Cell]] = {}
    for row in runs.to_dict(orient="records"):
        cells = made.setdefault((row["judge"], row.get("prompt", "")), {})
        for metric in titles:
            at = (groups[row["dimension"]], f"{row['dimension']}/{metric}")
            cells[at] = Cell(number_or_none(row[metric]))
    rows = tuple(Row(judge, prompt, cells) for (judge, prompt), cells in made.items())
    return Table("stability", "Stability of the labels over runs", columns, rows)


def save_agreement(
    agreement: Agreement, folder: Path, published: pd.DataFrame | None = None, *, force: bool = False
) -> list[str]:
    """Write agreement.json, the page as .html, .md and .tex, each table as .tex and .csv, and tests.csv.

    Returns
    -------
    list of str
        Names of the files.
    """
    tables = tables_of(agreement, published)
    words = [*agreement.verdicts, *agreement.messages]
    page = Page(TITLE, tables, words)
    files = {
        "agreement.json": json.dumps(agreement.summary(), ensure_ascii=False, allow_nan=False, indent=1)
        + "\n",
        "agreement.html": page_html(page),
        "agreement.md": page_markdown(page),
        "agreement.tex": page_latex(page),
        "agreement.csv": agreement.metrics.to_csv(index=False, lineterminator="\n"),
        "tests.csv": agreement.tests.to_csv(index=False, lineterminator="\n"),
    }
    for table in tables:
        stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in table.name)
        for suffix in (".tex", ".csv"):
            files[f"{stem}{suffix}"] = RENDERERS[suffix](table)
    with atomic_folder(folder, force) as temporary:
        for name, text in files.items():
            (temporary / name).write_text(text, encoding="utf-8")
    return sorted(files)
