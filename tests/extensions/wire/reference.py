"""A correct server for chat completions and Responses, with a model that does what it is told.

Everything is a pipeline of stages, so that a fault can be put at exactly one place: the request as heard, what the
model
says, the whole answer, the events of a stream, the bytes. `serving`
puts it
behind HTTP.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pytest_bfcl.extensions.wire.client import Incoming, WireClient
from pytest_bfcl.models.endpoint import Endpoint
from pytest_bfcl.settings import Settings

Json = dict[str, Any]

ENCODE = {ascii_only: json.JSONEncoder(ensure_ascii=ascii_only).encode for ascii_only in (False, True)}


class Refusal(Exception):
    """A client's mistake."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


@dataclass
class Turn:
    role: str
    text: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    call_id: str = ""


@dataclass
class Heard:
    """A request, in neither API's words."""

    api: str
    turns: list[Turn]
    tools: list[tuple[str, Json]]
    stream: bool = False
    usage: bool = False
    choice: str = "auto"
    parallel: bool = True
    limit: int | None = None
    stop: list[str] = field(default_factory=list)
    n: int = 1
    logprobs: bool = False
    size: int = 0
    model: str = "m"
    sealed: bool = False
    echo: bool = False
    strict: bool = False


@dataclass
class Message:
    """What the model says: reasoning, text, calls, text."""

    reasoning: str = ""
    before: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    after: str = ""
    finish: str = "stop"
    ids: list[str] = field(default_factory=list)
    tokens: int = 0
    stopped: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(part for part in (self.before, self.after) if part)


# -- the request -----------------------------------------------------------------------------------------------------


