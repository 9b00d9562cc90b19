from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import typer

from bayesbt.cli import app, main

ROOT = Path(__file__).parent.parent
NEEDS_MODEL = {"judge", "models fetch", "run", "demo"}


class Done(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture
def bayesbt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in an empty folder that has the data of the project."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)

    def run(line: str, stdin: str = "") -> Done:
        monkeypatch.setattr("sys.argv", ["bayesbt", *line.split()])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        code = 0
        with warnings.catch_warnings():
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        return Done(code, *capsys.readouterr())

    return run


def commands() -> Iterator[tuple[str, str]]:
    """Every command with the example at the end of its help."""
    root = typer.main.get_command(app)
    groups = [("", root)]
    for prefix, group in groups:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                groups.append((f"{name} ", command))
            else:
                yield f"{prefix}{name}", command.epilog or ""


EXAMPLES = dict(commands())


def example(name: str) -> str:
    """The example's arguments, its line breaks joined as a shell does."""
    return EXAMPLES[name].removeprefix("Example: bayesbt ").replace("\\\n\n", "")


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_help_ends_with_an_example_of_the_command(bayesbt: Run, name: str) -> None:
    done = bayesbt(f"{name} --help")
    assert done.code == 0
    assert EXAMPLES[name].startswith(f"Example: bayesbt {name}")
    assert all(len(line) <= 76 for line in EXAMPLES[name].split("\n\n"))
    last = done.out.rstrip().splitlines()[-1].strip()
    assert EXAMPLES[name].split("\n\n")[-1].endswith(last)


def test_examples_run_in_the_order_of_the_help(bayesbt: Run) -> None:
    assert set(EXAMPLES) >= NEEDS_MODEL
    for name in EXAMPLES:
        if name not in NEEDS_MODEL:
            done = bayesbt(example(name))
            assert done.code == 0, f"{name}: {done.err}"
    assert len(Path("tasting.jsonl").read_text().splitlines()) == 120
    assert len(pd.read_csv("pairs.csv")) == 3 * 12 * 11
    assert Path("reports/tasting.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    "line",
    [
        "import data/tasting/judgments.csv -o out.csv",
        "check data/tasting/judgments.csv",
        "pairs data/ladder/items.csv --design cyclic --degree 2 -o out.csv",
        "vote data/tasting/judgments.csv -o out.csv",
        "simulate -o out.csv",
        "fit data/tasting/judgments.csv --engine ml",
        "fit data/tasting/judgments.csv --engine laplace --by judge",
        "ties data/tasting/judgments.csv --engine ml --models split,davidson",
        "models list",
        "models show smollm2-135m",
        "doctor",
    ],
)
def test_json_is_one_document_and_alone_on_stdout(bayesbt: Run, line: str) -> None:
    done = bayesbt(f"{line} --json")
    assert done.code == 0, done.err
    assert isinstance(done.json, dict)
    assert "NaN" not in done.out


def test_simulate_writes_judgments_and_what_made_them(bayesbt: Run) -> None:
    line = (
        "simulate --items 5 --judges 4 --comparisons 400 --position-judges 1 --order 0.5 --tie 0.3 --seed 2"
    )
    assert bayesbt(f"{line} --truth truth.json -o out.csv").code == 0
    truth, frame = json.loads(Path("truth.json").read_text()), pd.read_csv("out.csv")
    assert (len(frame), frame["judge"].nunique()) == (400, 4)
    assert (truth["order"], truth["tie"], truth["seed"]) == (0.5, 0.3, 2)
    assert sum(truth["strengths"].values()) == pytest.approx(0, abs=1e-12)
    (always_first,) = [judge["judge"] for judge in truth["judge_truths"] if judge["kind"] == "position"]
    assert set(frame.loc[frame["judge"] == always_first, "outcome"]) == {"a"}
    first = Path("out.csv").read_bytes()
    assert bayesbt(f"{line} -o out.csv").code == 1  # nothing is overwritten unasked
    assert bayesbt(f"{line} --force -o out.csv").code == 0
    assert Path("out.csv").read_bytes() == first
    refused = bayesbt("simulate --judges 2 --random-judges 3 -o other.csv")
    assert refused.code == 1
    assert "--random-judges 3" in refused.err


def test_fit_prints_the_document_of_the_contract(bayesbt: Run) -> None:
    document = bayesbt("fit data/tasting/judgments.csv --engine ml --order shared --json").json
    assert document["model"] == {
        "ties": "rao-kupper",
        "order": "shared",
        "judges": "ignore",
        "engine": "ml",
        "priors": {},
    }
    assert document["data"] == {"judgments": 120, "ties": 26, "unscored": 0, "items": 8, "components": 1}
    assert document["loglik"] < 0
    assert set(document["parameters"]) == {"tie", "order"}
    assert document["parameters"]["tie"]["native"]["name"] == "theta"
    first = document["items"][0]
    assert first["rank"] == 1
    assert {"component", "strength", "sd", "lower", "upper", "rank_lower", "rank_upper", "p_best"} <= set(
        first
    )
    assert sum(row["comparisons"] for row in document["items"]) == 240
    assert sum(row["strength"] for row in document["items"]) == pytest.approx(0, abs=1e-9)
    assert document["diagnostics"]["ok"] is True
    assert any("3 judges are pooled" in message for message in document["diagnostics"]["messages"])


def test_fit_folder_and_rank_agree_with_fit(bayesbt: Run) -> None:
    fitted = bayesbt("fit data/tasting/judgments.csv --engine laplace -o folder --json").json
    names = {"spec.toml", "counts.parquet", "posterior.nc", "ranking.csv", "fit.json", "provenance.json"}
    assert {path.name for path in Path("folder").iterdir()} == names
    ranked = bayesbt("rank folder --top 2 --distribution --pairwise --json").json
    assert [row["item"] for row in ranked["items"]] == [row["item"] for row in fitted["items"][:2]]
    stronger = ranked["p_stronger"]["0"]
    best, second = (stronger["columns"].index(row["item"]) for row in fitted["items"][:2])
    forth, back = stronger["data"][best][second], stronger["data"][second][best]
    assert forth > 0.5
    assert forth + back == pytest.approx(1)
    for row in ranked["rank_distribution"]["0"]["data"]:
        assert sum(row) == pytest.approx(1)


def test_same_seed_gives_the_same_bytes_and_another_seed_others(bayesbt: Run) -> None:
    line = "fit data/tasting/judgments.csv --draws 100 --tune 200 --chains 2 --json --seed"
    first, again, other = bayesbt(f"{line} 5"), bayesbt(f"{line} 5"), bayesbt(f"{line} 6")
    assert first.out == again.out
    assert first.out != other.out


def test_poor_diagnostics_are_said_first_and_in_the_document(bayesbt: Run) -> None:
    line = "fit data/tasting/judgments.csv --draws 20 --tune 5 --chains 2"
    done = bayesbt(line)
    assert done.code == 0
    assert done.out.startswith("POOR DIAGNOSTICS")
    assert bayesbt(f"{line} --json").json["diagnostics"]["ok"] is False


def test_several_dimensions_need_a_choice(bayesbt: Run) -> None:
    rows = [
        ("p", "q", "a", "form"),
        ("q", "p", "a", "form"),
        ("q", "r", "b", "form"),
        ("r", "q", "b", "form"),
    ]
    rows += [(a, b, "b" if o == "a" else "a", "content") for a, b, o, _ in rows]
    pd.DataFrame(rows, columns=["item_a", "item_b", "outcome", "dimension"]).to_csv("two.csv", index=False)
    refused = bayesbt("fit two.csv --engine laplace")
    assert refused.code == 1
    assert "content, form" in refused.err
    assert bayesbt("fit two.csv --engine laplace --dimension form --json").json["data"]["judgments"] == 4
    fits = bayesbt("fit two.csv --engine laplace --by dimension -o both --json").json["fits"]
    assert list(fits) == ["content", "form"]
    index = json.loads(Path("both/index.json").read_text())
    assert [group["dimension"] for group in index["groups"]] == ["content", "form"]
    assert bayesbt("rank both --json").json["fits"]["form"]["items"][0] == fits["form"]["items"][0]


def test_map_and_standard_streams(bayesbt: Run) -> None:
    text = "p1,p2,res\nx,y,won\ny,z,lost\nz,x,even\n"
    spoken = "p1=item_a,p2=item_b,res=outcome,won=a,lost=b,even=tie"
    done = bayesbt(f"import - -o - --map {spoken}", stdin=text)
    assert done.code == 0
    assert done.out == "item_a,item_b,outcome\nx,y,a\ny,z,b\nz,x,tie\n"


def test_check_ends_with_1_where_a_fit_would_be_refused(bayesbt: Run) -> None:
    Path("two.csv").write_text("item_a,item_b,outcome,dimension\nx,y,a,form\nx,y,b,content\n")
    done = bayesbt("check two.csv --json")
    assert (done.code, done.json["ok"]) == (1, False)
    assert [finding["level"] for finding in done.json["findings"]].count("error") == 1
    assert bayesbt("fit two.csv --engine laplace").code == 1


def test_check_looks_at_what_is_kept_and_counts_in_whole_numbers(bayesbt: Run) -> None:
    rows = "x,y,a,form\nx,y,b,content\ny,x,a,form\n"
    Path("two.csv").write_text(f"item_a,item_b,outcome,dimension\n{rows}")
    done = bayesbt("check two.csv --dimension form --json")
    assert (done.code, done.json["data"]["rows"]) == (0, 2)
    assert '"judgments": 2,' in done.out
    assert "'gone' is not in the file" in bayesbt("check two.csv --dimension gone").err


def test_what_is_said_of_standard_output_and_of_one(bayesbt: Run) -> None:
    one = "item_a,item_b,outcome\nx,y,a\n"
    assert bayesbt("import - -o -", stdin=one).err == "1 judgment.\n"
    assert bayesbt("import - -o one.csv", stdin=one).err == "Wrote one.csv: 1 judgment.\n"


def test_cells_of_tables_stay_on_one_short_line(bayesbt: Run) -> None:
    long, broken = "long" * 50, "line\nbreak\x1b[31m"
    frame = pd.DataFrame({"item_a": [long, broken], "item_b": [broken, long], "outcome": ["a", "a"]})
    frame.to_csv("odd.csv", index=False)
    out = bayesbt("fit odd.csv --engine laplace").out
    assert "line\\nbreak\\x1b[31m" in out
    assert "p_top3" in out
    assert max(map(len, out.splitlines())) < 200
    assert "\x1b" not in out


def test_check_warns_where_only_maximum_likelihood_would_refuse(bayesbt: Run) -> None:
    Path("never.csv").write_text("item_a,item_b,outcome\n" + "x,y,a\ny,z,a\n" * 3)
    done = bayesbt("check never.csv --json")
    assert (done.code, done.json["ok"]) == (0, True)
    warned = [finding for finding in done.json["findings"] if finding["level"] == "warning"]
    assert any("z" in finding["items"] and "--engine ml" in finding["message"] for finding in warned)
    assert bayesbt("fit never.csv --engine ml").code == 1
    assert bayesbt("fit never.csv --engine laplace").code == 0


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("fit absent.csv", 1, "absent.csv: no such file"),
        ("fit data/tasting/judgments.csv --ties raokupper", 1, "rao-kupper, davidson"),
        ("fit data/tasting/judgments.csv --engine stan", 1, "auto, ml, map"),
        ("fit data/tasting/judgments.csv --prior tie=Cauchy(1)", 1, "Cauchy"),
        ("fit data/tasting/judgments.csv --engine ml --reference tea", 1, "'tea'"),
        ("fit data/tasting/judgments.csv --by taster", 1, "dimension, topic, judge"),
        ("rank data", 1, "data"),
        ("run absent.toml", 1, "absent.toml: no such file"),
        ("models show gpt", 1, "smollm2-135m"),
        ("fit", 2, "JUDGMENTS"),
        ("fit data/tasting/judgments.csv --order sometimes", 2, "sometimes"),
        ("check data/tasting/judgments.csv --map outcome", 2, "outcome"),
        ("vote data/tasting/judgments.csv -o - --json", 2, "standard output"),
        ("conjure", 2, "conjure"),
    ],
)
def test_errors_say_what_and_end_with_their_code(bayesbt: Run, line: str, code: int, said: str) -> None:
    done = bayesbt(line)
    assert done.code == code
    assert said in done.err
    assert done.out == ""
    if code == 1:
        assert done.err.startswith("bayesbt: ")
        assert len(done.err.strip().splitlines()) == 1


