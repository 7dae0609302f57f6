"""Decoded calls of a transcript's steps, for people and for ``results.jsonl``; checkers decode for themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.decoding import DecodeError, call_texts, decode_reply
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Call, Mode, Reply, Transcript

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry


def fill_calls(entry: Entry, transcript: Transcript) -> Transcript:
    """Set ``calls`` (or ``error``) of every step that has neither; the same transcript comes back."""
    for turn in transcript.turns:
        for step in turn.steps:
            if step.calls is not None or step.error is not None:
                continue
            try:
                step.calls = _calls(entry, transcript, step.reply)
            except DecodeError as error:
                step.error = str(error)
    return transcript


def exact_texts(reply: Reply, mode: Mode, decoder: str | None, functions: Sequence[Fields]) -> list[str]:
    """The calls of a reply as texts that say every argument as it was given, tools by writable names.

    Raises `DecodeError`.

    `call_texts` has the defects of the reference, which the benchmark's own entries are judged by.
    """
    from pytest_bfcl.syntax.writing import exact_text

    if mode == "fc" and decoder is None and not reply.tool_calls:
        return []
    calls = decode_reply(reply, mode, functions=functions, decoder=decoder)
    return [exact_text(Call(portable_name(str(call.name)), call.arguments)) for call in calls]


def _calls(entry: Entry, transcript: Transcript, reply: Reply) -> list[str] | list[Call]:
    if entry.row.checker == "served":
        return exact_texts(reply, transcript.mode, transcript.decoder, transcript.functions)
    if entry.row.multi_step:
        return list(call_texts(reply, transcript.mode, transcript.decoder, entry.all_functions))
    return list(
        decode_reply(
            reply,
            transcript.mode,
            return_format=entry.return_format,
            tool_call_tag=entry.tool_call_tag,
            functions=entry.function,
            decoder=transcript.decoder,
        )
    )
