"""Verdicts over systematic variations, as recorded: of values, of Java and JavaScript texts, of whole replies.

The reference's own verdicts are in the golden files and in `test_values`, `test_converters` and `test_state`; what is
recorded here is all that a verdict tells, so that no part of a rule changes unseen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import java, javascript, judge, judge_both
from pytest_bfcl.checkers.corrected import CORRECTED, OFFICIAL
from pytest_bfcl.checkers.details import _KEYS, Details
from pytest_bfcl.checkers.exact import all_exactly_right, parameter_type
from pytest_bfcl.checkers.reasons import REASONS, details_of
from pytest_bfcl.checkers.state import replay
from pytest_bfcl.checkers.values import check_python
from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.plain_text import cut
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.syntax.java import java_value
from pytest_bfcl.syntax.javascript import javascript_value
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.transcript import Call, Reply, Step, Transcript, Turn
from tests.checkers.building import function, schema
from tests.recorded import same_as_recorded

HERE = Path(__file__).parent / "recorded"
DATA = open_data("bundled")

# -- one value -------------------------------------------------------------------------------------------------------

VALUES: list[Any] = [
    "x", "X!", "", "a.b", 1, 0, 2, 1.0, 1.5, True, False, None, 10**400, [], ["x"], ["X."], ["y", "x"], [1], [1.0],
    [1, 2], [True], [""], [[1]], (1, 2), {}, {"a": 1}, {"a": 1.0}, {"a": "X."}, {"a": ""}, {"a": [1]}, {"a": {"b": 1}},
    {"b": 1}, {"a": 1, "b": 2}, [{}], [{"a": 1}], [{"b": 1}], [{"a": 1}, {"a": 2}], [{"a": 1}, "x"],
    {"a": True}, 2**53, 2**53 + 1,
]  # fmt: skip
ANSWERS: list[Any] = [
    ["x"], ["x", ""], [""], ["x", 1], [1], [1.0], [1, 2.5], [True], [False, ""], [None], [[]], [["x"]],
    [["x", "y"], ["y"]], [["x"], "x"], ["xy"], [[1]], [[1.0]], [[1, 2], ""], [[1], 5], [[[1]]], [[""]], [["x"], None],
    [{"a": [1]}], [{"a": ["x"], "b": [2, ""]}, ""], [{"a": [1], "b": [2]}, {"b": [1]}], [{"a": 1}],
    [{"a": [[1]]}], [{"a": [{"b": [1]}]}], [{"a": "ax"}], [{}], [{"a": [""]}], ["x", {"a": [1]}], [{"a": [1]}, 5],
    [[{"a": [1]}]], [[{"a": [1]}, {"a": [2]}], ""], [[{"a": ["x", ""]}]], [[{"a": [1]}], "x"], [[{}]], [5, [{}]],
    [float(2**53)],
]  # fmt: skip
WORDS: list[Any] = [
    "string", "integer", "float", "bool", "any", "wonder", "array<string>", "array<float>", "array",
    "array<array<integer>>", "tuple<integer>", "dict", "array<dict>", {"type": "string", "default": "y"},
    {"type": "dict", "default": {"b": 1}}, {"type": "integer", "default": 2},
    {"type": "dict", "properties": {"a": {"type": "float", "default": 1}, "b": {"type": "dict"}}, "required": ["a"]},
    {"type": "array", "items": {"type": "dict", "properties": {"a": {"type": "integer"}}}},
]  # fmt: skip
LETTERS = {
    None: "-", "type_error:simple": "t", "type_error:nested": "n", "value_error:string": "s",
    "value_error:list/tuple": "l",
    "value_error:dict_key": "k", "value_error:dict_value": "v", "value_error:list_dict_count": "c",
    "value_error:others": "o",
    "dict_checker:unclear": "u",
}  # fmt: skip
"""Reason → its letter, a capital one where the reference raises."""
RULES = {"required": CORRECTED} | {f"not C{number}": CORRECTED - {f"C{number}"} for number in (6, 9, 10, 11, 12)}


def fates(described: Any, answers: list[Any], rules: frozenset[str], *, required: bool = False) -> str:
    """A letter for each of the values."""
    kind = parameter_type(schema(described) if isinstance(described, str) else described, "python")
    found = (check_python(value, kind, answers, rules, required=required) for value in VALUES)
    return "".join(
        "-" if each is None else LETTERS[each.reason.name].upper() if each.raises else LETTERS[each.reason.name]
        for each in found
    )


def is_exact(value: Any, described: Any, answers: list[Any]) -> bool:
    """Whether a call with this argument is recognised without the full check."""
    call, document = Call("serve", {"x": value}), function("serve", x=described)
    return all_exactly_right([call], [{"serve": {"x": answers}}], [document], "simple", underscore_names=False)


def test_values() -> None:
    """Every kind of value against every kind of answer, under official rules, corrected ones, and all but one."""

    def rows() -> Iterator[Any]:
        for described, answers in product(WORDS, ANSWERS):
            official, corrected = (fates(described, answers, rules) for rules in (OFFICIAL, CORRECTED))
            row = {"type": described, "answers": repr(answers), "official": official}
            row |= {} if corrected == official else {"corrected": corrected}
            others = {
                name: fates(described, answers, rules, required=name == "required") for name, rules in RULES.items()
            }
            exact = "".join("=" if is_exact(value, described, answers) else "." for value in VALUES)
            row |= {"exact": exact} if "=" in exact else {}
            for found in (official, corrected, *others.values()):
                assert all(fate == "-" for fate, mark in zip(found, exact, strict=True) if mark == "="), row
            yield row | {name: found for name, found in others.items() if found != corrected}

    same_as_recorded(HERE / "values.jsonl", rows())


# -- texts of Java and JavaScript ------------------------------------------------------------------------------------

TEXTS = [
    "", "5", "-5", "5L", "5l", "5n", "1.5", "1.5f", "1e3", "1_000", ".5", "0x1F", "010", "'a'", '"a"', '"a\\n"', "true",
    "True", "null", "None", "a.b", "a b", "new int[]{1, 2}", "new String[]{\"a\", \"b\"}", "new String[]{}",
    "new int[2]",
    "new ArrayList<>(Arrays.asList(1, 2))", "new ArrayList<String>(Arrays.asList(\"a\", \"b\"))", "new ArrayList<>()",
    "new ArrayList<Integer>() {{ add(1); add(2); }}", "List.of(1, 2)", "Arrays.asList(\"a\")",
    "new HashMap<String, Integer>()",
    'new HashMap<String, Integer>() {{ put("a", 1); put("b", 2L); }}', 'Map.of("a", 1)',
    "new HashMap<>() { put(1, 2); }",
    'new HashMap<String, Object>() {{ put("a", new int[]{1}); put("b", true); }}', "[1, 2]", "[1, 'a', true]",
    "[[1], [2]]",
    "[ ]", "new Array(1, 2)", "{a: 1}", "{'a': 'b', \"c\": [1, 2]}", "{a: {b: 1}}", "{}", "{a}", "new Map([['a', 1]])",
    "`a`", "[1,\n2]", "{a: 1,\n b: 2}", "-1.5e-3", "NaN", "undefined", "[,]", "[1, 2", "('a')", "a'", "'a", 'a"', "!0",
    "1 + 1",
    "'it\\'s'", "{a:, b: 1}", "{a: b]}", "[[1], []]",
]  # fmt: skip
JAVA = [("byte", None), ("long", None), ("float", None), ("double", None), ("boolean", None), ("char", None),
("String", None),
        ("any", None), ("Array", "String"), ("Array", "integer"), ("ArrayList", "String"), ("ArrayList", "integer"),
        ("HashMap", None)]  # fmt: skip
JAVASCRIPT = [("String", None), ("integer", None), ("float", None), ("Bigint", None), ("Boolean", None), ("any", None),
              ("array", None), ("array", "String"), ("array", "integer"), ("array", "Boolean"),
              ("dict", None)]  # fmt: skip


@pytest.mark.parametrize(
    ("language", "convert", "read", "words"),
    [("java", java.convert, java_value, JAVA), ("javascript", javascript.convert, javascript_value, JAVASCRIPT)],
)
def test_texts(language: str, convert: Any, read: Any, words: list[tuple[str, str | None]]) -> None:
    """What each text is as each type, as the reference converts it and as a literal of the language."""

    def rows() -> Iterator[Any]:
        for text in TEXTS:
            row: dict[str, list[str]] = {}
            for word, element in words:
                described = {"type": word} | ({"items": {"type": element}} if element else {})
                found = f"{convert(text, word, element)!r} / {read(text, described)!r}"
                row.setdefault(found.replace(repr(text), "="), []).append(f"{word}<{element}>" if element else word)
            yield [text, row]

    same_as_recorded(HERE / f"{language}.jsonl", rows())


# -- whole replies ---------------------------------------------------------------------------------------------------


def other(value: Any, how: str) -> Any:
    """A value that is wrong in one way."""
    match how, value:
        case "type", str():
            return 7
        case "type", bool() | None:
            return "true"
        case "type", int() | float():
            return str(value)
        case "type", _:
            return json.dumps(value)
        case "near", str():
            return f" {value.upper()}."
        case "near", bool():
            return int(value)
        case "near", int():
            return float(value)
        case "near", float():
            return int(value)
        case "near", list():
            return [other(each, "near") for each in value]
        case "near", dict():
            return {name: other(each, "near") for name, each in value.items()}
        case "order", list():
            return value[::-1]
        case "order", dict():
            return dict(reversed(value.items()))
        case "quoted", str():
            return f"'{value}'"
        case "more", list():
            return [*value, *value[:1], 5]
        case "more", dict():
            return {**value, "more": 1}
        case "fewer", list():
            return value[1:]
        case "fewer", dict():
            return dict(list(value.items())[1:])
        case "value", str():
            return f"{value} else"
        case "value", bool():
            return not value
        case "value", int() | float():
            return value + 1
    return value


HOWS = ("type", "near", "order", "quoted", "more", "fewer", "value")
Calls = list[tuple[str, dict[str, Any]]]


def right_calls(entry: Entry) -> Calls:
    """The expected calls, of each argument the first value; objects have lists of values likewise."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each[0] if isinstance(each, list) and each else each) for name, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return [
        (name, {each: plain(values[0]) for each, values in accepted.items() if values[0] != ""})
        for answer in entry.possible_answer or ()
        for name, accepted in answer.items()
    ]


