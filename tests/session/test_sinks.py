"""Sinks: told of a run while it goes on; one that is slow, fails or hangs loses and changes nothing of it."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.gating import GateOptions
from pytest_bfcl.session import sinks
from pytest_bfcl.session.closing import RunResult
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings

CATEGORIES = ["simple_java", "multi_turn_base"]


class Kept:
    """A sink of a test's own: keeps lines; ``trouble`` says what goes wrong with it."""

    def __init__(self, trouble: str = "") -> None:
        self.trouble, self.lines, self.summary, self.run = trouble, list[Any](), None, None

    def __call__(self, run: Any) -> Kept:
        self.run = run
        if self.trouble == "open":
            raise ConnectionError("nobody at https://x?api_key=sk-1234567890abcdef")
        return self

    def take(self, line: Any) -> None:
        if self.trouble == "some" and len(self.lines) % 2:
            self.lines.append(None)
            raise ValueError("an odd one\nof two lines")
        if self.trouble == "all":
            self.lines.append(None)
            raise SystemExit("the sink wants to end the process")
        if self.trouble == "changes":
            line.clear()
        if self.trouble == "hangs":
            time.sleep(60)
        self.lines.append(line)

    def close(self, summary: Any) -> None:
        if self.trouble == "close":
            raise OSError("not sent")
        self.summary = summary


def asked(monkeypatch: pytest.MonkeyPatch, sink: Any, **more: Any) -> RunResult:
    """A run with the sink, offered by the one door as an installed package's would be."""
    point = SimpleNamespace(name="mine", load=lambda: sink, value="m:mine", dist=None)
    monkeypatch.setattr(entry_points, "offered", lambda kind: {"mine": point} if kind == "sinks" else {})
    return run("bundled", "oracle:", categories=CATEGORIES, settings=Settings(sinks=("mine",)), **more)


def plain(result: RunResult) -> list[Any]:
    times = ("started_at", "duration_s", "latency_s", "worker")
    return sorted(({k: v for k, v in line.items() if k not in times} for line in result.records), key=lambda x: x["id"])


@pytest.fixture(scope="module")
def without() -> RunResult:
    return run("bundled", "oracle:", categories=CATEGORIES)


def test_a_sink_is_told_of_everything(monkeypatch: pytest.MonkeyPatch, without: RunResult, tmp_path: Path) -> None:
    kept = Kept()
    result = asked(monkeypatch, kept, out=tmp_path / "run")
    assert {line["id"] for line in kept.lines} == {line["id"] for line in without.records}
    assert kept.summary["models"].keys() == without.summary["models"].keys()
    assert (kept.run.name, kept.run.planned) == ("run", len(kept.lines))
    assert kept.run.facts["dataset"]["name"] == "bundled"
    assert not [note for note in result.notes if "sink" in note]


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("open", "{n} of {n} lines not taken: ConnectionError: nobody at"),
        ("some", "of {n} lines not taken: ValueError: an odd one of two lines"),
        ("all", "{n} of {n} lines not taken: SystemExit"),
        ("changes", ""),
        ("close", "sink mine: OSError: not sent"),
        ("hangs", "of {n} lines not taken: it did not end within"),
        ("narrow", "lines not taken: it is too slow"),
    ],
)
def test_a_sinks_trouble_is_said_once_and_changes_nothing(
    trouble: str, said: str, monkeypatch: pytest.MonkeyPatch, without: RunResult
) -> None:
    monkeypatch.setattr(sinks, "AT_THE_END_S", 0.3)
    if trouble == "narrow":
        monkeypatch.setattr(sinks, "MOST_WAITING", 1)
    kept = Kept("hangs" if trouble == "narrow" else trouble)
    result = asked(monkeypatch, kept)
    assert plain(result) == plain(without)
    assert (result.exit_code, result.stopped) == (without.exit_code, without.stopped)
    told = [note for note in result.notes if note.startswith("sink ")]
    assert len(told) == bool(said), told
    assert said.format(n=len(without.records)) in "".join(told)
    assert "sk-1234567890abcdef" not in "".join(told)
    if trouble == "all":  # after some failures only the end is told
        assert (len(kept.lines), kept.summary) == (20, result.summary)


def test_what_a_sink_lacks_is_said_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lacking(Kept):
        def check(self) -> None:
            raise UsageError("no address")

    with pytest.raises(UsageError, match="no address"):
        asked(monkeypatch, Lacking())


@pytest.mark.parametrize("names", [("nosuch",), ("mine", "mien")])
def test_a_sink_that_nobody_offers_is_refused_before_anything_is_asked(names: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'(nosuch|mine)' is neither a level nor a sink"):
        run("bundled", "oracle:", categories=CATEGORIES, settings=Settings(sinks=names), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Seeing:
    """A sink that sees every event."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, run: Any) -> Seeing:
        return self

    def see(self, event: Any) -> None:
        self.seen.append(event)


@pytest.mark.parametrize(("limits", "verdicts"), [([], []), (["simple_java=1"], ["passed"])])
def test_a_sink_that_sees_events(limits: list[str], verdicts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Seeing()
    result = asked(monkeypatch, sink, gates=GateOptions(fail_under=limits))
    kinds = [event["event"] for event in sink.seen]
    assert (kinds[:2], kinds[-1]) == (["opened", "planned"], "closed")
    assert kinds.count("line") == len(result.records) == sink.seen[1]["lines"]
    assert [event["gate"]["verdict"] for event in sink.seen if event["event"] == "gate"] == verdicts
    assert sink.seen[-1]["summary"]["models"].keys() == result.summary["models"].keys()


def test_what_is_noted_at_the_end_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = Seeing()
    monkeypatch.setattr(entry_points, "load", lambda point, what: sink)
    monkeypatch.setattr(entry_points, "find", lambda kind, name: "mine")
    opened = sinks.Sinks(["mine"], sinks.SinkRun("r", Path("r"), {}, 0))
    answer: Any = {"event": "answered"}
    opened.answered(answer)
    summary: Any = {"gate": {"verdict": "none"}}
    assert list(opened.close(summary, "stopped:budget", ["a", "b"])) == []
    opened.answered(answer)  # too late
    assert [(event["event"], event.get("text"), event.get("state"), event.get("path")) for event in sink.seen] == [
        ("opened", None, None, "r"), ("planned", None, None, None), ("answered", None, None, None),
        ("notice", "a", None, None), ("notice", "b", None, None), ("closed", None, "stopped:budget", None),
    ]  # fmt: skip
