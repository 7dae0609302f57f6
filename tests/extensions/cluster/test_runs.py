"""Whole runs on actors in this process: workers, driver and run directory are real, only Ray is not there."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.cluster import worker_main
from pytest_bfcl.extensions.cluster.messages import Answered, Event, Lined, Memory
from pytest_bfcl.failures import UsageError
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Price, Settings
from tests.plugin.conftest import Project, question, write_lines
from tests.session.conftest import Bench

from .comparing import conversations, journaled, scores, stored, timeless
from .in_process import InProcess, InProcessWorker

MOCK = "openai:mock@fc"
MODELS = ["lexical:@fc", "lexical:@prompt"]
SOME = ("simple_java", "memory_kv", "web_search")
TWICE = Settings(repeat=2)
BUNDLED = Path(__file__).resolve().parents[3] / "data"


def every(count: int, kind: type, way: str, most: int = 4) -> Any:
    """Ends the worker with every so many-th event of a kind, so often at most."""
    seen = 0
    ended: set[int] = set()

    def dies(worker: InProcessWorker, event: Event) -> str | None:
        nonlocal seen
        seen += isinstance(event, kind)
        ripe = isinstance(event, kind) and seen >= count * (len(ended) + 1)
        if not ripe or len(ended) == most or id(worker) in ended:
            return None
        ended.add(id(worker))
        return way

    return dies


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few bundled entries: single turn, memory with its write stages, the web."""
    folder = tmp_path_factory.mktemp("data") / "bench"
    for name, keep in (("simple_java", 6), ("memory", 8), ("web_search", 2)):
        lines = (BUNDLED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[:keep]
        write_lines(folder / f"{name}.jsonl", list(lines))
    for name in ("memory_prereq", "web"):
        shutil.copytree(BUNDLED / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, twice, in one process."""
    out = tmp_path_factory.mktemp("alone") / "run"
    run(data, MODELS, categories=SOME, out=out, settings=TWICE)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Answered, Lined, Memory])
def test_a_run_on_actors_that_are_lost_equals_one_process(data: Path, alone: Path, tmp_path: Path, kind: type) -> None:
    place = InProcess(3, every(3, kind, "unheard"))
    out = tmp_path / "run"
    result = run(data, MODELS, categories=SOME, out=out, settings=TWICE, cluster=place)
    assert result.stopped is None
    assert any("an actor was lost and is replaced" in note for note in result.notes)
    assert len(stored(out)) > 60
    assert stored(out) == stored(alone)
    assert conversations(out) == conversations(alone)
    assert None not in conversations(out).values()
    assert scores(out) == scores(alone)
    ours, theirs = ({p.relative_to(run) for p in run.glob("snapshots/**/*.json")} for run in (out, alone))
    assert ours == theirs
    assert ours
    assert place.closed
    assert {slot for slot, _ in place.jobs} == {0, 1, 2}


def test_a_run_in_memory_equals_one_process_in_order(data: Path) -> None:
    settings = Settings(repeat=2, concurrency=7)
    alone = run(data, "lexical:@fc", categories=["memory_kv", "simple_java"], settings=settings)
    place = InProcess(2, every(3, Lined, "unheard"))
    result = run(data, "lexical:@fc", categories=["memory_kv", "simple_java"], settings=settings, cluster=place)
    assert len(place.started) > 2
    assert list(timeless(result.records)) == list(timeless(alone.records))
    assert timeless(result.records) == timeless(alone.records)


def test_a_run_that_was_interrupted_goes_on_where_it_stopped(bench: Bench) -> None:
    """The driver ends in the middle; the next part may be a cluster or one process, and asks only what has no reply."""
    bench.with_conversations(4)
    server = bench.serve(delay=0.0)
    settings = Settings(base_url=server.url, concurrency=4)
    run(str(bench.path / "bench"), MOCK, out=bench.path / "alone", settings=settings)

    for part, cluster in (("first", None), ("second", InProcess(2))):
        out = bench.path / part
        seen: list[Any] = []

        def interrupt(record: Any, seen: list[Any] = seen) -> None:
            seen.append(record)
            if len(seen) == 12:
                raise KeyboardInterrupt

        server.forget()
        with pytest.raises(KeyboardInterrupt):
            run(str(bench.path / "bench"), MOCK, out=out, settings=settings, cluster=InProcess(2), progress=interrupt)
        assert json.loads((out / "run.json").read_text())["state"] == "stopped:interrupted"
        answered = journaled(out)
        assert 12 <= len(answered) < 60
        (out / "results.jsonl").write_text("".join((out / "results.jsonl").read_text().splitlines(True)[:5]))
        server.forget()
        run(str(bench.path / "bench"), MOCK, out=out, settings=settings, cluster=cluster)
        again = {(name, 1, turn, step, MOCK) for name, turn, step in server.asked()}
        assert not again & set(answered)
        assert set(server.asked().values()) == {1}
        assert stored(out) == stored(bench.path / "alone")
        assert scores(out) == scores(bench.path / "alone")


def test_a_trial_that_ends_every_actor_is_an_error_and_the_others_run(tmp_path: Path) -> None:
    lines = [question(f"simple_python_{n}") for n in range(12)]
    data = write_lines(tmp_path / "bench" / "simple_python.jsonl", lines).parent

    def poison(worker: InProcessWorker, event: Event) -> str | None:
        return "unheard" if isinstance(event, Answered) and event.key.entry_id == "simple_python_7" else None

    place = InProcess(2, poison)
    result = run(data, "oracle:@fc", out=tmp_path / "run", cluster=place, settings=Settings(concurrency=6))
    outcomes = {line["id"]: (line["outcome"], line["reason"]) for line in result.records}
    assert outcomes.pop("simple_python_7") == ("error", "harness:worker_crash")
    assert set(outcomes.values()) == {("passed", None)}
    assert result.stopped is None
    after = run(data, "oracle:@fc", out=tmp_path / "run", cluster=InProcess(2))
    assert {line["outcome"] for line in after.records} == {"passed"}


def test_actors_that_always_die_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_bfcl.extensions.cluster.driver.PAUSE_S", 0.0)
    lines = [question(f"simple_python_{n}") for n in range(200)]
    data = write_lines(tmp_path / "bench" / "simple_python.jsonl", lines).parent
    place = InProcess(2, lambda worker, event: "unheard")
    result = run(data, "oracle:@fc", out=tmp_path / "run", cluster=place)
    assert result.stopped is not None
    assert "lost again and again: the test killed it" in result.stopped
    assert len(place.started) < 20


def test_budget_is_one_for_all_actors(bench: Bench) -> None:
    server = bench.serve(delay=0.01)
    price = Price(1000.0, 1000.0)  # 0.11 USD a reply
    settings = Settings(base_url=server.url, concurrency=4, price=price, budget_usd=1.0)
    out = bench.path / "run"
    result = run(str(bench.path / "bench"), MOCK, out=out, settings=settings, cluster=InProcess(2))
    assert result.stopped is not None
    assert result.stopped.startswith("budget of 1 USD reached")
    assert 10 <= len(server.lines()) <= 18
    assert len(journaled(out)) == len(server.lines("asked"))  # what was paid for is kept
    more = run(str(bench.path / "bench"), MOCK, out=out, settings=replace(settings, budget_usd=None))
    assert more.stopped is None
    assert set(server.asked().values()) == {1}


def test_one_actor_that_cannot_reach_the_endpoint_does_not_stop_the_run(bench: Bench) -> None:
    server = bench.serve(delay=0.01)
    settings = Settings(base_url=server.url, concurrency=2)

    class Cut(InProcess):
        """The second slot's first actor asks where nobody listens."""

        async def start(self, slot: int) -> InProcessWorker:
            worker = await super().start(slot)
            if slot == 1 and sum(each.slot == 1 for each in self.started) == 1:
                begin = worker.begin

                async def elsewhere(config: Any) -> Any:
                    changed = {**config.settings, "base_url": "http://127.0.0.1:9/v1", "retries": 0}
                    return await begin(replace(config, settings=changed))

                worker.begin = elsewhere  # type: ignore[method-assign]
            return worker

    result = run(str(bench.path / "bench"), MOCK, out=bench.path / "run", settings=settings, cluster=Cut(2))
    assert result.stopped is None
    assert any("no server listens" in note for note in result.notes), result.notes
    outcomes = [line["outcome"] for line in stored(bench.path / "run").values()]
    assert outcomes.count("passed") >= 35
    run(str(bench.path / "bench"), MOCK, out=bench.path / "run", settings=settings, cluster=InProcess(2))
    assert {line["outcome"] for line in stored(bench.path / "run").values()} == {"passed"}


def test_refused_tools_switch_the_whole_run_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.path)
    refusal = {"error": "tools_refused", "times": 1, "then": '[get_weather(city="Oslo")]'}
    (project.path / "script.json").write_text(json.dumps({"*": refusal}))
    result = run("bench", "scripted:script.json", out=project.path / "run", cluster=InProcess(2))
    assert {line["mode"] for line in result.records} == {"prompt"}
    assert [model.mode for model in result.fingerprint.models] == ["prompt"]
    assert len({note for note in result.notes if "refuses tools" in note}) == 1


def test_a_model_of_ones_own_travels() -> None:
    result = run("bundled", parrot, categories=["irrelevance"], cluster=InProcess(2))
    assert result.counts["irrelevance"][0] == result.counts["irrelevance"][1] > 5


async def parrot(messages: list[Any], tools: list[Any]) -> str:
    return "I cannot help with that."


def test_entries_go_along_where_the_data_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "mine.jsonl", [question("weather_1"), question("weather_2", "Rome")])
    alone = run(tmp_path / "mine.jsonl", "oracle:@fc", categories=["simple_python"])
    monkeypatch.setattr(worker_main, "local_data", lambda config: None)
    place = InProcess(2)
    result = run(tmp_path / "mine.jsonl", "oracle:@fc", categories=["simple_python"], cluster=place)
    assert all(job.entry is not None for _, jobs in place.jobs for job in jobs)
    assert timeless(result.records) == timeless(alone.records)
    with pytest.raises(UsageError, match="is missing: fetch or copy it"):
        run("bundled", "oracle:@fc", categories=["web_search"], cluster=InProcess(2))


@pytest.mark.parametrize("other", ["version", "model"])
def test_what_cannot_take_part_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    model = "oracle:@fc"
    if other == "version":
        monkeypatch.setattr(worker_main, "plugin_version", lambda: "0.0.1")
        match = r"cannot take part: it has pytest-bfcl 0\.0\.1, the driver "
    else:
        model, match = "scripted:nowhere.json@fc", "cannot take part: .*nowhere.json"
    with pytest.raises(UsageError, match=match) as caught:
        run("bundled", model, categories=["simple_java"], cluster=InProcess(2))
    assert len(str(caught.value).splitlines()) <= 5


def test_a_search_provider_object_does_not_travel() -> None:
    with pytest.raises(UsageError, match="does not travel"):
        run("bundled", "oracle:@fc", search=object(), cluster=InProcess(2))


def test_nothing_left_to_do_starts_no_worker(tmp_path: Path) -> None:
    run("bundled", "oracle:@fc", categories=["simple_java"], out=tmp_path / "run")
    place = InProcess(2)
    result = run("bundled", "oracle:@fc", categories=["simple_java"], out=tmp_path / "run", cluster=place)
    assert place.started == []
    assert result.stopped is None
