"""What is said of agreement beyond point estimates: ceilings, posteriors, latent correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bayesbt.agreement.configurations import Configuration, Human
from bayesbt.agreement.refit import POSTERIOR_ENGINES
from bayesbt.agreement.result import Settings
from bayesbt.errors import BayesBTError, NotConvergedError
from bayesbt.infer import fit
from bayesbt.infer.fitted import Fit
from bayesbt.ranks import highest_density_interval
from bayesbt.tables import Judgments

HUMANS = "humans"


@dataclass(frozen=True)
class Extras:
    """Attributes of the same names of :class:`bayesbt.agreement.result.Agreement`.

    ``ceilings`` by dimension: ``estimate``, ``lower``, ``upper`` of the split-half reliability, and
    ``ceiling``, its square root, the highest correlation to be expected of any judge.
    ``latent`` and ``posterior`` by name and dimension: ``mean``, ``lower``, ``upper`` (of each metric).
    ``closer``: one record a pair of configurations, metric and dimension, with ``p``.
    """

    ceilings: dict[str, dict[str, float]] = field(default_factory=dict)
    latent: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    posterior: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    closer: tuple[dict[str, Any], ...] = ()
    messages: tuple[str, ...] = ()


def extras(
    judges: Sequence[Configuration],
    people: Human,
    dimensions: Sequence[str],
    best: str,
    settings: Settings,
    asked: tuple[bool, bool, bool],
    progress: bool,
) -> Extras:
    """Compute what was asked for: ceiling, posterior, latent correlation."""
    ceiling, posterior, latent = asked
    out = Extras()
    messages: list[str] = []
    if ceiling and people.judgments:
        messages += _ceilings(people.judgments, dimensions, settings, out.ceilings)
    closer: list[dict[str, Any]] = []
    if posterior:
        closer = _posteriors(judges, people, dimensions, best, settings, out.posterior, progress)
    if latent:
        _latent(judges, people, dimensions, settings, out.latent, progress)
    return Extras(out.ceilings, out.latent, out.posterior, tuple(closer), tuple(messages))


def _ceilings(
    judgments: Mapping[str, Judgments],
    dimensions: Sequence[str],
    settings: Settings,
    out: dict[str, dict[str, float]],
) -> list[str]:
    from bayesbt.reliability import split_half

    messages = []
    for dimension in dimensions:
        try:
            found = split_half(
                judgments[dimension],
                seed=settings.seed,
                ties=settings.model.ties or "rao-kupper",
                order=settings.model.order,
                interval=settings.interval,
            )
        except BayesBTError as error:
            messages.append(f"{dimension}: no ceiling. {error}")
            continue
        out[dimension] = found.as_dict()
    return messages


def _fitted(source: Configuration | Human, dimension: str, settings: Settings, progress: bool) -> Fit:
    """Draws of one side: its own fit, or one by the engine where that has a posterior, else by laplace."""
    if source.fits:
        return source.fits[dimension]
    judgments = source.judgments if isinstance(source, Human) else source.labels
    model = settings.model
    engine = model.engine if model.engine in POSTERIOR_ENGINES and model.engine != "map" else "laplace"
    ties = None if model.engine not in POSTERIOR_ENGINES else model.ties
    options: dict[str, Any] = {"seed": settings.seed, "interval": settings.interval, **model.options}
    return fit(
        judgments[dimension], ties=ties, engine=engine, order=model.order, progress=progress, **options
    )


def _posteriors(
    judges: Sequence[Configuration],
    people: Human,
    dimensions: Sequence[str],
    best: str,
    settings: Settings,
    out: dict[tuple[str, str], dict[str, Any]],
    progress: bool,
) -> list[dict[str, Any]]:
    from bayesbt.agreement.posterior import posterior_metrics, probability_closer

    closer = []
    for dimension in dimensions:
        human = _fitted(people, dimension, settings, progress)
        fits = {judge.name: _fitted(judge, dimension, settings, progress) for judge in judges}
        for name, fitted in fits.items():
            table = posterior_metrics(fitted, human, seed=settings.seed)
            nested: dict[str, Any] = {}
            for row in table.to_dict(orient="records"):
                kind = "scores" if row["scope"] == "pooled" else "within_topic"
                nested.setdefault(kind, {})[row["metric"]] = {
                    key: row[key] for key in ("mean", "lower", "upper")
                }
            out[name, dimension] = nested
        for name in fits:
            if name != best:
                p = probability_closer(fits[best], fits[name], human, "pearson", seed=settings.seed)
                closer.append(
                    {"dimension": dimension, "metric": "pearson", "first": best, "second": name, "p": p}
                )
    return closer


def _latent(
    judges: Sequence[Configuration],
    people: Human,
    dimensions: Sequence[str],
    settings: Settings,
    out: dict[tuple[str, str], dict[str, float]],
    progress: bool,
) -> None:
    from bayesbt.agreement.latent import latent_correlation

    options: dict[str, Any] = {"seed": settings.seed, "interval": settings.interval, "progress": progress}
    for dimension in dimensions:
        for judge in judges:
            if dimension in judge.labels and dimension in people.judgments:
                sources = {HUMANS: people.judgments[dimension], judge.name: judge.labels[dimension]}
                options |= {"ties": settings.model.ties or "rao-kupper", **_sampling(settings)}
                try:
                    found = latent_correlation(sources, engine="laplace", **options)
                except NotConvergedError:  # it carries too little of this posterior
                    found = latent_correlation(sources, engine="numpyro", **options)
                draws = found.draws[:, 0, 1]
                lower, upper = highest_density_interval(draws, settings.interval)
                out[judge.name, dimension] = {
                    "mean": float(draws.mean()),
                    "lower": float(lower),
                    "upper": float(upper),
                }


def _sampling(settings: Settings) -> dict[str, Any]:
    known = ("draws", "tune", "chains", "target_accept")
    return {name: value for name, value in settings.model.options.items() if name in known}
