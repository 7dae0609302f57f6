"""Tools in JSON Schema: offered as they are written, judged by their schema; patterns in bounded time."""

from __future__ import annotations

import copy
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.models import as_model
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.tools.json_schema import argument_problem, schema_problem
from pytest_bfcl.tools.patterns import pattern_of
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.transcript import Reply, ToolCall

SCHEMA = {
    "type": "object", "required": ["to"], "additionalProperties": False, "$defs": {"id": {"type": "string"}},
    "properties": {"to": {"anyOf": [{"$ref": "#/$defs/id"}, {"type": "array", "items": {"$ref": "#/$defs/id"}}]},
                   "note": {"type": ["string", "null"], "default": None}, "level": {"type": "number", "maximum": 9}},
}  # fmt: skip
TOOL = {"name": "send", "description": "Sends it.", "parameters": SCHEMA, "strict": True}
ENTRY = {
    "id": "simple_python_0", "dialect": "json-schema", "question": "Send it to Ada and Bo, no note.",
    "function": [{"type": "function", "function": TOOL}],
    "possible_answer": [{"send": {"to": [["Ada", "Bo"]], "note": [None, ""], "level": [1.5, ""]}}],
}  # fmt: skip


def entry(tmp_path: Path, **changes: Any) -> Any:
    (tmp_path / "own.jsonl").write_text(json.dumps({**ENTRY, **changes}) + "\n")
    return open_data(str(tmp_path / "own.jsonl")).entry("simple_python_0")


@pytest.mark.parametrize("shape", ["openai", "flat", "anthropic", "mcp", "plain"])
def test_offered_byte_for_byte_from_any_shape(tmp_path: Path, shape: str) -> None:
    rest = {key: value for key, value in TOOL.items() if key != "parameters"}
    tool = {
        "openai": {"type": "function", "function": TOOL}, "flat": {"type": "function", **TOOL}, "plain": TOOL,
        "anthropic": {**rest, "input_schema": SCHEMA}, "mcp": {**rest, "inputSchema": SCHEMA},
    }[shape]  # fmt: skip
    seen: list[Any] = []

    def reply(request: Any) -> Reply:
        seen.append({style: compile_tools(request.functions, style) for style in ("openai", "responses", "anthropic")})
        return Reply(tool_calls=(ToolCall("send", json.dumps({"to": ["Ada", "Bo"]})),))

    (line,) = run([entry(tmp_path, function=[tool])], as_model(reply, "own:model", mode="fc")).records
    assert line["outcome"] == "passed", line
    offered = seen[0]["openai"][0]["function"]
    assert json.dumps(offered) == json.dumps(
        {"name": "send", "description": "Sends it.", "strict": True, "parameters": SCHEMA}
    )
    assert json.dumps(seen[0]["anthropic"][0]["input_schema"]) == json.dumps(SCHEMA)
    assert seen[0]["responses"][0]["strict"] is True


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"function": [{**TOOL, "parameters": {"type": "dict", "properties": {}}}]}, "not of an object"),
        ({"function": [{**TOOL, "parameters": {"properties": {"to": {"type": "text"}}}}]}, "properties.to"),
        ({"possible_answer": [{"send": {"to": [3]}}]}, "the expected call is not valid"),
        ({"possible_answer": [{"send": {"to": ["Ada"], "nobody": [1]}}]}, "the expected call is not valid"),
        ({"dialect": "yaml"}, "dialect"),
    ],
)  # fmt: skip
def test_validate(tmp_path: Path, changes: Any, said: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.jsonl").write_text(json.dumps({**ENTRY, **changes}) + "\n")
    assert main(["validate", str(tmp_path / "own.jsonl")]) == (said is not None)
    assert (said or "") in capsys.readouterr().out


def test_schemas_that_cannot_be_applied_judge_nothing_and_fetch_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import urllib.request

    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: pytest.fail("a reference was fetched"))
    deep: Any = {"type": "object"}
    for _ in range(3000):
        deep = {"type": "object", "properties": {"a": deep}}
    nested: Any = {}
    for _ in range(3000):
        nested = {"a": nested}
    for part in ({"$ref": "http://127.0.0.1:9/x"}, {"$ref": "#/no"}, {"$ref": "#/properties/a"}, {"pattern": "(?=x)"}):
        assert argument_problem({"properties": {"a": part}}, {"a": "b"}) is None
    assert argument_problem(deep, nested) is None
    assert schema_problem(deep)
    before = copy.deepcopy(SCHEMA)
    assert argument_problem(SCHEMA, {"to": "x"}) is None
    assert before == SCHEMA


def test_a_pattern_takes_bounded_time() -> None:
    begun = time.perf_counter()
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}, "patternProperties": {"(a|a)*$": {"type": "integer"}}}
    assert argument_problem(schema, {"a": "a" * 5000 + "!"})
    assert not pattern_of("(x{0,9}){0,9}(x*x*x*)*y").is_in("x" * 3000)
    assert time.perf_counter() - begun < 5


ATOMS = ["a", "b", "[ab]", "[^a]", ".", r"\w", r"\d", "(a|b)", "(?:ab|a)", "^", "$", r"\b", "(a*b)", "x", "(?P<n>a)"]
TIMES = ["", "", "", "*", "+", "?", "{1,2}", "{2}", "{0,1}", "{1,}", "*?", "+?"]


def test_patterns_find_what_re_finds() -> None:
    dice, compared = random.Random(7), 0
    for _ in range(1500):
        text = "".join(dice.choice(ATOMS) + dice.choice(TIMES) for _ in range(dice.randint(1, 5)))
        text = dice.choice(["", "", "(?i)", "(?m)", "(?s)"]) + text
        try:
            theirs, ours = re.compile(text), pattern_of(text)
        except (re.error, ValueError):
            continue
        for _ in range(4):
            said = "".join(dice.choice("abAx1 \n") for _ in range(dice.randint(0, 8)))
            assert ours.is_in(said) == bool(theirs.search(said)), (text, said)
            compared += 1
    assert compared > 2000


@pytest.mark.parametrize(
    "text",
    [
        "(", "a)", "[", r"\1", "(?=a)", "a**", "*a", "(a{99}){99}", "a" * 2000, "\\", "(" * 100, "a{3,1}", "a{1000}",
        r"\p",
    ],
)  # fmt: skip
def test_what_has_no_such_construction_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        pattern_of(text)
