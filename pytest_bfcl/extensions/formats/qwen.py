"""Qwen's templates and similar ones: Qwen 3, Nanbeige, Pelican, Granite 4, Arch (formats spec §3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pytest_bfcl.extensions.formats.templates import CHATML_REPLY, Prompted, chatml, one_line, text_of
from pytest_bfcl.transcript import Message

RESPONSE, RESPONSE_END = "<tool_response>", "</tool_response>"


def _result(content: str) -> str:
    return f"{RESPONSE}\n{content}\n{RESPONSE_END}"


def qwen3(shown: Prompted) -> str:
    """Qwen 3 without tools."""
    system = chatml("system", shown.system) if shown.system is not None else ""
    return system + _dialogue(shown.rest) + CHATML_REPLY


def qwen3_tools(shown: Prompted) -> str:
    """Qwen 3 with tools."""
    if not shown.functions:
        return qwen3(shown)
    before = f"{shown.system}\n\n" if shown.system is not None else ""
    return _tools(before, shown) + _dialogue(shown.rest) + CHATML_REPLY


def nanbeige(shown: Prompted) -> str:
    """Nanbeige 4: like Qwen 3, with its own instructions if there is no system message."""
    if not shown.functions:
        head = chatml("system", shown.system) if shown.system is not None else shown.texts["nanbeige.no_tools"]
    else:
        head = _tools(f"{shown.system}\n\n" if shown.system is not None else shown.texts["nanbeige.system"], shown)
    return head + _dialogue(shown.rest) + CHATML_REPLY


def _tools(before: str, shown: Prompted) -> str:
    """The system block with tools; its last text ends the message."""
    texts = shown.texts
    return f"<|im_start|>system\n{before}{texts['qwen.tools_head']}{_listed(shown)}{texts['qwen.tools_tail']}"


def _listed(shown: Prompted) -> str:
    """The tools, one a line."""
    return "".join(f"\n{one_line(function)}" for function in shown.functions)


def _dialogue(messages: Sequence[Message]) -> str:
    last_query = _last_query(messages)
    parts = []
    for number, message in enumerate(messages):
        content, role = text_of(message), message["role"]
        if role == "assistant":
            last = number == len(messages) - 1
            parts.append(_assistant(message, number > last_query, last))
        elif role == "tool":
            parts.append(_response(messages, number, f"\n{_result(content)}"))
        else:
            parts.append(chatml(role, content))
    return "".join(parts)


def _last_query(messages: Sequence[Message]) -> int:
    """The last user message without results, else the last message."""
    for number in range(len(messages) - 1, -1, -1):
        content = text_of(messages[number])
        wrapped = content.startswith(RESPONSE) and content.endswith(RESPONSE_END)
        if messages[number]["role"] == "user" and not wrapped:
            return number
    return len(messages) - 1


def _assistant(message: Message, after_query: bool, last: bool) -> str:
    content = text_of(message)
    reasoning = message.get("reasoning_content") or ""
    if not reasoning and "</think>" in content:
        reasoning = content.partition("</think>")[0].rstrip("\n").rpartition("<think>")[2].lstrip("\n")
        content = content.rpartition("</think>")[2].lstrip("\n")
    if after_query and (last or reasoning):
        reasoned = reasoning.strip("\n")
        said = f"<think>\n{reasoned}\n</think>\n\n" + content.lstrip("\n")
    else:
        said = content
    return chatml("assistant", said + _calls(message, bool(content)))


def _calls(message: Message, content: bool) -> str:
    calls = message.get("tool_calls") or []
    written = "\n".join(map(tool_call, calls))
    return f"\n{written}" if calls and content else written


def tool_call(call: Any, ascii_only: bool = True) -> str:
    """A call in Qwen's form; text arguments are unchanged."""
    arguments = call["arguments"]
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=ascii_only)
    return f'<tool_call>\n{{"name": "{call["name"]}", "arguments": {written}}}\n</tool_call>'


def _response(messages: Sequence[Message], number: int, written: str, opening: str = "<|im_start|>user",
              closing: str = "<|im_end|>\n") -> str:  # fmt: skip
    """A result; consecutive ones share one user message."""
    before = messages[number - 1]["role"] if number else ""
    after = messages[number + 1]["role"] if number + 1 < len(messages) else ""
    return ("" if before == "tool" else opening) + written + ("" if after == "tool" else closing)


def pelican(shown: Prompted) -> str:
    """Pelican VL: each message its own block, no reasoning."""
    if shown.functions:
        before = f"{shown.system}\n\n" if shown.system is not None else ""
        tools = (
            f"{shown.texts['pelican.tools_head']}\n<tools>{_listed(shown)}\n</tools>{shown.texts['pelican.tools_tail']}"
        )
        head = chatml("system", before + tools)
    else:
        head = chatml("system", "You are a helpful assistant." if shown.system is None else shown.system)
    parts = [head]
    for message in shown.rest:
        content, role = text_of(message), message["role"]
        if role == "tool":
            content = _result(content)
        elif role == "assistant":
            content = "".join(tool_call(call, False) for call in message.get("tool_calls") or []) + content
        parts.append(chatml(role, content))
    return "".join(parts) + CHATML_REPLY


def arch(shown: Prompted) -> str:
    """Arch-Agent: like Qwen 2.5, always with a system block."""
    system = shown.texts["arch.system"] if shown.system is None else shown.system
    if shown.functions:
        tail = shown.texts["arch.tools_tail"]
        head = f"<|im_start|>system\n{system}{shown.texts['arch.tools_head']}{_listed(shown)}{tail}"
    else:
        head = chatml("system", system)
    parts = [head]
    for number, message in enumerate(shown.rest):
        content, role = text_of(message), message["role"]
        if role == "tool":
            parts.append(_response(shown.rest, number, f"\n{_result(content)}"))
        elif role == "assistant" and message.get("tool_calls"):
            said = f"\n{content}" if content else ""
            written = "".join(f"\n{tool_call(call)}" for call in message["tool_calls"])
            parts.append(f"<|im_start|>assistant{said}{written}<|im_end|>\n")
        else:
            parts.append(chatml(role, content))
    return "".join(parts) + CHATML_REPLY


def granite4(shown: Prompted) -> str:
    """Granite 4."""
    texts = shown.texts
    if shown.functions:
        tools = f"{texts['granite4.tools_head']}{_listed(shown)}{texts['granite4.tools_tail']}"
        head = tools if shown.system is None else f"{shown.system}\n\n{tools}"
    else:
        head = texts["granite4.system"] if shown.system is None else shown.system
    parts = [_granite("system", head)]
    for number, message in enumerate(shown.rest):
        content, role = text_of(message), message["role"]
        if role == "tool":
            written = f"\n{_result(content)}"
            opening, closing = "<|start_of_role|>user<|end_of_role|>", "<|end_of_text|>\n"
            parts.append(_response(shown.rest, number, written, opening, closing))
        elif role == "assistant":
            parts.append(_granite(role, content + _calls(message, bool(content))))
        else:
            parts.append(_granite(role, content))
    return "".join(parts) + "<|start_of_role|>assistant<|end_of_role|>"


def _granite(role: str, content: str) -> str:
    return f"<|start_of_role|>{role}<|end_of_role|>{content}<|end_of_text|>\n"
