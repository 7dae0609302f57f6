"""What was said, as it stands in the history that goes with the next request."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.transcript import Message, Reply

NOT_RUN = "Error during execution: the arguments of a call in this message are not valid JSON; nothing was run"


def assistant_message(model: object, reply: Reply, turn: int = 0, step: int = 0) -> Message:
    """A reply as the assistant's message (`Reply.as_message`).

    An adapter with a method ``remember`` adds what its provider wants back: reasoning, signatures, encrypted items.
    """
    message = reply.as_message(turn, step)
    remember = getattr(model, "remember", None)
    return message if remember is None else remember(reply, message)


def with_thoughts(message: Message, raw: Reply, reply: Reply, model: object, policy: str) -> Message:
    """The message with the thoughts that were taken out of the reply's text, where the server gets them back.

    It does under ``policy`` ``keep``, and by the reference's handler of its API (`pytest_bfcl.models.dialects`), which
    sends the text as it came; beside calls that were read from the text they have their own field.
    """
    dialect = getattr(getattr(model, "api", None), "dialect", None)
    back = getattr(dialect, "echo", True) if policy == "reference" else policy == "keep"
    if not back or raw.text == reply.text or not reply.reasoning:
        return message
    if message.get("tool_calls") and not raw.tool_calls:
        return {"reasoning_content": reply.reasoning, **message}
    return {**message, "content": raw.text} if isinstance(message.get("content"), str) else message


def result_messages(message: Message, results: Sequence[str]) -> list[Message]:
    """Results of an assistant's native calls, one message each, by the calls' ids."""
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": result}
        for call, result in zip(message.get("tool_calls") or [], results, strict=False)
    ]


def results_text(calls: Sequence[str], results: Sequence[str]) -> str:
    """Results as prompting mode shows them: one object per call, the Python repr of their list."""
    found = [{"role": "tool", "name": call, "content": text} for call, text in zip(calls, results, strict=False)]
    return repr(found)


def with_answered_calls(messages: Sequence[Message]) -> list[Message]:
    """The history with a message for every call that has no result: it says that the call was not run."""
    mended: list[Message] = []
    for position, message in enumerate(messages):
        mended.append(message)
        following = messages[position + 1] if position + 1 < len(messages) else None
        if message.get("tool_calls") and (following is None or following["role"] != "tool"):
            mended += result_messages(message, [NOT_RUN] * len(message["tool_calls"]))
    return mended
