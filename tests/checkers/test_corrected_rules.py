"""Every corrected rule: own examples with the official and the corrected verdict, and the rule named as deciding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_bfcl.checkers import CORRECTED_RULES, judge, judge_both
from tests.checkers.building import entry, function, transcript

SOUP = function(bowls="integer")
SPICE = function("season", grams="float")
LABEL = function("label", text="string", note_="string")
LIST = function("weigh", grams="array<float>")
WORDS = function("shop", items_="array<string>")
MENU = function("plan", menu="dict")
MENUS = function("plan", menus="array<dict>")
DOTTED = function("pantry.jam.open", jars="integer")


@dataclass(frozen=True)
class Example:
    rule: str
    functions: Any
    answers: Any
    output: Any
    official: bool
    corrected: bool
    entry: dict[str, Any] = field(default_factory=dict)
    transcript: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}-{str(self.output)[:40]}"


def bad(rule: str, functions: Any, answers: Any, output: Any, **more: Any) -> Example:
    """Officially wrong, right when corrected."""
    return Example(rule, functions, answers, output, False, True, **more)


def good(rule: str, functions: Any, answers: Any, output: Any, **more: Any) -> Example:
    """Officially right, wrong when corrected."""
    return Example(rule, functions, answers, output, True, False, **more)


JAVA = {"entry": {"category": "simple_java", "language": "java", "return_format": "java"}}
JS = {"entry": {"category": "simple_javascript", "language": "javascript", "return_format": "javascript"}}
PARALLEL = {"entry": {"category": "parallel"}}
IRRELEVANT = {"entry": {"category": "irrelevance"}}
JSON = {"entry": {"category": "format_sensitivity", "return_format": "json", "config": "x"}}
XML = {"entry": {"category": "format_sensitivity", "return_format": "verbose_xml", "config": "x"}}
SHORT_XML = {"entry": {"category": "format_sensitivity", "return_format": "concise_xml", "config": "x"}}


def arg(value: str, word: str, answer: Any, rule: str, how: dict[str, Any], maker: Any = bad) -> Example:
    """One Java or JavaScript argument ``value`` of type ``word``."""
    return maker(rule, function("Oven.bake", dish=word), {"dish": answer}, f"[Oven.bake(dish={value})]", **how)


EXAMPLES = [
    bad("C1", SOUP, {"bowls": [5]}, "[serve(bowls=+5)]"),
    good("C1", SOUP, {"bowls": [-5]}, "[serve(bowls=~5)]"),
    good("C1", SOUP, {"bowls": [-5]}, "[serve(bowls=+5)]"),
    good("C1", function(grams="float"), {"grams": [-1.0]}, "[serve(grams=+1.0)]"),
    bad("C2", SOUP, {"bowls": [5]}, "```python\n[serve(bowls=5)]\n```"),
    bad("C2", SOUP, {"bowls": [5]}, "Here is the call: [serve(bowls=5)] Enjoy!"),
    bad("C2", SOUP, {"bowls": [5]}, "[serve(bowls=5)]\r\n"),
    bad("C2", SOUP, [{"bowls": [5]}, {"bowls": [6]}], "serve(bowls=5)\nserve(bowls=6)", **PARALLEL),
    bad("C3", function("stir_pot", turns="integer"), {"turns": [5]}, "[stir\\_pot(turns=5)]"),
    bad("C3", function("stir_the_pot", turns="integer"), {"turns": [5]}, "[stir\\_the\\_pot(turns=5)]"),
    bad("C3", function("stir", how_often="integer"), {"how_often": [5]}, "[stir(how\\_often=5)]"),
    bad("C4", SOUP, {"bowls": [5]}, "[serve(5)]"),
    bad("C4", LABEL, {"text": ["jam"], "note": ["plum"]}, "[label('jam', 'plum')]"),
    bad("C4", LABEL, {"text": ["jam"], "note": ["plum", ""]}, "[label('jam', note='plum')]"),
    bad("C5", DOTTED, {"jars": [1]}, "[pantry_jam_open(jars=1)]"),
    bad("C5", DOTTED, {"jars": [1]}, [{"pantry_jam_open": {"jars": 1}}]),
    bad("C5", DOTTED, {"jars": [1]}, [{"pantry.jam.open": {"jars": 1}}], transcript={"underscore_names": True}),
    bad("C6", LIST, {"grams": [[1.0, 2.5]]}, "[weigh(grams=[1, 2.5])]"),
    bad("C6", LIST, {"grams": [[1.0, 2.0]]}, [{"weigh": {"grams": [1, 2]}}]),
    bad("C6", function("weigh", grams="tuple<float>"), {"grams": [[1.5, 2.0]]}, "[weigh(grams=(1.5, 2))]"),
    good("C6", function(hot="float"), {"hot": [True]}, "[serve(hot=1)]"),
    bad("C7", SOUP, [{"bowls": [1, 2]}, {"bowls": [1]}], "[serve(bowls=1), serve(bowls=2)]", **PARALLEL),
    bad("C7", SOUP, [{"bowls": [1, 2]}, {"bowls": [2, 3]}, {"bowls": [1]}],
        "[serve(bowls=1), serve(bowls=2), serve(bowls=3)]", **PARALLEL),
    bad("C7", LABEL, [{"text": ["a"], "note": ["b", ""]}, {"text": ["a"], "note": [""]}],
        "[label(text='a'), label(text='a', note='b')]", **PARALLEL),
    good("C8", SOUP, None, '```json\n{"name": "serve", "arguments": {"bowls": 1}}\n```', **IRRELEVANT),
    good("C8", SOUP, None, "<TOOLCALL>[serve(bowls=1)]</TOOLCALL>", **IRRELEVANT),
    good("C8", SOUP, None, [{"serve": "{bowls: 1"}], **IRRELEVANT),
    good("C8", SOUP, None, "[serve(bowls=1", **IRRELEVANT),
    good("C9", WORDS, {"items": [["salt"], ""]}, "[shop(items=[])]"),
    good("C9", LABEL, {"text": ["jam"], "note": ["plum", ""]}, "[label(text='jam', note='--')]"),
    good("C9", LABEL, {"text": ["jam"], "note": ["plum", ""]}, [{"label": {"text": "jam", "note": ""}}]),
    good("C9", MENU, {"menu": [{"main": ["stew"], "side": ["rice", ""]}]}, "[plan(menu={'main': 'stew', 'side': ''})]"),
    bad("C10", MENU, {"menu": [{"main": [{"dish": ["Stew"]}]}]}, "[plan(menu={'main': {'dish': 'stew'}})]"),
    bad("C10", MENU, {"menu": [{"sides": [["Rice", "Peas"]]}]}, "[plan(menu={'sides': ['rice', 'peas']})]"),
    good("C10", MENU, {"menu": [{"guests": [1]}]}, "[plan(menu={'guests': True})]"),
    good("C10", MENU, {"menu": [{"guests": [1]}]}, "[plan(menu={'guests': 1.0})]"),
    bad("C10", MENUS, {"menus": [[{"main": [{"dish": ["stew"]}]}]]}, "[plan(menus=[{'main': {'dish': 'stew'}}])]"),
    good("C11", WORDS, {"items": [["z"], "abc"]}, "[shop(items=['a', 'b', 'c'])]"),
    good("C11", WORDS, {"items": [["z"], "Salt"]}, [{"shop": {"items": ["s", "a", "l", "t"]}}]),
    good("C11", WORDS, {"items": [["z"], "a-b"]}, "[shop(items=['a', '', 'b'])]"),
    bad("C12", WORDS, {"items": [["salt"], None]}, "[shop(items=['salt'])]"),
    bad("C12", MENU, {"menu": ["usual", {"main": ["stew"]}]}, "[plan(menu={'main': 'stew'})]"),
    bad("C12", LABEL, {"text": [None, "Blue"]}, "[label(text='blue')]"),
    bad("C12", SPICE, {"grams": [2.0, None]}, [{"season": {"grams": None}}]),
    arg('new String[]{"x", "y"}', "Array<String>", [["x", "y"]], "C13", JAVA),
    arg("5", "long", [5], "C13", JAVA),
    arg("2", "float", [2.0], "C13", JAVA),
    arg("1.5f", "double", [1.5], "C13", JAVA),
    arg("Long.valueOf(5)", "long", [5], "C13", JAVA),
    arg("Integer.valueOf(5)", "long", [5], "C13", JAVA),
    arg("Boolean.valueOf(true)", "boolean", [True], "C13", JAVA),
    arg("new ArrayList<Long>(Arrays.asList(1, 2))", "ArrayList<long>", [[1, 2]], "C13", JAVA),
    arg('new ArrayList<String>() {{ add("x"); add("y"); }}', "ArrayList<String>", [["x", "y"]], "C13", JAVA),
    arg('new HashMap<String, Integer>() {{ put("k", 1); }}', "HashMap", [{"k": [1]}], "C13", JAVA),
    arg('new ArrayList<String>(Arrays.asList("a, b", "c"))', "ArrayList<String>", [["a, b", "c"]], "C13", JAVA),
    bad("C13", function("f", a="integer"), {"a": [5]}, "[f(a=5)]", **JAVA),
    bad("C13", function("Oven.bake", dish="String", with_="String"), {"dish": ["gâteau"], "with": ["plum"]},
        '[Oven.bake(dish="gâteau", with="plum")]', **JAVA),
    arg("{size: '1'}", "dict", [{"size": ["1"]}], "C14", JS),
    arg("{size: {inner: 1}}", "dict", [{"size": [{"inner": 1}]}], "C14", JS),
    arg("{\n  size: 1\n}", "dict", [{"size": [1]}], "C14", JS),
    arg("['a, b']", "array<String>", [["a, b"]], "C14", JS),
    arg("[{k: 1, m: 2}]", "array<dict>", [[{"k": [1], "m": [2]}]], "C14", JS),
    bad("C15", MENUS, {"menus": [[{"main": ["stew"]}]]},
        '[{"function": "plan", "parameters": {"menus": [{"main": "stew"}]}}]', **JSON),
    bad("C15", LABEL, {"text": ["}]"], "note": [""]}, '[{"function": "label", "parameters": {"text": "}]"}}]',
        **JSON),
    bad("C15", function("heat", on="array<boolean>"), {"on": [[True]]},
        '<functions><function name="heat"><params><param name="on" value="[true]" type="array"/>'
        "</params></function></functions>", **XML),
    bad("C15", MENUS, {"menus": [[{"main": [True]}]]},
        '<functions><function name="plan"><param name="menus" type="array">[{"main": true}]</param>'
        "</function></functions>", **SHORT_XML),
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example(example: Example) -> None:
    functions = example.functions if isinstance(example.functions, list) else [example.functions]
    answers = example.answers if isinstance(example.answers, list) or example.answers is None else [example.answers]
    named = None if answers is None else [{functions[0]["name"]: answer} for answer in answers]
    judged = entry(functions, named, **example.entry)
    record = transcript(example.output, category=judged.category, **example.transcript)
    both = judge_both(judged, record)
    assert both.official.valid is example.official, both.official
    assert both.corrected.valid is example.corrected, both.corrected
    assert example.rule in both.corrected_rules
    assert both.corrected.detail["corrected_rules"] == list(both.corrected_rules)
    assert judge(judged, record, frozenset(both.corrected_rules)).valid is example.corrected
    assert judge(judged, record, frozenset(CORRECTED_RULES) - {example.rule}).valid is example.official


def test_every_single_turn_rule_has_three_examples() -> None:
    for number in range(1, 16):
        assert sum(example.rule == f"C{number}" for example in EXAMPLES) >= 3, f"C{number}"


@pytest.mark.parametrize(
    ("schema", "accepted", "passes"),
    [
        ({"type": "string", "default": "plain"}, ["plain"], True),
        ({"type": "integer", "default": 1}, [1, 2], True),
        ({"type": "float", "default": 0}, [0.0], True),
        ({"type": "string", "default": None}, [None], True),
        ({"type": "array", "items": {"type": "string"}, "default": ["a"]}, [["a"]], True),
        ({"type": "string", "default": "plain"}, ["plum"], False),
        ({"type": "integer", "default": 1}, [2], False),
        ({"type": "boolean", "default": False}, [0], False),
        ({"type": "string", "description": "Default is plain."}, ["plain"], False),
    ],
)
def test_leaving_out_gives_the_documented_default(schema: dict[str, Any], accepted: list[Any], passes: bool) -> None:
    """Only a default that the schema states, and only where it is an accepted value."""
    document = function("label", text="string", note_=schema)
    judged = entry([document], [{"label": {"text": ["jam"], "note": accepted}}])
    both = judge_both(judged, transcript("[label(text='jam')]"))
    assert not both.official.valid
    assert both.official.reason == "simple_function_checker:missing_optional"
    assert both.corrected.valid is passes
    assert both.corrected_rules == (("C9",) if passes else ())
