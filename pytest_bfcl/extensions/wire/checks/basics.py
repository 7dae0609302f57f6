"""What checks of anything finer build on."""

from __future__ import annotations

from pytest_bfcl.extensions.wire.not_held import NotCalled
from pytest_bfcl.extensions.wire.probe import Probe
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.tasks import dictate, note
from pytest_bfcl.json_types import Fields


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
