"""The wire formats as tests speak them: bodies of every API, and the same as events of a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from pytest_bfcl.models.anthropic import Messages
from pytest_bfcl.models.chat import Chat
from pytest_bfcl.models.responses import Responses
from pytest_bfcl.models.streams import EventReader
from pytest_bfcl.transcript import Mode, Reply
from tests.models.loopback import Prompted, tool_call

ABOUT = {"id": "r1", "model": "m-2"}


def events_of(api: str, body: Any) -> list[Any]:
    """Whole pieces, then the ending."""
    if api == "responses":
        known = body["status"] in ("incomplete", "failed", "cancelled")
        return [{"type": f"response.{body['status'] if known else 'completed'}", "response": body}]
    if api == "anthropic":
        start = {**body, "content": [], "stop_reason": None}
        begun = [{"type": "content_block_start", "index": f"{n}", "content_block": b}
                 for n, b in enumerate(body["content"])]  # fmt: skip
        ending = {"type": "message_delta", "delta": {"stop_reason": body["stop_reason"]}}
        return [{"type": "message_start", "message": start}, *begun, ending, {"type": "message_stop"}]
    choice = next(iter(body.get("choices") or ()), {})
    if api == "completions":
        return [{"choices": [{"index": "0", "text": choice["text"]}]}, {**body, "choices": [{**choice, "text": ""}]}]
    rest = {name: value for name, value in choice.items() if name != "message"}
    if "message" not in choice:
        return [body]
    message = {"tool_calls": [], **choice["message"]}
    message["tool_calls"] = [{**call, "index": str(n)} for n, call in enumerate(message["tool_calls"])]
    delta = {name: value for name, value in message.items() if value or value is False}
    return [{"choices": [{"index": "0", "delta": delta}]}, {**body, "choices": [{**rest, "index": "0", "delta": {}}]}]


def sse(*events: Any) -> bytes:
    """Events as a server sends them; bytes stay as they are."""
    return b"".join(each if isinstance(each, bytes) else f"data: {json.dumps(each)}\n\n".encode() for each in events)


def of_chat(word: Any, text: Any = None, calls: Any = (), *, message: Any = (), choice: Any = (), **beside: Any) -> Any:
    said: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        said["tool_calls"] = [tool_call(name, arguments, f"c{n}") for n, (name, arguments) in enumerate(calls)]
    whole = {"index": 0, "message": {**said, **dict(message)}, "finish_reason": word, **dict(choice)}
    return {**ABOUT, "system_fingerprint": "fp", "choices": [whole], **beside}


def of_completions(word: Any, text: Any = None, calls: Any = (), *, choice: Any = (), **beside: Any) -> Any:
    written = ", ".join(f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" for n, a in calls)
    said = f"[{written}]" if calls else text or ""
    return {**ABOUT, "choices": [{"index": 0, "text": said, "finish_reason": word, **dict(choice)}], **beside}


def of_anthropic(word: Any, text: Any = None, calls: Any = (), *, blocks: Any = (), **beside: Any) -> Any:
    said = [{"type": "text", "text": text}] if text is not None else []
    called = [{"type": "tool_use", "id": f"t{n}", "name": name, "input": a} for n, (name, a) in enumerate(calls)]
    return {**ABOUT, "content": [*blocks, *said, *called], "stop_reason": word, **beside}


def of_responses(word: Any, text: Any = None, calls: Any = (), *, items: Any = (), **beside: Any) -> Any:
    status, _, why = word.partition(":") if isinstance(word, str) else (word, "", "")
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text or ""}]}
    said = [message] if text is not None or not (calls or items) else []
    called = [{"type": "function_call", "call_id": f"c{n}", **tool_call(*each)["function"]}
              for n, each in enumerate(calls)]  # fmt: skip
    details = {"reason": why} if why else None
    return {**ABOUT, "status": status, "incomplete_details": details, "output": [*items, *said, *called], **beside}


class Wire(NamedTuple):
    """One API: its words in bodies and in streams."""

    name: str
    api: Any
    body: Callable[..., dict[str, Any]]
    mode: Mode = "fc"

    def stream(self, body: dict[str, Any]) -> bytes:
        """The body as a stream."""
        done = [b"data: [DONE]\n\n"] if "choices" in body else []
        return sse(*events_of(self.name, body), *done)

    def read(self, streamed: bool, body: dict[str, Any]) -> Reply:
        """The reply of a body, read whole or from its stream."""
        if not streamed:
            return self.api.read(body)
        joiner = self.api.joiner()
        reader = EventReader(joiner)
        reader.feed(self.stream(body))
        reader.close()
        assert reader.error is None
        return self.api.read(joiner.body())


WIRES = {
    wire.name: wire
    for wire in (
        Wire("chat", Chat(), of_chat), Wire("completions", Prompted(), of_completions, "prompt"),
        Wire("anthropic", Messages(), of_anthropic), Wire("responses", Responses("m"), of_responses),
    )
}  # fmt: skip
NORMAL = {"chat": "stop", "completions": "stop", "anthropic": "end_turn", "responses": "completed"}
