"""Causes: planted failures each found by their own rule; what no rule names is "other"."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl.extensions.boards.causes import CAUSES, cause_of, holds_two_calls
from pytest_bfcl.extensions.boards.diagnosis import answer, changes, diagnose


def line(reason: str, category: str = "simple_python", **fields: Any) -> dict[str, Any]:
    return {
        "id": f"{category}_0", "category": category, "model": "m@fc", "mode": "fc", "repeat": 1, "outcome": "failed",
        "reason": reason, "detail": {}, "output": None, "calls": None, "tool_results": None, "reasoning": None,
        **fields,
    }  # fmt: skip


def argument(param: str, expected: list[Any], called: object, reason: str = "value_error:string") -> dict[str, Any]:
    detail = {"param": param, "expected": expected, "called": called, "function": "f"}
    return line(reason, detail=detail, calls=[{"f": {param: called}}])


def said(text: str, **fields: Any) -> dict[str, Any]:
    return line("ast_decoder:decoder_failed", output=text, **fields)


def turn(expected: list[str], called: list[str], number: int = 1, **fields: Any) -> dict[str, Any]:
    detail = {"turn": number, "expected": expected, "called": called, **fields.pop("detail", {})}
    calls = [[["pwd()"]]] * number + [[[call] for call in called]]
    category = fields.pop("category", "multi_turn_base")
    return line("multi_turn:instance_state_mismatch", category, detail=detail, calls=calls, **fields)


COUNT = "parallel_function_checker_no_order:wrong_count"
ERROR = '{"error": "no such file"}'
PLANTED: list[tuple[str, dict[str, Any]]] = [
    ("never_two", line(COUNT, "parallel", detail={"expected": 3, "called": 1}, calls=[{"f": {}}])),
    ("lost", said('<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>')),
    ("lost", line("multi_turn:instance_state_mismatch", "multi_turn_base",
                  output=[[[{"name": "cd<|channel|>commentary", "arguments": "{}"}]]])),
    ("thought", line("reply:nothing_said", reasoning="Let me see.")),
    ("thought", said("", reasoning="I should call f.")),
    ("overflow", line("reply:context_overflow")),
    ("cut", line("reply:length", output="I will")),
    ("filtered", line("reply:content_filter")),
    ("distractor", line("simple_function_checker:wrong_func_name", calls=[{"g": {}}])),
    ("distractor", line("parallel_function_checker_no_order:cannot_find_match", calls=[{"g": {}}], detail={
        "sub_errors": [{"reason": "simple_function_checker:wrong_func_name"}]})),
    ("eager", line("irrelevance_error:decoder_success", "irrelevance", calls=[{"f": {}}])),
    ("not_asked", turn(["a()"], ["b()"], category="multi_turn_miss_param", extra={"quiet_turns_with_calls": 1})),
    ("not_asked", line("multi_turn:irrelevance_error:decoder_success", "multi_turn_miss_param", calls=[[["f()"]]])),
    ("asked", said("Which city do you mean?")),
    ("prose", said("The weather is fine.")),
    ("prose", line("multi_turn:empty_turn_model_response", "multi_turn_base", detail={"turn": 0},
                   calls=[[[]]], output=[["It is done."]])),
    ("unreadable", said('[f(a=1, "x")]', detail={"error": "no calls in Python syntax"})),
    ("unit", argument("distance", [5.0], 5000.0, "value_error:others")),
    ("unit", argument("rate", [0.05], 5.0, "value_error:others")),
    ("unit", argument("unit", ["metric"], "imperial")),
    ("date", argument("day", ["2024-05-01"], "01/05/2024")),
    ("date", argument("when", ["10:00"], "10:30")),
    ("casing", argument("name", ["USERSPACE1"], '"userspace1"')),
    ("default", line("simple_function_checker:missing_optional", detail={"param": "unit"}, calls=[{"f": {}}])),
    ("default", argument("formatted", [True, ""], False, "value_error:others")),
    ("type", argument("n", [[1, 2]], "1, 2", "type_error:simple")),
    ("wording", argument("species", ["panda"], "giant panda")),
    ("argument", argument("fuel", ["gas"], "petrol")),
    ("argument", argument("city", ["Marshall"], "Oslo")),
    ("arguments", line("parallel_function_checker_no_order:cannot_find_match", calls=[{"f": {}}], detail={
        "sub_errors": [{"reason": "value_error:string"}, {"reason": "value_error:others"}]})),
    ("one_early", line(COUNT, "parallel", detail={"expected": 3, "called": 2}, calls=[{"f": {}}, {"f": {}}])),
    ("one_early", turn(["cd(a='x')", "rm(f='y')"], ["cd(a = 'x')"])),
    ("too_few", turn(["a()", "b()", "c()"], ["a()"])),
    ("too_many", line("simple_function_checker:wrong_count", detail={"expected": 1, "called": 2}, calls=[{}, {}])),
    ("ignored_error", turn(["a()"], ["rm(f='x')", "ls()"], detail={"results": {"0": ERROR}})),
    ("repeated", turn(["a()"], ["rm(f='x')", "rm(f='x')"], detail={"results": {"0": ERROR, "1": ERROR}})),
    ("no_end", line("multi_turn:force_terminated", "multi_turn_base", calls=[[["f()"]]])),
    ("first_turn", turn(["a()"], ["b()"], number=0)),
    ("later_turn", turn(["a()"], ["b()"], number=2)),
    ("final_answer", line("agentic:answer_not_found", "memory_kv", output=[["42"]])),
    ("no_answer", line("agentic:no_last_message", "memory_kv")),
    ("other", line("own_checker:something")),
]  # fmt: skip


@pytest.mark.parametrize(("key", "found"), PLANTED, ids=[f"{key}-{n}" for n, (key, _) in enumerate(PLANTED)])
def test_a_planted_failure_has_its_cause(key: str, found: dict[str, Any]) -> None:
    assert cause_of(found, two_calls=key != "never_two").key == key


def test_every_cause_is_planted_and_its_next_step_can_be_filled_in() -> None:
    assert {key for key, _ in PLANTED} == set(CAUSES)
    for cause in CAUSES.values():
        assert "{" not in cause.next_step.format(model="openai:m", ids="ids.txt")


def test_names_of_places_are_no_dates() -> None:
    assert cause_of(argument("city", ["Marshall"], "Marshall, MN")).key == "wording"


@pytest.mark.parametrize("calls", [[{"f": {}}, {"f": {}}], [[["a()", "b()"]]]])
def test_two_calls_in_a_reply(calls: list[Any]) -> None:
    assert holds_two_calls({"calls": calls})
    assert not holds_two_calls({"calls": [{"f": {}}]})
    assert not holds_two_calls({"calls": [[["a()"], ["b()"]]]})


def run_of(causes: list[str], size: int = 200) -> list[dict[str, Any]]:
    """A run with so many failures, all others passed."""
    planted = dict(PLANTED)
    lines = [{**planted[key], "id": f"simple_python_{n}", "category": "simple_python"} for n, key in enumerate(causes)]
    rest = range(len(causes), size)
    return [*lines, *({**line(""), "id": f"simple_python_{n}", "outcome": "passed", "reason": None} for n in rest)]


def test_a_score_that_fell_is_put_down_to_what_changed() -> None:
    (before,), (after,) = diagnose(run_of(["date"] * 10)), diagnose(run_of(["date"] * 10 + ["thought"] * 30))
    told = answer(before, after)
    assert told.startswith("The score fell by 15.0 points over 200 entries: thought, and did not answer -15.0")
    found = {change.cause.key: change for change in changes(before, after)}
    assert set(found) == {"date", "thought"}
    assert found["thought"].beyond_chance
    assert not found["date"].beyond_chance
    assert len(found["thought"].new) == 30


def test_equal_runs_have_no_cause_beyond_chance() -> None:
    (before,), (after,) = diagnose(run_of(["date"] * 10)), diagnose(run_of(["wording"] + ["date"] * 9))
    assert answer(before, after) == "The score stayed the same; no cause stands out beyond chance."


def test_shares_add_up_and_errors_say_nothing() -> None:
    lines = run_of([key for key, _ in PLANTED if key not in ("never_two", "not_asked")])
    lines.append({**line("adapter:timeout"), "outcome": "error", "id": "simple_python_999"})
    (found,) = diagnose(lines)
    told = found.to_json()
    assert sum(each["share"] for each in told["causes"]) == pytest.approx(1.0)
    assert found.judged == 200
    assert told["causes"][-1]["cause"] == "other"
