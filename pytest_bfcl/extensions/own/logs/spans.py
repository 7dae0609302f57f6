"""Spans of tracers: OpenTelemetry's GenAI conventions (spans as JSON lines and OTLP/JSON), OpenInference's as Phoenix
exports them, OpenLLMetry's, and those of Vercel's AI SDK (`vercel`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_bfcl.extensions.own.logs.conversation import (
    Conversation,
    Piece,
    at,
    documents_of,
    may_not_call,
    maybe_parsed,
    objects,
    parsed,
    pieces,
    span_trouble,
    word_trouble,
)
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies import Said, UnknownShape, read_history

_VERCEL_ASKS = ("doGenerate", "doStream")
"""Endings of the names of model operations; the operations around them repeat the same messages."""
_REPLY = ("text", "toolCalls", "object")


def vercel(nested: Fields) -> tuple[Any, list[Said]] | None:
    """Tools and conversation of a model request; ``None`` for any other span. Raises `UnknownShape`."""
    own = nested.get("ai")
    if not isinstance(own, Mapping) or not str(own.get("operationId")).endswith(_VERCEL_ASKS):
        return None
    asked, told = (own[side] if isinstance(own.get(side), Mapping) else {} for side in ("prompt", "response"))
    if "messages" not in asked or ("finishReason" in told and told.keys().isdisjoint(_REPLY)):
        raise UnknownShape("ai.prompt.messages: its content was not recorded (recordInputs, recordOutputs)")
    messages = [_message(each) for each in objects(asked["messages"], "ai.prompt.messages")]
    said = read_history(messages, "ai.prompt.messages")
    calls = objects(told.get("toolCalls") or [], "ai.response.toolCalls")
    if told and not calls and may_not_call({"tool_choice": maybe_parsed(asked.get("toolChoice"))}):
        raise UnknownShape("ai.prompt.toolChoice: none: a model that may not call says nothing about calls")
    text = told.get("text")
    words = [{"type": "text", "text": text}] if isinstance(text, str) and text else []
    if told:  # a request that failed has no answer
        said += read_history([{"role": "assistant", "content": [*words, *map(_part, calls)]}], "ai.response")
    return [parsed(each, "ai.prompt.tools") for each in asked.get("tools") or []], said


def _message(message: Fields) -> Fields:
    content = message.get("content")
    return {**message, "content": [_part(each) for each in content]} if isinstance(content, list) else message


def _part(part: Any) -> Any:
    """A part in the words of other messages."""
    if not isinstance(part, Mapping):
        return part
    if part.get("type") == "tool-result":
        output = part.get("output", part.get("result"))
        value = output["value"] if isinstance(output, Mapping) and {"type", "value"} <= output.keys() else output
        return {"type": "tool_result", "tool_use_id": part.get("toolCallId"), "content": value}
    if "toolCallId" in part:
        given = maybe_parsed(part.get("input", part.get("args")))
        return {"type": "tool_use", "id": part["toolCallId"], "name": part.get("toolName"), "input": given}
    return {"type": "thinking", "thinking": part.get("text")} if part.get("type") == "reasoning" else part


_ASKS = frozenset(("chat", "generate_content", "text_completion"))
"""Operations of a model."""
_AROUND = frozenset(("agent_step", "create_agent", "embeddings", "execute_tool", "invoke_agent", "retrieval"))
"""Operations around them, whose messages repeat those of the requests."""
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
_VALUES = ("stringValue", "boolValue", "doubleValue", "bytesValue")
MOST_INDEXED = 10_000


def spans_in(record: Fields) -> Iterator[Piece] | None:
    """The spans of a line; ``None`` for a line without spans."""
    for scopes, spans in (("scopeSpans", "spans"), ("instrumentationLibrarySpans", "spans")):
        resources = record.get("resourceSpans") or record.get("resource_spans")
        if isinstance(resources, list) and any(scopes in each for each in resources if isinstance(each, Mapping)):
            found = (
                span
                for resource in objects(resources, "resourceSpans")
                for scope in objects(resource.get(scopes) or [], scopes)
                for span in objects(scope.get(spans) or [], spans)
            )
            return pieces(found, span_conversation)
    columns = any(key.startswith(_COLUMN) and each is not None for key, each in record.items())
    if columns or isinstance(record.get("attributes"), Mapping | list):
        return pieces([record], span_conversation)
    return None


_COLUMN = "attributes."
"""What the columns of Phoenix's table of spans begin with."""


