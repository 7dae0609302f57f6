"""Sinks: told of a run while it goes on, in order; one that is slow, fails or hangs loses and changes nothing of it."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.gating import GateOptions
from pytest_bfcl.session import sinks
from pytest_bfcl.session.closing import RunResult
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings
from tests.session.test_run import IDS, filled, line, run_at

CATEGORIES = ["simple_java", "multi_turn_base"]


class Kept:
    """A sink that keeps lines; ``trouble`` says what goes wrong with it."""

    def __init__(self, trouble: str = "") -> None:
        self.trouble, self.lines, self.summary, self.run = trouble, list[Any](), None, None

    def __call__(self, run: Any) -> Kept:
        self.run = run
        if self.trouble == "open":
            raise ConnectionError("nobody at https://x?api_key=sk-1234567890abcdef")
        return self

    def check(self) -> None:
        if self.trouble == "check":
            raise UsageError("no address")

    def take(self, line: Any) -> None:
        self.lines.append(line)
        if self.trouble == "some" and len(self.lines) % 2:
            raise ValueError(f"an odd one\nof {len(self.lines)} lines")
        if self.trouble == "all":
            raise SystemExit("the sink wants to end the process")
        if self.trouble == "changes":
            line.clear()
        if self.trouble in ("hangs", "narrow"):
            time.sleep(60)

    def close(self, summary: Any) -> None:
        if self.trouble == "close":
            raise OSError("not sent")
        if self.trouble == "ours":
            raise UsageError("no space there")
        self.summary = summary


class Seeing:
    """A sink that sees every event, once it may."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.may_begin = threading.Event()

    def __call__(self, run: Any) -> Seeing:
        self.may_begin.wait(5)
        return self

    def see(self, event: Any) -> None:
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        return [event["event"] for event in self.events]


@pytest.fixture
def seeing(monkeypatch: pytest.MonkeyPatch) -> Seeing:
    """A sink that is installed as ``mine``."""
    sink = Seeing()
    install(monkeypatch, sink)
    return sink


def install(monkeypatch: pytest.MonkeyPatch, sink: Any) -> None:
    point = SimpleNamespace(name="mine", load=lambda: sink, value="m:mine", dist=None)
    monkeypatch.setattr(entry_points, "offered", lambda kind: {"mine": point} if kind == "sinks" else {})


def asked(**more: Any) -> RunResult:
    return run("bundled", "oracle:", categories=CATEGORIES, settings=Settings(sinks=("mine",)), **more)


def plain(result: RunResult) -> list[Any]:
    times = ("started_at", "duration_s", "latency_s", "worker")
    return sorted(({k: v for k, v in line.items() if k not in times} for line in result.records), key=lambda x: x["id"])


