"""What a client sends back: the server's own message, text and reasoning beside calls, messages in parts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.wire.checks.results import begun, look_up, returned, weighed
from pytest_bfcl.extensions.wire.differences import EXACT, Match, compare
from pytest_bfcl.extensions.wire.probe import NotCalled, Probe, together
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Message, Request, ToolCalls, ToolResult, Verbatim
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import LOOK_UP, NOTE, dictate, note, order


async def _user_parts(probe: Probe) -> None:
    wanted = [note(probe.word())]
    head, _, tail = order(wanted).partition("\n")
    requests = [Request((Message("user", text),), (NOTE,)) for text in (f"{head}\n{tail}", [f"{head}\n", tail])]
    requests.append(requests[1].streamed())
    replies = await together(*map(probe.reply, requests))
    await probe.weigh(list(zip(requests, replies, strict=True)), lambda reply: compare(wanted, reply))


async def _text_beside(probe: Probe) -> None:
    request, reply = await begun(probe)
    word, (call, *_) = probe.word(), reply.calls
    result = ToolResult(str(call.id), f"the value is {word}")
    beside = ToolCalls((call,), "I will look it up.", reply.thoughts)
    with_text = request.then(beside, result)
    await weighed(probe, [request.then(replace(beside, text=""), result), with_text, with_text.streamed()], word)


async def _message_back(probe: Probe) -> None:
    wanted, word = [look_up(probe.word())], probe.word()
    request = dictate(*wanted, tools=(LOOK_UP,), think=True, before="I will look it up.", repeat_result=True)
    reply = await probe.reply(request)
    if compare(wanted, reply).kind != "exact":
        raise NotCalled("the model did not make the call", reply)
    plain = returned(request, reply, f"the value is {word}")
    whole = request.then(Verbatim(given_items(reply)), plain.turns[-1])
    await weighed(probe, [plain, whole, whole.streamed()], word)


def given_items(reply: Reply) -> tuple[dict[str, Any], ...]:
    """The message (chat) or the output items (Responses) of an unstreamed answer, as they stand."""
    body = reply.exchange.body
    return tuple(body["output"]) if "output" in body else (body["choices"][0]["message"],)


async def _content(probe: Probe) -> None:
    request, reply = await begun(probe)
    word = probe.word()
    plain = returned(request, reply, f"the value is {word}")
    message = {key: value for key, value in given_items(reply)[0].items() if key != "content"}
    forms = [{**message, "content": None}, {**message, "content": ""}, message]
    told = [request.then(Verbatim((form,)), plain.turns[-1]) for form in forms]
    await weighed(probe, [plain, *told], word)


async def _answered(probe: Probe) -> None:
    request, reply = await begun(probe)
    word = probe.word()
    request = returned(request, reply, f"the value is {word}")
    thinking = Request(
        (*dictate(look_up(word), think=True, repeat_result=True).turns, *request.turns[1:]), request.tools
    )
    requests = [request, request.streamed(), thinking, thinking.streamed()]
    replies = await together(*map(probe.reply, requests))

    def result_match(reply: Reply) -> Match:
        if reply.text or reply.calls:
            return EXACT
        if reply.reasoning or reply.thoughts:
            return Match("damaged", "the answer to a result is reasoning alone, the content is empty")
        return Match("other", "after a result the answer holds neither text nor a call")

    await probe.weigh(list(zip(requests, replies, strict=True)), result_match)


JUDGES: Judges = {
    "user_parts": _user_parts,
    "history_text": _text_beside,
    "history_content": _content,
    "message_back": _message_back,
    "result_answered": _answered,
}
