"""The parts of a message → text, calls, reasoning: content lists of OpenAI, Anthropic, LangChain, Gemini, Bedrock,
output items of Responses, ``parts`` of pydantic-ai, ``blocks`` of LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies.shapes import CALL_KINDS, fields_of, is_call, read_call, sequence, text_or_none, unknown, word
from pytest_bfcl.transcript import ToolCall

_KINDS = ("type", "part_kind", "block_type")
_TEXT = frozenset(("output_text", "text"))
_THOUGHTS = frozenset(("reasoning", "reasoning_content", "redacted_thinking", "thinking", "thought"))
_SAID = ("text", "thinking", "reasoning", "content", "reasoningText", "summary")
"""Fields in which a part has its text."""
_NESTED_THOUGHT = ("reasoningContent", "reasoning_content")


@dataclass(slots=True)
class Parts:
    """The result of one reply's parts; ``known`` counts the recognised ones.

    ``strict``: an unknown kind of part is an error instead of being skipped.
    """

    texts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    known: int = 0
    strict: bool = False

    @property
    def text(self) -> str | None:
        """The texts joined; ``None`` without any."""
        return "".join(self.texts) if self.texts else None

    def add_all(self, parts: Iterable[Any]) -> None:
        """Every part. Raises `UnknownShape` if none of the parts is known, or one is an error."""
        given = list(parts)
        for part in given:
            self.add(part)
        if given and not self.known:
            raise unknown("content of a kind that is neither text nor a call", given[0])

    def add(self, part: object) -> None:
        """One part; actions of a provider's own tools (searches, code, images) are skipped."""
        if isinstance(part, str):
            self.texts.append(part)
            self.known += 1
            return
        fields = fields_of(part)
        if fields is None:
            raise unknown("a part of a message", part)
        known = self._add_known(fields, part)
        if self.strict and not known:
            raise unknown(f"a block of the kind {kind_of(fields) or '(none)'!r}", part)
        self.known += known

    def _add_known(self, fields: Fields, part: object) -> bool:
        kind = kind_of(fields)
        if kind == "error":
            raise unknown("an error instead of an output", part)
        if kind in _THOUGHTS or fields.get("thought") is True:
            self.thoughts.append(words_of(fields))
        elif kind in CALL_KINDS or (not kind and is_call(fields)):
            self.calls.append(read_call(part))
        elif kind == "message":
            self.add_all(sequence(fields.get("content")) or ())
        elif kind == "refusal" or "refusal" in fields:
            self.refusals.append(str(fields.get("refusal") or words_of(fields)))
        elif kind in _TEXT or (not kind and isinstance(fields.get("text"), str)):
            self.texts.append(words_of(fields))
        elif any(fields_of(fields.get(name)) is not None for name in _NESTED_THOUGHT):
            self.thoughts.append(words_of(fields))
        else:
            return False
        return True


def kind_of(fields: Fields) -> str:
    """The kind that this part or message names; empty without one."""
    return next((found for name in _KINDS if (found := word(fields.get(name)))), "")


def words_of(value: object) -> str:
    """The words of a part, at any depth of its summary or nested parts."""
    if isinstance(value, str):
        return value
    listed = sequence(value)
    if listed is not None:
        return "\n".join(filter(None, map(words_of, listed)))
    fields = fields_of(value) or {}
    for name in (*_SAID, *_NESTED_THOUGHT):
        said = fields.get(name)
        if text_or_none(said) or sequence(said) or fields_of(said) is not None:
            return words_of(said)
    return ""
