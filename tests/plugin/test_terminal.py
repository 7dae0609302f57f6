"""What people read: header, table, facts, progress."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest._io import TerminalWriter

from pytest_bfcl.cli import main
from pytest_bfcl.plugin.failure_repr import FailureRepr
from pytest_bfcl.plugin.results import Progress
from pytest_bfcl.reporting.markdown import annotation_lines
from pytest_bfcl.session.earlier import EarlierParts
from pytest_bfcl.session.run import Run
from pytest_bfcl.settings import Settings

from .conftest import Project, question, write_lines


def test_header_and_summary(project: Project) -> None:
    project.fail("multiple_0")
    result = project.run("-m", "non_live")
    result.stdout.fnmatch_lines([
        "bfcl: scripted:script.json on bench (*), official rules",
        "*= function calling: scripted:script.json@fc =*",
        "category *correct *official *95 % interval *corrected*",
        "simple_python *4 / 4 *100.0 %*",
        "multiple *1 / 2 *50.0 %*",
        "overall: not claimed, not the official data*",
        "failures: WRONG_ANSWER 1",
        "most often: value_error:string 1",
        "run: *run",
    ])  # fmt: skip


def test_a_missing_template_is_one_sentence_without_a_traceback(project: Project) -> None:
    result = project.run("--bfcl-template", "checkpoints/step", "--bfcl-decoder", "hermes", model="vllm:m@fc")
    result.stderr.fnmatch_lines(["ERROR: *checkpoints/step does not exist"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_guess_of_the_data_is_said_even_when_quiet(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(project.path / "nothing"))
    result = project.run("-q", "-k", "simple_python_0", data=None, model="oracle:")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["bfcl: the official data is not here*not BFCL scores"])


def test_a_set_that_is_typed_and_not_used_is_said(project: Project) -> None:
    write_lines(project.path / "own.jsonl", [question("simple_python_7")])
    used = project.run("own.jsonl", "bfcl/multiple.jsonl", data="bench", out="used")
    assert "is not used" not in used.stdout.str()
    result = project.run("own.jsonl", data="bench")
    result.stdout.fnmatch_lines(["bfcl: --bfcl-data bench is not used, as only your own files were named"])


@pytest.mark.parametrize("more", [("--bfcl-dry-run",), (), pytest.param(("-n1",), marks=pytest.mark.slow)])
def test_what_will_be_skipped_is_said_before_the_first_entry_by_every_door(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    asked = question("web_search_0", involved_classes=["WebSearchAPI"], possible_answer=["Oslo"])
    write_lines(project.path / "web" / "web_search.jsonl", [asked])
    write_lines(project.path / "web" / "multiple.jsonl", [question("multiple_0")])
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    told = "2 entries will be skipped (web_search_base, web_search_no_snippet): no search provider"
    result = project.run(*more, data="web", model="oracle:", out=None)
    lines = result.outlines
    (at,) = [number for number, line in enumerate(lines) if told in line]
    assert not any(line.startswith(("bfcl/", "dry run: ")) for line in lines[:at])
    if more != ("-n1",):
        assert main(["run", "--model", "oracle:", "--data", "web", *(each.replace("bfcl-", "") for each in more)]) == 0
        assert told in capsys.readouterr().out


def test_progress_line() -> None:
    nothing: Any = SimpleNamespace()
    run = Run(nothing, [], Settings(), EarlierParts())
    run.plan([], 100)
    run.counts.update(passed=15, failed=5, error=1)
    run.cost_usd = 0.25
    progress = Progress(nothing, run)
    line = progress.line(progress._started + 10)
    assert line == "bfcl: 21 of 100, 2.1/s, 0:38 left, 75.0 % correct, 1 errors, 0.25 USD"


def rendered(text: str, width: int, colours: bool = True) -> str:
    """What a terminal of this width is sent."""
    stream = io.StringIO()
    writer = TerminalWriter(stream)
    writer.hasmarkup, writer.fullwidth = colours, width
    FailureRepr(text, "short").toterminal(writer)
    return stream.getvalue()


TEXT = """WRONG_ANSWER: value_error:string
  request   What is the weather in Oslo?
                      expected     called
            function  get_weather  get_weather
            city      "Oslo"       "Rome"  <-- not an allowed text
  rule      the text must be one of the allowed ones (case, spaces and , . / - _ * ^ do not matter)"""


def test_a_failure_is_coloured_by_what_its_lines_say() -> None:
    lines = rendered(TEXT, 120).splitlines()
    assert lines[0] == "\x1b[31m\x1b[1mWRONG_ANSWER: value_error:string\x1b[0m"
    assert lines[1] == "  request   What is the weather in Oslo?"
    assert lines[4].endswith('"Rome"  \x1b[31m\x1b[1m<-- not an allowed text\x1b[0m')
    green = rendered("T\n  expected  1 call:\n  called    2 calls:", 120).splitlines()
    assert green[1:] == ["  \x1b[32mexpected\x1b[0m  1 call:", "  \x1b[31mcalled\x1b[0m    2 calls:"]


def test_long_lines_go_on_below_their_value_on_a_terminal_only() -> None:
    assert rendered(TEXT, 70, colours=False) == TEXT + "\n"
    assert str(FailureRepr(TEXT, "short")) == TEXT
    plain = re.sub(r"\x1b\[\d+m", "", rendered(TEXT, 70)).splitlines()
    assert plain[5:] == [
        "  rule      the text must be one of the allowed ones (case, spaces and",
        "            , . / - _ * ^ do not matter)",
    ]


def test_the_ten_worst_regressions_are_warnings_and_texts_cannot_leave_their_line() -> None:
    entries = [f"simple_python_{number} passed -> WRONG_ANSWER\n::error::50 %" for number in range(30)]
    missed = {"name": "baseline:live,x", "model": "m", "ok": False, "why": "live: -4.00 points", "entries": entries}
    again = {**missed, "name": "baseline:all"}
    met = {"name": "all=60", "model": "m", "ok": True, "why": "fine", "value": 61.0, "limit": 60.0, "entries": []}
    gate: Any = {"verdict": "failed", "checks": [met, missed, again]}
    assert not list(annotation_lines(gate, {}))
    lines = list(annotation_lines(gate, {"GITHUB_ACTIONS": "true"}))
    assert lines[0] == "::error title=gate baseline%3Alive%2Cx missed::live: -4.00 points"
    assert len([line for line in lines if line.startswith("::error ")]) == 2
    warnings = [line for line in lines if line.startswith("::warning ")]
    assert len(warnings) == 10
    assert warnings[1] == (
        "::warning title=baseline%3Alive%2Cx%3A simple_python_1::"
        "simple_python_1 passed -> WRONG_ANSWER%0A::error::50 %25"
    )


LEXICAL = ("--model", "lexical:", "--bfcl-data=bundled", "-m", "simple_python", "--tb=short", "--bfcl-out")


def test_a_job_of_github_is_told(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = pytester.runpytest_inprocess(*LEXICAL, "a", "--bfcl-fail-under", "simple_python=99.9")
    result.stdout.re_match_lines([r"^::error title=gate simple_python=99\.9 missed::simple_python is "])
