"""Served models: real servers, and between them and us everything that goes wrong on the way."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("httpx2")

from bayesbt.errors import DocumentError, InputError, MissingExtraError
from bayesbt.judges.backends import load_judge
from bayesbt.judges.background import in_background, outcome_of
from bayesbt.judges.documents import JudgeDocument, resolve_judge
from bayesbt.judges.fetch import fetch
from bayesbt.judges.openai_judge import OpenAIJudge, _written
from bayesbt.judges.prompts import Messages, Prompt, read_prompt
from bayesbt.judges.protocol import Presentation, Verdict
from bayesbt.judges.run import judge
from bayesbt.judges.served_client import Key, ServerError, checked_url
from bayesbt.judges.served_cutting import cuts, is_too_long
from bayesbt.judges.served_dialect import Dialect, token_logprobs
from bayesbt.judges.served_labels import check_paths
from bayesbt.judges.settings import BackendOptions, JudgeSettings, ServerOptions
from bayesbt.tables import Items, Pairs
from tests.fault_proxy import SLOW_SECONDS, fault_proxy
from tests.servers import free_port, llama_server, transformers_serve

REPOSITORY = Path(__file__).resolve().parent.parent
KEY = "sk-bayesbt-test-0123456789"
NO_SYSTEM = (
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
DROPS_SYSTEM = NO_SYSTEM.replace(
    "{{ raise_exception('System role not supported') }}{% endif %}", "{% else %}"
)
DROPS_SYSTEM = DROPS_SYSTEM.replace("<|im_end|>\n{% endfor %}", "<|im_end|>\n{% endif %}{% endfor %}")
SENTENCE = "Trams are quieter than buses carry more people and last longer yet their rails cost more"
WORDS = SENTENCE.split()


@pytest.fixture(autouse=True)
def _the_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(scope="module")
def folder() -> Path:
    pytest.importorskip("torch")
    return fetch("smollm2-135m")


@pytest.fixture(scope="module")
def served(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address of `transformers serve`, and the name of its model."""
    pytest.importorskip("fastapi", reason="`transformers serve` needs transformers[serving]")
    pytest.importorskip("openai", reason="`transformers serve` needs transformers[serving]")
    with transformers_serve(folder, tmp_path_factory.mktemp("serve") / "log") as url:
        yield url, str(folder)


