"""Value checks beyond the recorded examples: precedence, raising input, missing schema parts."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from pytest_bfcl.checkers.ast import CallRules, check_calls
from pytest_bfcl.checkers.corrected import CORRECTED, OFFICIAL
from pytest_bfcl.checkers.details import plain
from pytest_bfcl.checkers.exact import parameter_type
from pytest_bfcl.checkers.json_calls import call_form
from pytest_bfcl.checkers.values import check_python
from pytest_bfcl.transcript import Call
from tests.checkers.building import function, schema


class Text(str):
    pass


class Broken:
    def __str__(self) -> str:
        raise ValueError("no text")


def reason(word: str | dict[str, Any], value: Any, answers: list[Any], rules: frozenset[str] = OFFICIAL) -> str | None:
    broken = check_python(value, parameter_type(schema(word) if isinstance(word, str) else word), answers, rules)
    return broken.reason.name if broken else None


@pytest.mark.parametrize(
    ("word", "value", "answers", "expected"),
    [
        ("dict", {"k": "y"}, [{"k": ["x"], "m": [1]}], "value_error:dict_key"),
        ("dict", {"k": "y", "z": 1}, [{"k": ["x"]}], "value_error:dict_value"),
        ("dict", {"k": "a"}, [{"k": "abc"}], None),
        ("dict", {}, [{"k": "abc"}], None),
        ("array<dict>", [{"a": 1}], [[{"a": [2]}], ""], "value_error:list_dict_count"),
        ("array<dict>", [{"a": 1}], [[{"a": [2]}], {"b": [1]}], "value_error:list_dict_count"),
        ("array<dict>", [{"a": 1}], ["", [{"a": [2]}]], "value_error:dict_value"),
        ("array<dict>", [3], ["", [""]], "dict_checker:unclear"),
        ("any", "", ["", None], None),
        ("any", None, ["", None], None),
        ("array<string>", "x", ["", "x"], None),
        ("array<string>", [], ["x"], "value_error:others"),
        ("float", 10**400, [1.0], "value_error:others"),
        ("integer", float("nan"), [1], "type_error:simple"),
        ("tuple<integer>", (1, 2), [[1, 2]], None),
        ("array<string>", ("x",), [["x"]], "type_error:simple"),
        ({"type": "array", "items": {"type": "string"}}, [1], [["a"]], "type_error:nested"),
        ({"items": {"type": "string"}}, [1], [["a"]], "value_error:list/tuple"),
    ],
)
def test_precedence(word: str | dict[str, Any], value: Any, answers: list[Any], expected: str | None) -> None:
    assert reason(word, value, answers) == expected


@pytest.mark.parametrize(
    ("word", "value", "answers", "rules"),
    [
        ("string", "", ["", "x", 5], frozenset({"C12"})),
        ({"items": {"type": "integer"}}, "x", ["x"], CORRECTED),
    ],
)
def test_right_under_corrected_rules(word: Any, value: Any, answers: list[Any], rules: frozenset[str]) -> None:
    assert reason(word, value, answers, rules) is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ((1, (2,)), [1, [2]]), ({1, "a"}, ["1", "a"]), (b"x", "b'x'"), (float("inf"), "inf"), (True, True),
        (None, None),
        (2**1024, "a number too large to show"), (-(2**1024), "a number too large to show"), (2**1023, 2**1023),
        (Call("f", {"a": (1,)}), {"f": {"a": [1]}}), (MappingProxyType({"a": {1}}), {"a": ["1"]}), (..., "Ellipsis"),
        (Text("x" * 3000), "x" * 2000 + "…"), (["x" * 2001], ["x" * 2000 + "…"]), (Broken(), "<Broken>"),
        ([[[[[[[[["deep"]]]]]]]]], [[[[[[[["…"]]]]]]]]),
        ({str(n): n for n in range(61)}, {str(n): n for n in range(60)}), ([*range(61)], [*range(60)]),
    ],
)  # fmt: skip
def test_any_value_as_json_within_bounds(value: Any, shown: Any) -> None:
    assert plain(value) == shown


@pytest.mark.parametrize(
    ("key", "shown"), [("k", "k"), (None, "**"), (5, "5"), ("k" * 300, "k" * 200), (("a", 1), "('a', 1)")]
)
def test_keys_of_shown_values_are_texts_of_bounded_length(key: Any, shown: str) -> None:
    assert plain({key: [1, "x" * 3000]}) == {shown: [1, "x" * 2000 + "…"]}


@pytest.mark.parametrize(
    ("word", "value", "answers"),
    [
        ("dict", {"k": 1}, [{"k": 1}]),
        ("dict", {"z": 1}, [{"k": ["x"]}, "defaults"]),
        ("dict", {"k": "b"}, [{"k": ["a"]}, None]),
        ("dict", {}, [{"k": 1}]),
        ("array<string>", ["a"], [["a"], 5]),
        ("array<string>", ["a"], [["a"], None]),
        ("array<dict>", ["1"], [[{"id": [1]}], ""]),
        ("array<dict>", [{"a": 1}], [[{"a": [2]}], ["x"]]),
        ("float", 10**400, [1.0]),
    ],
)
def test_input_on_which_the_reference_raises_fails_with_a_type(word: str, value: Any, answers: list[Any]) -> None:
    broken = check_python(value, parameter_type(schema(word)), answers)
    assert broken is not None
    assert broken.raises
    assert ":" in broken.reason.name
    how = CallRules(functions=[function("serve", x=word)])
    details = check_calls([Call("serve", {"x": value})], [{"serve": {"x": answers}}], "simple", how).details
    assert getattr(details, "reference", None) == "raises here and gives no verdict"


@pytest.mark.parametrize("schema", [7, None, ["integer"]])
def test_a_schema_that_is_no_object_has_no_documented_type(schema: object) -> None:
    assert parameter_type(schema) == parameter_type({})


def test_deep_values_do_not_overflow() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert reason("array<array<string>>", deep, [[["x"]]]) == "value_error:list/tuple"


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
    {"name": "tick", "description": ""},
]


def _call(arguments: str, name: str = "weather_report") -> dict[str, str]:
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize(
    ("calls", "form"),
    [
        ([_call('{"city": "Oslo"}')], {}),
        ([_call('{"city": "Oslo", "days": 2, "limit": 1}', "weather.report")], {}),  # the documented name, too
        ([_call(" {} ", "now"), _call("{}", "tick")], {}),
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


def test_parameters_of_java_are_sent_as_texts() -> None:
    form = call_form(FUNCTIONS, [_call('{"city": "Oslo", "days": "2"}'), _call('{"city": "Oslo", "days": 2}')], "java")
    assert form == {"calls": 2, "invalid": 1}
