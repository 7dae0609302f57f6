"""Failures by reason, the place of the summary, whole requests."""

from __future__ import annotations

import pytest

from pytest_bfcl.explaining.folding import ALIKE

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


def test_the_whole_request_is_shown_with_vv(pytester: pytest.Pytester) -> None:
    words = "Where is it warm? " + " ".join(f"word{number}" for number in range(300)) + "\n::add-mask::x"
    question = words.replace("\n", "\\n")
    (pytester.path / "own.jsonl").write_text(
        '{"id": "irrelevance_0", "question": "' + question + '", "function": [{"name": "get_weather", "description": '
        '"Tells how warm it is.", "parameters": {"type": "dict", "properties": {}, "required": []}}]}\n'
    )
    run = ("own.jsonl", "--model", "lexical:", "--bfcl-out")
    short = pytester.runpytest_inprocess(*run, "a").stdout.str()
    whole = pytester.runpytest_inprocess(*run, "b", "-vv").stdout.str()
    assert "irrelevance_error" in short
    assert "word299" not in short
    assert "word299" in whole
    assert not [line for line in whole.splitlines() if line.lstrip().startswith("::")]
