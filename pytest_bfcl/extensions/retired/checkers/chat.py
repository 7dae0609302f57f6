"""Chat entries: no tools are offered, so the reply must be words and no call (our rule; the original had none)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.checkers.details import UndueDetails
from pytest_bfcl.decoding import DecodeError, decode_reply
from pytest_bfcl.extensions.retired import reasons
from pytest_bfcl.failures import Verdict

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Transcript


def check_chat(transcript: Transcript) -> Verdict:
    """The verdict on one reply: a native call, or a text that is nothing but calls, is one too many."""
    reply = transcript.first_reply
    calls: list[Any] = list(reply.output) if isinstance(reply.output, list) else []
    words = bool((reply.text or "").strip())
    if not calls and words:
        try:
            calls = list(decode_reply(reply, "prompt"))
            words = bool(calls)  # an empty list of calls says nothing
        except DecodeError:
            calls = []
    if calls:
        return Verdict.wrong(reasons.CHAT_CALL, UndueDetails(called=calls))
    if not words:
        return Verdict.wrong(reasons.CHAT_SILENCE)
    return Verdict.passed()