def _attributes(listed: object) -> dict[str, Any]:
    """Attributes as an object; OTLP has a list of key and typed value."""
    if isinstance(listed, Mapping):
        return dict(listed)
    return {str(each.get("key")): _value(each.get("value")) for each in objects(listed or [], "attributes")}


def _value(value: object) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "intValue" in value:
        return int(value["intValue"])
    if isinstance(items := value.get("arrayValue"), Mapping):
        return [_value(each) for each in items.get("values") or []]
    if isinstance(fields := value.get("kvlistValue"), Mapping):
        return _attributes(fields.get("values"))
    return next((value[name] for name in _VALUES if name in value), None)


def span_conversation(span: Fields, place: str) -> Conversation | None:
    """The conversation of one span; ``None`` for spans that are no model request. Raises `UnknownShape`."""
    columns = {key.removeprefix(_COLUMN): each for key, each in span.items() if key.startswith(_COLUMN)}
    attributes = _attributes(span.get("attributes")) | {key: each for key, each in columns.items() if each is not None}
    listed = objects(span.get("events") or [], "events")
    events = [{**event, "attributes": _attributes(event.get("attributes"))} for event in listed]
    for event in events:
        if event.get("name") == "gen_ai.client.inference.operation.details":
            attributes = {**attributes, **event["attributes"]}
    nested = _nested(attributes)
    operation = at(nested, "gen_ai", "operation", "name")
    if operation in _AROUND:
        return None
    readers = (vercel, _gen_ai, _open_inference, _open_llmetry)
    found = next((told for read in readers if (told := read(nested)) is not None), None)
    if found is None and (heard := _from_events(events)):
        found = _tool_definitions(nested), heard
    if found is not None:
        tools, said = found
        trouble = span_trouble(span, attributes) or _ended(nested, events, said)
        return Conversation(place, documents_of(tools), tuple(said), trouble)
    kind = str(at(nested, "openinference", "span", "kind") or span.get("span_kind") or "")
    if operation in _ASKS or kind.upper() == "LLM":
        raise UnknownShape("a request to a model without its messages: its content was not recorded by the tracer")
    return None


_WORDS = (
    ("ai", "response", "finishReason"),
    ("gen_ai", "response", "finish_reasons"), ("llm", "finish_reason"), ("llm", "response", "finish_reason"),
    ("gen_ai", "completion", 0, "finish_reason"), ("gen_ai", "output", "messages", -1, "finish_reason"),
)  # fmt: skip
"""Attributes in which spans have the ending of a reply."""


def _ended(nested: Fields, events: Sequence[Fields], said: Sequence[Said]) -> str | None:
    """The problem that a span's ending reports."""
    for path in _WORDS:
        field = ".".join(map(str, path))
        if (trouble := word_trouble(maybe_parsed(at(nested, *path)), said, field)) is not None:
            return trouble
    for event in events:
        if event.get("name") == "gen_ai.choice":
            body = event.get("body")
            told = {**event["attributes"], **(body if isinstance(body, Mapping) else {})}
            if (trouble := word_trouble(told.get("finish_reason"), said, "gen_ai.choice.finish_reason")) is not None:
                return trouble
    return None


def _nested(attributes: Fields) -> dict[str, Any]:
    """Dotted names as nested objects, numbers as positions in lists."""
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        holder, (*steps, last) = root, str(name).split(".")
        for step in steps:
            inner = holder.setdefault(step, {})
            if not isinstance(inner, dict):
                inner = holder[step] = {"": inner}
            holder = inner
        value = _nested(value) if isinstance(value, Mapping) and any("." in str(key) for key in value) else value
        holder[last] = {**holder[last], "": value} if isinstance(holder.get(last), dict) else value
    return _listed(root)  # type: ignore[no-any-return]


def _listed(value: Any) -> Any:
    if isinstance(value, list):
        return [_listed(_nested(each) if isinstance(each, Mapping) else each) for each in value]
    if not isinstance(value, dict):
        return value
    if value and all(isinstance(key, str) and key.isdigit() for key in value) and len(value) <= MOST_INDEXED:
        return [_listed(value[key]) for key in sorted(value, key=int)]
    return {key: _listed(each) for key, each in value.items()}


