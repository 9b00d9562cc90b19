"""`agree` draws each dimension's judges with the noise ceiling and the null range."""

from __future__ import annotations

from pathlib import Path

from bayesbt.agreement.agree import agree
from bayesbt.formats import read_judgments
from bayesbt.reporting.agreement_figures import save_agreement_figures

TASTING = Path(__file__).parent.parent / "data" / "tasting" / "judgments.csv"


def test_one_figure_a_dimension_with_ceiling_and_null_judges(tmp_path: Path) -> None:
    judgments = read_judgments(TASTING)
    people = judgments.select(judge="ana")
    judges = [judgments.select(judge=name) for name in ("ben", "chen")]
    found = agree(judges, people, bootstrap=200, seed=1)
    assert save_agreement_figures(found, tmp_path) == ["agreement-1.svg"]
    drawn = (tmp_path / "agreement-1.svg").read_text(encoding="utf-8")
    for name in ("ben", "chen", "noise ceiling", "null judges", "Pearson correlation with people"):
        assert name in drawn
