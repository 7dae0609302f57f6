"""Endings, cost, parameters that change an answer, and wrong requests.

A wrong request gets a 4xx that names the fault, never a 5xx and never silence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_bfcl.extensions.wire.chat import choices_of
from pytest_bfcl.extensions.wire.checks.calls import called, forms, thoughts
from pytest_bfcl.extensions.wire.differences import EXACT, Match, compare
from pytest_bfcl.extensions.wire.probe import AGAIN, Broke, NotCalled, Probe, Suspected, together
from pytest_bfcl.extensions.wire.replies import LENGTH, STOP, Call, Exchange, Reply, is_text
from pytest_bfcl.extensions.wire.requests import (
    LOOK_UP,
    NOTE,
    Message,
    Request,
    ToolCalls,
    ToolResult,
    dictate,
    note,
    write,
)
from pytest_bfcl.extensions.wire.row import Judge, Judges
from pytest_bfcl.json_types import Fields

Body = Callable[[Probe, tuple[Fields, ...]], Any]
"""A wrong request, with the reasoning that calls in its history need."""


async def _usage_grows(probe: Probe) -> None:
    short, long = await together(
        probe.reply(dictate(note(probe.word()))), probe.reply(dictate(note(" ".join(probe.word() for _ in range(60)))))
    )
    if not (short.calls and long.calls):
        raise NotCalled("the model did not call", short)
    one, two = ((reply.usage and reply.usage.input) or 0 for reply in (short, long))
    if two <= one:
        raise Broke(f"a prompt with 60 more words has {two} tokens, the short one {one}", short, long)


CUT_AT = 24


async def _cut(limits: Fields, probe: Probe, *, stream: bool = False) -> None:
    """A call too long for the token limit."""
    await called(probe, stream=stream)
    word = probe.word()
    wanted = [note(" ".join(f"{word} {number}" for number in range(200)))]
    reply = await probe.reply(dictate(*wanted, stream=stream, **limits))
    if reply.finish == LENGTH:
        return
    if compare(wanted, reply).kind == "exact":
        raise Broke(f"the limit of {CUT_AT} tokens was not kept: the whole call is there", reply)
    spent = reply.usage.output if reply.usage else None
    complete = bool(reply.calls) and all(call.values is not None for call in reply.calls)
    if (spent is None and complete) or (spent is not None and spent < CUT_AT):
        raise NotCalled("the model stopped by itself", reply)
    raise Broke(f"the answer was cut at {CUT_AT} tokens and ends with {reply.finish!r}, not as cut", reply)


async def _stop(probe: Probe) -> None:
    wanted = [note(probe.word())]
    end = f"END{probe.word()}"
    await probe.dictated(dictate(*wanted, extra={"stop": [end]}), wanted)
    first, second = probe.word(), probe.word()
    request = write(f"{first} {end} {second}", extra={"stop": [end]})
    replies = await probe.both(request)
    for reply in replies:
        if end in reply.text or second in reply.text:
            raise Broke(f"{reply.form}: the text goes on after the stop sequence", reply, proof=end.encode())
        if first in reply.text and reply.finish != STOP:
            raise Broke(f"{reply.form}: stopped by a stop sequence, it ends with {reply.finish!r}", reply)

    def begins(reply: Reply) -> Match:
        found = Match("other", f"what stands before the stop sequence is gone: {ascii(reply.text)[:120]}")
        return EXACT if first in reply.text else found

    await probe.weigh(list(zip((request, request.streamed()), replies, strict=True)), begins)


async def _n(probe: Probe) -> None:
    wanted = [note(probe.word())]
    await called(probe)
    request = dictate(*wanted, extra={"n": 2})
    whole, streamed = [await _choices(probe, each) for each in forms(request)]
    for replies in (whole, streamed):
        for reply in replies:
            if (match := compare(wanted, reply)).kind == "damaged":
                raise Broke(f"{reply.form}, choice {reply.choice}: {match.why}", reply)
    odd = [reply for reply in (*whole, *streamed) if compare(wanted, reply).kind != "exact"]
    if not odd:
        return
    shown = odd[0]
    why = f"{shown.form}, choice {shown.choice}: {compare(wanted, shown).why}"
    for _ in range(AGAIN):  # one choice never right, its neighbours always: no model does that
        again = await _choices(probe, request.streamed(shown.form == "streamed"))
        right = {reply.choice for reply in again if compare(wanted, reply).kind == "exact"}
        if shown.choice in right or not right:
            raise NotCalled(why, shown)
    raise Suspected(f"{why}, {AGAIN + 1} times of {AGAIN + 1}; the other choice is right", shown)


async def _choices(probe: Probe, request: Request) -> tuple[Reply, ...]:
    """The two choices of an answer, which must be numbered in order."""
    replies = await probe.choices(request)
    numbers = [reply.choice for reply in replies]
    if numbers != [0, 1]:
        raise Broke(f"{replies[0].form}: n is 2, and the choices are {numbers}", replies[0])
    return replies


async def _logprobs(probe: Probe) -> None:
    wanted, extra = [note(probe.word())], {"logprobs": True, "top_logprobs": 2}
    plain = dictate(*wanted)
    await probe.weighed([plain, *forms(plain, extra=extra)], lambda reply: compare(wanted, reply))
    for reply in await probe.both(write(f"{probe.word()} {probe.word()}", extra=extra)):
        bodies = reply.exchange.objects() if reply.form == "streamed" else [reply.exchange.body]
        told = (choice.get("logprobs") for body in bodies for choice in choices_of(body))
        if reply.text and not any(isinstance(each, dict) and each.get("content") for each in told):
            raise Broke(f"{reply.form}: logprobs were asked for, and a text has none", reply)


RANDOM = "Write one random number of four digits and nothing else."
SAME_SEED = 3
"""How often the same request is sent with the same seed."""


async def _seed(probe: Probe) -> None:
    wanted = [note(probe.word())]
    await probe.dictated(dictate(*wanted, extra={"seed": 7}), wanted)
    request = Request.of(RANDOM, extra={"seed": 7, "temperature": 1})
    texts = {(reply := await probe.reply(request)).text for _ in range(SAME_SEED)}
    if len(texts) == SAME_SEED:  # a promise of best effort, so two of three alike are enough
        raise Suspected(
            f"one seed, {SAME_SEED} different answers: {' · '.join(map(ascii, sorted(texts)))[:300]}", reply
        )


# -- wrong requests --------------------------------------------------------------------------------------------------


def refused(body: Body, *words: str, or_answered: bool = False) -> Judge:
    """A 4xx whose message has one of the words; ``or_answered``: accepting the request is also allowed."""

    async def judge(probe: Probe) -> None:
        exchange = await probe.send(body(probe, await thoughts(probe)))
        fault(exchange)
        message = exchange.message.lower()
        if exchange.status < 400 and not or_answered:
            raise Broke(f"the request is wrong, and the answer is {exchange.status}", exchange)
        if exchange.status >= 400 and not any(word in message for word in words):
            raise Broke(f"the refusal does not name the fault: {exchange.message[:200]!r}", exchange)
        await called(probe)  # a server that never calls passes nothing

    return judge


def fault(exchange: Exchange) -> None:
    """No answer, a broken connection and a 5xx are no answers to a client's mistake."""
    if exchange.trouble:
        raise Broke(f"no answer: {exchange.said or exchange.trouble}", exchange)
    if exchange.status >= 500 and not exchange.says_wrong:  # that it is no 4xx is the rule `error_form`'s matter
        raise Broke(f"a client's mistake is answered with {exchange.status}: {exchange.message[:200]}", exchange)


