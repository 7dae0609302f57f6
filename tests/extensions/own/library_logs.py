"""The conversation of `recorded_logs`, made with the types of the libraries themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.extensions.own.recorded_logs import (
    ABOUT,
    ANSWER,
    ASKED,
    CALLED,
    CHAT,
    FLAT_TOOL,
    METERED,
    NAME,
    OPENAI_TOOL,
    OTEL,
    PHOENIX,
    RESULT,
    SCHEMA,
    SYSTEM,
    TEXT,
    lines_of,
)


def _anthropic() -> dict[str, str]:
    from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock, Usage

    def reply(blocks: list[Any], why: Any) -> dict[str, Any]:
        usage = Usage(input_tokens=1, output_tokens=1)
        message = Message(
            id="m", content=blocks, model="c", role="assistant", stop_reason=why, type="message", usage=usage
        )
        return message.model_dump(mode="json")

    thought = ThinkingBlock(type="thinking", thinking="hm", signature="x")
    called = reply([thought, ToolUseBlock(id="t", name=NAME, input=CALLED, type="tool_use")], "tool_use")
    told = {"type": "tool_result", "tool_use_id": "t", "content": RESULT}
    asked = [{"role": "user", "content": ASKED}]
    after = [*asked, {"role": "assistant", "content": called["content"]}, {"role": "user", "content": [told]}]
    request = {"system": SYSTEM, "tools": [{**ABOUT, "input_schema": SCHEMA}]}
    answered = reply([TextBlock(type="text", text=ANSWER)], "end_turn")
    pairs = ((asked, called), (after, answered))
    return {"a.jsonl": lines_of([{"request": {**request, "messages": m}, "response": r} for m, r in pairs])}


def _openai() -> dict[str, str]:
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response, ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    message = {"role": "assistant", "content": ANSWER}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "g",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}  # fmt: skip
    chat = {"request": {"messages": CHAT, "tools": [OPENAI_TOOL]},
            "response": ChatCompletion.model_validate(body).model_dump(mode="json")}  # fmt: skip
    call = ResponseFunctionToolCall(arguments=TEXT, call_id="c", name=NAME, type="function_call")
    words = ResponseOutputText(annotations=[], text=ANSWER, type="output_text")
    last = ResponseOutputMessage(id="m", content=[words], role="assistant", status="completed", type="message")
    request = {"instructions": SYSTEM, "tools": [FLAT_TOOL]}
    told = {"type": "function_call_output", "call_id": "c", "output": RESULT}
    plain: dict[str, Any] = {"created_at": 1, "model": "g", "object": "response", "parallel_tool_calls": True,
                             "tool_choice": "auto", "tools": [], "status": "completed"}  # fmt: skip
    made = [
        Response(id=name, output=[item], **plain).model_dump(mode="json") for name, item in (("r", call), ("s", last))
    ]
    pairs = [{"request": {**request, "input": ASKED}, "response": made[0]},
             {"request": {**request, "previous_response_id": "r", "input": [told]}, "response": made[1]}]  # fmt: skip
    return {"chat.jsonl": lines_of([chat]), "responses.jsonl": lines_of(pairs)}


def _gemini() -> dict[str, str]:
    from google.genai import types

    schema = types.Schema.model_validate({"type": "OBJECT", "required": ["number"],
        "properties": {"number": {"type": "INTEGER", "description": "Of the order."}}})  # fmt: skip
    declared = types.FunctionDeclaration(**ABOUT, parameters=schema)
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM, tools=[types.Tool(function_declarations=[declared])], temperature=0
    )
    contents = [
        types.Content(role="user", parts=[types.Part(text=ASKED)]),
        types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(name=NAME, args=CALLED))]),
        types.Content(role="user", parts=[types.Part.from_function_response(name=NAME, response={"result": RESULT})]),
    ]
    last = types.Content(role="model", parts=[types.Part(text="hm", thought=True), types.Part(text=ANSWER)])
    response = types.GenerateContentResponse(candidates=[types.Candidate(content=last)])

    def line(*, alias: bool, **beside: Any) -> str:
        def dump(each: Any) -> Any:
            return each.model_dump(mode="json", exclude_none=True, by_alias=alias)

        request = {"contents": list(map(dump, contents)), **{key: dump(each) for key, each in beside.items()}}
        return lines_of([{"request": request, "response": dump(response)}])

    return {"wire.jsonl": line(alias=True, config=config), "sdk.jsonl": line(alias=False, config=config)}


def _spans(attributes: dict[str, str]) -> dict[str, str]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("shop")
    with tracer.start_as_current_span("agent"), tracer.start_as_current_span("chat", attributes=attributes):
        pass
    spans = memory.get_finished_spans()
    found = {"spans.jsonl": lines_of([json.loads(span.to_json()) for span in spans])}
    try:
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    except ImportError:
        return found
    return found | {"otlp.json": json.dumps(MessageToDict(encode_spans(spans)))}


def _open_inference() -> dict[str, str]:
    from openinference.semconv.trace import MessageAttributes, SpanAttributes, ToolAttributes, ToolCallAttributes

    first = f"{SpanAttributes.LLM_INPUT_MESSAGES}.2.{MessageAttributes.MESSAGE_TOOL_CALLS}.0"
    assert PHOENIX[f"{first}.{ToolCallAttributes.TOOL_CALL_FUNCTION_NAME}"] == NAME
    assert PHOENIX[f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0.{MessageAttributes.MESSAGE_CONTENT}"] == ANSWER
    assert f"{SpanAttributes.LLM_TOOLS}.0.{ToolAttributes.TOOL_JSON_SCHEMA}" in PHOENIX
    return _spans(PHOENIX)


MADE: dict[str, Callable[[], dict[str, str]]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "google.genai": _gemini,
    "opentelemetry.sdk": lambda: {f"{n}{key}": text for n, each in enumerate((OTEL, METERED))
                                  for key, text in _spans(each).items()},
    "openinference.semconv": _open_inference,
}  # fmt: skip
