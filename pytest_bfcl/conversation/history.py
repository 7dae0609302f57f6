"""Replies and results in the history of the next request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.decoding import DecodeError, call_texts, decode_native, decode_reply, is_empty
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.transcript import Call, Message, Mode, Reply, Step, Transcript

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry

NOT_RUN = "Error during execution: the arguments of a call in this message are not valid JSON; nothing was run"


def assistant_message(model: object, reply: Reply, turn: int = 0, step: int = 0) -> Message:
    """A reply as the assistant's message (`Reply.as_message`).

    An adapter with a method ``remember`` adds what its provider needs back: reasoning, signatures, encrypted items.
    """
    message = reply.as_message(turn, step)
    remember = getattr(model, "remember", None)
    return message if remember is None else remember(reply, message)


def with_thoughts(message: Message, raw: Reply, reply: Reply, model: object, policy: str) -> Message:
    """The message with the thoughts that were removed from the reply's text, if the server gets them back. It does with
    ``policy`` ``keep``, and with the reference's handler of its API (`pytest_bfcl.models.chat`), which sends the
    unchanged text. With calls read from the text, thoughts have their own field.
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
    """Results in prompting mode: one object per call, the Python repr of their list."""
    found = [{"role": "tool", "name": call, "content": text} for call, text in zip(calls, results, strict=False)]
    return repr(found)


def with_answered_calls(messages: Sequence[Message]) -> list[Message]:
    """The history with a message for every call without a result, that it was not run."""
    mended: list[Message] = []
    for position, message in enumerate(messages):
        mended.append(message)
        following = messages[position + 1] if position + 1 < len(messages) else None
        if message.get("tool_calls") and (following is None or following["role"] != "tool"):
            mended += result_messages(message, [NOT_RUN] * len(message["tool_calls"]))
    return mended


def fill_calls(entry: Entry, transcript: Transcript) -> Transcript:
    """Set ``calls`` (or ``error``) of every step that has neither; returns the same transcript."""
    for turn in transcript.turns:
        for step in turn.steps:
            if step.calls is None and step.error is None:
                read_calls(entry, transcript, step)
    return transcript


def read_calls(entry: Entry, transcript: Transcript, step: Step, *, mended: bool = False) -> None:
    """Set ``calls`` (or ``error``) of one step; ``mended``: without the defects of the family's handler."""
    reply, mode, decoder = step.reply, transcript.mode, transcript.decoder
    try:
        if entry.row.multi_step:
            if entry.row.checker == "served":
                texts = exact_texts(reply, mode, decoder, transcript.functions)
            else:
                texts = call_texts(reply, mode, decoder, entry.all_functions, mended=mended)
            step.calls = [] if is_empty(texts) else list(texts)
        elif mode == "fc" and decoder is None:
            step.calls, step.native = decode_native(reply), reply
        else:
            step.calls = list(
                decode_reply(
                    reply,
                    mode,
                    return_format=entry.return_format,
                    tool_call_tag=entry.tool_call_tag,
                    functions=entry.function,
                    decoder=decoder,
                )
            )
    except DecodeError as error:
        step.error = str(error)


def exact_texts(reply: Reply, mode: Mode, decoder: str | None, functions: Sequence[Fields]) -> list[str]:
    """The calls of a reply as texts with all given arguments, tools by writable names. Raises `DecodeError`.

    `call_texts` has the reference's defects, by which the benchmark's entries are judged.
    """
    if mode == "fc" and decoder is None and not reply.tool_calls:
        return []
    calls = decode_reply(reply, mode, functions=functions, decoder=decoder)
    return [exact_text(Call(portable_name(str(call.name)), call.arguments)) for call in calls]
