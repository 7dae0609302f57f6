"""Verdicts by category, and the promise that nothing a model writes raises or costs much."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.checkers import judge, judge_both, rule_set
from pytest_bfcl.checkers.entries import language_of, missing_results, reply_of, single_turn_calls
from pytest_bfcl.decoding import DecodeError
from pytest_bfcl.failures import FailureTag, HarnessError, UsageError, Verdict
from pytest_bfcl.transcript import Call, Reply, Step, Transcript, Turn
from tests.checkers.building import entry, function, transcript

SOUP = function("serve", bowls="integer")
ANSWER = [{"serve": {"bowls": [2]}}]


@pytest.mark.parametrize(
    ("category", "output", "outcome", "reason"),
    [
        ("simple_python", "[serve(bowls=2)]", "passed", None),
        ("sql", "[serve(bowls=2)]", "passed", None),
        ("live_relevance", "[anything(x=1)]", "passed", None),
        ("live_relevance", "no", "failed", "relevance_error:decoder_failed"),
        ("live_irrelevance", "no", "passed", None),
        ("live_irrelevance", "f(x)", "failed", "irrelevance_error:decoder_success"),
        ("chatable", "hello", "passed", None),
        ("exec_simple", "[serve(bowls=2)]", "error", "harness:not_executed"),
        ("simple_python", "[serve(bowls=3)]", "failed", "value_error:others"),
        ("simple_java", "serve(bowls=2)", "passed", None),
        ("simple_java", "serve(bowls=new int[]{2})", "failed", "type_error:simple"),  # its category's language
        ("format_sensitivity", "[serve(bowls=2)]", "passed", None),
        ("nothing_like_it", "[serve(bowls=2)]", "error", "harness:checker"),
        ("memory_kv_prereq", "", "passed", None),
        ("web_search_base", "{serve}", "failed", "agentic:answer_not_found"),
    ],
)
def test_categories(category: str, output: str, outcome: str, reason: str | None) -> None:
    verdict = judge(entry([SOUP], ANSWER, category=category), transcript(output, category=category))
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("odd"), "harness:checker"), (HarnessError("search", "gone"), "harness:search")]
)
def test_a_defect_of_a_checker_is_ours(error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(raised: Exception) -> None:
        def check_calls(*given: Any) -> None:
            raise raised

        monkeypatch.setattr(sys.modules["pytest_bfcl.checkers.judge"], "check_calls", check_calls)

    broken(error)
    both = judge_both(entry([SOUP], ANSWER), transcript("[serve(bowls=3)]"))
    assert both.official.reason == both.corrected.reason == reason
    assert str(both.official.detail["error"]).endswith("ValueError: odd" if reason == "harness:checker" else "gone")
    broken(UsageError("not installed"))
    with pytest.raises(UsageError, match="not installed"):
        judge(entry([SOUP], ANSWER), transcript("[serve(bowls=3)]"))


def test_calls_that_were_stored_need_no_reply() -> None:
    stored = Step(Reply(text="no"), calls=[Call("serve", {"bowls": 2})])
    texts = Step(Reply(text="no"), calls=["serve(bowls=2)"])
    unread = Step(Reply(text="[serve(bowls=2)]"), calls=None)
    for step, decoded, found in ((stored, True, 2), (unread, True, 2), (unread, False, 2), (texts, True, None)):
        talk = Transcript("kitchen_0", "simple_python", turns=[Turn(steps=[step])], decoded=decoded)
        if found is None:
            with pytest.raises(HarnessError, match="call texts, where output is needed"):
                single_turn_calls(entry([SOUP], ANSWER), talk)
        else:
            assert single_turn_calls(entry([SOUP], ANSWER), talk) == [("serve", {"bowls": found})]
    empty = Transcript("kitchen_0", "simple_python", decoded=True)
    with pytest.raises(DecodeError):
        single_turn_calls(entry([SOUP], ANSWER), empty)


@pytest.mark.parametrize("answers", [None, [], [{}], [{"serve": 1}], [{"serve": {"bowls": 2}}], ["serve"]])
def test_broken_answers_are_ours(answers: Any) -> None:
    verdict = judge(entry([SOUP], answers), transcript("[serve(bowls=2)]"))
    assert (verdict.tag, verdict.reason) == (FailureTag.HARNESS_ERROR, "harness:data")


def test_unknown_function_in_the_answer_is_ours() -> None:
    judged = entry([SOUP], [{"stir": {"bowls": [2]}}], category="multiple")
    assert judge(judged, transcript("[serve(bowls=2)]")).reason == "harness:data"


@pytest.mark.parametrize("category", ["simple_python", "irrelevance", "live_relevance"])
def test_a_failed_request_is_an_error_under_both_rules(category: str) -> None:
    cut = Reply(text="", problem="length")
    record = transcript(cut, "prompt", category=category, inference_error="Error during inference: 500")
    both = judge_both(entry([SOUP], ANSWER, category=category), record)
    for verdict in (both.official, both.corrected):
        assert (verdict.outcome, verdict.reason) == ("error", "adapter:inference_error")


HOSTILE = [
    "[serve(bowls=" + "9" * 10_000 + ")]", "[serve(bowls=2**99999999)]", "[serve(bowls='a'*10**12)]", "(" * 50_000,
    "[" * 150 + "]" * 150, "[serve(bowls=" + "[" * 100 + "]" * 100 + ")]", "serve(" * 5_000,
    "[serve(bowls=__import__('os').system('true'))]", "\x00\ud800", "`" * 300_000,
    "[serve(bowls=-" + "-" * 5_000 + "1)]", "a." * 50_000 + "b()", "[serve(bowls={**{}})]",
    "[serve(bowls=b'x', z=1j, y=...)]", "[" + "serve(bowls=1)," * 3_000 + "]",
]  # fmt: skip


@pytest.mark.parametrize("output", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize(("category", "language"), [("simple_python", "python"), ("parallel", "python"),
                                                ("simple_java", "java"), ("simple_javascript", "javascript"),
                                                ("irrelevance", "python")])  # fmt: skip
def test_hostile_text_is_a_verdict(output: str, category: str, language: str) -> None:
    judged = entry([SOUP], ANSWER, category=category, language=language, return_format=language)
    started = time.process_time()
    both = judge_both(judged, transcript(output, category=category))
    assert both.official.outcome in ("passed", "failed")
    assert both.corrected.outcome in ("passed", "failed")
    assert time.process_time() - started < 5.0


HOSTILE_ARGUMENTS = [
    '{"bowls": NaN}', '{"bowls": 1e999}', "[" * 100_000, '{"bowls": ' + "9" * 5000 + "}",
    '{"a":' * 3000 + "1" + "}" * 3000, "null", '{"bowls": "\\ud800"}', "",
]  # fmt: skip


@pytest.mark.parametrize("arguments", HOSTILE_ARGUMENTS, ids=range(len(HOSTILE_ARGUMENTS)))
def test_hostile_arguments_are_a_verdict(arguments: str) -> None:
    both = judge_both(entry([SOUP], ANSWER), transcript([{"name": "serve", "arguments": arguments}]))
    assert both.official.outcome == both.corrected.outcome == "failed"


LOST = '<tool_call>\n{"name": "serve", "arguments": {"bowls": 2}}\n</tool_call>'


@pytest.mark.parametrize(
    ("category", "how", "lost"),
    [
        ("simple_python", {"mode": "fc"}, "hermes"), ("simple_python", {"mode": "prompt"}, None),
        ("simple_python", {"mode": "fc", "decoder": "qwen-fc"}, None),
        ("simple_python", {"mode": "fc", "decoded": True}, None),
        ("irrelevance", {"mode": "fc"}, "hermes"), ("irrelevance", {"mode": "prompt"}, None),
    ],
)  # fmt: skip
def test_a_call_that_the_server_left_in_the_text(category: str, how: dict[str, Any], lost: str | None) -> None:
    verdict = judge(entry([SOUP], ANSWER, category=category), transcript(LOST, category=category, **how))
    assert (verdict.detail.get("lost_call") is None) is (lost is None)


def test_rows_of_sql_are_executed_only_in_tables_of_the_entry() -> None:
    """Without tables its calls are compared; with some an extension judges, which has no result here."""
    said, tables = transcript("[serve(bowls=2)]", category="sql"), {"dish": {"columns": ["a"], "rows": []}}
    assert judge(entry([SOUP], ANSWER, category="sql"), said).valid
    assert not judge(entry([SOUP], ANSWER, category="sql", tables=tables), said).valid


def test_the_language_and_the_reply_that_count() -> None:
    for category, language, found in (("simple_java", "python", "java"), ("simple_python", "java", "java")):
        assert language_of(entry([SOUP], ANSWER, category=category, language=language)) == found
    said = transcript("said")
    assert reply_of(said).text == "said"
    for error, text in (("refused", "refused"), ("", "inference error")):
        said.inference_error = error
        assert reply_of(said).text == text


def test_a_result_counts_once() -> None:
    assert missing_results(["a", "a", "b"], ["a", "a"]) == ["b"]
    assert missing_results(["a", "a"], ["a"]) == ["a"]


def test_rule_sets() -> None:
    assert rule_set("official") == frozenset()
    assert rule_set({"C6", "C7"}) == {"C6", "C7"} == {*rule_set("C6"), *rule_set("C7")}
    assert len(rule_set("corrected")) == 18
    with pytest.raises(UsageError):
        rule_set("lenient")


@pytest.mark.parametrize(
    ("found", "reason"),
    [(True, None), (Verdict(True), None), ("no please", "own:checker"), (False, "harness:checker"),
     (None, "harness:checker"), (UsageError("broken"), "harness:checker")],
)  # fmt: skip
def test_the_checker_that_an_entry_names(found: Any, reason: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It judges instead of the category's; official entries have none, and one that nobody offers is an error."""

    def load(point: Any, kind: str) -> Any:
        if isinstance(found, UsageError):
            raise found
        return lambda entry, transcript: found

    monkeypatch.setattr(entry_points, "find", lambda kind, name: name if (kind, name) == ("checkers", "mine") else None)
    monkeypatch.setattr(entry_points, "load", load)
    said = transcript("no call at all")
    verdict = judge(entry([SOUP], ANSWER, checker="mine"), said)
    assert verdict.reason == reason
    assert "mine: no please" in str(verdict.detail) or reason != "own:checker"
    assert judge(entry([SOUP], ANSWER, checker="mine", official=True), said).reason == "ast_decoder:decoder_failed"
    assert judge(entry([SOUP], ANSWER, checker=""), said).reason == "ast_decoder:decoder_failed"
    assert "no installed package offers" in str(judge(entry([SOUP], ANSWER, checker="other"), said).detail)


def test_a_group_that_no_extension_judges_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_points, "find", lambda kind, name: None)
    verdict = judge(entry([SOUP], ANSWER, category="chatable"), transcript("hello", category="chatable"))
    assert (verdict.outcome, verdict.reason) == ("error", "harness:checker")
    assert "retired categories are judged by an extension that is not installed here" in str(verdict.detail)
