"""Runs of the library with engines of their own, at other places, with little room, and with a table to stand in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.scoring.gating import GateOptions
from pytest_bfcl.session import outside, serving, whole_run
from pytest_bfcl.session import run as run_module
from pytest_bfcl.session.closing import run_board
from pytest_bfcl.session.earlier import EarlierParts
from pytest_bfcl.session.evaluation import dry_run, open_data, run
from pytest_bfcl.session.outside import RESERVE, Store, room_for
from pytest_bfcl.session.runner import Runner
from pytest_bfcl.session.trial import Trial
from pytest_bfcl.session.whole_run import INTERRUPTED, NOTHING_SELECTED, STOPPED
from pytest_bfcl.settings import Settings
from tests.plugin.conftest import question, write_lines
from tests.session.test_run import line, run_at

from .conftest import Answering

resource = pytest.importorskip("resource")
PICKED: dict[str, Any] = {"ids": ["simple_python_1", "simple_python_2"]}
SETTINGS = Settings(retries=0, serve="--flag")


class Fleet:
    """Engines that are there at once, do not start, or end by themselves."""

    def __init__(self, how: str = "") -> None:
        self.how, self.told = how, list[Any]()
        self.addresses = {"vllm:m": "http://127.0.0.1:9/v1"}

    async def launch(self, folder: Path, *, arguments: str = "", said: Callable[[str], None] = print) -> None:
        self.told.append(("launch", folder.is_dir(), arguments))
        said("engines are there")
        if self.how == "fails":
            raise UsageError("the engine did not start")

    def trouble(self) -> str | None:
        return "the engine ended" if self.how == "ends" else None

    def stop(self) -> None:
        self.told.append("stop")


def with_engines(monkeypatch: pytest.MonkeyPatch, how: str = "") -> Fleet:
    fleet = Fleet(how)
    monkeypatch.setattr(entry_points, "require", lambda group, name, told: lambda specs, base_url: fleet)
    return fleet


@pytest.mark.parametrize("stored", [True, False])
def test_engines_run_as_long_as_the_run(stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, said = with_engines(monkeypatch), list[str]()
    out = tmp_path / "run" if stored else None
    found = run("bundled", "vllm:m@fc", out=out, settings=SETTINGS, said=said.append, **PICKED)
    assert fleet.told == [("launch", True, "--flag"), "stop"]
    assert "engines are there" in said
    assert all("http://127.0.0.1:9/v1" in line["detail"]["error"] for line in found.records)
    if stored:  # nothing is left to do, or to start
        assert found.stopped
        done = run("bundled", "oracle:@fc", out=tmp_path / "done", settings=SETTINGS, **PICKED)
        again = run("bundled", "oracle:@fc", out=tmp_path / "done", settings=SETTINGS, **PICKED)
        assert (done.counts, again.counts) == ({"simple_python": (2, 2)},) * 2
        assert [each for each in fleet.told if each != "stop"] == [("launch", True, "--flag")] * 2


def test_engines_that_do_not_start_leave_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = with_engines(monkeypatch, "fails")
    with pytest.raises(UsageError, match="the engine did not start"):
        run("bundled", "vllm:m", out=tmp_path / "run", settings=SETTINGS, **PICKED)
    assert fleet.told[-1] == "stop"
    assert not (tmp_path / "run" / "run.json").exists()
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with_engines(monkeypatch)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        run("bundled", ["vllm:m@fc", "openai:x@fc"], settings=SETTINGS, **PICKED)


def test_an_engine_that_ended_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with_engines(monkeypatch, "ends")
    found = run("bundled", "oracle:@fc", settings=SETTINGS, **PICKED)
    assert (found.stopped, found.records) == ("the engine ended", [])


class Remote:
    """A runner, but not to be seen as one of this process."""

    def __init__(self, held: Runner) -> None:
        self.__dict__["held"] = held

    def __getattr__(self, name: str) -> Any:
        assert name != "skip_reason", "other machines may have what is missing here"
        return getattr(self.held, name)


class Elsewhere:
    """A place whose conversations are held in this process after all."""

    def runner(self, data: Any, contenders: Any, settings: Any, earlier: Any, path: Any, **more: Any) -> Any:
        self.asked = (data.name, [each.label for each in contenders], path, sorted(more))
        return Remote(Runner(data, contenders, settings, Store(path), **more))


def test_conversations_at_another_place(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Elsewhere()
    found = run("bundled", "oracle:@fc", cluster=place, **PICKED)
    assert found.counts == {"simple_python": (2, 2)}
    assert place.asked == ("bundled", ["oracle:@fc"], None, ["note", "on_switch"])
    with pytest.raises(UsageError, match="does not travel to a cluster"):
        run("bundled", "oracle:@fc", cluster=place, search=object(), **PICKED)
    with_engines(monkeypatch)
    with pytest.raises(UsageError, match="starts engines on this machine only"):
        run("bundled", "oracle:@fc", cluster=place, settings=SETTINGS, **PICKED)
    feeder = SimpleNamespace(place_at=lambda address: place if address == "auto" else None)
    monkeypatch.setattr(entry_points, "find", lambda kind, name: name)
    monkeypatch.setattr(entry_points, "load", lambda point, what: feeder if point == "ray" else None)
    model = Answering()
    model.check_key = pytest.fail  # type: ignore[attr-defined]  # other machines may have a key
    assert run("bundled", model, cluster="auto", **PICKED).counts == {"simple_python": (0, 2)}
    monkeypatch.setattr(entry_points, "find", lambda kind, name: None)
    with pytest.raises(UsageError, match="nothing installed holds conversations on 'ray'"):
        run("bundled", "oracle:@fc", cluster="auto", **PICKED)


INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "room", "set_to"),
    [
        (INFINITE, INFINITE, 500, 500, None), (RESERVE + 60, 999, 50, 50, None),
        (RESERVE + 59, 999, 50, 50, RESERVE + 60),
        (RESERVE + 20, RESERVE + 30, 50, 20, RESERVE + 30), (RESERVE + 20, INFINITE, 50, 50, RESERVE + 60),
        (RESERVE + 11, -2, 50, 1, None), (RESERVE + 10, RESERVE + 10, 50, 0, RESERVE + 10),
    ],
)  # fmt: skip
def test_room_for_requests(
    soft: int, hard: int, wanted: int, room: int, set_to: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ten files open. A hard limit below the soft one stands for a system that lets nothing be raised."""
    raised: list[int] = []

    def raise_to(which: int, limits: tuple[int, int]) -> None:
        if hard == -2:
            raise ValueError("not allowed")
        raised.append(limits[0])

    monkeypatch.setattr(outside, "_open_files", lambda: 10)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, 10**6 if hard == -2 else hard))
    monkeypatch.setattr(resource, "setrlimit", raise_to)
    if not room:
        with pytest.raises(UsageError, match=f"may open {RESERVE + 10} files, too few for one request"):
            room_for(wanted)
        return
    found, told = room_for(wanted)
    assert (found, raised) == (room, [] if set_to is None else [set_to])
    assert told == ("" if room == wanted else f"this process may open {RESERVE + 10 + room} files: {room} requests are "
                    f"in flight instead of {wanted} (ulimit -n {RESERVE + 10 + wanted} allows them)")  # fmt: skip


