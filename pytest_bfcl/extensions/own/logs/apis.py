"""Requests and responses of the APIs themselves: chat completions, Responses, Anthropic's messages, Gemini; litellm's.

A line is the request with its ``response`` next to (or below ``request`` and ``response``), or ``messages`` and
``tools`` of a whole conversation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_bfcl.bodies import record_trouble
from pytest_bfcl.extensions.own.logs.conversation import (
    REFUSAL,
    Conversation,
    Piece,
    at,
    documents_of,
    is_refusal,
    maybe_parsed,
    objects,
    pieces,
    response_trouble,
    span_trouble,
)
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies import Said, UnknownShape, read_history
from pytest_bfcl.spread_json import json_or

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
    """The request's own fields, in all places that proxies use."""
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
    if isinstance(output := response.get("output"), list) and "choices" not in response:
        return read_history(output, "response.output")
    said, field, role = _answered(response)
    return read_history([{"role": role, **said}], field) if said else []


def _answered(response: Fields) -> tuple[Fields, str, str]:
    """The message in a response, its field and its role."""
    for name in ("choices", "candidates"):
        if isinstance(listed := response.get(name), list):
            first = listed[0] if listed and isinstance(listed[0], Mapping) else {}
            if name == "candidates":
                content = first.get("content") or {}
                return content if content.get("parts") else {}, "response.candidates", "model"
            if not isinstance(message := first.get("message"), Mapping):
                raise UnknownShape("response.choices: no message (pieces of a stream have to be joined first)")
            return message, "response.choices", "assistant"
    if "content" in response or "tool_calls" in response:
        return response, "response", "assistant"
    if isinstance(message := response.get("message"), Mapping):
        return message, "response.message", "assistant"
    raise UnknownShape(f"a response of no known API, its fields are {', '.join(map(str, list(response)[:8]))}")


_MODELS = ("CHAT_MODEL", "LLM")
"""Kinds of MLflow's spans that ask a model."""
_OFFERS = ("tools", "functions", "tool_choice")
_DEPTH = 40
"""Runs of LangSmith in runs."""


def wrapped_in(record: Fields) -> Iterator[Piece] | None:
    """The requests of a record of one of these exporters; ``None`` for any other. Raises `UnknownShape`."""
    if "run_type" in record and "inputs" in record:
        return _runs(record, _DEPTH)
    data = record.get("data")
    if isinstance(data, Mapping) and "info" in record and isinstance(data.get("spans"), list):
        return _mlflow(data["spans"])
    if "providerRequest" in record or "request_body" in record or "signed_body_url" in record:
        return iter([_helicone(record)])
    if record.get("object") == "chat.completion" and "choices" in record:
        return iter([_stored(record)])
    if "sessionId" in record and ("message" in record or "uuid" in record):
        raise UnknownShape(
            "a transcript of Claude Code does not hold the tools that were offered: log the requests themselves"
        )
    return None


def _wrapped(name: object, request: Fields, response: Any, trouble: str | None) -> Piece:
    """``name`` of the record, its request and response, and why its exporter says that it failed."""

    def read(place: str) -> Conversation:
        if not any(name in request for name in _ASKED):
            raise UnknownShape("a request without messages: its content was not recorded")
        return exchange(request, response, place, trouble=trouble)

    return str(name), read


# LangSmith and LangChain.


def _runs(run: Fields, depth: int) -> Iterator[Piece]:
    if depth == 0:
        raise UnknownShape("runs are nested too deeply")
    if run.get("run_type") == "llm":
        request, response = _plain(maybe_parsed(run["inputs"]), maybe_parsed(run.get("outputs")))
        for offers in _offers(run.get("extra")):
            request = {**{name: offers[name] for name in _OFFERS if offers.get(name)}, **request}
        yield _wrapped(run.get("id") or run.get("name"), request, response, record_trouble(run))
    for child in objects(run.get("child_runs") or [], "child_runs"):
        yield from _runs(child, depth - 1)


def _offers(extra: object) -> Iterator[Fields]:
    """Where a run keeps the tools that were bound to its model."""
    for found in (at(extra, "invocation_params"), at(extra, "metadata", "ls_invocation_params")):
        if isinstance(found, Mapping):
            yield found


def _plain(asked: object, told: object) -> tuple[Fields, Any]:
    """Request and response, LangChain's messages and generations as chat completions have them."""
    request: Fields = asked if isinstance(asked, Mapping) else {"messages": asked}
    messages = request.get("messages")
    if isinstance(messages, list) and messages and isinstance(messages[0], list):
        if len(messages) > 1:
            raise UnknownShape(f"inputs.messages: {len(messages)} conversations in one run")
        messages = messages[0]
    if isinstance(messages, list):
        request = {**request, "messages": [_message(each) for each in messages]}
    generations = at(told, "generations")
    if isinstance(generations, list) and generations:
        first = generations[0] if isinstance(generations[0], list) else generations
        choices = [_choice(each, number) for number, each in enumerate(objects(first, "generations"))]
        return request, {"choices": choices}
    return request, told


