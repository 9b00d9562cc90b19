"""The statistical model as a document: tie model, order effect, judges and every prior in force."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bayesbt import documents
from bayesbt.errors import InputError
from bayesbt.ties import TieModel, tie_model

Order = Literal["none", "shared", "by-judge"]
Judges = Literal["ignore", "adherence"]
TieParameter = Literal["shared", "by-judge"]
CHOICES: dict[str, tuple[str, ...]] = {
    "order": get_args(Order),
    "judges": get_args(Judges),
    "tie_parameter": get_args(TieParameter),
}


@dataclass(frozen=True)
class Family:
    """A prior family: its arguments, its log-density under an array namespace, and how to draw from it."""

    arguments: tuple[str, ...]
    log_density: Callable[..., Any]
    sample: Callable[..., NDArray[np.float64]]


def _normal(xp: Any, x: Any, mean: float, sd: float) -> Any:
    return -0.5 * ((x - mean) / sd) ** 2 - math.log(sd) - 0.5 * math.log(2 * math.pi)


def _beta(xp: Any, x: Any, a: float, b: float) -> Any:
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return (a - 1) * xp.log(x) + (b - 1) * xp.log1p(-x) + constant


def _no_density(*_: Any) -> Any:
    raise InputError("LKJ is a prior of a correlation matrix; it has no density at a number.")


FAMILIES: dict[str, Family] = {
    "Normal": Family(("mean", "sd"), _normal, lambda rng, n, mean, sd: rng.normal(mean, sd, n)),
    "HalfNormal": Family(
        ("sd",),
        lambda xp, x, sd: _normal(xp, x, 0.0, sd) + math.log(2),
        lambda rng, n, sd: np.abs(rng.normal(0, sd, n)),
    ),
    "LogNormal": Family(
        ("mean of log", "sd of log"),
        lambda xp, x, mean, sd: _normal(xp, xp.log(x), mean, sd) - xp.log(x),
        lambda rng, n, mean, sd: np.exp(rng.normal(mean, sd, n)),
    ),
    "Beta": Family(("a", "b"), _beta, lambda rng, n, a, b: rng.beta(a, b, n)),
    "LKJ": Family(("eta",), _no_density, _no_density),
    "Fixed": Family(("value",), lambda xp, x, value: 0.0 * x, lambda rng, n, value: np.full(n, value)),
}


@dataclass(frozen=True)
class Prior:
    """A prior, written ``Family(arguments)`` or, for a fixed value, a number.

    >>> Prior.parse("HalfNormal(1)")
    Prior(family='HalfNormal', arguments=(1.0,))
    >>> str(Prior.parse("3"))
    '3'
    """

    family: str
    arguments: tuple[float, ...]

    @classmethod
    def parse(cls, text: str | float | Prior) -> Prior:
        """Read ``Normal(0, 0.5)`` or ``0.7``; an InputError says what is allowed."""
        if isinstance(text, Prior):
            return text
        allowed = ", ".join(f"{name}({', '.join(family.arguments)})" for name, family in FAMILIES.items())
        problem = InputError(
            f"prior {text!r} is not understood. Allowed: a number (a fixed value), or one of {allowed}."
        )
        match = re.fullmatch(r"\s*(?:(\w+)\s*\(([^()]*)\)|([-+.\deE]+))\s*", str(text))
        if match is None:
            raise problem
        name, inside = (match[1], match[2]) if match[1] else ("Fixed", match[3])
        try:
            values = tuple(float(value) for value in inside.split(","))
        except ValueError:
            raise problem from None
        if name not in FAMILIES or len(values) != len(FAMILIES[name].arguments):
            raise problem
        scales = values if name in ("Beta", "LKJ") else () if name == "Fixed" else values[-1:]
        if not all(map(math.isfinite, values)) or any(scale <= 0 for scale in scales):
            raise InputError(f"prior {text!r}: arguments must be finite, and scales and Beta shapes above 0.")
        return cls(name, values)

    @property
    def fixed(self) -> float | None:
        """The value, where it is fixed."""
        return self.arguments[0] if self.family == "Fixed" else None

    def log_density(self, xp: Any, x: Any) -> Any:
        """Log-density at ``x`` with its constants, under the array namespace ``xp``."""
        return FAMILIES[self.family].log_density(xp, x, *self.arguments)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw ``size`` values."""
        return FAMILIES[self.family].sample(rng, size, *self.arguments)

    def __str__(self) -> str:
        """As the user would type it."""
        if self.family == "Fixed":
            return f"{self.arguments[0]:g}"
        return f"{self.family}({', '.join(f'{value:g}' for value in self.arguments)})"


