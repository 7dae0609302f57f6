"""Whether a literal could be read in the conversation: texts, numbers, dates, and values derived from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, Literal

Reach = Literal["known", "altered", "rearranged", "unknown"]


def listed(text: str) -> list[str]:
    """The words of a list written as one text."""
    return text.split()


_ONES = listed(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
)
_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_AMOUNTS = listed(
    """a=1 an=1 single=1 sole=1 once=1 first=1 last=1 second=2 third=3 fourth=4 fifth=5 half=0.5 quarter=0.25 twice=2
    double=2 both=2 pair=2 triple=3 dozen=12 hundred=100 thousand=1000 million=1000000 full=100 fully=100 bottom=0
    empty=0 noon=12 midnight=0"""
)
_SPELLED: dict[str, float] = {word: float(number) for number, word in enumerate(_ONES)}
_SPELLED |= {word: 10.0 * number for number, word in enumerate(_TENS, 2)}
_SPELLED |= {word: float(number) for word, number in (amount.split("=") for amount in _AMOUNTS)}
FACTORS = (1.0, 100.0, 1000.0, 60.0, 3600.0, 24.0, 7.0, 12.0, 1e6, 3.78541, 1.609344, 2.20462, 0.3048, 2.54, 0.264172)
"""Factors between units of one quantity: percent, thousands, minutes, gallons and litres, miles."""
MOST_NUMBERS = 160
"""Newest numbers of a conversation that are tried in sums and products."""
TEXT_WORDS = 4
"""Number of words from which the order of words in a literal matters."""
MONTHS = listed("january february march april may june july august september october november december")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?|(?<=\D)\d+(?:\.\d+)?")
_WORD = re.compile(r"[^\W_]+")
_STEM = 5
_GLUE = frozenset(
    listed(
        """a an and are as at be been but by for from had has have i if in is it its my of on or our so that the their
        there these they this to up was we will with you your hey hi hello please thank thanks all just
        txt docx doc csv json md py pdf log"""
    )
)
"""Words that a text may contain without a source: filler, greetings, endings of file names."""


class Pool:
    """Everything that a model has been shown so far."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._words: set[str] = set()
        self._stems: set[str] = set()
        self._numbers: list[float] = []
        self._squeezed: list[str] = []

    def add(self, text: str) -> None:
        """Add a request, a tool document or a result."""
        lowered = text.lower()
        self._texts.append(lowered)
        self._squeezed.append(squeezed(lowered))
        found = words(text)
        self._words.update(found)
        self._stems.update(word[:_STEM] for word in found)
        self._numbers += numbers(text)

    def reach(self, literal: str) -> Reach:
        """The relation of a ground-truth text to the shown texts."""
        lowered = literal.lower().strip()
        if not lowered or any(lowered in text or unescaped(lowered) in text for text in self._texts):
            return "known"
        parts = words(literal)
        missing = [word for word in parts if not self.has_word(word)]
        if missing:
            return "unknown"
        if len(parts) < TEXT_WORDS:
            return "known"
        tight = squeezed(lowered)
        if any(tight in text for text in self._squeezed):
            return "altered"
        return "known" if self._in_order(parts) else "rearranged"

    def missing(self, literal: str) -> list[str]:
        """The words of a text without a source."""
        return [word for word in words(literal) if not self.has_word(word)]

    def has_number(self, value: float) -> bool:
        """Whether a number was shown, or follows from shown ones by a unit, a sum, a difference or a product."""
        if value in (0, 1, -1):
            return True
        shown = list(dict.fromkeys(self._numbers[-MOST_NUMBERS:]))
        if any(_equal(value, number * factor) or _equal(value, number / factor)
               for number in shown for factor in FACTORS):  # fmt: skip
            return True
        for a, b in product(shown, shown):
            if any(_equal(value, each) for each in (a + b, a - b, a * b, a / b if b else a, a * b / 100)):
                return True
        return False

    def has_word(self, word: str) -> bool:
        """Whether a word was shown, in some form: by its stem, as part of another, as a number."""
        if word in self._words or word in _GLUE or word[:_STEM] in self._stems:
            return True
        if word.isdigit():
            return self.has_number(float(word))
        return any(word in each or (len(each) > 3 and each in word) for each in self._words)

    def _in_order(self, parts: list[str]) -> bool:
        """Whether the words occur in this order, with only filler and signs between them."""
        wanted = [word for word in parts if word not in _GLUE]
        return any(_follows(wanted, text) for text in self._texts)


@lru_cache(maxsize=4096)
def _content(text: str) -> tuple[str, ...]:
    return tuple(word for word in words(text) if word not in _GLUE)


def _follows(wanted: list[str], text: str) -> bool:
    here = _content(text)
    size = len(wanted)
    return any(list(here[start : start + size]) == wanted for start in range(len(here) - size + 1))


def words(text: str) -> list[str]:
    """The words of a text in lower case, with ``camelCase`` and ``snake_case`` split."""
    return [word.lower() for word in _WORD.findall(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text))]


def squeezed(text: str) -> str:
    """A text without white space, quotes and escapes of line breaks."""
    return re.sub(r"""(\\n|\\t|\\r|[\s'"`\\])+""", "", text)


def unescaped(text: str) -> str:
    """A text in its form inside JSON."""
    return text.replace("\n", "\\n").replace('"', '\\"')


def numbers(text: str) -> list[float]:
    """Numbers written in digits or words."""
    found = []
    for written in _NUMBER.findall(text):
        try:
            found.append(float(written.replace(",", "")))
        except ValueError:
            continue
    lowered = words(text)
    found += [float(_SPELLED[word]) for word in lowered if word in _SPELLED]
    found += [
        _SPELLED[a] + _SPELLED[b] for a, b in pairwise(lowered)
        if _SPELLED.get(a, 0) >= 20 and a.endswith("ty") and 0 < _SPELLED.get(b, 0) < 10
    ]  # fmt: skip
    return found


def dates(text: str) -> set[tuple[int, int, int]]:
    """Full dates of a text as (year, month, day): ISO, and with the month's name."""
    found = {(int(y), int(m), int(d)) for y, m, d in re.findall(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b", text)}
    lowered = text.lower()
    for number, month in enumerate(MONTHS, 1):
        name = rf"{month[:3]}(?:{month[3:]})?\.?"
        for d, y in re.findall(rf"\b{name}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", lowered):
            found.add((int(y), number, int(d)))
        for d, y in re.findall(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{name},?\s+(\d{{4}})\b", lowered):
            found.add((int(y), number, int(d)))
    return {(y, m, d) for y, m, d in found if 1 <= m <= 12 and 1 <= d <= 31}


def literals(value: Any) -> Iterator[Any]:
    """The texts and numbers in an argument."""
    if isinstance(value, dict):
        for each in value.values():
            yield from literals(each)
    elif isinstance(value, list | tuple | set):
        for each in value:
            yield from literals(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def texts_in(value: Any) -> Iterable[str]:
    """Every text of a tool document: names, descriptions, enums, defaults."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from texts_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each)
    elif value is not None:
        yield str(value)


def _equal(a: float, b: float) -> bool:
    return abs(a - b) <= 0.005 * max(1.0, abs(a)) if a != int(a) else abs(a - b) < 1e-6 * max(1.0, abs(a))
