"""What the judgments of each cell contribute at each draw of a fit, judges' effects included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.infer.fitted import Fit
from bayesbt.infer.groups import parameters_of_draw
from bayesbt.infer.model import Cells, linear_predictor
from bayesbt.infer.results import Draws
from bayesbt.ties import TieModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK_VALUES = 2**20  # draws times cells that are held at once


@dataclass(frozen=True)
class Terms:
    """Log-probabilities of one judgment of each kind, outcome a, tie or b of each cell, at each draw.

    Attributes
    ----------
    cells : (C,) int array
        Positions of the cells among those of the counts.
    delta : (S, C) array
        Linear predictor, log-odds.
    fitted : (3, S, C) array
        What one such judgment adds to the log-likelihood of the model as fitted.
    decisive : (3, S, C) array
        log P(this outcome | no tie); 0 for a tie.
    full : (3, S, C) array or None
        log P(this outcome) of models that have a P(tie).
    """

    cells: Ints
    delta: Floats
    fitted: Floats
    decisive: Floats
    full: Floats | None


def thin(draws: Draws, most: int) -> Draws:
    """At most ``most`` draws over all chains, evenly spaced, without the sampler's statistics."""
    chains, size = draws.strength.shape[:2]
    kept = np.unique(np.linspace(0, size - 1, max(1, min(size, most // chains))).astype(np.int64))
    scalars = {name: values[:, kept] for name, values in draws.scalars.items()}
    vectors = {name: values[:, kept] for name, values in draws.vectors.items()}
    return Draws(draws.strength[:, kept], scalars, {}, vectors)


def counts_by_outcome(counts: Counts) -> Floats:
    """(3, C) The judgments of each cell as they were made, whatever the tie model does with them."""
    return np.stack([counts.wins_a, counts.ties, counts.wins_b])


def terms(fit: Fit, draws: Draws, cells: Ints | None = None) -> Iterator[Terms]:
    """Yield the terms of all cells, or of some, a chunk of cells at a time; S is chain after chain."""
    chains, size = draws.strength.shape[:2]
    positions = np.arange(len(fit.counts.a)) if cells is None else cells
    model, weights = fit.spec.tie_model, rule(fit.spec.tie_model)
    step = max(1, CHUNK_VALUES // (chains * size))
    for start in range(0, len(positions), step):
        chunk = positions[start : start + step]
        delta, tie_logit = _predictors(fit, draws, _cells(fit.counts, chunk))
        log_p = np.stack(model.log_probabilities(np, delta, tie_logit))
        decisive = log_p - np.logaddexp(log_p[0], log_p[2])
        decisive[1] = 0.0
        fitted = np.einsum("ro,osc->rsc", weights, log_p)
        yield Terms(chunk, delta, fitted, decisive, log_p if model.has_tie_parameter else None)


def rule(model: TieModel) -> Floats:
    """(3, 3) Weights of log P(a), log P(tie), log P(b) in what a judgment, by its outcome, adds to a fit."""
    one = np.eye(3)
    return np.stack(model.outcome_counts(*one)).T


def _cells(counts: Counts, chunk: Ints) -> Cells:
    names = ("a", "b", "wins_a", "ties", "wins_b", "judge", "dimension")
    return Cells(counts.n_items, *(getattr(counts, name)[chunk] for name in names))


def _predictors(fit: Fit, draws: Draws, cells: Cells) -> tuple[Floats, Floats]:
    """(S, C) delta and (S, C) u = logit(t)."""
    chains, size = draws.strength.shape[:2]
    delta, tie_logit = np.empty((2, chains * size, len(cells.a)))
    for s in range(chains * size):
        parameters = parameters_of_draw(fit.spec, draws, *divmod(s, size))
        delta[s], tie_logit[s] = linear_predictor(np, fit.spec, parameters, cells)
    return delta, tie_logit
