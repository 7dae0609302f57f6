"""Under xdist: every entry once, memory scenarios whole, crashes survived."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_bfcl.plugin.distribution import Distribution, WorkerEnd

from .conftest import Project, question, write_lines


@pytest.mark.slow
def test_every_entry_once_with_settings_from_the_controller(project: Project) -> None:
    entries = [question(f"simple_python_{number}") for number in range(45)]
    write_lines(project.path / "bench" / "simple_python.jsonl", entries)
    project.fail("simple_python_7", "simple_python_30")
    project.script["simple_python_8"] = {"error": "server", "status": 500}
    args = (
        "-m",
        "simple_python",
        "-n2",
        "--bfcl-retries=0",
        "--bfcl-fail-under=simple_python=90",
        "--bfcl-max-errors=5",
    )
    result = project.run(*args)
    result.assert_outcomes(passed=42, failed=2, errors=1)
    assert result.ret == 0
    records = project.records()
    assert len({record["id"] for record in records}) == len(records) == 45
    assert {record["worker"] for record in records} == {"gw0", "gw1"}
    journals = sorted(path.name for path in (project.path / "run" / "journal").iterdir())
    assert journals == ["gw0.jsonl", "gw1.jsonl"]
    result.stdout.fnmatch_lines(["ADAPTER_ERROR: adapter:server", "simple_python *42/44*95.5 %*"])
    project.run("-m", "simple_python", "--bfcl-retries=0").assert_outcomes(errors=1)


@pytest.mark.slow
def test_a_crashed_worker_costs_one_entry(project: Project) -> None:
    project.pytester.makeconftest(
        """
        import os, pytest
        def pytest_runtest_call(item):
            if item.name == "simple_python_2" and not os.path.exists("crashed"):
                open("crashed", "w").close()
                os._exit(9)
        """
    )
    result = project.run("-m", "simple_python", "--dist=load", "--tx=2*popen", "-p", "no:asyncio")
    by_id = {record["id"]: record for record in project.records()}
    crashed = by_id["simple_python_2"]
    assert (crashed["tag"], crashed["reason"]) == ("HARNESS_ERROR", "harness:worker_crash")
    assert sorted(record["outcome"] for record in by_id.values()) == ["error", "passed", "passed", "passed"]
    assert result.ret == 1
    project.run("-m", "simple_python").assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_crash_in_a_users_own_entry_has_its_category(project: Project) -> None:
    """A line may name another category than its id; the process that reports has not collected it."""
    project.pytester.makeconftest(
        """
        import os
        def pytest_runtest_call(item):
            if item.name == "mine_1":
                os._exit(9)
        """
    )
    lines = [{**question("simple_python_0"), "id": f"mine_{n}", "category": "irrelevance"} for n in range(3)]
    for line in lines:
        line.pop("possible_answer", None)
        line.pop("ground_truth", None)
    write_lines(project.path / "mine.jsonl", lines)
    project.run("mine.jsonl", "--dist=load", "--tx=2*popen", "-p", "no:asyncio")
    by_id = {record["id"]: record for record in project.records()}
    assert {record["category"] for record in by_id.values()} == {"irrelevance"}
    assert by_id["mine_1"]["reason"] == "harness:worker_crash"


def test_workers_tell_of_replies_and_speak_over_one_channel() -> None:
    heard: list[object] = []
    notices = SimpleNamespace(say=heard.append)
    run = SimpleNamespace(on_answer=heard.append)
    distribution = Distribution(SimpleNamespace(notices=notices), run, None, None, None)  # type: ignore[arg-type]
    channel = SimpleNamespace(send=lambda told: distribution._on_message(channel, told), setcallback=lambda end: None)
    worker = WorkerEnd(channel, None)  # type: ignore[arg-type]
    worker.answered({"event": "answered"})  # type: ignore[typeddict-item]
    channel.send("the server is down")
    run.on_answer = None  # no sink listens
    worker.answered({"event": "answered"})  # type: ignore[typeddict-item]
    assert heard == [{"event": "answered"}, "the server is down"]
