"""The public assertions in somebody else's test: shapes taken, tags raised, what the failure says."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_bfcl import (
    Failure,
    FailureTag,
    Reply,
    ToolCall,
    assert_answer,
    assert_calls,
    assert_no_calls,
    assert_state,
    expect,
)
from pytest_bfcl.failures import UsageError
from pytest_bfcl.simulators import create_simulator

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a town.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": ["number", "null"]},
                "options": {"type": "object"},
                "hours": {"type": "array"},
            },
            "required": ["city"],
        },
    },
}
CLOCK = {"name": "clock", "input_schema": {"type": "object", "properties": {"zone": {"type": "string"}}}}
ANSWER = {"get_weather": {"city": ["Paris", "Paris, France"], "days": [1, ""]}}


@pytest.mark.parametrize(
    "output",
    [
        "get_weather(city='paris')",
        Reply(text="[get_weather(city='Paris', days=1)]"),
        Reply(tool_calls=(ToolCall("get_weather", '{"city": "Paris", "days": 1.0}'),)),
        ToolCall("get_weather", '{"city": "Paris"}'),
        [{"name": "get_weather", "arguments": {"city": "Paris"}}],
        [{"get_weather": {"city": "Paris"}}],
        {"name": "get_weather", "arguments": '{"city": "Paris"}'},
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "1", "type": "function",
                         "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}]},
        {"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [
            {"function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}]}}]},
    ],
)  # fmt: skip
def test_outputs_of_every_shape(output: Any) -> None:
    assert_calls(output, [WEATHER], ANSWER)


def test_plain_expected_calls() -> None:
    call = {"get_weather": {"city": "Paris", "options": {"unit": "C", "deep": {"a": [1]}}, "hours": [1, 2]}}
    output = "get_weather(city='Paris', options={'unit': 'C', 'deep': {'a': [1]}}, hours=[1, 2])"
    assert_calls(output, [WEATHER], expected=call)
    with pytest.raises(Failure, match="unexpected_param"):
        assert_calls("get_weather(city='Paris', days=1)", [WEATHER], expected={"get_weather": {"city": "Paris"}})


def test_java_and_rules() -> None:
    document = {"name": "Oven.heat", "parameters": {"properties": {"steps": {"type": "long"}}, "required": ["steps"]}}
    assert_calls("Oven.heat(steps=5L)", document, {"Oven.heat": {"steps": [5]}}, language="java")
    with pytest.raises(Failure, match="needs its suffix: 5L"):
        assert_calls("Oven.heat(steps=5)", document, {"Oven.heat": {"steps": [5]}}, category="simple_java")
    native = [{"name": "Oven_heat", "arguments": {"steps": "5L"}}]
    assert_calls(native, document, {"Oven.heat": {"steps": [5]}}, language="java", underscore_names=True)
    assert_calls(native, document, {"Oven.heat": {"steps": [5]}}, language="java", rules="corrected")


@pytest.mark.parametrize(
    "arguments",
    [
        {"functions": [WEATHER]},
        {"functions": [WEATHER], "possible_answer": ANSWER, "expected": ANSWER},
        {"functions": "get_weather", "possible_answer": ANSWER},
        {"functions": [WEATHER], "possible_answer": {"get_weather": {"city": "Paris"}}},
        {"functions": [WEATHER], "possible_answer": ANSWER, "rule": "triple"},
        {"functions": [WEATHER], "possible_answer": ANSWER, "category": "irrelevance"},
        {"functions": [WEATHER], "possible_answer": ANSWER, "rules": {"C99"}},
        {"functions": [], "possible_answer": ANSWER},
        {"functions": [WEATHER, CLOCK], "possible_answer": {"no_such": {"x": [1]}}},
    ],
)
def test_misuse_is_a_usage_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        assert_calls("get_weather(city='Paris')", **arguments)
    with pytest.raises(UsageError):
        assert_calls(42, [WEATHER], ANSWER)


def test_state() -> None:
    assert_state({"open": True, "_seed": 1, "more": 3}, {"open": True})
    with pytest.raises(Failure) as caught:
        assert_state({"rooms": {"hall": [1, 2]}}, {"rooms": {"hall": [1, 3]}, "lights": "on"})
    assert caught.value.tag is FailureTag.WRONG_ANSWER
    assert set(caught.value.detail["difference"]) == {"rooms.hall[1]", "lights"}
    with pytest.raises(UsageError):
        assert_state(3, {})


def test_state_of_simulators() -> None:
    broker = create_simulator("TradingBot")
    assert_state(broker, create_simulator("TradingBot"))
    assert_state({"TradingBot": broker}, {"TradingBot": {"authenticated": False}})
    broker.call("trading_login", {"username": "ilka", "password": "rye"})
    assert_state({"TradingBot": broker}, {"TradingBot": {"authenticated": True}})
    with pytest.raises(Failure) as caught:
        assert_state(broker, {"authenticated": False, "mood": "calm"})
    assert caught.value.detail["difference"].keys() == {"authenticated", "mood"}
    assert "    is        (absent)" in str(caught.value)


def test_python_functions_are_tools_of_every_assertion() -> None:
    def clock(zone: str) -> None: ...

    called = [{"name": "clock", "arguments": {"zone": "CET"}}]
    assert_calls(called, clock, expected={"clock": {"zone": "CET"}})
    expect(called, clock).called("clock", {"zone": "CET"})
    assert_no_calls("It is noon.", clock)
    with pytest.raises(Failure):
        assert_no_calls(called, [clock])


def test_answer() -> None:
    assert_answer("The town is Paris.", "Paris")
    assert_answer({"role": "assistant", "content": "42"}, [41, 42])
    assert_answer("It costs $5", "$5", rules="corrected")
    with pytest.raises(Failure) as caught:
        assert_answer("Rome", ["Paris", "Paris, France"])
    assert caught.value.reason == "agentic:answer_not_found"
    with pytest.raises(Failure) as caught:
        assert_answer("", "Paris")
    assert caught.value.tag is FailureTag.MALFORMED_OUTPUT


def test_python_functions_are_tools_and_a_mistake_shows_none_of_our_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from pytest_bfcl import assert_calls, assert_expect

        def get_weather(city: str): ...

        ASKED = {"get_weather": {"city": "Oslo"}}

        def test_function():
            assert_calls([{"name": "get_weather", "arguments": {"city": "Oslo"}}], [get_weather], expected=ASKED)

        def test_text():
            assert_calls("x", "get_weather", expected=ASKED)

        def test_document():
            assert_calls("x", [{"nme": 1}], expected=ASKED)

        def test_shape():
            assert_calls(object(), [get_weather], expected=ASKED)

        def test_category():
            assert_calls("x", [get_weather], expected=ASKED, category="simple")

        def test_nothing():
            assert_expect("x", functions=[])
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=5)
    told = result.stdout.str()
    assert "pytest_bfcl/" not in told
    assert told.count("UsageError: ") == 4
    assert told.count("UnknownShape: ") == 1
