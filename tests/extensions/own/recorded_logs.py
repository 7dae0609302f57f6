"""One conversation as every kind of log has it: "Where is order 12?", a call, its result, an answer.

Recorded from anthropic 2.12, openai 3.54, google-genai 3.4, opentelemetry-sdk 1.45, openinference-semantic-conventions
0.1.42 and opentelemetry-semantic-conventions-ai 0.5.1; `test_logs_of_the_libraries_themselves` asks those installed.
"""

from __future__ import annotations

import json
from typing import Any

from tests.extensions.own import exporters

NAME, CALLED, SYSTEM, ASKED, RESULT, ANSWER = (
    "find-order", {"number": 12}, "You work for a shop.", "Where is order 12?", "sent", "It was sent.",
)  # fmt: skip
ABOUT = {"name": NAME, "description": "Tells the state of an order."}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer", "description": "Of the order."}},
    "required": ["number"],
}
GOOGLE = {"type": "OBJECT", "properties": {"number": {"type": "INTEGER", "description": "Of the order."}},
          "required": ["number"]}  # fmt: skip
TEXT = json.dumps(CALLED)
OPENAI_TOOL = {"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}
FLAT_TOOL = {"type": "function", **ABOUT, "parameters": SCHEMA}
CHAT_CALL = {"id": "c", "type": "function", "function": {"name": NAME, "arguments": TEXT}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
    {"role": "tool", "tool_call_id": "c", "content": RESULT},
]
LAST = {"role": "assistant", "content": ANSWER, "tool_calls": None}


def completion(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if message.get("tool_calls") else "stop"}
        ],
    }


def _anthropic() -> list[Any]:
    asked: list[Any] = [{"role": "user", "content": ASKED}]
    called = {"id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        {"type": "tool_use", "id": "t", "name": NAME, "input": CALLED}]}  # fmt: skip
    told = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": RESULT}]}
    after = [*asked, {"role": "assistant", "content": called["content"]}, {"role": "user", "content": [told]}]
    request = {"system": [{"type": "text", "text": SYSTEM}], "tools": [{**ABOUT, "input_schema": SCHEMA}]}
    answered = {
        "id": "n",
        "type": "message",
        "role": "assistant",
        "stop_reason": "end_turn",
        "content": [{"type": "text", "text": ANSWER}],
    }
    return [
        {"request": {**request, "messages": asked}, "response": called},
        {"request": {**request, "messages": after}, "response": answered},
    ]


def _responses() -> list[Any]:
    request = {"instructions": SYSTEM, "tools": [FLAT_TOOL, {"type": "web_search"}]}
    call = {"type": "function_call", "id": "fc", "call_id": "c", "name": NAME, "arguments": TEXT}
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    told = {"type": "function_call_output", "call_id": "c", "output": RESULT}
    return [
        {"request": {**request, "input": ASKED},
         "response": {"id": "r1", "status": "completed",
                      "output": [{"type": "reasoning", "id": "rs", "summary": []}, call]}},
        {"request": {**request, "previous_response_id": "r1", "input": [told]},
         "response": {"id": "r2", "status": "completed", "output": [message]}},
    ]  # fmt: skip


def _gemini() -> list[Any]:
    contents = [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [{"functionCall": {"name": NAME, "args": CALLED}, "thoughtSignature": "x"}]},
        {"role": "user", "parts": [{"functionResponse": {"name": NAME, "response": {"result": RESULT}}}]},
    ]
    tools = [{"functionDeclarations": [{**ABOUT, "parameters": GOOGLE}]}, {"googleSearch": {}}]
    content = {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": ANSWER}]}
    request = {"contents": contents, "systemInstruction": {"parts": [{"text": SYSTEM}]}, "tools": tools}
    return [{"request": request, "response": {"candidates": [{"content": content, "finishReason": "STOP"}]}}]


OTEL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": SYSTEM}]),
    "gen_ai.tool.definitions": json.dumps([FLAT_TOOL]),
    "gen_ai.input.messages": json.dumps([
        {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": NAME, "arguments": CALLED}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": RESULT}]},
    ]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]}]),
}  # fmt: skip
_IN, _OUT = "llm.input_messages", "llm.output_messages"
AGENT = {
    **OTEL, "gen_ai.operation.name": "invoke_agent",
    "gen_ai.output.messages": json.dumps([
        {"role": "assistant", "parts": [{"type": "tool_call_response", "id": "c", "response": RESULT}]}
    ]),
}  # fmt: skip
PHOENIX = {
    "openinference.span.kind": "LLM",
    f"{_IN}.0.message.role": "system", f"{_IN}.0.message.content": SYSTEM,
    f"{_IN}.1.message.role": "user", f"{_IN}.1.message.contents.0.message_content.type": "text",
    f"{_IN}.1.message.contents.0.message_content.text": ASKED,
    f"{_IN}.2.message.role": "assistant", f"{_IN}.2.message.tool_calls.0.tool_call.id": "c",
    f"{_IN}.2.message.tool_calls.0.tool_call.function.name": NAME,
    f"{_IN}.2.message.tool_calls.0.tool_call.function.arguments": TEXT,
    f"{_IN}.3.message.role": "tool", f"{_IN}.3.message.tool_call_id": "c", f"{_IN}.3.message.content": RESULT,
    f"{_OUT}.0.message.role": "assistant", f"{_OUT}.0.message.content": ANSWER,
    "llm.tools.0.tool.json_schema": json.dumps(OPENAI_TOOL),
}  # fmt: skip
METERED = {
    "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": SYSTEM,
    "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": ASKED,
    "gen_ai.prompt.2.role": "assistant", "gen_ai.prompt.2.tool_calls.0.id": "c",
    "gen_ai.prompt.2.tool_calls.0.name": NAME, "gen_ai.prompt.2.tool_calls.0.arguments": TEXT,
    "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.tool_call_id": "c", "gen_ai.prompt.3.content": RESULT,
    "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": ANSWER,
    "llm.request.functions.0.name": NAME, "llm.request.functions.0.description": ABOUT["description"],
    "llm.request.functions.0.parameters": json.dumps(SCHEMA),
}  # fmt: skip
EVENTS = [
    {"name": "gen_ai.system.message", "attributes": {"content": SYSTEM}},
    {"name": "gen_ai.user.message", "attributes": {"content": ASKED}},
    {"name": "gen_ai.assistant.message", "attributes": {"tool_calls": json.dumps([CHAT_CALL])}},
    {"name": "gen_ai.tool.message", "attributes": {"id": "c", "content": RESULT}},
    {"name": "gen_ai.choice", "attributes": {"index": 0, "message": json.dumps({"content": ANSWER})}},
]


