"""Requests that are wrong: a 4xx that names the fault, never a 5xx and never silence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.wire.checks.calls import called, thoughts
from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.probe import Broke, Probe
from pytest_bfcl.extensions.wire.replies import Call
from pytest_bfcl.extensions.wire.requests import Message, Request, Tool, ToolCalls, ToolResult
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import LOOK_UP, NOTE, dictate
from pytest_bfcl.json_types import Fields

Judge = Callable[[Probe], Awaitable[None]]
Body = Callable[[Probe, tuple[Fields, ...]], Any]


def refused(body: Body, *words: str, or_answered: bool = False) -> Judge:
    """A 4xx whose message has one of the words; ``or_answered``: taking the request is allowed too."""

    async def judge(probe: Probe) -> None:
        exchange = await probe.wrong(body(probe, await thoughts(probe)))
        fault(exchange)
        message = exchange.message.lower()
        if exchange.status < 400 and not or_answered:
            raise Broke(f"the request is wrong, and the answer is {exchange.status}", exchange)
        if exchange.status >= 400 and not any(word in message for word in words):
            raise Broke(f"the refusal does not name the fault: {exchange.message[:200]!r}", exchange)
        await called(probe)  # a server that never calls passes nothing

    return judge


def fault(exchange: Exchange) -> None:
    """Silence, a broken connection and a 5xx are no answers to a client's mistake."""
    if exchange.trouble:
        raise Broke(f"no answer: {exchange.said or exchange.trouble}", exchange)
    if exchange.status >= 500 and not exchange.says_wrong:  # that it is no 4xx is the rule `error_form`'s matter
        raise Broke(f"a client's mistake is answered with {exchange.status}: {exchange.message[:200]}", exchange)


def history(*turns: Any, tools: tuple[Tool, ...] = (LOOK_UP,)) -> Body:
    """A conversation whose calls have such reasoning as the model's own have."""

    def made(probe: Probe, thought: tuple[Fields, ...]) -> Any:
        said = (replace(turn, thoughts=thought) if isinstance(turn, ToolCalls) else turn for turn in turns)
        return probe.line.body(Request((Message("user", "Look up a for me."), *said), tools))

    return made


MADE = ToolCalls((Call("call_a1", LOOK_UP.name, '{"key": "a"}'),))
UNKNOWN = ToolCalls((Call("call_a1", "gone_tool", '{"key": "a"}'),))
BROKEN = ToolCalls((Call("call_a1", LOOK_UP.name, '{"key": "a'),))
RESULT = ToolResult("call_a1", "7")
FOREIGN = ToolResult("call_zz", "7")


def _other_choice(probe: Probe, *_: object) -> Any:
    return probe.line.body(Request.of("Say hello.", NOTE, choice="=gone_tool"))


def _broken_body(probe: Probe, *_: object) -> bytes:
    return b'{"model": "x", "' + (b"messages" if probe.api == "chat" else b"input") + b'": [{"role": "user", "con'


def _broken_tool(probe: Probe, *_: object) -> Any:
    body = probe.line.body(dictate())
    body["tools"] = [{"type": "function"}]
    return body


async def _error_form(probe: Probe) -> None:
    exchange = await probe.wrong(_broken_body(probe))
    fault(exchange)
    if exchange.status >= 500:
        raise Broke(f"a client's mistake is named, and answered with {exchange.status}", exchange)
    error = exchange.body.get("error") if isinstance(exchange.body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str) or not error["message"]:
        raise Broke("the body of an error is no object {error: {message}}", exchange, proof=exchange.received[:400])
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
    "fault_body": refused(_broken_body, "json", "pars", "decod", "body", "syntax"),
    "fault_missing_result": refused(history(MADE, Message("user", "Go on.")), *_IDS),
    "fault_unknown_tool": refused(history(UNKNOWN, RESULT), "gone_tool", "tool", "function", or_answered=True),
    "fault_history_arguments": refused(history(BROKEN, RESULT), "json", "argument", "pars", "decod", or_answered=True),
    "fault_unknown_id": refused(history(FOREIGN), "call_zz", *_IDS, or_answered=True),
    "fault_choice": refused(_other_choice, "gone_tool", "tool_choice", "tool choice", "not found", "tool"),
    "fault_tool": refused(_broken_tool, "function", "name", "tool"),
    "error_form": _error_form,
}
