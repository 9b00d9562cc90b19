"""Priors and the model document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bayesbt.errors import DocumentError, InputError
from bayesbt.spec import FAMILIES, ModelSpec, Prior, Priors, read_priors

SCIPY = {
    "Normal(0.5, 2)": stats.norm(0.5, 2),
    "HalfNormal(1.5)": stats.halfnorm(scale=1.5),
    "LogNormal(0.3, 0.7)": stats.lognorm(0.7, scale=np.exp(0.3)),
    "Beta(2, 5)": stats.beta(2, 5),
}


@pytest.mark.parametrize("text", SCIPY)
def test_density_is_scipys(text: str) -> None:
    x = np.array([0.1, 0.4, 0.8])
    assert Prior.parse(text).log_density(np, x) == pytest.approx(SCIPY[text].logpdf(x), rel=1e-12)


@pytest.mark.parametrize("text", SCIPY)
def test_draws_follow_the_density(text: str) -> None:
    draws = Prior.parse(text).sample(np.random.default_rng(3), 4000)
    assert stats.kstest(draws, SCIPY[text].cdf).pvalue > 0.01


def test_every_family_is_tested() -> None:
    assert {Prior.parse(text).family for text in SCIPY} | {"Fixed", "LKJ"} == set(FAMILIES)


@pytest.mark.parametrize(
    "text", ["Normal(0, 0.5)", "HalfNormal(1)", "Beta(2, 5)", "3", "0.25", "LogNormal(0, 1)"]
)
def test_text_round_trip(text: str) -> None:
    assert str(Prior.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["Normal(0)", "Cauchy(1)", "Normal(0,1", "", "Normal(0, x)", "Beta(1, 1, 1)"]
)
def test_what_is_not_a_prior(text: str) -> None:
    with pytest.raises(InputError, match="Allowed: a number"):
        Prior.parse(text)


@pytest.mark.parametrize("text", ["Normal(0, 0)", "HalfNormal(-1)", "Beta(0, 1)", "Normal(inf, 1)"])
def test_impossible_arguments(text: str) -> None:
    with pytest.raises(InputError, match="finite"):
        Prior.parse(text)


def test_a_prior_must_suit_its_parameter() -> None:
    with pytest.raises(InputError, match=r"tie=Normal\(0, 1\).*Beta, LogNormal, Fixed"):
        Priors().updated({"tie": "Normal(0, 1)"})
    with pytest.raises(InputError, match="between 0 and 1"):
        Priors().updated({"tie": 1.5})
    with pytest.raises(InputError, match="no prior named sd"):
        Priors().updated({"sd": 1})


def test_default_document_is_the_default() -> None:
    assert read_priors("default") == Priors()


def test_unknown_document_lists_the_names() -> None:
    with pytest.raises(DocumentError, match="did you mean default"):
        read_priors("defualt")


def test_spec_round_trip(tmp_path: Path) -> None:
    spec = ModelSpec(
        "davidson", "shared", priors=Priors().updated({"strength_sd": 3, "order": "Normal(0.1, 2)"})
    )
    path = tmp_path / "spec.toml"
    path.write_text(spec.to_toml())
    assert ModelSpec.read(path) == spec


def test_only_priors_in_force_are_named() -> None:
    assert set(ModelSpec("drop").priors_in_force()) == {"strength_sd"}
    assert set(ModelSpec("davidson", "shared").priors_in_force()) == {"strength_sd", "tie", "order"}


@pytest.mark.parametrize("value", ["1e-320", "1e200", "0"])
def test_a_fixed_sd_beyond_all_reason_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="a fixed strength_sd must be between 1e-8 and 1e8 log-odds"):
        Priors().updated({"strength_sd": value})
