"""The lines of one results file as columns: a few figures of each, about 90 bytes a line, so that a million fit.

Words that repeat (ids, models, reasons) are numbers into one table; headlines are compressed and only unpacked for the
page that lists them.
"""

from __future__ import annotations

import json
import math
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.reporting.listing import TEXT, total_of
from pytest_bfcl.runs.result_line import OUTCOMES, ResultLine

TEXTS_TOGETHER = 1024
NONE = 0
"""Number of the missing word."""

WORDS = ("id", "category", "model", "mode", "tag", "reason", "corrected_reason", "official_reason", "verified_outcome")
STATES = ("outcome", "corrected_outcome", "official_outcome")
_KINDS: dict[str, str] = {
    **dict.fromkeys(WORDS, "I"),
    **dict.fromkeys(STATES, "b"),
    "repeat": "I",
    "offset": "Q",
    "length": "I",
}
FIGURES = ("latency", "cost")


class Row(NamedTuple):
    """One line: its key, its verdict, its position in bytes; ``None`` for missing values."""

    number: int
    id: str
    category: str
    model: str
    mode: str
    repeat: int
    outcome: str
    corrected_outcome: str | None
    official_outcome: str | None
    tag: str | None
    reason: str | None
    corrected_reason: str | None
    official_reason: str | None
    verified_outcome: str | None
    offset: int
    length: int
    latency: float | None
    cost: float | None

    def as_line(self) -> ResultLine:
        """The line as far as it is indexed: enough for tallies and comparisons."""
        line: ResultLine = {
            "id": self.id,
            "category": self.category,
            "model": self.model,
            "mode": self.mode,
            "repeat": self.repeat,
            "outcome": self.outcome,
            "tag": self.tag,
            "reason": self.reason,
            "corrected_outcome": self.corrected_outcome,
            "corrected_reason": self.corrected_reason,
            "cost_usd": self.cost,
            "latency_s": self.latency,
        }
        if self.official_outcome is not None:
            line["official_outcome"], line["official_reason"] = self.official_outcome, self.official_reason
        if self.verified_outcome is not None:
            line["verified_outcome"] = self.verified_outcome
        return line


