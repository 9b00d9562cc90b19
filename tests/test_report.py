"""The report: what it says is what the fits say, and nothing from the data can run or break it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesbt.agreement.reference import LabelAccuracy, ReferenceAgreement, compare_with_reference
from bayesbt.counts import Counts
from bayesbt.errors import InputError
from bayesbt.infer import Fit, fit
from bayesbt.infer.diagnostics import Diagnostics
from bayesbt.reporting.blocks import Bullets, Formula, Notice, Picture, Section, Table, Text
from bayesbt.reporting.data import ReportData
from bayesbt.reporting.markdown import escaped
from bayesbt.reporting.report import report
from bayesbt.reporting.sections import SECTIONS, sections
from bayesbt.reporting.summary import _agreement
from bayesbt.reporting.verdicts import NO_INFORMATION, position_verdict, reference_worth
from bayesbt.reporting.wording import between, number, percent, probability
from bayesbt.tables import Finding
from bayesbt.tie_comparison import compare_ties

HOSTILE = ("<script>alert(1)</script>", "a|b", "$x_1$ \\ `y`", "plain", '"><img src=x onerror=alert(2)>')


def counts(items: tuple[str, ...], topics: tuple[str, ...] | None = None, ties: int = 3) -> Counts:
    """All ordered pairs of a topic; earlier items win more, and the side shown first a little."""
    n = len(items)
    topics_of = topics or ("",) * n
    cells = [(i, j) for i in range(n) for j in range(n) if i != j and topics_of[i] == topics_of[j]]
    a, b = np.array(cells).T
    wins_a = 5.0 + 2 * np.clip(b - a, -2, 3)
    return Counts(items, a, b, wins_a, np.full(len(a), float(ties)), 9.0 - np.clip(b - a, -3, 4), topics, 2.0)


@pytest.fixture(scope="module")
def hostile() -> Fit:
    return fit(counts(HOSTILE), engine="laplace", order="shared", draws=250, seed=3)


@pytest.fixture(scope="module")
def grouped() -> Fit:
    items = ("a1", "a2", "a3", "b1", "b2", "b3", "b4")
    topics = ("Are cats best?",) * 3 + ("Are dogs best?",) * 4
    return fit(counts(items, topics), engine="laplace", draws=250, seed=5)


@pytest.fixture(scope="module")
def everything(hostile: Fit) -> ReportData:
    position = pd.DataFrame(
        {
            "judge": ["tiny"],
            "dimension": ["logic"],
            "first_wins": [97.0],
            "second_wins": [3.0],
            "ties": [20.0],
            "share_first": [0.97],
            "lower": [0.92],
            "upper": [0.99],
            "both_orders": [40],
            "flip": [0.9],
            "first_both": [0.9],
            "second_both": [0.0],
            "same_winner": [0.05],
            "tied": [0.05],
        }
    )
    runs = pd.DataFrame(
        {
            "judge": ["tiny"],
            "dimension": ["logic"],
            "runs": [3],
            "pairs": [40],
            "all_equal": [0.625],
            "expected": [np.nan],
        }
    )
    levels = dict(zip(HOSTILE, (1.0, 2.0, 1.0, 2.0, 1.0), strict=True))
    return ReportData(
        title="<i>Hostile</i> & proud",
        question="Which <b>item</b> is best",
        findings=[
            Finding("note", "normalised", "Two ids were normalised."),
            Finding("warning", "bridge", "Only “a|b” links the rest."),
            Finding("error", "never-wins", "<script>x</script> never wins."),
        ],
        data_summary={"source": "x_y.csv", "judgments": 1234, "runs": 3, "both_orders": True},
        fits={"logic": hostile},
        tie_comparisons={
            "logic": compare_ties(
                hostile.counts, ["rao-kupper", "split", "split-half"], engine="laplace", draws=250
            )
        },
        position=position,
        run_agreement=runs,
        references={"logic": compare_with_reference(hostile, levels)},
        label_accuracies={"logic": LabelAccuracy(52.0, 100.0, 0.52, 0.42, 0.62)},
        reference_levels=levels,
        reference_title="two levels by construction",
        judge_facts=[{"judge": "tiny", "licence": "Apache-2.0"}],
        provenance={"versions": {"bayesbt": "0.1.0"}, "command_line": ["bayesbt", "run", "<x>"]},
    )


class Page(HTMLParser):
    """The tags, ids and visible text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def html(everything: ReportData, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = report(everything, tmp_path_factory.mktemp("html") / "r.html")
    assert [file.name for file in path.parent.iterdir()] == ["r.html"]
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def markdown(everything: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(everything, tmp_path_factory.mktemp("md") / "my report.md")


def section(data: ReportData, name: str) -> Section:
    return next(part for part in sections(data) if part.name == name)


def words(part: Section) -> str:
    """All sentences of a section."""
    found = []
    for block in part.blocks:
        match block:
            case Text(text, lead):
                found.append(f"{lead} {text}")
            case Notice(_, text):
                found.append(text)
            case Bullets(entries) | Formula(entries):
                found += entries
    return re.sub(r"[ \n]+", " ", " ".join(found)).strip()


def tables(part: Section) -> list[Table]:
    return [block for block in part.blocks if isinstance(block, Table)]


def test_sections_come_in_order(everything: ReportData) -> None:
    names = [part.name for part in sections(everything)]
    assert names == [
        "summary",
        "data",
        "model",
        "diagnostics",
        "misfit",
        "ranking",
        "ranks",
        "ties",
        "position",
        "stability",
        "judge",
        "provenance",
    ]


def test_sections_with_nothing_to_say_are_left_out() -> None:
    assert [make(ReportData()) for make in SECTIONS] == [None] * len(SECTIONS)


def test_the_summary_says_asked_found_sure_and_wrong(everything: ReportData, hostile: Fit) -> None:
    text = words(section(everything, "summary"))
    ranking = hostile.ranking()
    best, last = ranking.iloc[0], ranking.iloc[-1]
    assert text.startswith("What was asked. Which <b>item</b> is best.")
    assert f"{hostile.counts.judgments:,.0f} judgments of 5 items" in text
    assert f"“{best['item']}”" in text
    assert f"(P(best) {best['p_best']:.2f})" in text
    assert f"weakest is “{last['item']}”" in text
    assert "1 error and 1 warning" in text
    assert text.index("never wins") < text.index("links the rest")
    assert "normalised" not in text
    assert "tiny answers by position on logic: the item shown first wins 97\N{NO-BREAK SPACE}%" in text


def test_neighbours_are_counted_from_the_draws(everything: ReportData, hostile: Fit) -> None:
    columns = [hostile.items.index(item) for item in hostile.ranking()["item"]]
    draws = hostile.strength_draws[:, columns]
    sure = int(((draws[:, :-1] > draws[:, 1:]).mean(axis=0) >= 0.95).sum())
    assert sure in (1, 2, 3)
    assert f"Of 4 pairs of neighbours in the ranking, {sure} ha" in words(section(everything, "summary"))


def test_poor_diagnostics_stand_in_the_first_lines(
    everything: ReportData, hostile: Fit, tmp_path: Path
) -> None:
    poor = Diagnostics(False, 1.234, 57.0, 33.0, 12, 0.4, ("The chains disagree: do not use these numbers.",))
    data = replace(everything, fits={"logic": replace(hostile, diagnostics=poor)})
    first = section(data, "summary").blocks[0]
    assert isinstance(first, Notice)
    assert first.level == "error"
    for number_ in (
        "largest R-hat 1.234",
        "smallest bulk ESS 57",
        "smallest tail ESS 33",
        "divergent transitions 12",
    ):
        assert number_ in first.text
    assert "The chains disagree" in words(section(data, "diagnostics"))
    assert tables(section(data, "diagnostics"))[0].rows[0][2] == "no"
    body = report(data, tmp_path / "r.html").read_text(encoding="utf-8").split("<main>")[1]
    assert Page(body).text.startswith(
        "In short Error. Poor diagnostics in the fit “logic”: largest R-hat 1.234"
    )


def test_the_ranking_table_is_the_fit(everything: ReportData, hostile: Fit) -> None:
    table = tables(section(everything, "ranking"))[0]
    assert table.columns == (
        "item",
        "rank",
        "strength",
        "95 % interval",
        "rank interval",
        "P(best)",
        "comparisons",
    )
    expected = [
        (
            row.item,
            f"{row.rank:.0f}",
            number(row.strength),
            between(row.lower, row.upper),
            f"{row.rank_lower:.0f} to {row.rank_upper:.0f}",
            probability(row.p_best),
            f"{row.comparisons:.0f}",
        )
        for row in hostile.ranking().itertuples()
    ]
    assert list(table.rows) == expected
    assert float(table.rows[0][2]) == round(hostile.ranking()["strength"][0], 2)


def test_groups_are_ranked_apart_and_say_so(grouped: Fit) -> None:
    data = ReportData(fits={"taste": grouped})
    part = section(data, "ranking")
    assert [table.caption for table in tables(part)] == [
        "Are cats best? (3 items)",
        "Are dogs best? (4 items)",
    ]
    assert [row[0] for row in tables(part)[0].rows] == ["a1", "a2", "a3"]
    picture = next(block for block in part.blocks if isinstance(block, Picture))
    assert "a difference across groups means nothing" in picture.caption
    assert [text.get_text() for text in picture.figure.axes[0].texts] == ["Are cats best?", "Are dogs best?"]
    summary = words(section(data, "summary"))
    assert "7 items in 2 groups that no comparison links" in summary
    assert "“Are cats best?”: “a1” is strongest" in summary
    assert "The data were not checked for this report" in summary


def test_items_never_compared_are_named_and_not_ranked() -> None:
    cells = counts(("x", "y", "z"))
    lonely = fit(replace(cells, items=("x", "y", "z", "zz")), engine="laplace", draws=50)
    part = section(ReportData(fits={"f": lonely}), "ranking")
    assert "Never compared, so not ranked: zz." in words(part)
    assert [row[0] for row in tables(part)[0].rows] == ["x", "y", "z"]
    assert "3 items (1 more never compared)" in words(section(ReportData(fits={"f": lonely}), "summary"))


def test_the_model_section_prints_formulas_and_every_prior(everything: ReportData, hostile: Fit) -> None:
    part = section(everything, "model")
    lines = next(block.lines for block in part.blocks if isinstance(block, Formula))
    minus = "\N{MINUS SIGN}"
    assert lines[0] == f"δ = λ_a {minus} λ_b + β"
    assert f"P(a) = s(δ {minus} τ)" in lines
    assert lines[-4:] == ("λ_i ~ Normal(0, σ)", "σ ~ HalfNormal(1)", "t ~ Beta(1, 1)", "β ~ Normal(0, 0.5)")
    plain = fit(hostile.counts, engine="laplace", ties="davidson", priors={"strength_sd": 0.7}, draws=50)
    lines = next(
        b.lines for b in section(ReportData(fits={"f": plain}), "model").blocks if isinstance(b, Formula)
    )
    assert lines[0] == f"δ = λ_a {minus} λ_b"
    assert "P(tie) = ν / Z" in lines
    assert "σ = 0.7 (fixed)" in lines


def test_point_estimates_and_maximum_likelihood_say_what_they_are(hostile: Fit) -> None:
    point = ReportData(fits={"f": fit(hostile.counts, engine="gienapp")})
    assert "gives point estimates only" in words(section(point, "summary"))
    assert "no intervals" in words(section(point, "diagnostics"))
    assert [part.name for part in sections(point)].count("ranks") == 0
    assert tables(section(point, "ranking"))[0].rows[0][3:6] == ("–", "–", "–")
    classical = ReportData(fits={"f": fit(hostile.counts, engine="ml", draws=50)})
    assert "No priors" in words(section(classical, "model"))
    assert "confidence intervals" in words(section(classical, "diagnostics"))


def test_split_is_said_to_be_too_narrow_with_its_comparisons(everything: ReportData) -> None:
    comparison = everything.tie_comparisons["logic"]
    part = section(everything, "ties")
    warning = next(block.text for block in part.blocks if isinstance(block, Notice))
    judgments, ties = comparison.fits["split"].counts.judgments, comparison.fits["split"].counts.ties.sum()
    assert f"counts {judgments + ties:,.0f} of them where {judgments:,.0f} judgments were made" in warning
    assert "too narrow" in warning
    width = comparison.table.set_index("ties")["interval_width"]
    assert f"{width['split-half'] / width['split']:.2f} times as wide" in warning
    rows = {row[0]: row for row in tables(part)[0].rows}
    assert rows["split"][6] == f"{judgments + ties:,.0f}"
    t = comparison.fits["rao-kupper"].parameters()["tie"]
    assert rows["rao-kupper"][1:4] == (
        number(t["mean"]),
        between(t["lower"], t["upper"]),
        f"θ = {t['native']['mean']:.2f}",
    )
    agreement = next(row for row in tables(part)[1].rows if row[:2] == ("split", "split-half"))
    found = comparison.rank_agreement.set_index(["first", "second"]).loc[("split", "split-half")]
    assert agreement[2:] == (f"{found['kendall']:.3f}", str(found["flips"]))


def test_position_and_runs_are_tabulated(everything: ReportData, hostile: Fit) -> None:
    space = "\N{NO-BREAK SPACE}"
    shares, effects = tables(section(everything, "position"))
    assert shares.rows[0][:5] == ("tiny, logic", "97", "3", "20", f"97.0{space}%")
    assert shares.rows[0][6:] == ("40", f"90{space}%", f"5{space}%", f"5{space}%")
    beta = hostile.parameters()["order"]
    assert effects.rows == (("logic", number(beta["mean"]), between(beta["lower"], beta["upper"])),)
    runs = tables(section(everything, "stability"))[0]
    assert runs.columns == ("judge, dimension", "runs", "pairs", "all equal")
    assert runs.rows == (("tiny, logic", "3", "40", f"62.5{space}%"),)


@pytest.mark.parametrize(
    ("concordance", "phrase"),
    [
        ((0.52, 0.44, 0.60), NO_INFORMATION),
        ((0.60, 0.52, 0.68), "may know something of the levels, but these data cannot tell it from chance"),
        ((0.62, 0.58, 0.66), "knows a little of the levels"),
        ((0.75, 0.70, 0.80), "follows the levels in part"),
        ((0.93, 0.90, 0.96), "follows the levels closely"),
        ((0.30, 0.22, 0.38), "runs against the levels: worse items stand above better ones"),
    ],
)
def test_the_worth_of_a_ranking_in_words(concordance: tuple[float, float, float], phrase: str) -> None:
    assert reference_worth(ReferenceAgreement(*concordance, 0.1, 0.0, 0.2, 0.45, 0.55, 12, 54)) == phrase


def test_a_judge_blind_to_the_levels_that_answers_by_position_is_called_so(everything: ReportData) -> None:
    blind = ReferenceAgreement(0.51, 0.45, 0.57, 0.02, -0.1, 0.12, 0.42, 0.58, 5, 6)
    data = replace(everything, references={"logic": blind})
    for name in ("summary", "judge"):
        text = words(section(data, name))
        assert "“logic” carries almost no information about the levels" in text
        assert "Its answers tell where an item stood in the prompt, and hardly how good it is." in text
    seeing = replace(blind, concordance=0.9, lower=0.85, upper=0.95)
    text = words(section(replace(everything, references={"logic": seeing}), "summary"))
    assert "follows the levels closely" in text
    assert "hardly how good" not in text
    row = tables(section(data, "judge"))[0].rows[0]
    assert row[:3] == ("logic", "5", "6")
    assert row[3] == f"{percent(0.51, 1)} ({percent(0.45, 1)} to {percent(0.57, 1)})"
    assert row[6] == f"{percent(0.52, 1)} of 100"


def test_position_verdicts() -> None:
    assert "shows no clear position effect: " in position_verdict("ann", [], [(0.52, 0.45, 0.59)])
    assert "leans towards the item shown second on logic" in position_verdict(
        "ann", ["logic"], [(0.4, 0.35, 0.45)]
    )
    assert "answers by position on logic and rhetoric" in position_verdict(
        "ann", ["logic", "rhetoric"], [(0.1, 0.05, 0.2), (0.08, 0.02, 0.1)]
    )
    assert "no decisive judgment" in position_verdict("ann", [], [(float("nan"), 0.0, 1.0)])


def test_html_is_one_file_without_network_or_script(html: str) -> None:
    page = Page(html)
    assert "http" not in html
    assert {"script", "link", "iframe", "img", "object", "embed", "base"}.isdisjoint(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    sources = [value or "" for name, value in page.attributes if name in ("src", "href", "xlink:href")]
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in sources)
    assert not re.search(r"url\((?!#)", html)
    assert page.tags.count("svg") == page.tags.count("figure") > 5


def test_hostile_names_are_shown_as_text(html: str) -> None:
    page = Page(html)
    assert "i" not in page.tags
    assert "b" not in page.tags
    shown = "".join(page.words)
    assert "<i>Hostile</i> & proud" in shown
    assert "<script>x</script> never wins." in shown
    for name in HOSTILE:
        assert shown.count(name) >= 3  # in a sentence, a table and a figure


def test_ids_are_unique_and_links_lead_somewhere(html: str) -> None:
    page = Page(html)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    targets = {value[1:] for name, value in page.attributes if name == "href" and value and value[0] == "#"}
    assert targets
    assert targets <= set(ids)


def test_html_numbers_equal_the_fit(html: str, hostile: Fit) -> None:
    text = Page(html).text
    for row in hostile.ranking().itertuples():
        assert f"{number(row.strength)} {between(row.lower, row.upper)}" in text


def test_every_figure_says_in_words_what_it_shows(html: str) -> None:
    labels = re.findall(r'role="img" aria-label="([^"]+)"', html)
    assert len(labels) == html.count("<figure>") > 5
    assert all(label.endswith(".") and len(label) > 30 for label in labels)


def test_the_same_report_twice_is_the_same_bytes(everything: ReportData, html: str, tmp_path: Path) -> None:
    assert report(everything, tmp_path / "again.html").read_text(encoding="utf-8") == html


def test_markdown_escapes_and_links_its_pictures(
    markdown: Path, everything: ReportData, hostile: Fit
) -> None:
    text = markdown.read_text(encoding="utf-8")
    assert text.startswith("# &lt;i&gt;Hostile&lt;/i&gt; &amp; proud\n\n## In short\n")
    assert "<" not in re.sub(r"P\(best\) <0\.01|<0\.01", "", text)
    assert "a\\|b" in text
    assert "\\$x\\_1\\$ \\\\ \\`y\\`" in text
    folder = markdown.parent / "my report_files"
    links = re.findall(r"\]\((my%20report_files/[a-z0-9-]+\.png)\)", text)
    assert sorted(f"my%20report_files/{file.name}" for file in folder.iterdir()) == sorted(links)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in folder.iterdir())
    assert len(links) == sum(
        isinstance(block, Picture) for part in sections(everything) for block in part.blocks
    )
    for lines in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines.splitlines()}) == 1
    best = hostile.ranking().iloc[0]
    assert f"| {escaped(best['item'])} | 1 | {number(best['strength'])} |" in text


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("1. first", "1\\. first"),
        ("# no heading", "\\# no heading"),
        ("- no list", "\\- no list"),
        ("12.5 %", "12.5 %"),
        ("[x](javascript:1)", "\\[x\\](javascript:1)"),
        ("a\nb\n\n# c", "a b # c"),
        ("*_`|$\\", "\\*\\_\\`\\|\\$\\\\"),
        ("&lt;", "&amp;lt;"),
    ],
)
def test_escaping_markdown(raw: str, safe: str) -> None:
    assert escaped(raw) == safe


