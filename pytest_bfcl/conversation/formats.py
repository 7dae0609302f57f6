"""Conversations with a model that writes calls in its own text format (formats spec)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_bfcl.formats.detection import TextReading, call_ids, decoded_calls, model_name, without_thoughts
from pytest_bfcl.formats.table import find_decoder, registered_format
from pytest_bfcl.transcript import Mode, Reply, ToolCall, arguments_text

if TYPE_CHECKING:
    from pytest_bfcl.formats.thinking import Think, Thinking
    from pytest_bfcl.models.base import Family, Model
    from pytest_bfcl.settings import Settings


@dataclass(frozen=True, slots=True)
class Speech:
    """The format of one model's replies. ``family``: its template and history, if prompts are rendered here;
    ``decoder``: the format of calls in its texts; ``mended``: without the defects of the family's handler (corrected
    rules lead).
    """

    family: Family | None = None
    decoder: str | None = None
    think: Think = "auto"
    thinking: Thinking = "none"
    mended: bool = False
    plain: bool = field(init=False)
    """Whether tools are in prompts or templates and results are sent as text: the prompting loop."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plain", self.family is not None and not self.family.format.native)

    @classmethod
    def of(cls, model: Model, settings: Settings) -> Speech:
        """The format of a model under a run's settings. Raises `UsageError` if ``auto`` finds no decoder."""
        family: Family | None = getattr(model, "family", None)
        mended = settings.rules == "corrected"
        if family is None:
            return _plain_speech(model.spec, model.mode, settings.decoder, settings.think, mended)
        decoder = None if family.format.native and model.mode == "prompt" else family.format.decoder
        chosen = settings.decoder if settings.decoder not in (None, "auto") else decoder
        name = find_decoder(chosen).name if chosen else None
        return cls(family, name, settings.think, family.format.thinking, mended)

    def read(self, reply: Reply) -> Reply:
        """The reply with separated thoughts, as it is decoded and stored."""
        return without_thoughts(reply, self.think, self.thinking)

    def with_calls(self, reply: Reply, called: int, functions: Sequence[Any] = ()) -> Reply:
        """A reply whose calls a server left in the text, as if it had parsed them, for the history."""
        if reply.tool_calls or not reply.text:
            return reply
        found = decoded_calls(reply.text, self.decoder, functions)
        if not found:
            return reply
        ids = call_ids(len(found), next_ids(called))
        calls = tuple(ToolCall(name, arguments_text(args), i) for i, (name, args) in zip(ids, found, strict=True))
        return replace(reply, text="", tool_calls=calls)


@lru_cache(maxsize=64)
def _plain_speech(spec: str, mode: Mode, decoder: str | None, think: Think, mended: bool) -> Speech:
    """The format of a model without one of our templates; the same for all its conversations."""
    name = model_name(spec)
    chosen = TextReading(decoder).decoder_for(name, mode)
    return Speech(None, find_decoder(chosen).name if chosen else None, think, _thinking(name, mode, chosen), mended)


def _thinking(name: str, mode: str, decoder: str | None) -> Thinking:
    """Thoughts are treated as by the handler of the model's registered family, else as by its format. Handlers without
    this treatment would fail every reply with thoughts; a server's parser removes them.
    """
    own = find_decoder(decoder).thinking if decoder else "none"
    names = (f"{name}-FC", name) if mode == "fc" else (name,)
    row = next(filter(None, map(registered_format, names)), None)
    if own != "served" and row is not None and row.mode == mode and row.thinking != "none":
        return row.thinking
    return own if own != "none" else "served"


def next_ids(called: int) -> list[str]:
    """Ids of the calls of one reply, after ``called`` earlier calls."""
    return [f"call{number:05d}" for number in range(called + 1, called + 65)]