def test_a_table_is_kept_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named one, else that of an earlier part; what is wrong with it is a note."""
    kept: list[Path] = []
    notes: list[str] = []
    told: list[list[str]] = []
    board: Any = SimpleNamespace(keep=kept.append, tell=lambda summary, lines: told.append([x["id"] for x in lines]))
    monkeypatch.setattr(entry_points, "find", lambda kind, name: name if kind == "boards" else None)
    monkeypatch.setattr(entry_points, "load", lambda point, what: SimpleNamespace(kept=lambda run: (point, run.name)))
    assert run_board(board, tmp_path, notes) is board
    assert run_board(None, tmp_path, notes) is None
    (tmp_path / "board").mkdir()
    assert run_board(None, tmp_path, notes) == ("published", tmp_path.name)
    assert (kept, notes) == ([tmp_path], [])
    named = iter([board])
    monkeypatch.setattr(run_module, "named_board", lambda path, run: next(named))
    opened = run_at(None, settings=Settings(board="table.csv", transforms=("whitespace",)))
    assert opened.open() is opened.open() is None, "it is read once"
    for entry_id in ("simple_python_1", "simple_python_1~whitespace"):
        opened.take({**line("simple_python_1"), "id": entry_id})
    opened.close()
    assert told == [["simple_python_1"]], "a table has no transformed entries"
    opened._writes = False
    opened._published = None
    assert opened.open() is None, "and only by the process that stores lines"
    monkeypatch.setattr(entry_points, "find", lambda kind, name: None)
    assert run_board(None, tmp_path, notes) is None
    assert notes == [
        "the published table is not shown: a published table is not in this installation: no package offers "
        "'published' as pytest_bfcl.boards"
    ]


def test_servers_that_models_name_are_asked_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"auto": (whole_run.parse_spec("vllm:found"), "http://there/v1")}
    monkeypatch.setattr(serving, "named_spec", lambda spec, base_url: found.get(spec.provider, (spec, None)))
    models, settings = serving.name_models(["auto:", "openai:m"], Settings(served={"sglang:x": "http://x/v1"}))
    assert models == ["vllm:found", "openai:m"]
    assert settings.served == {"sglang:x": "http://x/v1", "vllm:found": "http://there/v1"}
    assert serving.name_models(["auto:"], Settings(serve=""))[0] == ["auto:"]


def test_a_gate_that_no_run_can_meet_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="multi_turn"):
        run("bundled", "oracle:", out=tmp_path / "run", gates=GateOptions(fail_under=["multi_turn=50"]), **PICKED)
    assert not (tmp_path / "run").exists()


def test_a_gate_on_data_that_nobody_named_is_refused() -> None:
    with pytest.raises(UsageError, match="a gate needs to know its data"):
        dry_run("auto", "oracle:", gates=GateOptions(fail_under=["simple_python=1"]))


@pytest.mark.parametrize(
    ("method", "kind", "stopped"),
    [("append", "storage", "no space left"), ("write_summary", "storage", "no space left"), ("append", "data", None)],
)
def test_what_cannot_be_kept_stops_the_run(
    method: str, kind: str, stopped: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*about: Any) -> None:
        raise HarnessError(kind, "no space left")

    monkeypatch.setattr(RunDirectory, method, full)
    if stopped is None:  # a fault, not the disk's
        with pytest.raises(HarnessError, match="no space left"):
            run("bundled", "oracle:", out=tmp_path / "run", **PICKED)
        assert RunDirectory.open(tmp_path / "run").fingerprint.state == f"stopped:{INTERRUPTED}"
        return
    found = run("bundled", "oracle:", out=tmp_path / "run", **PICKED)
    assert (found.stopped, found.exit_code) == (stopped, STOPPED)
    assert found.fingerprint.state == ("finished" if method == "write_summary" else "stopped:no space left")


@pytest.mark.parametrize("twice", [False, True])
def test_an_interruption_of_the_end_waits_no_more_and_closes_all(
    twice: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run that is over, and of one that Ctrl-C stopped before."""
    waited, close = list[bool](), Runner.aclose

    async def aclose(self: Runner, *, interrupted: bool = False) -> None:
        waited.append(interrupted)
        if len(waited) == 1:
            raise asyncio.CancelledError
        await close(self)

    def interrupt(line: Any) -> None:
        if twice:
            raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "aclose", aclose)
    with pytest.raises(KeyboardInterrupt if twice else asyncio.CancelledError):
        run("bundled", "oracle:", out=tmp_path, progress=interrupt, **PICKED)
    assert waited == [twice, False]
    assert RunDirectory.open(tmp_path).fingerprint.state == (f"stopped:{INTERRUPTED}" if twice else "finished")


