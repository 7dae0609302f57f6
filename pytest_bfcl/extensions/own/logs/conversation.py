"""One recorded conversation from any source, with its tools as documents in JSON Schema.

Its last reply is used as an answer only if it ended normally. The rules are those of `pytest_bfcl.bodies`,
`pytest_bfcl.endings` and `pytest_bfcl.formats.thinking`. This module knows where logs have endings, and exporters a
status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_bfcl.bodies import record_trouble
from pytest_bfcl.checkers.entries import is_answered
from pytest_bfcl.endings import Ending, ending_of, problem_of
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies import Said, UnknownShape, read_reply
from pytest_bfcl.spread_json import NOT_JSON, json_or
from pytest_bfcl.tools.documents import native_document
from pytest_bfcl.transcript import Reply

_ENVELOPES = ("choices", "candidates", "output", "stop_reason")
"""Fields of an API's complete body, which then has an ending."""
_ERROR_CODES = frozenset(("2", "error", "status_code_error", "failed", "failure"))


def response_trouble(request: Fields, response: object) -> str | None:
    """Why a response of an API is no answer, with its field; ``None`` for a normal one and for bare messages."""
    if not isinstance(response, Mapping):
        return None
    for name in ("choices", "candidates"):
        listed = response.get(name)
        if isinstance(listed, list) and len(listed) > 1:
            return f"response.{name}: {len(listed)} replies to one request, and nobody says which counts"
    typed = response.get("type") == "message"
    if not typed and not any(name in response for name in _ENVELOPES):
        trouble = record_trouble(response)
        return None if trouble is None else f"response: {trouble}"
    try:
        reply = read_reply(response)
    except UnknownShape as error:
        raise UnknownShape(f"response: {error}") from None
    if reply.finish_reason is None and reply.problem is None:
        return "response: it does not say how the reply ended (finish_reason, stop_reason, finishReason or status)"
    if is_refusal(response) or ending_of(reply.finish_reason) is Ending.REFUSED:
        return REFUSAL
    if (problem := problem_of(reply)) is not None:
        return f"response: the reply ended with {reply.finish_reason!r} ({problem})"
    if not reply.tool_calls and may_not_call(request):
        return "tool_choice: none: a model that may not call says nothing about calls"
    return None


REFUSAL = "response: the model refused to answer, which says nothing about calls"


def is_refusal(said: object, depth: int = 5) -> bool:
    """Whether a message or response has a refusal: a field ``refusal``, or a part of that type."""
    if isinstance(said, Mapping):
        text = said.get("refusal")
        return (isinstance(text, str) and bool(text)) or (depth > 0 and is_refusal(list(said.values()), depth - 1))
    return isinstance(said, list) and any(is_refusal(each, depth) for each in said)


def may_not_call(request: Fields) -> bool:
    """Whether a request forbids calls."""
    choice = request.get("tool_choice")
    kind = choice.get("type", choice.get("mode")) if isinstance(choice, Mapping) else choice
    if isinstance(kind, str) and kind.lower() == "none":
        return True
    config = request.get("toolConfig") or request.get("tool_config")
    calling = at(config, "functionCallingConfig") or at(config, "function_calling_config")
    return isinstance(calling, Mapping) and str(calling.get("mode") or "").upper().endswith("NONE")


def word_trouble(words: object, said: Sequence[Said], field: str) -> str | None:
    """The same for an ending that tracers store separately; ``None`` if they stored none."""
    listed = [words] if isinstance(words, str) else words
    if not isinstance(listed, list) or not listed:
        return None
    if len(listed) > 1:
        return f"{field}: {len(listed)} replies to one request, and nobody says which counts"
    last = said[-1] if said and said[-1].who == "model" else Said("model")
    problem = problem_of(Reply(last.text, last.calls, finish_reason=str(listed[0])))
    return None if problem is None else f"{field}: the reply ended with {listed[0]!r} ({problem})"


def span_trouble(span: Fields, attributes: Fields) -> str | None:
    """The problem that a span's own status reports."""
    status = span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else span.get("status_code")
    if code is not None and str(code).lower() in _ERROR_CODES:
        return f"status: {code}"
    if attributes.get("error.type"):
        return f"error.type: {str(attributes['error.type'])[:80]}"
    if any(event.get("name") == "exception" for event in span.get("events") or () if isinstance(event, Mapping)):
        return "events: an exception"
    return None


def said_trouble(said: Said, functions: Sequence[Fields]) -> str | None:
    """Why a reply without a call cannot mean "no call": it contains an unread call, or only thoughts."""
    if said.calls:
        return None
    if lost_calls(said.text, functions) is not None:
        return "a call was left in the text of the reply"
    return None if is_answered(Reply(said.text)) else "the reply holds thoughts and nothing else"


