"""Judges who go against the others: on the pairs they share, and on what the whole says."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binom

from bayesbt.counts import run_weights
from bayesbt.findings import Finding
from bayesbt.tables import Judgments

LEVEL = 0.001
"""Chance, over all judges together, that a judge without a leaning is called contrary."""


def agreement_with_others(judgments: Judgments) -> pd.DataFrame:
    """Compare each judge with the majority of the other judges on each pair.

    Every judge has one vote a pair, its own majority, so that a judge of many judgments does not outvote the
    others; judgments that are ties, and pairs on which the others are level, do not count. Runs weigh
    1/(number of runs), as in a fit.

    Returns
    -------
    DataFrame
        One row a judge: ``judge``, ``with_others`` and ``against`` (its decisive judgments on the side of the
        others' majority, and on the other side) and ``turned``: pairs on which the sum of all judgments says
        otherwise than the sum without this judge.
    """
    frame = judgments.frame.assign(weight=run_weights(judgments.frame)[0])
    kept = frame[frame["outcome"].isin(["a", "b"]) & frame["judge"].notna() & (frame["count"] > 0)]
    items = pd.Index(judgments.items)
    a, b = (items.get_indexer(pd.Index(kept[side].astype(str))) for side in ("item_a", "item_b"))
    low_won = (kept["outcome"] == "a").to_numpy() == (a < b)
    votes = pd.DataFrame(
        {
            "pair": np.minimum(a, b) * len(items) + np.maximum(a, b),
            "dimension": kept["dimension"].astype(str).to_numpy() if "dimension" in kept else "",
            "judge": kept["judge"].astype(str).to_numpy(),
            "low": np.where(low_won, kept["weight"], 0.0),
            "high": np.where(low_won, 0.0, kept["weight"]),
        }
    )
    each = votes.groupby(["pair", "dimension", "judge"], as_index=False).sum()
    net = each["low"] - each["high"]
    pairs = [each["pair"], each["dimension"]]
    one_vote = pd.Series(np.sign(net.to_numpy()))
    others = one_vote.groupby(pairs).transform("sum") - one_vote
    whole = net.groupby(pairs).transform("sum")
    turned = (np.sign(whole) != np.sign(whole - net)) & (whole != net)
    table = pd.DataFrame(
        {
            "judge": each["judge"],
            "with_others": each["low"].where(others > 0, 0.0) + each["high"].where(others < 0, 0.0),
            "against": each["high"].where(others > 0, 0.0) + each["low"].where(others < 0, 0.0),
            "turned": turned.astype(np.int64),
        }
    )
    return table.groupby("judge", as_index=False).sum()


def contrary_judges(judgments: Judgments) -> list[Finding]:
    """Name the judges who side against the others more often than chance allows."""
    frame = judgments.frame
    if "judge" not in frame or frame["judge"].nunique() < 3:
        return []
    table = agreement_with_others(judgments)
    decided = np.rint(table["with_others"] + table["against"])
    chance = binom.sf(np.rint(table["against"]) - 1, decided, 0.5)
    found = []
    unlikely = pd.Series(chance < LEVEL / max(len(table), 1))
    for row in table.loc[unlikely].to_dict("records"):
        rows = tuple(frame.loc[frame["judge"] == row["judge"], "row"].tolist())
        pairs = "1 pair" if row["turned"] == 1 else f"{row['turned']:,} pairs"
        turned = f", and alone turns or levels {pairs}" if row["turned"] else ""
        message = (
            f"Judge {row['judge']!r} goes against the majority of the other judges in {row['against']:,.0f} "
            f"of {row['with_others'] + row['against']:,.0f} judgments{turned}. Compare fits with and "
            "without it."
        )
        found.append(Finding("warning", "contrary-judge", message, rows))
    return found
