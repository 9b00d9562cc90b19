"""Killed at random moments, by two at once, on a full disk: nothing is lost, doubled or mixed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

SCRIPTED = textwrap.dedent(
    """
    import sys
    import pandas as pd
    from bayesbt.judges.protocol import Verdict
    from bayesbt.judges.run import judge_all
    from bayesbt.judges.scripted import ScriptedJudge
    from bayesbt.judges.settings import JudgeSettings
    from bayesbt.tables import Items, Pairs

    names = [f"item {n:03}" for n in range(61)]
    items = Items.from_frame(pd.DataFrame({"item": names, "text": [f"Text {n}." for n in names]}))
    pairs = Pairs.from_frame(pd.DataFrame({"item_a": names[:-1], "item_b": names[1:]}))
    table = {(a, b, ""): (0.3, 0.1, 0.2 + n / 300) for n, (a, b) in enumerate(zip(names, names[1:]))}

    class Raising(ScriptedJudge):
        def verdicts(self, presentations, prompt):
            for batch in super().verdicts(presentations, prompt):
                if any(presentations[place].item_a == "item 017" for place, _ in batch):
                    raise RuntimeError("a bad pair")
                yield batch

    settings = [
        JudgeSettings(judge, dimensions=("logic",), runs=2, seed=5, attempts=1)
        for judge in (
            ScriptedJudge(table, "labels", delay=0.004),
            Raising(table, "raising", batch=4, delay=0.004),
            ScriptedJudge(table, "writes", delay=0.002, decode="generate"),
        )
    ]
    judged = judge_all(pairs, items, settings=settings, output=sys.argv[1])
    print(judged.asked, judged.judged, judged.unscored)
    """
)


def start(script: str, output: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(output)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(script: str, output: Path) -> str:
    process = start(script, output)
    said, complained = process.communicate()
    assert process.returncode == 0, complained
    return said


def kill_at_random(script: str, output: Path, kills: int, seconds: float, seed: int) -> int:
    """Start and kill again and again; give how often there was something to kill."""
    moments = random.Random(seed)
    killed = 0
    for _ in range(kills):
        process = start(script, output)
        begun = output.stat().st_size if output.exists() else 0
        while process.poll() is None and (not output.exists() or output.stat().st_size <= begun):
            time.sleep(0.005)
        time.sleep(moments.random() * seconds)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            killed += 1
        process.communicate()
    return killed


def contents(path: Path) -> list[bytes]:
    return sorted(path.read_bytes().splitlines())


def test_kills_at_random_moments_cost_nothing_whatever_the_judges(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    assert finish(SCRIPTED, whole).split()[0] == "360"
    assert kill_at_random(SCRIPTED, killed, kills=6, seconds=0.15, seed=2) >= 3
    assert len(killed.read_bytes().splitlines()) < 360
    asked, judged, unscored = map(int, finish(SCRIPTED, killed).split())
    assert contents(killed) == contents(whole)
    assert asked == judged + unscored == 360
    lines = [json.loads(line) for line in killed.read_bytes().splitlines()]
    assert Counter(line["judge"] for line in lines) == {"labels": 120, "raising": 120, "writes": 120}
    bad = [line for line in lines if (line["reason"] or "").startswith("error")]
    assert [(line["judge"], line["item_a"], line["run"]) for line in bad] == [
        ("raising", "item 017", 1),
        ("raising", "item 017", 2),
    ]
    assert {line["reason"] for line in bad} == {"error: RuntimeError: a bad pair"}


def test_of_two_processes_on_one_output_the_second_refuses(tmp_path: Path) -> None:
    output = tmp_path / "j.jsonl"
    first = start(SCRIPTED, output)
    while first.poll() is None and not (output.exists() and output.stat().st_size):
        time.sleep(0.005)
    first.send_signal(signal.SIGSTOP)  # or a busy machine may let it finish before the second begins
    second = start(SCRIPTED, output)
    _, complained = second.communicate()
    first.send_signal(signal.SIGCONT)
    assert second.returncode != 0
    assert "JournalError" in complained
    assert "another process is writing" in complained
    said, complained = first.communicate()
    assert first.returncode == 0, complained
    assert said.split()[0] == "360"


FULL = textwrap.dedent(
    """
    import resource, sys
    from pathlib import Path
    from bayesbt.judges.journal import JournalError, open_journal

    path = Path(sys.argv[1])
    with open_journal(path) as journal:
        journal.append([{"n": n} for n in range(50)])
        before = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        try:
            journal.rewrite([{"n": n, "text": "x" * 20} for n in range(50)])
        except JournalError as error:
            print(error)
        assert path.read_bytes() == before
        journal.append([{"n": "small"}])
        try:
            journal.append([{"n": "large", "text": "x" * 300}])
        except JournalError as error:
            print(error)
    assert path.read_bytes() == before + b'{"n": "small"}\\n'
    print([each.name for each in path.parent.iterdir()])
    """
)


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_disk_that_fills_while_the_file_is_rewritten_leaves_it_as_it_was(tmp_path: Path) -> None:
    said = finish(FULL, tmp_path / "j.jsonl").splitlines()
    assert "cannot be rewritten" in said[0]
    assert "What was judged before is kept" in said[1]
    assert ".new" not in said[2]


MODEL = textwrap.dedent(
    """
    import sys
    import pandas as pd
    import torch
    from bayesbt.judges.run import judge_all
    from bayesbt.judges.settings import BackendOptions, JudgeSettings
    from bayesbt.tables import Items, Pairs

    torch.set_num_threads(1)
    names = [f"i{n:02}" for n in range(17)]
    texts = ["Taxes fund schools. " * (1 + n % 5) + f"Reason {n}." for n in range(17)]
    items = Items.from_frame(pd.DataFrame({"item": names, "text": texts}))
    pairs = Pairs.from_frame(pd.DataFrame({"item_a": names[:-1], "item_b": names[1:]}))
    options = BackendOptions(device="cpu", batch_tokens=256)
    settings = JudgeSettings("smollm2-135m", dimensions=("logic",), runs=3, both_orders=True, options=options)
    judged = judge_all(pairs, items, settings=settings, output=sys.argv[1])
    print(judged.asked, judged.judged, judged.unscored)
    """
)


@pytest.mark.model
@pytest.mark.slow
def test_kills_of_a_real_model_at_random_moments_cost_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    killed, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    assert finish(MODEL, whole).split() == ["96", "96", "0"]
    assert kill_at_random(MODEL, killed, kills=3, seconds=1.0, seed=4) >= 1
    assert finish(MODEL, killed).split() == ["96", "96", "0"]
    found = {
        (line["item_a"], line["item_b"], line["run"]): line for line in map(json.loads, contents(killed))
    }
    expected = {
        (line["item_a"], line["item_b"], line["run"]): line for line in map(json.loads, contents(whole))
    }
    assert found.keys() == expected.keys()
    assert len(contents(killed)) == len(found)
    for key, line in expected.items():  # other batches, other rounding
        assert found[key]["p_a"] == pytest.approx(line["p_a"], abs=1e-5)
        assert found[key]["made_with"] == line["made_with"]
