"""Conversations with models that write calls as text of their own."""

from __future__ import annotations

import asyncio

import pytest

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.extensions.formats.family import TEMPLATES, Family
from pytest_bfcl.formats.table import FORMATS
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply
from tests.conversation.worlds import TEXTS, shelf_entry

ADD = '{"name": "add_book", "arguments": {"title": "Emma"}}'


class Speaker:
    """Answers from a list and keeps what it was asked."""

    underscore_names = True

    def __init__(self, *texts, mode="fc", family=None):
        self.spec, self.mode = f"vllm:some-model@{mode}", mode
        self.texts, self.asked = list(texts), []
        if family:
            self.family = Family(FORMATS[family], TEMPLATES[FORMATS[family].template])

    async def generate(self, request):
        self.asked.append(request)
        return Reply(text=self.texts.pop(0))

    async def aclose(self):
        pass


def held(model, turns=("put Emma on the shelf",), missed=None, **settings):
    entry = shelf_entry(turns, missed)
    return asyncio.run(converse(entry, model, settings=Settings(**settings), texts=TEXTS))


@pytest.mark.parametrize(("rules", "calls"), [("official", None), ("corrected", ["add_book(title='Emma')"])])
def test_corrected_rules_hold_the_conversation_without_the_familys_defects(rules, calls):
    model = Speaker(f"[TOOL_CALLS][{ADD}]", "Done.", family="mistral-fc")
    step = held(model, rules=rules).turns[0].steps[0]
    assert step.calls == calls


def test_thoughts_beside_calls_read_from_the_text():
    model = Speaker(f"<think>hm</think><tool_call>\n{ADD}\n</tool_call>", "Done.", mode="fc")
    held(model, think="strip", decoder="hermes")
    said = model.asked[1].messages[-2]
    assert (said["reasoning_content"], said["content"]) == ("hm", "")
    assert said["tool_calls"][0]["function"]["name"] == "add_book"


def test_registered_models_part_thoughts_as_their_handler_does():
    model = Speaker("<think>hm</think>[list_books()]", "Done.", mode="prompt")
    model.spec = "vllm:Qwen/Qwen3-8B@prompt"
    assert held(model).turns[0].steps[0].calls == ["list_books()"]
