"""Sinks: receivers of a run in progress (``--bfcl-report``), each in its own thread.

A sink receives copies of stored lines. If it is slow, fails or hangs, the run does not wait before its end and does not
change. At the end it reports once what the sink did not take.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from typing_extensions import TypedDict

from pytest_bfcl import entry_points
from pytest_bfcl.failures import BenchmarkError, UsageError, instead_of
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import clean, counted, cut
from pytest_bfcl.redaction import redact
from pytest_bfcl.runs.result_line import ResultLine, schema_of
from pytest_bfcl.runs.summary_types import GateSummary, Summary
from pytest_bfcl.settings import LEVELS

if TYPE_CHECKING:
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs.journal import ReplyKey
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.transcript import Reply


class Opened(TypedDict):
    """The run begins, or is resumed. ``facts``: as in ``run.json``; ``path`` is its directory, if it has one."""

    event: Literal["opened"]
    run: str
    path: str | None
    facts: dict[str, Any]


class Planned(TypedDict):
    """Number of lines of the whole run, earlier parts included; 0 if unknown."""

    event: Literal["planned"]
    lines: int


class Answered(TypedDict):
    """A reply of an entry whose line comes later; of an agent, its calls before a result.

    ``turn`` and ``step`` count from 0, ``latency_s`` is of the attempt that succeeded. A sink that is behind does not
    receive all of them.
    """

    event: Literal["answered"]
    model: str
    mode: str
    id: str
    repeat: int
    turn: int
    step: int
    input_tokens: int | None
    output_tokens: int | None
    latency_s: float | None


class Line(TypedDict):
    """One entry ended."""

    event: Literal["line"]
    line: ResultLine


class Notice(TypedDict):
    """A sentence for the user: a switch to prompting, a file that could not be written."""

    event: Literal["notice"]
    text: str


class GateJudged(TypedDict):
    """``gate``: as in ``summary.json``, its ``verdict`` and ``checks``."""

    event: Literal["gate"]
    gate: GateSummary


class Closed(TypedDict):
    """The last event. ``state``: ``finished``, or ``stopped:`` and why; ``summary`` as in ``summary.json``."""

    event: Literal["closed"]
    state: str
    summary: Summary


Event = Opened | Planned | Answered | Line | Notice | GateJudged | Closed


def answered_event(key: ReplyKey, reply: Reply) -> Answered:
    """The figures of a reply, without its text."""
    return {
        "event": "answered", "model": key.model, "mode": key.mode, "id": key.entry_id, "repeat": key.repeat,
        "turn": key.turn, "step": key.step, "input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens,
        "latency_s": reply.latency_s,
    }  # fmt: skip


def event_schema() -> Parsed:
    """JSON Schema of one event."""
    return schema_of(Event, "An event of a run")


MOST_WAITING = 10_000
"""Most lines a sink may lag behind; further lines are dropped for it."""
MOST_FAILURES = 20
"""Failures in a row after which a sink receives nothing more."""
AT_THE_END_S = 30.0
"""How long a run waits for all its sinks at the end."""


@dataclass(frozen=True, slots=True)
class SinkRun:
    """The facts of a run for a sink. ``facts``: as in ``run.json``; ``planned``: expected lines, 0 if unknown."""

    name: str
    path: Path | None
    facts: Fields
    planned: int


class Sink(Protocol):
    """The sink that an entry point ``pytest_bfcl.sinks`` makes of a `SinkRun`; one thread calls all of it.

    A sink with a method ``see(event)`` receives every event (`pytest_bfcl.session.sinks`) instead.
    """

    def take(self, line: ResultLine) -> None:
        """Take one result line, a copy."""

    def close(self, summary: Summary) -> None:
        """The run has ended; send what waits."""


class Opener(Protocol):
    """The entry point's object. It may have ``check()``, which raises `UsageError` if something is missing."""

    def __call__(self, run: SinkRun) -> Sink:
        """Open the sink."""


def check_sinks(names: Sequence[str]) -> None:
    """Raise `UsageError` before the first request for sinks that are not installed or lack something."""
    for name in names:
        check = getattr(_opener(name), "check", None)
        if check is not None:
            check()


