"""The latent correlation: how the strengths behind two sets of labels agree, freed of the labels' noise.

A correlation of two score vectors is attenuated by the noise of both, about 22 comparisons an item. Here the
strengths of an item under every source of labels (people, a judge, another judge) are drawn together from a
multivariate Normal, and its correlation matrix is a parameter like the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.cells import PROBABILITY_COLUMNS
from bayesbt.errors import InputError
from bayesbt.infer.diagnostics import Diagnostics
from bayesbt.infer.fitted import Fit
from bayesbt.infer.joint import fit_joint
from bayesbt.ranks import highest_density_interval
from bayesbt.spec import ModelSpec, Order, Prior, Priors
from bayesbt.tables import Judgments

Floats = NDArray[np.float64]

FEWEST_ITEMS = 3
FLAT = Prior("LKJ", (1.0,))
"""The default prior of the correlation: uniform on (-1, 1) for two sources."""
KEPT = ("item_a", "item_b", "outcome", "topic", "judge", "run", "count", "reason")


@dataclass(frozen=True)
class LatentCorrelation:
    """Correlations between the strengths behind several sources of labels.

    Attributes
    ----------
    names : tuple of str
        The K sources, in the order in which they were given.
    draws : (S, K, K) array
        Draws of the correlation matrix.
    fits : dict of str to Fit
        Each source's part of the joint fit; draw ``s`` of all belongs to ``draws[s]``.
    interval : float
        Probability of the intervals.
    """

    names: tuple[str, ...]
    draws: Floats
    fits: dict[str, Fit]
    interval: float

    @property
    def mean(self) -> pd.DataFrame:
        """(K, K) Posterior means."""
        return self._table(self.draws.mean(axis=0))

    @property
    def lower(self) -> pd.DataFrame:
        """(K, K) Lower ends of the highest-density intervals."""
        return self._table(highest_density_interval(self.draws, self.interval)[0])

    @property
    def upper(self) -> pd.DataFrame:
        """(K, K) Upper ends of the highest-density intervals."""
        return self._table(highest_density_interval(self.draws, self.interval)[1])

    @property
    def diagnostics(self) -> Diagnostics:
        """The least reassuring diagnostics of the parts, which share one sampler."""
        parts = [fit.diagnostics for fit in self.fits.values()]
        messages = tuple(dict.fromkeys(message for part in parts for message in part.messages))
        return Diagnostics(
            ok=all(part.ok for part in parts),
            rhat_max=_extreme(max, [part.rhat_max for part in parts]),
            ess_bulk_min=_extreme(min, [part.ess_bulk_min for part in parts]),
            ess_tail_min=_extreme(min, [part.ess_tail_min for part in parts]),
            divergences=parts[0].divergences,
            e_bfmi_min=parts[0].e_bfmi_min,
            messages=messages,
        )

    def parameters(self) -> pd.DataFrame:
        """One row a source and parameter: ``source``, ``parameter``, ``mean``, ``sd``, ``lower``, ``upper``.

        ``order`` (log-odds, above 0 in favour of the item shown first), ``tie`` (t, a probability) and
        ``strength_sd`` (log-odds), each where the model has it.
        """
        rows = []
        for name in self.names:
            for parameter, found in self.fits[name].parameters().items():
                numbers = {key: found[key] for key in ("mean", "sd", "lower", "upper")}
                rows.append({"source": name, "parameter": parameter} | numbers)
        return pd.DataFrame(rows)

    def closer(self, first: str, second: str, reference: str) -> float:
        """P(``first`` correlates more with ``reference`` than ``second`` does), by the draws of all three.

        Raises
        ------
        InputError
            For a name that is not a source, or the same name twice.
        """
        places = [self._place(name) for name in (first, second, reference)]
        if len(set(places)) < 3:
            raise InputError(f"three different sources are needed, not {first}, {second} and {reference}.")
        one, other, people = places
        return float((self.draws[:, one, people] > self.draws[:, other, people]).mean())

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise InputError(f"{name!r} is not a source of labels. Allowed: {', '.join(self.names)}.")
        return self.names.index(name)

    def _table(self, values: Floats) -> pd.DataFrame:
        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))


def latent_correlation(
    label_sets: Mapping[str, Judgments],
    *,
    ties: str = "rao-kupper",
    order: Order = "shared",
    engine: str = "auto",
    dimension: str | None = None,
    priors: Priors | Mapping[str, str | float | Prior] | None = None,
    soft: bool = False,
    **options: Any,
) -> LatentCorrelation:
    """Fit several sources of labels together and correlate the strengths behind them.

    Every source has its own strengths, standard deviation, tie parameter and order effect. Strengths of items
    that no comparison links are compared through the prior only, so that with several components (topics)
    it is the agreement within them that tells about the correlation.

    Parameters
    ----------
    label_sets : mapping of str to Judgments
        Two or more, by name; at least three items in common. An item that one source lacks is kept: what
        the others say of it counts through the correlation.
    ties : str
        A tie model.
    order : {"none", "shared"}
        Whether each source has an order effect.
    engine : str
        ``numpyro`` (``auto``) or ``pymc``; or ``laplace``, an approximation that takes seconds where these
        take minutes.
    dimension : str, optional
        Keep only these judgments of every source.
    priors : Priors or dict, optional
        Changes to the priors; the correlation's is LKJ(1) where nothing else is said, flat for two sources.
    soft : bool
        Count label probabilities, where a source has them, in the place of its outcomes.
    **options
        As for :func:`bayesbt.fit`: draws, tune, chains, seed, interval, ...

    Raises
    ------
    InputError
        Fewer than two sources, several dimensions in one, fewer than three items in common, an engine that
        cannot take several sources.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things, on attenuation.
    Lewandowski, Kurowicka and Joe (2009), for the prior of the correlation matrix.
    """
    if len(label_sets) < 2:
        raise InputError("a latent correlation needs two sources of labels or more.")
    if order == "by-judge":
        raise InputError(
            "--order by-judge: each source of labels has its own order effect with --order shared."
        )
    if not isinstance(priors, Priors):
        priors = Priors(correlation=FLAT).updated(priors or {})
    chosen = {name: judgments.select(dimension=dimension) for name, judgments in label_sets.items()}
    joint = fit_joint(
        _one_table(chosen, soft),
        engine=engine,
        model=ModelSpec(ties, order, priors=priors),
        soft=soft,
        **options,
    )
    names, sorted_names = tuple(chosen), list(joint.fits)
    places = [sorted_names.index(name) for name in names]
    return LatentCorrelation(
        names,
        joint.correlation[:, places][:, :, places],
        {name: joint.fits[name] for name in names},
        joint.fits[names[0]].options.interval,
    )


def _one_table(label_sets: Mapping[str, Judgments], soft: bool) -> Judgments:
    """Stack the sources, their names in the place of the dimension."""
    known = [set(judgments.items) for judgments in label_sets.values()]
    common = set.intersection(*known)
    if len(common) < FEWEST_ITEMS:
        raise InputError(
            f"{', '.join(label_sets)}: {len(common)} items in common, so nothing can be correlated. At least "
            f"{FEWEST_ITEMS} are needed, under the same ids."
        )
    parts = []
    for name, judgments in label_sets.items():
        frame = judgments.frame
        if "dimension" in frame and frame["dimension"].nunique() > 1:
            found = ", ".join(sorted(map(str, frame["dimension"].dropna().unique())))
            raise InputError(
                f"{judgments.source}: several dimensions ({found}); choose one with --dimension."
            )
        part = frame[[column for column in KEPT if column in frame]].astype(object).assign(dimension=name)
        if "run" not in frame:
            part["run"] = 1
        parts.append(part.assign(**_probabilities(judgments)) if soft else part)
    columns = dict.fromkeys(column for part in parts for column in part.columns)
    table = pd.concat([part.reindex(columns=list(columns)) for part in parts], ignore_index=True)
    return Judgments.from_frame(table, outcomes="side", source=" + ".join(label_sets))


def _probabilities(judgments: Judgments) -> dict[str, Floats]:
    """Label probabilities; where a source has none, its labels are certain."""
    frame, names = judgments.frame, PROBABILITY_COLUMNS[:3]
    if set(names) <= set(frame.columns):
        return {name: frame[name].to_numpy(dtype=float) for name in names}
    codes = frame["outcome"].cat.codes.to_numpy()
    return {name: np.where(codes >= 0, codes == label, np.nan) for label, name in enumerate(names)}


def _extreme(choose: Any, values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(choose(known)) if known else None
