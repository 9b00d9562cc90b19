"""What a posterior says against its own model: predictive checks, and sensitivity to prior and data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array

from bayesbt.infer.groups import log_prior, log_probabilities, thin
from bayesbt.infer.influence import Influence, influence
from bayesbt.infer.model import Cells
from bayesbt.infer.results import Draws

if TYPE_CHECKING:
    from bayesbt.infer.fitted import Fit

Floats = NDArray[np.float64]

REPLICATIONS = 400
REPLICATED_COUNTS = 2**24  # at most this many numbers in all replications
SCALED_DRAWS = 1000  # draws by which power scaling is judged
TAIL = 0.005  # a predictive check below this, or above one minus it, is reported
RESIDUAL = 3.5  # a pair's standardised residual beyond this is reported
SENSITIVE = 0.1  # to the prior: twice the usual limit of power-scaling, which small data sets often pass
INFORMED = 0.05  # to the likelihood: the usual limit (Kallioinen et al. 2024)
SCALING = 1.25


@dataclass(frozen=True)
class PredictiveCheck:
    """An observed statistic among its posterior predictive replications.

    ``p`` is the share of replications at or above the observed value, half of the equal ones counted.
    """

    name: str
    observed: float
    lower: float
    upper: float
    p: float

    @property
    def surprising(self) -> bool:
        """Whether the observed value lies far in a tail of the replications; scatter only if it is too large.

        Residuals that are smaller than replicated ones are what fitting to the same data does.
        """
        return self.p < TAIL or (self.p > 1 - TAIL and self.name != "pairs")


@dataclass(frozen=True)
class Criticism:
    """The findings.

    Attributes
    ----------
    checks : tuple of PredictiveCheck
        ``first shown`` (share of decisive judgments won by the item shown first), ``tie rate`` (for models
        with a P(tie)), ``pairs`` (chi-square of the pairs' net wins).
    pairs : DataFrame
        Pairs with a standardised residual of their net wins beyond 3.5: ``first``, ``second``, ``net``,
        ``expected``, ``z``.
    cycles : DataFrame
        Triads in which the first beats the second, the second the third and the third the first by more than
        the strengths allow: ``first``, ``second``, ``third``, ``z``.
    sensitivity : DataFrame
        By scalar parameter: ``prior`` and ``likelihood``, how far its posterior moves when either is raised
        to a power near one. A parameter that both move is in conflict; one that the prior alone moves is
        decided by the prior.
    influence : Influence
        Pareto k of the judgments that pull most.
    """

    checks: tuple[PredictiveCheck, ...]
    pairs: pd.DataFrame
    cycles: pd.DataFrame
    sensitivity: pd.DataFrame
    influence: Influence

    def as_dict(self) -> dict[str, Any]:
        """As in fit.json."""
        return {
            "checks": [asdict(check) | {"surprising": check.surprising} for check in self.checks],
            "pairs": self.pairs.to_dict(orient="records"),
            "cycles": self.cycles.to_dict(orient="records"),
            "sensitivity": self.sensitivity.to_dict(orient="index"),
            "influence": self.influence.as_dict(),
        }

    def messages(self) -> list[str]:
        """Return one sentence for each finding that a reader must know."""
        found = [MISFIT[check.name].format(check=check) for check in self.checks if check.surprising]
        if len(self.cycles):
            worst = self.cycles.iloc[0]
            found.append(
                f"{len(self.cycles):,} cyclic triads that one strength an item cannot explain, the worst: "
                f"{worst['first']} beats {worst['second']} beats {worst['third']} beats {worst['first']}."
            )
        for name, row in self.sensitivity.iterrows():
            if row["prior"] >= SENSITIVE and row["likelihood"] >= INFORMED:
                found.append(
                    f"Prior-data conflict in {name}: prior and data pull apart; look at --prior {name}=..."
                )
            elif row["prior"] >= SENSITIVE:
                found.append(f"The prior decides much of {name}: try another --prior {name}=... beside it.")
        return found + self.influence.messages()


MISFIT = {
    "first shown": (
        "The item shown first won {check.observed:.1%} of the decisive judgments, where the model expects "
        "{check.lower:.1%} to {check.upper:.1%}: fit an order effect (--order shared, or by-judge)."
    ),
    "tie rate": (
        "{check.observed:.1%} of the judgments are ties, where the model expects {check.lower:.1%} to "
        "{check.upper:.1%}: compare tie models with `bayesbt ties`."
    ),
    "pairs": (
        "The pairs scatter more than one strength an item allows (chi-square {check.observed:.0f}, the model "
        "expects {check.lower:.0f} to {check.upper:.0f}): look at the pairs named, at judges who disagree, "
        "and at repeated judgments that are not independent."
    ),
}


def criticise(fit: Fit) -> Criticism | None:
    """Check a fit that has draws of a posterior; None for the others."""
    draws = fit.result.draws
    if draws is None or not fit.result.bayesian:
        return None
    cells = Cells.of(fit.counts, fit.spec.tie_model)
    expected, variance, replicated = _predictions(fit, draws, cells)
    pair, n_pairs, sign = _pairs(cells)
    observed = np.stack([cells.wins_a, cells.ties, cells.wins_b])
    net = np.stack([_net(counts, pair, n_pairs, sign) for counts in (observed, *replicated)])
    mean, spread = np.bincount(pair, sign * expected, n_pairs), np.bincount(pair, variance, n_pairs)
    z = (net - mean) / np.sqrt(np.maximum(spread, 1e-12))
    counts = np.concatenate([observed[None], replicated])
    statistics: dict[str, Callable[[], Floats]] = {
        "first shown": lambda: _share(counts[:, 0].sum(axis=1), counts[:, 2].sum(axis=1)),
        "tie rate": lambda: _share(counts[:, 1].sum(axis=1), (counts[:, 0] + counts[:, 2]).sum(axis=1)),
        "pairs": lambda: (z**2).sum(axis=1),
    }
    if not fit.spec.tie_model.has_tie_parameter:
        del statistics["tie rate"]
    checks = tuple(_check(name, values()) for name, values in statistics.items())
    first, second = np.divmod(np.unique(_pair_code(cells)), cells.n_items)
    residuals = pd.DataFrame({"first": first, "second": second, "net": net[0], "expected": mean, "z": z[0]})
    return Criticism(
        checks,
        _named(residuals[residuals["z"].abs() > RESIDUAL].sort_values("z", key=lambda x: -x.abs()), fit, 2),
        _named(_cycles(residuals, spread, fit.counts.n_items), fit, 3),
        sensitivity(fit, draws, cells),
        influence(fit, draws),
    )


def _predictions(fit: Fit, draws: Draws, cells: Cells) -> tuple[Floats, Floats, NDArray[np.float64]]:
    """Predict net wins of a: mean and variance (C,); and replicate the counts (R, 3, C)."""
    chains, size = draws.strength.shape[:2]
    most = min(REPLICATIONS, REPLICATED_COUNTS // (3 * len(cells.a)))
    kept = thin(size, max(most, 50) // chains)
    total = np.rint(cells.wins_a + cells.ties + cells.wins_b).astype(np.int64)
    rng = np.random.default_rng(fit.options.seed)
    replicated = np.stack(
        [rng.multinomial(total, p.T).T for p in _probabilities(fit, draws, cells, kept)]
    ).astype(float)
    net = replicated[:, 0] - replicated[:, 2]
    return net.mean(axis=0), net.var(axis=0), replicated


def _probabilities(fit: Fit, draws: Draws, cells: Cells, kept: NDArray[np.int64]) -> Iterator[Floats]:
    """(3, C) P(a), P(tie), P(b) of each kept draw; without a tie where the model has none."""
    possible = np.array([[1.0], [float(fit.spec.tie_model.has_tie_parameter)], [1.0]])
    for _, _, log_p in log_probabilities(fit, draws, cells, kept):
        p = np.exp(log_p) * possible
        yield p / p.sum(axis=0)


def _pair_code(cells: Cells) -> NDArray[np.int64]:
    low, high = np.minimum(cells.a, cells.b), np.maximum(cells.a, cells.b)
    return low * cells.n_items + high


def _pairs(cells: Cells) -> tuple[NDArray[np.int64], int, Floats]:
    """Unordered pair of each cell, their number, and +1 where a is the pair's first item."""
    known, pair = np.unique(_pair_code(cells), return_inverse=True)
    return pair, len(known), np.where(cells.a < cells.b, 1.0, -1.0)


def _net(counts: Floats, pair: NDArray[np.int64], n_pairs: int, sign: Floats) -> Floats:
    return np.asarray(np.bincount(pair, sign * (counts[0] - counts[2]), n_pairs))


def _share(part: Floats, rest: Floats) -> Floats:
    return part / np.maximum(part + rest, 1e-12)


def _check(name: str, values: Floats) -> PredictiveCheck:
    observed, replicated = float(values[0]), values[1:]
    lower, upper = np.quantile(replicated, (TAIL, 1 - TAIL))
    near = np.abs(replicated - observed) < 1e-9
    p = float(((replicated > observed) & ~near).mean() + 0.5 * near.mean())
    return PredictiveCheck(name, observed, float(lower), float(upper), p)


def _cycles(residuals: pd.DataFrame, spread: NDArray[Any], n_items: int) -> pd.DataFrame:
    """Triads whose residual net wins run in a circle: z of their sum around it, beyond the limit."""
    strong = np.abs(residuals["z"].to_numpy()) > RESIDUAL / np.sqrt(3)
    edges = residuals[strong]
    first, second = edges["first"].to_numpy(), edges["second"].to_numpy()
    residual = (edges["net"] - edges["expected"]).to_numpy()
    shape = (n_items, n_items)
    flow = coo_array((residual, (first, second)), shape=shape).tocsr()
    flow = flow - flow.T
    variance = coo_array((spread[strong], (first, second)), shape=shape).tocsr()
    variance = variance + variance.T
    rows = []
    for i, j in zip(first, second, strict=True):
        common = np.intersect1d(flow[[i]].indices, flow[[j]].indices)
        for k in common[common > j]:
            around = flow[i, j] + flow[j, k] + flow[k, i]
            z = around / np.sqrt(max(variance[i, j] + variance[j, k] + variance[k, i], 1e-12))
            same_way = np.sign([flow[i, j], flow[j, k], flow[k, i]])
            if abs(z) > RESIDUAL and abs(same_way.sum()) == 3:
                rows.append((i, j, k, z) if z > 0 else (i, k, j, -z))
    frame = pd.DataFrame(rows, columns=["first", "second", "third", "z"])
    return frame.sort_values("z", ascending=False, ignore_index=True)


def _named(frame: pd.DataFrame, fit: Fit, columns: int) -> pd.DataFrame:
    labels = np.asarray(fit.items, dtype=object)
    named = {name: labels[frame[name].to_numpy(dtype=np.int64)] for name in frame.columns[:columns]}
    return frame.assign(**named).reset_index(drop=True)


def sensitivity(fit: Fit, draws: Draws, cells: Cells) -> pd.DataFrame:
    """Power-scaling sensitivity of the scalar parameters to the top priors and to the likelihood.

    Each is raised to the powers 1.25 and 1/1.25 by importance weights; the sensitivity is the cumulative
    Jensen-Shannon distance between the weighted and the plain posterior, per doubling of the power
    (Kallioinen, Paananen, Buerkner and Vehtari 2024).
    """
    chains, size = draws.strength.shape[:2]
    kept = thin(size, SCALED_DRAWS // chains)
    scalars = {name: values[:, kept].ravel() for name, values in draws.scalars.items()}
    priors = np.zeros(chains * len(kept))
    for name, values in scalars.items():
        priors = priors + log_prior(fit, name, values)
    log_likelihood = _log_likelihood(fit, draws, cells, kept)
    rows = {}
    for name, values in scalars.items():
        rows[name] = {
            "prior": _power_scaling(values, priors),
            "likelihood": _power_scaling(values, log_likelihood),
        }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["prior", "likelihood"])


def _log_likelihood(fit: Fit, draws: Draws, cells: Cells, kept: NDArray[np.int64]) -> Floats:
    """(S,) Log-likelihood of the kept draws."""
    counts = np.stack([cells.wins_a, cells.ties, cells.wins_b])
    totals = [(counts * log_p).sum() for _, _, log_p in log_probabilities(fit, draws, cells, kept)]
    return np.asarray(totals)


def _power_scaling(values: Floats, log_density: Floats) -> float:
    """Mean over the powers 1.25 and 1/1.25 of the distance, divided by log2 of the power."""
    order = np.argsort(values)
    distances = []
    for power in (SCALING, 1 / SCALING):
        log_weights = (power - 1) * log_density
        weights = np.exp(log_weights - log_weights.max())
        distances.append(_distance(values[order], weights[order] / weights.sum()))
    return float(np.mean(distances) / np.log2(SCALING))


def _distance(values: Floats, weights: Floats) -> float:
    """Cumulative Jensen-Shannon distance between equal weights and ``weights`` at sorted values."""
    steps = np.diff(values)
    p = np.arange(1, len(values)) / len(values)
    q = np.cumsum(weights)[:-1]
    middle = (p + q) / 2

    def divergence(x: Floats, y: Floats) -> tuple[float, float]:
        """Entropy-like integral of x against the middle, and the bound it is divided by."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(x > 0, x * (np.log2(x) - np.log2(middle)), 0.0) + (middle - x) / np.log(2)
        return float((steps * terms).sum()), float((steps * x).sum())

    up = [divergence(x, middle) for x in (p, q)]
    p, q, middle = 1 - p, 1 - q, 1 - middle
    down = [divergence(x, middle) for x in (p, q)]
    total = sum(part for part, _ in up + down)
    bound = sum(part for _, part in up + down)
    return float(np.sqrt(max(total, 0.0) / bound)) if bound > 0 else 0.0