def _message(message: Any) -> Any:
    """A message that LangChain wrote as its constructor and arguments, in plain fields."""
    if isinstance(message, Mapping) and isinstance(message.get("kwargs"), Mapping) and "lc" in message:
        named = message.get("id")
        kind = str(named[-1]).removesuffix("Chunk") if isinstance(named, list) and named else ""
        return {"type": kind, **message["kwargs"]}
    return message


def _choice(generation: Fields, number: int) -> Fields:
    told = _message(generation.get("message"))
    message = dict(told) if isinstance(told, Mapping) else {"content": generation.get("text")}
    infos = (generation.get("generation_info"), message.get("response_metadata"))
    words = (info.get(name) for info in infos if isinstance(info, Mapping) for name in ("finish_reason", "stop_reason"))
    return {"index": number, "message": message, "finish_reason": next(filter(None, words), None)}


# The others.


def _mlflow(spans: object) -> Iterator[Piece]:
    for span in objects(spans, "data.spans"):
        attributes = span.get("attributes")
        if not isinstance(attributes, Mapping):
            raise UnknownShape("data.spans: a span without attributes")
        held = {str(name).removeprefix("mlflow."): _json(value) for name, value in attributes.items()}
        if held.get("spanType") in _MODELS:
            request, response = _plain(held.get("spanInputs"), held.get("spanOutputs"))
            if tools := held.get("chat.tools"):
                request = {"tools": tools, **request}
            response = _unended(response)
            yield _wrapped(span.get("span_id"), request, response, span_trouble(span, attributes))


def _unended(response: Any) -> Any:
    """The message of what its LangChain tracer writes as a completion: the word for the ending is lost in all of them.

    A completion of the API itself says what it is (``object``), and must say how it ended.
    """
    choices = response.get("choices") if isinstance(response, Mapping) and "object" not in response else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], Mapping):
        return response
    return choices[0].get("message") if choices[0].get("finish_reason", "") is None else response


def _json(value: object) -> Any:
    """MLflow writes every attribute as JSON, texts too."""
    return json_or(value, value) if isinstance(value, str) else value


def _helicone(record: Fields) -> Piece:
    """What Helicone's logger sends, or a row of its export with the bodies."""
    asked, answered = record.get("providerRequest"), record.get("providerResponse")
    request = maybe_parsed(at(asked, "json") if asked else record.get("request_body"))
    response = maybe_parsed(at(answered, "json") if answered else record.get("response_body"))
    if not isinstance(request, Mapping) or not request:
        raise UnknownShape("a row of Helicone without its bodies: export it with them")
    status = at(answered, "status") if answered else record.get("response_status")
    failed = isinstance(status, int) and not 200 <= status < 300
    name = record.get("request_id") or record.get("response_id") or "request"
    return _wrapped(name, request, response, f"status: {status}" if failed else record_trouble(record))


def _stored(record: Fields) -> Piece:
    """A stored completion with its messages; their endpoint returns them as a separate list."""
    messages = record.get("messages")
    if isinstance(messages, Mapping):
        messages = messages.get("data")
    if not isinstance(messages, list):
        raise UnknownShape(
            "a stored completion without its messages: add what chat/completions/ID/messages answers, as messages"
        )
    response = {name: value for name, value in record.items() if name not in ("messages", *_OFFERS)}
    request = {"messages": messages, **{name: record[name] for name in _OFFERS if record.get(name)}}
    return _wrapped(record.get("id"), request, response, None)


_TRACE = ("traceId", "trace_id")
_HOLDERS = ("modelParameters", "model_parameters", "metadata")


def observations_in(record: Fields) -> Iterator[Piece] | None:
    """The observations of a line; ``None`` for a line of something else."""
    listed = record.get("observations")
    if isinstance(listed, list) and listed:
        inner = objects(listed, "observations")
        inner = sorted(inner, key=lambda each: str(each.get("startTime") or each.get("start_time") or ""))
        return pieces(inner, observed_conversation)
    if any(isinstance(record.get(name), str) for name in _TRACE) and "type" in record and "input" in record:
        return pieces([record], observed_conversation)
    return None


def observed_conversation(observation: Fields, place: str) -> Conversation | None:
    """The conversation of one observation; ``None`` for those of no model. Raises `UnknownShape`."""
    if str(observation.get("type")).upper() != "GENERATION":
        return None
    asked = maybe_parsed(observation.get("input"))
    request: dict[str, Any] = dict(asked) if isinstance(asked, Mapping) else {"messages": asked}
    if isinstance(asked, str):
        request = {"input": asked}
    elif "role" in request:
        request = {"messages": [asked]}
    for name in _HOLDERS:
        tools = maybe_parsed(at(observation, name, "tools"))
        if isinstance(tools, list) and not request.get("tools"):
            request["tools"] = tools
    return exchange(request, observation.get("output"), place, trouble=record_trouble(observation))
