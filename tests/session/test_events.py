"""The events of a run: in order, each valid by the schema that readers of others go by."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.scoring.gating import GateOptions
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.session.events import event_schema
from pytest_bfcl.settings import Settings


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
    assert kinds == ["opened", "planned", *["line"] * lines, "gate", "closed"]
    assert events[1]["lines"] == lines > 0
    assert events[-2]["gate"]["verdict"] == "passed"
    assert events[-1]["state"] == "finished"
    assert events[-1]["summary"]["models"]["oracle:@fc"]["categories"]["simple_java"]["total"] == lines


def test_every_event_is_valid_by_the_schema(events: list[dict[str, Any]]) -> None:
    judge = jsonschema.Draft202012Validator(event_schema())
    for event in json.loads(json.dumps(events)):
        judge.validate(event)
    first = json.loads(json.dumps(events[0]))
    for broken in ({**first, "event": "began"}, {"event": "opened"}, {**first, "facts": 3}):
        assert not judge.is_valid(broken)
    line = next(each for each in events if each["event"] == "line")
    assert not judge.is_valid({**line, "line": {"id": 3}})
