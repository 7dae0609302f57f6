"""What happens in a run, in order, as typed records: the format for programs that follow a run.

``opened`` and ``planned`` come first, then ``answered`` for replies and a ``line`` for every kept line of
``results.jsonl``. Then follow ``notice`` and ``gate`` where there is something to report, last ``closed``.
`pytest-bfcl validate schema event` prints the JSON Schema. Fields and events may be added: readers ignore those they do
not know. None is taken away or changes its meaning within a major version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.runs.result_line import ResultLine, schema_of
from pytest_bfcl.runs.summary_types import GateSummary, Summary

if TYPE_CHECKING:
    from pytest_bfcl.runs.journal import ReplyKey
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
    """A reply of an entry whose line comes later; an agent's replies follow when it has ended.

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
