"""Untrusted regular expressions, searched in untrusted texts in bounded time.

`re` backtracks, and one short pattern can take years. Here all paths are followed at once (Thompson's construction), so
the time is pattern times text. Supported are characters, classes, groups, ``|``, repetitions, ``^ $ \\b \\B``, the
flags ``(?i)``, ``(?s)``, ``(?m)`` at the start. Back-references and look-around are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

MOST_STATES = 400
LONGEST_PATTERN = 1_000
LONGEST_TEXT = 10_000
"""Characters of a text that are searched."""
LONGEST_EXAMPLE = 300
_CHARACTERS = "a1A -_./:@#+," + "".join(map(chr, range(33, 127))) + "\n\té"
"""The characters of examples, plainest first."""

_FLAGS = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE}
_REPEAT = re.compile(r"[*+?]|\{(\d{0,3})(?:(,)(\d{0,3}))?\}")


class _State(NamedTuple):
    """``test`` accepts a character; ``holds`` is an assertion about the position; without either: go to ``follow`` at
    once."""

    follow: tuple[int, ...]
    test: Callable[[str], object] | None = None
    holds: Callable[[str, int], bool] | None = None


Build = Callable[[int], int]
"""Makes the states of a part that ends in the given state; returns its first state."""


class Pattern:
    """A regular expression, read by `pattern_of`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._states: list[_State] = [_State(())]  # the end
        flags = re.match(r"\(\?([ism]+)\)", text)
        self._flags = 0
        for letter in flags[1] if flags else "":
            self._flags |= _FLAGS[letter]
        self._rest = text[flags.end() :] if flags else text
        self._depth = 0
        build = self._alternatives()
        if self._rest:
            raise ValueError(f"{self._rest[0]!r} closes nothing")
        self._start = build(0)

    def is_in(self, text: str) -> bool:
        """Whether it matches anywhere in the first `LONGEST_TEXT` characters."""
        text = text[:LONGEST_TEXT]
        present: set[int] = set()
        for place in range(len(text) + 1):
            present = self._reached({*present, self._start}, text, place)
            if 0 in present:
                return True
            if place < len(text):
                present = {self._states[n].follow[0] for n in present if self._takes(n, text[place])}
        return False

    def example(self, least: int = 0) -> str | None:
        """A text with at least this many characters that it matches; ``None`` without one of moderate length."""
        texts = dict.fromkeys(self._reached({self._start}), "")
        for _ in range(LONGEST_EXAMPLE):
            if len(texts.get(0, "")) >= least and 0 in texts and self.is_in(texts[0]):
                return texts[0]
            longer: dict[int, str] = {}
            for number, text in texts.items():
                character = next((each for each in _CHARACTERS if self._takes(number, each)), None)
                if character is not None:
                    for each in self._reached({self._states[number].follow[0]}):
                        longer.setdefault(each, text + character)
            texts = longer
        return None

    def _takes(self, number: int, character: str) -> bool:
        test = self._states[number].test
        return test is not None and bool(test(character))

    def _reached(self, begin: set[int], text: str | None = None, place: int = 0) -> set[int]:
        """The states reached without a character; without a text all assertions count as met."""
        found, todo = set(begin), list(begin)
        while todo:
            state = self._states[todo.pop()]
            if state.test is None and (state.holds is None or text is None or state.holds(text, place)):
                todo += [each for each in state.follow if each not in found]
                found.update(state.follow)
        return found

    # -- reading -------------------------------------------------------------------------------------------------

    def _alternatives(self) -> Build:
        self._depth += 1
        if self._depth > 30:
            raise ValueError("groups are nested too deeply")
        choices = [self._sequence()]
        while self._rest.startswith("|"):
            self._rest = self._rest[1:]
            choices.append(self._sequence())
        self._depth -= 1
        if len(choices) == 1:
            return choices[0]
        return lambda after: self._add(_State(tuple(choice(after) for choice in choices)))

    def _sequence(self) -> Build:
        parts: list[Build] = []
        while self._rest and self._rest[0] not in "|)":
            parts.append(self._repeated(self._atom()))

        def build(after: int) -> int:
            for part in reversed(parts):
                after = part(after)
            return after

        return build

    def _repeated(self, part: Build) -> Build:
        found = _REPEAT.match(self._rest)
        if found is None or found[0] == "{}" or found[0] == "{,}":
            if re.match(r"\{\d+,?\d*\}", self._rest):
                raise ValueError("it is too large")
            return part
        self._rest = self._rest[found.end() :].removeprefix("?")  # a lazy one finds the same
        if self._rest[:1] in ("*", "+"):
            raise ValueError("a repetition of a repetition")
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(found[0], (int(found[1] or 0), None))
        if found[0][0] == "{":
            high = low if found[2] is None else int(found[3]) if found[3] else None
        if high is not None and high < low:
            raise ValueError("a repetition from more to less")
        return lambda after: self._times(part, low, high, after)

    def _times(self, part: Build, low: int, high: int | None, after: int) -> int:
        if high is None:
            loop = self._add(_State(()))
            self._states[loop] = _State((part(loop), after))
            after = loop
        for _ in range((high or low) - low):
            after = self._add(_State((part(after), after)))
        for _ in range(low):
            after = part(after)
        return after

    def _atom(self) -> Build:
        character, self._rest = self._rest[0], self._rest[1:]
        if character == "(":
            return self._group()
        if character == "[":
            end = re.match(r"\^?\]?(?:\\.|[^\]\\])*\]", self._rest, re.DOTALL)
            if end is None:
                raise ValueError("a class has no end")
            self._rest = self._rest[end.end() :]
            return self._character(f"[{end[0]}")
        if character == "\\":
            return self._escaped()
        if character in "^$":
            return self._asserted(character)
        if character in "*+?":
            raise ValueError(f"nothing that {character!r} could repeat")
        return self._character("." if character == "." else re.escape(character))

    def _group(self) -> Build:
        opened = re.match(r"\?:|\?P<\w+>", self._rest)
        if opened is None and self._rest.startswith("?"):
            raise ValueError(f"{self._rest[:3]!r} is not among what is taken here")
        self._rest = self._rest[opened.end() :] if opened else self._rest
        inner = self._alternatives()
        if not self._rest.startswith(")"):
            raise ValueError("a group has no end")
        self._rest = self._rest[1:]
        return inner

    def _escaped(self) -> Build:
        if not self._rest:
            raise ValueError("a backslash at the end")
        character, self._rest = self._rest[0], self._rest[1:]
        if character in "bB":
            return self._asserted(f"\\{character}")
        if character.isalnum() and character not in "dDwWsSnrtfv":
            raise ValueError(f"'\\{character}' is not among what is taken here")
        return self._character(f"\\{character}")

    def _character(self, text: str) -> Build:
        test = re.compile(text, self._flags).match
        return lambda after: self._add(_State((after,), test))

    def _asserted(self, text: str) -> Build:
        at = re.compile(text, self._flags).match
        return lambda after: self._add(_State((after,), holds=lambda where, place: at(where, place) is not None))

    def _add(self, state: _State) -> int:
        if len(self._states) >= MOST_STATES:
            raise ValueError("it is too large")
        self._states.append(state)
        return len(self._states) - 1


@lru_cache(maxsize=512)
def pattern_of(text: str) -> Pattern:
    """Read a regular expression. Raises `ValueError` for an invalid or unsupported one."""
    if len(text) > LONGEST_PATTERN:
        raise ValueError(f"a pattern has at most {LONGEST_PATTERN:,} characters")
    try:
        return Pattern(text)
    except (re.error, OverflowError) as error:
        raise ValueError(str(error)) from None
