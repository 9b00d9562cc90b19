"""Label probabilities from a server that gives the most probable tokens with their log-probabilities.

A client does not know the model's tokenizer. So the tokens of each label are found out once, by having the
model write the label after examples of such copying; then the probability of a label of several tokens is
the product of the probabilities of its tokens, each given those before it. A token that is only the beginning
of a label is followed up by another request, in which the server goes on with the answer that begins so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from bayesbt.errors import DocumentError
from bayesbt.judges.prompts import Messages
from bayesbt.judges.protocol import Verdict
from bayesbt.judges.served_client import Client, RefusedError
from bayesbt.judges.served_dialect import PATH, Dialect, prompt_tokens, token_logprobs

Path = tuple[bytes, ...]

NEGLIGIBLE = 1e-6
"""A beginning of a label that is less probable is not followed up: its label gets 0."""

_COPYING = (("Tram", "Tram"), ("C", "C"), ("Even", "Even"))


async def find_path(client: Client, dialect: Dialect, label: str, prefix: str | None) -> Path | None:
    """Find the tokens of a label as the model writes it.

    Parameters
    ----------
    prefix : str or None
        What stands before the label. None: a space or nothing, whichever the model writes.

    Returns
    -------
    tuple of bytes or None
        None where the model does not write the label, or the server does not go on with its beginning.
    """
    turns = [
        {"role": role, "content": text}
        for asked, written in _COPYING
        for role, text in (("user", f"Write this and nothing else: {asked}"), ("assistant", written))
    ]
    turns.append({"role": "user", "content": f"Write this and nothing else: {label}"})
    wanted = [prefix + label] if prefix is not None else [label, f" {label}"]
    goals = [each.encode() for each in wanted]
    path: list[bytes] = []
    counted: int | None = None
    while (begun := b"".join(path)) not in goals:
        if path and dialect.continuing == "no":
            return None
        try:
            answer = await client.post(PATH, dialect.body(turns, 1, begun.decode()))
        except (RefusedError, UnicodeDecodeError):
            return None
        number = prompt_tokens(answer)
        if not path:
            counted = number
        elif number is None or number - len(path) != counted:
            return None  # the beginning was taken for a turn, or parted into other tokens
        tokens = {
            token: value
            for token, value in token_logprobs(answer).items()
            if token and any(goal.startswith(begun + token) for goal in goals)
        }
        if not tokens:
            return None
        path.append(max(tokens, key=tokens.__getitem__))
    return tuple(path)


def check_paths(paths: Mapping[str, Path | None], labels: Mapping[str, str]) -> dict[str, Path]:
    """Give the paths where all labels have one, and none begins another.

    Raises
    ------
    DocumentError
        Where that is not so: probabilities of such labels are not defined, or cannot be read.
    """
    found = {outcome: path for outcome, path in paths.items() if path is not None}
    for outcome, label in labels.items():
        if outcome not in found:
            raise DocumentError(
                f"label {label!r}: its probability cannot be read from this server. Either the label is no "
                "single token and the server does not go on with an answer that was begun, or the model does "
                "not write it. Use --decode generate, or labels of one token each."
            )
        for other, longer in found.items():
            if other != outcome and longer[: len(found[outcome])] == found[outcome]:
                raise DocumentError(
                    f"label {label!r} is the beginning of label {labels[other]!r} in the tokens of this "
                    "model. Choose labels of which none begins another."
                )
    return found


async def read_labels(
    client: Client, dialect: Dialect, messages: Messages, paths: Mapping[str, Path]
) -> Verdict:
    """Read the probabilities of the labels ``a``, ``tie``, ``b`` for one question.

    They are exact up to what lies outside the tokens that the server names at a place, which counts as
    falling on no label.
    """
    turns = dialect.turns(messages)
    masses = dict.fromkeys(paths, 0.0)
    weights: dict[Path, float] = {(): 1.0}
    beginnings = {path[:number] for path in paths.values() for number in range(len(path))}
    for begun in sorted(beginnings, key=len):
        weight = weights.get(begun, 0.0)
        if weight < NEGLIGIBLE:
            continue
        answer = await client.post(PATH, dialect.body(turns, 1, b"".join(begun).decode()))
        tokens = token_logprobs(answer)
        if not tokens:
            return Verdict.unscored("error: the server gave no log-probabilities")
        for outcome, path in paths.items():
            longer = path[: len(begun) + 1]
            if len(longer) > len(begun) and longer[:-1] == begun and longer[-1] in tokens:
                mass = weight * math.exp(tokens[longer[-1]])
                if longer == path:
                    masses[outcome] = mass
                else:
                    weights[longer] = mass
    return Verdict.from_label_masses(masses["a"], masses["tie"], masses["b"])


async def reads_standard_labels(client: Client, dialect: Dialect, prefix: str | None) -> bool:
    """Say whether the labels of the usual prompts can be read: what ``--decode auto`` goes by."""
    for label in ("A", "Tie", "B"):
        if await find_path(client, dialect, label, prefix) is None:
            return False
    return True
