"""A table of judgments made by known strengths and judges, some of whom may not look at the items.

Under tie models without a P(tie) the honest judges answer by plain Bradley-Terry: see bayesbt.simulation.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesbt.errors import InputError
from bayesbt.findings import Finding
from bayesbt.simulation import Design, Truth, labels, outcome_probabilities, prior_draw
from bayesbt.spec import ModelSpec, Prior, Priors
from bayesbt.tables import Judgments
from bayesbt.ties import tie_model

JudgeKind = Literal["honest", "random", "position"]
OUTCOMES = np.array(["a", "tie", "b"])


@dataclass(frozen=True)
class SimulationSettings:
    """What to simulate.

    Attributes
    ----------
    items, judges, comparisons : int
        ``comparisons`` is the number of judgments in all, shared out equally among judges and items.
    ties : str
        A name of :data:`bayesbt.ties.TIE_MODELS`.
    tie : float
        t = P(tie | delta = 0), where the tie model has it.
    order : float
        The order effect beta in log-odds, positive in favour of the item shown first.
    order_judge_sd, adherence_sd : float
        Standard deviation over judges of their order effects and of log(alpha); 0 for judges who are alike.
    strength_sd : float
        Standard deviation of the strengths, in log-odds.
    random_judges, position_judges : int
        How many judges answer at random, all answers alike likely, and how many always choose the item
        shown first.
    seed : int
        The same seed gives the same judgments.
    """

    items: int = 20
    judges: int = 1
    comparisons: int = 400
    ties: str = "rao-kupper"
    tie: float = 0.2
    order: float = 0.0
    order_judge_sd: float = 0.0
    adherence_sd: float = 0.0
    strength_sd: float = 1.0
    random_judges: int = 0
    position_judges: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the tie model's name and the ranges."""
        tie_model(self.ties)
        least = {"items": 2, "judges": 1, "comparisons": 1, "order_judge_sd": 0, "adherence_sd": 0}
        for name, low in (least | {"random_judges": 0, "position_judges": 0}).items():
            if not low <= getattr(self, name) < math.inf:
                raise InputError(f"--{_flag(name)} {getattr(self, name)}: must be {low} or more.")
        if not math.isfinite(self.order):
            raise InputError(f"--order {self.order}: must be a finite number of log-odds.")
        if not 0 < self.strength_sd < math.inf:
            raise InputError(f"--strength-sd {self.strength_sd}: must be above 0 and finite.")
        if not 0 < self.tie < 1:
            raise InputError(f"--tie {self.tie}: must be between 0 and 1.")
        if self.random_judges + self.position_judges > self.judges:
            raise InputError(
                f"--random-judges {self.random_judges} --position-judges {self.position_judges}: more than "
                f"the {self.judges} judges. Raise --judges."
            )

    def spec(self) -> ModelSpec:
        """Return the model of the honest judges, with its priors fixed at these values."""
        values = {"strength_sd": self.strength_sd, "tie": self.tie, "order": self.order}
        spread = {"order_judge_sd": self.order_judge_sd, "adherence_sd": self.adherence_sd}
        values |= {name: value for name, value in spread.items() if value > 0}
        return ModelSpec(
            self.ties,
            "by-judge" if self.order_judge_sd > 0 else "shared",
            "adherence" if self.adherence_sd > 0 else "ignore",
            priors=Priors().updated({name: Prior("Fixed", (value,)) for name, value in values.items()}),
        )


@dataclass(frozen=True)
class KnownAnswer:
    """What made the judgments.

    Attributes
    ----------
    items : DataFrame
        ``item`` and ``strength``, in log-odds and centred.
    judges : DataFrame
        ``judge``, ``kind`` (honest, random or position), ``adherence`` alpha (0 for judges who do not look at
        the items; geometric mean 1 over all before these were set to 0) and ``order`` beta_j in log-odds (0
        where answers are random, infinite where the first is always chosen).
    settings : SimulationSettings
    """

    items: pd.DataFrame
    judges: pd.DataFrame
    settings: SimulationSettings

    def as_dict(self) -> dict[str, object]:
        """Give settings, items and judges for a JSON file; an infinite order effect becomes None."""
        judges = self.judges.to_dict("records")
        finite = [
            judge | {"order": judge["order"] if math.isfinite(judge["order"]) else None} for judge in judges
        ]
        return asdict(self.settings) | {
            "strengths": dict(zip(self.items["item"], self.items["strength"].tolist(), strict=True)),
            "judge_truths": finite,
        }


