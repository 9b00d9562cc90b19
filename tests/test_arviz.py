"""Every plot of ArviZ that a fit can be given draws it, and az.compare compares fits, in both generations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from bayesbt.infer import Fit, fit
from bayesbt.infer.container import HAS_DATATREE, az
from tests.cases import asymmetric_counts

NOT_OF_A_FIT = {
    "plot_collection",  # modules of ArviZ 1.x
    "plot_matrix",
    "plot_lm",  # both over a covariate of each observation
    "plot_ppc_pava_residuals",
    "plot_ecdf_pit",  # needs simulation-based calibration
    "plot_ts",  # time series
    "plot_separation",  # a binary outcome
}
SCALARS = ["order", "strength_sd"]
SPECIAL: dict[str, Callable[[Fit, Fit], Any]] = {
    "plot_bf": lambda one, _: az.plot_bf(one.idata, "order"),
    "plot_compare": lambda one, other: az.plot_compare(compared(one, other)),
    "plot_hdi": lambda one, _: az.plot_hdi([0, 1, 2, 3], one.result.draws.strength),
    "plot_khat": lambda one, _: az.plot_khat(az.loo(one.idata, pointwise=True, var_name="judgment")),
    "plot_pair": lambda one, _: az.plot_pair(one.idata, var_names=SCALARS),
    "plot_pair_focus": lambda one, _: az.plot_pair_focus(one.idata, focus_var="order", var_names=SCALARS),
    "plot_elpd": lambda one, other: az.plot_elpd({"one": one.idata, "other": other.idata}),
    "plot_loo_interval": lambda one, _: az.plot_loo_interval(one.idata, var_names="judgment"),
    "plot_loo_pava": lambda one, _: az.plot_loo_pava(one.idata, var_names="judgment"),
    "plot_loo_pit": lambda one, _: (
        az.plot_loo_pit(one.idata, var_names="judgment")
        if HAS_DATATREE
        else az.plot_loo_pit(one.idata, y="judgment")
    ),
}
OF_ARRAYS = {"plot_dist", "plot_dot", "plot_ecdf", "plot_kde"}  # in ArviZ before 1.0


def compared(one: Fit, other: Fit) -> Any:
    return az.compare({"rao-kupper": one.idata, "davidson": other.idata})


@pytest.fixture(scope="module")
def fits() -> tuple[Fit, Fit]:
    options = {"order": "shared", "draws": 200, "tune": 200, "chains": 2, "seed": 1}
    one, other = (fit(asymmetric_counts(), ties=ties, **options) for ties in ("rao-kupper", "davidson"))
    return one, other


def draw(name: str, one: Fit, other: Fit) -> None:
    if name in OF_ARRAYS and not HAS_DATATREE:
        getattr(az, name)(one.parameter_draws["order"].copy())
    elif name in SPECIAL:
        SPECIAL[name](one, other)
    else:
        getattr(az, name)(one.idata)


@pytest.mark.filterwarnings("ignore")  # ArviZ's own, about few observations and layouts
@pytest.mark.parametrize("name", [x for x in dir(az) if x.startswith("plot_") and x not in NOT_OF_A_FIT])
def test_arviz_plots_a_fit(fits: tuple[Fit, Fit], name: str) -> None:
    before = len(plt.get_fignums())
    draw(name, *fits)
    assert len(plt.get_fignums()) > before
    plt.close("all")


@pytest.mark.filterwarnings("ignore")
def test_az_compare_takes_the_containers_of_fits(fits: tuple[Fit, Fit]) -> None:
    table = compared(*fits)
    assert set(table.index) == {"rao-kupper", "davidson"}
    assert table["weight"].sum() == pytest.approx(1, abs=0.02)