@pytest.fixture(scope="module")
def without() -> RunResult:
    return run("bundled", "oracle:", categories=CATEGORIES)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("", ""),
        ("open", "{n} of {n} lines not taken: ConnectionError: nobody at"),
        ("some", "of {n} lines not taken: ValueError: an odd one of 1 lines"),
        ("all", "{n} of {n} lines not taken: SystemExit"),
        ("changes", ""),
        ("close", "sink mine: OSError: not sent"),
        ("ours", "sink mine: no space there"),
        ("hangs", "of {n} lines not taken: it did not end within"),
        ("narrow", "lines not taken: it is too slow"),
    ],
)
def test_a_sinks_trouble_is_said_once_and_changes_nothing(
    trouble: str, said: str, monkeypatch: pytest.MonkeyPatch, without: RunResult, tmp_path: Path
) -> None:
    monkeypatch.setattr(sinks, "AT_THE_END_S", 0.3)
    if trouble == "narrow":
        monkeypatch.setattr(sinks, "MOST_WAITING", 1)
    kept = Kept(trouble)
    install(monkeypatch, kept)
    result = asked(out=tmp_path / "mine")
    assert plain(result) == plain(without)
    assert (result.exit_code, result.stopped) == (without.exit_code, without.stopped)
    told = [note for note in result.notes if note.startswith("sink ")]
    assert len(told) == bool(said), told
    assert all(each.daemon for each in threading.enumerate() if each.name == "bfcl-sink-mine")
    assert said.format(n=len(without.records)) in "".join(told)
    assert "sk-1234567890abcdef" not in "".join(told)
    if trouble == "all":  # after some failures only the end is told
        assert (len(kept.lines), kept.summary) == (20, result.summary)
    if trouble == "":
        assert {line["id"] for line in kept.lines} == {line["id"] for line in result.records}
        assert (kept.run.name, kept.run.planned, kept.summary) == ("mine", len(kept.lines), result.summary)
        assert kept.run.facts["dataset"]["name"] == "bundled"


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("mine",), "no address"),
        (("nosuch",), "'nosuch' is neither a level nor a sink"),
        (("mien", "mine"), "'mien' is neither a level nor a sink"),
    ],
)
def test_a_sink_that_lacks_something_is_refused_before_anything_is_asked(
    names: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, Kept("check"))
    with pytest.raises(UsageError, match=why):
        run("bundled", "oracle:", settings=Settings(sinks=names), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_events_come_in_order_and_are_valid_by_the_schema(seeing: Seeing, tmp_path: Path) -> None:
    """Of every entry its reply comes before its line."""
    seeing.may_begin.set()
    asked(gates=GateOptions(fail_under=["simple_java=50"]), out=tmp_path / "run")
    events, kinds = seeing.events, seeing.kinds
    lines = {each["line"]["id"]: (place, each["line"]) for place, each in enumerate(events) if each["event"] == "line"}
    assert [kind for kind in kinds if kind != "answered"] == [
        "opened", "planned", *["line"] * len(lines), "gate", "closed",
    ]  # fmt: skip
    assert events[1]["lines"] == len(lines) > 0
    assert events[-2]["gate"]["verdict"] == "passed"
    assert (events[0]["path"], events[-1]["state"]) == (str(tmp_path / "run"), "finished")
    assert [*events[-1]["summary"]["models"]] == ["oracle:@fc"]
    told = [(place, each) for place, each in enumerate(events) if each["event"] == "answered"]
    assert {each["id"] for _, each in told} == set(lines)
    for before, each in told:
        place, line = lines[each["id"]]
        assert before < place
        assert {name: each[name] for name in ("model", "mode", "repeat")}.items() <= line.items()
        if line["category"] == "simple_java":
            assert (each["turn"], each["step"], each["latency_s"]) == (0, 0, line["latency_s"])
    judge = jsonschema.Draft202012Validator(sinks.event_schema())
    events = json.loads(json.dumps(events))
    for event in events:
        judge.validate(event)
    line = events[kinds.index("line")]
    broken = ({**events[0], "event": "began"}, {"event": "opened"}, {**events[0], "facts": 3}, {**line, "line": {}})
    assert not any(map(judge.is_valid, broken))


def test_of_a_sink_that_is_behind_lines_come_before_replies(seeing: Seeing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "MOST_WAITING", 8)
    told = sinks.Sinks(("mine",), sinks.SinkRun("r", None, {}, 0))
    answer: Any = {"event": "answered"}
    for _ in range(20):
        told.answered(answer)
    told.take({"id": "a"})  # type: ignore[typeddict-item]
    seeing.may_begin.set()
    summary: Any = {"gate": {"verdict": "none"}}
    assert list(told.close(summary, "stopped:budget", ["a"])) == []
    told.answered(answer)  # too late
    kinds = seeing.kinds
    assert [kind for kind in kinds if kind != "answered"] == ["opened", "planned", "line", "notice", "closed"]
    assert kinds.count("answered") == 3, "half of the room is for lines, and two events waited"
    assert (seeing.events[0]["path"], seeing.events[-2]["text"]) == (None, "a")
    assert seeing.events[-1]["state"] == "stopped:budget"


def test_a_line_without_a_reply_opens_the_sinks_too(seeing: Seeing) -> None:
    """Stored replies are asked of nobody, so no event of a reply comes first."""
    seeing.may_begin.set()
    filled(run_at(None, settings=Settings(sinks=("mine",))), *map(line, IDS))
    assert seeing.kinds == ["opened", "planned", *["line"] * len(IDS), "closed"]
    worker = run_at(None, settings=Settings(sinks=("mine",)))
    worker._writes = False
    assert worker.on_answer is None, "only the process that stores lines tells of replies"
    filled(worker, line(IDS[0]))
    assert seeing.kinds.count("opened") == 1, "and of lines"
