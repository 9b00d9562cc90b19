"""Chatbot Arena battles: the columns model_a, model_b, winner, with two words for a tie."""

from __future__ import annotations

from bayesbt.findings import Finding
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.formats.verdicts import nested_columns, nested_finding
from bayesbt.tables import Judgments

TIES = ("tie (bothbad)", "both_bad", "bothbad")
"""Words for a tie in which both answers were bad."""


def _sniff(source: Source) -> bool:
    return {"model_a", "model_b", "winner"} <= set(source.columns)


def _read(source: Source, options: ReadOptions) -> Imported:
    frame = source.frame
    nested = nested_columns(frame)
    words = dict.fromkeys(TIES, "tie") | dict(options.mapping)
    arguments = options.for_table(source.name) | {"mapping": words}
    judgments = Judgments.from_frame(frame.drop(columns=nested), **arguments)
    findings = [*judgments.findings]
    both_bad = int(frame["winner"].isin(TIES).sum()) if "winner" in frame else 0
    if both_bad:
        message = f"{both_bad:,} rows call the tie 'both bad'; they are read as ties like the others."
        findings.append(Finding("note", "tie-both-bad", message))
    findings += nested_finding(nested)
    return Imported(Judgments(judgments.frame, judgments.source, tuple(findings)))


READER = Reader("arena", "Chatbot Arena battles with model_a, model_b, winner", _sniff, _read)
