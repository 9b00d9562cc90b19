"""Webis-ArgQuality-20 (Gienapp, Stein, Hagen and Potthast, 2020): its folder of human comparisons.

An item is (discussion, argument, topic), because four (discussion, argument) ids occur under two topics. Its
id is ``DISCUSSION-ARGUMENT-TOPIC``. The raw comparisons name no topic: it is the one that both arguments
share.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bayesbt.errors import InputError
from bayesbt.formats.files import read_frame
from bayesbt.formats.source import Imported, Reader, ReadOptions, Source
from bayesbt.tables import Items, Judgments

RAW_FILES = {"logic": "raw-logical", "rhetoric": "raw-rhetorical", "dialectic": "raw-dialectical"}
SCORES = {
    "Logical Quality": "score_logic",
    "Rhetorical Quality": "score_rhetoric",
    "Dialectical Quality": "score_dialectic",
    "Combined Quality": "score_combined",
    "Relevance": "score_relevance",
    "Text Length": "text_length",
}
"""Published numbers of an argument -> columns of Items."""


def _file(folder: Path, name: str) -> Path | None:
    return next(iter(sorted(folder.rglob(f"webis-argquality20-{name}.csv"))), None)


def _sniff(source: Source) -> bool:
    return source.is_folder and all(_file(source.path, name) for name in ("arguments", "topics"))


def _read(source: Source, options: ReadOptions) -> Imported:
    arguments, topics = _table(source, "arguments"), _table(source, "topics")
    topic_text = dict(zip(topics["Topic ID"], topics["Long Query"], strict=True))
    arguments = arguments[arguments["Is Argument?"] == "True"].reset_index(drop=True)
    parts = [_comparisons(source, arguments, dimension) for dimension in RAW_FILES]
    frame = pd.concat(parts, ignore_index=True)
    frame["topic"] = frame["topic"].map(topic_text)
    return Imported(
        Judgments.from_frame(frame, **options.for_table(source.name)),
        Items.from_frame(_items(arguments, topic_text), source=source.name),
    )


def _table(source: Source, name: str) -> pd.DataFrame:
    path = _file(source.path, name)
    if path is None:
        raise InputError(
            f"{source.name}: no file webis-argquality20-{name}.csv in the folder. Give the folder that holds "
            "Webis-ArgQuality-20-Full and Webis-ArgQuality-20-Raw."
        )
    return read_frame(path)


def _comparisons(source: Source, arguments: pd.DataFrame, dimension: str) -> pd.DataFrame:
    """Judgments of one dimension; ``topic`` is still the number of the topic."""
    raw = _table(source, RAW_FILES[dimension])
    topics = arguments.groupby(["Discussion ID", "Argument ID"])["Topic ID"].agg(frozenset).to_dict()
    shared = [
        topics.get((da, aa), frozenset()) & topics.get((db, ab), frozenset())
        for da, aa, db, ab in raw.drop(columns="Comparison").itertuples(index=False)
    ]
    unclear = np.flatnonzero([len(common) != 1 for common in shared]) + 1
    if len(unclear):
        raise InputError(
            f"{source.name}, {RAW_FILES[dimension]}, row {unclear[0]}: the two arguments share no topic, or "
            "several. The files are not those of the published corpus."
        )
    topic = pd.Series([next(iter(common)) for common in shared], dtype=object)
    return pd.DataFrame(
        {
            "item_a": raw["Discussion ID A"] + "-" + raw["Argument ID A"] + "-" + topic,
            "item_b": raw["Discussion ID B"] + "-" + raw["Argument ID B"] + "-" + topic,
            "outcome": raw["Comparison"],
            "dimension": dimension,
            "topic": topic,
        }
    )


def _items(arguments: pd.DataFrame, topic_text: dict[str, str]) -> pd.DataFrame:
    number = arguments[["Discussion ID", "Argument ID", "Topic ID"]]
    items = pd.DataFrame(
        {
            "item": number["Discussion ID"] + "-" + number["Argument ID"] + "-" + number["Topic ID"],
            "topic": arguments["Topic ID"].map(topic_text),
            "text": arguments["Premise"],
            "stance": arguments["Stance"].map({"True": "pro", "False": "con"}),
        }
    )
    return items.assign(**{new: arguments[old] for old, new in SCORES.items()})


READER = Reader("webis", "the folder of Webis-ArgQuality-20", _sniff, _read)