#: The families that make sense for each prior, and the values that a fixed one may take.
ALLOWED: dict[str, tuple[tuple[str, ...], Callable[[float], bool], str]] = {
    "strength_sd": (
        ("HalfNormal", "LogNormal", "Fixed"),
        lambda value: 1e-8 <= value <= 1e8,
        "between 1e-8 and 1e8 log-odds",
    ),
    "tie": (("Beta", "LogNormal", "Fixed"), lambda value: 0 < value < 1, "between 0 and 1"),
    "order": (("Normal", "Fixed"), lambda value: True, "any number"),
    "order_judge_sd": (("HalfNormal", "LogNormal", "Fixed"), lambda value: value > 0, "above 0"),
    "tie_judge_sd": (("HalfNormal", "LogNormal", "Fixed"), lambda value: value > 0, "above 0"),
    "adherence_sd": (("HalfNormal", "LogNormal", "Fixed"), lambda value: value > 0, "above 0"),
    "covariate": (("Normal",), lambda value: False, "a Normal"),
    "correlation": (("LKJ",), lambda value: False, "an LKJ"),
}


@dataclass(frozen=True)
class Priors:
    """Every prior of the model (STATISTICS: section 4).

    Attributes
    ----------
    strength_sd : Prior
        Standard deviation of the strengths, in log-odds; strengths are Normal(0, strength_sd).
    tie : Prior
        Beta or a fixed value: on ``t = P(tie | delta = 0)``. LogNormal: on the textbook parameter, nu for
        Davidson and tau = log(theta) for Rao-Kupper.
    order : Prior
        The order effect beta in log-odds, positive in favour of the item shown first.
    order_judge_sd, tie_judge_sd : Prior
        Standard deviation over judges of their order effects (log-odds) and of logit(t), around the common
        ones.
    adherence_sd : Prior
        Standard deviation over judges of log(alpha); alpha has geometric mean 1.
    covariate : Prior
        Coefficient of a standardised covariate, in log-odds.
    correlation : Prior
        Of the strengths over dimensions: LKJ(eta).
    """

    strength_sd: Prior = Prior("HalfNormal", (1.0,))
    tie: Prior = Prior("Beta", (1.0, 1.0))
    order: Prior = Prior("Normal", (0.0, 0.5))
    order_judge_sd: Prior = Prior("HalfNormal", (0.5,))
    tie_judge_sd: Prior = Prior("HalfNormal", (0.5,))
    adherence_sd: Prior = Prior("Fixed", (0.5,))
    covariate: Prior = Prior("Normal", (0.0, 1.0))
    correlation: Prior = Prior("LKJ", (2.0,))

    def __post_init__(self) -> None:
        """Check each prior's family and fixed value."""
        for name, (families, valid, range_) in ALLOWED.items():
            prior: Prior = getattr(self, name)
            if prior.family not in families:
                raise InputError(
                    f"prior {name}={prior}: {prior.family} is not possible here. "
                    f"Allowed: {', '.join(families)}."
                )
            if prior.fixed is not None and not valid(prior.fixed):
                raise InputError(f"prior {name}={prior}: a fixed {name} must be {range_}.")

    def updated(self, changes: Mapping[str, str | float | Prior], place: str = "--prior") -> Priors:
        """Return a copy with some priors replaced; an unknown name is an InputError that lists the names."""
        unknown = sorted(set(changes) - set(ALLOWED))
        if unknown:
            raise InputError(f"{place}: no prior named {', '.join(unknown)}. Allowed: {', '.join(ALLOWED)}.")
        return replace(self, **{name: Prior.parse(value) for name, value in changes.items()})

    def as_dict(self) -> dict[str, str]:
        """Name to text, as the user would type them."""
        return {item.name: str(getattr(self, item.name)) for item in fields(self)}


