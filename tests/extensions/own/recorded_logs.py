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
LOGS: dict[str, list[Any]] = json.loads(Path(__file__).with_name("logs.json").read_text(encoding="utf-8"))
"""Format → the records of the conversation."""
OTEL, PHOENIX, METERED = (LOGS[name][0]["attributes"] for name in ("otel", "phoenix", "openllmetry"))


def lines_of(log: list[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in log)
