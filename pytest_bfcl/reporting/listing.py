"""The list of entries a report's script filters and sorts: compact rows as JSON, small enough for thousands.

A row is a list in the order of `COLUMNS`; words that repeat (categories, reasons, models) are indices into tables.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from typing import Any

from pytest_bfcl.explaining import headline
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.reporting.links import model_suffix, safe_id

COLUMNS = ("entry", "model", "repeat", "outcome", "corrected", "tag", "reason", "text", "latency", "cost", "flags")
OUTCOMES = ("failed", "error", "skipped", "passed")
KNOWN_ISSUE, DIFFERS = 1, 2
MAX_BYTES = 4_300_000
"""What the rows may weigh, so that a page stays under 5 MB."""
TEXT = 150


class _Words:
    """Repeated words, each held once."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def __call__(self, word: object) -> int:
        if word is None:
            return -1
        return self.places.setdefault(str(word), len(self.places))

    def listed(self) -> list[str]:
        return list(self.places)


class Listing:
    """Collects the rows of a run, one record at a time."""

    def __init__(self, models: Sequence[str], known_issues: Container[tuple[str, str]]) -> None:
        self._models = models
        self._known = known_issues
        self._model_words, self._tags, self._reasons, self._categories = _Words(), _Words(), _Words(), _Words()
        self._entries: dict[str, list[Any]] = {}
        self._positions: dict[str, int] = {}
        self._rows: list[list[Any]] = []
        self.has_latency = self.has_cost = False

    def add(self, record: Fields, request: str) -> None:
        """One record, and the beginning of what the user asked."""
        entry_id = str(record["id"])
        if entry_id not in self._entries:
            page = safe_id(entry_id)
            self._positions[entry_id] = len(self._entries)
            fields = [entry_id, self._categories(record.get("category")), request]
            self._entries[entry_id] = fields if page == entry_id else [*fields, page]
        known = (entry_id, str(record.get("mode"))) in self._known
        latency, cost = total_of(record.get("latency_s")), record.get("cost_usd")
        self.has_latency |= latency is not None
        self.has_cost |= cost is not None
        differs = record.get("corrected_outcome") != record.get("outcome")
        self._rows.append(
            [
                self._positions[entry_id],
                self._model_words(record.get("model")),
                record.get("repeat") or 1,
                _outcome(record.get("outcome")),
                _outcome(record.get("corrected_outcome")),
                self._tags(record.get("tag")),
                self._reasons(record.get("reason")),
                headline(record)[:TEXT],
                latency,
                cost,
                KNOWN_ISSUE * known + DIFFERS * differs,
            ]
        )

    def content(self) -> Parsed:
        """What is embedded in the page; texts are shortened when a very large run would not fit."""
        made = {
            "columns": COLUMNS,
            "outcomes": OUTCOMES,
            "models": self._model_words.listed(),
            "suffixes": [model_suffix(model, self._models) for model in self._model_words.listed()],
            "tags": self._tags.listed(),
            "reasons": self._reasons.listed(),
            "categories": self._categories.listed(),
            "entries": list(self._entries.values()),
            "rows": self._rows,
            "shortened": False,
        }
        for width in (60, 0):
            if _size(made) <= MAX_BYTES:
                break
            made["shortened"] = True
            for entry in self._entries.values():
                entry[2] = entry[2][:width]
            for row in self._rows:
                row[7] = row[7][:width]
        return made


def _size(content: Fields) -> int:
    """Bytes the content takes in the page, escapes included."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "replace")) + 5 * sum(text.count(character) for character in "<>&")


def _outcome(name: object) -> int:
    return OUTCOMES.index(name) if name in OUTCOMES else OUTCOMES.index("error")


def total_of(value: object, digits: int = 3) -> float | None:
    """The sum of a result line's nested number over turns and steps, rounded; ``None`` when it holds none."""
    if type(value) is float or type(value) is int:  # single-turn entries
        return round(value, digits)
    numbers = list(_numbers(value))
    return round(sum(numbers), digits) if numbers else None


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
