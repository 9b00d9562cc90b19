"""Tables in four formats: marks, escapes, published rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from bayesbt.agreement.presentation import metric_table, stability_table
from bayesbt.agreement.published import read_published, with_means
from bayesbt.agreement.tables import (
    RENDERERS,
    Cell,
    Column,
    Page,
    Row,
    Table,
    number_text,
    page_html,
    page_latex,
    page_markdown,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
)
from bayesbt.errors import InputError
from bayesbt.stability import run_agreement
from bayesbt.tables import Judgments

KAPPA, MAE = Column("logic", "kappa", "κ"), Column("logic", "mae", "MAE", higher=False)
HOSTILE = r"""[*]<script>alert("x")</script> a|b \input{/etc/passwd} 100% & $5 _u_ #1 ~^ {y} `c` [l](j)"""


def table(*rows: Row, columns: tuple[Column, ...] = (KAPPA, MAE)) -> Table:
    return Table("labels", "Agreement", columns, rows, ("In brackets: 95 % intervals.",))


def row(judge: str, kappa: float | None, mae: float, prompt: str = "", **more: str) -> Row:
    cells = {KAPPA.key: Cell(kappa, None if kappa is None else kappa - 0.1, 0.9), MAE.key: Cell(mae)}
    return Row(judge, prompt, cells, **more)  # type: ignore[arg-type]


SMALL = table(
    row("opus", 0.31, 1.25, "zero"),
    row("mini", 0.3104, 0.75, "few"),
    row("nano", -0.05, 0.80, "zero"),
    row("blank", None, 1.5, "zero"),
    row("always a", 0.7, 0.1, block="nulls"),
)


def test_best_and_second_of_each_column_null_judges_apart() -> None:
    assert SMALL.marks() == {
        (0, KAPPA.key): "best",  # 0.310 as printed, like the next
        (1, KAPPA.key): "best",
        (2, KAPPA.key): "second",
        (1, MAE.key): "best",
        (2, MAE.key): "second",
    }


def test_html_shows_marks_intervals_and_blocks() -> None:
    text = to_html(SMALL)
    assert '<td><b>0.310</b><br><small class="interval">[0.210, 0.900]</small></td>' in text
    assert "<u>0.800</u>" in text
    assert text.index("Null judges") > text.index("nano")
    assert "<td>0.700<br>" in text


def test_latex_shows_marks_and_rules() -> None:
    text = to_latex(SMALL)
    assert r"\textbf{0.310} {\scriptsize [0.210, 0.900]}" in text
    assert r"\underline{$-$0.050}" in text
    assert r"\cmidrule(lr){3-4}" in text
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 2, 1]
    assert "blank & zero & --" in text


def test_markdown_shows_marks() -> None:
    lines = to_markdown(SMALL).splitlines()
    assert lines[2] == "| judge | prompt | logic κ | logic MAE |"
    assert lines[4] == "| opus | zero | **0.310** [0.210, 0.900] | 1.250 |"
    assert lines[6] == "| nano | zero | <u>-0.050</u> [-0.150, 0.900] | <u>0.800</u> |"
    assert lines[8].startswith("| *Null judges")
    assert {line.count(" |") for line in lines[2:3] + lines[4:8] + lines[9:10]} == {4}


def test_csv_keeps_every_digit() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(SMALL))))
    assert rows[2]["estimate"] == "0.3104"
    assert rows[6] == {
        "block": "judges",
        "judge": "blank",
        "prompt": "zero",
        "group": "logic",
        "metric": "kappa",
        "estimate": "",
        "lower": "",
        "upper": "0.9",
        "sd": "",
    }
    assert rows[8]["block"] == "nulls"


def test_a_single_judge_is_not_the_best() -> None:
    assert table(row("only", 0.2, 0.9), row("always a", 0.1, 1.0, block="nulls")).marks() == {}


