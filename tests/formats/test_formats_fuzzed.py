"""No decoder raises anything but `DecodeError` on any text under any schema, and none is slower than linear."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from typing import Any

import pytest

from pytest_bfcl.decoding import DecodeError, call_texts, decode_reply
from pytest_bfcl.formats.decoders import HANDLERS, SERVED, handler_name
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.formats.thinking import TAGS, read_thinking
from pytest_bfcl.transcript import Reply
from tests.extensions.formats.test_own_formats import WRITTEN
from tests.patience import patience

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
