"""Texts: our own wording has the official structure; the official one is read from source as literals."""

from __future__ import annotations

import ast
import json
import string
from dataclasses import fields
from pathlib import Path

import pytest

from pytest_bfcl.dataset.expansion import FormatConfig
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.failures import UsageError
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.fetching.texts_extraction import (
    FILES,
    PLACES,
    NotLiteral,
    extract_sentences,
    extract_texts,
    literal,
    sentences,
)

from .distribution import sources


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def value_of(source: str) -> object:
    return literal(ast.parse(source, mode="eval").body)


TEMPLATES = {
    "additional_functions_prompt": {"functions"},
    "memory_core_archival": {"scenario_setting", "memory_content"},
    "memory_unified": {"scenario_setting", "memory_content"},
}


def check_structure(texts: Texts) -> None:
    assert set(texts.output_formats) == {"python", "json", "verbose_xml", "concise_xml"} == set(texts.param_types)
    assert set(texts.prompt_styles) == {"classic", "experimental"}
    for style in texts.prompt_styles.values():
        assert set(style) == {"persona", "task", "tool_call_no_tag", "tool_call_with_tag", "multiturn_behavior",
                              "available_tools"}  # fmt: skip
        assert placeholders(style["tool_call_no_tag"]) == {"output_format", "param_types"}
        assert placeholders(style["tool_call_with_tag"]) == {"output_format", "param_types"}
        assert style["tool_call_with_tag"].count("<TOOLCALL>{output_format}</TOOLCALL>") == 1
        assert placeholders(style["available_tools"]) == {"format", "functions"}
    assert set(texts.prompt_templates) == {"plaintext", "markdown"}
    for template in texts.prompt_templates.values():
        assert placeholders(template) == {
            "persona",
            "task",
            "tool_call_format",
            "multiturn_behavior",
            "available_tools",
        }
    for name, expected in TEMPLATES.items():
        assert placeholders(getattr(texts, name)) == expected
    assert texts.default_prompt_config == str(FormatConfig())
    assert set(texts.memory_scenarios) == {"student", "customer", "finance", "healthcare", "notetaker"}
    assert set(texts.memory_empty) == {"kv", "vector", "rec_sum"}
    assert "'answer'" in texts.agentic_answer
    assert "'context'" in texts.agentic_answer
    expected_hints = {"javascript.properties": {"properties"}, "python.function": set()}
    for language in ("java", "javascript"):
        expected_hints |= {f"{language}.function": set(), f"{language}.any": set(), f"{language}.type": {"type"},
                           f"{language}.items": {"item_type"}}  # fmt: skip
    assert {key: placeholders(text) for key, text in texts.hints.items()} == expected_hints
    assert all(text.startswith(" ") for text in texts.hints.values())


def test_own_texts_have_every_part() -> None:
    own = Texts.own()
    check_structure(own)
    assert own.long_context == {}


def test_official_texts_have_every_part(official: DataSet) -> None:
    check_structure(official.texts)
    assert len(official.texts.long_context) == 16


def test_our_wording_is_not_the_official_one(official: DataSet) -> None:
    own, theirs = Texts.own(), official.texts
    for field in fields(Texts):
        ours, other = getattr(own, field.name), getattr(theirs, field.name)
        if field.name in ("default_prompt_config", "long_context"):
            continue
        flat = json.dumps(other)
        for text in ours.values() if isinstance(ours, dict) else [ours]:
            if isinstance(text, str) and len(text) > 60 and field.name != "prompt_templates":
                assert text not in flat


def test_a_damaged_texts_file_tells_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "texts.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"lacks output_formats.*fetch --force"):
        Texts.load(path)
    with pytest.raises(UsageError, match="cannot read"):
        Texts.load(tmp_path / "absent.json")


def test_extraction_reads_literals_and_runs_nothing() -> None:
    texts = extract_texts(sources())  # the source opens a file that does not exist
    assert texts.prompt_styles == {"classic": {"persona": "You call."}, "experimental": {"persona": "You dial."}}
    assert texts.prompt_templates == {"plaintext": "{persona}{task}", "markdown": "# {persona}{task}"}
    assert texts.additional_functions_prompt == "{functions}\nMore."
    assert texts.memory_empty == {
        "kv": "Nothing in kv.",
        "vector": "Nothing in vector.",
        "rec_sum": "Nothing in rec_sum.",
    }
    assert texts.long_context == {"LIST": ["A", -1.5, ...], "TEXT": "xy"}


def test_extraction_turns_f_strings_into_templates() -> None:
    hints = extract_texts(sources()).hints
    assert hints["python.function"] == " P"
    assert hints["java.function"] == " J"
    assert hints["java.any"] == " any J {x}"
    assert hints["java.type"] == " J {type} {{braces}}"
    assert hints["java.items"] == " of {item_type}"
    assert hints["javascript.properties"] == " with {properties}"


@pytest.mark.parametrize(
    "change",
    [
        ("constants/default_prompts.py", "X = 1", "lacks the constant 'OUTPUT_FORMAT_MAPPING'"),
        ("constants/default_prompts.py", "def broken(:", "is not Python"),
        ("utils.py", "", "lacks the hints java.any"),
        ("eval_checker/multi_turn_eval/func_source_code/memory_kv.py", "", "no sentence for an empty memory"),
    ],
)
def test_extraction_names_the_file_it_does_not_understand(change: tuple[str, str, str]) -> None:
    path, source, message = change
    with pytest.raises(UsageError, match=message):
        extract_texts({**sources(), path: source})


@pytest.mark.parametrize(
    "source", ["f()", "a.b", "[x for x in y]", "1 + 2", "'a' * 9999999", "-'a'", "f'{secret}'", "unknown", "not 1"]
)
def test_only_constants_are_literals(source: str) -> None:
    with pytest.raises(NotLiteral):
        value_of(source)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("'a' 'b'", "ab"),
        ("'a' + 'b' + 'c'", "abc"),
        ("[1] + [2]", [1, 2]),
        ("(1, ...)", [1, ...]),
        ("{'k': {'n': -1}}", {"k": {"n": -1}}),
        ("f'{{x}}'", "{{x}}"),
        ("None", None),
    ],
)
def test_literals(source: str, value: object) -> None:
    assert value_of(source) == value


SOURCE = '''
class Kettle:
    def boil(self, litres, who):
        """A docstring is no sentence."""
        if litres > 2:
            return {"error": f"{who} cannot boil {litres:.1f} litres, {who}."}
        words = "one" + "word"
        return {"status": "Boiling for " + ", ".join(who) + "; {wait}."}
'''


def _function() -> ast.FunctionDef:
    owner = ast.parse(SOURCE).body[0]
    assert isinstance(owner, ast.ClassDef)
    function = owner.body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


def test_sentences_become_templates_with_one_number_for_each_different_expression() -> None:
    assert list(sentences(_function())) == ["{0} cannot boil {1:.1f} litres, {0}.", "Boiling for {0}; {{wait}}."]


def test_another_version_keeps_our_own_words() -> None:
    tree = ast.parse('class MessageAPI:\n    def send_message(self):\n        return "something else entirely"\n')
    assert extract_sentences({FILES["MessageAPI"]: tree}) == {}


def test_no_place_is_named_twice() -> None:
    for name, places in PLACES.items():
        located = list(places.values())
        assert len(set(located)) == len(located), name
