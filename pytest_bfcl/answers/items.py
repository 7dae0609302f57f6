"""The body of OpenAI's Responses → `Reply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_bfcl.answers.figures import check_size, count, identifier, keepable, reasoning_count, served_by
from pytest_bfcl.bodies import items_trouble
from pytest_bfcl.endings import UNTOLD, Ending, UnknownEnding, ended, ending_of, is_marked, normal_form
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import ProviderState, Reply, ToolCall, arguments_text
from pytest_bfcl.troubles import AdapterTrouble

_CALLS = ("function_call", "custom_tool_call")
_TEXTS = ("output_text", "text", None)


def read_items(body: Any) -> Reply:
    """A response object as a `Reply`: text of its messages, calls, summaries of its reasoning."""
    output = body.get("output") if isinstance(body, Mapping) else None
    if not isinstance(output, list):
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, "the answer has no output items", retryable=True)
    items = [item for item in output if isinstance(item, Mapping)]
    if not items and body.get("status") in ("completed", None):
        what = "the answer has an empty list of output items"
        raise AdapterError(AdapterTrouble.MALFORMED_BODY, what, retryable=True)
    calls = [
        ToolCall(
            str(item.get("name") or ""), arguments_text(item.get("arguments", item.get("input", "{}"))),
            identifier(item.get("call_id") or item.get("id"), position),
        )
        for position, item in enumerate(item for item in items if item.get("type") in _CALLS)
    ]  # fmt: skip
    text = _text(items)
    check_size(text, calls)
    usage = body.get("usage")
    reply = Reply(
        text=text,
        tool_calls=tuple(calls),
        reasoning=_reasoning(items),
        input_tokens=count(usage, "input_tokens", "prompt_tokens"),
        output_tokens=count(usage, "output_tokens", "completion_tokens"),
        reasoning_tokens=reasoning_count(usage) or None,
        state=_state(items),
        served=served_by(body),
    )
    kinds = [str(item.get("type")) for item in items]
    return ended(
        reply, last_word(body), "responses", reasoned="reasoning" in kinds, filtered=is_marked(body, *items),
        trouble=items_trouble(body, items),
    )  # fmt: skip


def last_word(body: Fields) -> object:
    """The status, or the reason of an incomplete response. Raises `UnknownEnding` for any other status."""
    status, details = body.get("status"), body.get("incomplete_details")
    if status is UNTOLD:
        return status
    known = normal_form(status) if isinstance(status, str) else ""
    reason = details.get("reason") if isinstance(details, Mapping) else None
    if known in ("completed", "incomplete") and ending_of(reason, "responses") in (Ending.CUT, Ending.FILTERED):
        return reason
    if known == "completed" and not reason:
        return status
    raise UnknownEnding(f"{status}: {reason}" if reason and known in ("completed", "incomplete") else status)


def _text(items: Sequence[Fields]) -> str | None:
    """The texts of all messages; a refusal if there is nothing else."""
    texts: list[str] = []
    refusals: list[str] = []
    for item in items:
        content = item.get("content")
        if item.get("type") != "message":
            continue
        if isinstance(content, str):
            texts.append(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                if part.get("type") in _TEXTS and isinstance(part.get("text"), str):
                    texts.append(part["text"])
                elif isinstance(part.get("refusal"), str):
                    refusals.append(part["refusal"])
    return "".join(texts or refusals) if texts or refusals else None


def _reasoning(items: Sequence[Fields]) -> str | None:
    """Summaries, each with a newline, as the reference records them; else the reasoning text of open models."""
    summaries: list[str] = []
    contents: list[str] = []
    for item in items:
        if item.get("type") == "reasoning":
            for name, found in (("summary", summaries), ("content", contents)):
                parts = item.get(name)
                for part in parts if isinstance(parts, list) else ():
                    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                        found.append(part["text"])
    if summaries:
        return "".join(f"{text}\n" for text in summaries)
    return "\n".join(contents) or None


def _state(items: Sequence[Fields]) -> ProviderState | None:
    if not items or not keepable(items):
        return None
    # What a provider sent as null it need not get back; some refuse a null status.
    return ProviderState(
        "responses", parts=tuple({k: v for k, v in item.items() if v is not None} for item in items)
    )  # fmt: skip