def test_empty_input_is_a_wrong_usage(bayesbt: Run) -> None:
    done = bayesbt("check -", stdin="item_a,item_b,outcome\n")
    assert (done.code, done.out) == (2, "")
    assert "no judgments" in done.err


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("import data/tasting/judgments.csv -o kept", "kept.csv"),
        ("pairs data/ladder/items.csv -o kept", "kept.csv"),
        ("vote data/tasting/judgments.csv -o kept", "kept.csv"),
        ("fit data/tasting/judgments.csv --engine ml -o kept", "kept/fit.json"),
        ("ties data/tasting/judgments.csv --engine ml -o kept", "kept/index.json"),
    ],
)
def test_nothing_is_overwritten_without_force(bayesbt: Run, line: str, path: str) -> None:
    line = line.replace(" -o kept", f" -o {path.partition('/')[0]}")
    assert bayesbt(line).code == 0
    before = Path(path).read_bytes()
    Path(path).write_bytes(before + b" ")
    refused = bayesbt(line)
    assert refused.code == 1
    assert "--force" in refused.err
    assert Path(path).read_bytes() == before + b" "
    assert bayesbt(f"{line} --force").code == 0
    assert Path(path).read_bytes() == before


def test_no_traceback_and_no_stray_output_in_a_real_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bayesbt", "check", "absent.csv", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=_environment())
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    judged = ROOT / "data" / "tasting" / "judgments.csv"
    command = [
        sys.executable,
        "-m",
        "bayesbt",
        "fit",
        str(judged),
        "--draws",
        "50",
        "--tune",
        "100",
        "--json",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=_environment())
    assert done.returncode == 0
    assert json.loads(done.stdout)["model"]["engine"] == "numpyro"
    assert "\r" not in done.stderr  # no progress bar where there is no terminal


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