def variations(entry: Entry) -> Iterator[tuple[str, Calls]]:
    """Name of a variation, and the calls."""
    calls = right_calls(entry)
    yield "right", calls
    yield "none", []
    yield "twice", [*calls, calls[-1]]
    yield "backwards", calls[::-1]
    (name, arguments), rest = calls[0], calls[1:]
    yield "name", [(name.upper(), arguments), *rest]
    yield "short name", [(name.rpartition(".")[2], arguments), *rest]
    yield "wire name", [(name.replace(".", "_"), arguments), *rest]
    yield "extra argument", [(name, {**arguments, "surplus": 1}), *rest]
    for each in list(arguments)[:3]:
        yield f"without {each}", [(name, {key: value for key, value in arguments.items() if key != each}), *rest]
        for how in HOWS:
            if (changed := other(arguments[each], how)) != arguments[each] or type(changed) is not type(
                arguments[each]
            ):
                yield f"{how} of {each}", [(name, {**arguments, each: changed}), *rest]


def shown(entry: Entry, reply: Reply, mode: Any, **values: Any) -> Any:
    """Both verdicts, and all they tell but the calls themselves."""
    talk = Transcript(entry.id, entry.category, mode=mode, turns=[Turn(steps=[Step(reply)])], **values)
    both = judge_both(entry, talk)

    def reduced(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                k: reduced(v)
                for k, v in value.items()
                if k not in ("expected", "called", "wanted", "calls", "allowed", "rule", "reference")
            }
        return [reduced(each) for each in value] if isinstance(value, list) else value

    corrected = () if both.corrected == both.official else (both.corrected.reason, reduced(both.corrected.detail))
    return [both.official.reason, reduced(both.official.detail), *corrected]


