"""Odd and broken calls in a server reading: all of a call or none of it, and good calls beside broken ones."""

from __future__ import annotations

import html
import json
import random
import time
from contextlib import suppress
from typing import Any

import pytest

from pytest_bfcl.decoding import DecodeError, call_texts, decode_reply
from pytest_bfcl.formats.decoders import HANDLERS, SERVED, handler_name
from pytest_bfcl.formats.detection import calls_anywhere, lost_calls, values_in
from pytest_bfcl.formats.schema_types import typed_arguments
from pytest_bfcl.formats.thinking import TAGS, read_thinking
from pytest_bfcl.transcript import Call, Reply
from tests.extensions.formats.test_own_formats import WRITTEN
from tests.patience import patience

GEMMA = "<|tool_call>{}<tool_call|>".format
GLM = "<tool_call>f{}</tool_call>".format
DSML = '<｜DSML｜function_calls><｜DSML｜invoke name="f">{}</｜DSML｜invoke></｜DSML｜function_calls>'.format
CODER = "<tool_call>\n<function=f>\n{}</function>\n</tool_call>".format
READ: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("gemma4", GEMMA("call:f{a:1}call:g{}, call:h{b:{c:2}}"), [{"f": {"a": 1}}, {"g": {}}, {"h": {"b": {"c": 2}}}]),
    ("gemma4", GEMMA('call:f{a:"x, \\"y\\"}",b:2}'), [{"f": {"a": 'x, "y"}', "b": 2}}]),
    ("gemma4", GEMMA('call:f{a:<|"|>x <tool_call|><|tool_call>call:g{} y<|"|>}'),
     [{"f": {"a": "x <tool_call|><|tool_call>call:g{} y"}}]),
    ("glm45", GLM("<arg_key>a</arg_key><arg_value>x<arg_key>b</arg_key><arg_value>y"), [{"f": {"a": "x", "b": "y"}}]),
    ("glm45", GLM("<arg_key>a</arg_key>x</arg_value>"), [{"f": {"a": "x"}}]),
    ("glm45", GLM("<arg_key>a<1></arg_key><arg_value>x</arg_value>"), [{"f": {"a<1>": "x"}}]),
    ("longcat", GLM("<arg_key>a</arg_key><arg_value>x</arg_value>").replace("<", "<longcat_").replace("<longcat_/",
     "</longcat_"), [{"f": {"a": "x"}}]),
    ("dsml", DSML('\n{"a": 1, "b": {"c": []}}\n'), [{"f": {"a": 1, "b": {"c": []}}}]),
    ("dsml", DSML(""), [{"f": {}}]),
    ("command", '<|START_ACTION|>{"tool_name": "f"}<|END_ACTION|>', [{"f": {}}]),
    ("qwen-coder", CODER("<parameter=a>\n</tool_call> and </function>\n</parameter>\n"),
     [{"f": {"a": "</tool_call> and </function>"}}]),
    ("qwen-coder", CODER("<parameter=a>\nx\n<parameter=b>\ny\n</parameter>\n"), [{"f": {"a": "x", "b": "y"}}]),
    ("pythonic", "[f(from='a', x=1), class.import(lambda=2)]",
     [{"f": {"from": "a", "x": 1}}, {"class.import": {"lambda": 2}}]),
    ("pythonic", "Now [see] it:\n[f(a='(]'),\n g(b=[1])]\nDone (soon).", [{"f": {"a": "(]"}}, {"g": {"b": [1]}}]),
    ("minimax-m2", '<minimax:tool_call><invoke name="f"><parameter name="a">\n<![CDATA[x<y]]>\n</parameter></invoke>',
     [{"f": {"a": "x<y"}}]),
    ("olmo3", "<function_calls>\nf(from=1)\ng(in='not in')\n</function_calls>",
     [{"f": {"from": 1}}, {"g": {"in": "not in"}}]),
]  # fmt: skip
BROKEN = [
    ("gemma4", GEMMA("call:f{a:1} and more")),
    ("dsml", DSML("a text")),
    ("qwen-coder", CODER("<parameter=a>\n<parameter>x</parameter>\n</parameter>\n")),
    ("minimax-m3",
     ']<]minimax[><invoke name="f">]<]minimax[><a>x]<]minimax[><b>y]<]minimax[></b>]<]minimax[></invoke>'),
    ("glm45", GLM("<arg_key>a</arg_key><arg_key>b</arg_key><arg_value>x</arg_value>")),
    ("minimax-m2", '<minimax:tool_call><invoke name="f"><parameter name="a">x</invoke></minimax:tool_call>'),
    ("harmony", "<|channel|>commentary to=functions.f<|message|>"),
    ("pythonic", "[f('x')]"),
    ("solar", '<|tool_call:begin|>1<|tool_call:name|>f<|tool_call:args|>{"a": 1}oops<|tool_call:end|>'),
    ("functionary31", '<function=f>{"a": 1}oops</function>'),
    ("plamo",
     '<|plamo:begin_tool_name:plamo|>f<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>{"a": 1}'
     "oops<|plamo:end_tool_arguments:plamo|>"),
    ("gemma4", GEMMA("call:f(a=1)")),
    ("gemma4", GEMMA('{"name": "f"}')),
    *((name, f'{opening}[{{"name": "f", "arguments": {{}}}}] oops{closing}') for name, opening, closing in (
        ("toolcall-json", "<TOOLCALL>", "</TOOLCALL>"), ("tool-calls-list", "<tool_calls>", "</tool_calls>"),
        ("phi4-mini", "<|tool_call|>", "<|/tool_call|>"), ("command", "<|START_ACTION|>", "<|END_ACTION|>"),
        ("internlm", "<|action_start|><|plugin|>", "<|action_end|>"),
    )),
    ("apertus", '<|tools_prefix|>[{"f": {}}] oops<|tools_suffix|>'),
]  # fmt: skip
GOOD_AND_BROKEN = {
    "hermes": ('<tool_call>{"name": "f", "arguments": {', "}}</tool_call>", "oops"),
    "deepseek": ("<｜tool▁call▁begin｜>f<｜tool▁sep｜>{", "}<｜tool▁call▁end｜>", "oops"),
    "gemma4": ("<|tool_call>call:f{", "}<tool_call|>", "} oops"),
    "dsml": ('<｜DSML｜invoke name="f">', "</｜DSML｜invoke>", "oops"),
    "olmo3": ("<function_calls>f(", ")</function_calls>", "1 oops"),
}


