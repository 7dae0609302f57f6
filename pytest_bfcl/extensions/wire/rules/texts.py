"""The text beside calls and reasoning apart from both: nothing of one stands in another's place."""

from __future__ import annotations

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.chat import REASONING as REASONING_FIELDS
from pytest_bfcl.extensions.wire.differences import lost_call
from pytest_bfcl.extensions.wire.replies import LENGTH, Call, Reply
from pytest_bfcl.extensions.wire.row import Found, RowJudges, wrong
from pytest_bfcl.extensions.wire.tasks import message_text
from pytest_bfcl.formats.detection import sign_in, values_in

REASONING = (
    "Responses, output: reasoning items; vLLM, SGLang and DeepSeek documentation, reasoning_content beside content"
)
_DETAILS = ("reasoning_details",)
"""Reasoning in its own form, beside a text."""
THINKS = ("<think>", "</think>", "<thinking>", "<|channel|>analysis", "[THINK]", "<seed:think>", "◁think▷")
LONGEST = 20_000
"""Longest text that is searched for copies of calls."""


def _markers(judged: Judged) -> Found:
    reply = judged.reply
    if reply.problem or (judged.wanted and not reply.calls):
        return None
    if marker := sign_in(reply.text):
        where = "beside the call" if reply.calls else "though there is no call"
        return wrong(f"{marker!r} stands in the content {where}", marker.encode())
    if not reply.calls:
        return () if reply.text else None
    if any(_copied(reply.text[:LONGEST], call) for call in reply.calls):
        return wrong("the call stands in the content too, as JSON", reply.text.encode()[:200], certain=False)
    if marker := sign_in(reply.reasoning):
        return wrong(f"{marker!r} stands in the reasoning", marker.encode(), certain=False)
    return ()


def _streamed_markers(judged: Judged) -> Found:
    found, twin = _markers(judged), judged.twin
    if found or found is None or twin is None or twin.text or not twin.calls:
        return found
    values = [value for each in judged.wanted for value in each.arguments.values() if isinstance(value, str)]
    copied = next((value for value in values if value in judged.reply.text), None)
    return wrong(
        f"the argument {copied!r} stands in the content, unstreamed there is none" if copied else "", weighed=True
    )


def _copied(text: str, call: Call) -> bool:
    """Whether a call's arguments stand in a text as a JSON object, alone or inside another."""
    if not call.values or "{" not in text:
        return False
    values = (each for value in values_in(text) for each in (value if isinstance(value, list) else [value]))
    found = (value for value in values if isinstance(value, dict))
    return any(call.values in (value, value.get("arguments"), value.get("parameters")) for value in found)


def _apart(judged: Judged) -> Found:
    reply = judged.reply
    if reply.problem:
        return None
    if mark := next((mark for mark in THINKS if mark in reply.text), None):
        return wrong(f"reasoning stands in the content, with {mark!r}", mark.encode())
    if not reply.reasoning:
        odd = sorted(reply.reasoning_in - {*REASONING_FIELDS, *_DETAILS}) if judged.api == "chat" else []
        return wrong(f"reasoning stands in {odd[0]!r:.60}, where no client looks for it") if odd else None
    if len(reply.reasoning) > 20 and reply.reasoning.strip() in reply.text:
        return wrong("the reasoning stands in the content too")
    if judged.wanted and not reply.calls and reply.finish != LENGTH:
        lost = lost_call(Reply(reply.exchange, reasoning=reply.reasoning))
        return wrong(lost, certain=False) if lost else None
    return ()


def _streamed(judged: Judged) -> Found:
    reply, twin = judged.reply, judged.twin
    found = _apart(judged)
    if found or twin is None or twin.problem or reply.problem:
        return found
    if not twin.reasoning and not reply.reasoning:
        return None
    if len(twin.reasoning) > 20 and twin.reasoning.strip() in reply.text:
        return wrong("the reasoning of the unstreamed answer stands in the streamed content")
    if len(twin.text) > 20 and twin.text.strip() in reply.reasoning and twin.text not in twin.reasoning:
        return wrong("the text of the unstreamed answer stands in the streamed reasoning")
    if bool(twin.reasoning) != bool(reply.reasoning):
        one, two = ("unstreamed", "streamed") if twin.reasoning else ("streamed", "unstreamed")
        return wrong(f"{one} there is reasoning in its own field, {two} there is none", weighed=True)
    if twin.reasoning_in != reply.reasoning_in:
        fields = [" and ".join(sorted(each.reasoning_in)) for each in (twin, reply)]
        return wrong(f"unstreamed the reasoning stands in {fields[0]}, streamed in {fields[1]}")
    return ()


def _text(judged: Judged) -> Found:
    reply, twin = judged.reply, judged.twin
    if judged.cell.task != "none due" or judged.cell.forced or reply.problem or twin is None or reply.calls:
        return None
    text = message_text(judged.request)
    if twin.text.strip() != text:  # the model writes something else
        return None
    return wrong("" if reply.text.strip() == text else f"the text is {reply.text!a:.120}", weighed=True)


JUDGES: RowJudges = {
    "content_markers": _markers,
    "stream_markers": _streamed_markers,
    "stream_text": _text,
    "reasoning_apart": _apart,
    "stream_reasoning": _streamed,
}
