"""``call:NAME{key:value}`` in tags, as FunctionGemma's handler reads it (formats spec §4)."""

from __future__ import annotations

from typing import Any

from pytest_bfcl.formats.members import Pair, objects, spans, texts
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError, check_integer

START, END, ESCAPE = "<start_function_call>", "<end_function_call>", "<escape>"
_WORDS = {"null": None, "true": True, "false": False}
_MARKS = frozenset("{[:]},")


def gemma_pairs(result: object) -> list[Pair]:
    """Name and arguments of every tagged call."""
    if not isinstance(result, str):
        raise DecodeError("the result is no text")
    pairs: list[Pair] = []
    for inside in spans(result, START, END):
        inside = inside.strip()
        if inside.startswith("call:"):
            name, brace, rest = inside.removeprefix("call:").partition("{")
            pairs.append((name.strip(), _Scanner(brace + rest).arguments() if brace else {}))
    return pairs


def gemma_calls(result: object) -> list[Any]:
    """*gemma call*."""
    return objects(gemma_pairs(result))


def gemma_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(gemma_pairs(result), ", ")


_NOTHING: Any = object()


class _Scanner:
    """The handler's scanner, which never fails: open containers, the keys of open objects, one pending value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: list[Any] = []
        self.open: list[list[Any] | Parsed] = [self.root]
        self.slots: list[str | None] = []
        self.pending: Any = None
        self.buffer: list[str] = []

    def arguments(self) -> Parsed:
        """The first member of the root if it is an object."""
        position, text = 0, self.text
        while position < len(text):
            character = text[position]
            if character == "<" and text.startswith(ESCAPE, position):
                end = text.find(ESCAPE, position + len(ESCAPE))
                self._commit()
                if end < 0:
                    self._add(text[position:])
                    break
                self._add(text[position + len(ESCAPE) : end])
                position = end + len(ESCAPE)
                continue
            if character in _MARKS:
                self._commit()
                self._mark(character)
            else:
                self.buffer.append(character)
            position += 1
        else:
            self._commit()
        first = self.root[0] if self.root else None
        return first if isinstance(first, dict) else {}

    def _commit(self) -> None:
        word = "".join(self.buffer).strip()
        self.buffer.clear()
        if word:
            self._add(_value(word))

    def _add(self, value: object) -> None:
        innermost = self.open[-1]
        if isinstance(innermost, list):
            innermost.append(value)
        elif self.slots and self.slots[-1] is not None:
            innermost[self.slots[-1]] = value
            self.slots[-1] = None
        else:
            self.pending = value

    def _mark(self, mark: str) -> None:
        if mark in "{[":
            container: list[Any] | Parsed = {} if mark == "{" else []
            if len(self.open) > MAX_DEPTH:
                raise DecodeError(f"containers nested deeper than {MAX_DEPTH}")
            self._add(container)
            self.open.append(container)
            if mark == "{":
                self.slots.append(None)
            self.pending = None
        elif mark in "}]":
            if mark == "}" and self.slots:
                self.slots.pop()
            if len(self.open) > 1:
                self.open.pop()
            self.pending = None
        elif mark == ",":
            self.pending = None
        else:
            if self.pending is not None and isinstance(self.open[-1], dict) and self.slots:
                self.slots[-1] = str(self.pending)
            self.pending = None


def _value(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    for kind in (int, float):
        try:
            value = kind(word)
        except ValueError:
            continue
        return check_integer(value) if isinstance(value, int) else value
    return word
