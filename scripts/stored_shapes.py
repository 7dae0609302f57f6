"""What the handlers of an installed bfcl-eval store for each kind of vendor reply: our readers are tested by it.

Run by the Python of an environment of its own that has ``bfcl-eval`` and the vendors' SDKs: ``PYTHON
scripts/stored_shapes.py > tests/runs/stored_shapes.jsonl``. A handler is only run, on made-up replies of its vendor's
API; what it returns goes through JSON as in its result files. Lines: handlers that store the same, ``mode``, ``api``,
``kind`` of reply and ``result``; handlers that raise have ``raises`` in its place. Cohere's, which parses an object
of its own making, is left out.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace as Object
from typing import Any

CALL = ("find_order", {"number": 12, "express": True})
OTHER = ("find_order", {"number": 13, "express": False})
SAID = "I look it up."
REFUSED = "I cannot help with that."
OTHER_WORDS = "(words of the handler)"
"""In the table in place of the reference's own texts."""
KINDS: dict[str, tuple[str, list[tuple[str, dict[str, Any]]], str]] = {
    "text": (SAID, [], ""), "call": ("", [CALL], ""), "call and text": (SAID, [CALL], ""),
    "several": ("", [CALL, OTHER], ""), "empty": ("", [], ""), "refusal": ("", [], REFUSED),
    "no arguments": ("", [("list_orders", {})], ""),
}  # fmt: skip
"""Kind of reply → text, calls, refusal."""
KEYS = ("OPENAI", "ANTHROPIC", "GOOGLE", "MISTRAL", "COHERE", "WRITER", "DEEPSEEK", "FIREWORKS", "GROK", "QWEN", "KIMI",
        "GLM", "NVIDIA", "NOVITA", "DMCITO", "LING", "NANBEIGE", "MINING", "GOGOAGENT", "FUNCTIONARY", "NEMOTRON",
        "ARK")  # fmt: skip


