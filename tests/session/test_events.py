"""The events of a run: in order, each valid by the schema that readers of others go by."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.scoring.gating import GateOptions
from pytest_bfcl.session import sinks
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.session.sinks import event_schema
from pytest_bfcl.settings import Settings
from tests.session.test_run import IDS, filled, line, run_at


class Reader:
    """A reader of another package: it sees every event."""

    def __init__(self, run: Any = None) -> None:
        self.events: list[dict[str, Any]] = []

    def see(self, event: dict[str, Any]) -> None:
        self.events.append(event)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """Those of a run with a gate, of which two entries fail."""
    reader = Reader()
    point = SimpleNamespace(name="mine", load=lambda: lambda run: reader, value="m:mine", dist=None)
    monkeypatch.setattr(entry_points, "offered", lambda kind: {"mine": point} if kind == "sinks" else {})
    gates = GateOptions(fail_under=["simple_java=50"])
    run("bundled", "oracle:", categories=["simple_java"], settings=Settings(sinks=("mine",)), gates=gates,
        out=tmp_path / "run")  # fmt: skip
    return reader.events


def test_a_run_tells_what_happens_in_order(events: list[dict[str, Any]]) -> None:
    kinds = [each["event"] for each in events]
    lines = kinds.count("line")
    assert [kind for kind in kinds if kind != "answered"] == ["opened", "planned", *["line"] * lines, "gate", "closed"]
    assert events[1]["lines"] == lines > 0
    assert events[-2]["gate"]["verdict"] == "passed"
    assert events[-1]["state"] == "finished"
    assert events[-1]["summary"]["models"]["oracle:@fc"]["categories"]["simple_java"]["total"] == lines


def test_a_reply_is_told_before_its_line(events: list[dict[str, Any]]) -> None:
    told = [each for each in events if each["event"] == "answered"]
    lines = {each["line"]["id"]: (place, each["line"]) for place, each in enumerate(events) if each["event"] == "line"}
    assert {each["id"] for each in told} == set(lines)
    for each in told:
        place, line = lines[each["id"]]
        assert events.index(each) < place
        assert (each["model"], each["mode"], each["repeat"]) == (line["model"], line["mode"], line["repeat"])
        assert (each["turn"], each["step"], each["latency_s"]) == (0, 0, line["latency_s"])


def test_lines_come_before_replies_where_a_sink_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    going, reader = threading.Event(), Reader()
    point = SimpleNamespace(name="slow", load=lambda: lambda run: going.wait(5) and reader, value="m:s", dist=None)
    monkeypatch.setattr(entry_points, "offered", lambda kind: {"slow": point})
    monkeypatch.setattr(sinks, "MOST_WAITING", 8)
    told = sinks.Sinks(("slow",), sinks.SinkRun("r", None, {}, 0))
    for _ in range(20):
        told.answered({"event": "answered"})  # type: ignore[typeddict-item]
    told.take({"id": "a"})  # type: ignore[typeddict-item]
    going.set()
    assert list(told.close({"gate": {"verdict": "none"}})) == []  # type: ignore[typeddict-item]
    told.answered({"event": "answered"})  # type: ignore[typeddict-item]
    kinds = [each["event"] for each in reader.events]
    assert (kinds[:2], kinds[-2:], 0 < kinds.count("answered") < 8) == (["opened", "planned"], ["line", "closed"], True)


def test_a_line_without_a_reply_opens_the_sinks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored replies are asked of nobody, so no event of a reply comes first."""
    reader = Reader()
    point = SimpleNamespace(name="mine", load=lambda: lambda run: reader, value="m:mine", dist=None)
    monkeypatch.setattr(entry_points, "offered", lambda kind: {"mine": point} if kind == "sinks" else {})
    run = run_at(None, settings=Settings(sinks=("mine",)))
    filled(run, *map(line, IDS))
    assert [each["event"] for each in reader.events] == ["opened", "planned", *["line"] * len(IDS), "closed"]


def test_every_event_is_valid_by_the_schema(events: list[dict[str, Any]]) -> None:
    judge = jsonschema.Draft202012Validator(event_schema())
    for event in json.loads(json.dumps(events)):
        judge.validate(event)
    first = json.loads(json.dumps(events[0]))
    for broken in ({**first, "event": "began"}, {"event": "opened"}, {**first, "facts": 3}):
        assert not judge.is_valid(broken)
    line = next(each for each in events if each["event"] == "line")
    assert not judge.is_valid({**line, "line": {"id": 3}})
