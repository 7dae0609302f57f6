"""The wire checks of a session (set ``wire``) and their results: lines in the run directory, a table, a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.extensions.wire.asking import NODEID, WireChecks, WireFile, checks_of
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.plugin.failure_repr import FailureRepr, place_of, text_of
from pytest_bfcl.plugin.pytest_internals import Sink
from pytest_bfcl.plugin.session import opened
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.extensions.wire.outcome import Server, WireRecord
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.run import Run

HEAD: tuple[str, ...] = ("checks of", "held", "broke", "did not call", "refused", "not judged", "errors")
STATES = ("held", "broke", "not_called", "refused", "blocked", "error")


@dataclass(frozen=True)
class WireSet:
    """The set ``wire`` of a session (`pytest_bfcl.plugin.collection.CheckSet`)."""

    checks: Sequence[tuple[Contender, Sequence[str]]]
    asking: WireChecks
    only: frozenset[str] | None
    plugins: Mapping[str, object]

    def file(self, parent: pytest.Collector) -> WireFile:
        """``bfcl/wire.jsonl``; no such file exists."""
        path = parent.config.invocation_params.dir / NODEID
        node: WireFile = WireFile.from_parent(parent, path=path, nodeid=NODEID, name="wire.jsonl")
        node.checks, node.asking, node.only = self.checks, self.asking, self.only
        node.add_marker("wire")
        return node


def wire_checks(session: Session, contenders: Sequence[Contender], run: Run, only: frozenset[str] | None) -> WireSet:
    """The entry point. Raises `UsageError` for models without their own endpoint, and for unknown checks."""
    asking = WireChecks(session)
    plugins: dict[str, object] = {"bfcl-wire": asking}
    if not session.is_worker:
        plugins["bfcl-wire-report"] = WireReport(session, run)
    return WireSet(checks_of(contenders, only, run.folder, session.settings), asking, only, plugins)


class WireReport:
    """Receives records; none of them enters ``results.jsonl`` or an accuracy."""

    def __init__(self, session: Session, run: Run) -> None:
        self._session = session
        self._run = run
        self._records: list[WireRecord] = []
        self.page: str | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the record of a finished check on arrival."""
        line = getattr(report, "bfcl_wire", None)
        if line is None or str(report.outcome) == "rerun":
            return
        from pytest_bfcl.extensions.wire.outcome import LINES_FILE, read_records

        if (shown := text_of(report.longrepr)) is not None:  # as it came from a worker
            message = shown.partition("\n")[0].replace("WIRE_FAULT: ", "WIRE_FAULT ")
            report.longrepr = FailureRepr(shown, message, place_of(report.longrepr))
        run = opened(self._run)
        self._records.extend(read_records([line]))
        if run is None:
            return
        try:
            with (run.path / LINES_FILE).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            trouble = HarnessError(HarnessTrouble.STORAGE, f"{run.path / LINES_FILE}: {error.strerror or error}")
            self._session.notices.stop(trouble.message, summarised=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Write the page, with the results of earlier parts of the run."""
        from pytest_bfcl.extensions.wire.outcome import PAGE_FILE, read_lines, write_wire_page

        path = self._run.folder
        records = read_lines(path)
        if not records:
            return
        try:
            self._records = records
            write_wire_page(records, path / PAGE_FILE)
            self.page = str(path / PAGE_FILE)
        except OSError as error:
            self._session.notices.note(f"the page of the wire checks could not be written: {error}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """A separate table, because it measures the server and not the model."""
        if not self._records:
            return
        from pytest_bfcl.extensions.wire.outcome import servers

        terminalreporter = Sink(terminalreporter)
        for server in servers(self._records):
            terminalreporter.write_sep("=", f"the server, not the model: {server.model} over {server.api}")
            for line in server_lines(server):
                terminalreporter.write_line(line)
        if self.page:
            terminalreporter.write_line(f"for the server's maintainers: {self.page}")


def server_lines(server: Server) -> Iterator[str]:
    """A table by group, the trigger rate, the measures in both forms, the faults."""
    from pytest_bfcl.extensions.wire.outcome import measure_lines
    from pytest_bfcl.reporting.printing import aligned
    from pytest_bfcl.reporting.rendering import percent

    if server.headline:
        yield server.headline
    rows = [HEAD]
    for group in dict.fromkeys(record.group for record in server.records):
        states = [record.state for record in server.records if record.group == group]
        rows.append((group, *(str(states.count(state) or "") for state in STATES)))
    rows.append(("all", *(str(server.counts[state] or "") for state in STATES)))
    yield from aligned(rows, gap="  ")
    if server.trigger_rate is not None:
        share = percent(server.trigger_rate)
        yield f"trigger rate: the model called in {share} of the attempts in which it plainly should"
    for what, whole, streamed in measure_lines(server.figures):
        yield f"{what}: {whole} unstreamed, {streamed} streamed"
    for record in server.broken:
        yield f"broke {record.check} (held {record.held_text}): {record.why[:200]}"
