"""Continuing a run, and refusing to mix it with another measurement."""

from __future__ import annotations

import json

import pytest

from .conftest import Bench

ALL = 40
QUICK = ("-q", "--tb=no", "--bfcl-concurrency=16")


def test_only_errors_and_what_is_missing_run_again(bench: Bench, session) -> None:
    server = bench.serve({"kind": 400, "ids": "simple_python_(3|9)$"})
    session(*QUICK, "-k", "simple_python").assert_outcomes(passed=28, errors=2, deselected=10)
    results = bench.path / "run" / "results.jsonl"
    before = results.read_text()
    server.faults({"kind": 400, "ids": "simple_python_9$"})
    server.forget()
    result = session(*QUICK, "-v")
    result.assert_outcomes(passed=11, errors=1, deselected=28)
    result.stdout.fnmatch_lines(["bfcl: continuing *: 28 entries are finished and not asked again"])
    assert results.read_text().startswith(before)  # the old lines stay
    assert {line["id"] for line in server.lines()} == {"simple_python_3", "simple_python_9"} | {
        name for name in bench.verdicts() if not name.startswith("simple_python")
    }
    assert bench.verdicts()["simple_python_3"] == ("passed", None)
    found = bench.numbers()["categories"]["simple_python"]
    assert (found["total"], found["passed"], found["errors"]) == (30, 29, 1)
    server.forget()
    server.faults()
    session(*QUICK).assert_outcomes(passed=1, deselected=39)
    assert json.loads((bench.path / "run" / "run.json").read_text())["state"] == "finished"
    server.forget()
    assert session(*QUICK).ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert not server.lines()


def test_another_measurement_is_refused(bench: Bench, session) -> None:
    server = bench.serve()
    session(*QUICK, "-k", "multiple")
    server.forget()
    result = session(*QUICK, "--bfcl-temperature=0.7")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*cannot continue *run: it measured something else", "*temperature of openai:mock@fc: 0.001 → 0.7"]
    )
    assert not server.lines()
    assert len(bench.verdicts()) == 6


def test_the_middle_of_a_conversation_is_not_asked_again(bench: Bench, session) -> None:
    bench.with_conversations(2)
    server = bench.serve({"kind": 400, "ids": "multi_turn_base"})
    session(*QUICK, "-k", "multi_turn").assert_outcomes(errors=2, deselected=ALL)
    server.faults()
    server.forget()
    session(*QUICK, "-k", "multi_turn")
    whole = server.asked()
    assert max(turn for _, turn, _ in whole) >= 1
    (bench.path / "run" / "results.jsonl").write_text("")  # all verdicts lost, the journal kept
    server.forget()
    session(*QUICK, "-k", "multi_turn")
    assert not server.lines()
    journal = bench.path / "run" / "journal" / "main.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["turn"] == 0]
    journal.write_text("".join(kept))
    (bench.path / "run" / "results.jsonl").write_text("")
    session(*QUICK, "-k", "multi_turn")
    assert server.asked() == {place: 1 for place in whole if place[1] > 0}
