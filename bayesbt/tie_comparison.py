"""Tie assumptions side by side: the same judgments under several tie models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer import fit
from bayesbt.infer.fitted import Fit, plain
from bayesbt.infer.model import Cells
from bayesbt.infer.rank_changes import order_changes, top_changes
from bayesbt.tables import Judgments
from bayesbt.ties import TIE_MODELS

if TYPE_CHECKING:
    from bayesbt.infer.loo import Loo
    from bayesbt.infer.units import Unit

MODELS = ("rao-kupper", "davidson", "split-half", "split", "drop")
TOP = 3


@dataclass(frozen=True)
class TieComparison:
    """Fits of the same counts under several tie models.

    Attributes
    ----------
    fits : dict of str to Fit
    table : DataFrame
        One row a model: ``ties``, ``tie_parameter`` (t, a probability) with ``tie_lower``, ``tie_upper``;
        ``native_name``, ``native``; ``order`` (log-odds) with ``order_lower``, ``order_upper``;
        ``interval_width``, the mean width of the strengths' intervals (log-odds); ``relative_width``, the
        same in units of the strengths' standard deviation, which compares across models; ``width_ratio``,
        ``interval_width`` over that of the model ``against``; ``judgments``; ``effective_comparisons``, what
        the likelihood counts (``split`` counts a tie twice); ``ok``, whether the fit converged.

        ``elpd_decisive`` with ``se``, how well the rest of the data predicts the winners of the decisive
        judgments, for all models; ``elpd_full`` with ``elpd_full_se``, the same for all three outcomes, NaN
        for models without a P(tie); ``pareto_k_max`` and ``pareto_k_bad``, the share of units whose Pareto k
        is too high for their terms to be trusted; ``stacking_weight``, on ``elpd_decisive``. All NaN for
        engines that give no posterior. See :mod:`bayesbt.infer.loo`.
    rank_agreement : DataFrame
        One row a pair of models: ``first``, ``second``, ``kendall`` (tau of the orders within components),
        ``flips`` (pairs of items in opposite order), ``flipped`` (the most notable of them, the stronger
        under ``first`` in front), ``top_left`` and ``top_entered`` (items among the ``k`` strongest of their
        component under ``first`` only and under ``second`` only), ``top_changes`` (how many left);
        ``elpd_decisive_difference`` (first less second) and ``elpd_full_difference``, each with ``_se``.
    tie_rate : DataFrame
        Per model with a P(tie) and bin of abs(delta): ``ties`` and the columns of
        :func:`bayesbt.infer.tie_rate.tie_rate_check`.
    loos : dict of str to Loo
        Leave-one-out results; empty for engines that give no posterior.
    unit, k, against : str, int, str
        What was left out at a time, the k of the top k, the model of ``width_ratio``.
    messages : tuple of str
        What a reader must know before the numbers.
    """

    fits: dict[str, Fit]
    table: pd.DataFrame
    rank_agreement: pd.DataFrame
    tie_rate: pd.DataFrame = field(default_factory=pd.DataFrame)
    loos: dict[str, Loo] = field(default_factory=dict)
    unit: Unit = "judgment"
    k: int = TOP
    against: str = ""
    messages: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        """Return the document of ``bayesbt ties --json`` (CONTRACT, section 4).

        In ``rank_agreement``, ``flips`` lists the pairs and ``n_flips`` counts them.
        """
        agreement = self.rank_agreement.rename(columns={"flips": "n_flips", "flipped": "flips"})
        return {
            "models": plain(self.table.to_dict(orient="records")),
            "rank_agreement": plain(agreement.to_dict(orient="records")),
            "tie_rate_check": plain(self.tie_rate.to_dict(orient="records")),
        }


def compare_ties(
    judgments: Judgments | Counts,
    models: Sequence[str] = MODELS,
    *,
    selection: Mapping[str, Any] | None = None,
    unit: Unit = "judgment",
    k: int = TOP,
    against: str | None = None,
    refit: bool = False,
    **options: Any,
) -> TieComparison:
    """Fit the same judgments under each tie model.

    Parameters
    ----------
    judgments : Judgments or Counts
    models : sequence of str
        Names of tie models.
    selection : dict, optional
        ``dimension``, ``judge``, ``topic``, ``items``, as in :func:`bayesbt.fit`.
    unit, k, against, refit
        As in :func:`comparison_of`.
    **options
        As in :func:`bayesbt.fit`.

    Raises
    ------
    InputError
        An unknown or repeated model, or no model.
    """
    if not models or len(set(models)) < len(models) or not set(models) <= TIE_MODELS.keys():
        raise InputError(f"--models {','.join(models)}: name each once, of {', '.join(TIE_MODELS)}.")
    _check(models, k, against)
    fits = {name: fit(judgments, ties=name, **(selection or {}), **options) for name in models}
    return comparison_of(fits, unit=unit, k=k, against=against, refit=refit)


def comparison_of(
    fits: Mapping[str, Fit],
    *,
    unit: Unit = "judgment",
    k: int = TOP,
    against: str | None = None,
    refit: bool = False,
) -> TieComparison:
    """Compare fits of the same counts, by the name of their tie model; fits read from folders too.

    Parameters
    ----------
    fits : mapping of str to Fit
    unit : {"judgment", "item", "topic"}
        What is left out at a time.
    k : int
        Of the changes among the k strongest.
    against : str, optional
        The model to which interval widths are related; the first where none is named.
    refit : bool
        Fit anew without the units that importance sampling cannot leave out.

    Raises
    ------
    InputError
        Fits of different judgments: elpd values of different data do not compare.
    """
    against = _check(list(fits), k, against)
    _require_same_data(fits)
    loos = _loos(fits, unit, refit)
    table = pd.DataFrame([_row(name, one) | _predictive(loos.get(name)) for name, one in fits.items()])
    table["stacking_weight"] = _stacked(loos, table["ties"])
    width = table.set_index("ties")["interval_width"]
    table["width_ratio"] = table["interval_width"] / width[against]
    pairs = [
        {"first": first, "second": second}
        | order_changes(fits[first], fits[second])
        | top_changes(fits[first], fits[second], k)
        | _differences(loos.get(first), loos.get(second))
        for first, second in combinations(fits, 2)
    ]
    agreement = pd.DataFrame(pairs, columns=AGREEMENT)
    return TieComparison(
        dict(fits), table, agreement, _tie_rates(fits), loos, unit, k, against, _messages(fits, loos, unit)
    )


AGREEMENT = [
    "first",
    "second",
    "kendall",
    "flips",
    "flipped",
    "top_changes",
    "top_left",
    "top_entered",
    "elpd_decisive_difference",
    "elpd_decisive_difference_se",
    "elpd_full_difference",
    "elpd_full_difference_se",
]


def _check(models: Sequence[str], k: int, against: str | None) -> str:
    """Return the model to compare widths against."""
    if not models:
        raise InputError("there are no fits to compare.")
    if k < 1:
        raise InputError(f"--top {k}: must be 1 or more.")
    if against is not None and against not in models:
        raise InputError(f"--against {against!r} is not among the models compared: {', '.join(models)}.")
    return against or models[0]


def _require_same_data(fits: Mapping[str, Fit]) -> None:
    """Refuse fits whose cells or counts differ."""
    frames = {name: _cells(one.counts) for name, one in fits.items()}
    (first, reference), *others = frames.items()
    for name, frame in others:
        same = frame.index.equals(reference.index) and fits[name].items == fits[first].items
        if not (same and np.allclose(frame, reference, rtol=1e-12, atol=1e-9)):
            raise InputError(
                f"the fits {first!r} and {name!r} are of different judgments, so they do not compare. Fit "
                "the same file, dimension, judges and topics under each tie model."
            )


def _cells(counts: Counts) -> pd.DataFrame:
    frame = counts.to_frame()
    outcomes = ["wins_a", "ties", "wins_b"]
    labels = [name for name in frame if name not in outcomes]
    return frame[frame[outcomes].sum(axis=1) > 0].groupby(labels)[outcomes].sum()


def _row(name: str, one: Fit) -> dict[str, Any]:
    parameters, estimates = one.parameters(), one.estimates
    tie, order = parameters.get("tie", {}), parameters.get("order", {})
    native = tie.get("native", {})
    width = float((estimates["upper"] - estimates["lower"]).mean())
    return {
        "ties": name,
        "tie_parameter": tie.get("mean"),
        "tie_lower": tie.get("lower"),
        "tie_upper": tie.get("upper"),
        "native_name": native.get("name", ""),
        "native": native.get("mean"),
        "order": order.get("mean"),
        "order_lower": order.get("lower"),
        "order_upper": order.get("upper"),
        "interval_width": width,
        "relative_width": width / float(estimates["strength"].std(ddof=0)),
        "judgments": one.counts.judgments,
        "effective_comparisons": Cells.of(one.counts, one.spec.tie_model).total,
        "ok": one.diagnostics.ok,
    }


def _loos(fits: Mapping[str, Fit], unit: Unit, refit: bool) -> dict[str, Loo]:
    """Leave-one-out results of the fits that have a posterior."""
    from bayesbt.infer.loo import loo

    scored = {name: one for name, one in fits.items() if one.result.bayesian and one.result.draws is not None}
    return {name: loo(one, unit=unit, refit=refit) for name, one in scored.items()}


def _predictive(result: Loo | None) -> dict[str, Any]:
    decisive = None if result is None else result.elpd("decisive")
    full = None if result is None else result.elpd("full")
    return {
        "elpd_decisive": np.nan if decisive is None else decisive.elpd,
        "se": np.nan if decisive is None else decisive.se,
        "elpd_full": np.nan if full is None else full.elpd,
        "elpd_full_se": np.nan if full is None else full.se,
        "pareto_k_max": np.nan if result is None else result.pareto_k_max,
        "pareto_k_bad": np.nan if result is None else result.unreliable,
    }


def _stacked(loos: Mapping[str, Loo], names: pd.Series[str]) -> NDArray[np.float64]:
    from bayesbt.infer.loo import stacking_weights

    if not loos:
        return np.full(len(names), np.nan)
    weights = dict(zip(loos, stacking_weights(list(loos.values())), strict=True))
    return np.array([weights.get(name, np.nan) for name in names])


def _differences(first: Loo | None, second: Loo | None) -> dict[str, float]:
    from bayesbt.infer.loo import Yardstick, difference

    out: dict[str, float] = {}
    yardsticks: tuple[Yardstick, ...] = ("decisive", "full")
    for yardstick in yardsticks:
        found = None if first is None or second is None else difference(first, second, yardstick)
        value, se = found or (np.nan, np.nan)
        out |= {f"elpd_{yardstick}_difference": value, f"elpd_{yardstick}_difference_se": se}
    return out


def _tie_rates(fits: Mapping[str, Fit]) -> pd.DataFrame:
    from bayesbt.infer.tie_rate import tie_rate_check

    able = {
        name: one
        for name, one in fits.items()
        if one.result.bayesian and one.result.draws is not None and one.spec.tie_model.has_tie_parameter
    }
    tables = []
    for name, one in able.items():
        table = tie_rate_check(one)
        table.insert(0, "ties", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def _messages(fits: Mapping[str, Fit], loos: Mapping[str, Loo], unit: str) -> tuple[str, ...]:
    messages = [
        f"{name}: poor diagnostics; do not trust its numbers."
        for name, one in fits.items()
        if not one.diagnostics.ok
    ]
    missing = [name for name in fits if name not in loos]
    if missing:
        messages.append(
            f"No predictive accuracy for {', '.join(missing)}: the engine gives no posterior. Use numpyro, "
            "pymc or laplace."
        )
    for name, result in loos.items():
        if result.unreliable > 0:
            messages.append(
                f"{name}: Pareto k is above {result.good_k:.2f} for {result.unreliable:.1%} of the {unit}s "
                f"left out (largest {result.pareto_k_max:.2f}), so its elpd cannot be trusted. Fit anew "
                "without each of them (refit), or leave out judgment by judgment."
            )
    return tuple(messages)
