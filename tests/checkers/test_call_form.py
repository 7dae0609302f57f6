"""Native calls by their form: offered names, JSON, the schema as it is sent."""

from __future__ import annotations

import pytest

from pytest_bfcl.checkers.json_calls import call_form

FUNCTIONS = [
    {
        "name": "weather.report",
        "description": "",
        "parameters": {
            "type": "dict",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "limit": {"type": "float"}},
            "required": ["city"],
        },
    },
    {"name": "now", "description": "", "parameters": {"type": "dict", "properties": {}}},
]


def _call(arguments: str, name: str = "weather_report") -> dict[str, str]:
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize(
    ("calls", "form"),
    [
        ([_call('{"city": "Oslo"}')], {}),
        ([_call('{"city": "Oslo", "days": 2, "limit": 1}', "weather.report")], {}),  # the documented name, too
        ([_call(" {} ", "now")], {}),
        ([_call("{}")], {"invalid": 1}),
        ([_call('{"city": "Oslo", "days": "2"}')], {"invalid": 1}),
        ([_call('{"city": "Oslo"')], {"broken": 1}),
        ([_call('["Oslo"]')], {"broken": 1}),
        ([_call("", "now")], {"broken": 1}),
        ([_call("[" * 100_000, "now")], {"broken": 1}),
        ([_call("{", "forecast")], {"unknown": 1}),  # each call counts once
        ([_call("{}"), _call("{}", "now"), _call("{", "now"), _call("{}", "")], dict.fromkeys(
            ("invalid", "broken", "unknown"), 1)),
    ],
)  # fmt: skip
def test_faults_are_counted(calls: list[dict[str, str]], form: dict[str, int]) -> None:
    assert call_form(FUNCTIONS, calls) == {"calls": len(calls), **form}
    nested = [[[call] for call in calls], [""]]
    assert call_form(FUNCTIONS, nested) == {"calls": len(calls), **form}


@pytest.mark.parametrize("output", [None, "", "[now()]", [], [["", "text"], []], [[None]], [{"name": 1}], {"a": 1}])
def test_what_holds_no_native_call_has_no_form(output: object) -> None:
    assert call_form(FUNCTIONS, output) is None


def test_parameters_of_java_are_sent_as_texts() -> None:
    form = call_form(FUNCTIONS, [_call('{"city": "Oslo", "days": "2"}'), _call('{"city": "Oslo", "days": 2}')], "java")
    assert form == {"calls": 2, "invalid": 1}
