"""Decoded calls of a transcript's steps, for people and for ``results.jsonl``; checkers decode for themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.transcript import Call, Reply, Transcript

if TYPE_CHECKING:
    from pytest_bfcl.dataset import Entry


def fill_calls(entry: Entry, transcript: Transcript) -> Transcript:
    """Set ``calls`` (or ``error``) of every step that has neither; the same transcript comes back."""
    from pytest_bfcl.decoding import DecodeError

    for step in transcript.steps:
        if step.calls is not None or step.error is not None:
            continue
        try:
            step.calls = _calls(entry, transcript, step.reply)
        except DecodeError as error:
            step.error = str(error)
    return transcript


def _calls(entry: Entry, transcript: Transcript, reply: Reply) -> list[str] | list[Call]:
    from pytest_bfcl.decoding import call_texts, decode_reply

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
