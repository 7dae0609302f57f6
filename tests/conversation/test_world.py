"""What calls act on: bounded for a conversation that runs away, and never holding up the others."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from pytest_bfcl.conversation import world
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.history import fill_calls
from pytest_bfcl.conversation.world import TOO_MUCH, World, open_world
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.providers.local_site import LocalSite
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Turn
from tests.conversation.worlds import TEXTS, Listed, calls, shelf_entry
from tests.patience import patience


class Five:
    """An executor whose results have five characters."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def execute(self, text: str) -> str:
        self.threads.append(threading.current_thread())
        return "12345"


class Slow:
    """A simulator that may take seconds."""

    blocking = True


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    ("limit", "value", "run"), [("MOST_CALLS", 3, 3), ("MOST_SHOWN", 9, 2), ("MOST_SHOWN", 10, 3), ("MOST_SHOWN", 0, 1)]
)
def test_a_conversation_that_runs_away_is_told_so(monkeypatch, at_once: bool, limit: str, value: int, run: int) -> None:
    """The call after so many, and any after more than so many characters, is not run."""
    monkeypatch.setattr(world, limit, value)
    opened = World(shelf_entry(), {}, Five())
    shown = [opened.execute_now("f()") if at_once else asyncio.run(opened.execute("f()")) for _ in range(6)]
    assert shown == ["12345"] * run + [TOO_MUCH] * (6 - run)


def test_a_call_in_a_thread_holds_up_neither_the_loop_nor_its_end() -> None:
    class Hanging:
        def execute(self, text: str) -> str:
            ended.wait(5)
            return "late"

    async def main() -> None:
        opened = World(shelf_entry(), {"A": Slow()}, Hanging())
        asked = [asyncio.ensure_future(opened.execute("f()")) for _ in range(2)]
        await asyncio.sleep(0.01)
        asked[0].cancel()

    ended, began = threading.Event(), time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < patience(2)
    threads = [each for each in threading.enumerate() if each.name == "bfcl call"]
    assert all(each.daemon for each in threads)
    ended.set()  # what comes now finds its loop closed, and says nothing
    for each in threads:
        each.join(5)


def test_what_a_call_in_a_thread_raises_is_raised() -> None:
    class Broken:
        def execute(self, text: str) -> str:
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(World(shelf_entry(), {"A": Slow()}, Broken()).execute("f()"))


@pytest.mark.parametrize(("category", "shown"), [("web_search_base", True), ("web_search_no_snippet", False)])
def test_web_tools_search_where_they_are_told_and_show_snippets_by_category(category: str, shown: bool) -> None:
    data = open_data("bundled")
    entry = data.load(data.index(category)[0])
    entry, site = entry.model_copy(update={"initial_config": {}}), LocalSite(data.site)
    opened = open_world(entry, settings=Settings(), texts=data.texts, search=site)
    found = opened.execute_now("search_engine_query(keywords='harbour')")
    assert ("'body'" in found or '"body"' in found) is shown, found[:300]
    with pytest.raises(HarnessError, match="there is no search provider"):
        open_world(entry, settings=Settings(), texts=data.texts)
    with pytest.raises(HarnessError, match="needs its own MCP server"):
        open_world(entry.model_copy(update={"mcp": "shop"}), settings=Settings(), texts=data.texts)


def test_calls_of_recorded_entries_are_written_with_every_argument() -> None:
    tools = [{"name": "a-b", "parameters": {"type": "object"}, "dialect": "json-schema"}]
    entry = Entry(id="recorded_0", category="recorded", question=[[{"role": "user", "content": "?"}]], function=tools,
                  results=[{"call": "a-b", "arguments": {"x": {"k-1": None}}, "result": "done"}])  # fmt: skip
    model = Listed(calls(("a-b", '{"x": {"k-1": null}}')))
    transcript = asyncio.run(converse(entry, model, settings=Settings(), texts=TEXTS))
    assert (transcript.steps[0].calls, transcript.steps[0].results) == (["a_b(x={'k-1': None})"], ["done"])
    assert transcript.steps[1].calls == []
    for mode, settings, text in (
        ("prompt", {}, "[a_b(x={'k-1': None})]"),
        ("fc", {"decoder": "hermes"}, '<tool_call>\n{"name": "a-b", "arguments": {"x": {"k-1": null}}}\n</tool_call>'),
    ):
        said = converse(entry, Listed(text, mode=mode), settings=Settings(**settings), texts=TEXTS)
        assert asyncio.run(said).steps[0].calls == ["a_b(x={'k-1': None})"]
    transcript.steps[0].calls = None
    assert fill_calls(entry, transcript).steps[0].calls == ["a_b(x={'k-1': None})"]
    kept = [replace(transcript.steps[0], **{name: ["kept"]}) for name in ("calls", "error")]
    transcript.turns = [Turn(steps=list(kept))]
    kept[1].calls = None
    assert [(step.calls, step.error) for step in fill_calls(entry, transcript).steps] == [
        (["kept"], None), (None, ["kept"])
    ]  # fmt: skip
