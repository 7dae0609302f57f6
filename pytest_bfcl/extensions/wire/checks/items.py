"""The Responses API beyond one question: instructions, answers that follow another, reasoning that only travels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.wire.checks.histories import given_items
from pytest_bfcl.extensions.wire.checks.results import begun, returned, weighed
from pytest_bfcl.extensions.wire.differences import compare
from pytest_bfcl.extensions.wire.probe import Broke, NotCalled, Probe, together
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Request, ToolResult, Verbatim
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import CODE_WORD, NOTE, dictate, note, told_directly


async def _instructions(probe: Probe) -> None:
    word = probe.word()
    said = f"The code word is {word}."
    apart = Request.of(CODE_WORD, NOTE, extra={"instructions": said})
    requests = [told_directly(said), apart, apart.streamed()]
    replies = await together(*map(probe.reply, requests))
    await probe.weigh(list(zip(requests, replies, strict=True)), lambda reply: compare([note(word)], reply))


async def _previous(probe: Probe) -> None:
    request, reply = await begun(probe)
    word, call_id = probe.word(), str(reply.calls[0].id)
    body = reply.exchange.body
    result = f"the value is {word}"
    following = Request((ToolResult(call_id, result),), request.tools, extra={"previous_response_id": body.get("id")})
    await weighed(probe, [returned(request, reply, result), following, following.streamed()], word)


async def _encrypted(probe: Probe) -> None:
    extra = {"include": ["reasoning.encrypted_content"], "store": False}
    request = dictate(note(probe.word()), think=True, extra=extra)
    whole, streamed = await probe.both(request)
    if not (whole.reasoning or _reasoning(whole)):
        raise NotCalled("the model showed no reasoning", whole)
    for reply in (whole, streamed):
        for item in _reasoning(reply):
            sealed = item.get("encrypted_content")
            if not isinstance(sealed, str) or not sealed:
                raise Broke(f"{reply.form}: encrypted reasoning was asked for, the item has {sealed!r:.40}", reply)
    if whole.calls:
        back = (*request.turns, Verbatim(given_items(whole)), ToolResult(str(whole.calls[0].id), "kept"))
        (reply, *_) = await probe.replies(replace(request, turns=back))
        if reply.problem:  # what was asked for and given has to be taken back
            raise Broke(f"encrypted reasoning is not taken back: {reply.problem}", reply)


def _reasoning(reply: Reply) -> list[dict[str, Any]]:
    """The finished reasoning items of an answer."""
    if reply.form == "unstreamed":
        items = list(given_items(reply))
    else:
        items = [e["item"] for e in reply.exchange.objects(typed=True) if e["type"] == "response.output_item.done"]
    return [item for item in items if isinstance(item, dict) and item.get("type") == "reasoning"]


JUDGES: Judges = {
    "instructions": _instructions,
    "previous_response": _previous,
    "encrypted_reasoning": _encrypted,
}
