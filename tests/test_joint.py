"""Several dimensions in one fit, fits by group, and the commands for both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesbt.cli import app
from bayesbt.counts import count_judgments
from bayesbt.errors import InputError
from bayesbt.grouped import fit_by, load_fits, save_groups, save_joint
from bayesbt.infer import fit
from bayesbt.infer.joint import JointFit, fit_joint
from bayesbt.spec import ModelSpec
from bayesbt.tables import Judgments

RHO = 0.85


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Fourteen items, two dimensions of correlated strengths, two judges with an order effect each."""
    rng = np.random.default_rng(8)
    strength = rng.multivariate_normal([0, 0], [[1, RHO], [RHO, 1]], 14)
    rows = []
    for k in range(2400):
        d, judge = k % 2, k % 3 % 2
        a, b = rng.choice(14, 2, replace=False)
        delta = strength[a, d] - strength[b, d] + (0.8, -0.2)[judge]
        tau = (0.3, 0.7)[d]
        p_a, p_b = 1 / (1 + np.exp(tau - delta)), 1 / (1 + np.exp(tau + delta))
        u = rng.random()
        outcome = "a" if u < p_a else "b" if u < p_a + p_b else "tie"
        rows.append((f"i{a:02d}", f"i{b:02d}", outcome, ("logic", "style")[d], f"j{judge}", None))
    rows += [("i00", "i01", None, "logic", "j0", "parse")] * 3
    return pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "dimension", "judge", "reason"])


@pytest.fixture(scope="module")
def joint(table: pd.DataFrame) -> JointFit:
    return fit_joint(Judgments.from_frame(table), model=ModelSpec(order="by-judge"), draws=500, seed=3)


def test_the_correlation_is_found_again(joint: JointFit) -> None:
    row = joint.correlations().iloc[0]
    assert (row["first"], row["second"]) == ("logic", "style")
    assert row["lower"] < RHO < row["upper"]
    assert row["mean"] == pytest.approx(RHO, abs=0.2)
    assert joint.correlation.shape == (2000, 2, 2)
    assert np.allclose(joint.correlation[:, 0, 1], joint.correlation[:, 1, 0])


def test_each_dimension_has_its_own_fit(joint: JointFit, table: pd.DataFrame) -> None:
    for dimension, t in (("logic", 0.149), ("style", 0.336)):  # t = tanh(tau / 2)
        fitted = joint.fits[dimension]
        tie = fitted.parameters()["tie"]
        assert tie["lower"] < t < tie["upper"]
        data = fitted.summary()["data"]
        rows = table[table["dimension"] == dimension]
        assert data["judgments"] == rows["outcome"].notna().sum()
        assert data["unscored"] == rows["outcome"].isna().sum()
        effects = fitted.judge_parameters().set_index("judge")["order"]
        assert effects["j0"] == pytest.approx(0.8, abs=0.3)
        assert effects["j1"] == pytest.approx(-0.2, abs=0.3)


def test_joint_and_apart_agree_where_data_are_many(joint: JointFit, table: pd.DataFrame) -> None:
    apart = fit(Judgments.from_frame(table), dimension="style", order="by-judge", draws=500, seed=3)
    together = joint.fits["style"].estimates["strength"]
    assert np.corrcoef(apart.estimates["strength"], together)[0, 1] > 0.98
    assert apart.parameters()["tie"]["mean"] == pytest.approx(
        joint.fits["style"].parameters()["tie"]["mean"], abs=0.02
    )


def test_joint_folder(joint: JointFit, tmp_path: Path) -> None:
    folder = save_joint(joint, tmp_path / "both")
    again = load_fits(folder)
    assert list(again) == ["logic", "style"]
    assert again["style"].summary() == joint.fits["style"].summary()
    assert pd.read_csv(folder / "correlations.csv")["mean"][0] == pytest.approx(
        joint.correlations()["mean"][0]
    )
    assert np.load(folder / "correlation_draws.npy").shape == joint.correlation.shape


def test_one_dimension_or_another_engine_cannot_be_joint(table: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="two dimensions or more"):
        fit_joint(Judgments.from_frame(table[table["dimension"] == "logic"]))
    with pytest.raises(InputError, match="--engine map cannot take several dimensions"):
        fit_joint(Judgments.from_frame(table), engine="map")


def test_groups_are_fits_of_their_own(table: pd.DataFrame, tmp_path: Path) -> None:
    judgments = Judgments.from_frame(table)
    fits = fit_by(judgments, ["dimension", "judge"], engine="ml")
    assert [list(group.values()) for group, _ in fits] == [
        ["logic", "j0"],
        ["logic", "j1"],
        ["style", "j0"],
        ["style", "j1"],
    ]
    alone = fit(judgments, dimension="style", judge="j0", engine="ml")
    assert fits[2][1].estimates["strength"].to_numpy() == pytest.approx(
        alone.estimates["strength"].to_numpy()
    )
    folder = save_groups(fits, tmp_path / "groups")
    assert json.loads((folder / "index.json").read_text())["by"] == ["dimension", "judge"]
    assert list(load_fits(folder)) == ["logic, j0", "logic, j1", "style, j0", "style, j1"]
    for by, message in (([], "names no column"), (["topic"], "no column 'topic'"), (["author"], "not known")):
        with pytest.raises(InputError, match=message):
            fit_by(judgments, by, engine="ml")


