"""Pages written while a run goes on, in the time in which it waits for replies; the end writes what is missing.

What is written ahead is a guess about the finished run: that no entry runs again, that the models keep their names. The
end compares every page's links with the finished results and writes those pages again for which the guess was wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.entry_pages import EntryPages, Head, Written, head_of
from pytest_bfcl.reporting.pages import Neighbours
from pytest_bfcl.reporting.replayed import memory_shown
from pytest_bfcl.reporting.sources import Questions
from pytest_bfcl.runs import ModelFingerprint, Place, RunDirectory, TranscriptStore
from pytest_bfcl.runs.lines import parse_object

MOST_HELD = 2_000
"""Lines held for their pages; with more, the run has no time to spare, and the end writes the later ones."""
MOST_WRITTEN = 200_000
"""Pages written ahead, each remembered with some 500 bytes."""


class _Held(NamedTuple):
    """A result whose page can be written: all its links are known."""

    page: str
    result: str | Fields
    neighbours: Neighbours


class PagesAhead:
    """Takes the result lines of a run as they are written, and writes their pages one by one when asked to.

    ``run`` holds no results yet; ``transcripts`` knows a conversation as soon as it is over.
    """

    def __init__(self, run: RunDirectory, found: Questions, transcripts: TranscriptStore) -> None:
        self._pages = EntryPages(run, found, transcripts)
        self._models = run.fingerprint.models
        self._named: list[str] | None = None
        self._last: dict[str, tuple[Head, str, str | Fields]] = {}  # outcome → last head, page before it, result
        self._held: deque[_Held] = deque()
        self._written: dict[str, Written] = {}
        self._seen: set[str] = set()
        self._left: set[str] = set()  # pages left to the end
        self._full = False
        self._warm: deque[Callable[[], object]] = deque(
            (rendering.environment, lambda: rendering.environment().get_template("index.html.jinja"))
        )

    def add(self, record: Fields, line: str | None = None) -> None:
        """One result; its page can be written once the next one with the same outcome is known.

        Given its line too, that is held in the meantime: it takes less memory than what was parsed of it.
        """
        if self._full:
            return
        self._named = self._named or ([str(record.get("model") or "")] if len(self._models) <= 1 else [])
        head = head_of(record, self._named)
        if head.page in self._seen:  # the entry ran again: its earlier line no longer counts
            self._left.add(head.page)
            self._written.pop(head.page, None)
            return
        self._seen.add(head.page)
        if memory_shown(record):  # another host may not have sent it yet
            self._left.add(head.page)
        before = self._last.get(head.outcome)
        if before is not None:
            last, page_before, last_result = before
            self._held.append(_Held(last.page, last_result, Neighbours(page_before, head.page)))
        self._last[head.outcome] = head, before[0].page if before is not None else "", line or record
        self._full = len(self._held) >= MOST_HELD or len(self._seen) >= MOST_WRITTEN

    def work(self) -> bool:
        """Do one small thing: write one page, or load what the end will need; ``False`` when there is nothing to do."""
        if self._warm:
            self._warm.popleft()()
            return True
        if not self._held:
            return False
        page, result, neighbours = self._held.popleft()
        if page not in self._left:
            record = parse_object(result.encode()) if isinstance(result, str) else result
            self._written[page] = self._pages.write(page, record, neighbours)
        return True

    def take(
        self, page: str, neighbours: Neighbours, models: tuple[ModelFingerprint, ...], place: Place | None
    ) -> Written | None:
        """What a page was written with, if it was, and as the finished run wants it; asked once a page.

        ``place`` is where the finished run has the entry's transcript.
        """
        written = self._written.pop(page, None)
        fits = written is not None and (written.neighbours, written.place) == (neighbours, place)
        return written if fits and tuple(models) == tuple(self._models) else None

    def remove_others(self) -> None:
        """Remove the pages nobody took: the finished run names them otherwise."""
        for page in self._written:
            (self._pages.folder / page).unlink(missing_ok=True)
        self._written.clear()
