"""How conversations are held with models that write calls as text of their own, and with families rendered here."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.prompts import Speech
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, ToolCall
from tests.conversation.worlds import TEXTS, Listed, shelf_entry

ADD = '{"name": "add_book", "arguments": {"title": "Emma"}}'


class Family:
    """What a conversation asks of a family: each message says what it was made of."""

    def __init__(self, **row: Any) -> None:
        usual = {"native": False, "decoder": "hermes", "thinking": "none", "system": True}
        self.format = SimpleNamespace(**usual | row)

    def opened(self, messages: Any, first: bool) -> Any:
        return [{"role": "opening" if first else "later"}, *messages]

    def heard(self, text: str, ids: Any = (), functions: Any = ()) -> Any:
        return [{"said": text, "id": ids[0], "ids": len(ids), "offered": len(functions)}]

    def results(self, calls: Any, results: Any, ids: Any = ()) -> Any:
        return [{"called": list(calls), "results": list(results), "id": ids[0]}]


def held(model: Any, turns: Any = ("put Emma on the shelf",), **settings: Any) -> Any:
    return asyncio.run(converse(shelf_entry(turns), model, settings=Settings(**settings), texts=TEXTS))


def test_a_server_without_parser() -> None:
    model = Listed(f"<think>\nhm\n</think>\n\n<tool_call>\n{ADD}\n</tool_call>", "Done.")
    transcript = held(model, decoder="handler:hermes")
    first, second = transcript.turns[0].steps
    assert (first.call_texts, first.reply.reasoning) == (["add_book(title='Emma')"], "hm")
    assert (second.calls, transcript.decoder) == ([], "handler:hermes")  # prose is no call for this handler
    said, result = model.requests[1].messages[-2:]
    assert said["tool_calls"][0]["function"]["name"] == "add_book"
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"title": "Emma"}
    assert (result["role"], result["tool_call_id"]) == ("tool", said["tool_calls"][0]["id"])
    assert model.requests[0].functions


@pytest.mark.parametrize(("mode", "system"), [("fc", True), ("prompt", True), ("prompt", False)])
def test_a_family_is_asked_by_the_prompting_loop_whatever_its_label(mode: Any, system: bool) -> None:
    model = Listed(f"<tool_call>\n{ADD}\n</tool_call>", "Done.", "Done.", mode=mode)
    model.family = Family(system=system)  # type: ignore[attr-defined]
    transcript = held(model, ("put Emma on the shelf", "more"))
    call = "add_book(title='Emma')"
    assert transcript.turns[0].steps[0].call_texts == [call]
    first, *others = model.requests[0].messages
    assert (first["role"], others[0]["role"]) == ("opening", "system" if system else "user")
    assert model.requests[1].messages[-2:] == [
        {"said": f"<tool_call>\n{ADD}\n</tool_call>", "id": "call00001", "ids": 64, "offered": 2},
        {"called": [call], "results": ['{"count": 2}'], "id": "call00001"},
    ]
    later = model.requests[2].messages
    assert (later[-3]["said"], later[-3]["id"]) == ("Done.", "call00002")
    assert [message["role"] for message in later[-2:]] == ["later", "user"]
    assert [len(request.functions) for request in model.requests] == [2, 2, 2]


FAMILY, NATIVE = Family(thinking="r1"), Family(native=True)


@pytest.mark.parametrize(
    ("family", "mode", "settings", "speech"),
    [
        (None, "fc", {}, Speech(None, None, "auto", "served")),
        (None, "fc", {"decoder": "hermes", "think": "none"}, Speech(None, "hermes", "none", "served")),
        (None, "fc", {"rules": "corrected"}, Speech(None, None, "auto", "served", True)),
        (FAMILY, "fc", {}, Speech(FAMILY, "hermes", "auto", "r1")),
        (FAMILY, "prompt", {"decoder": "auto"}, Speech(FAMILY, "hermes", "auto", "r1")),
        (FAMILY, "fc", {"decoder": "kimi", "rules": "corrected"}, Speech(FAMILY, "kimi", "auto", "r1", True)),
        (NATIVE, "fc", {}, Speech(NATIVE, "hermes")), (NATIVE, "prompt", {}, Speech(NATIVE, None)),
    ],
)  # fmt: skip
def test_what_is_particular_about_replies(family: Any, mode: Any, settings: Any, speech: Speech) -> None:
    model = Listed(mode=mode)
    if family is not None:
        model.family = family  # type: ignore[attr-defined]
    found = Speech.of(model, Settings(**settings))  # type: ignore[arg-type]
    assert found == speech
    assert found.plain is (family is FAMILY)


def test_calls_left_in_texts_go_back_as_calls() -> None:
    speech = Speech(decoder="hermes")
    text = Reply(f"<tool_call>\n{ADD}\n</tool_call>")
    made = replace(text, text="", tool_calls=(ToolCall("add_book", '{"title": "Emma"}', "call00004"),))
    assert speech.with_calls(text, 3) == made
    for reply in (Reply("words"), Reply(None), Reply(""), made, replace(made, text=text.text)):
        assert speech.with_calls(reply, 3) is reply
    assert Speech().with_calls(text, 3) is text
