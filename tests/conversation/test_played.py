"""An entry played by a whole agent: turns, steps, what it is told at the end, what the journal gives back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.conversation import played
from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.played import OVER, RECORDED, PlayedConversation
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.runs.journal import Journal
from pytest_bfcl.runs.result_line import EntryKey
from pytest_bfcl.runs.transcripts import Transcripts
from pytest_bfcl.transcript import Reply, Transcript
from tests.conversation.test_engine import Book, area_entry
from tests.conversation.worlds import DOCS, SETTINGS, TEXTS, shelf_entry

Play = Callable[[PlayedConversation], Awaitable[None]]


class Agent:
    """A model that plays as the test says."""

    spec, mode, underscore_names = "agent:test@fc", "fc", True

    def __init__(self, play: Play) -> None:
        self.play = play


def hold(entry: Any, play: Play, settings: Any = SETTINGS, **options: Any) -> Transcript:
    return asyncio.run(converse(entry, Agent(play), settings=settings, texts=TEXTS, **options))  # type: ignore[arg-type]


def shape(transcript: Transcript) -> list[list[tuple[list[str], str | None, list[str]]]]:
    """Per turn and step: names of the calls, text, results."""
    return [
        [([call.name for call in step.reply.tool_calls], step.reply.text, step.results) for step in turn.steps]
        for turn in transcript.turns
    ]


def test_turns_steps_and_messages_of_a_conversation() -> None:
    heard: list[Reply] = []
    places: list[tuple[int, int]] = []
    seen: list[Any] = []

    async def play(game: PlayedConversation) -> None:
        assert not game.is_turn_open
        game.end_turn(Reply("too early"))  # says nothing: no turn is open
        seen.append(game.begin_turn())
        assert game.is_turn_open
        both = await asyncio.gather(game.call("add_book", {"title": "Emma"}), game.call("list_books", {}))
        seen.append(both)
        seen.append(await game.call("list_books", {}))
        game.end_turn(Reply("There.", input_tokens=5))
        assert not game.is_turn_open
        game.end_turn(Reply("twice"))
        assert await game.call("list_books", {}) == OVER
        seen.append(game.begin_turn())
        seen.append(game.call_now("add_book", {"title": "Persuasion"}))
        assert game.begin_turn() is None  # ends the open turn without words
        assert (game.begin_turn(), game.over.is_set()) == (None, True)
        assert await game.call("list_books", {}) == OVER

    def hear(request: Any, reply: Reply) -> None:
        places.append((request.turn, request.step))
        heard.append(reply)

    transcript = hold(shelf_entry(("first", "second")), play, on_reply=hear)
    names = "['Ulysses', 'Emma']"
    assert seen == [
        [{"role": "user", "content": "first"}], ['{"count": 2}', names], names, [{"role": "user", "content": "second"}],
        '{"count": 3}',
    ]  # fmt: skip
    assert shape(transcript) == [
        [(["add_book", "list_books"], None, ['{"count": 2}', names]), (["list_books"], None, [names]),
        ([], "There.", [])],
        [(["add_book"], None, ['{"count": 3}']), ([], "", [])],
    ]  # fmt: skip
    assert [message["role"] for message in transcript.messages] == [
        "user", "assistant", "tool", "tool", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert [len(reply.tool_calls) for reply in heard] == [2, 1, 0, 1, 0]
    assert places == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert heard[2] == Reply("There.", input_tokens=5)
    assert [call.id for step in transcript.steps for call in step.reply.tool_calls] == [
        f"call_{n}" for n in range(1, 5)
    ]
    assert transcript.steps[0].calls == ["add_book(title='Emma')", "list_books()"]
    assert not transcript.forced_quit
    assert transcript.duration_s > 0
    assert transcript.started_at is not None
    assert transcript.started_at.endswith("Z")
    assert (transcript.model, transcript.mode, transcript.underscore_names) == ("agent:test@fc", "fc", True)


def test_calls_that_are_compared_are_one_step() -> None:
    heard: list[Reply] = []

    async def play(game: PlayedConversation) -> None:
        game.begin_turn()
        assert await game.call("geometry.area", {"a": 3}) == RECORDED
        assert game.call_now("geometry_area", {"a": 4}) == RECORDED
        game.end_turn(Reply("Twelve."))
        assert game.over.is_set()

    transcript = hold(area_entry(), play, on_reply=lambda request, reply: heard.append(reply))
    (step,) = transcript.steps
    assert [(call.name, call.arguments) for call in step.reply.tool_calls] == [
        ("geometry_area", '{"a": 3}'), ("geometry_area", '{"a": 4}')
    ]  # fmt: skip
    assert (step.reply.text, len(step.calls or []), len(heard)) == (None, 2, 1)
    assert [message["role"] for message in transcript.messages] == ["user", "assistant"]  # as of a bare model

    async def silent(game: PlayedConversation) -> None:
        game.begin_turn()
        game.end_turn(Reply("No."))

    transcript = hold(area_entry(question=[[{"role": "user", "content": each}] for each in "ab"]), silent)
    assert [step.reply.text for step in transcript.steps] == ["No."]
    assert transcript.messages[-1] == {"role": "assistant", "content": "No."}


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("executed", [True, False])
def test_the_step_limit(at_once: bool, executed: bool) -> None:
    async def play(game: PlayedConversation) -> None:
        game.begin_turn()
        name, arguments = ("list_books", {}) if executed else ("geometry_area", {"a": 1})
        while not game.over.is_set():
            _ = game.call_now(name, arguments) if at_once else await game.call(name, arguments)

    transcript = hold(shelf_entry() if executed else area_entry(), play, replace(SETTINGS, step_limit=3))
    assert transcript.forced_quit is executed
    assert sum(len(step.reply.tool_calls) for step in transcript.steps) == 4
    assert len(transcript.steps) == (4 if executed else 1)


def test_an_agent_that_goes_on_after_the_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(played, "MOST_CALLS", 5)
    calls: list[str] = []

    async def play(game: PlayedConversation) -> None:
        game.begin_turn()
        while True:
            calls.append(game.call_now("list_books", {}))

    transcript = hold(shelf_entry(), play, replace(SETTINGS, step_limit=2))
    assert calls == ["['Ulysses']"] * 3 + [OVER] * 2
    assert transcript.forced_quit
    calls.clear()

    async def polite(game: PlayedConversation) -> None:
        game.begin_turn()
        for _ in range(7):
            calls.append(await game.call("geometry_area", {"a": 1}))
        game.end_turn(Reply("done"))

    transcript = hold(area_entry(), polite)
    assert calls == [RECORDED] * 5 + [OVER] * 2
    assert len(transcript.steps[0].reply.tool_calls) == 5


def test_agents_that_break_off_hang_or_leave_turns_out(monkeypatch: pytest.MonkeyPatch) -> None:
    games: list[PlayedConversation] = []

    async def lazy(game: PlayedConversation) -> None:
        games.append(game)
        game.begin_turn()
        game.end_turn(Reply("one"))

    async def broken(game: PlayedConversation) -> None:
        games.append(game)
        raise AdapterError("quota", "empty")

    async def hanging(game: PlayedConversation) -> None:
        games.append(game)
        await asyncio.sleep(60)

    short = replace(SETTINGS, timeout_s=0.01, step_limit=1)
    for play, settings, kind, said in (
        (lazy, SETTINGS, "fixture", "ended 1 user turns too early"), (broken, SETTINGS, "quota", "empty"),
        (hanging, short, "timeout", "the agent took more than 0.04 s for multi_turn_base_900"),
    ):  # fmt: skip
        with pytest.raises(AdapterError, match=said) as caught:
            hold(shelf_entry(("a", "b")), play, settings)
        assert caught.value.kind == kind
        assert games.pop().over.is_set()
    monkeypatch.setattr(played, "CLEANING_UP_S", 0.05)
    cleaned: list[str] = []

    async def slow_to_leave(game: PlayedConversation) -> None:
        game.begin_turn()
        game.end_turn(Reply("one"))
        await asyncio.sleep(0.01)
        cleaned.append("yes")
        await asyncio.sleep(60)

    assert len(hold(shelf_entry(), slow_to_leave).turns) == 1
    assert cleaned == ["yes"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_that_nobody_awaits_any_more_holds_up_no_other(fails: bool) -> None:
    told: list[Any] = []

    class Slow:
        memory = None

        async def execute(self, text: str) -> str:
            await asyncio.sleep(0.01)
            if fails:
                raise ValueError("gone")
            return "found"

        async def new_functions(self) -> Any:
            return [*DOCS.values(), {**DOCS["add_book"], "name": "late"}]

        def keep_memory(self) -> None:
            pass

    async def play(game: PlayedConversation) -> None:
        game._world = Slow()  # type: ignore[assignment]
        game.begin_turn()
        asked = [asyncio.ensure_future(game.call("list_books", {})) for _ in range(3)]
        await asyncio.sleep(0.005)
        asked[1].cancel()
        told.extend(await asyncio.gather(asked[0], asked[2], return_exceptions=True))
        told.append([tool["function"]["name"] for tool in game.tools][2:])
        game.end_turn(Reply("x"))

    hold(shelf_entry(), play)
    assert [str(each) for each in told] == (["gone", "gone", "[]"] if fails else ["found", "found", "['late']"])


async def shelving(game: PlayedConversation) -> None:
    while game.begin_turn() is not None:
        await game.call("add_book", {"title": "x"})
        game.end_turn(Reply("done"))


async def never(game: PlayedConversation) -> None:
    raise AssertionError("asked again")


@pytest.mark.parametrize("entry", [shelf_entry(("a", "b")), area_entry()], ids=["executed", "compared"])
def test_a_recorded_conversation_is_played_by_nobody(entry: Any, tmp_path: Path) -> None:
    async def area(game: PlayedConversation) -> None:
        game.begin_turn()
        await game.call("geometry.area", {"a": 3})
        game.end_turn(Reply("twelve"))

    journal, heard = Book(), []
    play = shelving if entry.row.multi_step else area
    first = hold(entry, play, journal=journal)
    again = hold(entry, never, journal=journal, on_reply=lambda request, reply: heard.append(reply))
    assert (shape(again), again.messages, heard) == (shape(first), first.messages, [])
    assert [(key.turn, key.step) for key in journal.replies] == (
        [(0, 0), (0, 1), (1, 0), (1, 1)] if entry.row.multi_step else [(0, 0)]
    )
    with Journal(tmp_path / "journal") as files:
        kept = hold(entry, play, journal=files)
    found = Transcripts(tmp_path).load(EntryKey(kept.model, "fc", entry.id), kept.started_at)
    assert found == {"messages": kept.messages, "functions": kept.functions}
    for key in list(journal.replies):  # half of a conversation is none
        kept = journal.replies.pop(key)
        with pytest.raises(Exception, match="asked again"):
            hold(entry, never, journal=journal)
        journal.replies[key] = kept
    other = entry.model_copy(update={"question": [[{"role": "user", "content": "other"}], *entry.question[1:]]})
    with pytest.raises(Exception, match="asked again"):
        hold(other, never, journal=journal)
    with pytest.raises(Exception, match="asked again"):
        hold(entry, never, journal=journal, repeat=2)


def test_a_recorded_end_at_the_step_limit() -> None:
    async def endless(game: PlayedConversation) -> None:
        game.begin_turn()
        while not game.over.is_set():
            await game.call("list_books", {})

    journal, settings = Book(), replace(SETTINGS, step_limit=1)
    first = hold(shelf_entry(("a", "b")), endless, settings, journal=journal)
    assert [reply.finish_reason for reply in journal.replies.values()] == [None, None, "step_limit"]
    again = hold(shelf_entry(("a", "b")), never, settings, journal=journal)
    assert (shape(again), again.forced_quit) == (shape(first), True)