@pytest.mark.parametrize("category", ["simple_python", "simple_java", "simple_javascript", "multiple", "parallel",
                                      "parallel_multiple", "live_simple", "live_parallel_multiple"])  # fmt: skip
def test_replies(category: str) -> None:
    """Every way in which calls differ from the expected ones, native and written."""

    def rows() -> Iterator[Any]:
        for ref in DATA.index(category)[:6]:
            entry = DATA.load(ref)
            for name, calls in variations(entry):
                native = [{"name": each, "arguments": json.dumps(arguments)} for each, arguments in calls]
                found = shown(entry, Reply.from_output(native), "fc")
                written = ", ".join(exact_text(Call(*call)) for call in calls)
                text = shown(entry, Reply(text=f"[{written}]"), "prompt")
                yield [entry.id, name, found, *([] if text == found else [text])]

    same_as_recorded(HERE / f"{category}.jsonl", rows())


TOOL = {"name": "kitchen.serve", "dialect": "json-schema", "parameters": {
    "type": "object", "required": ["dish"], "additionalProperties": False, "$defs": {"size": {"enum": [1, 2, 3]}},
    "properties": {
        "dish": {"type": "string"}, "size": {"$ref": "#/$defs/size"}, "hot": {"type": ["boolean", "null"]},
        "sides": {"type": "array", "items": {"type": "string"}}, "table": {"type": "object"}}}}  # fmt: skip
