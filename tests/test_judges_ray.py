"""A judge on a Ray cluster: the same answers as without, whoever dies on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'bayesbt[ray]'")

from bayesbt.errors import InputError
from bayesbt.judges.backends import load_distributed
from bayesbt.judges.prompts import Prompt, read_prompt
from bayesbt.judges.protocol import Presentation, VerdictBatch
from bayesbt.judges.ray_judge import RayJudge
from bayesbt.judges.ray_shift import FEWEST
from bayesbt.judges.ray_worker import RayClusterError
from bayesbt.judges.run import judge
from bayesbt.judges.scripted import ScriptedJudge
from bayesbt.judges.settings import BackendOptions, JudgeSettings, RayOptions, ServerOptions
from bayesbt.tables import Items, Pairs
from tests.ray_cluster import Cluster, two_nodes
from tests.servers import free_port

REPOSITORY = Path(__file__).resolve().parent.parent
NUMBER = 160


def names(number: int) -> list[tuple[str, str]]:
    return [(f"x{n % 13}", f"y{n}") for n in range(number)]


def table(number: int = NUMBER) -> dict[tuple[str, str, str], tuple[float, float, float]]:
    return {(*pair, ""): (n / (2 * number), 0.1, 0.25) for n, pair in enumerate(names(number))}


def tables(number: int = NUMBER) -> tuple[Pairs, Items]:
    pairs = names(number)
    items = sorted({item for pair in pairs for item in pair})
    frame = pd.DataFrame({"item": items, "text": [f"The text of {item}." for item in items]})
    return Pairs.from_frame(pd.DataFrame(pairs, columns=["item_a", "item_b"])), Items.from_frame(frame)


def presentations(number: int) -> list[Presentation]:
    return [Presentation(a, b, f"text {a}", f"text {b}", "logic") for a, b in names(number)]


def answers(judge: RayJudge, asked: Sequence[Presentation]) -> dict[int, object]:
    """Every question has one answer, and one only."""
    arrived = [each for batch in judge.verdicts(asked, read_prompt("zero-shot")) for each in batch]
    assert sorted(place for place, _ in arrived) == list(range(len(asked)))
    return dict(arrived)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with two_nodes() as running:
        yield running


@dataclass(frozen=True)
class Deadly(ScriptedJudge):
    """Ends its process over one question, as a fault in compiled code does."""

    victim: str = "y17"

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        if any(presentation.item_b == self.victim for presentation in presentations):
            os._exit(1)
        yield from super().verdicts(presentations, prompt)


@dataclass(frozen=True)
class Reading(ScriptedJudge):
    """Reads the prompt, as a model would."""

    def verdicts(self, presentations: Sequence[Presentation], prompt: Prompt) -> Iterator[VerdictBatch]:
        for presentation in presentations:
            prompt.render(presentation)
        yield from super().verdicts(presentations, prompt)


def refuses() -> ScriptedJudge:
    raise InputError("the model folder is not on this node")


# Without a cluster


def test_a_served_model_needs_no_cluster() -> None:
    options = BackendOptions(server=ServerOptions("http://127.0.0.1:1/v1"))
    with pytest.raises(InputError, match=r"--engine ray.*--concurrency"):
        load_distributed("some-model", options, RayOptions())


def test_without_ray_the_extra_is_named() -> None:
    program = """
        import sys
        sys.modules["ray"] = None
        from bayesbt.errors import MissingExtraError
        from bayesbt.judges.backends import load_distributed
        from bayesbt.judges.settings import BackendOptions, RayOptions
        try:
            load_distributed("smollm2-135m", BackendOptions(), RayOptions())
        except MissingExtraError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert "bayesbt[ray]" in done.stdout


def test_an_address_without_a_cluster_is_said_to_have_none() -> None:
    found = RayJudge(partial(ScriptedJudge, table()), RayOptions(f"127.0.0.1:{free_port()}"))
    with pytest.raises(RayClusterError, match=r"no Ray cluster can be used at '127.0.0.1"):
        _ = found.fingerprint


# On a real cluster of two nodes


@pytest.mark.slow
@pytest.mark.share
def test_answers_and_fingerprint_are_those_without_ray(cluster: Cluster) -> None:
    local = ScriptedJudge(table())
    found = RayJudge(partial(ScriptedJudge, table(), delay=0.05), RayOptions(cluster.address))
    asked = presentations(NUMBER)
    prompt = read_prompt("zero-shot")
    expected = {place: verdict for batch in local.verdicts(asked, prompt) for place, verdict in batch}
    assert (found.name, found.decode, found.fingerprint) == (local.name, local.decode, local.fingerprint)
    assert answers(found, asked) == expected
    assert all(len(node.workers()) == 1 for node in cluster.nodes)  # both nodes have worked
    found.close()
    assert answers(found, asked[:5]) == {place: expected[place] for place in range(5)}  # after closing too
    found.close()


@pytest.mark.slow
@pytest.mark.share
def test_a_question_that_ends_its_workers_is_unscored_and_costs_no_other(cluster: Cluster) -> None:
    found = RayJudge(partial(Deadly, table()), RayOptions(cluster.address))
    asked = presentations(40)
    got = answers(found, asked)
    found.close()
    reasons = {asked[place].item_b: getattr(verdict, "reason", "") for place, verdict in got.items()}
    failed = {item: reason for item, reason in reasons.items() if reason}
    assert failed.keys() == {"y17"}
    assert re.fullmatch(r"error: [3-9] workers were lost over this question", failed["y17"])


