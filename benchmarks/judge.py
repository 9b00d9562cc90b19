"""Time a judge three ways on the same model and pairs, each in turn. Run with `make bench`.

* One by one: the model is fed one question after the other and writes a few tokens at temperature 1. That is
  what the usual setting costs, and three runs cost it three times.
* Plain: exact label probabilities by one pass over batches of similar length; any number of runs is drawn.
* Shared: the same, what questions share at their beginnings being computed once. This is what `bayesbt judge`
  does.

`--model random-llama-8b` times a Llama of eight billion random parameters, for accelerators: pairs a second,
and the share of the peak arithmetic rate. `--layers`, `--hidden` and the like make it smaller.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import permutations, product
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel

import bayesbt as bt
from bayesbt.judges.backends import load_judge
from bayesbt.judges.examples import Example, Examples
from bayesbt.judges.fetch import fetch
from bayesbt.judges.memory import TokenBudget
from bayesbt.judges.passes import Passes
from bayesbt.judges.prefix_tree import common_length
from bayesbt.judges.prompts import Prompt, read_prompt
from bayesbt.judges.protocol import Presentation, Verdict
from bayesbt.judges.scoring import score_plain
from bayesbt.judges.settings import BackendOptions
from bayesbt.judges.transformers_judge import TransformersJudge

WRITTEN = 4
"""Tokens that the model writes one by one: a label and what ends it."""

PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12, "4090": 165e12}
"""Dense bfloat16 operations a second that the makers state."""


def material(number: int) -> tuple[Prompt, list[Presentation]]:
    """Few-shot questions of about 700 tokens on one topic: three examples, then two arguments."""
    items = bt.read_items("data/ladder/items.csv").frame
    rows = list(items[["item", "text", "topic"]].itertuples(index=False))
    own = [row for row in rows if row.topic == rows[0].topic]
    longer = [f"{one.text} {own[place - 1].text[:120]}" for place, one in enumerate(own)]
    chosen = ((0, 1, "a"), (2, 3, "b"), (4, 0, "tie"))
    examples = tuple(
        Example(own[a].item, own[b].item, longer[a][:290], longer[b][:290], outcome)
        for a, b, outcome in chosen
    )
    prompt = read_prompt("few-shot").with_examples(Examples({("", ""): examples}))
    least = next((n for n in range(2, len(own) - 5) if n * (n - 1) >= number), len(own) - 5)
    pairs = list(permutations(range(5, 5 + least), 2))[:number]
    return prompt, [
        Presentation(own[a].item, own[b].item, longer[a], longer[b], "logic", rows[0].topic, seed=place)
        for place, (a, b) in enumerate(pairs)
    ]


def random_judge(arguments: argparse.Namespace) -> TransformersJudge:
    """Make a judge of random weights in the shape of Llama 3.1 8B, with the demo judge's tokenizer."""
    config = LlamaConfig(
        vocab_size=128_256,
        hidden_size=arguments.hidden,
        intermediate_size=arguments.hidden * 7 // 2,
        num_hidden_layers=arguments.layers,
        num_attention_heads=max(1, arguments.hidden // 128),
        num_key_value_heads=max(1, arguments.hidden // 512),
        max_position_embeddings=8192,
        rope_theta=500_000.0,
    )
    folder = Path(tempfile.mkdtemp()) / "random-llama"
    config.save_pretrained(str(folder))
    for path in [*fetch("smollm2-135m").glob("*tok*"), *fetch("smollm2-135m").glob("chat_template*")]:
        shutil.copy(path, folder)
    judge = load_judge(folder, options_of(arguments))
    shutil.rmtree(folder.parent)
    assert isinstance(judge, TransformersJudge)
    torch.manual_seed(0)
    with judge._device:
        model = AutoModelForCausalLM.from_config(config, dtype=judge._dtype).eval()
    judge._passes = Passes(model)
    return judge


def options_of(arguments: argparse.Namespace) -> BackendOptions:
    """Take over what the command line says about device and batches."""
    return BackendOptions(device=arguments.device, dtype=arguments.dtype, batch_tokens=arguments.batch_tokens)


@torch.inference_mode()
def one_by_one(judge: TransformersJudge, prompt: Prompt, asked: Sequence[Presentation]) -> int:
    """Let the model write a few tokens on one question after the other."""
    model = judge._passes.model
    torch.manual_seed(1)
    for one in asked:
        tokens = torch.tensor([judge._chat.encode_context(one, prompt)], device=model.device)
        model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=True,
            temperature=1.0,
            max_new_tokens=WRITTEN,
            pad_token_id=0,
        )
    return len(asked)


def plain(judge: TransformersJudge, prompt: Prompt, asked: Sequence[Presentation]) -> int:
    """Score batches that share nothing."""
    questions, _ = judge._reader.read(asked, range(len(asked)), prompt)
    encoded = {place: question.encoded for place, question in questions.items()}
    budget = TokenBudget(judge._batch_tokens)
    return sum(len(batch) for batch in score_plain(judge._passes, encoded, budget))


def shared(judge: TransformersJudge, prompt: Prompt, asked: Sequence[Presentation]) -> int:
    """Ask the judge."""
    return len(answers(judge, prompt, asked))


def answers(judge: TransformersJudge, prompt: Prompt, asked: Sequence[Presentation]) -> list[Verdict]:
    """Verdicts in the order of the questions."""
    found = dict(pair for batch in judge.verdicts(asked, prompt) for pair in batch)
    return [found[place] for place in range(len(asked))]


def seconds(work: Callable[[], int], number: int) -> tuple[float, float]:
    """Time the work, the accelerator's queue included: on the wall, and on all cores of the processor."""
    started, busy = time.perf_counter(), time.process_time()
    if work() != number:
        raise RuntimeError("not every question was answered")
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started, time.process_time() - busy


def spread(first: Sequence[Verdict], second: Sequence[Verdict]) -> float:
    """Largest difference of the log-probability of a label."""
    names = ("p_a", "p_tie", "p_b")
    return max(
        abs(math.log(getattr(one, name)) - math.log(getattr(other, name)))
        for one, other in zip(first, second, strict=True)
        for name in names
    )


def compare_ways(judge: TransformersJudge, prompt: Prompt, asked: list[Presentation], rounds: int) -> float:
    """Print the best of some rounds for each way; give the seconds of the last."""
    ways = {"one by one": one_by_one, "plain batches": plain, "shared beginnings": shared}
    for way in ways.values():
        way(judge, prompt, asked[:2])  # loads, and warms up
    best = dict.fromkeys(ways, (math.inf, math.inf))
    for _ in range(rounds):
        for name, way in ways.items():
            taken = seconds(partial(way, judge, prompt, asked), len(asked))
            best[name] = (min(best[name][0], taken[0]), min(best[name][1], taken[1]))
    base = best["one by one"]
    print(
        f"{'':<20}{'pairs/s':>10}{'ratio, 1 run':>15}{'3 runs':>10}{'by CPU time, 1 run':>21}{'3 runs':>10}"
    )
    for name, (wall, busy) in best.items():
        runs = 1 if name == "one by one" else 3  # one by one, three runs cost three times; else nothing more
        ratios = (base[0] / wall, runs * base[0] / wall, base[1] / busy, runs * base[1] / busy)
        print("{:<20}{:>10.2f}{:>15.2f}{:>10.2f}{:>21.2f}{:>10.2f}".format(name, len(asked) / wall, *ratios))
    return best["shared beginnings"][0]


def describe(judge: TransformersJudge, prompt: Prompt, asked: list[Presentation]) -> float:
    """Print what is asked; give the tokens that are computed."""
    contexts = [judge._chat.encode_context(one, prompt) for one in asked]
    computed = judge.computed_tokens(asked, prompt)
    opening = min(common_length(contexts[0], context) for context in contexts)
    mean = sum(map(len, contexts)) / len(contexts)
    print(f"{len(asked)} questions of {mean:.0f} tokens on average, of which all share the first {opening};")
    print(f"shared beginnings leave {computed / len(asked):.0f} a question to compute.")
    return computed


def operations(model: PreTrainedModel, computed: float, number: int) -> float:
    """Count the arithmetic operations of the layers and, at two places a question, of the output layer."""
    head = model.get_output_embeddings().weight.numel()
    body = sum(weight.numel() for name, weight in model.named_parameters() if "layers." in name)
    return 2.0 * (body * computed + head * 2 * number)


def peak_rate(device: torch.device, dtype: torch.dtype) -> tuple[float, float]:
    """Operations a second: as measured on one large product, and as the maker states (NaN: not known)."""
    size = 8192 if device.type == "cuda" else 1024
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    left @ right
    taken = min(seconds(partial(_multiplied, left, right), 1)[0] for _ in range(5))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    stated = next((rate for key, rate in PEAKS.items() if key in name), math.nan)
    return 2.0 * size**3 / taken, stated


def _multiplied(left: torch.Tensor, right: torch.Tensor) -> int:
    return int((left @ right).dim() == 2)


def check_numbers(arguments: argparse.Namespace, prompt: Prompt, asked: list[Presentation]) -> None:
    """Compare the demo judge in float32 on the processor with other number formats and devices."""
    devices = ["cpu", "cuda"] if torch.cuda.is_available() and arguments.device != "cpu" else ["cpu"]
    expected: list[Verdict] = []
    print("Largest difference in log-probability from plain passes of one question, float32, processor:")
    for device, dtype in product(devices, ("float32", "bfloat16")):
        judge = load_judge("smollm2-135m", replace(options_of(arguments), device=device, dtype=dtype))
        assert isinstance(judge, TransformersJudge)
        questions, _ = judge._reader.read(asked, range(len(asked)), prompt)
        encoded = {place: question.encoded for place, question in questions.items()}
        alone = dict(pair for batch in score_plain(judge._passes, encoded, TokenBudget(1)) for pair in batch)
        plainly = [alone[place] for place in range(len(asked))]
        expected = expected or plainly
        together = spread(answers(judge, prompt, asked), expected)
        print(f"  {dtype:<9} on {device}: plain {spread(plainly, expected):.1e}, shared {together:.1e}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--model", default="smollm2-135m", help="a judge, or random-llama-8b")
    parser.add_argument("--pairs", type=int, default=42)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--checked", type=int, default=4, help="pairs whose numbers are compared; 0: none")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--batch-tokens", type=int)
    parser.add_argument("--layers", type=int, default=32, help="of random-llama-8b")
    parser.add_argument("--hidden", type=int, default=4096, help="of random-llama-8b, a multiple of 512")
    arguments = parser.parse_args()
    prompt, asked = material(arguments.pairs)
    if arguments.model == "random-llama-8b":
        judge = random_judge(arguments)
    else:
        found = load_judge(arguments.model, options_of(arguments))
        assert isinstance(found, TransformersJudge)
        judge = found
    computed = describe(judge, prompt, asked)
    taken = compare_ways(judge, prompt, asked, arguments.rounds)
    rate = operations(judge._passes.model, computed, len(asked)) / taken
    measured, stated = peak_rate(judge._passes.device, judge._dtype)
    of_stated = "" if math.isnan(stated) else f", {rate / stated:.0%} of the maker's peak"
    print(f"{rate:.2e} operations/s, {rate / measured:.0%} of one large product's rate{of_stated}.")
    if arguments.checked:
        check_numbers(arguments, prompt, asked[: arguments.checked])


if __name__ == "__main__":
    main()