WANTED = {"dish": ["Soup of the day"], "size": [2, 3, ""], "hot": [None, ""], "sides": [["rice", "peas"], ""],
          "table": [{"number": 4, "by": ["the", "window"]}, ""]}  # fmt: skip


@pytest.mark.parametrize("rule", ["simple_python", "parallel"])
def test_tools_in_json_schema(rule: str) -> None:
    """Each way in which a call differs from the expected one, under its schema and as JSON; native and written."""
    entry = Entry.model_validate({
        "id": f"{rule}_0", "category": rule, "question": [[{"role": "user", "content": "x"}]], "function": [TOOL],
        "possible_answer": [{"kitchen.serve": WANTED if rule == "parallel" else
                             {name: [each for each in values if each != ""] for name, values in WANTED.items()}}],
    })  # fmt: skip
    right = {name: values[0] for name, values in WANTED.items()}

    def rows() -> Iterator[Any]:
        for changes in ({}, *({name: value} for name, values in {
            "dish": ["soup-of-THE day", "stew", 7, None], "size": [3, 2.0, 1, 9, True], "hot": [False, 0],
            "sides": [["Rice", "peas."], ["peas", "rice"], ["rice"], ("rice", "peas"), "rice", []],
            "table": [{"by": ["the", "window"], "number": 4.0}, {"number": 4},
                      {"number": True, "by": ["the", "window"]},
                      {"number": 4, "by": ["the", "window"], "more": None}, None],
            "surplus": [1], None: [1],
        }.items() for value in values)):  # fmt: skip
            calls = [("kitchen.serve", {**right, **changes})]
            yield [repr(changes), fates(entry, calls)]
        for name in right:
            yield [f"without {name}", fates(entry, [("kitchen.serve", {k: v for k, v in right.items() if k != name})])]
        yield ["name", fates(entry, [("kitchen_serve", right)])]

    def fates(entry: Entry, calls: Calls) -> Any:
        native = [{"name": n, "arguments": json.dumps({str(k): v for k, v in given.items()})} for n, given in calls]
        written = Reply(text=f"[{', '.join(exact_text(Call(*each)) for each in calls)}]")
        found = [judge(entry, Transcript(entry.id, entry.category, mode=mode, turns=[Turn(steps=[Step(reply)])]))
                 for mode, reply in (("fc", Reply.from_output(native)), ("prompt", written))]  # fmt: skip
        return [[each.reason, each.detail] for each in found]

    same_as_recorded(HERE / f"json_schema_{rule}.jsonl", rows())


@pytest.mark.parametrize("category", ["simple_python", "simple_java", "parallel_multiple", "multi_turn_base"])
def test_all_that_a_verdict_tells(category: str) -> None:
    """The whole details of one entry's verdicts; read from a line of results they are the same."""
    entry = DATA.load(DATA.index(category)[0])

    def rows() -> Iterator[Any]:
        if entry.row.multi_step:
            ways = [(name, Transcript(entry.id, category, decoded=True, turns=[
                Turn(steps=[Step(Reply(text="x"), calls=list(step)) for step in turn]) for turn in turns], **more))
                for name, turns, more in trajectories(entry.possible_answer or [])]  # fmt: skip
        else:
            ways = [(name, Transcript(entry.id, category, mode="fc", turns=[Turn(steps=[Step(Reply.from_output(
                [{"name": each, "arguments": json.dumps(arguments)} for each, arguments in calls]))])]))
                for name, calls in variations(entry)]  # fmt: skip
        for name, talk in ways:
            verdict = judge(entry, talk)
            detail = {key: value for key, value in verdict.detail.items() if key != "rule"}
            assert details_of(verdict.reason, verdict.detail).to_json() == detail
            yield [name, verdict.reason, cut(json.dumps(verdict.detail), 1500)]

    same_as_recorded(HERE / f"whole_{category}.jsonl", rows())


