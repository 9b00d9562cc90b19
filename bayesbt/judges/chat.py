"""From a presentation to tokens: the chat template, the system turn, the border between prompt and label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesbt.errors import DocumentError
from bayesbt.judges.labels import LabelPlan, Tokens, plan_labels
from bayesbt.judges.prompts import Messages, Prompt
from bayesbt.judges.protocol import Presentation
from bayesbt.judges.settings import SystemRole

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_PROBE = Messages("Probe system.", "Probe question.")
_PROBE_ANSWER = "Word"


class ForgedMarkerError(ValueError):
    """A judged text turned into special tokens in spite of the defence; the presentation is not judged."""


@dataclass(frozen=True)
class Encoded:
    """One presentation in tokens: the context, and what to append to it and to read."""

    context: Tokens
    plan: LabelPlan

    @property
    def length(self) -> int:
        """Tokens of its longest row."""
        return len(self.context) + self.plan.longest


class ChatFormat:
    """How one tokenizer writes a question and its possible answers.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerBase
        With a chat template.
    system_role : str
        ``fold`` puts the system text before the user's; ``auto`` does so where the template refuses a system
        turn, or leaves it out.
    label_prefix : str or None
        What an answer begins with, before the label. None: what the template itself writes between the
        generation prompt and an answer (nothing for most, a space for some). It belongs to the label, not to
        the context: where `` A`` is one token, a context that ends in a space is one the model never saw.

    Raises
    ------
    DocumentError
        Where the tokenizer has no chat template.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        system_role: SystemRole = "auto",
        label_prefix: str | None = None,
    ) -> None:
        if not tokenizer.chat_template:
            raise DocumentError(
                "this model has no chat template. A judge must be an instruction-tuned (chat) model."
            )
        self._tokenizer = tokenizer
        added = tokenizer.added_tokens_decoder
        self._special_ids = frozenset(index for index, token in added.items() if token.special)
        self.specials = tuple(
            sorted(
                token.content
                for token in added.values()
                if token.special or (not token.content[:1].isalnum() and not token.content.isspace())
            )
        )
        self.folds_system = system_role == "fold" or not self._takes_system_turn()
        self.label_prefix = self._template_prefix() if label_prefix is None else label_prefix
        self._plans: dict[tuple[Tokens, tuple[tuple[str, str], ...]], LabelPlan] = {}
        self._own_specials: dict[tuple[str, str], Tokens] = {}

    def render(self, presentation: Presentation, prompt: Prompt) -> str:
        """Give the exact text that the model reads, up to where the label begins."""
        return self._write(prompt.render(presentation, self.specials))

    def encode(self, presentation: Presentation, prompt: Prompt) -> Encoded:
        """Tokenise a question.

        Raises
        ------
        ForgedMarkerError
            Where the judged texts add special tokens to those of the template.
        DocumentError
            Where prompt and label do not tokenise apart.
        """
        text = self.render(presentation, prompt)
        context = self._context(text, presentation, prompt)
        return Encoded(context, self._plan(text, context, prompt))

    def encode_context(self, presentation: Presentation, prompt: Prompt) -> Tokens:
        """Tokenise a question that is answered by writing.

        Raises
        ------
        ForgedMarkerError
            As for :meth:`encode`.
        """
        return self._context(self.render(presentation, prompt), presentation, prompt)

    def count(self, presentation: Presentation, prompt: Prompt) -> int:
        """Count the tokens of a question, whatever its texts hold."""
        return len(self._tokens(self.render(presentation, prompt)))

    def cut(self, text: str, tokens: int) -> str:
        """Give the beginning of a text, up to the border behind so many of its tokens."""
        offsets = self._offsets(text)
        return text if tokens >= len(offsets) else text[: offsets[tokens - 1][1] if tokens else 0]

    def text_tokens(self, text: str) -> int:
        """Count the tokens of a text by itself."""
        return len(self._offsets(text))

    def decode(self, tokens: Sequence[int]) -> str:
        """Give the text that a model wrote, without special tokens."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    @property
    def end_tokens(self) -> frozenset[int]:
        """What ends an answer in the eyes of the tokenizer."""
        end = self._tokenizer.eos_token_id
        return frozenset() if end is None else frozenset([int(end)])

    def _context(self, text: str, presentation: Presentation, prompt: Prompt) -> Tokens:
        context = self._tokens(text)
        if self._special_sequence(context) != self._template_specials(presentation, prompt):
            raise ForgedMarkerError("a judged text holds special tokens of this model")
        return context

    def _offsets(self, text: str) -> list[tuple[int, int]]:
        encoding = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        offsets: list[tuple[int, int]] = encoding["offset_mapping"]
        return offsets

    def _plan(self, text: str, context: Tokens, prompt: Prompt) -> LabelPlan:
        """Plan the labels behind this context.

        Text before a special token never changes the tokens behind it, so contexts that share everything from
        their last special token on share their plan.
        """
        last = max((place for place, token in enumerate(context) if token in self._special_ids), default=None)
        if last is None:
            return self._new_plan(text, context, prompt)
        key = (context[last:], tuple(prompt.labels.items()))
        if key not in self._plans:
            self._plans[key] = self._new_plan(text, context, prompt)
        return self._plans[key]

    def _new_plan(self, text: str, context: Tokens, prompt: Prompt) -> LabelPlan:
        return plan_labels(
            {outcome: self._label_tokens(text, context, label) for outcome, label in prompt.labels.items()}
        )

    def _label_tokens(self, text: str, context: Tokens, label: str) -> Tokens:
        whole = self._tokens(text + self.label_prefix + label)
        if whole[: len(context)] != context:
            raise DocumentError(
                f"label {label!r} fuses with the end of the prompt {text[-20:]!r} when tokenised, so that "
                "its probability given the prompt is not defined. Set label_prefix in the judge document "
                '(for instance to " " or to "\\n") so that the label begins a token.'
            )
        return whole[len(context) :]

    def _template_specials(self, presentation: Presentation, prompt: Prompt) -> Tokens:
        """Give the special tokens of the prompt itself, seen with harmless texts in it."""
        key = (prompt.fingerprint(presentation.dimension, presentation.topic), presentation.dimension)
        if key not in self._own_specials:
            harmless = self._write(prompt.render_harmless(presentation, self.specials))
            self._own_specials[key] = self._special_sequence(self._tokens(harmless))
        return self._own_specials[key]

    def _special_sequence(self, tokens: Tokens) -> Tokens:
        return tuple(token for token in tokens if token in self._special_ids)

    def _tokens(self, text: str) -> Tokens:
        """Tokenise without adding any special token: the chat template has written all of them."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False, verbose=False))

    def _turns(self, messages: Messages) -> list[dict[str, str]]:
        if messages.system and not self.folds_system:
            return [
                {"role": "system", "content": messages.system},
                {"role": "user", "content": messages.user},
            ]
        joined = f"{messages.system}\n\n{messages.user}" if messages.system else messages.user
        return [{"role": "user", "content": joined}]

    def _write(self, messages: Messages, answer: str | None = None) -> str:
        turns = self._turns(messages)
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        written = self._tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=answer is None
        )
        return str(written)

    def _takes_system_turn(self) -> bool:
        from jinja2.exceptions import TemplateError

        self.folds_system = False
        try:
            return _PROBE.system in self._write(_PROBE)
        except TemplateError:  # templates refuse a role by raise_exception
            return False

    def _template_prefix(self) -> str:
        """White space that the template itself writes between the generation prompt and an answer."""
        question, answered = self._write(_PROBE), self._write(_PROBE, _PROBE_ANSWER)
        before, found, _ = answered.rpartition(_PROBE_ANSWER)
        between = before[len(question) :] if before.startswith(question) else ""
        return between if found and not between.strip() else ""