def text_of(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    raise Refusal("content must be a text or a list of parts")


def hear(api: str, body: Any) -> Heard:
    if not isinstance(body, dict):
        raise Refusal("the body must be a JSON object")
    turns = _chat_turns(body) if api == "chat" else _response_turns(body)
    tools = [_tool(tool, api) for tool in body.get("tools") or []]
    heard = Heard(
        api,
        turns,
        tools,
        bool(body.get("stream")),
        size=len(json.dumps([body.get("messages"), body.get("input"), body.get("tools")])),
    )
    heard.model = body.get("model", "m")
    heard.strict = any((tool.get("function") or tool).get("strict") for tool in body.get("tools") or [])
    heard.sealed = "reasoning.encrypted_content" in (body.get("include") or ())
    heard.usage = bool((body.get("stream_options") or {}).get("include_usage"))
    heard.parallel = body.get("parallel_tool_calls", True)
    heard.limit = body.get("max_tokens") or body.get("max_completion_tokens") or body.get("max_output_tokens")
    heard.stop = list(body.get("stop") or [])
    heard.n = body.get("n") or 1
    heard.logprobs = bool(body.get("logprobs"))
    heard.choice = _choice(body.get("tool_choice", "auto"), tools)
    check_history(turns)
    return heard


def _chat_turns(body: Json) -> list[Turn]:
    turns = []
    for message in body.get("messages") or []:
        calls = [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or []
        ]
        call_id = message.get("tool_call_id", "")
        turns.append(Turn(message["role"], text_of(message.get("content")), calls, call_id))
    return turns


def _response_turns(body: Json) -> list[Turn]:
    turns: list[Turn] = [Turn("instructions", body["instructions"])] if body.get("instructions") else []
    for item in body.get("input") or []:
        kind = item.get("type", "message")
        if kind == "reasoning":
            continue
        if kind == "function_call":
            call = (item["call_id"], item["name"], item["arguments"])
            if turns and turns[-1].role == "assistant":
                turns[-1].calls.append(call)
            else:
                turns.append(Turn("assistant", calls=[call]))
        elif kind == "function_call_output":
            turns.append(Turn("tool", text_of(item["output"]), call_id=item["call_id"]))
        else:
            turns.append(Turn(item["role"], text_of(item.get("content"))))
    return turns


def _tool(tool: Any, api: str) -> tuple[str, Json]:
    function = tool.get("function") if api == "chat" else tool
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise Refusal("tools[0]: a function with a name is missing")
    return function["name"], function.get("parameters") or {"type": "object", "properties": {}}


def _choice(choice: Any, tools: list[tuple[str, Json]]) -> str:
    if isinstance(choice, str):
        return choice
    name = (choice.get("function") or choice)["name"]
    if name not in dict(tools):
        raise Refusal(f"tool_choice names {name}, which is not among the tools")
    return f"={name}"


def check_history(turns: list[Turn]) -> None:
    waiting: set[str] = set()
    made: set[str] = set()
    for turn in turns:
        if turn.role == "tool":
            if turn.call_id not in made:
                raise Refusal(f"tool_call_id {turn.call_id} belongs to no call")
            waiting.discard(turn.call_id)
            continue
        if waiting:
            raise Refusal(f"tool call {sorted(waiting)[0]} has no result")
        for call_id, _, arguments in turn.calls:
            try:
                json.loads(arguments)
            except (ValueError, TypeError):
                raise Refusal(f"the arguments of {call_id} are no JSON") from None
            waiting.add(call_id)
            made.add(call_id)
    if waiting:
        raise Refusal(f"tool call {sorted(waiting)[0]} has no result")


# -- the model -------------------------------------------------------------------------------------------------------

ORDER = re.compile(r"^- `([^`]+)` with exactly these arguments: (.*)$", re.MULTILINE)
ORDINALS = ("first", "second", "third", "fourth", "fifth")


def think(heard: Heard) -> Message:
    """A model that obeys: dictated calls, dictated texts, results told, and a call where a tool's name is mentioned."""
    last = heard.turns[-1]
    if last.role == "tool" or "result of the first call once more" in last.text:
        return Message(before=_tell_results(heard.turns))
    said = _obey(heard, last.text)
    if heard.choice == "none":
        return Message(said.reasoning, before="I may not call anything.")
    if heard.choice != "auto":
        wanted = heard.choice[1:] if heard.choice.startswith("=") else (said.calls or [(heard.tools[0][0], "")])[0][0]
        if heard.choice.startswith("="):
            said.calls = [call for call in said.calls if call[0] == wanted][:1]
        if not any(name == wanted for name, _ in said.calls):
            said = Message(said.reasoning, calls=[(wanted, json.dumps(instance(dict(heard.tools)[wanted])))])
    if not heard.parallel:
        said.calls = said.calls[:1]
    return said


def _tell_results(turns: list[Turn]) -> str:
    calls = next(turn.calls for turn in reversed(turns) if turn.calls)
    results = {turn.call_id: turn.text for turn in turns if turn.role == "tool"}
    return "\n".join(f"{ORDINALS[n]}: {results[call[0]]}" for n, call in enumerate(calls))


def _obey(heard: Heard, text: str) -> Message:
    offered = dict(heard.tools)
    code = re.search(r"The code word is (\w+)\.", "\n".join(turn.text for turn in heard.turns))
    said = Message("I was told to think, so I did." if "Think about it" in text else "")
    for name, arguments in ORDER.findall(text):
        if name in offered:
            if code:
                arguments = arguments.replace("CODEWORD", code[1])
            said.calls.append((name, json.dumps(json.loads(arguments), ensure_ascii=False)))
    for which, words in (
        ("before", "Before any call, write exactly: "),
        ("after", "After the calls, in the same answer, write exactly: "),
    ):
        if found := re.search(re.escape(words) + r"(.*)$", text, re.MULTILINE):
            setattr(said, which, json.loads(found[1]))
    if found := re.search(r"Write exactly this and nothing else: (.*)$", text, re.MULTILINE):
        said.before = json.loads(found[1])
    elif not ORDER.search(text):
        said.calls = [
            (name, json.dumps(instance(schema)))
            for name, schema in heard.tools
            if any(len(word) > 3 and word in text.lower() for word in name.split("_"))
        ]
        said.before = "" if said.calls else "Hello, here I am."
    return said


def instance(schema: Json) -> Any:
    """Some value that satisfies a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: instance(part) for name, part in schema.get("properties", {}).items()}
    return {"integer": schema.get("minimum", 1), "number": 1.5, "boolean": True, "array": []}.get(kind, "some")


def cut(said: Message, heard: Heard, size: int) -> Message:
    """What is left of it within the limit and before a stop sequence."""
    for stop in heard.stop:
        for part in ("before", "after"):
            setattr(said, part, getattr(said, part).split(stop)[0])
    said.finish = "calls" if said.calls else "stop"
    left = heard.limit if heard.limit is not None else 10**9
    for name in ("reasoning", "before"):
        text = getattr(said, name)
        setattr(said, name, text[: left * size])
        left -= -(-len(text) // size)
    calls = []
    for name, arguments in said.calls:
        if left > 0:
            calls.append((name, arguments[: left * size]))
        left -= -(-len(arguments) // size)
    said.calls = calls
    said.after = said.after[: max(0, left) * size]
    left -= -(-len(said.after) // size)
    said.tokens = (
        (heard.limit if left < 0 and heard.limit is not None else 10**9 - left)
        if heard.limit is None
        else heard.limit - max(0, left)
    )
    if left < 0:
        said.finish = "length"
    return said


# -- the answers -----------------------------------------------------------------------------------------------------

FINISH = {"calls": "tool_calls", "stop": "stop", "length": "length"}


def pieces(text: str, size: int) -> Iterator[str]:
    size = max(size, len(text) // 500)  # long texts in longer pieces: the tests have other things to do
    return (text[i : i + size] for i in range(0, len(text), size))


def chat_whole(saids: list[Message], heard: Heard) -> Json:
    choices = []
    for index, said in enumerate(saids):
        message: Json = {"role": "assistant", "content": said.text or None}
        if said.reasoning:
            message["reasoning_content"] = said.reasoning
        if said.calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, (name, arguments) in zip(said.ids, said.calls, strict=False)
            ]
        choice: Json = {
            "index": index,
            "message": message,
            "finish_reason": FINISH[said.finish],
            "logprobs": logprobs(said.text) if heard.logprobs and said.text else None,
        }
        choices.append(choice)
    usage = chat_usage(saids, heard)
    return {"id": f"chatcmpl-{saids[0].ids[-1]}", "object": "chat.completion", "created": 1, "model": heard.model,
            "choices": choices, "usage": usage}  # fmt: skip


def logprobs(text: str) -> Json:
    return {"content": [{"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": []}]}


def chat_usage(saids: list[Message], heard: Heard) -> Json:
    size, tokens = heard.size // 4, sum(said.tokens for said in saids)
    return {"prompt_tokens": size, "completion_tokens": tokens, "total_tokens": size + tokens}


def chat_chunks(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    head = {"id": f"chatcmpl-{saids[0].ids[-1]}", "object": "chat.completion.chunk", "created": 1, "model": heard.model}

    def chunk(index: int, delta: Json, finish: str | None = None) -> Json:
        return {**head, "choices": [{"index": index, "delta": delta, "finish_reason": finish}], "usage": None}

    for index, said in enumerate(saids):
        yield chunk(index, {"role": "assistant", "content": ""})
        for piece in pieces(said.reasoning, size):
            yield chunk(index, {"reasoning_content": piece})
        for piece in pieces(said.before, size):
            told = chunk(index, {"content": piece})
            told["choices"][0] |= {"logprobs": logprobs(piece)} if heard.logprobs else {}
            yield told
        for number, (name, arguments) in enumerate(said.calls):
            function = {"name": name, "arguments": ""}
            yield chunk(
                index,
                {"tool_calls": [{"index": number, "id": said.ids[number], "type": "function", "function": function}]},
            )
            for piece in pieces(arguments, size):
                yield chunk(index, {"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
        for piece in pieces(said.text[len(said.before) :], size):
            yield chunk(index, {"content": piece})
        yield chunk(index, {}, FINISH[said.finish])
    if heard.usage:
        yield {**head, "choices": [], "usage": chat_usage(saids, heard)}


def response_items(said: Message, *, sealed: bool = False) -> list[Json]:
    items: list[Json] = []
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{said.ids[-1]}", "summary": summary})
        if sealed:
            items[0]["encrypted_content"] = said.reasoning.encode().hex()
    for name, text in (("a", said.before), ("b", said.after)):
        if text:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            items.append(
                {
                    "type": "message",
                    "id": f"msg_{name}{said.ids[-1]}",
                    "role": "assistant",
                    "status": "completed",
                    "content": content,
                }
            )
        if name == "a":
            items += [
                {
                    "type": "function_call",
                    "id": f"fc_{n}{said.ids[-1]}",
                    "call_id": call_id,
                    "name": function,
                    "arguments": arguments,
                    "status": "completed",
                }
                for n, (call_id, (function, arguments)) in enumerate(zip(said.ids, said.calls, strict=False))
            ]
    return items


def response_whole(saids: list[Message], heard: Heard) -> Json:
    said = saids[0]
    size = heard.size // 4
    cut_short = said.finish == "length"
    return {
        "id": f"resp_{said.ids[-1]}", "object": "response", "created_at": 1, "model": heard.model,
        "status": "incomplete" if cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "output": response_items(said, sealed=heard.sealed),
        "usage": {"input_tokens": size, "output_tokens": said.tokens, "total_tokens": size + said.tokens},
    }  # fmt: skip


_FILLED = {
    "function_call": {"arguments": "", "status": "in_progress"},
    "message": {"content": []},
    "reasoning": {"summary": []},
}


def response_events(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    whole = response_whole(saids, heard)
    counter = itertools.count()

    def event(kind: str, **more: Any) -> Json:
        return {"type": kind, "sequence_number": next(counter), **more}

    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        place: Json = {"output_index": index, "item_id": item["id"]}
        yield event("response.output_item.added", output_index=index, item={**item, **_FILLED[item["type"]]})
        if item["type"] == "function_call":
            for piece in pieces(item["arguments"], size):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            yield event(
                "response.function_call_arguments.done", **place, arguments=item["arguments"], name=item["name"]
            )
        elif item["type"] == "message":
            text = item["content"][0]["text"]
            place["content_index"] = 0
            yield event("response.content_part.added", **place, part={**item["content"][0], "text": ""})
            for piece in pieces(text, size):
                yield event("response.output_text.delta", **place, delta=piece)
            yield event("response.output_text.done", **place, text=text)
            yield event("response.content_part.done", **place, part=item["content"][0])
        else:
            place["summary_index"] = 0
            for piece in pieces(item["summary"][0]["text"], size):
                yield event("response.reasoning_summary_text.delta", **place, delta=piece)
            yield event("response.reasoning_summary_text.done", **place, text=item["summary"][0]["text"])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.incomplete" if whole["status"] == "incomplete" else "response.completed", response=whole)


# -- the server ------------------------------------------------------------------------------------------------------

Stage = Callable[..., Any]


def refused(refusal: Refusal) -> tuple[int, Json]:
    return refusal.status, {"error": {"message": refusal.message, "type": "invalid_request_error", "code": None}}


@dataclass(frozen=True)
class Form:
    """How an API is heard and written. ``named``: events have a line ``event:``; ``end``: what stands behind them."""

    hear: Stage
    whole: Stage
    events: Stage
    named: bool = False
    end: str = ""
    think: Stage = think
    cut: Stage = cut
    refuse: Stage = refused


def form_of(api: str) -> Form:
    """How the reference speaks an API."""
    from tests.extensions.wire.other_apis import FORMS

    own = {
        "chat": Form(hear, chat_whole, chat_chunks, end="data: [DONE]\n\n"),
        "responses": Form(hear, response_whole, response_events, named=True),
    }
    return (own | FORMS)[api]


PATHS = {
    "/responses": "responses",
    "/messages": "anthropic",
    "/chat/completions": "chat",
    "/completions": "completions",
}
"""End of the path → API."""


class Reference:
    """The pipeline. ``stages`` replace what they name: hear, think, cut, whole, chunks, encode, refuse, end,
    release.
    """

    def __init__(
        self,
        *,
        size: int = 3,
        slots: int = 64,
        delay_s: float = 0.0,
        pace_s: float = 0.0,
        ascii_only: bool = False,
        stream_type: str = "text/event-stream; charset=utf-8",
        **stages: Stage,
    ) -> None:
        self.size = size
        self.delay_s = delay_s
        self.pace_s = pace_s
        self.ascii_only = ascii_only
        self.stream_type = stream_type
        self.stages = stages
        self.slots = asyncio.Semaphore(slots)
        self.asked = 0
        self.flying: list[Message] = []
        self.stored: dict[str, list[Json]] = {}
        self._ids = itertools.count(1)

    def stage(self, name: str, given: Stage) -> Stage:
        return self.stages.get(name, given)

    def new_id(self) -> str:
        return self.stage("new_id", lambda server, n: f"call_{n:08x}{n * 7919 % 65521:04x}")(self, next(self._ids))

    async def serve(self, path: str, content: bytes) -> Incoming:
        """An answer that begins."""
        self.asked += 1
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        api = next((api for end, api in PATHS.items() if path.endswith(end)), "chat")
        try:
            heard, saids = await self._said(api, content)
        except Refusal as refusal:
            return self._json(*self.stage("refuse", form_of(api).refuse)(refusal))
        except (LookupError, TypeError, AttributeError, ValueError) as error:  # as servers do that check nothing
            return self._json(500, {"error": {"message": f"internal error: {error!r}"}})
        if heard.stream:
            return Incoming(200, self.stream_type, self._stream(saids, heard))
        async with self.slots:
            await asyncio.sleep(0)
        whole = form_of(api).whole(saids, heard)
        return self._json(200, self.stage("whole", lambda body, heard: body)(whole, heard))

    async def _said(self, api: str, content: bytes) -> tuple[Heard, list[Message]]:
        try:
            body = json.loads(content)
        except ValueError as error:
            raise Refusal(f"the body is no JSON: {error}") from None
        body = self._continued(self.stage("body", lambda body: body)(body))
        heard = self.stage("hear", form_of(api).hear)(api, body)
        saids = []
        for _ in range(heard.n):
            said = self.stage("think", form_of(api).think)(heard)
            self.flying.append(said)
            try:
                await asyncio.sleep(0)
                said = self.stage("fly", lambda server, said: said)(self, said)
            finally:  # also when the client has left meanwhile
                self.flying.pop(0)
            said = self.stage("cut", form_of(api).cut)(said, heard, self.size)
            said.ids = [self.new_id() for _ in range(len(said.calls) + 1)]
            saids.append(said)
        if api == "responses":
            self.stored[f"resp_{saids[0].ids[-1]}"] = [*body["input"], *response_items(saids[0])]
        return heard, saids

    def _continued(self, body: Any) -> Any:
        """The body with what an earlier response holds."""
        earlier = body.get("previous_response_id") if isinstance(body, dict) else None
        if earlier is None:
            return body
        if earlier not in self.stored:
            raise Refusal(f"previous_response_id {earlier} is not known", 404)
        return {**body, "input": [*self.stored[earlier], *body["input"]]}

    def _json(self, status: int, body: Any) -> Incoming:
        async def once() -> AsyncGenerator[bytes, None]:
            yield self.stage("bytes", lambda data: data)(ENCODE[self.ascii_only](body).encode())

        return Incoming(status, self.stage("kind", lambda: "application/json")(), once())

    async def _stream(self, saids: list[Message], heard: Heard) -> AsyncGenerator[bytes, None]:
        form = form_of(heard.api)
        made = form.events(saids, heard, self.size)
        events = self.stage("chunks", lambda events, heard: events)(made, heard)
        encode = self.stage("encode", lambda event, text: text)
        await self.slots.acquire()
        finished = False
        try:
            for event in events:
                name = f"event: {event['type']}\n" if form.named else ""
                text = f"{name}data: {ENCODE[self.ascii_only](event)}\n\n"
                yield encode(event, text).encode("utf-8", "surrogatepass")
                if heard.size > 10_000:
                    await asyncio.sleep(self.pace_s)
            yield self.stage("end", lambda text: text)(form.end).encode()
            finished = True
        finally:
            self.stage("release", lambda server, finished: server.slots.release())(self, finished)


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