ADVISED: dict[str, dict[str, Any]] = {
    "python": {"boolean": True, "integer": 5, "float": 5.5, "string": "jam", "any": "jam", "array<float>": [1.0, 2.0],
               "array<integer>": [1, 2], "array<string>": ["a", "b"], "tuple<integer>": [1, 2], "dict": {"a": [1]}},
    "java": {"Array<String>": ["a"], "ArrayList<integer>": [1, 2], "HashMap": {"a": [1]}, "long": 5, "float": 5.5,
             "integer": 5, "boolean": True, "String": "jam"},
    "javascript": {"array<String>": ["a"], "dict": {"a": [1]}, "Bigint": 5, "float": 5.5, "Boolean": True},
}  # fmt: skip
GIVEN: list[Any] = [
    "true", "False", "yes", True, "5", "5.5", "five", 5, 5.0, 5.5, "5L", "5.5f", "xL", "xf", "[1, 2]", " [1]",
    "{'a': 1}", "(1, 2)",
    [1, 2.0], [1, 2], ["1", "2"], ["1", "b"], [2.0, 1.0], [2, 1], ["b", "a"], ["a"], [],
    {"a": 1}, "'jam'", '"jam"', "`jam`", "'jam", "'", "JAM", "9" * 40,
]  # fmt: skip


@pytest.mark.parametrize("language", ADVISED)
def test_advice(language: Language) -> None:
    """What is advised about a wrong value, native and written."""

    def rows() -> Iterator[Any]:
        for word, answer in ADVISED[language].items():
            entry = Entry.model_validate({
                "id": "kitchen_0", "question": [[{"role": "user", "content": "x"}]], "language": language,
                "category": "simple_python" if language == "python" else f"simple_{language}",
                "function": [function("serve", x=word)], "possible_answer": [{"serve": {"x": [answer]}}],
            })  # fmt: skip
            for value, mode in product(GIVEN, ("fc", "prompt")):
                native = Reply.from_output([{"name": "serve", "arguments": json.dumps({"x": value})}])
                reply = native if mode == "fc" else Reply(text=f"[{exact_text(Call('serve', {'x': value}))}]")
                talk = Transcript(entry.id, entry.category, mode=mode, turns=[Turn(steps=[Step(reply)])])
                verdict = judge(entry, talk)
                yield [word, value, mode, verdict.reason, verdict.detail.get("advice")]

    same_as_recorded(HERE / f"advice_{language}.jsonl", rows())


ODD: list[Any] = [None, True, -1, 1, 1.5, "x", [], [1], {}, {"a": 1}]


def test_details_of_lines_that_anybody_may_have_written() -> None:
    """A value of another type counts as missing; an unknown reason has the details of a call, or of an error."""
    known = {reason.details: name for name, reason in REASONS.items()}

    def rows() -> Iterator[Any]:
        for name in (*known.values(), "no:such_reason", "adapter:unheard_of", "harness:unheard_of", None):
            fields = details_of(name, {}).__class__.__annotations__ | Details.__annotations__
            for value in ODD:
                read = details_of(name, {"sub_errors": value} | {_KEYS.get(field, field): value for field in fields})
                yield [name, value, read.to_json(), read.place]
        tried = {"call": 1, "reason": "value_error:others", "called": 5}
        for listed in ([tried], [{**tried, "call": -1}], [{**tried, "call": True}], [{**tried, "reason": 5}], [5],
                       [{**tried, "reason": "no:such_reason"}], [{"call": 0, "reason": "x"}, tried]):  # fmt: skip
            yield [listed, details_of("parallel_function_checker_no_order:cannot_find_match", {"sub_errors": listed})]
        for underlying in ("value_error:others", 5, "multi_turn:instance_state_mismatch"):
            yield [underlying, details_of("reply:length", {"underlying": underlying, "turn": 2, "index": 3})]

    same_as_recorded(HERE / "details.jsonl", ([*row[:-1], repr(row[-1])] for row in rows()))