def read_priors(name_or_path: str | Path) -> Priors:
    """Priors from a document of models/strength, by name or path; entries left out keep their defaults."""
    path = documents.find("strength", name_or_path)
    content = documents.read_toml(path)
    documents.check_keys(str(path), content, required={"priors"}, optional={"title", "source"})
    return Priors().updated(content["priors"], place=f"{path} [priors]")


@dataclass(frozen=True)
class ModelSpec:
    """What is fitted: tie model, order effect, judges, covariates, priors.

    Attributes
    ----------
    ties : str
        A name of :data:`bayesbt.ties.TIE_MODELS`.
    order : {"none", "shared", "by-judge"}
        Whether the item shown first gets an advantage ``beta``: the same for all judgments, or one for each
        judge, drawn together towards a common one (partial pooling).
    judges : {"ignore", "adherence"}
        Judges are pooled, or each has an adherence ``alpha`` (discrimination) with geometric mean 1.
    tie_parameter : {"shared", "by-judge"}
        One tie parameter, or one for each judge, partially pooled.
    covariates : tuple of str
        Item covariates, standardised, that shift the strengths.
    priors : Priors
        Used by the Bayesian engines; maximum likelihood ignores them.
    """

    ties: str = "rao-kupper"
    order: Order = "none"
    judges: Judges = "ignore"
    tie_parameter: TieParameter = "shared"
    covariates: tuple[str, ...] = ()
    priors: Priors = field(default_factory=Priors)

    def __post_init__(self) -> None:
        """Check the closed choices."""
        model = tie_model(self.ties)
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                flag = name.replace("_", "-")
                raise InputError(
                    f"--{flag} {getattr(self, name)!r} is not known. Allowed: {', '.join(allowed)}."
                )
        if self.tie_parameter == "by-judge" and not model.has_tie_parameter:
            raise InputError(f"--tie-parameter by-judge: --ties {self.ties} has no tie parameter.")

    @property
    def tie_model(self) -> TieModel:
        """The record of the tie model."""
        return tie_model(self.ties)

    @property
    def has_order(self) -> bool:
        """Whether the order effect is a parameter."""
        return self.order != "none"

    @property
    def by_judge(self) -> bool:
        """Whether some parameter belongs to a judge, so that judges must be kept apart."""
        return "by-judge" in (self.order, self.tie_parameter) or self.judges == "adherence"

    def pooled(self) -> ModelSpec:
        """Return the same model with one common judge and no covariates."""
        order: Order = "shared" if self.has_order else "none"
        return replace(self, order=order, judges="ignore", tie_parameter="shared", covariates=())

    def priors_in_force(self, dimensions: int = 1) -> dict[str, str]:
        """Only the priors of parameters that this model has."""
        kept = {
            "strength_sd": True,
            "tie": self.tie_model.has_tie_parameter,
            "order": self.has_order,
            "order_judge_sd": self.order == "by-judge",
            "tie_judge_sd": self.tie_parameter == "by-judge",
            "adherence_sd": self.judges == "adherence",
            "covariate": bool(self.covariates),
            "correlation": dimensions > 1,
        }
        return {name: text for name, text in self.priors.as_dict().items() if kept[name]}

    def to_toml(self) -> str:
        """Return the spec as a TOML document."""
        lines = [f'{name} = "{getattr(self, name)}"' for name in ("ties", *CHOICES)]
        lines += [f"covariates = {json.dumps(self.covariates, ensure_ascii=False)}", "", "[priors]"]
        lines += [f'{name} = "{text}"' for name, text in self.priors.as_dict().items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def read(cls, path: Path) -> ModelSpec:
        """Read a spec written by :meth:`to_toml`."""
        content = documents.read_toml(path)
        documents.check_keys(
            str(path), content, required={"ties"}, optional={*CHOICES, "covariates", "priors"}
        )
        priors = Priors().updated(content.pop("priors", {}), place=f"{path} [priors]")
        return cls(**content | {"covariates": tuple(content.get("covariates", ()))}, priors=priors)
