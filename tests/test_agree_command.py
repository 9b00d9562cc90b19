"""The command ``bayesbt agree``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from bayesbt.cli import app
from bayesbt.formats import read_judgments
from bayesbt.infer import fit

TASTING = str(Path(__file__).parent.parent / "data" / "tasting" / "judgments.csv")


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["agree", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_one_judge_of_a_file_as_the_human(tmp_path: Path) -> None:
    options = ["--human", "ana", "--bootstrap", "60", "--null-seeds", "2", "--no-ceiling", "--json"]
    code, out = run(TASTING, TASTING, *options, "-o", str(tmp_path / "out"))
    assert code == 0
    document = json.loads(out)
    assert sorted(document["configurations"]) == ["ben", "chen"]
    written = json.loads((tmp_path / "out" / "agreement.json").read_text())
    assert written == document
    assert "ben" in (tmp_path / "out" / "labels.tex").read_text()


def test_tables_for_people_and_metrics_on_request() -> None:
    code, out = run(TASTING, TASTING, "--human", "ben", "--bootstrap", "30", "--metrics", "kappa,kendall")
    assert code == 0
    assert "kendall" in out
    assert "spearman" not in out
    assert "ceiling of correlations" in out
    assert "always a" in out


def test_fit_folders_and_items_as_sources(tmp_path: Path) -> None:
    judgments = read_judgments(TASTING)
    fitted = fit(judgments, judge="ana", engine="map")
    fitted.save(tmp_path / "ana")
    scores = pd.DataFrame({"item": fitted.items, "score": fitted.result.strength})
    scores.to_csv(tmp_path / "scores.csv", index=False)
    options = ["--bootstrap", "30", "--null-seeds", "1", "--no-ceiling", "--json"]
    documents = [
        json.loads(run(*sources, *options)[1])
        for sources in (
            (str(tmp_path / "ana"), TASTING, "--human", "ben"),
            (TASTING, str(tmp_path / "ana")),
            (TASTING, str(tmp_path / "scores.csv")),
        )
    ]
    assert documents[0]["best"] == "fit"
    by_fit, by_scores = (
        document["configurations"]["ben"]["dimensions"]["overall"]["scores"]["pearson"]["estimate"]
        for document in documents[1:]
    )
    assert by_fit == pytest.approx(by_scores)
    assert documents[0]["dimensions"]["overall"]["scores"]["pearson"]["estimate"] == pytest.approx(by_fit)