@pytest.mark.model
def test_examples_with_the_real_judge(bayesbt: Run) -> None:
    pytest.importorskip("torch")
    assert bayesbt(example("models fetch")).code == 0
    assert bayesbt(example("pairs")).code == 0
    pd.read_csv("pairs.csv").iloc[:6].to_csv("few.csv", index=False)
    done = bayesbt(example("judge").replace("pairs.csv", "few.csv"))
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in Path("judgments.jsonl").read_text().splitlines()]
    assert len(lines) == 6 * 3
    assert all(line["judge"] == "smollm2-135m" for line in lines)
    total = [sum(line[name] for name in ("p_a", "p_tie", "p_b", "p_other")) for line in lines]
    assert total == pytest.approx([1.0] * 18, abs=1e-6)


@pytest.mark.parametrize("force", ["", " --force"])
@pytest.mark.parametrize(
    "line",
    [
        "fit tasting.csv --engine ml -o /proc/xx",
        "fit tasting.csv --engine ml -o /proc/xx/yy",
        "fit tasting.csv --engine ml -o tasting.csv",
        "fit tasting.csv --engine ml -o tasting.csv/sub",
        "import tasting.csv -o /proc/x.csv",
        "import tasting.csv -o tasting.csv/x.csv",
        "report fitted -o /proc/x.html",
        "report fitted -o /proc/x.md",
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(bayesbt: Run, line: str, force: str) -> None:
    Path("tasting.csv").write_bytes(Path("data/tasting/judgments.csv").read_bytes())
    done = bayesbt(line + force)
    path = line.split()[-1]
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"bayesbt: {path}: ")
    assert done.err.count("\n") == 1
    assert "ive " in done.err
    assert Path("tasting.csv").is_file()


def test_an_output_is_refused_before_the_fit(bayesbt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayesbt.infer.fitted", lambda *_, **__: pytest.fail("fitted"))
    assert bayesbt("fit data/tasting/judgments.csv -o /proc/xx").code == 1
    assert "/proc/xx: cannot be written" in bayesbt("fit data/tasting/judgments.csv -o /proc/xx").err


def test_any_other_failure_of_the_system_is_one_line_too(bayesbt: Run) -> None:
    done = bayesbt("run data/ladder -o /proc/xx")
    assert done.code == 1
    assert re.fullmatch(r"bayesbt: /proc/xx.*: .*\. Check the path.*\n", done.err)