def test_numbers() -> None:
    assert number_text(0.12345, KAPPA) == "0.123"
    assert number_text(-0.0001, KAPPA) == "0.000"
    assert number_text(float("nan"), KAPPA) == "–"
    assert number_text(0.4828, Column("", "agreement", "", percent=True)) == "48.28"
    assert number_text(17.0, Column("", "pairs", "", digits=0)) == "17"


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_names_stay_text() -> None:
    hostile = table(row(HOSTILE, 0.2, 0.9, HOSTILE), row("b", 0.1, 1.0, "p\nq"))
    page = Page(HOSTILE, [hostile], [HOSTILE])
    parsed = Tags(page_html(page))
    assert "script" not in parsed.tags
    assert parsed.text.count(HOSTILE) == 5  # title, heading, list, judge, prompt
    latex = page_latex(page)
    assert r"\input" not in latex
    assert r"{[}{*}]\textless{}script\textgreater{}" in latex
    unescaped = latex.replace(r"\&", "").replace(r"\%", "").replace(r"\$", "").replace(r"\#", "")
    body = [line for line in unescaped.splitlines() if line.endswith(r"\\") and "0.900" in line]
    assert body[0].count("&") == 3
    assert "%" not in body[0]
    markdown = page_markdown(page)
    assert "<script>" not in markdown.replace(r"\<script\>", "")
    line = next(line for line in markdown.splitlines() if line.startswith("|") and "0.900" in line)
    assert line.replace(r"\|", "").count("|") == 5
    assert "| p q |" in markdown


def test_every_format_renders_an_empty_table() -> None:
    for render in RENDERERS.values():
        assert render(table())


def test_the_papers_108_rows_in_the_same_layout(shared: Callable[..., Path]) -> None:
    path = shared("data", "paper_2605.28313", "llm_performance_per_llm_prompt_dim.csv")
    rows = read_published(path)
    raw = pd.read_csv(path)
    assert len(raw) == 108
    dimensions = ["logic", "rhetoric", "dialectic"]
    assert sorted(raw["Dim"].unique()) == sorted(dimensions)
    whole = with_means(rows, dimensions)
    labels = metric_table("labels", "Table 1", whole, dimensions, ["labels"])
    scores = metric_table("scores", "Table 2", whole, dimensions, ["scores"])
    assert (len(labels.rows), len(scores.rows)) == (36, 36)
    assert [column.title for column in scores.columns[:5]] == [
        "Pearson",
        "Spearman",
        "Kendall",
        "MAE",
        "RMSE",
    ]
    assert [name for name, _ in scores.groups()] == [*dimensions, "mean ± sd"]
    by_configuration = raw.groupby(["Model", "Prompt"])
    means = {
        "pearson": by_configuration["pearson"].mean(),
        "mae": by_configuration["mae"].mean(),
    }
    marks = scores.marks()
    for number, each in enumerate(scores.rows):
        for metric, column in means.items():
            key = ("mean ± sd", f"mean/{metric}")
            assert each.cells[key].estimate == pytest.approx(column[each.judge, each.prompt])
            best = column.max() if metric == "pearson" else column.min()
            is_best = round(column[each.judge, each.prompt], 3) == round(best, 3)
            assert (marks.get((number, key)) == "best") == is_best
        sd = raw[(raw["Model"] == each.judge) & (raw["Prompt"] == each.prompt)]["kendall"].std(ddof=1)
        assert each.cells["mean ± sd", "mean/kendall"].sd == pytest.approx(sd)
    for each in labels.rows:
        wanted = raw[(raw["Model"] == each.judge) & (raw["Prompt"] == each.prompt) & (raw["Dim"] == "logic")]
        cell = each.cells["logic", "logic/agreement"]
        shown = number_text(cell.estimate, labels.columns[0])
        assert float(shown) == pytest.approx(wanted["%_agreement"].iloc[0], abs=0.00501)
    assert to_latex(scores).count(r"\\") == 36 + 2
    assert to_html(scores).count("<tr>") == 36 + 2
    assert len(to_csv(scores).splitlines()) == 1 + 36 * 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Model,Dim\nx,logic\n", "no table of judges"),
        ("Model,Dim,pearson\nx,logic,0.1\nx,logic,0.2\n", "rows 1, 2: the same judge"),
        ("Model,Dim,pearson\nx,logic,high\n", "row 1, column 'pearson': 'high' is no number"),
    ],
)
def test_published_tables_are_checked(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_published(path)


def test_table_4_from_runs() -> None:
    labels = {"steady": ["aaa", "bbb", "aab", "ttt"], "fickle": ["abt", "aab", "bbt", "aaa"]}
    rows = [
        (f"x{pair}", "y", outcome.replace("t", "tie"), judge, run)
        for judge, pairs in labels.items()
        for pair, runs in enumerate(pairs)
        for run, outcome in enumerate(runs)
    ]
    frame = pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "judge", "run"])
    made = stability_table(run_agreement(Judgments.from_frame(frame)))
    lines = to_markdown(made).splitlines()
    assert lines[2] == "| judge | all equal % | two equal % | all different % | Kripp. α |"
    assert lines[4].startswith("| fickle | <u>25.00</u> | 50.00 | <u>25.00</u> |")
    assert lines[5].startswith("| steady | **75.00** | 25.00 | **0.00** |")
