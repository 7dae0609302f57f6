"""A correct server for every API, with a model that does what it is told.

Everything is a pipeline of stages, so that a fault can be put at exactly one place: the request as heard, what the
model says, the whole answer, the events of a stream, the bytes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pytest_bfcl.extensions.wire.client import Incoming, WireClient
from pytest_bfcl.models.endpoint import Endpoint
from pytest_bfcl.settings import Settings
from tests.extensions.wire.apis import FORMS, Form, Stage, response_items
from tests.extensions.wire.model import Heard, Json, Message, Refusal

ENCODE = {ascii_only: json.JSONEncoder(ensure_ascii=ascii_only).encode for ascii_only in (False, True)}
PATHS = {
    "/responses": "responses",
    "/messages": "anthropic",
    "/chat/completions": "chat",
    "/completions": "completions",
}
"""End of the path → API."""
STAGES: dict[str, Stage] = {
    "body": lambda body: body, "fly": lambda server, said: said, "whole": lambda body, heard: body,
    "chunks": lambda events, heard: events, "encode": lambda event, text: text, "end": lambda text: text,
    "bytes": lambda data: data, "kind": lambda: "application/json",
    "new_id": lambda server, n: f"call_{n:08x}{n * 7919 % 65521:04x}",
    "release": lambda server, finished: server.slots.release(),
}  # fmt: skip
"""What each stage of all APIs does; an API's form has the stages hear, think, cut and refuse."""


class Reference:
    """The pipeline; ``stages`` replace what they name."""

    def __init__(
        self, *, size: int = 3, slots: int = 64, delay_s: float = 0.0, pace_s: float = 0.0, ascii_only: bool = False,
        stream_type: str = "text/event-stream; charset=utf-8", **stages: Stage,
    ) -> None:  # fmt: skip
        self.size = size
        self.delay_s = delay_s
        self.pace_s = pace_s
        self.encode = ENCODE[ascii_only]
        self.stream_type = stream_type
        self.stages = STAGES | stages
        self.slots = asyncio.Semaphore(slots)
        self.asked = 0
        self.flying: list[Message] = []
        self.stored: dict[str, list[Json]] = {}
        self._ids = itertools.count(1)

    async def serve(self, path: str, content: bytes) -> Incoming:
        """An answer that begins."""
        self.asked += 1
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        api = next((api for end, api in PATHS.items() if path.endswith(end)), "chat")
        form = FORMS[api]
        try:
            heard, saids = await self._said(api, form, content)
        except Refusal as refusal:
            return self._json(*self.stages.get("refuse", form.refuse)(refusal))
        except (LookupError, TypeError, AttributeError, ValueError) as error:  # as servers do that check nothing
            return self._json(500, {"error": {"message": f"internal error: {error!r}"}})
        if heard.stream:
            return Incoming(200, self.stream_type, self._stream(form, saids, heard))
        async with self.slots:
            await asyncio.sleep(0)
        return self._json(200, self.stages["whole"](form.whole(saids, heard), heard))

    async def _said(self, api: str, form: Form, content: bytes) -> tuple[Heard, list[Message]]:
        try:
            body = self.stages["body"](json.loads(content))
        except ValueError as error:
            raise Refusal(f"the body is no JSON: {error}") from None
        if (earlier := body.get("previous_response_id")) is not None:
            if earlier not in self.stored:
                raise Refusal(f"previous_response_id {earlier} is not known", 404)
            body = {**body, "input": [*self.stored[earlier], *body["input"]]}
        heard = self.stages.get("hear", form.hear)(api, body)
        saids = []
        for _ in range(heard.n):
            said = self.stages.get("think", form.think)(heard)
            self.flying.append(said)
            try:
                await asyncio.sleep(0)
                said = self.stages["fly"](self, said)
            finally:  # also when the client has left meanwhile
                self.flying.pop(0)
            said = self.stages.get("cut", form.cut)(said, heard, self.size)
            said.ids = [self.stages["new_id"](self, next(self._ids)) for _ in range(len(said.calls) + 1)]
            saids.append(said)
        if api == "responses":
            self.stored[f"resp_{saids[0].ids[-1]}"] = [*body["input"], *response_items(saids[0])]
        return heard, saids

    def _json(self, status: int, body: Any) -> Incoming:
        async def once() -> AsyncGenerator[bytes, None]:
            yield self.stages["bytes"](self.encode(body).encode())

        return Incoming(status, self.stages["kind"](), once())

    async def _stream(self, form: Form, saids: list[Message], heard: Heard) -> AsyncGenerator[bytes, None]:
        events = self.stages["chunks"](form.events(saids, heard, self.size), heard)
        await self.slots.acquire()
        finished = False
        try:
            for event in events:
                name = f"event: {event['type']}\n" if form.named else ""
                text = f"{name}data: {self.encode(event)}\n\n"
                yield self.stages["encode"](event, text).encode("utf-8", "surrogatepass")
                if heard.size > 10_000:
                    await asyncio.sleep(self.pace_s)
            yield self.stages["end"](form.end).encode()
            finished = True
        finally:
            self.stages["release"](self, finished)


class Direct(WireClient):
    """A client that asks a `Reference` without a network."""

    def __init__(self, server: Reference) -> None:
        super().__init__(
            Endpoint("http://nowhere.invalid", Settings(), key_variable="NONE"), concurrency=64, limit_s=20.0
        )
        self.reference = server

    @asynccontextmanager
    async def open(self, path: str, content: bytes) -> AsyncIterator[Incoming]:
        yield await self.reference.serve(path, content)