def error_object(exchange: Exchange, *, typed: bool = False) -> None:
    """The body of an error is an object with the error's message; ``typed``: and its type, as in Messages."""
    body = exchange.body if isinstance(exchange.body, dict) else {}
    error = body.get("error")
    fields = ("message", "type") if typed else ("message",)
    whole = isinstance(error, dict) and all(is_text(error.get(name)) for name in fields)
    if not whole or (typed and body.get("type") != "error"):
        form = "{type: error, error: {type, message}}" if typed else "{error: {message}}"
        raise Broke(f"the body of an error is no object {form}", exchange, proof=exchange.received[:400])


def history(*turns: Any) -> Body:
    """A conversation whose calls have the model's own reasoning."""
    asked = Message("user", "Look up a for me.")

    def made(probe: Probe, thought: tuple[Fields, ...]) -> Any:
        said = (replace(turn, thoughts=thought) if isinstance(turn, ToolCalls) else turn for turn in turns)
        return probe.line.body(Request((asked, *said), (LOOK_UP,)))

    return made


MADE, UNKNOWN, BROKEN = (
    ToolCalls((Call("call_a1", name, arguments),))
    for name, arguments in ((LOOK_UP.name, '{"key": "a"}'), ("gone_tool", '{"key": "a"}'), (LOOK_UP.name, '{"key": "a'))
)
RESULT, FOREIGN = ToolResult("call_a1", "7"), ToolResult("call_zz", "7")


def _other_choice(probe: Probe, *_: object) -> Any:
    return probe.line.body(Request.of("Say hello.", NOTE, choice="=gone_tool"))


def _broken_body(probe: Probe, *_: object) -> bytes:
    return b'{"model": "x", "' + (b"messages" if probe.api == "chat" else b"input") + b'": [{"role": "user", "con'


def _broken_tool(probe: Probe, *_: object) -> Any:
    body = probe.line.body(dictate())
    body["tools"] = [{"type": "function"}]
    return body


async def _error_form(probe: Probe) -> None:
    exchange = await probe.send(_broken_body(probe))
    fault(exchange)
    if exchange.status >= 500:
        raise Broke(f"a client's mistake is named, and answered with {exchange.status}", exchange)
    error_object(exchange)
    await called(probe)


_IDS = (
    "tool_call",
    "tool call",
    "call_id",
    "call_a1",
    "output",
    "result",
    "respon",
    "must be followed",
    "tool message",
)
JUDGES: Judges = {
    "usage_grows": _usage_grows,
    "cut_in_call": partial(_cut, {"limit": CUT_AT}),
    "cut_in_call_stream": partial(_cut, {"limit": CUT_AT}, stream=True),
    "max_completion_tokens": partial(_cut, {"extra": {"max_completion_tokens": CUT_AT}}),
    "stop": _stop,
    "n": _n,
    "logprobs": _logprobs,
    "seed": _seed,
    "fault_body": refused(_broken_body, "json", "pars", "decod", "body", "syntax"),
    "fault_missing_result": refused(history(MADE, Message("user", "Go on.")), *_IDS),
    "fault_unknown_tool": refused(history(UNKNOWN, RESULT), "gone_tool", "tool", "function", or_answered=True),
    "fault_history_arguments": refused(history(BROKEN, RESULT), "json", "argument", "pars", "decod", or_answered=True),
    "fault_unknown_id": refused(history(FOREIGN), "call_zz", *_IDS, or_answered=True),
    "fault_choice": refused(_other_choice, "gone_tool", "tool_choice", "tool choice", "not found", "tool"),
    "fault_tool": refused(_broken_tool, "function", "name", "tool"),
    "error_form": _error_form,
}
