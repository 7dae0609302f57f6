"""What of a reply goes back to the model, as the family's handler sends it (formats spec §5)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from pytest_bfcl.extensions.formats.tool_call_tags import tagged_inside, tagged_values
from pytest_bfcl.formats.own_calls import call_ids, decoded_calls
from pytest_bfcl.formats.schema_types import Documents
from pytest_bfcl.formats.table import Format
from pytest_bfcl.formats.thinking import Parted, Think, read_thinking
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.native import parse_json
from pytest_bfcl.transcript import Message


class Read(NamedTuple):
    """A reply as the family's handler takes it: what is decoded, its reasoning, the messages it appends."""

    answer: str
    reasoning: str | None
    messages: list[Message]


def read_reply(
    text: str, family: Format, think: Think = "auto", ids: Sequence[str] = (), functions: Documents = ()
) -> Read:
    """Part a raw reply and say what goes back. ``ids`` are those of Mistral's calls (default ``call00001`` …)."""
    parted = read_thinking(text, think, family.thinking)
    return Read(parted.answer, parted.reasoning, [_message(text, parted, family, ids, functions)])


def _message(text: str, parted: Parted, family: Format, ids: Sequence[str], functions: Documents) -> Message:
    message: Message = {"role": "assistant", "content": parted.answer}
    if family.history == "user":  # DeepSeek-R1: the template cuts the thoughts
        message["content"] = text
    elif family.history == "mistral":
        message["content"] = _mistral(parted.answer, ids)
    elif family.history == "calls":
        calls = tagged_inside(text) if family.null_content else tagged_values(text)
        if calls:
            message = {"role": "assistant", "content": None if family.null_content else "", "tool_calls": calls}
    elif family.history == "native":
        message.update(_native(parted, family, ids, functions))
    if family.history in ("reasoning", "calls") and family.thinking == "think":
        message["reasoning_content"] = parted.reasoning or ""
    return message


def _native(parted: Parted, family: Format, ids: Sequence[str], functions: Documents) -> Message:
    """Calls found in the text as OpenAI's messages have them, with arguments parsed, as chat templates want them."""
    fields: Message = {"reasoning_content": parted.reasoning} if parted.reasoning else {}
    calls = decoded_calls(parted.answer, family.decoder, functions)
    if calls:
        named = zip(call_ids(len(calls), ids), calls, strict=True)
        fields["content"] = ""
        fields["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call_id, (name, arguments) in named
        ]
    return fields


def _mistral(answer: str, ids: Sequence[str]) -> str:
    """Parsed calls with their ids; a reply that did not parse goes back as it came."""
    try:
        members = parse_json(answer)
    except DecodeError:
        return answer
    if not isinstance(members, list):
        return answer if members else f"[TOOL_CALLS]{json.dumps(members)}"
    named = [
        {**member, "id": call_id}
        for member, call_id in zip(members, call_ids(len(members), ids), strict=True)
        if isinstance(member, dict)
    ]
    return f"[TOOL_CALLS]{json.dumps(named)}"


def result_messages(
    family: Format, calls: Sequence[str], results: Sequence[str], ids: Sequence[str] = ()
) -> list[Message]:
    """Results of executed calls as the handler shows them; ``calls`` are call texts."""
    pairs = list(zip(calls, results, strict=False))
    if family.history == "user":
        shown = [{"role": "tool", "name": call, "content": result} for call, result in pairs]
        return [{"role": "user", "content": repr(shown)}]
    if family.history == "ipython":
        return [{"role": "ipython", "content": result} for _, result in pairs]
    if family.history == "mistral":
        named = zip(call_ids(len(pairs), ids), pairs, strict=True)
        return [{"role": "tool", "content": result, "tool_call_id": call_id} for call_id, (_, result) in named]
    if family.history == "native":
        named = zip(call_ids(len(pairs), ids), pairs, strict=True)
        return [
            {"role": "tool", "content": result, "tool_call_id": call_id, "name": call.partition("(")[0]}
            for call_id, (call, result) in named
        ]
    return [{"role": "tool", "name": call, "content": result} for call, result in pairs]
