"""One conversation as every kind of log has it: "Where is order 12?", a call, its result, an answer.

Recorded from anthropic 2.12, openai 3.54, google-genai 3.4, opentelemetry-sdk 1.45, openinference-semantic-conventions
0.1.42 and opentelemetry-semantic-conventions-ai 0.5.1; `test_logs_of_the_libraries_themselves` asks those installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAME, CALLED, SYSTEM, ASKED, RESULT, ANSWER = (
    "find-order", {"number": 12}, "You work for a shop.", "Where is order 12?", "sent", "It was sent.",
)  # fmt: skip
ABOUT = {"name": NAME, "description": "Tells the state of an order."}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer", "description": "Of the order."}},
    "required": ["number"],
}
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


LOGS: dict[str, list[Any]] = json.loads(Path(__file__).with_name("logs.json").read_text(encoding="utf-8"))
"""Format → the records of the conversation."""


def lines_of(log: list[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in log)
