"""One language of expectation, in entries and in Python, and what other libraries mean by theirs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_bfcl import Failure, Reply, ToolCall, Transcript, assert_calls, assert_expect, expect
from pytest_bfcl.checkers import judge
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.own.asking import Answer
from pytest_bfcl.failures import UsageError
from pytest_bfcl.simulators import create_simulator
from pytest_bfcl.transcript import Step, Turn

OSLO, ROME, CLOCK = ("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"}), ("clock", {})
COLD = ("weather", {"city": "Oslo", "unit": "C"})
Calls = list[tuple[str, dict[str, Any]]]


def reply(calls: Calls, text: str = "It is 3.5 degrees in Oslo.") -> Reply:
    return Reply(text, tuple(ToolCall(name, json.dumps(given)) for name, given in calls))


def listed(*calls: tuple[str, dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    return [{"called": name, "arguments": given, **more} for name, given in calls]


def holds_in_an_entry(expectation: dict[str, Any], said: Reply) -> bool:
    entry = Entry(id="e", category="recorded", question=[[{"role": "user", "content": "x"}]], expect=[expectation])
    steps = [Step(said), Step(Reply(text=said.text))]
    return judge(entry, Transcript("e", "recorded", "m", "fc", turns=[Turn([], steps)])).valid


@pytest.mark.parametrize(
    ("expectation", "right", "wrong"),
    [
        ({"exact": [*listed(OSLO), "clock"]}, [OSLO, CLOCK], [CLOCK, OSLO]),
        ({"exact": []}, [], [CLOCK]),
        ({"exact": [["clock", "weather"]]}, [OSLO, CLOCK], [OSLO]),
        ({"exact": listed(OSLO, closed=True)}, [OSLO], [COLD]),
        ({"unordered": ["clock", "weather"]}, [OSLO, CLOCK], [OSLO, CLOCK, CLOCK]),
        ({"superset": listed(OSLO, ROME)}, [ROME, CLOCK, COLD], [ROME, CLOCK]),
        ({"superset": ["weather", "clock", "fly"], "at_least": 2}, [CLOCK, OSLO], [OSLO, ROME]),
        ({"subset": ["weather", "clock"]}, [CLOCK], [OSLO, ROME]),
        ({"subset": []}, [], [OSLO]),
        ({"in_order": ["weather", "clock"]}, [ROME, ROME, CLOCK], [CLOCK, OSLO]),
        ({"in_order": ["weather", "fly", "clock"], "at_least": 2}, [OSLO, CLOCK], [CLOCK, OSLO]),
        ({"called": "weather", "arguments": {"unit": {"equals": "C", "optional": True}}}, [OSLO], [CLOCK]),
        ({"called": "weather", "arguments": {"city": {"schema": {"enum": ["Oslo"]}}}}, [OSLO], [ROME]),
        ({"called": "weather", "count": 2}, [OSLO, ROME], [OSLO]),
        ({"not_called": "clock"}, [OSLO], [CLOCK]),
        ({"max_calls": 1}, [OSLO], [OSLO, ROME]),
        ({"any_of": [{"called": "fly"}, {"called": "clock"}]}, [CLOCK], [OSLO]),
    ],
)
def test_entries_and_python_say_the_same(expectation: dict[str, Any], right: Calls, wrong: Calls) -> None:
    for calls, valid in ((right, True), (wrong, False)):
        assert holds_in_an_entry(expectation, reply(calls)) is valid
        if valid:
            assert_expect(reply(calls), expectation)
            continue
        with pytest.raises(Failure, match="mcp:calls_mismatch"):
            assert_expect(reply(calls), expectation)


def test_python_has_patterns_and_functions() -> None:
    said = reply([COLD, CLOCK])
    (expect(said).called("weather", {"city": re.compile("^os", re.IGNORECASE)}, count=1)
     .exact({"weather": {"city": str.istitle, "unit": "C"}}, "clock").unordered("clock", "weather")
     .superset("clock").subset("clock", "weather", "clock").in_order("weather", "clock").attempted("clock")
     .not_called("fly").max_calls(2).answer("oslo", "Rome").answer(3.4, tolerance=0.2).said(matches=r"\d degrees")
     .said(contains="sorry", is_so=False).said(test=lambda text: len(text) > 3)
     .any_of({"called": "fly"}, {"answer": "Oslo"}))  # fmt: skip
    expect(said).called("weather", {"city": str, "unit": "C"}, closed=True).exact({"name": "weather"}, "clock")
    expect(said).any_of({"called": "weather", "arguments": {"city": {"contains": re.compile("^Os")}}})
    for rule, shown in ((re.compile("^Os$"), "/^Os$/"), (int, "int"), (json.loads, "loads"), (["Oslo"], "['Oslo']")):
        with pytest.raises(Failure, match=re.escape(f"a call of weather with {{'city': {shown}}}")):
            expect(said).called("weather", {"city": rule})


def test_a_state_in_python() -> None:
    files = create_simulator("GorillaFileSystem", {"root": {"a": {"type": "directory", "contents": {}}}})
    expect(reply([])).state({"items": [{"id": 1}]}, "$.items[0].id", equals=1).state([1, 2], contains=2)
    expect("x").state(3.1, equals=3, tolerance=0.2).state({"a": 1}, "$.b", exists=False).state(4, test=lambda n: n > 3)
    expect("x").state(files, test=bool).state({"a": 1}, schema={"required": ["a"]})
    with pytest.raises(Failure, match="mcp:state_mismatch"):
        expect("x").state({"a": 1}, "$.a", equals=2)


def test_what_is_looked_at() -> None:
    """Answers of ``ask`` know what failed; messages and transcripts know steps and turns."""
    call = {"id": "1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": "Error during execution: no"}]  # fmt: skip
    answer = Answer("Sorry.", (ToolCall("clock", "{}"),), results=("Error during execution: no",), messages=messages)
    expect(answer).attempted("clock").max_calls(0).answer("sorry")
    expect([*messages, {"role": "assistant", "content": "Sorry."}]).attempted("clock").answer("sorry")
    turns = [Turn([], [Step(reply([OSLO]))]), Turn([], [Step(reply([CLOCK]))])]
    talk = Transcript("e", "recorded", "m", "fc", turns=turns)
    assert_expect(talk, {"turn": 0, "exact": ["weather"]}, {"exact": ["weather", "clock"]})


PARTS = {"city": {}, "unit": {"type": "string"}, "at": {"type": "object", "properties": {"hour": {}}},
         "days": {"type": "array", "items": {"type": "object", "properties": {"day": {}}}}}  # fmt: skip
TOOL = {"name": "weather", "description": "", "parameters": {"type": "object", "properties": PARTS}}


async def later(value: object) -> bool:
    return True


def given(**arguments: Any) -> dict[str, Any]:
    return {"called": "weather", "arguments": arguments}


@pytest.mark.parametrize(
    ("expectation", "said"),
    [
        ({"called": "wether"}, "there is no tool 'wether'; did you mean 'weather'"),
        ({"called": "weather", "arguments": {"town": "x"}}, "weather has no parameter 'town'; known: city, unit"),
        (given(at={"our": 1}), "weather.at has no field 'our'; did you mean 'hour'"),
        (given(days={"equals": [{"dy": 1}]}), "weather.days has no field 'dy'; did you mean 'day'"),
        (given(unit={"equal": "C"}), "weather.unit is of type string, and 'equal' is no rule; did you mean 'equals'"),
        (given(city={"equals": 3, "tolerence": 1}), "'tolerence' is in no rule for a value; did you mean 'tolerance'"),
        (given(city={"optional": True}), "one of equals, contains, matches, schema, exists (an object that is meant"),
        (given(city={"equals": "x", "tolerance": 1}), "tolerance is about numbers"),
        (given(city={"schema": {"$ref": "#/$defs/x"}}), "the reference '#/$defs/x' leads nowhere"),
        (given(city=later), "later is an async function"),
        (given(city=lambda a, b: 1), "<lambda> does not take one"),
        (given(city={1, 2}), "{1, 2} is no value of JSON"),
        (given(city=print), "print returned NoneType"),
        ({"exact": [{"called": "weather", "argument": {}}]}, "exact.0: unknown field 'argument'"),
        ({"superset": ["weather"], "at_least": 2}, "is at most the number of their calls"),
        ({"called": []}, "called: List should have at least 1 item"),
        ({"answer": " "}, "answer: String should match"),
        ({"turn": 3, "called": "weather"}, "turn 3 does not exist, there are 1"),
        ({"any_of": [{"state": {"file": "x"}, "equals": 1}]}, "state needs a server"),
        ({"any_of": [{"exact": [{"weather": {"citty": 1}}]}]}, "weather has no parameter 'citty'; did you mean 'city'"),
        ({"called": "weather", "in_order": ["weather"]}, "an expectation has one of answer, said"),
        ({"calls": "weather"}, "unknown field 'calls'"),
        ({"superset": []}, "superset: List should have at least 1 item"),
        ({"said": True}, "call, resource, state and said have one of equals"),
        ({"call": "weather", "equals": 1}, "call needs a server"),
        ({"called": "weather", "arguments": {"city": {"schema": {"type": "town"}}}}, "schema: type: 'town' is not"),
    ],
)
def test_the_users_mistakes_are_said_before_anything_is_judged(expectation: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        assert_expect(reply([OSLO]), {"max_calls": 1}, expectation, functions=[TOOL])
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 5


def test_answers_of_assert_calls_are_checked_too() -> None:
    for expected, said in (
        ({"weather": {"town": "x"}}, "weather has no parameter 'town'"), ({"fly": {}}, "there is no tool 'fly'"),
        ({"weather": {"city": re.compile("x")}}, "patterns and functions are for expect"),
        ({"weather": {"city": str.isupper}}, "patterns and functions are for expect"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=re.escape(said)):
            assert_calls(reply([OSLO]), [TOOL], expected=expected)