SAID = [
    "", " ", "no", "I cannot do that.", "[f(x=1)]", "f(x=1)", "[f(x=1), g()]", "f(1)", "[f(x=1",
    "```python\n[f(x=1)]\n```",
    "Here: [f(x=1)] it is", "[f\\_x(x=1)]", "[{'f': {'x': 1}}]", '{"name": "f", "arguments": {"x": 1}}',
    "<TOOLCALL>[f(x=1)]</TOOLCALL>",
    '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>', "<think>hm", "<think>hm</think>",
    "<think>hm</think>[f(x=1)]",
    "[]", "[f]", "f", "[f(x=-1)]", "[f(x=~1)]", "[f(x=open('a'))]",
]  # fmt: skip
ENDINGS = [(None, None), ("stop", None), ("tool_calls", None), ("length", None), ("content_filter", None),
("abort", None),
           ("MALFORMED_FUNCTION_CALL", None), (None, "length"), (None, "content_filter"),
           (None, "context_overflow")]  # fmt: skip


WRITTEN: list[Any] = [
    {"category": "simple_java", "language": "java", "return_format": "java"},
    {"category": "parallel", "tool_call_tag": True},
    {"category": "simple_javascript", "language": "javascript", "return_format": "javascript"},
    *({"category": "format_sensitivity", "config": "x", "return_format": kind} for kind in ("json", "verbose_xml",
    "concise_xml")),
]  # fmt: skip
CALLS = [
    "[f(x=1)]", "f(x=1)", "[f(x=1)] done", "Sure: [f(x=1)]", "[f(x=[1])]", "[f(x={'a': 1})]", "[f(x=True)]",
    "[f(x=None)]", "[('f', 1)]",
    "```json\n[f(x=1)]```", "[f\\_(x=1)]", '[{"function": "f", "parameters": {"x": 1}}]', '[{"function": "f"}]',
    '{"function": "f"',
    '[{"name": "f", "arguments": {"x": 1}}]', "<function>f</function>",
    '<functions><function name="f"><param name="x" value="1" type="integer"/>'
    "</function></functions>", '<functions><f x="1"/></functions>', "<TOOLCALL>[f(x=1)]</TOOLCALL>", "<TOOLCALL>f",
    "new f(x=1)", "f(x=1); g(y=2)",
    'f(x="a")', "f(x=new int[]{1})", "f(x=1L)", "f(1)", "f(x=`a`)", "f({x: 1})", "f(x={a: 1})", "f(x=null)",
    "f(x=undefined)", "", "no",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRITTEN)))