@pytest.mark.slow
@pytest.mark.share
def test_what_the_cluster_or_a_worker_cannot_do_is_said(cluster: Cluster) -> None:
    too_large = RayJudge(partial(ScriptedJudge, table()), RayOptions(cluster.address, cpus=64.0))
    with pytest.raises(RayClusterError, match=r"no node .* has room for a worker of 64 CPUs and 0 GPUs"):
        _ = too_large.name
    too_large.close()
    broken = RayJudge(refuses, RayOptions(cluster.address))
    with pytest.raises(RayClusterError, match="cannot be made on a worker: the model folder is not on this"):
        _ = broken.name
    reading = RayJudge(partial(Reading, table()), RayOptions(cluster.address))
    with pytest.raises(InputError, match="--dimension 'beauty': prompt 'zero-shot' does not ask for it"):
        answers(reading, [replace(presentations(1)[0], dimension="beauty")])
    assert len(answers(reading, presentations(2))) == 2
    reading.close()


def kill_when(output: Path, lines: int, kill: Callable[[], None]) -> threading.Thread:
    """Kill as soon as the output holds so many lines."""

    def watch() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if output.exists() and output.read_bytes().count(b"\n") >= lines:
                kill()
                return
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def sorted_lines(path: Path) -> list[bytes]:
    return sorted(path.read_bytes().splitlines())


@pytest.mark.slow
@pytest.mark.share
@pytest.mark.parametrize("victim", ["worker", "node"])
def test_who_is_killed_in_mid_run_costs_no_judgment(
    cluster: Cluster, victim: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    expected, output = tmp_path / "local.jsonl", tmp_path / "ray.jsonl"
    settings = JudgeSettings(ScriptedJudge(table()), dimensions=("logic",), runs=2, seed=3)
    judge(*tables(), settings=settings, output=expected, progress=False)
    found = RayJudge(partial(ScriptedJudge, table(), delay=0.05), RayOptions(cluster.address, workers=2))
    killed = []

    def kill() -> None:
        second = cluster.nodes[1]
        killed.extend(second.workers())
        if victim == "node":
            second.kill()
        else:
            os.kill(killed[0], signal.SIGKILL)

    watcher = kill_when(output, 2 * 6 * FEWEST, kill)
    done = judge(*tables(), settings=replace(settings, judge=found), output=output, progress=False)
    watcher.join()
    assert len(killed) == 1  # it had a worker, and is gone
    assert not Path(f"/proc/{killed[0]}").exists()
    assert "a Ray worker was lost" in capfd.readouterr().err
    assert len(done) == 2 * NUMBER
    assert sorted_lines(output) == sorted_lines(expected)
    if victim == "node":
        cluster.nodes.pop()
        cluster.join()


@pytest.mark.slow
def test_a_killed_driver_goes_on_where_it_stopped(cluster: Cluster, tmp_path: Path) -> None:
    output = tmp_path / "j.jsonl"
    program = f"""
        from functools import partial
        from bayesbt.judges.ray_judge import RayJudge
        from bayesbt.judges.run import judge
        from bayesbt.judges.scripted import ScriptedJudge
        from bayesbt.judges.settings import JudgeSettings, RayOptions
        from tests.test_judges_ray import table, tables
        found = RayJudge(partial(ScriptedJudge, table(), delay=0.05), RayOptions({cluster.address!r}))
        settings = JudgeSettings(found, dimensions=("logic",))
        judge(*tables(), settings=settings, output={str(output)!r}, progress=False)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=REPOSITORY)
    kill_when(output, 30, child.kill).join()
    assert child.wait() == -signal.SIGKILL
    before = output.read_bytes()
    assert 30 <= before.count(b"\n") < NUMBER
    found = RayJudge(partial(ScriptedJudge, table()), RayOptions(cluster.address))
    done = judge(
        *tables(), settings=JudgeSettings(found, dimensions=("logic",)), output=output, progress=False
    )
    assert output.read_bytes().startswith(before)
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert len(done) == len(lines) == NUMBER == len({line["item_b"] for line in lines})


@pytest.mark.slow
@pytest.mark.model
def test_a_model_gives_the_same_labels_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    options = BackendOptions(device="cpu")
    settings = JudgeSettings("smollm2-135m", dimensions=("logic",), runs=3, seed=5, options=options)
    here = judge(*tables(12), settings=settings, output=tmp_path / "local.jsonl", progress=False)
    settings = replace(settings, ray=RayOptions(cluster.address))
    there = judge(*tables(12), settings=settings, output=tmp_path / "ray.jsonl", progress=False)
    key = ["item_a", "item_b", "run"]
    first, second = (found.frame.sort_values(key).reset_index(drop=True) for found in (here, there))
    assert len(first) == 36
    assert first["outcome"].tolist() == second["outcome"].tolist()
    assert first["made_with"].tolist() == second["made_with"].tolist()
    for name in ("p_a", "p_tie", "p_b", "p_other"):
        assert (first[name] - second[name]).abs().max() < 1e-4
