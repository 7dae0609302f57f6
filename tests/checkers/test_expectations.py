"""What entries on a server can expect: calls, answers, files, databases, each alone against a recorded conversation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import pytest_bfcl
from pytest_bfcl.checkers import judge
from pytest_bfcl.checkers.expectations import broken_rule, calls_made
from pytest_bfcl.conversation.world import UNRECORDED, RecordedTools
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.expectation import ABSENT, Expectation
from pytest_bfcl.dataset.likeness import at_path
from pytest_bfcl.dataset.opening import open_files
from pytest_bfcl.failures import Verdict
from pytest_bfcl.transcript import OBSERVED, TOUCHED, Reply, Step, ToolCall, Transcript, Turn
from tests.extensions.own.recorded_logs import ABOUT, SCHEMA
from tests.recorded import same_as_recorded

CALLS: list[list[tuple[str, dict[str, Any]]]] = [
    [("add-to-cart", {"article": "Apple pie", "count": 2, "price": 3.1}), ("look", {})],
    [("add-to-cart", {"article": "fig"})],
]


def verdict(
    expectation: dict[str, Any],
    observed: Any = None,
    said: str = "It costs 1,234.50 euro.",
    asked: int = 2,
    forced: bool = False,
    touched: list[str] | None = None,
) -> Verdict:
    turns = []
    for calls in CALLS:
        made = tuple(ToolCall(name, json.dumps(arguments)) for name, arguments in calls)
        texts = [f"{n.replace('-', '_')}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls]
        turns.append(Turn([], [Step(Reply(tool_calls=made), calls=texts), Step(Reply(text=said), calls=[])]))
    question = [[{"role": "user", "content": "x"}]] * asked
    entry = Entry(id="e", category="mcp", question=question, mcp="s", expect=[expectation])
    extra = {OBSERVED: [observed], TOUCHED: touched}
    talk = Transcript("e", "mcp", "m", "fc", turns=turns, extra=extra, forced_quit=forced)
    return judge(entry, talk)


CALLED, STATE, ANSWER = "mcp:calls_mismatch", "mcp:state_mismatch", "agentic:answer_not_found"


SAID: list[tuple[dict[str, Any], str | None]] = [
    ({"called": "add-to-cart"}, None),
    ({"called": "add_to_cart", "count": 2}, None),
    ({"called": "add_to_cart", "count": 2, "turn": 0}, CALLED),
    ({"called": ["fly", "look"]}, None),
    ({"called": "fly"}, CALLED),
    ({"called": "add-to-cart", "arguments": {"article": "fig"}}, None),
    ({"called": "add-to-cart", "arguments": {"article": "fig", "count": 1}}, CALLED),
    ({"called": "add-to-cart", "arguments": {"article": {"matches": "(?i)^apple"}, "count": 2}}, None),
    ({"called": "add-to-cart", "arguments": {"article": {"contains": "pie"}}, "count": 1}, None),
    ({"called": "add-to-cart", "arguments": {"price": {"equals": 3, "tolerance": 0.2}}}, None),
    ({"called": "add-to-cart", "arguments": {"price": {"equals": 3, "tolerance": 0.05}}}, CALLED),
    ({"called": "add-to-cart", "arguments": {"count": {"exists": False}}, "count": 1}, None),
    ({"called": "add-to-cart", "arguments": {"count": True}}, CALLED),
    ({"called": "add-to-cart", "arguments": {"article": "fig"}, "closed": True}, None),
    ({"called": "add-to-cart", "arguments": {"count": 2}, "closed": True}, CALLED),
    ({"not_called": "fly"}, None),
    ({"not_called": "look"}, CALLED),
    ({"not_called": "*"}, CALLED),
    ({"not_called": "add-to-cart", "arguments": {"article": "pear"}}, None),
    ({"in_order": ["look", "add-to-cart"]}, None),
    ({"in_order": ["look", "add-to-cart", "look"]}, CALLED),
    ({"in_order": [{"called": "add-to-cart", "arguments": {"article": "fig"}}, "look"]}, CALLED),
    ({"max_calls": 3}, None),
    ({"max_calls": 2}, CALLED),
    ({"max_calls": 2, "turn": 0}, None),
    ({"answer": ["nothing", "1234.50"]}, None),
    ({"answer": 1234.5}, None),
    ({"answer": 1234}, ANSWER),
    ({"answer": ["no", 1200], "tolerance": 50}, None),
    ({"answer": 234.5}, ANSWER),
    ({"said": True, "matches": r"^\d euro"}, ANSWER),
    ({"said": True, "matches": r"\d+ euro"}, None),
    ({"said": False, "contains": "sorry"}, None),
    ({"any_of": [{"called": "fly"}, {"answer": "euro"}]}, None),
    ({"any_of": [{"called": "fly"}, {"called": "look", "turn": 0}]}, None),
    ({"any_of": [{"called": "fly"}, {"answer": "dollar"}]}, CALLED),
]
"""Expectations about calls and answers, and the reason why one does not hold."""
TOLD: list[tuple[dict[str, Any], Any, str | None]] = [
    ({"call": "f", "equals": {"a": 1.001}, "tolerance": 0.01}, {"a": 1}, None),
    ({"call": "f", "equals": {"a": 1.001}}, {"a": 1}, STATE),
    ({"call": "f", "matches": '"a": [0-9]+'}, {"a": 12}, None),
    ({"state": {"file": "x"}, "exists": False}, {ABSENT: True}, None),
    ({"state": {"file": "x"}, "exists": True}, {ABSENT: True}, STATE),
    ({"state": {"file": "x"}, "equals": None}, {ABSENT: True}, STATE),
    ({"state": {"file": "x"}, "equals": None}, None, None),
    ({"state": {"file": "x"}, "equals": {"a": "ü"}}, "u", STATE),
    ({"any_of": [{"answer": "no"}, {"call": "f", "equals": 2}]}, [None, 2], None),
    ({"any_of": [{"call": "f", "equals": 1}, {"call": "f", "equals": 2}]}, [3, 3], STATE),
]
"""Expectations about the state, what the server told of it, and the reason."""


@pytest.mark.parametrize(("expectation", "reason"), SAID)
def test_calls_and_answers(expectation: dict[str, Any], reason: str | None) -> None:
    assert verdict(expectation).reason == reason


@pytest.mark.parametrize(("expectation", "observed", "reason"), TOLD)
def test_states(expectation: dict[str, Any], observed: Any, reason: str | None) -> None:
    assert verdict(expectation, observed).reason == reason


@pytest.mark.parametrize(("touched", "reason"), [(None, None), (["x.a"], None), (["x.a", "y"], STATE)])
def test_what_else_changed_decides_where_an_expectation_says_what_may(
    touched: list[str] | None, reason: str | None
) -> None:
    assert verdict({"call": "f", "equals": 1, "only": ["x"]}, 1, touched=touched).reason == reason


@pytest.mark.parametrize(("asked", "forced"), [(3, False), (2, True)])
def test_a_conversation_that_lacks_a_turn_or_was_stopped_ended_early(asked: int, forced: bool) -> None:
    ended = verdict({"answer": "euro"}, asked=asked, forced=forced)
    assert (ended.reason, ended.detail["last_turn"]) == ("multi_turn:force_terminated", 1)


def test_what_verdicts_tell() -> None:
    """Both sides of what does not hold, in words; and what comes of other turns and messages."""
    rows: list[Any] = [[each, verdict(each).detail] for each, reason in SAID if reason]
    rows += [[each, observed, verdict(each, observed).detail] for each, observed, reason in TOLD if reason]
    rows += [[each, said, verdict(each, said=said).reason] for said in ("", "1,234", "Sorry!") for each, _ in SAID]
    rows += [[each, verdict({**each, "turn": 0}).reason] for each, _ in SAID if "any_of" not in each]
    same_as_recorded(Path(__file__).parent / "recorded" / "expectations.jsonl", rows)


LISTED = st.lists(st.sampled_from("abc"), max_size=4)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is no fault
@given(
    made=st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=3),
    wanted=LISTED,
    least=st.integers(1, 3),
)
def test_lists_of_calls(made: list[list[str]], wanted: list[str], least: int) -> None:
    """Each kind of list says what multisets and subsequences say."""
    steps = [Step(Reply(text=""), calls=[f"{name}()" for name in step]) for step in made]
    talk = Transcript("e", "mcp", "m", "fc", turns=[Turn([], [*steps, Step(Reply(text="x"), calls=[])])])
    calls, flat = calls_made(talk, 0), [name for step in made for name in step]
    have, want = Counter(flat), Counter(wanted)

    def holds(**expected: Any) -> bool:
        return broken_rule(Expectation.model_validate(expected), calls) is None

    assert holds(exact=wanted) == (flat == wanted)
    assert holds(exact=made)
    assert holds(exact=[step[::-1] for step in made])
    assert holds(exact=[*made, ["a"]]) is False
    assert holds(exact=made[::-1]) == ([*map(Counter, made)] == [*map(Counter, made[::-1])])
    assert holds(unordered=wanted) == (have == want)
    assert holds(subset=wanted) == (have <= want)
    assert holds(max_calls=least) == (len(flat) <= least)
    if wanted:
        assert holds(superset=wanted) == (have >= want)
        parts = (part for size in range(len(wanted) + 1) for part in combinations(wanted, size))
        longest = max(len(part) for part in parts if is_part(part, flat))
        assert holds(in_order=wanted) == (longest == len(wanted))
        if least <= len(wanted):
            assert holds(superset=wanted, at_least=least) == ((have & want).total() >= least)
            assert holds(in_order=wanted, at_least=least) == (longest >= least)


def is_part(part: tuple[str, ...], whole: list[str]) -> bool:
    """Whether names occur in this order."""
    rest = iter(whole)
    return all(name in rest for name in part)


@pytest.mark.parametrize(
    "expectation",
    [
        {"called": "f", "answer": "x"}, {"count": 2}, {"answer": "x", "count": 2}, {"said": True},
        {"called": "f", "equals": 1},
        {"called": "f", "arguments": {"a": {"matches": "("}}}, {"call": "f", "matches": "(?=x)"}, {"in_order": []},
        {"state": {"file": "../x"}, "equals": 1}, {"state": {"sql": "SELECT 1"}, "equals": 1}, {"max_calls": -1},
        {"state": {"file": "x", "path": "a b"}, "equals": 1}, {"any_of": [{"any_of": [{"called": "f"}]}]},
        {"state": {"files": "../*"}, "equals": []}, {"call": "f", "equals": 1, "contains": 1},
        {"called": "f", "optional": True}, {"answer": True}, {"answer": []}, {"answer": "x", "tolerance": 1},
        {"called": ""}, {"max_calls": "2"}, {"exact": ["f"], "closed": True},
        {"call": "f", "equals": 1, "tolerance": "1"},
        {"called": "f", "arguments": {"a": {"exists": True, "optional": True}}},
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(expectation: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Expectation.model_validate(expectation)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a[0].b", (1, True)), ("$.a[*].b", ([1, 2], True)), ("$['x y']", (3, True)), ("$.a[9]", (None, False)),
        ("$.no", (None, False)), ("$", ({"a": [{"b": 1}, {"b": 2}], "x y": 3}, True)),
    ],
)  # fmt: skip
def test_paths_into_json(path: str, found: Any) -> None:
    assert at_path({"a": [{"b": 1}, {"b": 2}], "x y": 3}, path) == found


@pytest.mark.parametrize(
    ("expectation", "reason"),
    [
        ({"called": "pay"}, CALLED),
        ({"attempted": "pay"}, None),
        ({"attempted": "pay", "count": 4}, None),
        ({"called": "pay", "count": 0}, None),
        ({"not_called": "pay"}, CALLED),
        ({"max_calls": 1}, None),
        ({"in_order": ["look", "pay"]}, CALLED),
        ({"called": "look"}, None),
    ],
)
def test_called_means_carried_out(expectation: dict[str, Any], reason: str | None) -> None:
    """One call is refused by its schema, one tells its error itself, two are answered with one, one is carried out."""
    refused = Step(Reply(text=""), calls=["pay(sum='x')"], results=["Error during execution: invalid arguments: sum"])
    results = ['{"error": "closed"}', "no money", "broke", "a shop"]
    failed = Step(Reply(text=""), calls=[*["pay(sum=3)"] * 3, "look()"], results=results)
    talk = Transcript("e", "mcp", "m", "prompt", turns=[Turn([], [refused, failed, Step(Reply(text="x"), calls=[])])])
    talk.extra["failed_calls"] = ["pay(sum=3)"] * 2
    entry = Entry(id="e", category="mcp", question=[[{"role": "user", "content": "x"}]], mcp="s", expect=[expectation])
    assert judge(entry, talk).reason == reason
    for odd in (1, {"pay(sum=3)": "2"}, [["look()"]]):  # of a line that somebody else wrote
        assert sum(one.carried_out for one in calls_made(replace(talk, extra={"failed_calls": odd}), 0)) == 3


ENTRY: dict[str, Any] = {
    "id": "order_0", "category": "recorded", "dialect": "json-schema",
    "question": [[{"role": "user", "content": "Where is 1?"}], [{"role": "user", "content": "And now?"}]],
    "function": [{**ABOUT, "parameters": SCHEMA}],
    "results": [{"call": "find-order", "arguments": {"number": 1}, "result": "packed"},
                {"call": "find_order", "arguments": {"number": 1}, "result": "sent"}],
    "expect": [{"turn": 0, "answer": "packed"}, {"called": "find-order", "count": 2}, {"answer": "sent"}],
    "possible_answer": [["find_order(number=1)"], ["find_order(number=1)"]],
}  # fmt: skip


def entry_of(folder: Path, **changes: Any) -> Any:
    path = folder / "own.jsonl"
    path.write_text(json.dumps({**ENTRY, **changes}) + "\n")
    data = open_files([path])
    return data.load(data.index("recorded")[0])


def test_what_the_tools_give(tmp_path: Path) -> None:
    tools = RecordedTools(entry_of(tmp_path))
    told = [tools.execute(f"find_order({each})") for each in ("number=1.0", "number=2", "number=1", "number=1")]
    assert (told[0], told[2:]) == ("packed", ["sent", "sent"])
    assert UNRECORDED in told[1]
    for wrong in (
        "find_order(number='x')",
        "other()",
        "find_order(1)",
        "import os",
        "find_order(number=1" + "0" * 5000,
    ):
        assert tools.execute(wrong).startswith("Error"), wrong


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_right_way_passes_and_doing_nothing_does_not(tmp_path: Path, mode: str) -> None:
    entry = entry_of(tmp_path)
    assert pytest_bfcl.run([entry], f"oracle:@{mode}").records[0]["outcome"] == "passed"
    (line,) = pytest_bfcl.run([entry], f"adversary:idle@{mode}").records
    assert (line["outcome"], line["reason"]) == ("failed", "agentic:answer_not_found")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"results": [{"call": "other", "result": ""}]}, "not offered"),
        ({"expect": [{"call": "find-order", "equals": 1}]}, "no state"),
        ({"expect": []}, "no expect"),
        ({"function": []}, "no function"),
        ({"mcp": "shop"}, 'category "mcp"'),
    ],
)
def test_what_cannot_be_judged_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=told):
        entry_of(tmp_path, **changes)
