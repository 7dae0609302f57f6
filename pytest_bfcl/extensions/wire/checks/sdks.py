"""Official SDKs as second readers: they and our reader get the same recorded bytes of an exchange.

If the readings differ, the server, our reader or the SDK is wrong. Both readings are shown.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pytest_bfcl.extensions.wire.checks.completions import PROMPT
from pytest_bfcl.extensions.wire.differences import Wanted
from pytest_bfcl.extensions.wire.messages import ENDS
from pytest_bfcl.extensions.wire.probe import LikelyBroke, NotCalled, Probe, together
from pytest_bfcl.extensions.wire.replies import CALLS, STOP, Exchange, Reply, loads
from pytest_bfcl.extensions.wire.requests import NOTE, PING, Request, dictate, note, write
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extras import install_command

EXTRA = "sdks"
_URL = "http://recorded.invalid"
_ASKED: list[Any] = [{"role": "user", "content": "?"}]
SHOWN = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's result: calls as (id, name, parsed arguments, or the text that is no JSON), text, end."""

    calls: tuple[tuple[Any, Any, Any], ...]
    text: str
    finish: str | None

    def __str__(self) -> str:
        return json.dumps({"calls": self.calls, "text": self.text, "finish": self.finish}, default=str)[:SHOWN]


def own_reading(reply: Reply) -> Reading:
    """The result of our reader."""
    calls = tuple((call.id, call.name, _values(call.arguments)) for call in reply.calls)
    return Reading(calls, reply.text, reply.finish)


def differs(reply: Reply, api: str) -> str:
    """The SDK's different reading of an answer's bytes; empty if equal."""
    sdk, read = READERS[api]
    ours = own_reading(reply)
    try:
        theirs = read(reply.exchange, b'"stream": true' in reply.exchange.sent)
    except Exception as error:  # whatever an SDK makes of a server's bytes
        said = " ".join(str(error).split())
        return f"{version(sdk)} raises {type(error).__name__}: {said}"[:SHOWN] + f"; our reader finds {ours}"
    return "" if ours == theirs else f"{version(sdk)} reads {theirs}, our reader {ours}"


def version(sdk: str) -> str:
    """Name and version of an SDK."""
    from importlib.metadata import version as found

    return f"{sdk} {found(sdk)}"


def _client(exchange: Exchange, sdk: str) -> Any:
    """Returns the recorded bytes for every request, in the HTTP library of the SDK."""
    from importlib.metadata import requires

    built_on = "httpx2" if any(each.startswith("httpx2") for each in requires(sdk) or ()) else "httpx"
    httpx = import_module(built_on)
    headers = {"content-type": exchange.content_type}
    recorded = httpx.Response(exchange.status, headers=headers, content=exchange.received)
    return httpx.Client(transport=httpx.MockTransport(lambda request: recorded))


def _openai(exchange: Exchange) -> Any:
    import openai

    return openai.OpenAI(api_key="none", base_url=_URL, max_retries=0, http_client=_client(exchange, "openai"))


def _chat(exchange: Exchange, stream: bool) -> Reading:
    completions = _openai(exchange).chat.completions
    if stream:
        from openai.lib.streaming.chat import ChatCompletionStreamState

        state = ChatCompletionStreamState()
        for chunk in completions.create(model="m", messages=_ASKED, stream=True):
            state.handle_chunk(chunk)
        whole: Any = state.current_completion_snapshot
    else:
        whole = completions.create(model="m", messages=_ASKED)
    choice = whole.choices[0]
    calls = tuple(
        (call.id, call.function.name, _values(call.function.arguments)) for call in choice.message.tool_calls or ()
    )
    return Reading(calls, choice.message.content or "", _word(choice.finish_reason, {"tool_calls": CALLS}))


def _responses(exchange: Exchange, stream: bool) -> Reading:
    responses = _openai(exchange).responses
    if stream:
        with responses.stream(model="m", input="?") as events:
            whole: Any = events.get_final_response()
    else:
        whole = responses.create(model="m", input="?")
    calls = tuple(
        (item.call_id, item.name, _values(item.arguments)) for item in whole.output if item.type == "function_call"
    )
    texts = [
        part.text for item in whole.output if item.type == "message" for part in item.content if hasattr(part, "text")
    ]
    ended = CALLS if calls else STOP
    return Reading(calls, "".join(texts), ended if whole.status == "completed" else "length")


def _completions(exchange: Exchange, stream: bool) -> Reading:
    completions = _openai(exchange).completions
    if not stream:
        choice = completions.create(model="m", prompt="?").choices[0]
        return Reading((), choice.text, choice.finish_reason)
    choices = [each for chunk in completions.create(model="m", prompt="?", stream=True) for each in chunk.choices]
    words = [choice.finish_reason for choice in choices if choice.finish_reason]
    return Reading(
        (), "".join(choice.text or "" for choice in choices if choice.index == 0), words[-1] if words else None
    )


def _messages(exchange: Exchange, stream: bool) -> Reading:
    import anthropic

    recorded = _client(exchange, "anthropic")
    client: Any = anthropic.Anthropic(api_key="none", base_url=_URL, max_retries=0, http_client=recorded)
    asked = {"model": "m", "max_tokens": 16, "messages": _ASKED}
    if stream:
        with client.messages.stream(**asked) as events:
            whole = events.get_final_message()
    else:
        whole = client.messages.create(**asked)
    calls = tuple((block.id, block.name, block.input) for block in whole.content if block.type == "tool_use")
    text = "".join(block.text for block in whole.content if block.type == "text")
    return Reading(calls, text, _word(whole.stop_reason, ENDS))


def _word(word: Any, known: Mapping[str, str]) -> Any:
    return known.get(word, word)


def _values(arguments: Any) -> Any:
    found = loads(arguments) if isinstance(arguments, str) else None
    return arguments if found is None else found


READERS: Mapping[str, tuple[str, Callable[[Exchange, bool], Reading]]] = {
    "chat": ("openai", _chat),
    "responses": ("openai", _responses),
    "completions": ("openai", _completions),
    "anthropic": ("anthropic", _messages),
}
"""API → the SDK's distribution, and its reader."""


async def _same(probe: Probe) -> None:
    """One call, two, a text, thought before a call: each whole and streamed."""
    sdk, _ = READERS[probe.api]
    if find_spec(sdk) is None:
        raise NotCalled(f"{sdk} is not installed: {install_command(EXTRA)}")
    replies = await together(
        *(probe.reply(request, stream=stream) for request in requests(probe) for stream in (False, True))
    )
    probe.called = probe.called or probe.api == "completions"
    for reply in replies:
        said = await asyncio.to_thread(differs, reply, probe.api)
        if said:
            why = f"{reply.form}: {said}: the server, the client or our reader is wrong"
            raise LikelyBroke(why, reply, proof=reply.exchange.received[:4000])


def requests(probe: Probe) -> list[Request]:
    """One call, two, a text, thought before a call; of text completions one prompt."""
    if probe.api == "completions":
        return [Request.of(PROMPT)]
    one, two = note(probe.word()), Wanted(PING.name, {"host": probe.word()})
    return [
        dictate(one), dictate(one, two, tools=(NOTE, PING)), write(f"The word is {probe.word()}."),
        dictate(two, tools=(PING,), think=True, before="I look."),
    ]  # fmt: skip


JUDGES: Judges = {
    "sdk_reads": _same,
}
