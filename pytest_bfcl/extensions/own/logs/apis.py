"""Requests and responses of the APIs themselves: chat completions, Responses, Anthropic's messages, Gemini; litellm's.

A line is the request with its ``response`` next to (or below ``request`` and ``response``), or ``messages`` and
``tools`` of a whole conversation.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.bodies import record_trouble
from pytest_bfcl.extensions.own.logs.conversation import (
    REFUSAL,
    Conversation,
    documents_of,
    is_refusal,
    maybe_parsed,
    response_trouble,
)
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies import Said, UnknownShape, read_history

_ASKED = ("messages", "input", "contents")
"""Where a request keeps its conversation: chat and Anthropic, Responses, Gemini."""
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_BESIDE = ("proxy_server_request", "optional_params", "model_parameters", "standard_logging_object")
"""litellm's fields that hold the tools of a request."""


class Threads:
    """Conversations that later requests continue by the id of a response (``previous_response_id``)."""

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[Said, ...]] = {}

    def before(self, request: Fields) -> tuple[Said, ...]:
        """The messages before a request. Raises `UnknownShape`."""
        previous = request.get("previous_response_id")
        if previous is None:
            return ()
        if previous not in self._by_id:
            raise UnknownShape(f"it continues the response {previous!r}, which is not in this log")
        return self._by_id[previous]

    def keep(self, response: object, said: tuple[Said, ...]) -> None:
        """Remember where a response stands."""
        if isinstance(response, Mapping) and isinstance(response.get("id"), str):
            self._by_id[response["id"]] = said


def api_conversation(record: Fields, place: str, threads: Threads) -> Conversation | None:
    """The conversation of one line; ``None`` for a line that is no request. Raises `UnknownShape`."""
    request = _request(record)
    if not any(name in request for name in _ASKED):
        return None
    response = maybe_parsed(record.get("response", record.get("output") if "input" not in record else None))
    return exchange(request, response, place, threads, trouble=record_trouble(record))


def _request(record: Fields) -> dict[str, Any]:
    """The request's own fields, wherever a proxy keeps them."""
    inner = maybe_parsed(record.get("request"))
    request = dict(inner.get("body", inner) if isinstance(inner, Mapping) else record)
    request = {
        key: read for key, value in request.items() if (read := value if key == "input" else maybe_parsed(value))
    }
    for name in _BESIDE:
        beside = maybe_parsed(record.get(name))
        if isinstance(beside, Mapping):
            told = beside.get("body", beside)
            request = {**(told if isinstance(told, Mapping) else {}), **request}
    config = request.get("config") or request.get("generationConfig")
    return {**(config if isinstance(config, Mapping) else {}), **request}


def exchange(
    request: Fields, response: object, place: str, threads: Threads | None = None, *, trouble: str | None = None
) -> Conversation:
    """The conversation of a request and its response; ``trouble``: what its record says. Raises `UnknownShape`."""
    response = maybe_parsed(response)
    threads = threads or Threads()
    field = next(name for name in _ASKED if name in request)
    asked = maybe_parsed(request[field])
    if isinstance(request[field], str) and not (isinstance(asked, list) and all(isinstance(m, dict) for m in asked)):
        asked = [{"role": "user", "content": request[field]}]
    elif field == "contents" and isinstance(asked, Mapping):
        asked = [asked]
    system = [each for name in _SYSTEM if (each := _system(request.get(name))) is not None]
    before = threads.before(request)
    if system and before:  # instructions are those of the last request
        before = tuple(itertools.dropwhile(lambda each: each.who == "system", before))
    said = [*system, *before, *read_history(asked, field), *read_answer(response)]
    trouble = trouble or response_trouble(request, response)
    if trouble is None and is_refusal([response, *(asked[-1:] if isinstance(asked, list) else ())]):
        trouble = REFUSAL
    threads.keep(response, tuple(said))
    return Conversation(place, documents_of(request.get("tools") or request.get("functions")), tuple(said), trouble)


def _system(value: object) -> Said | None:
    """What a request says next to its messages: text, blocks, or Gemini's content."""
    if not value:
        return None
    content = value.get("parts", value) if isinstance(value, Mapping) else value
    content = [content] if isinstance(content, Mapping) else content
    said = read_history([{"role": "system", "content": content}], "system")
    return Said("system", "\n".join(each.text for each in said))


def read_answer(response: object) -> list[Said]:
    """What a response of any of the APIs says; nothing for none. Raises `UnknownShape`."""
    response = maybe_parsed(response)
    if response is None or response == "":
        return []
    if isinstance(response, str):
        return [Said("model", response)]
    if isinstance(response, list):
        return read_history(response, "response")
    if not isinstance(response, Mapping):
        raise UnknownShape(f"a response is an object, not {type(response).__name__}")
    if isinstance(choices := response.get("choices"), list):
        message = choices[0].get("message") if choices and isinstance(choices[0], Mapping) else None
        if not isinstance(message, Mapping):
            raise UnknownShape("response.choices: no message (pieces of a stream have to be joined first)")
        return read_history([{"role": "assistant", **message}], "response.choices")
    if isinstance(candidates := response.get("candidates"), list):
        first = candidates[0] if candidates and isinstance(candidates[0], Mapping) else {}
        content = first.get("content") or {"parts": []}
        return read_history([{"role": "model", **content}], "response.candidates") if content.get("parts") else []
    if isinstance(output := response.get("output"), list):
        return read_history(output, "response.output")
    if "content" in response or "tool_calls" in response:
        return read_history([{"role": "assistant", **response}], "response")
    if isinstance(message := response.get("message"), Mapping):
        return read_history([{"role": "assistant", **message}], "response.message")
    raise UnknownShape(f"a response of no known API, its fields are {', '.join(map(str, list(response)[:8]))}")
