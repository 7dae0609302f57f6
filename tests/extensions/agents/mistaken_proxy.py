"""An oracle that makes mistakes: by the conversation it calls a tool nobody offers, breaks arguments, or never ends."""

from __future__ import annotations

import hashlib
from typing import Any

UNKNOWN = "no_such_tool"
KINDS = ("right", "unknown tool", "broken arguments", "no end")


def kind_of(messages: list[dict[str, Any]]) -> str:
    """The mistake in a conversation, by its first words."""
    first = next((str(_text(each["content"])) for each in messages if each["role"] == "user"), "")
    return KINDS[hashlib.sha256(first.encode()).digest()[0] % len(KINDS)]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def mistaken(body: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """The oracle's reply to a request with the conversation's mistake in it.

    Unknown tools and broken arguments come once a turn, in its first reply; the call that never ends is the first one
    of the turn again and again.
    """
    messages = body["messages"]
    kind, last = kind_of(messages), messages[-1]["role"]
    for choice in reply.get("choices", ()):
        calls = choice["message"].get("tool_calls") or []
        if kind == "unknown tool" and calls and last == "user":
            calls[0]["function"]["name"] = UNKNOWN
        elif kind == "broken arguments" and calls and last == "user":
            calls[0]["function"]["arguments"] = calls[0]["function"]["arguments"][:-2]
        elif kind == "no end" and not calls and last == "tool":
            earlier = next((each for each in reversed(messages) if each.get("tool_calls")), None)
            if earlier is not None:
                function = dict(earlier["tool_calls"][0]["function"])
                call = {"id": f"call_{len(messages)}", "type": "function", "function": function}
                choice["message"] |= {"content": None, "tool_calls": [call]}
                choice["finish_reason"] = "tool_calls"
    return reply
