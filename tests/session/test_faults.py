"""The fault table: what a flaky server does to a run, and what it must not do."""

from __future__ import annotations

import time

import pytest

from tests.patience import patience

from .conftest import Bench

ALL = 40
QUICK = ("--bfcl-concurrency=16", "-q", "--tb=no")


KINDS = (500, 503, 429, 408, "reset", "truncate", "empty", "notjson")


def test_passing_faults_leave_no_mark_on_the_scores(bench: Bench, session) -> None:
    server = bench.serve(
        *({"kind": kind, "first": 1, "ids": f"simple_python_{n}$|multiple_{n}$"} for n, kind in enumerate(KINDS))
    )
    result = session(*QUICK)
    result.assert_outcomes(passed=ALL)
    assert result.ret == 0
    numbers = bench.numbers()
    assert numbers["failure_counts"] == {}
    assert sum(found["errors"] for found in numbers["categories"].values()) == 0
    failed = {(line["id"], line["fault"]) for line in server.lines() if line["fault"] != "none"}
    assert {fault for _, fault in failed} == {str(kind) for kind in KINDS}
    assert len(failed) == 14
    attempts = {name: record["attempts"] for name, record in bench.records().items()}
    assert {name for name, count in attempts.items() if count == 2} == {name for name, _ in failed}


def test_what_fails_for_good_is_an_error_of_exactly_those_entries(bench: Bench, session) -> None:
    bench.serve({"kind": 500, "ids": "simple_python_(7|21)$"})
    result = session(*QUICK, "--bfcl-retries=1", "--bfcl-max-errors=10")
    result.assert_outcomes(passed=ALL - 2, errors=2)
    assert result.ret == 1
    verdicts = bench.verdicts()
    assert {name for name, (outcome, _) in verdicts.items() if outcome == "error"} == {
        "simple_python_7",
        "simple_python_21",
    }
    assert verdicts["simple_python_7"] == ("error", "adapter:server")
    found = bench.numbers()["categories"]["simple_python"]
    assert (found["passed"], found["failed"], found["errors"], found["accuracy"]) == (28, 0, 2, 1.0)
    result.stdout.fnmatch_lines(["simple_python *28/28*100.0 %*2"])


def test_more_errors_than_allowed_claim_no_score_and_fail_gates(bench: Bench, session) -> None:
    bench.serve({"kind": 500, "ids": "simple_python_(7|21)$"})
    options = (*QUICK, "--bfcl-retries=0", "--bfcl-fail-under=simple_python=50")
    result = session(*options)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["gate MISSED: 2 of 40*5.0 %, allowed 2 %*"])
    assert bench.numbers()["overall"]["why"] == "2 of 40 entries ended in an error, more than 2 %"
    assert session(*options, "--bfcl-max-errors=10", out="lenient").ret == 0


def test_a_dead_server_ends_the_run_with_one_message(bench: Bench, session) -> None:
    started = time.monotonic()
    result = session(*QUICK, "--bfcl-retries=1")
    assert time.monotonic() - started < patience(20)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["stopped: no server listens at http://127.0.0.1:9/v1*results are kept"])
    assert str(result.stdout).count("stopped:") == 1
    numbers = bench.numbers()
    assert numbers["overall"]["value"] is None
    assert all(found["accuracy"] is None for found in numbers["categories"].values())
    assert len(bench.records()) < 10


@pytest.mark.parametrize(("status", "words"), [(401, "refused the key"), (402, "quota")])
def test_a_refused_key_ends_the_run_at_once(bench: Bench, session, status: int, words: str) -> None:
    server = bench.serve({"kind": status, "seconds": 1})  # a quota is asked about again after the pause it asks for
    result = session(*QUICK)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"stopped: *{words}*"])
    # What is in flight at the first refusal; a quota is believed when it is said again, three times.
    assert len(server.lines()) <= (16 + 2 if status == 401 else 3 * 16)
    assert bench.numbers()["overall"]["value"] is None


def test_a_server_that_dies_midway_keeps_what_was_answered(bench: Bench, session) -> None:
    server = bench.serve({"kind": "reset", "ids": r"simple_python_(1\d|2\d)$|multiple|irrelevance|probe"})
    result = session(*QUICK, "--bfcl-retries=0", "--bfcl-concurrency=4")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["stopped: *drops every connection*"])
    assert all(bench.verdicts()[f"simple_python_{n}"] == ("passed", None) for n in range(10))
    server.faults()
    server.forget()
    assert session(*QUICK).ret == 0
    assert not {f"simple_python_{n}" for n in range(10)} & {line["id"] for line in server.lines()}
    assert len(bench.verdicts()) == ALL


def test_a_hanging_server_ends_within_the_timeout(bench: Bench, session) -> None:
    bench.serve({"kind": "hang", "ids": "simple_python_3$"})
    started = time.monotonic()
    result = session(*QUICK, "--bfcl-timeout=1", "--bfcl-retries=0", "--bfcl-max-errors=5")
    assert time.monotonic() - started < patience(8)
    result.assert_outcomes(passed=ALL - 1, errors=1)
    assert bench.verdicts()["simple_python_3"] == ("error", "adapter:timeout")


@pytest.mark.slow
def test_a_server_that_only_hangs_stops_the_run(bench: Bench, session) -> None:
    bench.serve({"kind": "hang"})
    started = time.monotonic()
    result = session(*QUICK, "--bfcl-timeout=1", "--bfcl-retries=0", "--bfcl-concurrency=12")
    assert time.monotonic() - started < patience(10)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["stopped: *no longer answers in time*"])


@pytest.mark.slow
def test_retry_after_is_honoured(bench: Bench, session) -> None:
    server = bench.serve({"kind": 429, "first": 1, "seconds": 2, "ids": "multiple_3"})
    session(*QUICK).assert_outcomes(passed=ALL)
    first, second = (line["at"] for line in server.lines() if line["id"] == "multiple_3")
    assert 2 <= second - first < 5
    assert bench.records()["multiple_3"]["latency_s"] < 1  # waiting for the server's permission is not its latency


def test_a_failing_conversation_concerns_its_own_item_only(bench: Bench, session) -> None:
    bench.serve({"kind": 400, "ids": "multiple_0|simple_python_29"})
    result = session(*QUICK, "-k", "multiple")  # look-ahead holds only what was selected
    result.assert_outcomes(passed=5, errors=1, deselected=34)
    assert bench.verdicts()["multiple_0"] == ("error", "adapter:bad_request")
    assert set(bench.verdicts()) == {f"multiple_{n}" for n in range(6)}


def test_a_reply_that_says_nothing_passes_nowhere(bench: Bench, session) -> None:
    reasons = {"filtered": "reply:content_filter", "overflow": "reply:context_overflow"}
    bench.serve({"kind": "filtered", "ids": "irrelevance_[01]"}, {"kind": "overflow", "ids": "irrelevance_[23]"})
    result = session(*QUICK, "-n", "2")
    result.assert_outcomes(passed=ALL - 4, failed=4)
    due = {f"irrelevance_{n}": reasons["filtered" if n < 2 else "overflow"] for n in range(4)}
    assert {name: bench.verdicts()[name] for name in due} == {name: ("failed", reason) for name, reason in due.items()}
    assert {name: bench.records()[name]["corrected_reason"] for name in due} == due
    assert bench.numbers()["hallucination"]["share"] == 0


def test_a_stop_without_a_word_is_an_answer_where_no_call_is_due(bench: Bench, session) -> None:
    bench.serve({"kind": "silent", "ids": "irrelevance_"})
    session(*QUICK).assert_outcomes(passed=ALL)
