"""One call in the shapes of every library: as its object has them and as its dump has them.

Recorded from openai 2.54, anthropic 2.12, langchain-core 1.7, pydantic-ai-slim 2.68, smolagents 1.26, llama-index-core
0.14, litellm 1.106, google-genai 3.4 and mistralai 3.7; `test_sdk_objects` asks the libraries themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

ARGUMENTS = {"city": "Paris", "days": 3}
TEXT = json.dumps(ARGUMENTS)
NAME = "get_weather"


class Role(StrEnum):
    ASSISTANT = "assistant"


@dataclass
class SmolFunction:
    arguments: Any
    name: str
    description: str | None = None


@dataclass
class SmolCall:
    function: SmolFunction
    id: str
    type: str


@dataclass
class SmolMessage:
    role: Role
    content: Any = None
    tool_calls: list[SmolCall] | None = None
    raw: Any = None
    token_usage: Any = None


@dataclass
class PydanticPart:
    part_kind: str
    content: Any = None
    tool_name: str = ""
    args: Any = None
    tool_call_id: str = ""


@dataclass
class PydanticMessage:
    parts: list[PydanticPart]
    kind: str = "response"
    usage: Any = field(default_factory=dict)
    finish_reason: str | None = None


def objects(value: Any) -> Any:
    """A dump as the objects of a library that keeps its fields as attributes."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: objects(item) for name, item in value.items()})
    return [objects(item) for item in value] if isinstance(value, list) else value


CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": TEXT}}
CHAT_MESSAGE = {"role": "assistant", "content": None, "refusal": None, "function_call": None, "tool_calls": [CHAT_CALL]}
COMPLETION = {
    "id": "x", "object": "chat.completion", "usage": {"prompt_tokens": 7, "completion_tokens": 5},
    "choices": [{"index": 0, "finish_reason": "tool_calls", "message": CHAT_MESSAGE}],
}  # fmt: skip
REASONING_ITEM = {
    "id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "enc",
}  # fmt: skip
RESPONSE_CALL = {
    "type": "function_call", "id": "fc", "call_id": "c1", "name": NAME, "arguments": TEXT, "status": "completed",
}  # fmt: skip
RESPONSE = {
    "id": "r", "object": "response", "status": "completed", "error": None, "incomplete_details": None, "text": None,
    "output": [REASONING_ITEM, RESPONSE_CALL], "usage": {"input_tokens": 7, "output_tokens": 5},
}  # fmt: skip
TOOL_USE = {"type": "tool_use", "id": "c1", "name": NAME, "input": ARGUMENTS}
ANTHROPIC = {
    "id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use",
    "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "I look."},
                TOOL_USE],
    "usage": {"input_tokens": 7, "output_tokens": 5},
}  # fmt: skip
LANGCHAIN_CALL = {"name": NAME, "args": ARGUMENTS, "id": "c1", "type": "tool_call"}
LANGCHAIN = {
    "content": "", "additional_kwargs": {}, "response_metadata": {}, "type": "ai", "name": None, "id": None,
    "tool_calls": [LANGCHAIN_CALL], "invalid_tool_calls": [], "usage_metadata": None,
}  # fmt: skip
PYDANTIC_AI = {
    "parts": [{"content": "hm", "part_kind": "thinking"},
              {"tool_name": NAME, "args": ARGUMENTS, "tool_call_id": "c1", "part_kind": "tool-call"}],
    "kind": "response", "usage": {"input_tokens": 7, "output_tokens": 5}, "finish_reason": None,
}  # fmt: skip
LLAMA_BLOCKS = {
    "role": "assistant", "additional_kwargs": {},
    "blocks": [{"block_type": "thinking", "content": "hm"}, {"block_type": "text", "text": "I look."},
               {"block_type": "tool_call", "tool_call_id": "c1", "tool_name": NAME, "tool_kwargs": ARGUMENTS}],
}  # fmt: skip
GEMINI = {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
    {"text": "hm", "thought": True}, {"functionCall": {"name": NAME, "args": ARGUMENTS}}]}}]}  # fmt: skip
BEDROCK = {"stopReason": "tool_use", "output": {"message": {"role": "assistant", "content": [
    {"text": "I look."}, {"toolUse": {"toolUseId": "c1", "name": NAME, "input": ARGUMENTS}}]}}}  # fmt: skip
OLLAMA_CALL = {"function": {"name": NAME, "arguments": ARGUMENTS}}
OLLAMA = {"model": "m", "done": True, "message": {"role": "assistant", "content": "", "tool_calls": [OLLAMA_CALL]}}

ONE_CALL: dict[str, Any] = {
    "OpenAI completion": COMPLETION,
    "OpenAI message": CHAT_MESSAGE,
    "OpenAI tool calls": [CHAT_CALL],
    "OpenAI tool call": CHAT_CALL,
    "legacy function call": {"role": "assistant", "content": None, "function_call": {"name": NAME, "arguments": TEXT}},
    "Responses": RESPONSE,
    "Responses items": RESPONSE["output"],
    "Anthropic": ANTHROPIC,
    "Anthropic blocks": ANTHROPIC["content"],
    "LangChain": LANGCHAIN,
    "LangChain message_to_dict": {"type": "ai", "data": LANGCHAIN},
    "LangChain tool calls": [LANGCHAIN_CALL],
    "LangChain over Anthropic": {**LANGCHAIN, "content": ANTHROPIC["content"]},
    "LangChain chunk": {**LANGCHAIN, "type": "AIMessageChunk"},
    "LangChain result": {"generations": [[{"text": "", "message": LANGCHAIN}]], "llm_output": None},
    "LangGraph state": {"messages": [{**LANGCHAIN, "type": "human", "tool_calls": []}, LANGCHAIN]},
    "pydantic-ai": PYDANTIC_AI,
    "LlamaIndex blocks": LLAMA_BLOCKS,
    "LlamaIndex response": {"message": LLAMA_BLOCKS, "raw": {}, "delta": None, "additional_kwargs": {}},
    "LlamaIndex kwargs": {"role": "assistant", "additional_kwargs": {"tool_calls": [CHAT_CALL]},
                          "blocks": [{"block_type": "text", "text": ""}]},
    "LlamaIndex selection": [{"tool_id": "c1", "tool_name": NAME, "tool_kwargs": ARGUMENTS}],
    "Gemini": GEMINI,
    "Bedrock": BEDROCK,
    "Ollama": OLLAMA,
}  # fmt: skip
ONE_CALL |= {f"{name}, objects": objects(shape) for name, shape in ONE_CALL.items() if name != "LangChain result"}
ONE_CALL |= {
    "smolagents": SmolMessage(Role.ASSISTANT, None, [SmolCall(SmolFunction(ARGUMENTS, NAME), "c1", "function")]),
    "pydantic-ai dataclass": PydanticMessage([
        PydanticPart("thinking", "hm"), PydanticPart("tool-call", None, NAME, TEXT, "c1"),
    ]),
    "one-key": [{NAME: ARGUMENTS}],
    "one-key text": [{NAME: TEXT}],
    "pair": [(NAME, ARGUMENTS)],
    "plain call": {"name": NAME, "arguments": ARGUMENTS},
}  # fmt: skip

QUESTION = {"role": "user", "content": "How is the weather in Paris?"}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "20 degrees"}
DONE = {"role": "assistant", "content": "It is 20 degrees."}
