"""The conversation of `recorded_logs` as exporters around an API write it.

Field by field as LangSmith 0.15 (with and without LangChain 1.7), MLflow 3.17, Helicone's helpers 1.8 and Vercel's AI
SDK 5 wrote it for the same conversation; figures and times are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_SPEAKERS = {"system": "SystemMessage", "user": "HumanMessage", "assistant": "AIMessage", "tool": "ToolMessage"}


def _constructed(message: dict[str, Any]) -> dict[str, Any]:
    """A message as LangChain writes it."""
    kind = _SPEAKERS[message["role"]]
    fields = {"content": message["content"] or "", "type": kind.removesuffix("Message").lower()}
    if message.get("tool_calls"):
        fields["tool_calls"] = [
            {"name": call["function"]["name"], "args": json.loads(call["function"]["arguments"]), "id": call["id"],
             "type": "tool_call"}
            for call in message["tool_calls"]
        ]  # fmt: skip
    if message["role"] == "tool":
        fields |= {"tool_call_id": message["tool_call_id"], "status": "success"}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": fields}


def langchain_run(chat: list[Any], reply: dict[str, Any], tool: dict[str, Any], ended: str) -> dict[str, Any]:
    """A run of LangChain's tracer."""
    generation = {"text": reply["content"], "generation_info": {"finish_reason": ended, "logprobs": None},
                  "type": "ChatGeneration", "message": _constructed(reply)}  # fmt: skip
    return {
        "id": "r", "name": "ChatOpenAI", "run_type": "llm", "error": None, "status": "success",
        "extra": {"invocation_params": {"model": "g", "tools": [tool]}, "metadata": {}},
        "inputs": {"messages": [[_constructed(each) for each in chat]]},
        "outputs": {"generations": [[generation]], "llm_output": {}, "run": None, "type": "LLMResult"},
    }  # fmt: skip


def vercel_span(chat: list[Any], tool: dict[str, Any], ended: str, **told: Any) -> dict[str, Any]:
    """A span of the AI SDK around one request; ``told`` are fields of ``ai.response``."""
    function = tool["function"]
    messages: list[Any] = []
    for message in chat:
        content: Any = message["content"]
        if message["role"] == "user":
            content = [{"type": "text", "text": content}]
        elif message.get("tool_calls"):
            call = message["tool_calls"][0]
            given = json.loads(call["function"]["arguments"])
            content = [{"type": "tool-call", "toolCallId": "c", "toolName": call["function"]["name"], "input": given}]
        elif message["role"] == "tool":
            output = {"type": "text", "value": content}
            content = [{"type": "tool-result", "toolCallId": "c", "toolName": function["name"], "output": output}]
        messages.append({"role": message["role"], "content": content})
    offered = {"type": "function", "name": function["name"], "description": function["description"],
               "inputSchema": function["parameters"]}  # fmt: skip
    attributes = {
        "operation.name": "ai.generateText.doGenerate", "ai.operationId": "ai.generateText.doGenerate",
        "ai.prompt.messages": json.dumps(messages), "ai.prompt.tools": [json.dumps(offered)],
        "ai.prompt.toolChoice": json.dumps({"type": "auto"}), "gen_ai.system": "g", "ai.response.finishReason": ended,
        "gen_ai.response.finish_reasons": [ended], **{f"ai.response.{name}": value for name, value in told.items()},
    }  # fmt: skip
    return {"name": "ai.generateText.doGenerate", "attributes": attributes, "status": {"code": 0}, "events": []}


def mlflow_trace(request: Any, response: Any, status: str = "STATUS_CODE_OK") -> dict[str, Any]:
    """A trace as ``Trace.to_json`` gives it: every attribute is JSON in a text."""
    told = {"mlflow.spanType": "CHAT_MODEL", "mlflow.spanInputs": request, "mlflow.spanOutputs": response}
    span = {"name": "Completions", "span_id": "s", "status": {"code": status, "message": ""},
            "attributes": {name: json.dumps(value) for name, value in told.items()}}  # fmt: skip
    return {"info": {"trace_id": "t", "state": "OK"}, "data": {"spans": [span]}}


def helicone_log(request: Any, response: Any, status: int = 200) -> dict[str, Any]:
    """What the logger sends."""
    asked = {"url": "custom-model-nopath", "json": request, "meta": {}}
    return {"providerRequest": asked, "providerResponse": {"headers": {}, "status": status, "json": response}}


def logs(
    chat: list[Any], last: dict[str, Any], tool: dict[str, Any], completion: Callable[[Any], Any]
) -> dict[str, list[Any]]:
    """Name of the log → its lines."""
    request, response = {"messages": chat, "model": "g", "tools": [tool]}, completion(last)
    run = {"id": "r", "run_type": "llm", "inputs": request, "outputs": response, "error": None, "status": "success"}
    around = {"name": "ai.generateText", "attributes": {"ai.operationId": "ai.generateText", "ai.prompt": "{}"}}
    return {
        "langsmith": [run],
        "langsmith_tree": [{"id": "c", "run_type": "chain", "inputs": {}, "outputs": {}, "child_runs": [run]}],
        "langchain": [langchain_run(chat, last, tool, "stop")],
        "mlflow": [mlflow_trace(request, response)],
        "helicone": [helicone_log(request, response)],
        "helicone_rows": [
            {"request_id": "h", "request_body": request, "response_body": response, "response_status": 200}
        ],
        "vercel": [vercel_span(chat, tool, "stop", text=last["content"]), around],
        "stored": [{**response, "object": "chat.completion", "tools": [tool], "messages": {"data": chat}}],
    }  # fmt: skip
