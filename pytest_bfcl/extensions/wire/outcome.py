"""The result of a check: attempts, how often the rule was met, the exchanges that prove a fault; its stored line.

A line of ``wire.jsonl`` has what a maintainer needs to reproduce the fault. Keys and passwords are removed first; long
answers keep their beginning, their end and the bytes that prove the fault.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_bfcl.extensions.wire.client import Place
from pytest_bfcl.extensions.wire.probe import Blocked, NotHeld, Probe, Suspected
from pytest_bfcl.extensions.wire.replies import Exchange
from pytest_bfcl.extensions.wire.row import Check
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.anthropic import VERSION
from pytest_bfcl.models.endpoint import Endpoint
from pytest_bfcl.plain_text import clean_line
from pytest_bfcl.reporting import rendering

STATES = {
    "held": "the rule held",
    "broke": "the server broke the rule",
    "not_called": "the model did not call as it was plainly asked; nothing is said about the server",
    "refused": "the server says that it does not offer this",
    "blocked": "not judged, because a rule it builds on is broken",
    "error": "the endpoint could not be asked",
}
"""State of a check → its meaning."""
JUDGED = ("held", "broke", "not_called")
"""States of attempts in which a call was expected."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one attempt of a check, or of its attempts together. ``counts``: state → attempts; ``called``:
    those in which the model called at all.
    """

    check: Check
    state: str
    counts: Mapping[str, int]
    why: str = ""
    exchanges: tuple[Exchange, ...] = ()
    proof: bytes = b""
    certain: bool = True
    suspected: bool = False
    called: int = 0
    blocked_by: str = ""
    error: BenchmarkError | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    cells: tuple[str, ...] = ()

    @classmethod
    def of(cls, check: Check, end: NotHeld, probe: Probe) -> Outcome:
        """The result of an attempt with this end; where refusal is not allowed, a refusal is a fault."""
        state = "broke" if end.state == "refused" and not check.optional else end.state
        return cls(
            check, state, {state: 1}, end.why, end.exchanges[:3], end.proof, getattr(end, "certain", True),
            isinstance(end, Suspected), int(probe.called), end.by if isinstance(end, Blocked) else "",
            figures=probe.figures, cells=end.cells,
        )  # fmt: skip

    def blocked(self, by: str) -> Outcome:
        """The same, not judged because another check is broken."""
        return replace(self, state="blocked", blocked_by=by, why=f"not judged: {by} is broken ({self.why})")

    def unconfirmed(self) -> Outcome:
        """The same, if a suspicion did not recur: the server is not blamed."""
        counts = Counter(self.counts)
        counts["not_called"] += counts.pop("broke", 0)
        return replace(self, state="not_called", counts=dict(counts), why=f"{self.why}; not seen again")


def summed(attempts: Sequence[Outcome]) -> Outcome:
    """One fault decides; then an error, a rule that was met, a refusal, and last a model that never called."""
    counts = Counter(attempt.state for attempt in attempts)
    state = next(name for name in ("broke", "error", "held", "blocked", "refused", "not_called") if counts[name])
    first = next(attempt for attempt in attempts if attempt.state == state)
    names = {name for attempt in attempts for name in attempt.figures}
    figures = {name: _mean([a.figures[name] for a in attempts if name in a.figures]) for name in sorted(names)}
    return replace(first, counts=dict(counts), called=sum(attempt.called for attempt in attempts), figures=figures)


def _mean(values: Sequence[float | None]) -> float | None:
    """Of the attempts in which there was one."""
    told = [value for value in values if value is not None]
    return sum(told) / len(told) if told else None


def trigger_rate(found: Iterable[Outcome | WireRecord]) -> float | None:
    """Share of attempts in which the model called as plainly requested; ``None`` without requests."""
    pairs = [(each.called, sum(each.counts.get(state, 0) for state in JUDGED)) for each in found]
    asked = sum(count for _, count in pairs)
    return sum(min(called, count) for called, count in pairs) / asked if asked else None


# -- as it is kept ---------------------------------------------------------------------------------------------------

SENT_LIMIT = 150_000
"""Longest stored request in characters."""
HEAD, TAIL = 12_000, 4_000
PROOF_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A readable exchange. ``curl`` sends the request again, with the key in a shell variable."""

    curl: str
    status: int
    content_type: str
    seconds: float
    received: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class WireRecord:
    """The result of one check of one model. ``counts``: state → attempts; ``certain``: no model could have done
    this."""

    check: str
    group: str
    model: str
    api: str
    endpoint: str
    state: str
    rule: str
    where: str
    counts: Mapping[str, int]
    why: str = ""
    certain: bool = True
    called: int = 0
    blocked_by: str = ""
    proof: str = ""
    exchanges: tuple[Shown, ...] = ()
    figures: Mapping[str, float | None] = field(default_factory=dict)
    cells: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reason of a failure."""
        return f"wire:{self.check}"

    @property
    def held_text(self) -> str:
        """How often the rule was met: ``3 of 5``."""
        return f"{self.counts.get('held', 0)} of {sum(self.counts.values())}"

    @property
    def line(self) -> str:
        """The record as one line of JSON, without its end."""
        return json.dumps(asdict(self), ensure_ascii=True, separators=(",", ":"))


def record_of(outcome: Outcome, place: Place, model: str) -> WireRecord:
    """The record of an outcome; ``model`` is the spec in results."""
    check, hidden = outcome.check, place.hidden
    why = hidden(clean_line(" ".join(outcome.why.split())))
    return WireRecord(
        check.name, check.group, model, place.api, place.address, outcome.state, check.text,
        check.source(place.api), dict(outcome.counts), why, outcome.certain, outcome.called,
        outcome.blocked_by, hidden(_text(outcome.proof[:PROOF_LIMIT])),
        tuple(_excerpt(each, place) for each in outcome.exchanges[:2]), dict(outcome.figures), outcome.cells,
    )  # fmt: skip


def read_records(lines: Iterable[str]) -> Iterator[WireRecord]:
    """The records of ``wire.jsonl``; damaged lines are skipped."""
    for line in lines:
        try:
            yield _read(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue


def newest(records: Iterable[WireRecord]) -> list[WireRecord]:
    """The last record of each check, model and API, in order of first appearance."""
    return list({(record.model, record.api, record.check): record for record in records}.values())


def _read(found: dict[str, Any]) -> WireRecord:
    shown = tuple(Shown(**each) for each in found.pop("exchanges", ()))
    record = WireRecord(**{**found, "cells": tuple(map(str, found.get("cells", ())))}, exchanges=shown)
    if record.state not in STATES or not all(isinstance(count, int) for count in record.counts.values()):
        raise ValueError(f"no state: {record.state!r}")
    return record


def _excerpt(exchange: Exchange, place: Place) -> Shown:
    received, sent = _text(exchange.received), _text(exchange.sent)
    if len(sent) > SENT_LIMIT:
        sent = f"{sent[:SENT_LIMIT]} … {len(sent) - SENT_LIMIT} characters left out …"
    server, path = place.server, exchange.path.lstrip("/")
    command = curl(server, place.api, path, sent, headers=server.settings.headers, keyed=server.has_key)
    if len(received) > HEAD + TAIL:
        left = len(received) - HEAD - TAIL
        received = f"{received[:HEAD]}\n… {left} characters left out …\n{received[-TAIL:]}"
    return Shown(
        place.hidden(command), exchange.status, exchange.content_type[:200],
        round(exchange.seconds, 3),
        place.hidden(received), f"{exchange.trouble}: {exchange.said}" if exchange.trouble else "",
    )  # fmt: skip


def curl(server: Endpoint, api: str, path: str, body: str, *, headers: Iterable[str], keyed: bool = True) -> str:
    """The request for a shell, with names in place of keys. The command reads the body as data, so nothing in it is
    interpreted.
    """
    words = ["curl", "-sS", "-N", shlex.quote(server.public_url(path)), "-H 'content-type: application/json'"]
    words += [f"-H {shlex.quote(f'{name}: …')}" for name in headers]
    anthropic = api == "anthropic"
    words += [f"-H 'anthropic-version: {VERSION}'"] if anthropic else []
    name = "x-api-key: " if anthropic else "authorization: Bearer "
    words += [f'-H "{name}${server.key_variable}"'] if keyed else []
    end = "JSON"
    while end in body.splitlines():
        end += "_"
    return f"{' '.join(words)} --data-binary @- <<'{end}'\n{body}\n{end}"


def _text(data: bytes) -> str:
    """Bytes as text; invalid UTF-8 becomes ``\\x..``."""
    return data.decode("utf-8", "backslashreplace")


TEMPLATE = "wire.html.jinja"
LINES_FILE = "wire.jsonl"
PAGE_FILE = "wire.html"
ORDER = ("broke", "error", "blocked", "refused", "not_called", "held")


@dataclass(frozen=True, slots=True)
class Server:
    """One model at one address over one API, with its records."""

    model: str
    api: str
    endpoint: str
    records: Sequence[WireRecord]

    @property
    def counts(self) -> Counter[str]:
        """State → checks."""
        return Counter(record.state for record in self.records)

    @property
    def trigger_rate(self) -> float | None:
        """Share of attempts in which the model called as plainly requested; text completions have none."""
        if self.api == "completions":
            return None
        return trigger_rate(self.records)

    @property
    def headline(self) -> str:
        """The note at the top: a server that never called shows nothing about most rules; else empty."""
        if self.trigger_rate != 0:
            return ""
        silent = self.counts["not_called"] + self.counts["blocked"]
        return (
            f"This server never returned a tool call: {silent} of {len(self.records)} checks say nothing. Are tools "
            "switched on, is a parser of calls chosen, can this model call at all?"
        )

    @property
    def rows(self) -> list[WireRecord]:
        """The shown checks: for a server that never called without those that need a call."""
        if not self.headline:
            return list(self.records)
        return [record for record in self.records if record.state not in ("not_called", "blocked")]

    @property
    def broken(self) -> list[WireRecord]:
        """The faults, in the checks' order."""
        return [record for record in self.records if record.state == "broke"]

    @property
    def figures(self) -> dict[str, float | None]:
        """The measures next to the checks."""
        return {name: value for record in self.records for name, value in record.figures.items()}


