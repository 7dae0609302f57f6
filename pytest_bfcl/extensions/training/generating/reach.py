"""Where a value of a call could be read: in the user's words, in an earlier result, in the tool's document.

Stricter than the audit's pool (`pytest_bfcl.extensions.lab.literals`), which only finds hopeless official values: a
value of a task must appear unchanged.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pytest_bfcl.extensions.lab.literals import dates, listed, numbers, words
from pytest_bfcl.json_types import Fields

Source = Literal["said", "result", "documented"]
_CHOICE = re.compile(r"`([^`]+)`([^`]*)")
_DEGREES = {"fully": 1.0, "all the way": 1.0, "halfway": 0.5}
_EVERY = frozenset(("all", "every", "each"))
_IDLE = frozenset(listed("with from that this then what where which when only also for the and are"))
_FEWEST = 4
"""Letters of a word that can decide a choice."""


class Heard:
    """All texts and results so far."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._words: set[str] = set()
        self._numbers: set[float] = set()
        self._results: list[tuple[int, Any]] = []

    def say(self, text: str) -> None:
        """A message of the user."""
        self._said.append(text)
        self._words.update(words(text))
        self._numbers.update(numbers(text))
        self._numbers.update(value for word, value in _DEGREES.items() if word in text.lower())

    def result(self, number: int, text: str) -> None:
        """The result of the call with this number."""
        self._results.append((number, value_of(text)))

    def source(self, value: Any, schema: Fields) -> tuple[Source, int] | None:
        """The source of a value, with the number of its call; ``None`` without one.

        ``schema`` is the parameter's in the function document.
        """
        if "default" in schema and schema["default"] == value:
            return "documented", -1
        if isinstance(value, bool):
            return "documented", -1  # which of two stands in the document; that it is this one is for `unique` to see
        if isinstance(value, Mapping):
            return self._all([self.source(each, {}) for each in value.values()])
        if self._is_said(value):
            return "said", -1
        if choice := _is_choice(value, schema, self._words):
            return choice, -1
        for number, found in reversed(self._results):
            if any(_same(value, each) for each in parts(found)):
                return "result", number
        if isinstance(value, list) and value:
            return self._all([self.source(each, {}) for each in value])
        return None

    def _all(self, sources: list[tuple[Source, int] | None]) -> tuple[Source, int] | None:
        if any(each is None for each in sources):
            return None
        return max((each for each in sources if each), key=lambda each: each[1], default=("said", -1))

    def _is_said(self, value: Any) -> bool:
        if isinstance(value, int | float):
            return float(value) in self._numbers
        if not isinstance(value, str):
            return False
        days = dates(value)
        if days and any(days <= dates(said) for said in self._said):
            return True
        return bool(value) and any(_stands(value, said) for said in self._said)


def choices(schema: Fields) -> dict[str, str]:
    """The values that a parameter's description names, each with its explanation."""
    told = {str(each): "" for each in schema.get("enum") or ()}
    told |= {name: gloss for name, gloss in _CHOICE.findall(str(schema.get("description") or "")) if " " not in name}
    return told


def _is_choice(value: Any, schema: Fields, said: set[str]) -> Source | None:
    """Whether the document names the value, and the user's words distinguish it from the others."""
    named = choices(schema)
    if isinstance(value, list) and value and all(str(each) in named for each in value):
        if len(value) == len(named) and said & _EVERY:
            return "said"
        return "said" if all(_is_choice(each, schema, said) for each in value) else None
    if not isinstance(value, str) or value not in named:
        return None
    own = words(value)
    if all(word in said for word in own):
        return "said"
    gloss = {word for word in words(named[value]) if len(word) >= _FEWEST and word not in _IDLE}
    return "said" if gloss & said else None


def value_of(text: str) -> Any:
    """A result text as its value: JSON, else Python's notation, else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text) if text[:1] in "[{(" else text
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def parts(value: Any) -> Iterator[Any]:
    """A value and everything in it, without keys."""
    yield value
    if isinstance(value, Mapping):
        for each in value.values():
            yield from parts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from parts(each)


def _same(value: Any, found: Any) -> bool:
    """Whether a part of a result is the value, or a text with it."""
    if isinstance(value, bool) or isinstance(found, bool):
        return False
    if isinstance(value, int | float):
        if isinstance(found, int | float):
            return float(found) == float(value)
        return isinstance(found, str) and value in numbers(found)
    if isinstance(value, list):
        if isinstance(found, str) and value and all(isinstance(each, int | float) for each in value):
            return numbers(found) == value
        return bool(found == value)
    return isinstance(found, str) and (found == value or (len(value) > 2 and _stands(value, found)))


def _stands(value: str, text: str) -> bool:
    """Whether a text contains another as whole words with the same case, and not inside a file's name."""
    return re.search(rf"(?<!\w)(?<!\w[.-]){re.escape(value)}(?!\w)(?![.-]\w)", text) is not None
