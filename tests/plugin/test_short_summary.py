"""Failures by reason, the place of the summary, whole requests."""

from __future__ import annotations

import pytest

from pytest_bfcl.explaining.headlines import ALIKE

LEXICAL = ("--model", "lexical:", "--bfcl-data=bundled", "-m", "simple_python", "--tb=short", "--bfcl-out")


def test_failures_are_told_by_reason_below_themselves_and_above_the_summary(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_other="def test_other(): assert 0")
    result = pytester.runpytest_inprocess("test_other.py", "bfcl/simple_python.jsonl", *LEXICAL, "a", "-m", "")
    result.stdout.fnmatch_lines(
        [
            "*= FAILURES =*",
            "*= short test summary info =*",
            "FAILED test_other.py::test_other*",
            "*= failures by reason =*",
            "FAILED WRONG_ANSWER value_error:string: *, e.g. bfcl/simple_python.jsonl::simple_python_*",
            "*= function calling: lexical:@fc =*",
            "run: *",
            "*failed, * passed*",
        ]
    )
    listed = [line for line in result.outlines if line.startswith("FAILED bfcl/")]
    reasons = [line.rpartition(" - ")[2] for line in listed]
    assert max(map(reasons.count, reasons), default=0) <= ALIKE
