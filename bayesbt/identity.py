"""Which two items each row compares: ids of both columns, and the rows that cannot be used."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from bayesbt.columns import Codes, Encoded, Mask, encode_ids
from bayesbt.errors import InputError, rows_phrase
from bayesbt.findings import Finding


@dataclass(frozen=True)
class Identified:
    """The usable rows of a table and their items.

    Attributes
    ----------
    kept : (rows,) booleans
        The rows of the table that compare two different items.
    items : tuple of str
        The items of these rows, sorted, in Unicode normal form C.
    item_a, item_b : (kept rows,) ints
        Codes into ``items``.
    findings : tuple of Finding
        What was dropped, and which ids were normalised.
    """

    kept: Mask
    items: tuple[str, ...]
    item_a: Codes
    item_b: Codes
    findings: tuple[Finding, ...]


def identify(frame: pd.DataFrame, rows: npt.NDArray[np.int64], strict: bool, source: str) -> Identified:
    """Find the two items of each row, and the rows without two different ones.

    Raises
    ------
    InputError
        Where no row is usable, or ``strict`` and one is not.
    """
    encoded: dict[str, Encoded] = {}
    changed: set[str] = set()
    touched = np.zeros(len(frame), dtype=bool)
    for name in ("item_a", "item_b"):
        encoded[name], written = encode_ids(frame[name], f"{source}, column {name!r}")
        differs = np.array([*(not unicodedata.is_normalized("NFC", t) for t in written.labels), False])
        if differs.any():
            touched |= differs[written.codes]
            changed |= {unicodedata.normalize("NFC", t) for t in np.array(written.labels)[differs[:-1]]}
    items = tuple(sorted({*encoded["item_a"].labels, *encoded["item_b"].labels}))
    number = {item: code for code, item in enumerate(items)}
    code_a, code_b = (
        np.array([*(number[label] for label in column.labels), -1], dtype=np.int64)[column.codes]
        for column in encoded.values()
    )
    kept, unusable = _usable_rows(items, code_a, code_b, rows)
    _refuse(unusable if strict else [], kept, source)
    used, both = np.unique(np.concatenate([code_a[kept], code_b[kept]]), return_inverse=True)
    code_a, code_b = np.split(both.astype(np.int64), 2)
    findings = [*_normalised(changed, rows[touched].tolist()), *unusable]
    return Identified(kept, tuple(items[code] for code in used), code_a, code_b, tuple(findings))


def _normalised(changed: set[str], rows: Sequence[int]) -> list[Finding]:
    if not changed:
        return []
    names = tuple(sorted(changed))
    what = "id was" if len(names) == 1 else "ids were"
    message = (
        f"{len(names):,} {what} brought to Unicode normal form C ({', '.join(map(repr, names[:6]))}), so "
        f"that ids that look equal are equal: {rows_phrase(rows)}."
    )
    return [Finding("note", "normalised", message, tuple(rows), names)]


def _usable_rows(
    items: tuple[str, ...], code_a: Codes, code_b: Codes, rows: npt.NDArray[np.int64]
) -> tuple[Mask, list[Finding]]:
    findings = []
    missing = (code_a < 0) | (code_b < 0)
    if missing.any():
        where = rows[missing].tolist()
        message = f"{_rows_were(where, 'without the id of an item')} dropped: {rows_phrase(where)}."
        findings.append(Finding("warning", "missing-id", message, tuple(where)))
    itself = (code_a == code_b) & ~missing
    if itself.any():
        where = rows[itself].tolist()
        names = tuple(items[code] for code in np.unique(code_a[itself]))
        message = (
            f"{_rows_were(where, 'that compared an item with itself')} dropped: {rows_phrase(where)} "
            f"({', '.join(names[:6])}{', ...' if len(names) > 6 else ''})."
        )
        findings.append(Finding("warning", "self-comparison", message, tuple(where), names))
    return ~(missing | itself), findings


def _rows_were(rows: Sequence[int], what: str) -> str:
    return f"1 row {what} was" if len(rows) == 1 else f"{len(rows):,} rows {what} were"


def _refuse(unusable: Sequence[Finding], kept: Mask, source: str) -> None:
    if unusable:
        faults = " ".join(finding.message.replace(" dropped:", " found:") for finding in unusable)
        raise InputError(f"{source}: strict reading refuses this table. {faults} Mend or remove them.")
    if not kept.any():
        raise InputError(
            f"{source}: none of the {len(kept):,} rows compares two different items with ids. "
            'Are the right columns read? Say which with --map, for example "player1=item_a,player2=item_b".'
        )