def simulate_judgments(settings: SimulationSettings) -> tuple[Judgments, KnownAnswer]:
    """Simulate judgments, and give what made them.

    Every ``items`` judgments in turn form a circle through all items in random order, so that the items are
    connected from the first round on and are compared equally often. Either of a pair is shown first with
    probability 1/2.
    """
    rng = np.random.default_rng(settings.seed)
    spec, design = settings.spec(), _design(settings, rng)
    truth = prior_draw(spec, design, rng)
    kinds = rng.permutation(
        np.repeat(
            np.array(["random", "position", "honest"]),
            [settings.random_judges, settings.position_judges, _honest(settings)],
        )
    )
    probabilities = outcome_probabilities(spec, design, truth)
    has_ties = spec.tie_model.has_tie_parameter
    probabilities[kinds[design.judge] == "random"] = [1 / 3, 1 / 3, 1 / 3] if has_ties else [0.5, 0.0, 0.5]
    probabilities[kinds[design.judge] == "position"] = [1.0, 0.0, 0.0]
    # The first step of the cumulated probabilities above a uniform number; the last one is 1.
    steps = probabilities.cumsum(axis=1)[:, :2]
    drawn = (rng.random(len(design.a))[:, None] >= steps).sum(axis=1)
    frame = pd.DataFrame(
        {
            "item_a": np.asarray(design.items, dtype=object)[design.a],
            "item_b": np.asarray(design.items, dtype=object)[design.b],
            "outcome": OUTCOMES[drawn].astype(object),
            "judge": np.asarray(design.judges, dtype=object)[design.judge],
        }
    )
    judgments = Judgments.from_frame(frame, source="simulation")
    if not has_ties:
        note = f"--ties {settings.ties} is a rule for ties, not a model that makes them: none is simulated."
        judgments = Judgments(
            judgments.frame, judgments.source, (*judgments.findings, Finding("note", "no-ties", note))
        )
    return judgments, _known(settings, design, truth, kinds)


def _design(settings: SimulationSettings, rng: np.random.Generator) -> Design:
    """One cell a judgment."""
    size, n = settings.comparisons, settings.items
    circles = [rng.permutation(n) for _ in range(-(-size // n))]
    one = np.concatenate(circles)[:size]
    other = np.concatenate([np.roll(circle, -1) for circle in circles])[:size]
    swap = rng.random(size) < 0.5
    judge = rng.permutation(np.arange(size) % settings.judges)
    return Design(
        labels("item", n),
        labels("judge", settings.judges),
        ("",),
        np.where(swap, other, one),
        np.where(swap, one, other),
        judge,
        np.zeros(size, dtype=np.int64),
        np.ones(size, dtype=np.int64),
        np.zeros((n, 0)),
    )


def _known(
    settings: SimulationSettings, design: Design, truth: Truth, kinds: NDArray[np.str_]
) -> KnownAnswer:
    strength, n_judges = truth.values["strength"][0], len(design.judges)
    adherence = truth.values.get("adherence", np.ones(n_judges))
    order = settings.order + truth.values.get("order_by_judge", np.zeros(n_judges))
    return KnownAnswer(
        pd.DataFrame({"item": design.items, "strength": strength - strength.mean()}),
        pd.DataFrame(
            {
                "judge": design.judges,
                "kind": kinds.astype(object),
                "adherence": np.where(kinds == "honest", adherence, 0.0),
                "order": np.select([kinds == "position", kinds == "random"], [np.inf, 0.0], order),
            }
        ),
        settings,
    )


def _honest(settings: SimulationSettings) -> int:
    return settings.judges - settings.random_judges - settings.position_judges


def _flag(name: str) -> str:
    return name.replace("_", "-")