def _chat(text: str, calls: list[Any], refusal: str) -> Any:
    from openai.types.chat import ChatCompletion

    listed = [{"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
              for number, (name, arguments) in enumerate(calls)]  # fmt: skip
    message = {"role": "assistant", "content": text or None, "tool_calls": listed or None, "refusal": refusal or None}
    choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return ChatCompletion.model_validate(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


def _chunks(text: str, calls: list[Any], refusal: str) -> Any:
    from openai.types.chat import ChatCompletionChunk

    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": text or None}]
    for number, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        deltas.append({"tool_calls": [{"index": number, "id": f"c{number}", "type": "function", "function": function}]})
    plain = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [{**plain, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return iter(
        [ChatCompletionChunk.model_validate(each) for each in [*events, {**plain, "choices": [], "usage": usage}]]
    )


def _completion(text: str, calls: list[Any], refusal: str) -> Any:
    """A local model's text: its own format is the handler's affair, so calls are left out."""
    said = text or refusal
    return Object(choices=[Object(text=said)], usage=Object(prompt_tokens=9, completion_tokens=9))


def _responses(text: str, calls: list[Any], refusal: str) -> Any:
    from openai.types.responses import Response

    items: list[dict[str, Any]] = []
    parts = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    parts += [{"type": "refusal", "refusal": refusal}] if refusal else []
    if parts:
        items.append({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": parts})
    for number, (name, arguments) in enumerate(calls):
        items.append({"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": name,
                      "arguments": json.dumps(arguments), "status": "completed"})  # fmt: skip
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return Response.model_validate({
        "id": "r", "object": "response", "created_at": 1, "model": "m", "output": items, "status": "completed",
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18, **details}})  # fmt: skip


def _messages(text: str, calls: list[Any], refusal: str) -> Any:
    from anthropic.types import Message

    blocks: list[dict[str, Any]] = [{"type": "text", "text": text or refusal}] if text or refusal else []
    blocks += [{"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
               for number, (name, arguments) in enumerate(calls)]  # fmt: skip
    return Message.model_validate({
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks,
        "stop_reason": "tool_use" if calls else "refusal" if refusal else "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 9}})  # fmt: skip


def _gemini(text: str, calls: list[Any], refusal: str) -> Any:
    from google.genai.types import GenerateContentResponse

    parts: list[dict[str, Any]] = [{"text": text or refusal}] if text or refusal else []
    parts += [{"function_call": {"name": name, "args": arguments}} for name, arguments in calls]
    counts = {"prompt_token_count": 9, "candidates_token_count": 9}
    return GenerateContentResponse.model_validate({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finish_reason": "STOP"}],
        "usage_metadata": counts})  # fmt: skip


def _nova(text: str, calls: list[Any], refusal: str) -> Any:
    said = text or refusal
    blocks: list[dict[str, Any]] = [{"text": said}] if said else []
    blocks += [{"toolUse": {"toolUseId": f"t{number}", "name": name, "input": arguments}}
               for number, (name, arguments) in enumerate(calls)]  # fmt: skip
    return {"output": {"message": {"role": "assistant", "content": blocks}},
            "stopReason": "tool_use" if calls else "end_turn",
            "usage": {"inputTokens": 9, "outputTokens": 9}}  # fmt: skip


def _as_dict(text: str, calls: list[Any], refusal: str) -> Any:
    return _chat(text, calls, refusal).model_dump()


def _thinking(text: str, calls: list[Any], refusal: str) -> Any:
    reply = _chat(text, calls, refusal)
    reply.choices[0].message.reasoning_content = "Hm."
    return reply


Vendor = Callable[[str, list[Any], str], Any]
APIS: dict[str, Vendor] = {
    "responses": _responses, "anthropic": _messages, "gemini": _gemini, "nova": _nova,
    "chunks": _chunks, "chat": _chat, "completions": _completion, "dict": _as_dict, "thinking": _thinking,
}  # fmt: skip
OF_MODULES = {
    "openai_response": "responses", "claude": "anthropic", "gemini": "gemini", "nova": "nova",
    "qwen": "chunks", "gorilla": "dict", "nanbeige": "thinking",
}  # fmt: skip


def api_of(handler: type) -> str:
    """The API whose replies a handler parses."""
    module = handler.__module__
    if handler.__name__.startswith("QwenAgent"):
        return "dict"
    if ".local_inference." in module:
        return "completions"
    return OF_MODULES.get(module.rsplit(".", 1)[-1], "chat")


def made(handler: type, name: str, config: Any) -> Any:
    """A handler with what parsing asks of it; no client is built."""
    one = object.__new__(handler)
    one.model_name = one.registry_name = name
    one.model_name_underline_replaced = one.registry_dir_name = name.replace("/", "_")
    one.is_fc_model, one.temperature = config.is_fc_model, 0.001
    return one


def stored(one: Any, reply: Any, *, native: bool) -> Any:
    """What a result file would hold."""
    way = "FC" if native else "prompting"
    parsed = getattr(one, f"_parse_query_response_{way}")(reply)
    result = json.loads(json.dumps(parsed["model_responses"], default=str))
    return OTHER_WORDS if isinstance(result, str) and result not in ("", SAID, REFUSED) else result


def lines() -> Iterator[dict[str, Any]]:
    """The table, one line for every result, with the handlers that store it."""
    for key in KEYS:
        os.environ.setdefault(f"{key}_API_KEY", "x")
    models = importlib.import_module("bfcl_eval.constants.model_config").MODEL_CONFIG_MAPPING
    known: dict[tuple[type, bool], tuple[str, Any]] = {}
    for name, config in models.items():
        known.setdefault((config.model_handler, config.is_fc_model), (name, config))
    found: dict[str, dict[str, Any]] = {}
    for (handler, configured), (name, config) in known.items():
        if handler.__name__ == "CohereHandler":
            continue
        api = api_of(handler)
        # A local model's calls are text, and so are Gorilla's.
        native = configured and api != "completions" and handler.__name__ != "GorillaHandler"
        for kind, given in KINDS.items():
            if given[1] and not native:
                continue
            line: dict[str, Any] = {"mode": "fc" if native else "prompt", "api": api, "kind": kind}
            try:
                line["result"] = stored(made(handler, name, config), APIS[api](*given), native=native or api == "dict")
            except Exception as error:
                line["raises"] = type(error).__name__
            key = json.dumps(line, sort_keys=True)
            found.setdefault(key, {"handlers": [], **line})["handlers"].append(handler.__name__)
    yield from found.values()


if __name__ == "__main__":
    for each in lines():
        sys.stdout.write(json.dumps(each, ensure_ascii=False) + "\n")