def test_long_tables_fold_and_markdown_shows_their_first_rows(tmp_path: Path) -> None:
    items = tuple(f"i{k:02d}" for k in range(64))
    a, b = np.arange(63), np.arange(1, 64)
    chain = Counts(items, a, b, np.full(63, 3.0), np.full(63, 1.0), np.full(63, 2.0))
    data = ReportData.from_fits([fit(chain, engine="laplace", draws=50)])
    table = tables(section(data, "ranking"))[0]
    assert table.folded
    assert len(table.rows) == 64
    pictures = [block for block in section(data, "ranking").blocks if isinstance(block, Picture)]
    assert [picture.name for picture in pictures] == [
        "forest-rao-kupper, laplace",
        "extract-rao-kupper, laplace",
    ]
    text = report(data, tmp_path / "long.md").read_text(encoding="utf-8")
    assert "44 rows more" in text
    assert "<details" in report(data, tmp_path / "long.html").read_text(encoding="utf-8")


def test_fits_alone_make_a_report(hostile: Fit, grouped: Fit, tmp_path: Path) -> None:
    text = report([hostile, hostile, grouped], tmp_path / "fits.html").read_text(encoding="utf-8")
    for label in ("rao-kupper, laplace", "rao-kupper, laplace (2)", "rao-kupper, laplace (3)"):
        assert f"<h3>{label}</h3>" in text
    named = ReportData.from_fits({"logic": hostile}, title="Mine")
    assert list(named.fits) == ["logic"]
    assert named.title == "Mine"


