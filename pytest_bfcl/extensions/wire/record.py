"""An outcome as it is kept: one JSON line of ``wire.jsonl``, with what a maintainer needs to see the fault again.

Keys and passwords are taken out before anything is kept; long answers keep their beginning, their end and the bytes
that
prove the fault.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_bfcl.extensions.wire.client import Place
from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.outcome import STATES, Outcome
from pytest_bfcl.models.anthropic import VERSION

SENT_LIMIT = 150_000
"""Longest request kept, in characters."""
HEAD, TAIL = 12_000, 4_000
PROOF_LIMIT = 4_000


@dataclass(frozen=True, slots=True)
class Shown:
    """An exchange as people read it. ``curl`` asks the same again, the key left to a variable of the shell."""

    curl: str
    status: int
    content_type: str
    seconds: float
    received: str
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class WireRecord:
    """What came of one check of one model. ``counts``: state → attempts; ``certain``: no model could have done this."""

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
        """How often the rule held: ``3 of 5``."""
        return f"{self.counts.get('held', 0)} of {sum(self.counts.values())}"

    @property
    def line(self) -> str:
        """The record as one line of JSON, without its end."""
        return json.dumps(asdict(self), ensure_ascii=True, separators=(",", ":"))


def record_of(outcome: Outcome, place: Place, model: str) -> WireRecord:
    """The record of an outcome; ``model`` is the spec as results name it."""
    check = outcome.check
    hidden = place.hidden
    return WireRecord(
        check.name, check.group, model, place.api, place.address, outcome.state, check.rule.text, check.rule.where,
        dict(outcome.counts), hidden(printable(outcome.why)), outcome.certain, outcome.called, outcome.blocked_by,
        hidden(_text(outcome.proof[:PROOF_LIMIT])), tuple(_excerpt(each, place) for each in outcome.exchanges[:2]),
        dict(outcome.figures), outcome.cells,
    )  # fmt: skip


def read_records(lines: Iterable[str]) -> Iterator[WireRecord]:
    """The records of ``wire.jsonl``; what is no record (a torn last line) is passed over."""
    for line in lines:
        try:
            yield _read(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue


def newest(records: Iterable[WireRecord]) -> list[WireRecord]:
    """The last record of each check, model and API, in the order they first came."""
    return list({(record.model, record.api, record.check): record for record in records}.values())


def _read(found: dict[str, Any]) -> WireRecord:
    shown = tuple(Shown(**each) for each in found.pop("exchanges", ()))
    record = WireRecord(**{**found, "cells": tuple(map(str, found.get("cells", ())))}, exchanges=shown)
    if record.state not in STATES or not all(isinstance(count, int) for count in record.counts.values()):
        raise ValueError(f"no state: {record.state!r}")
    return record


def _excerpt(exchange: Exchange, place: Place) -> Shown:
    received = _text(exchange.received)
    if len(received) > HEAD + TAIL:
        left = len(received) - HEAD - TAIL
        received = f"{received[:HEAD]}\n… {left} characters left out …\n{received[-TAIL:]}"
    return Shown(
        place.hidden(curl(exchange, place)), exchange.status, exchange.content_type[:200],
        round(exchange.seconds, 3),
        place.hidden(received), f"{exchange.trouble}: {exchange.said}" if exchange.trouble else "",
    )  # fmt: skip


def curl(exchange: Exchange, place: Place) -> str:
    """The request for a shell: without the key, and without reading the body's signs."""
    words = ["curl", "-sS", "-N", shlex.quote(place.address + exchange.path), "-H 'content-type: application/json'"]
    words += [f"-H {shlex.quote(f'{name}: …')}" for name in place.server.settings.headers]
    if place.api == "anthropic":
        words.append(f"-H 'anthropic-version: {VERSION}'")
    if place.server.has_key:
        header = "x-api-key: " if place.api == "anthropic" else "authorization: Bearer "
        words.append(f'-H "{header}${place.server.key_variable}"')
    body = _text(exchange.sent)
    if len(body) > SENT_LIMIT:
        body = f"{body[:SENT_LIMIT]} … {len(body) - SENT_LIMIT} characters left out …"
    return f"{' '.join(words)} --data-binary @- <<'JSON'\n{body}\nJSON"


def _text(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 becomes ``\\x..``."""
    return data.decode("utf-8", "backslashreplace")


def printable(text: str) -> str:
    """One line that a terminal and an XML file take."""
    flat = " ".join(text.split())
    return flat if flat.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in flat)
