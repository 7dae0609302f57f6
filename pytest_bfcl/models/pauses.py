"""Replies that a provider interrupts and wants a further request for, put together to one (Anthropic's
``pause_turn``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from pytest_bfcl.endings import UNFINISHED, UnknownEnding
from pytest_bfcl.models.base import Request
from pytest_bfcl.transcript import Message, Reply


async def whole_reply(
    ask: Callable[[Request], Awaitable[Reply]],
    request: Request,
    remember: Callable[[Reply, Message], Message],
    most: int,
) -> Reply:
    """The reply to a request, asked on as long as it is unfinished: the reply so far goes back, nothing else.

    Raises `UnknownEnding` when it is still unfinished after ``most`` further requests.
    """
    reply = await ask(request)
    for _ in range(most):
        if reply.problem != UNFINISHED:
            return reply
        said = remember(reply, _message(reply))
        reply = _joined(reply, await ask(replace(request, messages=[*request.messages, said])))
    if reply.problem == UNFINISHED:
        raise UnknownEnding(reply.finish_reason)
    return reply


def _message(reply: Reply) -> Message:
    message: Message = {"role": "assistant", "content": reply.text or ""}
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.tool_calls
        ]
    return message


def _joined(first: Reply, more: Reply) -> Reply:
    """Both parts as one reply, which ended as the second did; tokens, time and attempts are those of both."""
    state = more.state
    if state is not None and first.state is not None:
        state = replace(state, parts=(*first.state.parts, *state.parts))
    return replace(
        more,
        text=None if first.text is more.text is None else f"{first.text or ''}{more.text or ''}",
        tool_calls=(*first.tool_calls, *more.tool_calls),
        reasoning="\n".join(filter(None, (first.reasoning, more.reasoning))) or None,
        input_tokens=_sum(first.input_tokens, more.input_tokens),
        output_tokens=_sum(first.output_tokens, more.output_tokens),
        reasoning_tokens=_sum(first.reasoning_tokens, more.reasoning_tokens),
        latency_s=None if more.latency_s is None else round((first.latency_s or 0.0) + more.latency_s, 6),
        first_token_s=first.first_token_s,
        attempts=first.attempts + more.attempts,
        state=state or first.state,
    )


def _sum(first: int | None, more: int | None) -> int | None:
    return None if first is more is None else (first or 0) + (more or 0)