def _opener(name: str) -> Opener:
    point = entry_points.find("sinks", name)
    if point is None:
        known = sorted(entry_points.offered("sinks"))
        raise UsageError(
            f"--bfcl-report: {name!r} is neither a level nor a sink; {instead_of(name, [*LEVELS, *known])}"
        )
    return cast("Opener", entry_points.load(point, "sink"))


class Sinks:
    """The sinks of one run, which receive its events."""

    def __init__(self, names: Sequence[str], run: SinkRun) -> None:
        self._threads = [_Thread(name, run) for name in names]
        path = None if run.path is None else str(run.path)
        self._tell({"event": "opened", "run": run.name, "path": path, "facts": dict(run.facts)})
        self._tell({"event": "planned", "lines": run.planned})

    def take(self, line: ResultLine, text: str | None = None) -> None:
        """Pass a line to each; never waits."""
        self._tell({"event": "line", "line": line})

    def answered(self, event: Answered) -> None:
        """Report that a reply has arrived; from any thread. Nobody sees one after `close`."""
        self._tell(event)

    def _tell(self, event: Event) -> None:
        for each in self._threads:
            each.hand(event)

    def close(self, summary: Summary, state: str = "finished", notes: Sequence[str] = ()) -> Iterator[str]:
        """Send the last events, and return what was not received."""
        for note in notes:
            self._tell({"event": "notice", "text": note})
        if summary["gate"]["verdict"] != "none":
            self._tell({"event": "gate", "gate": summary["gate"]})
        for each in self._threads:
            each.end({"event": "closed", "state": state, "summary": summary})
        until = time.monotonic() + AT_THE_END_S
        for each in self._threads:
            yield from each.trouble_lines(until)


class _Thread:
    """One sink. Its thread ends with the process, even if the sink hangs."""

    def __init__(self, name: str, run: SinkRun) -> None:
        self._name, self._run = name, run
        self._waiting: queue.Queue[Event] = queue.Queue(MOST_WAITING)
        self._lines = self._taken = 0
        self._trouble: str | None = None
        self._thread = threading.Thread(target=self._work, name=f"bfcl-sink-{name}", daemon=True)
        self._thread.start()

    def hand(self, event: Event) -> None:
        if event["event"] == "answered" and self._waiting.qsize() > MOST_WAITING // 2:
            return  # the room that is left is for lines
        self._lines += event["event"] == "line"
        try:
            self._waiting.put_nowait(event)
        except queue.Full:
            self._trouble = self._trouble or "it is too slow"

    def end(self, event: Closed) -> None:
        with suppress(queue.Full):  # then the thread does not end, which is told
            self._waiting.put(event, timeout=1.0)

    def trouble_lines(self, until: float) -> Iterator[str]:
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive():
            self._trouble = self._trouble or f"it did not end within {AT_THE_END_S:.0f} s"
        if missed := self._lines - self._taken:
            lines = f"{missed:,} of {counted(self._lines, 'line')} not taken"
            yield f"sink {self._name}: {lines}: {self._trouble}; the run itself is whole"
        elif self._trouble:
            yield f"sink {self._name}: {self._trouble}; the run itself is whole"

    def _work(self) -> None:
        try:
            sink = _opener(self._name)(self._run)
        except BaseException as error:  # theirs: it may be anything
            self._fail(error)
            return
        failures = 0
        see: Callable[[Event], object] = getattr(sink, "see", None) or partial(_deliver_line, sink)
        while True:
            event = self._waiting.get()
            if failures < MOST_FAILURES or event["event"] == "closed":
                try:
                    see(deepcopy(event))
                    self._taken += event["event"] == "line"
                    failures = 0
                except BaseException as error:
                    self._fail(error)
                    failures += 1
            if event["event"] == "closed":
                return

    def _fail(self, error: BaseException) -> None:
        said = str(error) if isinstance(error, BenchmarkError | UsageError) else f"{type(error).__name__}: {error}"
        self._trouble = self._trouble or redact(cut(clean(" ".join(said.split())), 200))


def _deliver_line(sink: Sink, event: Event) -> None:
    if event["event"] == "line":
        sink.take(event["line"])
    elif event["event"] == "closed":
        sink.close(event["summary"])