@dataclass(frozen=True, slots=True)
class Conversation:
    """``place`` is its position; ``tools`` are the offered documents in JSON Schema. ``trouble``: why its last reply is
    no answer.
    """

    place: str
    tools: tuple[Parsed, ...]
    said: tuple[Said, ...]
    trouble: str | None = None


Piece = tuple[str, Callable[[str], Conversation | None]]
"""The name of a record inside another one, and what reads it at a place; ``None`` for a record of no model."""
_NAMES = ("spanId", "span_id", "id", "name")


def pieces(records: Iterable[Fields], read: Callable[[Fields, str], Conversation | None]) -> Iterator[Piece]:
    """Each record with its name, or its number."""
    for number, each in enumerate(records):
        named = (str(each[name]) for name in _NAMES if isinstance(each.get(name), str))
        yield next(named, f"span {number}"), partial(read, each)


def parsed(value: object, what: str) -> Any:
    """A value that some logs have as JSON text. Raises `UnknownShape`."""
    if not isinstance(value, str):
        return value
    if (found := json_or(value, NOT_JSON)) is NOT_JSON:
        raise UnknownShape(f"{what} is not JSON: {value[:80]!r}")
    return found


def maybe_parsed(value: object) -> Any:
    """The same, if the value may also be a plain text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return json_or(value, value)
    return value


def at(value: Any, *path: str | int) -> Any:
    """What is at a place: names, and positions in lists; ``None`` where nothing is."""
    for step in path:
        value = maybe_parsed(value)
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and len(value) > max(step, 0) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def objects(value: object, what: str) -> list[Fields]:
    """A list of objects. Raises `UnknownShape`."""
    listed = parsed(value, what)
    if not isinstance(listed, list) or not all(isinstance(each, Mapping) for each in listed):
        raise UnknownShape(f"{what} is no list of objects")
    return listed


_LISTS = ("functionDeclarations", "function_declarations")
_FUNCTIONS = (None, "", "custom", "function")
"""Types of tools that the caller executes; all others are a provider's own (searches, code)."""


def documents_of(tools: object, what: str = "tools") -> tuple[Parsed, ...]:
    """The documents of a request's tools, without those that a provider runs itself. Raises `UnknownShape`."""
    if not tools:
        return ()
    found: dict[str, Parsed] = {}
    for number, tool in enumerate(_spread(objects(tools, what), what)):
        if tool.get("type") not in _FUNCTIONS or ("format" in tool and "name" in tool and "input_schema" not in tool):
            continue
        try:
            document = native_document(_plain(tool))
        except ValueError as error:
            raise UnknownShape(f"{what}[{number}]: {error}") from None
        found[document["name"]] = {**document, "parameters": _lower(document["parameters"])}
    return tuple(found.values())


def _spread(tools: list[Fields], what: str) -> Iterator[Fields]:
    """Gemini lists several functions in one tool; a tool without any is Google's own."""
    for tool in tools:
        lists = [tool[name] for name in _LISTS if tool.get(name)]
        for each in lists:
            yield from objects(each, f"{what}.functionDeclarations")
        if not lists and ("name" in tool or "function" in tool or "toolSpec" in tool):
            yield tool


def _plain(tool: Fields) -> Fields:
    """One shape for Bedrock's nested tools and for the case of Google's SDK."""
    spec = tool.get("toolSpec")
    if isinstance(spec, Mapping):
        schema = spec.get("inputSchema")
        return {**spec, "inputSchema": schema.get("json", schema) if isinstance(schema, Mapping) else schema}
    if isinstance(tool.get("parameters_json_schema"), Mapping):
        return {**tool, "parameters": tool["parameters_json_schema"]}
    if isinstance(tool.get("parameters"), Mapping):
        return {**tool, "parameters": _lower(tool["parameters"])}
    return tool


def _lower(schema: Any) -> Any:
    """Google's type words (``OBJECT``) and null (``nullable``) in JSON Schema's words; nulls left out."""
    if isinstance(schema, list):
        return [_lower(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kind = schema.get("type")
    if not (isinstance(kind, str) and kind.isupper()):
        return {key: _lower(each) if isinstance(each, Mapping | list) else each for key, each in schema.items()}
    told = {key: _lower(each) for key, each in schema.items() if each is not None and key != "nullable"}
    told["type"] = [kind.lower(), "null"] if schema.get("nullable") else kind.lower()
    return told