@pytest.mark.parametrize("transforms", [(), ("whitespace",)])
def test_what_cannot_be_judged_is_estimated_at_nothing(tmp_path: Path, transforms: tuple[str, ...]) -> None:
    broken = {**question("simple_python_9"), "possible_answer": [{"nobody": {"x": [1]}}]}
    write_lines(tmp_path / "own.jsonl", [question("simple_python_1"), broken])
    found = dry_run(tmp_path / "own.jsonl", "oracle:", settings=Settings(transforms=transforms))
    (estimate,) = found.estimates
    assert estimate.entries == estimate.calls == 1 + len(transforms)
    assert {"simple_python_9" in problem for problem in found.problems} == {True}


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        ({}, ["multiple", "parallel", "simple_python"]),
        ({"categories": ["multiple"]}, ["multiple"]),
        ({"ids": ["simple_python_1"]}, ["simple_python"]),
        ({"ids": []}, []),
    ],
)
def test_problems_are_told_of_the_categories_that_run(tmp_path: Path, selection: Any, told: list[str]) -> None:
    write_lines(tmp_path / "own" / "simple_python.jsonl", [question("simple_python_1"), "{broken"])
    write_lines(tmp_path / "own" / "multiple.jsonl", [question("multiple_1"), "{broken"])
    write_lines(tmp_path / "own" / "parallel.jsonl", ["{broken"])
    found = dry_run(tmp_path / "own", "oracle:", **selection)
    assert [
        name for name in ("multiple", "parallel", "simple_python") for text in found.problems if name in text
    ] == told
    assert len(found.problems) == len(told)
    assert run(tmp_path / "own", "oracle:", **selection).exit_code == (1 if told else NOTHING_SELECTED)


