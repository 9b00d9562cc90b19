"""How far the labels of a judge hang on the order of the two items, and on the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import beta

from bayesbt.tables import Judgments
from bayesbt.voting import A, B, vote

Floats = npt.NDArray[np.float64]

LABELS = ("p_a", "p_tie", "p_b")


def position_summary(judgments: Judgments, interval: float = 0.95) -> pd.DataFrame:
    """Describe how often the item shown first wins, for each judge and dimension.

    Parameters
    ----------
    judgments : Judgments
        Scored rows count, each ``count`` times.
    interval : float
        Probability of the interval.

    Returns
    -------
    DataFrame
        One row for each ``judge`` and ``dimension`` (empty texts where the table has no such column), and
        each ``prompt`` where the table has several:

        ``first_wins``, ``second_wins``, ``ties``: numbers of judgments;
        ``share_first``: first_wins / (first_wins + second_wins), NaN where nothing was decided, and its
        Jeffreys interval ``lower``, ``upper``, for which repeated runs weigh 1/(number of runs);
        ``both_orders``: pairs with a label in both orders (by majority where there are several runs);
        of these the shares ``flip`` (decided both times, and the winner changed with the order),
        ``first_both`` and ``second_both`` (the item shown first, or second, won both times: together they are
        ``flip``), ``same_winner`` and ``tied`` (a tie in at least one order). NaN where no pair was judged
        in both orders.
    """
    rows = []
    for names, frame in _groups(judgments):
        weight = frame["count"].to_numpy(dtype=np.float64)
        code = frame["outcome"].cat.codes.to_numpy()
        first, second = weight[code == A].sum(), weight[code == B].sum()
        share = first / (first + second) if first + second else np.nan
        decided = (weight / _repeats(frame))[(code == A) | (code == B)].sum()
        lower, upper = _jeffreys(share, decided, interval)
        rows.append(
            {
                **names,
                "first_wins": first,
                "second_wins": second,
                "ties": weight.sum() - first - second,
                "share_first": share,
                "lower": lower,
                "upper": upper,
                **_both_orders(vote(Judgments(frame, judgments.source)).frame),
            }
        )
    return pd.DataFrame(rows)


def run_agreement(judgments: Judgments) -> pd.DataFrame:
    """Compare the labels of the runs on the same presentation, for each judge and dimension.

    Returns
    -------
    DataFrame
        One row for each ``judge`` and ``dimension`` (and ``prompt``, where there are several) with two runs
        or more:

        ``runs``: number of runs; ``pairs``: presentations that every run scored; ``incomplete``: those that
        some run did not score or lacks, left out;
        ``all_equal``, ``two_equal``, ``all_different``: shares of the pairs, summing to 1. With three runs
        ``two_equal`` is exactly that; with two runs it is 0; with more it is whatever lies between.
        ``expected_all_equal``, ``expected_two_equal``, ``expected_all_different``: the same from the exact
        label probabilities, for independent runs; NaN where the table has none.
        ``alpha``: Krippendorff's alpha of the runs for nominal labels, see :func:`nominal_alpha`.
    """
    rows = []
    for names, frame in _groups(judgments, scored_only=False):
        runs = frame["run"].nunique() if "run" in frame else 1
        if runs < 2:
            continue
        keys = [name for name in ("prompt", "topic", "item_a", "item_b") if name in frame]
        group = frame.groupby(keys, sort=False, observed=True, dropna=False).ngroup().to_numpy()
        code = frame["outcome"].cat.codes.to_numpy()
        votes = np.column_stack([np.bincount(group, code == label, group.max() + 1) for label in range(3)])
        complete = votes.sum(axis=1) == runs
        distinct = (votes[complete] > 0).sum(axis=1)
        row = {
            **names,
            "runs": runs,
            "pairs": int(complete.sum()),
            "incomplete": int((~complete).sum()),
        }
        row |= _shares("", np.column_stack([distinct == 1, distinct == runs]))
        if set(LABELS) <= set(frame.columns):
            p = frame[list(LABELS)].groupby(group).mean().to_numpy()[complete]
            row |= _shares("expected_", _agreement_probabilities(p / p.sum(axis=1, keepdims=True), runs))
        else:
            row |= dict.fromkeys((f"expected_{name}" for name in _SHARES), np.nan)
        rows.append(row | {"alpha": nominal_alpha(votes)})
    return pd.DataFrame(rows)


def nominal_alpha(votes: npt.NDArray[np.generic]) -> float:
    """Compute Krippendorff's alpha for nominal labels.

    Parameters
    ----------
    votes : (n, k) array
        How many of the raters (here: runs) gave each of n units each of k labels. Units with fewer than two
        labels say nothing and are left out.

    Returns
    -------
    float
        1 for perfect agreement, 0 for that of chance; NaN where only one label, or no unit with two, occurs.

    References
    ----------
    Krippendorff (2004), Content Analysis, chapter 11.
    """
    counts = np.asarray(votes, dtype=np.float64)
    counts = counts[counts.sum(axis=1) >= 2]
    raters, labels = counts.sum(axis=1), counts.sum(axis=0)
    total = raters.sum()
    differing = ((raters**2 - (counts**2).sum(axis=1)) / (raters - 1)).sum()
    expected = total**2 - (labels**2).sum()
    return float(1 - (total - 1) * differing / expected) if expected > 0 else float("nan")


_SHARES = ("all_equal", "two_equal", "all_different")


def _agreement_probabilities(p: Floats, runs: int) -> Floats:
    """P(all runs equal), P(all runs different) for independent runs, from (n, 3) label probabilities."""
    equal = (p**runs).sum(axis=1)
    different = {2: 1 - equal, 3: 6 * p.prod(axis=1)}.get(runs, np.zeros(len(p)))
    return np.column_stack([equal, different])


def _shares(prefix: str, equal_different: npt.NDArray[np.generic]) -> dict[str, float]:
    if len(equal_different) == 0:
        return {f"{prefix}{name}": np.nan for name in _SHARES}
    equal, different = equal_different.astype(float).mean(axis=0)
    values = (equal, max(0.0, 1 - equal - different), different)
    return {f"{prefix}{name}": float(value) for name, value in zip(_SHARES, values, strict=True)}


def _groups(judgments: Judgments, scored_only: bool = True) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Give the rows of each judge and dimension, and of each prompt where there are several, with names."""
    frame = judgments.frame
    several = "prompt" in frame and frame["prompt"].nunique(dropna=False) > 1
    if scored_only:
        frame = frame[frame["outcome"].notna()]
    names = ["judge", "prompt", "dimension"] if several else ["judge", "dimension"]
    keys = [name for name in names if name in frame]
    if not keys:
        if len(frame):
            yield dict.fromkeys(names, ""), frame
        return
    for values, part in frame.groupby(keys, observed=True, dropna=False):
        known = {key: "" if value != value else str(value) for key, value in zip(keys, values, strict=True)}
        yield {name: known.get(name, "") for name in names}, part


