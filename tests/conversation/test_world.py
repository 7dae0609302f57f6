"""What calls act on: bounded for a conversation that runs away, and never holding up the others."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pytest_bfcl.conversation import world
from pytest_bfcl.conversation.world import TOO_MUCH, World, open_world
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.providers.local_site import LocalSite
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
from tests.conversation.worlds import shelf_entry


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


@pytest.mark.parametrize(
    ("simulators", "elsewhere"),
    [({}, False), ({"Shelf": object()}, False), ({"A": Slow()}, True), ({world.WEB: object()}, True)],
)
def test_calls_that_may_take_seconds_run_in_a_thread(simulators, elsewhere: bool) -> None:
    executor = Five()
    opened = World(shelf_entry(), simulators, executor)
    assert asyncio.run(opened.execute("f()")) == "12345"
    assert opened.execute_now("f()") == "12345"
    assert [each is not threading.current_thread() for each in executor.threads] == [elsewhere, False]


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
    site = LocalSite(data.site)
    opened = open_world(entry, settings=Settings(), texts=data.texts, search=site)
    found = opened.execute_now("search_engine_query(keywords='harbour')")
    assert ("'body'" in found or '"body"' in found) is shown, found[:300]
    with pytest.raises(HarnessError, match="there is no search provider"):
        open_world(entry, settings=Settings(), texts=data.texts)
    with pytest.raises(HarnessError, match="played on its own MCP server"):
        open_world(entry.model_copy(update={"mcp": "shop"}), settings=Settings(), texts=data.texts)
