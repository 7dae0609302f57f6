"""The conversation engine: turns, steps, held-out functions, results back to the model (multi_turn spec §2).

`converse` raises only for infrastructure errors (`AdapterError`, `HarnessError`); all output of the model is in the
transcript.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl import entry_points
from pytest_bfcl.conversation.dialogue import OVERFLOW, Dialogue
from pytest_bfcl.conversation.history import fill_calls
from pytest_bfcl.conversation.played import PlayedConversation
from pytest_bfcl.conversation.services import CARRIED_OUT, NO_SERVERS, Services, is_executed
from pytest_bfcl.endings import TROUBLE, problem_of
from pytest_bfcl.failures import AdapterError, BenchmarkError, HarnessError
from pytest_bfcl.models.callable import fixture_error, read_result
from pytest_bfcl.runs.journal import ReplyKey, Requests
from pytest_bfcl.transcript import Reply, Transcript
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.checkers.plugged import CallServices
    from pytest_bfcl.conversation.journal import Journal, OnReply, Snapshots
    from pytest_bfcl.conversation.world import World
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.models.base import Model, Request
    from pytest_bfcl.settings import Settings


async def converse(
    entry: Entry,
    model: Model,
    *,
    settings: Settings,
    texts: Texts,
    journal: Journal | None = None,
    repeat: int = 1,
    snapshots: Snapshots | None = None,
    search: Any = None,
    services: CallServices | None = None,
    on_reply: OnReply | None = None,
) -> Transcript:
    """Hold the whole conversation of one entry with one model.

    Single-turn entries take one request. In other entries each turn continues until the model stops calling. A model
    with a method ``transcript_for(entry, repeat)`` (stored trajectories) gets no request if that returns a transcript.
    One with a method ``play`` is a whole agent (`PlayedConversation`). ``journal`` is read before every request and
    written after it; ``snapshots`` pass memories from write stages to questions; ``search`` is the provider of the web
    tools, ``services`` those of retired categories' calls (made for this conversation if needed); ``on_reply`` receives
    every live reply.

    Raises `AdapterError` if the provider could not be reached, `HarnessError` for defects of data or harness,
    `EntrySkipped` if a retired entry lacks a recording.
    """
    executed = entry.row.checker in CARRIED_OUT and is_executed(entry)
    if executed and services is None:
        with Services(settings.rest, official=entry.official) as own:
            return await converse(
                entry, model, settings=settings, texts=texts, journal=journal, repeat=repeat, services=own,
                on_reply=on_reply,
            )  # fmt: skip
    called = services if executed else None
    recorded = getattr(model, "transcript_for", None)
    transcript: Transcript | None = None
    try:
        if recorded is not None and (transcript := recorded(entry, repeat)) is not None:
            fill_calls(entry, transcript)
        else:
            if called is not None:
                await asyncio.to_thread(called.require, entry)
            as_listed = model.mode == "fc" and not hasattr(model, "play")  # an agent's tools are Python functions
            held: Any = contextlib.nullcontext((entry, None))
            if entry.mcp is not None:
                held = served(entry, settings, as_listed=as_listed)
            async with held as (offered, world):
                played: PlayedConversation | None = None
                if hasattr(model, "play"):
                    played = PlayedConversation(offered, model, settings, texts, journal, repeat, on_reply)
                dialogue = played or Dialogue(offered, model, settings, texts, repeat)
                transcript = dialogue.transcript
                if world is not None:
                    world.keep_in(transcript)
                started = time.perf_counter()
                try:
                    dialogue.open(snapshots, search, world)
                    await (played.run() if played is not None else _ask_through(dialogue, journal, on_reply))
                finally:
                    transcript.duration_s = time.perf_counter() - started
                if world is not None:
                    await world.finish()
        if called is not None:
            await asyncio.to_thread(called.execute, entry, transcript)
        return transcript
    except BenchmarkError as error:
        error.transcript = _broken_off(transcript)
        raise
    except Exception as error:
        text = f"{entry.id}: the conversation broke off: {type(error).__name__}: {error}"
        broken = HarnessError(HarnessTrouble.CONVERSATION, text)
        broken.transcript = _broken_off(transcript)
        raise broken from error


@contextlib.asynccontextmanager
async def served(entry: Entry, settings: Settings, *, as_listed: bool = True) -> AsyncIterator[tuple[Entry, World]]:
    """An entry on a user's MCP server with that server's tools, and its world.

    ``as_listed``: with the server's own names. Raises `HarnessError` (kind ``mcp``).
    """
    point = entry_points.find("worlds", "mcp")
    if point is None:
        raise HarnessError(HarnessTrouble.MCP, f"{entry.id}: {NO_SERVERS}")
    async with entry_points.load(point, "world")(entry, settings, as_listed=as_listed) as found:
        yield found


def _broken_off(transcript: Transcript | None) -> Transcript | None:
    """A conversation that an error ended, ``None`` if no reply had arrived."""
    if transcript is None or not transcript.steps:
        return None
    transcript.incomplete = True
    return transcript


async def _ask_through(dialogue: Dialogue, journal: Journal | None, on_reply: OnReply | None) -> None:
    """All steps of an open conversation: send, execute the calls, repeat until it has ended."""
    requests = None if journal is None else Requests(dialogue.transcript.started_at)
    executed = dialogue.entry.row.multi_step
    while not dialogue.ended:
        too_long = executed and dialogue.too_long
        step = dialogue.hear(OVERFLOW if too_long else await _next_reply(dialogue, requests, journal, on_reply))
        if executed:
            for text in dialogue.due_calls(step):
                step.results.append(await dialogue.world.execute(text))
        dialogue.go_on(step)
        if step.results and (functions := await dialogue.world.new_functions()) is not None:
            dialogue.offer(functions)


async def _next_reply(
    dialogue: Dialogue,
    requests: Requests | None,
    journal: Journal | None,
    on_reply: OnReply | None,
) -> Reply:
    """The reply to the next request: the journal's, else the model's, which is stored before it is read."""
    request = dialogue.request()
    if journal is None or requests is None:
        return await _live(dialogue, request, on_reply)
    digest = requests.digest(request.messages, request.functions, request.parameters)
    turn, step, model = request.turn, request.step, dialogue.model
    key = ReplyKey(model.spec, model.mode, request.entry.id, request.repeat, turn, step, digest)
    reply = journal.find(key)
    if reply is None or problem_of(reply) == TROUBLE:  # such a reply never counts, whoever kept it
        reply = await _live(dialogue, request, on_reply)
        journal.record(key, reply, requests.delta(request.messages, request.functions))
    requests.replies.append((reply, turn, step))
    return reply


async def _live(dialogue: Dialogue, request: Request, on_reply: OnReply | None) -> Reply:
    # A user's own model may hand on what its client library gave.
    model = cast("Model", dialogue.model)
    try:
        try:
            result = await model.generate(request)
        except AdapterError as error:
            if error.kind != AdapterTrouble.BAD_REQUEST or not dialogue.answer_dangling_calls():
                raise
            # Calls that did not decode have no result message. Lenient endpoints accept that history, as the
            # reference sends it; strict ones refuse it, which must not count as our trouble.
            request.messages = list(dialogue.messages)
            result = await model.generate(request)
        reply = result if type(result) is Reply else read_result(result)
    except BenchmarkError:
        raise
    except Exception as error:
        if (trouble := fixture_error(error)) is None:  # a defect of ours
            raise
        raise trouble from error
    if on_reply is not None:
        on_reply(request, reply)
    return reply