@pytest.mark.parametrize(("name", "text", "calls"), READ)
def test_a_call_is_read_whole(name: str, text: str, calls: list[dict[str, Any]]) -> None:
    assert [call.as_object() for call in decode_reply(Reply(text=text), "fc", decoder=name)] == calls


@pytest.mark.parametrize(("name", "text"), BROKEN)
def test_a_call_of_which_something_is_unread_is_no_call(name: str, text: str) -> None:
    with pytest.raises(DecodeError):
        decode_reply(Reply(text=text), "fc", decoder=name)


@pytest.mark.parametrize("name", GOOD_AND_BROKEN)
def test_a_broken_call_leaves_the_good_ones(name: str) -> None:
    before, after, wrong = GOOD_AND_BROKEN[name]
    good, broken = before + after, before + wrong + after
    for text in (good + broken + good, broken + good + good):
        assert [call.name for call in decode_reply(Reply(text=text), "fc", decoder=name)] == ["f", "f"]
    with pytest.raises(DecodeError):
        decode_reply(Reply(text=broken + broken), "fc", decoder=name)


OBJECT = '{"name": "f", "arguments": {"a": "x"}}'


@pytest.mark.parametrize(
    "text",
    [
        html.escape(OBJECT), json.dumps(OBJECT), str(json.loads(OBJECT)), f"before {[json.loads(OBJECT)]} behind",
        json.dumps(json.dumps([json.loads(OBJECT)])[:-1] + "]"),
    ],
)  # fmt: skip
def test_objects_are_found_however_they_are_escaped(text: str) -> None:
    assert json.dumps(list(values_in(text))).strip("[]") == OBJECT


@pytest.mark.parametrize(
    "text",
    [
        '<function_calls>\n<invoke name="f">\n<parameter name="a">x</parameter>\n</invoke>\n</function_calls>',
        html.escape('<tool_call>{"name": "f", "arguments": {"a": "x"}}</tool_call>'), "r = f(\n    a='x',\n)",
    ],
)  # fmt: skip
def test_calls_are_found_again_in_any_text(text: str) -> None:
    assert Call("f", {"a": "x"}) in list(calls_anywhere(text, {"f"}))


