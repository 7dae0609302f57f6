"""Values and calls as source text of a language, and calls in every format a prompt can ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.models.source_text import call_text, reply_with_calls, typed_text
from pytest_bfcl.transcript import Call


@pytest.mark.parametrize(
    ("language", "schema", "value", "quoted", "text"),
    [
        ("java", {}, None, True, "null"), ("java", {}, False, True, "false"),
        ("java", {"type": "long"}, 5.0, True, "5L"),
        ("java", {"type": "integer"}, 5, True, "5"), ("java", {"type": "any"}, "a.b", False, "a.b"),
        ("java", {"type": "char"}, "'", True, '"\'"'), ("java", {"type": "char"}, "\\", True, '"\\"'),
        ("java", {"type": "char"}, "ab", True, "ab"), ("java", {"type": "any"}, "a b", True, '"a b"'),
        ("java", {"type": "any"}, 'new X("a")', True, 'new X("a")'), ("java", {"type": "any"}, "f(a)", True, '"f(a)"'),
        ("java", {"type": "string"}, "a.b", True, '"a.b"'),
        ("java", {"type": "String"}, "it's \"x\"", True, "\"it's 'x'\""),
        ("java", {"type": "HashMap"}, {}, True, "new HashMap<String, Object>()"),
        ("java", {"type": "HashMap"}, {"a": 1, "b": None}, True,
         'new HashMap<String, Object>() {{ put("a", 1); put("b", null); }}'),
        ("java", {"type": "ArrayList"}, [], True, "new ArrayList<Object>()"),
        ("java", {"type": "ArrayList", "items": {"type": "long"}}, [1], True, "new ArrayList<Long>(Arrays.asList(1L))"),
        ("java", {"type": "Array", "items": {"type": "any"}}, ["a"], True, 'new Object[]{"a"}'),
        ("java", {"type": "Array", "items": "x"}, [True], True, "new Object[]{true}"),
        ("java", {"type": "any"}, 'say "x" now', True, "'say \"x\" now'"),
        ("java", {"type": "float"}, 1.5, True, "1.5f"), ("java", {"type": "double"}, 1.5, True, "1.5"),
        ("java", {"type": "boolean"}, True, True, "true"), ("java", {"type": "long"}, 5, False, "5L"),
        ("java", {"type": "String"}, "Main", True, '"Main"'), ("java", {"type": "char"}, "q", True, "'q'"),
        ("java", {"type": "String"}, 'say "x"', True, "'say \"x\"'"),
        ("java", {"type": "integer"}, "Modes.FAST", True, "Modes.FAST"),
        ("java", {"type": "Array", "items": {"type": "integer"}}, [1, 2], True, "new int[]{1, 2}"),
        ("java", {"type": "ArrayList", "items": {"type": "String"}}, ["x"], True,
         'new ArrayList<String>(Arrays.asList("x"))'),
        ("javascript", {"type": "String"}, "x", True, '"x"'), ("javascript", {"type": "dict"}, "opts", True, "opts"),
        ("javascript", {"type": "array", "items": {"type": "String"}}, ["x", "y"], True, '["x", "y"]'),
        ("javascript", {}, None, True, "null"), ("javascript", {"type": "Bigint"}, 5, True, "5n"),
        ("javascript", {"type": "Bigint"}, 5.5, True, "5.5"), ("javascript", {"type": "Bigint"}, True, True, "true"),
        ("javascript", {}, {"a": [None, "x", {"b": 1.5}]}, True, '{"a": [null, "x", {"b": 1.5}]}'),
        ("javascript", {}, ("a", False), True, '["a", false]'),
    ],
)  # fmt: skip
def test_values(language: str, schema: dict[str, Any], value: Any, quoted: bool, text: str) -> None:
    assert typed_text(value, schema, language, quoted=quoted) == text


def entry(
    language: str = "python", return_format: str = "python", tag: bool = False, category: str = "simple_python"
) -> Entry:
    schema = {"type": "dict", "properties": {"a": {"type": "long"}, "b": {"type": "any"}}, "required": []}
    return Entry(id=f"{category}_0", category=category, language=language, question=[[]], return_format=return_format,
                 tool_call_tag=tag, function=[{"name": "g"}, {"name": "x.f", "parameters": schema}])  # fmt: skip


CALLS = [Call("x.f", {"a": 1, "b": "c"}), Call("g", {})]


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (entry(), "[x.f(a=1, b='c'), g()]"), (entry(tag=True), "<TOOLCALL>[x.f(a=1, b='c'), g()]</TOOLCALL>"),
        (entry("java", "java"), "[x.f(a=1L, b=c), g()]"), (entry("java"), "[x.f(a=1L, b=c), g()]"),
        (entry("javascript", "javascript"), "[x.f(a=1, b=c), g()]"),
        (entry("java", return_format="json"), json.dumps([{"function": "x.f", "parameters": {"a": 1, "b": "c"}},
                                                          {"function": "g", "parameters": {}}])),
        (entry("java").model_copy(update={"function": [{"name": "x.f"}]}), "[x.f(a=1, b=c), g()]"),
        (entry("java", category="multi_turn_base"), "[x.f(a=1, b='c'), g()]"),
        (entry(return_format="json"), json.dumps([{"function": "x.f", "parameters": {"a": 1, "b": "c"}},
                                                  {"function": "g", "parameters": {}}])),
    ],
)  # fmt: skip
def test_calls(item: Entry, text: str) -> None:
    assert call_text(CALLS, item) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [(True, "boolean", "true"), (1, "integer", "1"), (1.5, "float", "1.5"), ("a<b", "string", "a&lt;b"),
    ([1], "array", "[1]"), ((1,), "tuple", "(1,)"), (None, "null", "None"),
     ({"a": 1}, "object", "{'a': 1}")],
)  # fmt: skip
def test_calls_as_xml(value: Any, kind: str, text: str) -> None:
    call = [Call("f", {"p": value})]
    concise, verbose = (call_text(call, entry(return_format=f"{how}_xml")) for how in ("concise", "verbose"))
    param = f'<param name="p" type="{kind}">{text}</param>'
    assert concise == f'<functions><function name="f">{param}</function></functions>'
    param = f'<param name="p" value="{text}" type="{kind}"/>'
    assert verbose == f'<functions><function name="f"><params>{param}</params></function></functions>'


def test_letters_stay_as_they_are() -> None:
    call = [Call("f", {"p": "é"})]
    assert '"é"' in reply_with_calls(call, entry(), "fc").tool_calls[0].arguments
    assert '"é"' in call_text(call, entry(return_format="json"))
