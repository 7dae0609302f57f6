"""The HTML report of a session: how much of it is written, and pages written while the run waits for replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pytest_bfcl.plugin.recording import Recording
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.reporting.ahead import PagesAhead
    from pytest_bfcl.reporting.report import Level
    from pytest_bfcl.running import Store
    from pytest_bfcl.runs import ResultLine, RunDirectory, Summary

MOST_PAGES = 20_000
"""Results beyond which nobody is thought to read every page: at 14 KB and half a millisecond each, 10⁵ of them would
take 1.4 GB and a minute."""


class ReportPages:
    """Writes the report, on the controller.

    Conversations are held and reported in one process, so pages are written ahead there; with workers they are not,
    since the conversations lie in other processes' files until the end.
    """

    def __init__(self, session: Session, recording: Recording, store: Store) -> None:
        self._session = session
        self._recording = recording
        self._store = store
        self._ahead: PagesAhead | None = None
        self._level: Level | None = None

    @property
    def has_pages(self) -> bool:
        """Whether entries have pages, once there are results."""
        return self._level == "full"

    def _level_for(self, results: int) -> Level:
        """How much of a report is written of so many results."""
        asked = self._session.plan.report
        if asked is None:
            return "index" if results > MOST_PAGES else "full"
        return cast("Level", asked)

    def add(self, record: ResultLine, line: str | None, planned: int) -> None:
        """A result that has just been kept, ``planned`` being how many there will be in this session."""
        if self._level is None:
            self._level = self._level_for(planned + len(self._recording.earlier.settled))
            if self._level == "full" and not self._session.distributed:
                self._ahead = self._opened()
        if self._ahead is not None and line is not None:
            self._ahead.add(record, line)

    def work(self) -> bool:
        """Use a moment in which nothing else is to do; ``False`` when there is nothing to do here either."""
        if self._ahead is None:
            return False
        try:
            return self._ahead.work()
        except Exception:  # the end writes the pages again, and tells what is wrong
            self._ahead = None
            return False

    def write(self, run: RunDirectory, summary: Summary) -> None:
        """The report as the level says; its trouble must not hide the results."""
        categories = (found for model in summary["models"].values() for found in model["categories"].values())
        results = sum(found["total"] for found in categories)
        level = self._level or self._level_for(results)
        if level == "none":
            return
        try:
            from pytest_bfcl.reporting import write_report

            source = self._session.data.measured
            write_report(run.path, entry_source=source, level=level, ahead=self._ahead)
        except Exception as error:
            self._session.notices.note(f"the report could not be written: {type(error).__name__}: {error}")
            return
        if level == "index" and self._session.plan.report is None:
            self._session.notices.note(
                f"the report has no pages of its {results:,} entries: pytest-bfcl report {run.path} writes them"
            )

    def _opened(self) -> PagesAhead | None:
        run = self._recording.run
        transcripts = self._store.transcripts
        if run is None or transcripts is None:
            return None
        from pytest_bfcl.reporting.ahead import PagesAhead
        from pytest_bfcl.reporting.sources import questions

        found = questions(self._session.data.measured, run.fingerprint.to_dict()["dataset"])
        return PagesAhead(run, found, transcripts)
