"""What ``agree`` returns, and its JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bayesbt.agreement.estimates import ScoreModel
from bayesbt.agreement.labels import LabelIdentity
from bayesbt.agreement.measuring import HIGHER_IS_BETTER, METRICS_OF
from bayesbt.agreement.parting import Parting
from bayesbt.agreement.significance import Unit
from bayesbt.errors import InputError
from bayesbt.infer.fitted import plain
from bayesbt.voting import Rule

MEAN = "mean"


@dataclass(frozen=True)
class Settings:
    """How agreement was measured; as given to :func:`agree`."""

    bootstrap: int = 10_000
    unit: Unit = "items"
    label_identity: LabelIdentity = "outcome"
    seed: int = 0
    interval: float = 0.95
    null_seeds: int = 20
    model: ScoreModel = field(default_factory=ScoreModel)
    rule: Rule = "majority"
    metrics: tuple[str, ...] = tuple(HIGHER_IS_BETTER)
    best: str | None = None


@dataclass(frozen=True)
class Agreement:
    """How judges agree with people.

    Attributes
    ----------
    dimensions : tuple of str
    configurations : tuple of str
        Names of the judges with their prompts; null judges are not among them.
    best : str
        The one with the highest mean Pearson correlation.
    metrics : DataFrame
        One row a configuration or null judge, dimension (``mean`` for that over the dimensions), kind
        (``labels``, ``scores`` over all items, ``within_topic``) and metric: ``name``, ``judge``, ``prompt``,
        ``null``, ``dimension``, ``kind``, ``metric``, ``estimate``, ``lower``, ``upper``, ``sd`` (over the
        dimensions, ddof 1; only for ``mean``).
        Intervals are percentiles of the bootstrap; those of random null judges, of their seeds.
    sizes : DataFrame
        ``name``, ``dimension``, ``n_items``, ``n_pairs``, ``missing``, ``unscored``.
    tests : DataFrame
        The best configuration of each metric and dimension against each other one: ``dimension``, ``kind``,
        ``metric``, ``better``, ``worse``, ``difference``, ``lower``, ``upper``, ``bca_lower``, ``bca_upper``,
        ``p``, ``p_holm`` (over all tests of one metric), ``n_failed``.
    cross : DataFrame
        Columns of ``metrics``: the other configurations against the best one in the place of people.
    confusion : dict of (str, str) to DataFrame
        By name and dimension.
    parting : tuple of Parting
        Where the best configuration and people part, by dimension.
    verdicts : tuple of str
        Judges that do not differ from null judges, in words.
    messages : tuple of str
    ceilings, latent, posterior, closer : as in :mod:`bayesbt.agreement.uncertainty`
        By dimension (and name); empty where they were not asked for.
    settings : Settings
    several_topics : bool
        Whether ``within_topic`` differs from ``scores``.
    """

    dimensions: tuple[str, ...]
    configurations: tuple[str, ...]
    best: str
    metrics: pd.DataFrame
    sizes: pd.DataFrame
    tests: pd.DataFrame
    cross: pd.DataFrame
    confusion: Mapping[tuple[str, str], pd.DataFrame]
    parting: tuple[Parting, ...]
    verdicts: tuple[str, ...]
    messages: tuple[str, ...]
    settings: Settings
    ceilings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    latent: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    posterior: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    closer: tuple[Mapping[str, Any], ...] = ()
    several_topics: bool = False

    def value(self, name: str, dimension: str, metric: str, kind: str | None = None) -> pd.Series[Any]:
        """Return the row of ``metrics`` with this name, dimension and metric; over all items by default."""
        kind = kind or ("labels" if metric in METRICS_OF["labels"] else "scores")
        wanted = {"name": name, "dimension": dimension, "kind": kind, "metric": metric}
        rows = self.metrics
        for column, value in wanted.items():
            rows = rows[rows[column] == value]
        if len(rows) != 1:
            raise InputError(f"agreement: nothing is called {', '.join(map(str, wanted.values()))}.")
        return rows.iloc[0]

    def summary(self) -> dict[str, Any]:
        """Return the document of ``bayesbt agree --json`` (CONTRACT, section 4).

        ``dimensions``, ``mean`` and ``sd`` are those of the best configuration, ``best``; those of each are
        in ``configurations``.
        """
        documents = {name: self._of(name) for name in self.configurations}
        nulls = [name for name in dict.fromkeys(self.metrics["name"]) if name not in documents]
        settings = {name: getattr(self.settings, name) for name in _SHOWN_SETTINGS}
        model = self.settings.model
        document = {
            "best": self.best,
            **documents[self.best],
            "configurations": documents,
            "baselines": {name: self._of(name) for name in nulls},
            "verdicts": list(self.verdicts),
            "tests": self.tests.to_dict(orient="records"),
            "cross": self._cross(),
            "parting": {each.dimension: each.summary() for each in self.parting},
            "closer": list(self.closer),
            "settings": settings
            | {"engine": model.engine, "ties": model.ties, "order": model.order, **dict(model.options)},
            "messages": list(self.messages),
        }
        return plain(document)  # type: ignore[no-any-return]

    def _of(self, name: str) -> dict[str, Any]:
        rows = self.metrics[self.metrics["name"] == name]
        dimensions: dict[str, Any] = {}
        for dimension in self.dimensions:
            own = _nested(rows[rows["dimension"] == dimension])
            size = self.sizes[(self.sizes["name"] == name) & (self.sizes["dimension"] == dimension)]
            own |= {str(key): value for key, value in _first(size).items()}
            if (name, dimension) in self.confusion:
                own["confusion"] = self.confusion[name, dimension].to_dict(orient="index")
            for key, known in (("latent_correlation", self.latent), ("posterior", self.posterior)):
                if (name, dimension) in known:
                    own[key] = dict(known[name, dimension])
            if dimension in self.ceilings:
                own["ceiling"] = dict(self.ceilings[dimension])
            dimensions[dimension] = own
        over = rows[rows["dimension"] == MEAN]
        sd = {kind: dict(zip(part["metric"], part["sd"], strict=True)) for kind, part in over.groupby("kind")}
        return {"dimensions": dimensions, "mean": _nested(over), "sd": sd}

    def _cross(self) -> dict[str, Any]:
        if self.cross.empty:
            return {}
        return {"reference": self.best} | {
            str(name): {
                str(dimension): _nested(part) for dimension, part in rows.groupby("dimension", sort=False)
            }
            for name, rows in self.cross.groupby("name", sort=False)
        }


_SHOWN_SETTINGS = ("bootstrap", "unit", "label_identity", "seed", "interval", "null_seeds", "rule")


def _first(size: pd.DataFrame) -> dict[Any, Any]:
    return {} if size.empty else size.drop(columns=["name", "dimension"]).iloc[0].to_dict()


def _nested(rows: pd.DataFrame) -> dict[str, Any]:
    """Rows of metrics by kind and metric, each an object with estimate, lower and upper."""
    out: dict[str, Any] = {}
    for row in rows.itertuples():
        values = {"estimate": row.estimate, "lower": row.lower, "upper": row.upper}
        out.setdefault(str(row.kind), {})[str(row.metric)] = values
    return out
