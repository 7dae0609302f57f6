"""The list of entries that a report's script filters and sorts: compact JSON rows, small enough for thousands.

A row is a list in the order of `COLUMNS`; repeated words (categories, reasons, models) are indices into tables.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from pytest_bfcl.explaining.headlines import ALIKE, NAMED, error_text, headline, sign_of
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.reporting.rendering import ENTRIES, embedded_json, model_suffix, page_name, safe_id

if TYPE_CHECKING:
    from markupsafe import Markup

COLUMNS = ("entry", "model", "repeat", "outcome", "corrected", "tag", "reason", "text", "latency", "cost", "flags")
"""Rows of equal errors have one more number: that of their fold."""
OUTCOMES = ("failed", "error", "skipped", "passed")
KNOWN_ISSUE, DIFFERS = 1, 2
MAX_BYTES = 4_300_000
"""Maximum size of the rows, so that a page stays under 5 MB."""
TEXT = 150
MAX_STATIC = 1_000
"""Failed entries that the page also lists for readers without scripts."""


class StaticRow(NamedTuple):
    """A failed entry in a page without scripts; ``page`` is a link, empty without pages."""

    entry: str
    page: str
    outcome: str
    what: str
    model: str


def _place(words: dict[str, int], word: object) -> int:
    """The position of a repeated word, which is held once; -1 without one."""
    return -1 if word is None else words.setdefault(str(word), len(words))


@dataclass(slots=True)
class Alike:
    """Equal errors of one model: the first record, the first ids, and the rows of all."""

    model: str
    record: Fields
    ids: list[str] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)


class Listing:
    """Collects the rows of a run, one record at a time.

    ``pages``: whether entries have pages; ``shard``: how many pages of other than failed entries one script holds (0:
    they are files, too); ``place`` is the text before their names in links. ``failures`` are failed entries and errors
    for a page without scripts, at most `MAX_STATIC`, of ``failed``.
    """

    def __init__(
        self,
        models: Sequence[str],
        known_issues: Container[tuple[str, str]],
        *,
        place: str = f"{ENTRIES}/",
        pages: bool = True,
        shard: int = 0,
    ) -> None:
        self.pages = pages
        self.shard = shard
        self.place = place
        self.failures: list[StaticRow] = []
        self.failed = 0
        self._models = models
        self._known = known_issues
        self._words: dict[str, dict[str, int]] = {name: {} for name in ("model", "tag", "reason", "category")}
        self._entries: dict[str, list[Any]] = {}
        self._positions: dict[str, int] = {}
        self._rows: list[list[Any]] = []
        self._alike: dict[tuple[str, str], Alike] = {}
        self.has_latency = self.has_cost = self.has_differing = False

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._entries

    def add(self, record: Fields, request: str, text: str | None = None) -> None:
        """Add one record and the beginning of the user's request; of an entry's records the first one's is shown.
        ``text`` is its headline, if known.
        """
        entry_id = str(record["id"])
        if entry_id not in self._entries:
            page = safe_id(entry_id)
            self._positions[entry_id] = len(self._entries)
            fields = [entry_id, _place(self._words["category"], record.get("category")), request]
            self._entries[entry_id] = fields if page == entry_id else [*fields, page]
        known = (entry_id, str(record.get("mode"))) in self._known
        latency, cost = total_of(record.get("latency_s")), record.get("cost_usd")
        self.has_latency |= latency is not None
        self.has_cost |= cost is not None
        differs = record.get("corrected_outcome") != record.get("outcome")
        self.has_differing |= differs
        text = (headline(record) if text is None else text)[:TEXT]
        self._rows.append(
            [
                self._positions[entry_id],
                _place(self._words["model"], record.get("model")),
                record.get("repeat") or 1,
                _outcome(record.get("outcome")),
                _outcome(record.get("corrected_outcome")),
                _place(self._words["tag"], record.get("tag")),
                _place(self._words["reason"], record.get("reason")),
                text,
                latency,
                cost,
                KNOWN_ISSUE * known + DIFFERS * differs,
            ]
        )
        if record.get("outcome") in ("failed", "error"):
            self._add_failure(record, entry_id, text)

    def _add_failure(self, record: Fields, entry_id: str, text: str) -> None:
        model, outcome, repeat = str(record.get("model") or ""), str(record["outcome"]), record.get("repeat") or 1
        self.failed += 1
        if len(self.failures) < MAX_STATIC:
            shown = f"{entry_id} (repeat {repeat})" if repeat > 1 else entry_id
            page = self.place + quote(page_name(record, self._models)) if self.pages else ""
            self.failures.append(StaticRow(shown, page, outcome, text, model))
        if outcome == "error":
            found = self._alike.setdefault((model, sign_of(error_text(record), entry_id)), Alike(model, record))
            found.rows.append(self._rows[-1])
            if len(found.ids) < NAMED:
                found.ids.append(entry_id)

    def errors(self, model: str) -> list[Alike]:
        """The kinds of errors of a model, most frequent first."""
        return sorted((each for each in self._alike.values() if each.model == model), key=lambda each: -len(each.rows))

    def embedded(self) -> Markup:
        """The content as the page embeds it; texts are shortened if a very large run would not fit."""
        made = self.content()
        for width in (60, 0):
            text: Markup = embedded_json(made)
            if len(text.encode("utf-8", "replace")) <= MAX_BYTES:
                return text
            made["shortened"] = True
            for entry in self._entries.values():
                entry[2] = entry[2][:width]
            for row in self._rows:
                row[7] = row[7][:width]
        return embedded_json(made)  # type: ignore[no-any-return]

    def content(self) -> Parsed:
        """The list for the page's script."""
        folds = [each for each in self._alike.values() if len(each.rows) > ALIKE]
        for number, fold in enumerate(folds):
            for row in fold.rows:
                row[len(COLUMNS) :] = [number]
        return {
            "columns": COLUMNS,
            "outcomes": OUTCOMES,
            "models": list(self._words["model"]),
            "suffixes": [model_suffix(model, self._models) for model in self._words["model"]],
            "slugs": [model_suffix(model, ()) for model in self._words["model"]],
            "tags": list(self._words["tag"]),
            "reasons": list(self._words["reason"]),
            "categories": list(self._words["category"]),
            "entries": list(self._entries.values()),
            "folds": len(folds),
            "rows": self._rows,
            "pages": self.pages,
            "place": self.place,
            "shard": self.shard,
            "shortened": False,
        }


def _outcome(name: object) -> int:
    return OUTCOMES.index(name) if name in OUTCOMES else OUTCOMES.index("error")


def total_of(value: object) -> float | None:
    """The sum of a result line's nested number over turns and steps, to three digits; ``None`` without any."""
    if type(value) is float or type(value) is int:  # single-turn entries
        return round(value, 3)
    numbers = list(_numbers(value))
    return round(sum(numbers), 3) if numbers else None


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
