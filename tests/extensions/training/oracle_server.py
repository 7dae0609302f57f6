"""An OpenAI-compatible server that answers entries of a data set rightly, for trainers' own loops (native calls).

``python -m tests.extensions.training.oracle_server CATEGORY…`` prints its address, serves until standard input ends.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.training import Episode


class Oracle:
    """Which entry a request is about is told by what the user has said so far and by the tools offered."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.known = [_Known(entry) for entry in entries]
        self.asked = 0

    @property
    def told_apart(self) -> list[Entry]:
        """The entries that no other begins like."""
        begins = Counter((known.words, known.tools) for known in self.known)
        return [known.entry for known in self.known if begins[known.words, known.tools] == 1]

    def _entry(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Entry:
        """The entry that has all this said and began with these tools, or with fewer that have grown since."""
        said, names = {str(each["content"]) for each in messages if each["role"] == "user"}, _names(tools)
        fitting = [known for known in self.known if known.words == _first(messages) and said <= known.said]
        exact = [known for known in fitting if known.tools == names]
        return (exact or [known for known in fitting if known.tools < names])[0].entry

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        entry = self._entry(messages, request.get("tools") or [])
        roles = [message["role"] for message in messages]
        turn = sum(now == "user" and before in ("assistant", "tool") for before, now in pairwise(roles))
        last = max(number for number, role in enumerate(roles) if role == "user")
        said = answer(entry, "fc", turn, roles[last:].count("assistant"))
        calls = [
            {"id": f"call_{n}", "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for n, c in enumerate(said.tool_calls)
        ]
        message = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
        self.asked += 1
        return {
            "id": "x", "object": "chat.completion", "created": 1, "model": request.get("model", "oracle"),
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }  # fmt: skip


class _Known:
    """What an entry begins with, and all that its user will say."""

    def __init__(self, entry: Entry) -> None:
        messages, tools = Episode(entry).reset()
        self.entry = entry
        self.words, self.tools = _first(messages), _names(tools)
        self.said = {str(each["content"]) for turn in (*entry.question, messages) for each in turn}
        if entry.missed_function:
            self.said.add(Texts.own().additional_functions_fc)


def _names(tools: list[dict[str, Any]]) -> frozenset[str]:
    return frozenset(tool["function"]["name"] for tool in tools)


def _first(messages: list[dict[str, Any]]) -> str:
    return next(str(message["content"]) for message in messages if message["role"] == "user")


def serve(oracle: Oracle) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = json.dumps(oracle.reply(body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args: object) -> None: ...

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # who comes is many at a time

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    data = open_data("bundled")
    made = serve(Oracle(data.load(ref) for name in sys.argv[1:] for ref in data.index(name)))
    print(f"http://127.0.0.1:{made.server_address[1]}/v1", flush=True)
    sys.stdin.read()
