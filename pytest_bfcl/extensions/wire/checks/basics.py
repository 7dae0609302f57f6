"""What checks of anything finer build on."""

from __future__ import annotations

from pytest_bfcl.extensions.wire.answers import Answer
from pytest_bfcl.extensions.wire.ends import NotCalled
from pytest_bfcl.extensions.wire.probe import Probe
from pytest_bfcl.extensions.wire.tasks import dictate, note

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


async def called(probe: Probe, *, stream: bool = False) -> Answer:
    """An answer to one dictated call that holds at least one call."""
    answer = await probe.ask(dictate(note(probe.word())), stream=stream)
    if not answer.calls:
        raise NotCalled("the model did not call", answer)
    return answer