def _tool_definitions(nested: Fields) -> Any:
    return at(nested, "gen_ai", "tool", "definitions") or at(nested, "gen_ai", "request", "tools")


Found = tuple[Any, list[Said]] | None


def _gen_ai(nested: Fields) -> Found:
    """OpenTelemetry: messages with parts, as JSON texts or structured."""
    asked, told = (at(nested, "gen_ai", side, "messages") for side in ("input", "output"))
    if asked is None and told is None:
        return None
    system = parsed(at(nested, "gen_ai", "system_instructions"), "gen_ai.system_instructions")
    said = read_history([{"role": "system", "parts": system}], "gen_ai.system_instructions") if system else []
    for value, name in ((asked, "gen_ai.input.messages"), (told, "gen_ai.output.messages")):
        said += read_history(parsed(value, name) or [], name)
    return _tool_definitions(nested), said


def _open_inference(nested: Fields) -> Found:
    """OpenInference: ``llm.input_messages.0.message.role`` …"""
    asked, told = (maybe_parsed(at(nested, "llm", f"{side}_messages")) for side in ("input", "output"))
    if asked is None and told is None:
        return None
    said: list[Said] = []
    for value, name in ((asked, "llm.input_messages"), (told, "llm.output_messages")):
        said += read_history([_inferred(each) for each in objects(value or [], name)], name)
    tools = [
        {key: tool[key] for key in ("name", "description") if isinstance(tool.get(key), str)}
        | {**parsed(at(tool, "json_schema") or "{}", "llm.tools.tool.json_schema")}
        for each in objects(maybe_parsed(at(nested, "llm", "tools")) or [], "llm.tools")
        for tool in [each.get("tool", each)]
    ]
    return tools, said


def _inferred(each: Fields) -> Fields:
    """A message of OpenInference as chat has it."""
    message = dict(each.get("message", each))
    contents = [item.get("message_content", item) for item in objects(message.pop("contents", None) or [], "contents")]
    calls = [item.get("tool_call", item) for item in objects(message.pop("tool_calls", None) or [], "tool_calls")]
    if legacy := message.pop("function_call_name", None):
        calls.append({"name": legacy, "arguments": message.pop("function_call_arguments_json", "{}")})
    if contents and not message.get("content"):
        calls_beside = [item for item in contents if item.get("type") != "tool_use"]  # they stand in tool_calls, too
        message["content"] = calls_beside if calls else contents
    return {**message, **({"tool_calls": calls} if calls else {})}


def _open_llmetry(nested: Fields) -> Found:
    """OpenLLMetry: ``gen_ai.prompt.0.role`` …, ``gen_ai.completion.0.tool_calls.0.name`` …"""
    asked, told = (at(nested, "gen_ai", side) for side in ("prompt", "completion"))
    if not isinstance(asked, list):
        return None
    said = read_history([_metered(each) for each in asked], "gen_ai.prompt")
    if isinstance(told, list):
        said += read_history([{**_metered(each), "role": "assistant"} for each in told[:1]], "gen_ai.completion")
    functions = at(nested, "llm", "request", "functions") or []
    tools = [{**each, "parameters": parsed(each.get("parameters") or "{}", "parameters")} for each in functions]
    return tools, said


def _metered(message: Any) -> Any:
    if not isinstance(message, Mapping):
        return message
    content = maybe_parsed(message.get("content"))
    blocks = isinstance(content, list) and all(isinstance(each, Mapping) and "type" in each for each in content)
    return {**message, "content": content if blocks else message.get("content", "")}


def _from_events(events: Sequence[Fields]) -> list[Said]:
    """One event a message: ``gen_ai.user.message`` …, the reply in ``gen_ai.choice``."""
    messages = []
    for event in events:
        if (role := _EVENTS.get(str(event.get("name")))) is None:
            continue
        body = event.get("body") if isinstance(event.get("body"), Mapping) else _nested(event["attributes"])
        message = maybe_parsed(body.get("message")) if isinstance(body, Mapping) and "message" in body else body
        message = dict(message) if isinstance(message, Mapping) else {"content": message}
        if "tool_calls" in message:
            message["tool_calls"] = parsed(message["tool_calls"], "tool_calls")
        if role == "tool" and isinstance(message.get("id"), str):
            message["tool_call_id"] = message["id"]
        messages.append({**message, "role": role})
    return read_history(messages, "events")
