"""Changed entries with the facts of both answers: reasons in words, pages, both answers side by side.

Lines come from the two measurements, entries from their data, pages from the run directories. Missing parts are left
out: a score file has no lines of passed entries, a run may have no report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.dataset.categories import groups_of
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.extensions.boards.side_by_side import Answer, SideBySide, side_by_side
from pytest_bfcl.extensions.causes.mistakes import mistake_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.packing import FIRST_SHARD
from pytest_bfcl.reporting.rendering import ENTRIES, page_name, place_in_index, relative_link
from pytest_bfcl.scoring.measurements import VERIFIED, Judged

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.scoring.comparison import Comparison
    from pytest_bfcl.scoring.comparison_rows import Change
    from pytest_bfcl.scoring.measurements import Measurement

Source = Callable[[str], "Entry | None"]
"""An entry by its id, ``None`` if the data is missing."""

Lines = Mapping[tuple[str, int], Fields]
"""Entry id and repeat → result line."""

PASSED = "passed"


class Places(NamedTuple):
    """The addresses of pages, safe in links: of a line before (0) or after (1), and of both answers side by side."""

    page: Callable[[int, Fields], str]
    beside: Callable[[Change], str]


class Opened(NamedTuple):
    """A changed entry for a page. ``pair``: both answers side by side, unless there are too many; ``beside``: their
    address instead.
    """

    change: Change
    group: str
    reasons: tuple[str, str]
    words: str
    pages: tuple[str, str]
    pair: SideBySide | None
    beside: str = ""

    @property
    def direction(self) -> str:
        """``improved`` or ``regressed``."""
        return "improved" if self.change.improved else "regressed"


@dataclass(frozen=True, slots=True)
class Changed:
    """The changed entries of one comparison, with both sides' lines.

    ``rules`` are those of the verdicts compared; ``folders`` the run directories, if there are any. ``places`` gives
    the addresses of pages that are no files in these.
    """

    comparison: Comparison
    before: Lines
    after: Lines
    rules: str = "official"
    folders: tuple[Path | None, Path | None] = (None, None)
    places: Places | None = None

    @classmethod
    def of(cls, comparison: Comparison, before: Measurement, after: Measurement, rules: str = "official") -> Changed:
        """With the lines read from the measurements; for models of one run both sides share one measurement."""
        ids = {change.id for change in (*comparison.improved, *comparison.regressed)}
        return cls(
            comparison,
            _lines(before, comparison.before, ids, rules),
            _lines(after, comparison.after, ids, rules),
            rules,
            (before.folder, after.folder),
        )

    def words(self, change: Change) -> str:
        """Why the failed answer failed, in one sentence; the reason itself without a line."""
        lines = self.before if change.improved else self.after
        record = lines.get((change.id, change.repeat))
        failed = change.before if change.improved else change.after
        return (headline(record) if record is not None else "") or str(failed or "")

    def causes(self) -> list[tuple[str, int, int]]:
        """What a reply did, entries that fail with it now and passed before, and the reverse. The largest effect on the
        score comes first; changes without a line (score files) are left out.
        """
        counts: dict[str, list[int]] = {}
        sides = ((self.comparison.regressed, self.after), (self.comparison.improved, self.before))
        for side, (found, lines) in enumerate(sides):
            for change in found:
                record = lines.get((change.id, change.repeat))
                if record is not None:
                    counts.setdefault(mistake_of(record), [0, 0])[side] += 1
        return sorted(
            ((title, lost, won) for title, (lost, won) in counts.items()), key=lambda row: -abs(row[2] - row[1])
        )

    def opened(
        self, changes: Iterable[Change], entry: Source, *, page: Path | None = None, most: int | None = None
    ) -> Iterator[Opened]:
        """The changes, each with both answers; links lead from ``page``. Only the first ``most`` are side by side."""
        for number, change in enumerate(changes):
            answers = self._answers(change, page)
            shown = most is None or number < most
            groups = groups_of(change.category)
            yield Opened(
                change,
                groups[0] if groups else "",
                (change.before or PASSED, change.after or PASSED),
                self.words(change),
                (answers[0].page, answers[1].page),
                side_by_side(self._entry(change.id, entry), answers) if shown else None,
                self.places.beside(change) if self.places is not None else "",
            )

    def _entry(self, entry_id: str, find: Source) -> Entry | None:
        """The entry, with its corrected answer if the verdicts use it."""
        found = find(entry_id)
        corrected = found.verified if found is not None and self.rules == "verified" else None
        return found if corrected is None or isinstance(corrected, str) else corrected

    def _answers(self, change: Change, page: Path | None) -> tuple[Answer, Answer]:
        key = (change.id, change.repeat)
        sides = zip(
            ("before", "after"), (self.before, self.after), change.tallies,
            (self.comparison.before, self.comparison.after), (change.before, change.after), strict=True,
        )  # fmt: skip
        before, after = (
            Answer(label, lines.get(key) or _bare(change, model, reason), self._page(side, lines.get(key), page), tally)
            for side, (label, lines, tally, model, reason) in enumerate(sides)
        )
        return before, after

    def _page(self, side: int, record: Fields | None, page: Path | None) -> str:
        if self.places is not None:
            return self.places.page(side, record) if record is not None else ""
        return _link(self.folders[side], record, page)


def _lines(measurement: Measurement, model: str, ids: set[str], rules: str) -> dict[tuple[str, int], Fields]:
    """The lines of some entries of one model, as verdicts by these rules."""
    if not ids:
        return {}
    return {
        (str(line["id"]), int(line.get("repeat") or 1)): _under(line, rules)
        for line in measurement.lines(ids)
        if str(line.get("model") or "") == model
    }


def _under(line: Fields, rules: str) -> Fields:
    """A line with the outcome of the rules; details of another verdict are removed."""
    judged = Judged.of(line, rules)
    outcome, reason = judged.outcome, str(judged.reason or "").partition(" (")[0]
    if outcome == line.get("outcome") and (outcome == PASSED or reason == line.get("reason")):
        return line
    detail = {"rule": "the corrected answer of the verified data is another one"} if reason == VERIFIED else {}
    return {**line, "outcome": outcome, "reason": reason or None, "detail": detail}


def _bare(change: Change, model: str, reason: str | None) -> Fields:
    """The known facts of an answer without a line."""
    outcome = PASSED if reason is None else "failed"
    return {"id": change.id, "category": change.category, "model": model, "outcome": outcome, "reason": reason}


def _link(folder: Path | None, record: Fields | None, page: Path | None) -> str:
    """A relative link to an entry's page; else empty."""
    if folder is None or record is None or page is None:
        return ""
    model = str(record.get("model") or "")
    names = [page_name(record, ()), page_name(record, [model])]  # of several models, of one
    found = next((path for name in names if (path := folder / ENTRIES / name).is_file()), None)
    if found is not None:
        return relative_link(found, page.parent)
    packed = (folder / ENTRIES / FIRST_SHARD).is_file()
    return relative_link(folder / "index.html", page.parent) + place_in_index(names[0]) if packed else ""
