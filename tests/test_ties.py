"""The tie models against the papers' formulas."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesbt.errors import InputError
from bayesbt.ties import TIE_MODELS, tie_model
from tests import reference

NORMALISED = [name for name, model in TIE_MODELS.items() if model.has_tie_parameter]
strengths = st.floats(-8, 8)
tie_rates = st.floats(0.001, 0.999)


def probabilities(name: str, delta: float, t: float) -> list[float]:
    u = np.log(t) - np.log1p(-t)
    return [float(np.exp(p)) for p in TIE_MODELS[name].log_probabilities(np, np.float64(delta), u)]


@pytest.mark.parametrize("name", NORMALISED)
@given(x=strengths, y=strengths, t=tie_rates)
def test_formulas_of_the_papers(name: str, x: float, y: float, t: float) -> None:
    formula = reference.rao_kupper if name == "rao-kupper" else reference.davidson
    expected = formula(np.exp(x), np.exp(y), reference.native_of(name, t))
    assert probabilities(name, x - y, t) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("name", NORMALISED)
@given(delta=st.floats(-300, 300), t=tie_rates)
def test_sum_to_one_and_mirror(name: str, delta: float, t: float) -> None:
    here, mirrored = probabilities(name, delta, t), probabilities(name, -delta, t)
    assert sum(here) == pytest.approx(1, abs=1e-12)
    assert here == pytest.approx(mirrored[::-1], rel=1e-10)


@pytest.mark.parametrize("name", NORMALISED)
@pytest.mark.parametrize("t", [0.01, 0.3, 0.9])
def test_t_is_the_probability_of_a_tie_between_equals(name: str, t: float) -> None:
    a, tie, b = probabilities(name, 0.0, t)
    assert tie == pytest.approx(t, rel=1e-12)
    assert a == pytest.approx((1 - t) / 2, rel=1e-12)
    assert b == pytest.approx((1 - t) / 2, rel=1e-12)


@pytest.mark.parametrize("name", NORMALISED)
def test_textbook_parameter(name: str) -> None:
    u = np.log(0.3 / 0.7)
    assert float(TIE_MODELS[name].native(np, u)) == pytest.approx(reference.native_of(name, 0.3))


@pytest.mark.parametrize("name", NORMALISED)
def test_log_native_and_its_slope(name: str) -> None:
    model, u = TIE_MODELS[name], 0.37
    value, log_slope = model.log_native(np, u)
    native = reference.native_of(name, 1 / (1 + np.exp(-u)))
    assert value == pytest.approx(np.log(np.log(native)) if name == "rao-kupper" else np.log(native))
    step = 1e-6
    slope = (model.log_native(np, u + step)[0] - model.log_native(np, u - step)[0]) / (2 * step)
    assert np.exp(log_slope) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("name", list(TIE_MODELS))
def test_second_derivative_at_zero_is_not_lost(name: str) -> None:
    # abs() and maximum() would give a curvature of zero exactly where a fit starts.
    def log_p_a(delta: float) -> jax.Array:
        return TIE_MODELS[name].log_probabilities(jnp, delta, -0.8)[0]

    near = (log_p_a(1e-2) - 2 * log_p_a(0.0) + log_p_a(-1e-2)) / 1e-4
    assert float(jax.grad(jax.grad(log_p_a))(0.0)) == pytest.approx(float(near), rel=2e-2)


@pytest.mark.parametrize(
    ("name", "expected"), [("split", (9, 0, 7)), ("split-half", (6.5, 0, 4.5)), ("drop", (4, 0, 2))]
)
def test_rules_without_a_tie_probability(name: str, expected: tuple[float, ...]) -> None:
    assert TIE_MODELS[name].outcome_counts(4.0, 5.0, 2.0) == expected
    log_a, log_tie, log_b = TIE_MODELS[name].log_probabilities(np, 0.4, 0.0)
    assert (np.exp(log_a), np.exp(log_b)) == pytest.approx(reference.bradley_terry(np.exp(0.4), 1.0))
    assert log_tie == 0


def test_unknown_name_lists_the_models() -> None:
    with pytest.raises(InputError, match="rao-kupper, davidson, split, split-half, drop"):
        tie_model("raokupper")


@pytest.mark.parametrize("name", NORMALISED)
@given(u=st.floats(-12, 12))
def test_native_parameter_there_and_back(name: str, u: float) -> None:
    model = TIE_MODELS[name]
    assert model.logit_of_native(np, np.exp(model.log_native(np, u)[0])) == pytest.approx(u, abs=1e-7)


def test_every_model_writes_its_formula() -> None:
    assert all(model.formula for model in TIE_MODELS.values())
