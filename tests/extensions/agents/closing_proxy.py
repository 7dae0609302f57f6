"""The oracle endpoint as smolagents' agents need it: a model that knows their tool ``final_answer``.

Such an agent writes calls and results into texts, offers its own tool beside the user's and goes on until that is
called. The proxy gives the oracle the conversation in the usual shape, without that tool; where the oracle has nothing
left to call and says something, the proxy makes it a call of ``final_answer``. Calls pass unchanged.
`mistaken` makes the oracle wrong.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.models.loopback import threaded

FINAL = "final_answer"
TASK = "New task:\n"
OBSERVED = ("Observation:\n", "Error:\n", "Call id: ")


def usual(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The user's turns, each but the last answered; the last with a result if there is one."""
    told = [
        piece
        for message in messages
        if message["role"] == "user"
        for piece in re.split(rf"(?=^{TASK})", _text(message["content"]), flags=re.MULTILINE)
        if piece
    ]
    made: list[dict[str, Any]] = []
    for piece in told:
        if piece.startswith(TASK):
            made += [{"role": "assistant", "content": "Done."}] * bool(made)
            made.append({"role": "user", "content": piece.removeprefix(TASK).rstrip("\n")})
            results = 0
        elif piece.startswith(OBSERVED) and not results:
            results = 1
            call = {"id": "call_0", "type": "function", "function": {"name": "earlier", "arguments": "{}"}}
            made.append({"role": "assistant", "content": None, "tool_calls": [call]})
            made.append({"role": "tool", "tool_call_id": "call_0", "content": piece})
    return made


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def asked(body: dict[str, Any]) -> dict[str, Any]:
    """The request as the oracle gets it."""
    tools = [tool for tool in body.get("tools", ()) if tool["function"]["name"] != FINAL]
    return {"model": body["model"], "messages": usual(body["messages"]), **({"tools": tools} if tools else {})}


def closed(reply: dict[str, Any]) -> dict[str, Any]:
    """The oracle's reply; words alone become the agent's last call."""
    for choice in reply.get("choices", ()):
        message = choice["message"]
        if not message.get("tool_calls"):
            arguments = json.dumps({"answer": message.get("content") or ""})
            call = {"id": "call_end", "type": "function", "function": {"name": FINAL, "arguments": arguments}}
            message |= {"content": None, "tool_calls": [call]}
            choice["finish_reason"] = "tool_calls"
    return reply


def whole(body: dict[str, Any]) -> dict[str, Any]:
    """The same request, its answer in one piece."""
    return {key: value for key, value in body.items() if key not in ("stream", "stream_options")}


def streamed(reply: dict[str, Any]) -> bytes:
    """A reply as server-sent events: all of it, then how it ended."""
    events = []
    for choice in reply["choices"]:
        calls = [{**call, "index": number} for number, call in enumerate(choice["message"].get("tool_calls") or [])]
        delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
        about = {**{key: reply[key] for key in ("id", "model", "created") if key in reply},
                 "object": "chat.completion.chunk"}  # fmt: skip
        for part, ended in ((delta, None), ({}, choice["finish_reason"])):
            told = {"index": choice.get("index", 0), "delta": part, "finish_reason": ended}
            events.append(json.dumps({**about, "choices": [told]}))
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()


@contextmanager
def proxy(upstream: str, asks: Any, answers: Any) -> Iterator[str]:
    """A proxy's base URL while it runs; ``asks(body)`` is the request as the upstream gets it, ``answers(body, reply)``
    the reply as the client does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            request = urllib.request.Request(
                f"{upstream}{self.path}", json.dumps(whole(asks(body))).encode(), {"content-type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                reply = answers(body, json.loads(answer.read()))
            found = streamed(reply) if body.get("stream") else json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if body.get("stream") else "application/json")
            self.send_header("content-length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

    with threaded(Handler) as address:
        yield address


def closing_proxy(upstream: str) -> AbstractContextManager[str]:
    """For smolagents; ``upstream`` is the oracle's base URL."""
    return proxy(upstream, asked, lambda body, reply: closed(reply))


UNKNOWN = "no_such_tool"
KINDS = ("right", "unknown tool", "broken arguments", "no end")


def kind_of(messages: list[dict[str, Any]]) -> str:
    """The mistake in a conversation, by its first words."""
    first = next((str(_text(each["content"])) for each in messages if each["role"] == "user"), "")
    return KINDS[hashlib.sha256(first.encode()).digest()[0] % len(KINDS)]


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
