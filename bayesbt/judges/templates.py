"""The templates of a prompt: placeholders, what marks their parts, and whether they are whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bayesbt.errors import DocumentError

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_TEXTS = ("text_a", "text_b")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Fill in one pass, so that a judged text which reads ``{text_b}`` stays just that."""
    return PLACEHOLDER.sub(lambda match: values[match[1]], template)


def template_delimiters(user: str) -> tuple[str, ...]:
    r"""Read from a user template what marks its parts.

    These are the fixed pieces of its lines that end in a colon, begin with a sign that is neither letter nor
    digit, or stand directly before or behind a judged text on the same line.

    >>> template_delimiters("Argument A: {text_a}\nArgument B:\n<b>\n{text_b}\n</b>\nAnswer well.")
    ('Argument A:', 'Argument B:', '<b>', '</b>')
    """
    found: list[str] = []
    for line in user.splitlines():
        pieces = PLACEHOLDER.split(line)  # fixed, name, fixed, name, ..., fixed
        for place in range(0, len(pieces), 2):
            piece = pieces[place].strip()
            beside = pieces[max(place - 1, 0) : place] + pieces[place + 1 : place + 2]
            marks = piece.endswith(":") or (piece and not piece[0].isalnum()) or set(beside) & set(_TEXTS)
            if piece and marks:
                found.append(piece)
    return tuple(dict.fromkeys(found))


def check_templates(path: Path, templates: dict[str, str], dimensions: dict[str, dict[str, str]]) -> None:
    """Raise a DocumentError for a placeholder that is missing, stands twice or has no value."""
    _check_once(path, templates, "user", _TEXTS, elsewhere=("system",))
    few_shot = "example" in templates
    if few_shot:
        _check_once(path, templates, "example", (*_TEXTS, "label"), elsewhere=())
    times = (templates["system"] + templates["user"]).count("{examples}")
    if times != few_shot:
        raise DocumentError(
            f"{path}: {{examples}} must stand exactly once in `system` or `user` where the document has a "
            f"template `example`, and nowhere else (found {times} times)."
        )
    both = templates["system"] + templates["user"]
    for places, more in (
        (both, {"examples"} if few_shot else set()),
        (templates.get("example", ""), {"label"}),
    ):
        used = set(PLACEHOLDER.findall(places))
        for name, table in dimensions.items():
            allowed = {*_TEXTS, "topic", "dimension"} | more | table.keys()
            if unknown := used - allowed:
                raise DocumentError(
                    f"{path}: placeholder {{{sorted(unknown)[0]}}} has no value for the dimension {name!r}. "
                    f"Allowed there: {', '.join(sorted(allowed))}."
                )


def _check_once(
    path: Path, templates: dict[str, str], where: str, keys: tuple[str, ...], elsewhere: tuple[str, ...]
) -> None:
    for key in keys:
        times = PLACEHOLDER.findall(templates[where]).count(key)
        if times != 1 or any(f"{{{key}}}" in templates[name] for name in elsewhere):
            not_in = f" and not in `{elsewhere[0]}`" if elsewhere else ""
            raise DocumentError(
                f"{path}: {{{key}}} must stand exactly once in `{where}`{not_in} "
                f"(found {times} times in `{where}`)."
            )