def servers(records: Iterable[WireRecord]) -> list[Server]:
    """The records by model, API and address; the newest of each check."""
    grouped: dict[tuple[str, str], list[WireRecord]] = {}
    for record in newest(records):
        grouped.setdefault((record.model, record.api), []).append(record)
    return [Server(model, api, found[-1].endpoint, found) for (model, api), found in grouped.items()]


def read_lines(run: Path) -> list[WireRecord]:
    """The records in a run directory, the newest of each check."""
    path = run / LINES_FILE
    if not path.is_file():
        return []
    return newest(read_records(path.read_text(encoding="utf-8", errors="replace").splitlines()))


def write_wire_page(records: Iterable[WireRecord], path: Path) -> None:
    """Write the page. Raises `OSError`."""
    rendering.write_page(path, rendering.render(TEMPLATE, **wire_values(servers(records))))


def wire_values(found: Sequence[Server]) -> Parsed:
    """The values of the page's `TEMPLATE`."""
    return {
        "title": "Wire conformance", "servers": found, "states": STATES, "order": ORDER, "measures": measure_lines,
    }  # fmt: skip


MEASURES = (
    ("schema", "calls whose arguments satisfy the schema"),
    ("precision", "precision of calling"),
    ("recall", "recall of calling"),
    ("f1", "F1 of calling"),
)


def measure_lines(figures: Mapping[str, float | None]) -> list[tuple[str, str, str]]:
    """(measure, unstreamed, streamed) of the available measures."""
    return [
        (what, rendering.percent(figures[f"{name}_unstreamed"]), rendering.percent(figures[f"{name}_streamed"]))
        for name, what in MEASURES
        if f"{name}_unstreamed" in figures and f"{name}_streamed" in figures
    ]
