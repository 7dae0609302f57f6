"""One page about a server: what was checked, what broke, and for each fault the request, the answer and the rule.

Made to be sent to the server's maintainers: a single file that needs nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_bfcl.extensions.wire.outcome import STATES, WireRecord, newest, read_records, trigger_rate
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.reporting import rendering
from pytest_bfcl.reporting.rendering import percent

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
        """Share of attempts in which the model called as it was plainly asked; no text completion can."""
        if self.api == "completions":
            return None
        return trigger_rate(self.records)

    @property
    def headline(self) -> str:
        """What precedes everything else: a server that never called shows nothing about most rules; else empty."""
        if self.trigger_rate != 0:
            return ""
        silent = self.counts["not_called"] + self.counts["blocked"]
        return (
            f"This server never returned a tool call: {silent} of {len(self.records)} checks say nothing. Are tools "
            "switched on, is a parser of calls chosen, can this model call at all?"
        )

    @property
    def rows(self) -> list[WireRecord]:
        """The checks a reader is shown: of a server that never called not those that wait for a call."""
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
    """The records kept in a run directory, newest of each check."""
    path = run / LINES_FILE
    if not path.is_file():
        return []
    return newest(read_records(path.read_text(encoding="utf-8", errors="replace").splitlines()))


def write_wire_page(records: Iterable[WireRecord], path: Path) -> None:
    """Write the page; raises `OSError`."""
    rendering.write_page(path, rendering.render(TEMPLATE, **wire_values(servers(records))))


def wire_values(found: Sequence[Server]) -> Parsed:
    """What `TEMPLATE` makes the page of."""
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
    """(measure, unstreamed, streamed) of the measures that are there."""
    return [
        (what, percent(figures[f"{name}_unstreamed"]), percent(figures[f"{name}_streamed"]))
        for name, what in MEASURES
        if f"{name}_unstreamed" in figures and f"{name}_streamed" in figures
    ]