@pytest.fixture(scope="module")
def gguf(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    pytest.importorskip("xllamacpp", reason="the server with log-probabilities is llama.cpp's (xllamacpp)")
    from tests.llama_server import write_gguf

    path = write_gguf(folder, tmp_path_factory.mktemp("gguf") / "smollm2.gguf")
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def llama(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a llama.cpp server, which gives log-probabilities and asks for a key."""
    with llama_server(gguf, tmp_path_factory.mktemp("llama") / "log", KEY) as url:
        yield url


@pytest.fixture(scope="module")
def asking(llama: str) -> Any:
    """What a judge finds out about the llama.cpp server for written answers: not every test asks again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        return served_judge(llama, decode="generate")._asking


@pytest.fixture(scope="module")
def prompt() -> Prompt:
    return read_prompt("zero-shot")


def options(url: str, **changes: object) -> BackendOptions:
    server = {"concurrency": 4, "timeout": 60.0, "retries": 4}
    server |= {name: changes.pop(name) for name in list(changes) if name in server}  # type: ignore[arg-type]
    return replace(
        BackendOptions(server=ServerOptions(url, **server), max_new_tokens=4),  # type: ignore[arg-type]
        **changes,  # type: ignore[arg-type]
    )


def served_judge(url: str, model: str = "smollm2", **changes: object) -> OpenAIJudge:
    found = load_judge(resolve_judge(model, "openai"), options(url, **changes))
    assert isinstance(found, OpenAIJudge)
    return found


def presentations(number: int) -> list[Presentation]:
    texts = [" ".join((WORDS * 3)[n % 11 : n % 11 + 4 + n % 7]) for n in range(number + 1)]
    dimensions = ("logic", "rhetoric")
    return [
        Presentation(
            f"i{n}", f"i{n + 1}", texts[n], texts[n + 1], dimensions[n % 2], run=1, seed=n * 2**40 + n
        )
        for n in range(number)
    ]


def answers(judge: OpenAIJudge, asked: Sequence[Presentation], prompt: Prompt) -> dict[int, Verdict]:
    """Every question has one answer, and one only."""
    arrived = [each for batch in judge.verdicts(asked, prompt) for each in batch]
    assert sorted(place for place, _ in arrived) == list(range(len(asked)))
    return dict(arrived)


def tables(number: int) -> tuple[Pairs, Items]:
    asked = presentations(number)
    items = {one.item_a: one.text_a for one in asked} | {one.item_b: one.text_b for one in asked}
    frame = pd.DataFrame({"item": list(items), "text": list(items.values())})
    pairs = pd.DataFrame({"item_a": [one.item_a for one in asked], "item_b": [one.item_b for one in asked]})
    return Pairs.from_frame(pairs), Items.from_frame(frame)


# Without a server


@pytest.mark.parametrize(
    "url", [None, "", "127.0.0.1:8000/v1", "ftp://host/v1", "http://", "http://h:port/v1"]
)
def test_an_address_is_needed_and_checked(url: str | None) -> None:
    with pytest.raises(InputError, match="--base-url"):
        checked_url(url)


def test_no_password_in_an_address_is_taken_or_repeated() -> None:
    with pytest.raises(InputError) as caught:
        served_judge("http://me:secretword@127.0.0.1:8000/v1")
    assert "secretword" not in str(caught.value)
    assert "OPENAI_API_KEY" in str(caught.value)


def test_without_httpx2_the_extra_is_named() -> None:
    program = """
        import sys
        sys.modules["httpx2"] = None
        from bayesbt.errors import MissingExtraError
        from bayesbt.judges.backends import load_judge
        from bayesbt.judges.settings import BackendOptions, ServerOptions
        try:
            load_judge("some-model", BackendOptions(server=ServerOptions("http://127.0.0.1:1/v1")))
        except MissingExtraError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert "bayesbt[judge]" in done.stdout
    assert issubclass(MissingExtraError, ImportError)


def test_where_nobody_listens_the_run_stops_and_says_so() -> None:
    found = served_judge(f"http://127.0.0.1:{free_port()}/v1", retries=0)
    with pytest.raises(ServerError, match=r"does not answer: connection failed.*Is the server up"):
        _ = found.fingerprint


def test_the_key_shows_nowhere_and_is_taken_out_of_what_servers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Key()
    assert KEY not in repr(key)
    assert KEY not in str(key)
    assert key.hide(f'{{"message": "bad key {KEY}"}}') == '{"message": "bad key ***"}'
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")  # stands in for a key, and may occur in any text
    assert Key().hide("EMPTY words") == "EMPTY words"
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY} é")
    with pytest.raises(InputError) as caught:
        Key()
    assert KEY not in str(caught.value)


def test_results_come_as_they_arrive_and_errors_after_them() -> None:
    release = threading.Event()

    async def work(emit: Callable[[int], None]) -> None:
        emit(1)
        while not release.is_set():
            await asyncio.sleep(0.01)
        emit(2)
        raise ValueError("after two")

    results = in_background(work)
    assert next(results) == [1]  # there before the work is done
    release.set()
    assert next(results) == [2]
    with pytest.raises(ValueError, match="after two"):
        next(results)


def test_what_is_not_read_to_the_end_is_cancelled_and_nothing_is_left_running() -> None:
    cancelled = []

    async def work(emit: Callable[[int], None]) -> None:
        emit(1)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    results = in_background(work)
    assert next(results) == [1]
    results.close()  # type: ignore[attr-defined]
    assert cancelled == [True]
    assert not [thread for thread in threading.enumerate() if thread.name == "bayesbt-requests"]


def test_it_works_inside_a_running_loop_as_in_a_notebook() -> None:
    async def number() -> int:
        await asyncio.sleep(0)
        return 7

    async def notebook() -> int:
        return outcome_of(number)

    assert asyncio.run(notebook()) == 7


RECORDED = {
    # one token of an answer of llama.cpp (build 11549), the five most probable of a hundred
    "llama.cpp": {
        "choices": [{"finish_reason": "length", "index": 0,
            "message": {"role": "assistant", "content": "Tie"},
            "logprobs": {"content": [{
                "id": 519, "token": "ie", "bytes": [105, 101], "logprob": -0.15582558512687683,
                "top_logprobs": [
                    {"id": 519, "token": "ie", "bytes": [105, 101], "logprob": -0.15582558512687683},
                    {"id": 370, "token": "ies", "bytes": [105, 101, 115], "logprob": -2.16538143157959},
                    {"id": 10813, "token": "", "bytes": [240, 159], "logprob": -6.4928789138793945}]}]}}],
        "usage": {"completion_tokens": 1, "prompt_tokens": 24, "total_tokens": 25}},
    # as the OpenAI reference has it: bytes may be null
    "openai": {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "A", "refusal": None},
            "logprobs": {"content": [{"token": "A", "logprob": -0.31725305, "bytes": [65], "top_logprobs": [
                {"token": "A", "logprob": -0.31725305, "bytes": [65]},
                {"token": "Tie", "logprob": -1.3190403, "bytes": None},
                {"token": "<|end|>", "logprob": None, "bytes": None}]}], "refusal": None}}]},
}  # fmt: skip


def test_recorded_wire_formats_are_read() -> None:
    found = token_logprobs(RECORDED["llama.cpp"])
    assert found == {b"ie": -0.15582558512687683, b"ies": -2.16538143157959, b"\xf0\x9f": -6.4928789138793945}
    assert token_logprobs(RECORDED["openai"]) == {b"A": -0.31725305, b"Tie": -1.3190403}


@pytest.mark.parametrize(
    "logprobs", [None, {}, {"content": None}, {"content": []}, {"content": [{"token": "A"}]}, [1], "text"]
)
def test_an_answer_without_logprobs_has_none(logprobs: object) -> None:
    assert token_logprobs({"choices": [{"message": {"content": "A"}, "logprobs": logprobs}]}) == {}


def test_of_two_tokens_that_read_alike_the_more_probable_counts() -> None:
    entries = [
        {"token": "A", "logprob": -3.0},
        {"token": "A", "logprob": -1.0},
        {"token": "A", "logprob": -2.0},
    ]
    assert token_logprobs({"choices": [{"logprobs": {"content": [{"top_logprobs": entries}]}}]}) == {
        b"A": -1.0
    }


def test_labels_must_be_readable_and_must_not_begin_each_other() -> None:
    labels = {"a": "A", "tie": "AB", "b": "B"}
    paths = {"a": (b"A",), "tie": (b"AB",), "b": (b"B",)}
    assert check_paths(paths, labels) == paths  # other tokens, though the texts begin alike
    with pytest.raises(DocumentError, match=r"'A' is the beginning of label 'AB'"):
        check_paths(paths | {"tie": (b"A", b"B")}, labels)
    with pytest.raises(DocumentError, match=r"'B': its probability cannot be read.*--decode generate"):
        check_paths(paths | {"b": None}, labels)


def test_a_request_says_what_the_dialect_says() -> None:
    dialect = Dialect("m", top_logprobs=20, continuing="asked", sampling='{"top_k": -1}', folds_system=True)
    turns = dialect.turns(Messages("S", "U"))
    assert turns == [{"role": "user", "content": "S\n\nU"}]
    body = dialect.body(turns, 1, begun="T")
    assert body == {
        "model": "m", "max_tokens": 1, "temperature": 1.0, "top_k": -1, "logprobs": True, "top_logprobs": 20,
        "messages": [*turns, {"role": "assistant", "content": "T"}],
        "add_generation_prompt": False, "continue_final_message": True,
    }  # fmt: skip
    written = dialect.writing().body(turns, 9, seed=2**62 + 5)
    assert (written["seed"], written["max_tokens"]) == (5, 9)
    assert not {"logprobs", "top_logprobs"} & written.keys()


@pytest.mark.parametrize(
    ("choice", "outcome", "reason"),
    [
        ({"message": {"content": "I weigh both.\nVerdict: Tie"}, "finish_reason": "stop"}, "tie", ""),
        ({"message": {"content": "Well,"}, "finish_reason": "length"}, None,
         "parse: no verdict in the answer, which was cut at 7 tokens"),
        ({"message": {"content": "Well."}, "finish_reason": "stop"}, None, "parse: no verdict in the answer"),
        ({"message": {"content": None, "refusal": "I cannot"}}, None, "refusal: the model refuses to answer"),
        ({"message": {"content": "A"}, "finish_reason": "content_filter"}, None,
         "refusal: the server's filter stopped the answer"),
        ({"message": None}, None, "parse: no verdict in the answer"),
        ("odd", None, "parse: no verdict in the answer"),
    ],
)  # fmt: skip
def test_the_last_verdict_counts_and_no_verdict_is_no_tie(
    choice: object, outcome: str | None, reason: str, prompt: Prompt
) -> None:
    verdict = _written({"choices": [choice]}, prompt, 7)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_cuts_shorten_the_longer_text_first_and_say_so() -> None:
    one = Presentation("x", "y", " ".join(f"w{n}" for n in range(100)), "a b\nc", "logic")
    found = list(cuts(one))
    assert found[0][1] == "truncated: text_a 100 -> 75 words"
    assert found[0][0].text_a.endswith("w73 w74 [...]")
    assert all(cut.text_b == "a b\nc" for cut, _ in found)
    assert len(found[-1][0].text_a.split()) == 9 + 1
    assert is_too_long("This model's maximum context length is 2048 tokens")
    assert not is_too_long("The dimension is not known")


# Against `transformers serve`, which samples and gives no log-probabilities


@pytest.mark.model
def test_a_server_without_logprobs_is_sampled_and_the_seed_decides(
    served: tuple[str, str], prompt: Prompt, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = presentations(3)
    asked.append(replace(asked[0], run=2, seed=77))
    found = served_judge(*served, concurrency=1)
    assert found.decode == "generate"
    assert "gives no log-probabilities" in capfd.readouterr().err
    first, second = (answers(found, asked, prompt) for _ in range(2))
    texts = [first[place].raw for place in range(4)]
    assert texts == [second[place].raw for place in range(4)]
    assert texts[3] != texts[0]  # another seed: nothing is greedy here
    assert all(verdict.reason.startswith("parse: ") or verdict.outcome for verdict in first.values())
    assert all(math.isnan(verdict.p_a) for verdict in first.values())


@pytest.mark.model
def test_labels_are_refused_where_the_server_gives_no_logprobs(served: tuple[str, str]) -> None:
    with pytest.raises(ServerError, match=r"--decode labels: .* gives no log-probabilities"):
        _ = served_judge(*served, decode="labels").decode


@pytest.mark.model
def test_a_model_that_is_not_served_stops_the_run(served: tuple[str, str]) -> None:
    with pytest.raises(ServerError, match=r"refuses the plainest request for the model 'another'.*pinned"):
        _ = served_judge(served[0], "another").decode


@pytest.mark.model
def test_servers_may_move_and_the_way_of_asking_counts(served: tuple[str, str]) -> None:
    url, model = served
    with fault_proxy(url) as proxy:
        moved = served_judge(proxy.url, model).fingerprint
    here = served_judge(url, model)
    assert here.fingerprint == moved
    assert served_judge(url, model, decode="generate").fingerprint == moved
    assert served_judge(url, model, max_new_tokens=5).fingerprint != moved
    longer = presentations(1)[0]
    assert here.tokens(replace(longer, text_a="many words " * 100), read_prompt("zero-shot")) > 100
    assert here.render(longer, read_prompt("zero-shot")).startswith("[system]\nTwo arguments")


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.share
def test_a_killed_run_goes_on_where_it_stopped(served: tuple[str, str], tmp_path: Path) -> None:
    url, model = served
    output = tmp_path / "j.jsonl"
    program = f"""
        from bayesbt.judges.run import judge
        from bayesbt.judges.settings import JudgeSettings
        from tests.test_judges_openai import options, tables
        how = options(OPTIONS, backend="openai")
        settings = JudgeSettings({model!r}, dimensions=("logic",), runs=2, options=how)
        judge(*tables(12), settings=settings, output={str(output)!r}, progress=False)
    """
    with fault_proxy(url) as proxy:
        text = textwrap.dedent(program).replace("OPTIONS", repr(proxy.url))
        child = subprocess.Popen([sys.executable, "-c", text], cwd=REPOSITORY)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and child.poll() is None:
            if output.exists() and output.read_bytes().count(b"\n") >= 7:
                break
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        before = output.read_bytes().splitlines()
        assert 7 <= len(before) < 24
        settings = JudgeSettings(
            model, dimensions=("logic",), runs=2, options=options(proxy.url, backend="openai")
        )
        table = judge(*tables(12), settings=settings, output=output, progress=False)
        asked = [body for body in proxy.bodies if "seed" in body]
    after = output.read_bytes().splitlines()
    assert after[: len(before)] == before
    lines = [json.loads(line) for line in after]
    assert len(table) == len(lines) == 24 == len({(line["item_a"], line["run"]) for line in lines})
    assert 24 <= len(asked) <= 24 + 4  # what was under way when it was killed, and no more


# Against llama.cpp, which gives log-probabilities and goes on with an answer


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.share
@pytest.mark.parametrize("tie", ["Tie", "Arguments"])
def test_probabilities_are_those_of_the_transformers_judge(llama: str, prompt: Prompt, tie: str) -> None:
    """``Tie`` is two tokens, but so improbable here that only ``Arguments``, two too, shows the product."""
    labels = replace(prompt, labels={"a": "A", "tie": tie, "b": "The"})
    asked = presentations(6)
    found = served_judge(llama)
    assert found.decode == "labels"
    got = answers(found, asked, labels)
    here = load_judge("smollm2-135m", BackendOptions(device="cpu"))
    exact = {place: verdict for batch in here.verdicts(asked, labels) for place, verdict in batch}
    for place, verdict in exact.items():
        for name in ("p_a", "p_tie", "p_b", "p_other"):
            assert getattr(got[place], name) == pytest.approx(getattr(verdict, name), abs=2e-4)
        if tie == "Arguments":
            assert got[place].p_tie == pytest.approx(verdict.p_tie, rel=0.01)
            assert verdict.p_tie > 1e-3


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.share
def test_nothing_is_lost_doubled_or_changed_by_what_goes_wrong_on_the_way(llama: str, prompt: Prompt) -> None:
    asked = presentations(16)
    calm = served_judge(llama)
    expected = answers(calm, asked, prompt)
    faults = [
        "429",
        "429-date",
        "500",
        "503",
        "drop",
        "drop-late",
        "truncated",
        "cut",
        "no-choices",
        "slow",
    ] * 2
    random.Random(3).shuffle(faults)
    with fault_proxy(llama, faults) as proxy:
        stormy = served_judge(proxy.url, timeout=SLOW_SECONDS - 1, retries=8)
        stormy._asking, stormy._paths = calm._asking, calm._paths
        got = answers(stormy, asked, prompt)
        assert proxy.injected == dict.fromkeys(faults, 2) | {"pass": proxy.injected["pass"]}
        assert proxy.longest_queue <= 4 + 2  # a request that was given up may still be under way
        assert proxy.keys == {f"Bearer {KEY}"}
    for place, verdict in expected.items():
        for name in ("p_a", "p_tie", "p_b", "p_other"):
            assert getattr(got[place], name) == pytest.approx(getattr(verdict, name), abs=1e-5)


@pytest.mark.model
@pytest.mark.slow
def test_what_the_server_understands_is_found_out_in_spite_of_faults(llama: str) -> None:
    calm = served_judge(llama)
    with fault_proxy(
        llama, ["drop", "429", "500", "cut", "pass", "503", "truncated", "500", "pass", "429"]
    ) as proxy:
        stormy = served_judge(proxy.url)
        assert stormy.fingerprint == calm.fingerprint
        assert proxy.injected["500"] == 2


@pytest.mark.model
def test_a_question_that_fails_for_good_is_unscored_and_costs_no_other(
    llama: str, asking: Any, prompt: Prompt
) -> None:
    with fault_proxy(llama) as proxy:
        found = served_judge(proxy.url, concurrency=1, retries=1, decode="generate")
        found._asking = asking
        proxy.faults = iter(["500", "500", "pass", "drop", "truncated"])
        got = answers(found, presentations(4), prompt)
    first, second, third, fourth = (got[place] for place in (0, 2, 1, 3))  # logic is asked first
    assert (first.reason, first.raw) == ("error: 500 out of order (2 tries)", "")
    assert (third.reason, third.raw) == ("error: the answer is no JSON (2 tries)", "")
    assert second.raw
    assert fourth.raw
    assert not (second.reason + fourth.reason).startswith("error")


@pytest.mark.model
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("401", r"refuses every request: 401 Incorrect API key provided: Bearer \*\*\*.*OPENAI_API_KEY"),
        ("404", r"refuses every request: 404 The model does not exist.*name of the model"),
        ("redirect", r"307.*points to http://127.0.0.1:9/v1"),
        ("429-long", r"asks for a pause of 3,600 seconds"),
    ],
)
def test_what_no_retry_can_mend_stops_the_run_and_keeps_what_is_judged(
    llama: str, asking: Any, tmp_path: Path, fault: str, says: str, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    output = tmp_path / "j.jsonl"
    with fault_proxy(llama) as proxy:
        found = served_judge(proxy.url, concurrency=1, decode="generate")
        found._asking = asking
        proxy.faults = iter(["pass", "pass", fault])
        settings = JudgeSettings(found, dimensions=("logic",))
        with pytest.raises(ServerError, match=says) as caught:
            judge(*tables(5), settings=settings, output=output, progress=False)
        assert len(output.read_bytes().splitlines()) == 2
        judge(*tables(5), settings=settings, output=output, progress=False)
        assert proxy.keys == {f"Bearer {KEY}"}
    assert len(output.read_bytes().splitlines()) == 5
    printed = capfd.readouterr()
    trace = "".join(traceback.format_exception(caught.value))
    everything = [
        caplog.text,
        printed.out,
        printed.err,
        trace,
        repr(found),
        output.read_text(encoding="utf-8"),
    ]
    assert len(caplog.text) > 100  # the client's library does write a log
    assert KEY not in "".join(everything)


@pytest.mark.model
@pytest.mark.slow
def test_a_server_that_dies_stops_the_run_and_fails_no_question(
    llama: str, asking: Any, tmp_path: Path
) -> None:
    output = tmp_path / "j.jsonl"
    with fault_proxy(llama) as proxy:
        found = served_judge(proxy.url, retries=0, concurrency=1, decode="generate")
        found._asking = asking
        proxy.faults = chain(["pass"] * 3, repeat("drop"))
        settings = JudgeSettings(found, dimensions=("logic",))
        with pytest.raises(ServerError, match="has stopped answering: 20 questions without an answer"):
            judge(*tables(30), settings=settings, output=output, progress=False)
        lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        assert len(lines) == 3
        assert all(line["raw"] for line in lines)
        proxy.faults = iter(())
        table = judge(*tables(30), settings=settings, output=output, progress=False)
    assert len(table) == 30
    assert table.frame["raw"].notna().all()


@pytest.mark.model
def test_a_wrong_key_is_refused_by_the_server_itself(llama: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("", "sk-wrong-wrong-wrong"):
        monkeypatch.setenv("OPENAI_API_KEY", wrong)
        with pytest.raises(ServerError, match=r"refuses every request: 401 Invalid API Key"):
            _ = served_judge(llama).decode


@pytest.mark.model
def test_over_long_texts_are_refused_or_cut_and_said_so(llama: str, prompt: Prompt) -> None:
    asked = [replace(presentations(1)[0], text_a="word " * 3000)]
    refused = answers(served_judge(llama), asked, prompt)[0]
    assert refused.reason.startswith("error: the server refuses the question: 400")
    assert "context" in refused.reason
    cut = answers(served_judge(llama, over_long="truncate"), asked, prompt)[0]
    assert cut.reason == ""
    assert cut.raw == "truncated: text_a 3000 -> 399 words"
    assert cut.p_a > 0


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("template", [NO_SYSTEM, DROPS_SYSTEM])
def test_a_system_turn_that_the_template_refuses_or_drops_goes_before_the_users(
    folder: Path, tmp_path: Path, template: str, prompt: Prompt
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    for file in folder.iterdir():
        (model / file.name).symlink_to(file)
    (model / "chat_template.jinja").unlink()
    (model / "chat_template.jinja").write_text(template, encoding="utf-8")
    with transformers_serve(model, tmp_path / "log") as url, fault_proxy(url) as proxy:
        found = served_judge(proxy.url, str(model))
        assert found.render(presentations(1)[0], prompt).startswith("[user]\nTwo arguments")
        assert answers(found, presentations(1), prompt)[0].raw
        assert [turn["role"] for turn in proxy.bodies[-1]["messages"]] == ["user"]


def test_a_document_of_a_served_model_names_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\nbackend = "openai"\nhub_id = "org/model"\nsystem_role = "fold"\n')
    document = resolve_judge(path)
    assert isinstance(document, JudgeDocument)
    found = load_judge(path, options("http://127.0.0.1:1/v1"))
    assert isinstance(found, OpenAIJudge)
    assert (found.name, document.hub_id) == ("mine", "org/model")
    assert os.environ["OPENAI_API_KEY"] == KEY
