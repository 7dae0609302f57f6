"""What the model is told: system prompts, layouts of function documents, memory instructions."""

import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_bfcl.conversation import prompts
from pytest_bfcl.conversation.dialogue import Dialogue
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.expansion import with_hints
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.settings import Settings

TEXTS = Texts.own()

DOCUMENT = {
    "name": "find.trips",
    "description": "Find trips.",
    "parameters": {
        "type": "dict",
        "properties": {
            "days": {"type": "integer", "description": "How long", "default": 3},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Any of", "default": ["sea", "sun"]},
            "when": {"type": "string", "enum": ["may", "june"]},
            "who": {
                "type": "dict",
                "description": "Party",
                "properties": {"adults": {"type": "float", "description": "Count"}, "dog": {"type": "boolean"}},
                "required": ["adults"],
            },
        },
        "required": ["days"],
    },
}


def entry(**fields):
    question = [[{"role": "user", "content": "Where to?"}]]
    return Entry(**({"id": "simple_python_1", "category": "simple_python", "question": question} | fields))


def test_the_system_prompt_stands_in_front_of_one_there_already():
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where to?"}]
    made = prompts.first_messages(entry(question=[messages]), [DOCUMENT], TEXTS, mode="prompt")
    assert [m["role"] for m in made] == ["system", "user"]
    assert made[0]["content"].endswith("\n\nBe brief.")
    assert messages[0]["content"] == "Be brief."
    alone = prompts.first_messages(entry(question=[[]]), [DOCUMENT], TEXTS, mode="prompt")
    assert [m["role"] for m in alone] == ["system"]


@pytest.mark.parametrize("tagged", [True, False])
@pytest.mark.parametrize("return_format", ["python", "json", "verbose_xml", "concise_xml"])
def test_return_formats_and_tag(return_format, tagged):
    text = prompts.system_prompt(entry(return_format=return_format, tool_call_tag=tagged), [DOCUMENT], TEXTS)
    assert TEXTS.output_formats[return_format] in text
    assert ("<TOOLCALL>" in text) == tagged


def test_format_sensitivity_carries_the_hint_twice():
    hint = TEXTS.hints["python.function"]
    model = SimpleNamespace(spec="fixture:m", mode="prompt", underscore_names=False)
    once = Dialogue(entry(function=[DOCUMENT]), model, Settings(), TEXTS).functions
    twice = Dialogue(entry(function=[DOCUMENT], config="ret_fmt=python"), model, Settings(), TEXTS).functions
    assert once[0]["description"] == DOCUMENT["description"] + hint
    assert twice[0]["description"] == DOCUMENT["description"] + hint + hint


class Memory:
    """A memory with fixed content."""

    def prompt_text(self, empty):
        return '{"name": "Ada {}"}'


def memory_entry(category, **fields):
    system = [{"role": "system", "content": TEXTS.agentic_answer}] if "prereq" not in category else []
    question = [[*system, {"role": "user", "content": "Who?"}]]
    return entry(id=f"{category}_0-student-0", category=category, question=question, scenario="student", **fields)


def test_order_inside_the_one_system_message():
    made = prompts.first_messages(memory_entry("memory_kv"), [DOCUMENT], TEXTS, mode="prompt", memory=Memory())
    assert [m["role"] for m in made] == ["system", "user"]
    text = made[0]["content"]
    places = [text.index(part) for part in ('"find.trips"', '{"name": "Ada {}"}', TEXTS.agentic_answer)]
    assert places == sorted(places)


@pytest.mark.parametrize(("backend", "scenario"), [("kv", "student"), ("vector", None), ("rec_sum", "student")])
def test_a_write_stage_is_told_of_its_memory_only(backend, scenario):
    words = "{scenario_setting} | {memory_content}"
    texts = replace(
        TEXTS,
        memory_unified=f"one: {words}",
        memory_core_archival=f"two: {words}",
        memory_scenarios={"student": "a student"},
        memory_empty={"kv": "empty", "rec_sum": "blank"},
    )
    known = memory_entry(f"memory_{backend}_prereq").model_copy(update={"scenario": scenario})
    made = prompts.first_messages(known, [], texts, mode="fc", memory=SimpleNamespace(prompt_text=str.upper))
    assert made[0]["content"] == {
        "kv": "two: a student | EMPTY", "vector": "two:  | ", "rec_sum": "one: a student | BLANK"
    }[backend]  # fmt: skip
    assert [m["role"] for m in made] == ["system", "user"]


def first_messages_digest(dataset):
    """SHA-256 over turn 0 of every official entry, as sent in prompting mode."""
    digest = hashlib.sha256()
    for category in dataset.categories():
        if category in ("rest", "sql", "chatable", "multi_turn_composite") or category.startswith("exec_"):
            continue
        for ref in dataset.index(category):
            each = dataset.load(ref)
            functions = with_hints(each.function, each.language, dataset.texts, twice=each.config is not None)
            made = prompts.first_messages(each, functions, dataset.texts, mode="prompt")
            digest.update(json.dumps([each.id, made]).encode())
    return digest.hexdigest()


@pytest.mark.slow
def test_official_prompts_are_those_of_the_reference(official):
    # Taken when all 10,306 entries (without memory content) equalled what the reference sends, byte for byte.
    assert first_messages_digest(official) == "689b718ab360464712f7910b9751de1562b79fe568c52ffa0d9414638d758ecf"
