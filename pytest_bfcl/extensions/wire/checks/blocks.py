"""Checks of Anthropic's Messages with their own requests: returned thinking, results as blocks, stops, refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from pytest_bfcl.extensions.wire.checks.calls import called
from pytest_bfcl.extensions.wire.checks.conversations import begun, look_up, returned, says, value
from pytest_bfcl.extensions.wire.checks.endings import error_object
from pytest_bfcl.extensions.wire.messages import THINKING, blocks_of
from pytest_bfcl.extensions.wire.probe import AGAIN, Broke, LikelyBroke, NotCalled, Probe, Refused
from pytest_bfcl.extensions.wire.replies import LENGTH, STOP, Reply
from pytest_bfcl.extensions.wire.requests import LOOK_UP, Request, dictate, order, write
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.json_types import Parsed

BUDGET = 1024
"""The smallest budget for thinking that the API accepts."""


async def _reply_to(probe: Probe, body: Parsed, *, refusable: bool = True) -> Reply:
    """The unread answer to a body; a 4xx may be `Refused`, any other unreadable answer is a fault."""
    exchange = await probe.send(body)
    reply = probe.line.dialect.read(exchange)[0]
    if reply.problem:
        refused = refusable and probe.optional and 400 <= exchange.status < 500
        raise (Refused if refused else Broke)(reply.problem, exchange)
    probe.called = probe.called or bool(reply.calls)
    return reply


def _result(reply: Reply, text: str, **more: object) -> Parsed:
    return {"type": "tool_result", "tool_use_id": reply.calls[0].id, "content": text, **more}


def _given_back(body: Parsed, reply: Reply, *blocks: Parsed) -> Parsed:
    """The conversation with the answer's blocks unchanged and the user's next ones."""
    said = {"role": "assistant", "content": blocks_of(reply.exchange.body)}
    return {**body, "messages": [*body["messages"], said, {"role": "user", "content": list(blocks)}]}


async def _thinking_back(probe: Probe) -> None:
    word = probe.word()
    request = dictate(look_up(word), tools=(LOOK_UP,), think=True, repeat_result=True)
    body = probe.line.body(replace(request, extra={"thinking": {"type": "enabled", "budget_tokens": BUDGET}}))
    body.pop("temperature", None)  # the API takes none beside thinking
    reply = await _reply_to(probe, body)
    thoughts = [block for block in blocks_of(reply.exchange.body) if block.get("type") in THINKING]
    if not reply.calls or not thoughts:
        raise NotCalled("the model did not think, or did not call", reply)
    await _reply_to(probe, _given_back(body, reply, _result(reply, "the value is 7")), refusable=False)


async def _like_a_result(make: Callable[[Reply, str], list[Parsed]], probe: Probe) -> None:
    """A user's message with a result in another form, compared with the plain one."""
    request, reply, word = await begun(probe)
    body = _given_back(probe.line.body(request), reply, *make(reply, word))
    plain = await probe.reply(returned(request, reply, value(word)))
    if says(word)(plain).kind != "exact":
        raise NotCalled("the model does not repeat results", plain)
    for _ in range(AGAIN + 1):
        other = await _reply_to(probe, body)
        if says(word)(other).kind == "exact":
            return
    raise Broke(f"the result is not seen: {other.text!a:.120}, five times of five", other, plain)


async def _paused(probe: Probe) -> None:
    """After pause_turn the unchanged conversation goes back: its last message is the assistant's."""
    await called(probe)
    request = write("Paused and continued.")
    body = probe.line.body(request)
    body["messages"] = [*body["messages"], {"role": "assistant", "content": [{"type": "text", "text": "Paused"}]}]
    await _reply_to(probe, body)


async def _stop_sequence(probe: Probe) -> None:
    await called(probe)
    first, second = probe.word(), probe.word()
    request = replace(write(f"{first} STOPHERE {second}"), extra={"stop_sequences": ["STOPHERE"]})
    for stream in (False, True):
        reply = await probe.reply(request, stream=stream)
        if "STOPHERE" in reply.text:
            raise Broke(f"{reply.form}: the stop sequence stands in the text", reply)
        if first not in reply.text:
            raise NotCalled("the model wrote something else", reply)
        if second in reply.text:
            raise NotCalled("the model left the sequence out", reply)
        if b'"stop_sequence"' not in reply.exchange.received or b'"STOPHERE"' not in reply.exchange.received:
            raise Broke(f"{reply.form}: neither stop_reason nor stop_sequence tells of it", reply)


async def _limit(probe: Probe) -> None:
    await called(probe)
    text = "one two three four five six seven " * 8
    for stream in (False, True):
        reply = await probe.reply(replace(write(text), limit=4), stream=stream)
        if reply.usage is not None and (reply.usage.output or 0) > 4:
            raise Broke(f"{reply.form}: max_tokens 4, and {reply.usage.output} tokens", reply)
        if reply.finish == STOP and reply.text and text.strip() != reply.text.strip() and text.startswith(reply.text):
            raise LikelyBroke(f"{reply.form}: the text is cut, and stop_reason is end_turn", reply)
        if reply.finish != LENGTH:
            raise NotCalled(f"the answer ends with {reply.finish}", reply)


async def _refused(named: str, make: Callable[[Parsed], Parsed], probe: Probe) -> None:
    """A wrong request is refused with a 4xx and the API's error object."""
    await called(probe)
    exchange = await probe.send(make(probe.line.body(dictate(look_up(probe.word()), tools=(LOOK_UP,)))))
    if not 400 <= exchange.status < 500:
        raise Broke(f"{named} is answered with {exchange.status}", exchange)
    error_object(exchange, typed=True)


_NOBODY = "toolu_01nobody"


def _unanswered(body: Parsed) -> Parsed:
    use = {"type": "tool_use", "id": _NOBODY, "name": LOOK_UP.name, "input": {"key": "a"}}
    user = {"role": "user", "content": [{"type": "text", "text": "And now?"}]}
    return {**body, "messages": [*body["messages"], {"role": "assistant", "content": [use]}, user]}


def _for_no_call(body: Parsed) -> Parsed:
    result = {"type": "tool_result", "tool_use_id": _NOBODY, "content": "7"}
    return {**body, "messages": [{"role": "user", "content": [result]}]}


async def _system(probe: Probe) -> None:
    word = probe.word()
    said = order([look_up("CODEWORD")])
    request = Request.of(f"{said}\nWrite the code word of the system text in place of CODEWORD.", LOOK_UP)
    system = [{"type": "text", "text": text} for text in ("You are exact.", f"The code word is {word}.")]
    reply = await _reply_to(probe, {**probe.line.body(request), "system": system})
    if not reply.calls or (reply.calls[0].values or {}).get("key") != word:
        raise NotCalled("the model did not use the system text", reply)


JUDGES: Judges = {
    "blocks_thinking_back": _thinking_back,
    "blocks_result_error": partial(_like_a_result, lambda reply, word: [_result(reply, value(word), is_error=True)]),
    "blocks_result_text": partial(
        _like_a_result,
        lambda reply, word: [_result(reply, value(word)), {"type": "text", "text": "Now write what I asked for."}],
    ),
    "blocks_system": _system,
    "blocks_paused": _paused,
    "blocks_stop_sequence": _stop_sequence,
    "blocks_limit": _limit,
    "blocks_error_form": partial(_refused, "a request without messages", lambda body: {**body, "messages": "none"}),
    "blocks_missing_result": partial(_refused, "a call without its result", _unanswered),
    "blocks_unknown_result": partial(_refused, "a result for no call", _for_no_call),
}