def test_nothing_is_overwritten_unasked(hostile: Fit, tmp_path: Path) -> None:
    for name in ("r.html", "r.md"):
        path = report([hostile], tmp_path / name)
        before = path.read_text(encoding="utf-8")
        with pytest.raises(InputError, match="exists already"):
            report([hostile], path)
        assert report([hostile], path, force=True).read_text(encoding="utf-8") == before


def test_other_suffixes_and_empty_reports_are_errors(hostile: Fit, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends with \.html or \.md, not '\.pdf'"):
        report([hostile], tmp_path / "r.pdf")
    with pytest.raises(InputError, match="nothing to report"):
        report(ReportData(), tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_negative_numbers_have_a_true_minus() -> None:
    assert number(-1234.567) == "\N{MINUS SIGN}1,234.57"
    assert between(-0.2, 1.25) == "\N{MINUS SIGN}0.20 to 1.25"


@pytest.mark.parametrize(
    ("least", "said"),
    [(1.0, "agree completely"), (0.998, "0.99 or more (least alike: x and y)"), (0.29, "tau 0.29 or more")],
)
def test_tau_is_never_said_to_be_more_than_it_is(least: float, said: str) -> None:
    assert said in _agreement(least, "x", "y")


def test_where_strengths_are_centred_and_who_made_the_model(grouped: Fit) -> None:
    point = fit(grouped.counts, engine="gienapp")
    alone = ReportData.from_fits({"g": point})
    assert "zero over all items together" in words(section(alone, "model"))
    assert "Tie model: Rao-Kupper (1967)." in words(section(alone, "model"))
    assert "centred over all items" in section(alone, "ranking").blocks[0].caption
    both = words(section(ReportData.from_fits({"g": point, "l": grouped}), "model"))
    assert "comparisons link (gienapp: over all items together)" in both
    davidson = fit(grouped.counts, ties="davidson", engine="laplace", draws=50)
    assert "Tie model: Davidson (1970)." in words(section(ReportData.from_fits({"d": davidson}), "model"))


def test_long_names_are_short_where_they_are_only_said(tmp_path: Path) -> None:
    names = tuple(f"{letter}{'long' * 60}" for letter in "abc")
    data = ReportData.from_fits([fit(counts(names), engine="laplace", draws=50)])
    text = report(data, tmp_path / "long.md").read_text(encoding="utf-8")
    assert not any(name in alt for alt in re.findall(r"!\[(.*?)\]\(", text) for name in names)
    page = report(data, tmp_path / "long.html").read_text(encoding="utf-8")
    assert "<caption" not in page
    assert '<p class="caption">3 items</p>' in page
