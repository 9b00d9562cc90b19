"""What is wrong or risky in judgments before a fit, each as a finding."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from bayesbt.cells import LABEL_COLUMNS
from bayesbt.connectivity import FEW_JUDGMENTS, SHOWN, examine_counts, names_phrase
from bayesbt.counts import Counts, count_judgments
from bayesbt.dissent import contrary_judges
from bayesbt.errors import rows_phrase
from bayesbt.findings import Finding
from bayesbt.tables import Items, Judgments

LEVELS = ("error", "warning", "note")


def check(judgments: Judgments, items: Items | None = None) -> list[Finding]:
    """Find what a fit would refuse (level ``error``), what makes it doubtful, and what is worth knowing.

    Parameters
    ----------
    judgments : Judgments
        Of one dimension or several; connectivity is looked at within each.
    items : Items, optional
        The declared items.

    Returns
    -------
    list of Finding
        Errors first, then warnings, then notes; what reading found is among them.
    """
    found = list(judgments.findings)
    for look in (
        _unscored,
        _several_dimensions,
        _blank_labels,
        _names,
        _judges,
        contrary_judges,
        _repeats,
    ):
        found += look(judgments)
    if items is not None:
        found += _declared(judgments, items)
    found = [_located(finding, judgments.frame) for finding in found]
    for prefix, counts in _per_dimension(judgments):
        frame = judgments.frame
        frame = frame[frame["dimension"] == prefix] if prefix else frame
        for finding in examine_counts(counts):
            located = _located(finding, frame)
            message = f"{prefix}: {located.message}" if prefix else located.message
            found.append(replace(located, message=message))
    return sorted(found, key=lambda finding: LEVELS.index(finding.level))


def _located(finding: Finding, frame: pd.DataFrame) -> Finding:
    """Name the rows of the pairs, or of the items, that a finding concerns."""
    if finding.rows or not (finding.items or finding.pairs):
        return finding
    a, b = frame["item_a"], frame["item_b"]
    if finding.pairs:
        ends = {item for pair in finding.pairs for item in pair}
        near = frame[a.isin(ends) & b.isin(ends) & frame["outcome"].notna()]
        pairs = set(finding.pairs)
        among = [
            ((x, y) in pairs and outcome != "b") or ((y, x) in pairs and outcome != "a")
            for x, y, outcome in zip(near["item_a"], near["item_b"], near["outcome"], strict=True)
        ]
        rows = tuple(near.loc[among, "row"].tolist())
    else:
        rows = tuple(frame.loc[a.isin(finding.items) | b.isin(finding.items), "row"].tolist())
    if not rows:
        return finding
    return replace(finding, message=f"{finding.message} See {rows_phrase(rows)}.", rows=rows)


def _per_dimension(judgments: Judgments) -> Iterator[tuple[str, Counts]]:
    """Give the counts of each dimension that has a scored judgment."""
    frame = judgments.frame
    scored = frame[frame["outcome"].notna() & (frame["count"] > 0)]
    if "dimension" not in frame or (
        frame["dimension"].nunique() < 2 and not _partly_blank(frame["dimension"])
    ):
        if len(scored):
            yield "", count_judgments(judgments)
        return
    for dimension in sorted(scored["dimension"].dropna().unique()):
        yield str(dimension), count_judgments(judgments, dimension=str(dimension))


def _unscored(judgments: Judgments) -> list[Finding]:
    frame = judgments.frame
    found = []
    unscored = frame["outcome"].isna()
    if unscored.any():
        reasons = frame.loc[unscored, "reason"].value_counts()
        causes = ", ".join(f"{cause}: {number:,}" for cause, number in reasons.head(SHOWN).items())
        rows = tuple(frame.loc[unscored, "row"].tolist())
        message = f"{len(rows):,} judgments have no outcome ({causes}); they are counted, and enter no fit."
        found.append(Finding("warning", "unscored", message, rows))
    zero = frame["count"] == 0
    if zero.any():
        rows = tuple(frame.loc[zero, "row"].tolist())
        message = f"{rows_phrase(rows).capitalize()}: count 0, so ignored; the items are kept."
        found.append(Finding("note", "zero-count", message, rows))
    if not (~unscored & ~zero).any():
        message = "No judgment has an outcome and a count above 0: there is nothing to fit."
        found.append(Finding("error", "nothing-scored", message))
    return found


def _several_dimensions(judgments: Judgments) -> list[Finding]:
    frame = judgments.frame
    if "dimension" not in frame or frame["dimension"].nunique() < 2:
        return []
    names = sorted(map(str, frame["dimension"].dropna().unique()))
    message = (
        f"Several dimensions ({names_phrase(names)}) are not one ranking, so a fit of the whole file is "
        "refused: choose one with --dimension, or fit each with --by dimension."
    )
    return [Finding("error", "several-dimensions", message)]


def _blank_labels(judgments: Judgments) -> list[Finding]:
    """Find rows without a dimension, judge or topic in a file that names them elsewhere."""
    frame = judgments.frame
    found = []
    for column in LABEL_COLUMNS:
        if column in frame and _partly_blank(frame[column]):
            rows = tuple(frame.loc[frame[column].isna(), "row"].tolist())
            refused = column == "dimension"
            whole = "is refused" if refused else "counts them with the others"
            message = (
                f"Blank in the column {column!r}, while other rows name one: {rows_phrase(rows)}. A fit of "
                f"the whole file {whole}, and --{column} leaves them out. Fill them in, or remove these rows."
            )
            found.append(Finding("error" if refused else "warning", f"blank-{column}", message, rows))
    return found


def _partly_blank(labels: pd.Series[str]) -> bool:
    blank = labels.isna()
    return bool(blank.any() and not blank.all())


def _names(judgments: Judgments) -> list[Finding]:
    """Find ids that differ only in case, white space, hyphens, invisible letters or leading zeros."""
    alike: dict[str, list[str]] = {}
    for item in judgments.items:
        alike.setdefault(_plain(item), []).append(item)
    found = []
    for names in alike.values():
        if len(names) > 1:
            message = f"{', '.join(map(repr, names))} look alike, and are read as different items."
            found.append(Finding("warning", "look-alike", message, items=tuple(names)))
    return found


def _plain(name: str) -> str:
    seen = "".join(x for x in unicodedata.normalize("NFKC", name) if unicodedata.category(x) != "Cf")
    words = seen.casefold().replace("-", " ").replace("_", " ").split()
    return " ".join(word.lstrip("0") or "0" if word.isdecimal() else word for word in words)


def _judges(judgments: Judgments) -> list[Finding]:
    """Find judges that always give one answer, and say that several judges are pooled."""
    frame = judgments.frame
    scored = frame[frame["outcome"].notna() & (frame["count"] > 0)]
    if scored.empty:
        return []
    if scored["outcome"].nunique() == 1 and (scored["outcome"] == "tie").all():
        message = (
            f"Every judgment ({len(scored):,}) is a tie: all strengths are equal, the tie parameter goes to "
            "its prior; with --ties drop nothing is left."
        )
        return [Finding("warning", "all-ties", message)]
    found = []
    judge = scored["judge"].astype(object) if "judge" in scored else pd.Series("", index=scored.index)
    per_judge = scored["outcome"].groupby(judge).agg(["nunique", "size", "first"])
    constant = per_judge[(per_judge["nunique"] == 1) & (per_judge["size"] >= FEW_JUDGMENTS)]
    for name, row in constant.iterrows():
        who = f"Judge {name!r}" if name else "The table"
        rows = tuple(scored.loc[judge == name, "row"].tolist())
        message = f"{who} says {row['first']!r} in all of {row['size']:,} judgments: {rows_phrase(rows)}."
        found.append(Finding("warning", "constant-judge", message, rows))
    if len(per_judge) > 1:
        message = f"{len(per_judge):,} judges are pooled by a fit, as if they were one (--judges ignore)."
        found.append(Finding("note", "several-judges", message))
    return found


def _repeats(judgments: Judgments) -> list[Finding]:
    """Find runs, and presentations that one judge saw twice in one run."""
    frame = judgments.frame
    keys = [name for name in ("judge", "prompt", "dimension", "topic", "item_a", "item_b") if name in frame]
    found = []
    if "run" in frame and frame["run"].nunique() > 1:
        runs = frame.groupby(keys, observed=True, dropna=False)["run"].nunique().max()
        message = (
            f"Up to {runs} runs of one judge on one pair are repeats, not independent judgments: a fit "
            "weighs each 1/(number of runs); `bayesbt vote` gives one label a pair."
        )
        found.append(Finding("note", "runs", message))
    if "judge" in frame or "run" in frame:
        keys += ["run"] if "run" in frame else []
        again = frame.duplicated(keys, keep="first")
        if again.any():
            rows = tuple(frame.loc[again, "row"].tolist())
            message = (
                f"{len(rows):,} rows repeat a presentation (same judge, run, order, items), and count again: "
                f"{rows_phrase(rows)}. If they are repeats, number them in a column 'run'."
            )
            found.append(Finding("warning", "duplicate", message, rows))
    return found


def _declared(judgments: Judgments, items: Items) -> list[Finding]:
    declared, used = set(items.frame["item"]), set(judgments.items)
    found = []
    if unmet := tuple(sorted(declared - used)):
        message = f"Declared, but in no judgment: {names_phrase(unmet)}. Only the prior speaks for them."
        found.append(Finding("warning", "no-comparisons", message, items=unmet))
    if unknown := tuple(sorted(used - declared)):
        message = f"Judged, but not among the declared items: {names_phrase(unknown)}."
        found.append(Finding("warning", "undeclared", message, items=unknown))
    return found
