"""Java and JavaScript converters: own texts, as converted by the reference; and their cost on hostile texts."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pytest_bfcl.checkers import java, javascript


@pytest.mark.parametrize(
    ("text", "word", "element", "value"),
    [
        ("5\n", "integer", None, 5),
        ("true\n", "boolean", None, "true\n"),
        ("-2L", "long", None, -2),
        ("1e3f", "float", None, 1000.0),
        (".5", "double", None, ".5"),
        ("new int[]{1}", "Array", None, ["1"]),
        ("new ArrayList<>(Arrays.asList(1))", "ArrayList", None, ["1"]),
        ("new int[]\n{1,2,}", "Array", "integer", [1, 2]),
        ("new int[]{1,\n2}", "Array", "integer", "new int[]{1,\n2}"),
        ("new int[]{1\n} new x[]{5}", "Array", "integer", [5]),
        ('new ArrayList<String>(Arrays.asList("a",))', "ArrayList", "String", ["a", ""]),
        ("new ArrayList<>(Arrays.asList())", "ArrayList", "String", "new ArrayList<>(Arrays.asList())"),
        ('new ArrayList<String>() { { add("a"); } }', "ArrayList", "String", []),
        ('new ArrayList<String>() {{ add("a");\n add("b"); }}', "ArrayList", "String", ["a", "b"]),
        ('new HashMap<A, B<C>> (){put("k","v");}', "HashMap", None, {"k": "v"}),
        ('new HashMap<A>() {{ put("a",\n 1); put( "b", 2); }}', "HashMap", None, {"a": 1}),
        ('new HashMap<A>() {{ put("a",1.5f);put("b",.5f);put("c",1_000);}}', "HashMap", None,
         {"a": 1.5, "b": ".5f", "c": 1000}),
        ('new HashMap<A>() {{ put("a", true); put("b", false); put("c", 2L); }}', "HashMap", None,
         {"a": True, "b": False, "c": 2}),
        ('new HashMap<A>() {{ put("a",1);put("b",2); }}', "HashMap", None, {"a": 1, "b": 2}),
        ("new HashMap<a\nb>()", "HashMap", None, "new HashMap<a\nb>()"),
        ("9" * 5000, "integer", None, "9" * 5000),
        ('new HashMap<A>() {{ put("a", ' + "9" * 5000 + 'L); }}', "HashMap", None, {"a": "9" * 5000 + "L"}),
        ('new HashMap<A>() {{ put("a", "x); put("b", x"); put("c", ""); }}', "HashMap", None,
         {"a": '"x', "b": 'x"', "c": ""}),
        ('new HashMap<A>() { put("a", 1);', "HashMap", None, {}),
        ('new HashMap<A>() {{ put("a",b",\n 1); }}', "HashMap", None, {'a",b': 1}),
        ('new HashMap<A>() {{ put("a",1); }}', "wonder", None, 'new HashMap<A>() {{ put("a",1); }}'),
    ],
)  # fmt: skip
def test_java(text: str, word: str, element: str | None, value: Any) -> None:
    assert java.convert(text, word, element) == value


@pytest.mark.parametrize(
    ("text", "word", "element", "value"),
    [
        ("'x'", "String", None, "x"),
        ('"', "String", None, ""),
        ("5n", "Bigint", None, 5),
        ("[ [1] , [2] ]", "array", None, [[1], [2]]),
        ("[[[1]]]", "array", None, [["[1"]]),
        ("[\n[[1]]]", "array", None, [[1]]),
        ("new Array([[1]])", "array", None, [[1]]),
        ("[[1],2]", "array", "integer", ["[1"]),
        ("[1,]", "array", "integer", [1, ""]),
        ("[{k:1}]", "array", "dict", [{"k": 1}]),
        ("[\n]", "array", "String", "[\n]"),
        (" name ", "array", "String", "name"),
        ('{k: "1", m: true}', "dict", None, {"k": 1, "m": True}),
        ('{k: "a, b: c"}', "dict", None, {"k": "a", "b": "c"}),
        ("[\n[1, 2]]", "array", None, [[1, 2]]),
        ("[[1],\n[2]]", "array", None, [[1], [2]]),
        ("[[1]\n,[2]]", "array", None, [[1], [2]]),
        ("{k: 1], m: [2}", "dict", None, {"k": "1]", "m": "[2"}),
        ("{a, b}", "dict", None, {}),
        ("{a: 1, b:}", "dict", None, {"a": 1, "b": ""}),
        ("{a:1,:b:2}", "dict", None, {"a": 1, "b": 2}),
        ("{a:1,  :b}", "dict", None, {"a": 1, "": "b"}),
        ("{k: [1, 2], m: [x:y, z]}", "dict", None, {"k": [1, 2], "m": ["x:y", "z"]}),
        ("[" + "9" * 5000 + "]", "array", "integer", "[" + "9" * 5000 + "]"),
        ("[" + "9" * 5000 + "n]", "array", "Bigint", "[" + "9" * 5000 + "n]"),
        ("[" + "x" * 5000 + "]", "array", "integer", ["x" * 5000]),
        ("[" + "x" * 5000 + "]", "array", "String", ["x" * 5000]),
    ],
)
def test_javascript(text: str, word: str, element: str | None, value: Any) -> None:
    assert javascript.convert(text, word, element) == value


@pytest.mark.parametrize(
    "unit",
    ["new int[]{", "new HashMap<", '>(){put("', 'put("",', "[[", "],[", "new ArrayList<>(Arrays.asList(", ",:", "] "],
)
@pytest.mark.parametrize("head", ["", "new HashMap<>() {", "new ArrayList<>() {{", "[[", "{", "new Array(["])
def test_hostile_texts_cost_little(unit: str, head: str) -> None:
    text = head + unit * 20_000
    started = time.process_time()
    for word in ("Array", "ArrayList", "HashMap"):
        java.convert(text + "}", word, "String")
    for word in ("array", "dict"):
        javascript.convert(text + "}", word, "String")
    assert time.process_time() - started < 2.0
