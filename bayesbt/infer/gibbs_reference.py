"""The Gaussian that every component is close to, given the scalars: where the Gibbs sampler proposes from.

Near the posterior mode of strengths and scalars (strengths' sd at the maximum of its Laplace marginal) the
log-likelihood of a component is about ``b' x - x' H x / 2``. With the eigenvectors V of H, its strengths
given the scalars are about Normal with covariance ``V diag(1 / (h + 1/sd^2)) V'``, whatever the sd; and the
mean follows the other scalars linearly through b. Nothing is factorised again while sampling.

H and b are those of the log-likelihood averaged over the Gaussian itself, one step from the mode towards
the Gaussian of least Kullback-Leibler divergence (Opper and Archambeau 2009): the posterior is skewed, so
that its mean is not its mode, and flatter around it than at it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jax.tree_util import register_dataclass
from numpy.typing import NDArray

from bayesbt.counts import Counts
from bayesbt.infer.derivatives import cell_derivatives, scalar_prior_derivatives
from bayesbt.infer.laplace import Marginal
from bayesbt.infer.model import Cells, log_prior_sd
from bayesbt.infer.modes import Arrow, Mode, Problem, scalars_at
from bayesbt.spec import ModelSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK_ARRAYS = ("component", "items", "real", "vectors", "curvature", "linear", "slopes")
NODES = ((-np.sqrt(3.0), 1 / 6), (0.0, 2 / 3), (np.sqrt(3.0), 1 / 6))
"""Three-point Gauss-Hermite quadrature for a standard Normal: nodes and weights."""
PARAMETERS = ("log_sd", "tie_logit", "order")


@partial(register_dataclass, data_fields=[*BLOCK_ARRAYS], meta_fields=[])
@dataclass(frozen=True)
class Block:
    """G components of at most m items, padded to m.

    Attributes
    ----------
    component : (G,) ints
    items : (G, m) ints
        Padding points behind the last item.
    real : (G, m) bools
    vectors : (G, m, m) floats
        Columns are the eigenvectors V; zero where padded.
    curvature : (G, m) floats
        Eigenvalues h of minus the Hessian of the log-likelihood; 1 where padded.
    linear : (G, m) floats
        V' b.
    slopes : (G, m, 2) floats
        What V' b gains for each unit of tie_logit and order.
    """

    component: Ints
    items: Ints
    real: NDArray[np.bool_]
    vectors: Floats
    curvature: Floats
    linear: Floats
    slopes: Floats


@partial(
    register_dataclass,
    data_fields=[
        "a",
        "b",
        "counts",
        "cell_component",
        "item_component",
        "blocks",
        "strength",
        "scalars",
        "spread",
        "curvature",
    ],
    meta_fields=["free", "n_components"],
)
@dataclass(frozen=True)
class Reference:
    """What the sampler starts from.

    Attributes
    ----------
    a, b : (C,) ints
        Items of each cell; cells are sorted by component.
    counts : (3, C) floats
        Wins of a, ties, wins of b as the likelihood sees them.
    cell_component : (C,) ints
    item_component : (I,) ints
    blocks : tuple of Block
        Components of similar size together.
    strength : (I,) floats
        The mode.
    scalars : (3,) floats
        log_sd, tie_logit, order at the mode, those that are fixed or absent included.
    spread : (3,) floats
        Their posterior standard deviations by Laplace's method; 0 where not free.
    curvature : (2, 3, 3) floats
        Minus the Hessian of the log-density in the scalars, expected over the Gaussian: with the
        standardised strengths held, and with the strengths held.
    free : tuple of 3 bools
        Which of them are parameters.
    n_components : int
    """

    a: Ints
    b: Ints
    counts: Floats
    cell_component: Ints
    item_component: Ints
    blocks: tuple[Block, ...]
    strength: Floats
    scalars: Floats
    spread: Floats
    curvature: Floats
    free: tuple[bool, bool, bool]
    n_components: int


def reference(counts: Counts, spec: ModelSpec) -> Reference:
    """Find the mode, and the Gaussian of every component with its curvature averaged over itself."""
    marginal = Marginal(counts, spec)
    log_sd = marginal.mode(tolerance=0.02)
    sd_is_free = spec.priors.strength_sd.fixed is None
    sd_spread = marginal.spread(log_sd) if sd_is_free else 0.0
    _, problem, mode = marginal.at(log_sd)
    n = counts.n_items
    order, tie_logit = scalars_at(problem, mode.theta)
    scalars = np.array([log_sd, tie_logit, order])
    at = [n + problem.free.index(name) if name in problem.free else None for name in PARAMETERS[1:]]
    free = (sd_is_free, at[0] is not None, at[1] is not None)
    spread = [sd_spread, *(0.0 if place is None else _sd(problem, mode, place) for place in at)]
    members = component_members(counts)
    cells, strength = problem.cells, mode.theta[:n]
    variance = _variance_of_differences(cells, mode.information, members)
    expected = _expected(spec, cells, strength[cells.a] - strength[cells.b], scalars, variance)
    blocks = tuple(
        _block([members[c] for c in group], np.array(group), cells, expected, strength, problem.precision)
        for group in _similar([len(one) for one in members])
    )
    component = counts.component
    sorted_cells = np.argsort(component[cells.a], kind="stable")
    counted = np.stack([cells.wins_a, cells.ties, cells.wins_b])
    return Reference(
        cells.a[sorted_cells],
        cells.b[sorted_cells],
        counted[:, sorted_cells],
        component[cells.a[sorted_cells]],
        component,
        blocks,
        strength,
        scalars,
        np.array(spread),
        expected.curvature(spec, scalars),
        free,
        len(members),
    )


def component_members(counts: Counts) -> list[Ints]:
    """Give the items of each component."""
    size = int(counts.component.max(initial=-1)) + 1
    return [np.flatnonzero(counts.component == c) for c in range(size)]


def _sd(problem: Problem, mode: Mode, place: int) -> float:
    unit = np.zeros(len(mode.theta))
    unit[place] = 1.0
    return float(np.sqrt(Arrow(mode.information, problem.members).solve(unit)[place]))


def _variance_of_differences(cells: Cells, information: Floats, members: list[Ints]) -> Floats:
    """(C,) Variance of strength a less strength b, given the scalars."""
    variance, place = np.zeros(len(cells.a)), np.zeros(cells.n_items, dtype=np.int64)
    component = np.zeros(cells.n_items, dtype=np.int64)
    for c, one in enumerate(members):
        place[one], component[one] = np.arange(len(one)), c
    of_cell = component[cells.a]
    for c, one in enumerate(members):
        here = np.flatnonzero(of_cell == c)
        if len(here):
            covariance = np.linalg.inv(information[np.ix_(one, one)])
            a, b = place[cells.a[here]], place[cells.b[here]]
            variance[here] = covariance[a, a] + covariance[b, b] - 2 * covariance[a, b]
    return variance


@dataclass(frozen=True)
class Expected:
    """Derivatives of the cells' log-likelihood in delta and u, (C,) each, averaged over the Gaussian.

    By three-point Gauss-Hermite quadrature over delta. ``weave`` is minus the expected Hessian (3, 3) in
    log_sd, tie_logit and order with the standardised strengths held, ``hold`` that with the strengths held.
    """

    d: Floats
    dd: Floats
    du: Floats
    weave: Floats
    hold: Floats

    def curvature(self, spec: ModelSpec, scalars: Floats) -> Floats:
        """(2, 3, 3) Curvatures of the log-density of the scalars, priors included."""
        priors, prior = spec.priors, np.zeros((3, 3))
        if priors.strength_sd.fixed is None:
            prior[0, 0] = -_second(lambda x: float(log_prior_sd(np, priors.strength_sd, x)), scalars[0])
        for k, (name, one) in enumerate((("tie_logit", priors.tie), ("order", priors.order)), start=1):
            used = spec.tie_model.has_tie_parameter if name == "tie_logit" else spec.has_order
            if used and one.fixed is None:
                prior[k, k] = -scalar_prior_derivatives(name, spec.ties, one, float(scalars[k]))[2]
        rest = prior * np.outer([0, 1, 1], [0, 1, 1])
        return np.stack([self.weave + prior, self.hold + rest])


def _expected(
    spec: ModelSpec, cells: Cells, difference: Floats, scalars: Floats, variance: Floats
) -> Expected:
    d, dd, du = np.zeros((3, len(difference)))
    weave, hold = np.zeros((2, 3, 3))
    for node, weight in NODES:
        moved = difference + node * np.sqrt(variance)
        cell = cell_derivatives(spec.ties, moved + scalars[2], float(scalars[1]), cells)
        d, dd, du = d + weight * cell.d, dd + weight * cell.dd, du + weight * cell.du
        across = [cell.du.sum(), cell.dd.sum()]
        corner = np.array([[cell.uu.sum(), across[0]], across])
        hold[1:, 1:] -= weight * corner
        weave[1:, 1:] -= weight * corner
        weave[0, 0] -= weight * (cell.dd * moved**2 + cell.d * moved).sum()
        edge = [(cell.du * moved).sum(), (cell.dd * moved).sum()]
        weave[0, 1:] -= weight * np.array(edge)
        weave[1:, 0] -= weight * np.array(edge)
    return Expected(d, dd, du, weave, hold)


def _second(value: Callable[[float], float], x: float, step: float = 1e-3) -> float:
    return (value(x + step) - 2 * value(x) + value(x - step)) / step**2


def _similar(sizes: list[int]) -> list[list[int]]:
    """Group components whose sizes round up to the same step: at most a quarter more work by padding."""
    groups: dict[int, list[int]] = {}
    for c, size in enumerate(sizes):
        step = 2 ** max(0, size.bit_length() - 3)
        groups.setdefault(-(-size // step) * step, []).append(c)
    return [groups[size] for size in sorted(groups)]


def _block(
    members: list[Ints],
    component: Ints,
    cells: Cells,
    expected: Expected,
    strength: Floats,
    precision: float,
) -> Block:
    size, n = max(map(len, members)), cells.n_items
    shape = (len(members), size)
    items, real = np.full(shape, n), np.zeros(shape, dtype=bool)
    vectors, curvature = np.zeros((*shape, size)), np.ones(shape)
    turned, turned_slopes = np.zeros(shape), np.zeros((*shape, 2))
    place, within = np.zeros(n, dtype=np.int64), np.full(n, -1)
    for g, one in enumerate(members):
        place[one], within[one] = np.arange(len(one)), g
    of_cell = within[cells.a]
    by_group = np.argsort(of_cell, kind="stable")
    starts = np.searchsorted(of_cell[by_group], np.arange(len(members) + 1))
    for g, one in enumerate(members):
        k, here = len(one), by_group[starts[g] : starts[g + 1]]
        a, b = place[cells.a[here]], place[cells.b[here]]
        hessian = np.zeros((k, k))
        for row, column, sign in ((a, a, -1), (b, b, -1), (a, b, 1), (b, a, 1)):
            np.add.at(hessian, (row, column), sign * expected.dd[here])
        slope, *slopes = (
            np.bincount(a, part[here], k) - np.bincount(b, part[here], k)
            for part in (expected.d, expected.du, expected.dd)
        )
        # One Newton step on the expected log-density: from the mode towards the mean.
        inner = hessian + precision * np.eye(k)
        mean = strength[one] + np.linalg.solve(inner, slope - precision * strength[one])
        values, v = np.linalg.eigh(hessian)
        items[g, :k], real[g, :k] = one, True
        vectors[g, :k, :k], curvature[g, :k] = v, np.maximum(values, 0.0)
        turned[g, :k] = v.T @ (inner @ mean)
        turned_slopes[g, :k] = v.T @ np.stack(slopes, axis=1)
    return Block(component, items, real, vectors, curvature, turned, turned_slopes)