def test_other_notations(number: int) -> None:
    """Texts in the notations of other languages and formats."""
    parameters = {"type": "dict", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    entry = Entry.model_validate({
        "id": "kitchen_0", "question": [[{"role": "user", "content": "x"}]],
        "possible_answer": [{"f": {"x": [1, "1"]}}],
        "function": [{"name": "f", "description": "", "parameters": parameters}], **WRITTEN[number],
    })  # fmt: skip
    same_as_recorded(
        HERE / f"notation_{number}.jsonl", ([text, shown(entry, Reply(text=text), "prompt")] for text in CALLS)
    )


@pytest.mark.parametrize("category", ["simple_python", "irrelevance", "live_relevance"])
def test_texts_and_endings(category: str) -> None:
    """What texts and native calls come to, whatever way the reply ended."""
    document = {"name": "f", "description": "", "parameters": {
        "type": "dict", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}  # fmt: skip
    entry = Entry.model_validate({
        "id": f"{category}_0", "category": category, "question": [[{"role": "user", "content": "x"}]],
        "function": [document], "possible_answer": [{"f": {"x": [1]}}],
    })  # fmt: skip
    natives = [
        [],
        [{"name": "f", "arguments": '{"x": 1}'}],
        [{"name": "f", "arguments": '{"x":'}],
        [{"name": "f", "arguments": "[]"}],
    ]

    def rows() -> Iterator[Any]:
        for said in [*SAID, *natives]:
            fates: dict[str, list[str]] = {}
            for (finish, problem), mode in product(ENDINGS, ("prompt", "fc")):
                reply = replace(Reply.from_output(said), finish_reason=finish, problem=problem)
                fate = json.dumps(shown(entry, reply, mode), default=str)
                fates.setdefault(fate, []).append(f"{finish or problem or '-'} {mode}")
            yield [said, fates]

    same_as_recorded(HERE / f"texts_{category}.jsonl", rows())


def trajectories(truth: list[list[str]]) -> Iterator[tuple[str, list[list[list[str]]], dict[str, Any]]]:
    """Name of a variation, turns of steps of calls, and what else the transcript says."""
    steps = [[[call] for call in turn] for turn in truth]
    first = next(number for number, turn in enumerate(truth) if turn)
    yield "right", steps, {}
    yield "in one step", [[turn] if turn else [] for turn in truth], {}
    yield "forced", steps, {"forced_quit": True}
    yield "a turn less", steps[:-1], {}
    yield "a turn more", [*steps, []], {}
    for name, changed in (
        ("no call", []),
        ("first call gone", steps[first][1:]),
        ("last call gone", steps[first][:-1]),
        ("last call twice", [*steps[first], steps[first][-1]]),
        ("backwards", steps[first][::-1]),
        ("unknown call", [["nothing_like_it()"], *steps[first]]),
        ("other argument", [[steps[first][0][0].replace("'", "'o", 1)], *steps[first][1:]]),
        ("too many calls", [steps[first][0] * 500, *steps[first][1:]]),
    ):
        yield name, [*steps[:first], changed, *steps[first + 1 :]], {}
    yield "a call in every turn", [[*turn, truth[first][:1]] for turn in steps], {}
    yield (
        "late",
        [[] if number == first else turn for number, turn in enumerate(steps[:-1])] + [[*steps[first], *steps[-1]]],
        {},
    )


@pytest.mark.parametrize("category", ["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param",
                                      "multi_turn_long_context", "multi_turn_composite"])  # fmt: skip
def test_conversations(category: str) -> None:
    """Every way in which a conversation's calls differ from the ground truth's."""

    def rows() -> Iterator[Any]:
        for ref in DATA.index(category)[:4]:
            entry = DATA.load(ref)
            for name, turns, more in trajectories(entry.possible_answer or []):
                made = [Turn(steps=[Step(Reply(text="x"), calls=list(step)) for step in turn]) for turn in turns]
                talk = Transcript(entry.id, category, decoded=True, turns=made, **more)
                both = judge_both(entry, talk)
                corrected = () if both.corrected == both.official else (both.corrected.reason, both.corrected_rules)
                detail = {k: v for k, v in both.official.detail.items() if k not in ("rule", "expected", "called")}
                yield [
                    entry.id,
                    name,
                    both.official.reason,
                    cut(json.dumps(detail, default=str), 300),
                    *corrected,
                    both.extra,
                    [turn.shares for turn in replay(entry, talk, shares=True).turns],
                ]

    same_as_recorded(HERE / f"{category}.jsonl", rows())


MESSAGES = ["{}", "It is {}.", "{}!", "x{}", "{}x", "({})", "**{}**", '{{"answer": "{}", "context": "no"}}',
            "{{'answer': '{}'}}", '```json\n{{"answer": "no", "other": "{}"}}\n```', "", "no", '{{"answer"}}',
            "{{5}}"]  # fmt: skip
ACCEPTED = [[""], ["-"], ["Oslo"], ["1,234.5"], ["$5"], ["it's"], ["C++"], ["New York", "NYC"], [" a b "], ["x_y"], [5]]


def test_answers() -> None:
    """Final messages around accepted answers; under official rules and C18."""

    def rows() -> Iterator[Any]:
        for accepted, message in product(ACCEPTED, MESSAGES):
            entry = DATA.load(DATA.index("web_search_base")[0]).model_copy(update={"possible_answer": accepted})
            steps = [Step(Reply(text=text), calls=[]) for text in ("first", message.format(str(accepted[0]).strip()))]
            both = judge_both(entry, Transcript(entry.id, entry.category, turns=[Turn(steps=steps)]))
            yield [accepted, message, both.official.reason, both.corrected.reason, both.corrected_rules]

    same_as_recorded(HERE / "answers.jsonl", rows())