class Columns:
    """Lines in file order. ``shared`` is a table of texts that several files share (mostly ids)."""

    def __init__(self, shared: dict[str, str] | None = None) -> None:
        self._shared = {} if shared is None else shared
        self.words: list[str] = [""]
        self._numbers: dict[str, int] | None = {"": NONE}
        self._columns: dict[str, array[int]] = {name: array(kind) for name, kind in _KINDS.items()}
        self._figures: dict[str, array[float]] = {name: array("d") for name in FIGURES}
        self._packed: list[bytes] = []
        self._texts: list[str] = []

    def __len__(self) -> int:
        return len(self._columns["offset"])

    def append(self, line: ResultLine, offset: int, length: int, text: str) -> int:
        """Add one line and its headline; returns its number."""
        columns, numbers, get = self._columns, self._numbers_now(), line.get
        for name in WORDS:
            word = get(name)
            number = NONE if word is None else numbers.get(word)  # type: ignore[call-overload]
            columns[name].append(self._new_word(str(word)) if number is None else number)
        for name in STATES:
            outcome = line.get(name)
            columns[name].append(OUTCOMES.index(outcome) if outcome in OUTCOMES else -1)
        columns["repeat"].append(min(line.get("repeat") or 1, 1 << 31))
        columns["offset"].append(offset)
        columns["length"].append(length)
        self._figures["latency"].append(_figure(total_of(line.get("latency_s"))))
        self._figures["cost"].append(_figure(line.get("cost_usd")))
        self._texts.append(text[:TEXT])
        if len(self._texts) == TEXTS_TOGETHER:
            self._pack()
        return len(self) - 1

    def row(self, number: int) -> Row:
        """One line."""
        column = {name: values[number] for name, values in self._columns.items()}
        words = [self.words[column[name]] for name in WORDS]
        states = [OUTCOMES[column[name]] if 0 <= column[name] < len(OUTCOMES) else None for name in STATES]
        latency, cost = (_none_for_nan(self._figures[name][number]) for name in FIGURES)
        entry_id, category, model, mode, tag, reason, corrected_reason, official_reason, verified = words
        return Row(
            number, entry_id, category, model, mode, column["repeat"], states[0] or "error", states[1], states[2],
            tag or None, reason or None, corrected_reason or None, official_reason or None, verified or None,
            column["offset"], column["length"], latency, cost,
        )  # fmt: skip

    def key(self, number: int) -> tuple[int, int, int, int]:
        """The key of a line as numbers, equal for equal keys."""
        columns = self._columns
        model, mode, entry, repeat = (columns[name][number] for name in ("model", "mode", "id", "repeat"))
        return model, mode, entry, repeat

    def numbers_of(self, entry_id: str) -> Iterator[int]:
        """The lines of one entry."""
        try:
            word = self.words.index(entry_id)
        except ValueError:
            return
        column, start = self._columns["id"], 0
        while True:
            try:
                start = column.index(word, start)
            except ValueError:
                return
            yield start
            start += 1

    def outcomes(self, numbers: Iterable[int]) -> Iterator[tuple[str, str]]:
        """Entry and outcome of some lines, fast."""
        words, ids, states = self.words, self._columns["id"], self._columns["outcome"]
        return ((words[ids[number]], OUTCOMES[states[number]]) for number in numbers)

    def models(self, numbers: Iterable[int]) -> Counter[str]:
        """Model → lines of some."""
        column = self._columns["model"]
        return Counter({self.words[word]: count for word, count in Counter(map(column.__getitem__, numbers)).items()})

    def texts(self) -> list[str]:
        """The headlines of all lines."""
        found: list[str] = []
        for packed in self._packed:
            found += json.loads(zlib.decompress(packed))
        return found + self._texts

    def rest(self) -> None:
        """Release what only appending needs."""
        self._numbers = None

    def _numbers_now(self) -> dict[str, int]:
        if self._numbers is None:
            self._numbers = {known: number for number, known in enumerate(self.words)}
        return self._numbers

    def _new_word(self, text: str) -> int:
        number = self._numbers_now()[text] = len(self.words)
        self.words.append(self._shared.setdefault(text, text))
        return number

    def _pack(self) -> None:
        self._packed.append(zlib.compress(json.dumps(self._texts).encode(), 1))
        self._texts = []

    # On disk.

    def _all(self) -> list[array[int] | array[float]]:
        return [*self._columns.values(), *self._figures.values()]

    def to_parts(self) -> tuple[Parsed, list[bytes]]:
        """A JSON description, and the bytes that it describes."""
        raw = [values.tobytes() for values in self._all()]
        about: Parsed = {
            "words": self.words,
            "sizes": [len(part) for part in raw],
            "kinds": [[values.typecode, values.itemsize] for values in self._all()],
            "packed": [len(part) for part in self._packed],
            "texts": self._texts,
        }
        return about, [*raw, *self._packed]

    @classmethod
    def from_parts(cls, about: Parsed, take: Callable[[int], bytes], shared: dict[str, str]) -> Columns:
        """The inverse; ``take`` gives the next bytes. Raises `ValueError` for other values than those of `to_parts`."""
        made = cls(shared)
        kinds = [[values.typecode, values.itemsize] for values in made._all()]
        words, texts = about["words"], about["texts"]
        if about["kinds"] != kinds or not _are_texts(words) or not _are_texts(texts) or words[:1] != [""]:
            raise ValueError("columns of another kind")
        made.words = [shared.setdefault(word, word) for word in words]
        for values, size in zip(made._all(), about["sizes"], strict=True):
            values.frombytes(take(size))
        made._packed = [take(size) for size in about["packed"]]
        made._texts = list(texts)
        if len({len(values) for values in made._all()}) != 1:
            raise ValueError("columns of different length")
        if any(max(made._columns[name], default=0) >= len(words) for name in WORDS):
            raise ValueError("a word that is not in the table")
        made.rest()
        return made


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _figure(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _none_for_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
