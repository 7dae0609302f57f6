"""Advice is given where its cause is certain: a call in the text is one only when an offered function is called."""

from __future__ import annotations

import pytest

from pytest_bfcl.checkers import judge
from tests.checkers.building import entry, function, transcript

SERVE = function("kitchen.serve", dish="str")
ANSWER = {"kitchen.serve": {"dish": ["soup"]}}


@pytest.mark.parametrize(
    ("text", "advised"),
    [
        ("I call kitchen.serve(dish='soup') now.", True),
        ("Here you are: `kitchen_serve(dish='soup')`", True),  # as the name goes over the wire
        ("You could use print('soup') for that.", False),
        ("Call me (any time) about the soup (hot).", False),
        ("kitchen.clean(dish='soup')", False),  # no such function was offered
        ("The tool kitchen.serve would do it.", False),  # named, not called
        ("", False),
    ],
)
def test_a_call_in_the_text_is_advised_only_for_offered_functions(text: str, advised: bool) -> None:
    verdict = judge(entry([SERVE], [ANSWER]), transcript(text, "fc"))
    assert not verdict.valid
    advice = str(verdict.detail.get("advice", ""))
    told = "call is written in the text" in advice or "lost a call that is in the text" in advice
    assert told is advised, advice


@pytest.mark.parametrize(
    ("parameters", "answer", "called", "told"),
    [
        ({"hot": "bool"}, True, "true", "Send a JSON boolean, without quotes."),
        ({"hot": "int"}, 3, "3", "Send the number itself, without quotes."),
        ({"hot": "int"}, 3, "soon", None),
        ({"hot": "array<str>"}, ["a"], "[a]", "Send the list itself, not its text."),
    ],
)
def test_a_value_of_another_type_is_advised_by_what_it_looks_like(
    parameters: dict[str, str], answer: object, called: object, told: str | None
) -> None:
    verdict = judge(
        entry([function("serve", **parameters)], [{"serve": {"hot": [answer]}}]),
        transcript([{"name": "serve", "arguments": {"hot": called}}]),
    )
    assert verdict.detail.get("advice") == told


def test_the_tag_is_asked_for_only_where_it_is_missing() -> None:
    tagged = entry([SERVE], [ANSWER]).model_copy(update={"tool_call_tag": True})
    for text, told in (("[serve(dish=)]", True), ("<TOOLCALL>[serve(dish=)]</TOOLCALL>", False)):
        advice = str(judge(tagged, transcript(text)).detail.get("advice"))
        assert ("inside <TOOLCALL>" in advice) is told, text