LOOP: dict[str, Any] = {"type": "object", "properties": {}}
LOOP["properties"]["a"] = LOOP
SCHEMAS: list[Any] = [
    {"type": ["integer", "null"]},
    {"type": ["string", 3, None]},
    {"type": {}},
    {"type": "nobody knows"},
    {"$ref": "#/properties/a"},
    {"$ref": "#/$defs/missing"},
    {"$ref": 7},
    {"anyOf": [{"$ref": "#"}, {"type": "number"}, 5, None]},
    {"anyOf": 5, "oneOf": {}, "allOf": None},
    {"enum": [None, 1, 2.5, "x", [], {}, True]},
    {"enum": "x"},
    {"type": "array", "items": 5},
    {"type": "object", "properties": []},
    {"properties": {"a": {"type": "boolean"}}},
    LOOP,
    [],
    None,
    "text",
]
DOCUMENTS: list[Any] = [
    *([{"name": "f", "parameters": {"properties": {"a": schema, "on": schema}}}] for schema in SCHEMAS),
    [{"name": "f", "parameters": None}],
    [{"name": None}, {"function": {"name": "f", "parameters": {"properties": None}}}],
    [{"name": "f", "parameters": LOOP}],
    [],
]
"""Lists of functions with schemas that are odd, wrong or without end."""
PIECES = (
    *{piece for text in WRITTEN.values() for piece in (text[: len(text) // 3], text[len(text) // 3 :])},
    *(tag for tags in TAGS.values() for tag in tags),
    "{", "}", "[", "]", "(", ")", "<", ">", '"', "'", "\\", ",", ":", ";", "=", "\n", "\0", "\ud800", "𝔘", "null", "-0",
    "1e999",
    "9" * 5000, "[" * 300, '{"a":' * 300, "f(" * 120, "0x", "1_0", "b'", 'f"', "lambda: 0", "**a", "```json\n",
)  # fmt: skip


def mutated(choose: random.Random) -> str:
    """A recorded reply with pieces cut out, doubled, swapped and put in."""
    text = choose.choice(list(WRITTEN.values()))
    for _ in range(choose.randint(1, 4)):
        at, end = sorted((choose.randint(0, len(text)), choose.randint(0, len(text))))
        middle = choose.choice((text[at:end] * 2, "", choose.choice(PIECES), text[at:end][::-1], choose.choice(PIECES)))
        text = text[:at] + middle + text[end:]
    return text


@pytest.mark.parametrize("texts", [600, pytest.param(100_000, marks=pytest.mark.slow)])
def test_no_decoder_raises_on_any_text_or_schema(texts: int) -> None:
    choose = random.Random(26)
    names = (*map(handler_name, HANDLERS), *SERVED)
    for number in range(texts):
        text, functions = mutated(choose), choose.choice(DOCUMENTS)
        for name in choose.sample(names, 2):
            for rules in ("official", "corrected"):
                with suppress(DecodeError):
                    decode_reply(Reply(text=text), "fc", decoder=name, rules=rules, functions=functions)
            with suppress(DecodeError):
                call_texts(Reply(text=text), "fc", name, functions)
        if number % 10 == 0:
            lost_calls(text, functions)
            read_thinking(text, "auto", choose.choice(("served", "harmony", "think", "r1")))


OPENINGS = [text[: len(text) * share // 4] for text in WRITTEN.values() for share in (1, 2, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVED)
def test_a_reading_takes_time_in_proportion_to_the_text(name: str) -> None:
    """Beginnings of calls, brackets and quotes: eight times the text takes no more than thirty times as long."""
    for piece in (*OPENINGS, "[" * 50, "{" * 50, '\\"', "'", "<", "f(a='", '{"a":', "</think>"):
        spent = []
        for size in (10_000, 80_000):
            started = time.perf_counter()
            with suppress(DecodeError):
                decode_reply(Reply(text=piece * (size // len(piece))), "fc", decoder=name)
            spent.append(time.perf_counter() - started)
        assert spent[1] < max(30 * spent[0], patience(1.0)), piece


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"anyOf": [{"$ref": "#/parameters/properties/x"}, {"type": "integer"}]}, "7", 7),  # it contains itself
        ({"$ref": "#/parameters/nowhere"}, "7", "7"),  # no documented type: the text
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "number"}, "inf", "inf"),
        ({"type": ["null", "string"]}, "7", "7"),
    ],
)
def test_a_plain_text_takes_a_type_that_its_schema_allows(schema: dict[str, Any], text: str, value: object) -> None:
    document = {"name": "f", "parameters": {"type": "object", "properties": {"x": schema}}}
    assert typed_arguments("f", {"x": text}, [document]) == {"x": value}
