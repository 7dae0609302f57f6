"""What official clients make of the same bytes."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from pytest_bfcl.extensions.wire.check import Judges
from pytest_bfcl.extensions.wire.checks.completions import PROMPT
from pytest_bfcl.extensions.wire.differences import Wanted
from pytest_bfcl.extensions.wire.not_held import LikelyBroke, NotCalled
from pytest_bfcl.extensions.wire.probe import Probe, together
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Request
from pytest_bfcl.extensions.wire.second_readers import EXTRA, READERS, differs
from pytest_bfcl.extensions.wire.tasks import NOTE, PING, dictate, note, write
from pytest_bfcl.extras import install_command


async def _same(probe: Probe) -> None:
    """One call, two, a text, thought before a call: each whole and streamed."""
    sdk, _ = READERS[probe.api]
    if find_spec(sdk) is None:
        raise NotCalled(f"{sdk} is not installed: {install_command(EXTRA)}")
    replies = await together(
        *(probe.reply(request, stream=stream) for request in requests(probe) for stream in (False, True))
    )
    probe.called = probe.called or probe.api == "completions"
    for reply in replies:
        said = await asyncio.to_thread(differs, reply, probe.api)
        if said:
            why = f"{reply.form}: {said}: the server, the client or our reader is wrong"
            raise LikelyBroke(why, reply, proof=_proof(reply))


def requests(probe: Probe) -> list[Request]:
    """One call, two, a text, thought before a call; of text completions one prompt."""
    if probe.api == "completions":
        return [Request.of(PROMPT)]
    one, two = note(probe.word()), Wanted(PING.name, {"host": probe.word()})
    return [
        dictate(one), dictate(one, two, tools=(NOTE, PING)), write(f"The word is {probe.word()}."),
        dictate(two, tools=(PING,), think=True, before="I look."),
    ]  # fmt: skip


def _proof(reply: Reply) -> bytes:
    return reply.exchange.received[:4000]


JUDGES: Judges = {
    "sdk_reads": _same,
}
