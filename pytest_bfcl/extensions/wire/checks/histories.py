"""What a client sends back: the server's own message, text and reasoning beside calls, messages in parts.

Of the Responses API also instructions, answers that follow another, and reasoning that only travels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.wire.checks.results import begun, look_up, returned, told_apart, weighed
from pytest_bfcl.extensions.wire.differences import EXACT, Match, compare
from pytest_bfcl.extensions.wire.probe import Broke, NotCalled, Probe
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Message, Request, ToolCalls, ToolResult, Verbatim
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import CODE_WORD, LOOK_UP, NOTE, dictate, note, order


async def _user_parts(probe: Probe) -> None:
    wanted = [note(probe.word())]
    head, _, tail = order(wanted).partition("\n")
    requests = [Request((Message("user", text),), (NOTE,)) for text in (f"{head}\n{tail}", [f"{head}\n", tail])]
    requests.append(requests[1].streamed())
    await probe.weighed(requests, lambda reply: compare(wanted, reply))


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

    def result_match(reply: Reply) -> Match:
        if reply.text or reply.calls:
            return EXACT
        if reply.reasoning or reply.thoughts:
            return Match("damaged", "the answer to a result is reasoning alone, the content is empty")
        return Match("other", "after a result the answer holds neither text nor a call")

    await probe.weighed(requests, result_match)


async def _instructions(probe: Probe) -> None:
    await told_apart(probe, lambda said: Request.of(CODE_WORD, NOTE, extra={"instructions": said}))


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
    "user_parts": _user_parts,
    "history_text": _text_beside,
    "history_content": _content,
    "message_back": _message_back,
    "result_answered": _answered,
    "instructions": _instructions,
    "previous_response": _previous,
    "encrypted_reasoning": _encrypted,
}