@pytest.mark.parametrize("names", [["simple_python_1", "simple_python_2"], []])
def test_only_a_run_that_never_had_anything_leaves_no_directory(
    tmp_path: Path, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, close = list[Any](), Runner.aclose
    monkeypatch.setattr(Runner, "aclose", lambda self, **how: (closed.append(self), close(self, **how))[1])
    rooms, ready = list[int](), Runner.ready
    monkeypatch.setattr(Runner, "ready", lambda self, room: (rooms.append(room), ready(self, room))[1])
    for _ in range(2):
        found = run("bundled", "oracle:", out=tmp_path / "run", ids=names)
        assert (found.path, found.exit_code) == ((tmp_path / "run", 0) if names else (None, NOTHING_SELECTED))
    assert ((tmp_path / "run").exists(), len(closed)) == (bool(names), 2)
    assert rooms == [2, 1] * bool(names), "room for one request, even if none is left"


@pytest.mark.parametrize("own", [True, False])
def test_only_what_is_wrong_with_own_entries_is_a_problem_of_the_data(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(trial: Trial) -> Any:
        raise HarnessError("data", "it is broken")

    monkeypatch.setattr(Trial, "load", broken)
    path = write_lines(tmp_path / "own.jsonl", [question("simple_python_1")])
    found = run(path if own else "bundled", "oracle:", ids=["simple_python_1"])
    assert [line["reason"] for line in found.records] == ["harness:data"]
    assert found.problems == (("it is broken",) if own else ())


@pytest.mark.parametrize(
    ("mode", "settled", "named", "priced"),
    [("auto", None, "@fc", True), ("auto", None, "@prompt", False), ("auto", "prompt", "@prompt", True),
     ("auto", "prompt", "@fc", False), ("prompt", None, "@prompt", True), ("prompt", None, "@fc", False),
     ("prompt", None, "", True)],
)  # fmt: skip
def test_a_price_of_ones_own_is_that_of_the_model_in_its_mode(
    mode: Any, settled: Any, named: str, priced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = EarlierParts(modes={"vllm:m": settled} if settled else {})
    monkeypatch.setattr(EarlierParts, "read", lambda *about: earlier)
    info = {"models": {f"vllm:m{named}": {"input_price": 1, "output_price": 2}}}
    (found,) = dry_run("bundled", "vllm:m", settings=Settings(mode=mode), model_info=info, **PICKED).estimates
    assert (found.usd is not None) is priced


def test_what_a_process_reaches_is_opened_once_and_closed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []

    def opened(*about: Any, **how: Any) -> Any:
        made = SimpleNamespace()
        made.close = lambda: closed.append(made)
        return made

    monkeypatch.setattr(outside, "Services", opened)
    data, reached = open_data("bundled"), outside.Outside(Settings(), Store())
    first = reached.services(data)
    assert reached.services(data) is first
    reached.close()
    assert closed == [first]
    assert reached.services(data) is not first