def test_judges_and_dimensions_kept_apart_in_counts(table: pd.DataFrame) -> None:
    judgments = Judgments.from_frame(table)
    counts = count_judgments(judgments, by_judge=True, by_dimension=True)
    assert (counts.judges, counts.dimensions) == (("j0", "j1"), ("logic", "style"))
    frame = counts.to_frame()
    scored = table[table["outcome"].notna()]
    for (dimension, judge), rows in scored.groupby(["dimension", "judge"]):
        cells = frame[(frame["dimension"] == dimension) & (frame["judge"] == judge)]
        assert cells["ties"].sum() == (rows["outcome"] == "tie").sum()
        assert cells[["wins_a", "ties", "wins_b"]].to_numpy().sum() == len(rows)
    blank = table.assign(judge=[None, *table["judge"][1:]])
    with pytest.raises(InputError, match=r"row 1, column 'judge': blank"):
        count_judgments(Judgments.from_frame(blank), by_judge=True, dimension="logic")
    with pytest.raises(InputError, match="no column 'judge'"):
        count_judgments(Judgments.from_frame(table.drop(columns="judge")), by_judge=True, dimension="logic")


SOFT = pd.DataFrame(
    {
        "item_a": ["x", "x", "y"],
        "item_b": ["y", "y", "x"],
        "outcome": ["a", "tie", None],
        "run": [1, 2, 1],
        "p_a": [0.3, 0.3, None],
        "p_tie": [0.1, 0.1, None],
        "p_b": [0.2, 0.2, None],
        "reason": [None, None, "parse"],
    }
)


def test_soft_judgments_count_probabilities() -> None:
    counts = count_judgments(Judgments.from_frame(SOFT), soft=True)
    assert counts.to_frame()[["wins_a", "ties", "wins_b"]].to_numpy() == pytest.approx(
        np.array([[0.5, 1 / 6, 1 / 3]])
    )
    assert counts.judgments == pytest.approx(1)  # two runs of one judgment
    assert counts.unscored == 1
    with pytest.raises(InputError, match="no column p_a, p_tie, p_b"):
        count_judgments(Judgments.from_frame(SOFT[["item_a", "item_b", "outcome", "reason"]]), soft=True)
    lost = SOFT.assign(p_a=[0.3, None, None])
    with pytest.raises(InputError, match="row 2: an outcome without label probabilities"):
        count_judgments(Judgments.from_frame(lost), soft=True)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    app(list(arguments), standalone_mode=False)
    return capsys.readouterr().out


def test_commands_for_dimensions_judges_and_contrasts(
    table: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, quick = tmp_path / "j.csv", ["--draws", "100", "--tune", "200"]
    both, one = str(tmp_path / "both"), str(tmp_path / "one")
    table.to_csv(path, index=False)
    out = run(capsys, "fit", str(path), "--joint", "dimension", *quick, "--json", "-o", both)
    document = json.loads(out)
    assert set(document["fits"]) == {"logic", "style"}
    assert document["correlations"][0]["mean"] == pytest.approx(RHO, abs=0.3)
    assert "== style" in run(capsys, "rank", both)
    options = [
        "--dimension",
        "style",
        "--judges",
        "adherence",
        "--order",
        "by-judge",
        "--tie-parameter",
        "by-judge",
    ]
    out = run(capsys, "fit", str(path), *options, *quick, "--json", "-o", one)
    document = json.loads(out)
    assert document["model"]["judges"] == "adherence"
    assert [row["judge"] for row in document["judges"]] == ["j0", "j1"]
    assert set(document["judges"][0]) >= {"adherence", "order", "tie", "adherence_lower", "judgments"}
    contrast = json.loads(run(capsys, "rank", one, "--contrast", "i00,i01", "--json"))
    assert contrast["prior_only"] is False
    assert contrast["lower"] < contrast["mean"] < contrast["upper"]
    with pytest.raises(InputError, match="--engine laplace cannot take --judges adherence"):
        run(capsys, "fit", str(path), "--dimension", "style", "--judges", "adherence", "--engine", "laplace")


def test_a_dimension_of_a_joint_count(table: pd.DataFrame) -> None:
    counts = count_judgments(Judgments.from_frame(table), by_dimension=True)
    style, alone = counts.of_dimension(1), count_judgments(Judgments.from_frame(table), dimension="style")
    assert style.to_frame().equals(alone.to_frame())
    assert replace(style, unscored=0.0).component.tolist() == alone.component.tolist()
