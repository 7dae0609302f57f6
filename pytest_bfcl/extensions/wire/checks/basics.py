"""What checks of anything finer build on."""

from __future__ import annotations

from pytest_bfcl.extensions.wire.not_held import NotCalled
from pytest_bfcl.extensions.wire.probe import Probe
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.tasks import dictate, note
from pytest_bfcl.json_types import Fields

BASICS = (
    "answers",
    "call_recognised",
    "call_id",
    "call_type",
    "arguments_text",
    "arguments_parse",
    "arguments_dictated",
    "stream_events",
    "delta_index",
    "delta_id",
    "delta_name",
    "stream_calls",
    "stream_arguments",
    "events_items",
    "events_arguments",
    "blocks_message",
    "blocks_fields",
    "blocks_input",
    "blocks_stream",
    "blocks_order",
    "blocks_indexes",
    "blocks_deltas",
    "blocks_inputs",
)
"""What a check about anything finer builds on."""


async def thoughts(probe: Probe) -> tuple[Fields, ...]:
    """The reasoning of a call, asked once: an endpoint may refuse calls in a history that have none."""

    async def ask() -> tuple[Fields, ...]:
        (reply, *_) = await probe.replies(dictate(note(probe.word())))
        return reply.thoughts

    return await probe.shared("thoughts", ask)


async def called(probe: Probe, *, stream: bool = False) -> Reply:
    """An answer to one dictated call that holds at least one call."""
    reply = await probe.reply(dictate(note(probe.word())), stream=stream)
    if not reply.calls:
        raise NotCalled("the model did not call", reply)
    return reply
