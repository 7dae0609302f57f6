"""A forge of our own: the part of GitHub's and GitLab's API that comments and artefacts need, over real HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.models.loopback import threaded

TOKEN = "ghs-not-to-be-shown"


@dataclass
class Forge:
    """Comments by id; what was asked for; the artefacts of the main branch's job, as a zip."""

    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    artifacts: bytes | None = None
    forbidden: bool = False
    address: str = ""
    stored_elsewhere: str = ""

    def add(self, body: str, author: str = "Bot") -> None:
        number = max(self.comments, default=0) + 1
        user = {"type": author, "login": author}
        self.comments[number] = {
            "id": number,
            "body": body,
            "user": user,
            "author": {"username": f"project_{author.lower()}"},
        }

    def answer(self, method: str, url: str, headers: Any, body: Any) -> tuple[int, Any]:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        self.asked.append(f"{method} {parts.path}")
        if parts.path.endswith("/download"):
            if headers.get("JOB-TOKEN") != TOKEN:
                return 401, {}
            return (302, f"{self.stored_elsewhere}/stored.zip") if self.artifacts is not None else (404, {})
        if parts.path == "/stored.zip":
            assert headers.get("JOB-TOKEN") is None  # another host's business
            return 200, self.artifacts
        given = headers.get("Authorization", "").removeprefix("Bearer ") or headers.get("PRIVATE-TOKEN")
        if given != TOKEN:
            return 401, {"message": "Bad credentials"}
        if method == "GET":
            first = (int(query["page"][0]) - 1) * int(query["per_page"][0])
            return 200, list(self.comments.values())[first : first + int(query["per_page"][0])]
        if self.forbidden:
            return 403, {"message": "Resource not accessible by integration"}
        if method == "POST":
            self.add(body["body"])
            return 201, {}
        found = re.search(r"/(?:comments|notes)/(\d+)$", parts.path)
        assert found is not None
        self.comments[int(found[1])]["body"] = body["body"]
        return 200, {}


@contextmanager
def serving(forge: Forge) -> Iterator[Forge]:
    """The forge at ``forge.address``, its files at ``forge.stored_elsewhere``: another port is another host."""

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, answer = forge.answer(self.command, self.path, self.headers, body)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", answer)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = _any

    with threaded(Handler) as forge.address, threaded(Handler) as forge.stored_elsewhere:
        yield forge