def spans(attributes: dict[str, Any], events: list[Any] | None = None) -> list[Any]:
    """Lines as an exporter writes them: the request to the model among others."""
    other = {"name": "execute_tool", "context": {"span_id": "1"}, "attributes": {"gen_ai.operation.name": "x"}}
    return [{"name": "chat", "context": {"span_id": "2"}, "attributes": attributes, "events": events or []}, other]


def otlp(attributes: dict[str, Any]) -> list[Any]:
    """One export request of OTLP/JSON."""
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    listed.append({"key": "gen_ai.request.max_tokens", "value": {"intValue": "9"}})
    return [{"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [{"spanId": "2", "attributes": listed}]}]}]}]


def _nested(attributes: dict[str, Any]) -> list[Any]:
    """A row of the table of spans that Phoenix gives: messages as lists."""
    message = [
        {"message.role": "system", "message.content": SYSTEM},
        {"message.role": "user", "message.content": ASKED},
        {"message.role": "assistant", "message.tool_calls": [
            {"tool_call.id": "c", "tool_call.function.name": NAME, "tool_call.function.arguments": TEXT}]},
        {"message.role": "tool", "message.tool_call_id": "c", "message.content": RESULT},
    ]  # fmt: skip
    told = [{"message.role": "assistant", "message.content": ANSWER}]
    tools = [{"tool.json_schema": json.dumps(OPENAI_TOOL)}]
    columns = {"llm.input_messages": message, "llm.output_messages": told, "llm.tools": tools}
    return [{"name": "chat", "span_kind": "LLM", **{f"attributes.{key}": each for key, each in columns.items()}}]


def _observation(kind: str, **fields: Any) -> dict[str, Any]:
    return {"id": f"o-{kind}", "traceId": "t", "type": kind, "startTime": "2026-01-01T00:00:00Z", **fields}


_GENERATION = _observation("GENERATION", input={"messages": CHAT, "tools": [OPENAI_TOOL]}, output=LAST)
LOGS: dict[str, list[Any]] = {
    "chat": [{"messages": [*CHAT, LAST], "tools": [OPENAI_TOOL]}],
    "chat_pairs": [
        {"request": {"messages": CHAT[:2], "tools": [OPENAI_TOOL]}, "response": completion(CHAT[2])},
        {"request": {"messages": CHAT, "tools": [OPENAI_TOOL]}, "response": completion(LAST)},
    ],
    "anthropic": _anthropic(),
    "responses": _responses(),
    "gemini": _gemini(),
    "otel": spans(OTEL),
    "otel_agent": [*spans(OTEL), {"name": "invoke_agent", "attributes": AGENT, "events": []}],  # as AI SDK 7 has it
    "otlp": otlp(OTEL),
    "otel_events": spans({"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": json.dumps([FLAT_TOOL])}, EVENTS),
    "openllmetry": spans(METERED),
    "phoenix": spans(PHOENIX),
    "phoenix_otlp": otlp(PHOENIX),
    "phoenix_table": _nested(PHOENIX),
    "langfuse": [_observation("SPAN", input="x", output="y"), _GENERATION],
    "langfuse_texts": [{**_GENERATION, "input": json.dumps(CHAT), "output": json.dumps(LAST),
                        "metadata": json.dumps({"tools": [OPENAI_TOOL]})}],
    "langfuse_trace": [{"id": "t", "observations": [_GENERATION, _observation("TOOL", input="x", output="y")]}],
    "litellm": [{"id": "l", "call_type": "acompletion", "messages": CHAT, "response": completion(LAST),
                 "model_parameters": {"tools": [OPENAI_TOOL], "stream": False}}],
    "litellm_spend": [{"request_id": "l", "messages": "{}", "response": json.dumps(completion(LAST)),
                       "proxy_server_request": json.dumps({"messages": CHAT, "tools": [OPENAI_TOOL]})}],
}  # fmt: skip

LOGS |= exporters.logs(CHAT, LAST, OPENAI_TOOL, completion)


def lines_of(log: list[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in log)