def _repeats(frame: pd.DataFrame) -> Floats:
    """Return the number of runs of each row's presentation."""
    if "run" not in frame:
        return np.ones(len(frame))
    keys = [name for name in ("prompt", "topic", "item_a", "item_b") if name in frame]
    runs = frame.groupby(keys, observed=True, dropna=False)["run"].transform("nunique")
    return runs.to_numpy(dtype=np.float64)


def _jeffreys(share: float, number: float, interval: float) -> tuple[float, float]:
    """Give the Jeffreys interval of a share, with its end at 0 or 1 where the share is there."""
    if not number:
        return 0.0, 1.0
    tails = np.array([(1 - interval) / 2, (1 + interval) / 2])
    ends = np.asarray(beta.ppf(tails, number * share + 0.5, number * (1 - share) + 0.5))
    return (0.0 if share == 0 else float(ends[0])), (1.0 if share == 1 else float(ends[1]))


def _both_orders(voted: pd.DataFrame) -> dict[str, float]:
    """Compare the two orders of each pair; ``voted`` has one row a presentation."""
    keys = [name for name in ("prompt", "topic") if name in voted]
    label = voted.assign(code=voted["outcome"].cat.codes)[[*keys, "item_a", "item_b", "code"]]
    label = label[label["code"] >= 0].astype({"item_a": object, "item_b": object})
    swapped = label.rename(columns={"item_a": "item_b", "item_b": "item_a", "code": "other"})
    both = label.merge(swapped, on=[*keys, "item_a", "item_b"])
    both = both[both["item_a"] < both["item_b"]]
    first, other = both["code"].to_numpy(), both["other"].to_numpy()
    cases = {
        "flip": (first == other) & (first != 1),
        "first_both": (first == A) & (other == A),
        "second_both": (first == B) & (other == B),
        "same_winner": np.abs(first - other) == 2,
        "tied": (first == 1) | (other == 1),
    }
    shares = {name: float(case.mean()) if len(both) else np.nan for name, case in cases.items()}
    return {"both_orders": len(both), **shares}
