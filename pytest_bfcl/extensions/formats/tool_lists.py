"""Templates of families that are shown tools in their own layouts (formats spec §3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.extensions.formats.parts import (
    CHATML_REPLY,
    LLAMA_REPLY,
    Prompted,
    chatml,
    indented,
    llama,
    one_line,
    text_of,
)
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.schemas import compile_tools


def granite3(shown: Prompted) -> str:
    """Granite 3: a message of tools; nothing opens the reply."""
    texts = shown.texts
    if shown.system is not None:
        system = shown.system
    else:
        system = texts["granite3.system"] + (texts["granite3.tools"] if shown.functions else "")
    blocks = [("system", system)]
    if shown.functions:
        blocks.append(("tools", indented(list(shown.functions))))
    blocks += [(message["role"], text_of(message)) for message in shown.rest]
    return "".join(f"<|start_of_role|>{role}<|end_of_role|>{content}<|end_of_text|>\n" for role, content in blocks)


def phi4mini_tools(shown: Prompted) -> str:
    """Phi-4-mini with tools."""
    system = "You are a helpful assistant with some tools." if shown.system is None else shown.system
    if any(message["role"] == "system" for message in shown.rest):
        raise UsageError("the template of this family takes one system message")
    listed = "".join(f"{one_line(function)}\n" for function in shown.functions)
    said = "".join(f"<|{m['role']}|>{text_of(m)}<|end|>" for m in shown.rest)
    return f"<|system|>{system}<|tool|>{listed}<|/tool|><|end|>{said}<|assistant|>"


def granite20b(shown: Prompted) -> str:
    """Granite 20B function calling; functions in OpenAI's schema words."""
    functions = "\n".join(one_line(tool["function"]) for tool in compile_tools(shown.functions))
    system = shown.texts["granite20b.system"].replace("{functions_str}", functions)
    said = "".join(f"{m['role'].upper()}:\n{text_of(m)}\n\n" for m in shown.messages)
    return f"{system}{said}ASSISTANT: "


def llama31(shown: Prompted) -> str:
    """Llama 3.1 with tools in the first user message."""
    environment = "Environment: ipython\nCutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
    system = "" if shown.system is None else shown.system.strip()
    parts = ["<|begin_of_text|>", llama("system", environment + system)]
    listed = "".join(f"{indented(function)}\n\n" for function in shown.functions)
    first = True
    for message in shown.rest:
        content, role = text_of(message), message["role"]
        if role == "user" and first:
            parts.append(llama("user", f"{shown.texts['llama31.instruction']}{listed}{content.strip()}"))
            first = False
        elif role == "tool":
            parts.append(llama("ipython", content))
        else:
            parts.append(llama(role, content.strip()))
    return "".join(parts) + LLAMA_REPLY


def _xlam_system(shown: Prompted, default: str) -> str:
    system = shown.texts[default] if shown.system is None else shown.system.strip()
    listed = "".join(f"{indented(function)}\n\n" for function in shown.functions)
    return f"{system}\n{shown.texts['xlam.instruction']}{listed}"


def _xlam_llama(shown: Prompted, default: str) -> str:
    parts = ["<|begin_of_text|>", llama("system", _xlam_system(shown, default))]
    for message in shown.rest:
        content, role = text_of(message), message["role"]
        parts.append(llama("ipython", content) if role == "tool" else llama(role, content.strip()))
    return "".join(parts) + LLAMA_REPLY


def xlam_llama(shown: Prompted) -> str:
    """xLAM 2 on Llama."""
    return _xlam_llama(shown, "xlam.system")


def bitagent(shown: Prompted) -> str:
    """BitAgent Bounty: xLAM's template with its own system text."""
    return _xlam_llama(shown, "bitagent.system")


def xlam_qwen(shown: Prompted) -> str:
    """xLAM 2 on Qwen: no line feed behind a message."""
    parts = [chatml("system", _xlam_system(shown, "xlam.system"), "<|im_end|>")]
    for message in shown.rest:
        content, role = text_of(message), message["role"]
        parts.append(chatml(role, content if role == "tool" else content.strip(), "<|im_end|>"))
    return "".join(parts) + CHATML_REPLY


def hammer(shown: Prompted) -> str:
    """Hammer 2.1; its handler adds notes about defaults once more with every query."""
    tools = [_hammer_tool(function, shown.query) for function in shown.functions]
    texts = shown.texts
    sections = (
        ("TASK INSTRUCTION", texts["hammer.task"]),
        ("AVAILABLE TOOLS", one_line(tools)),
        ("FORMAT INSTRUCTION", texts["hammer.format"]),
    )
    head = "".join(f"[BEGIN OF {name}]\n{text}\n[END OF {name}]\n\n" for name, text in sections)
    parts = [chatml("system", "You are a helpful assistant."), chatml("user", head)]
    parts += [chatml(message["role"], text_of(message)) for message in shown.messages]
    return "".join(parts) + CHATML_REPLY


def _hammer_tool(function: Fields, query: int) -> Parsed:
    shown = _hammer_properties(function.get("parameters") or {}, query)
    return {"name": function["name"], "description": function.get("description", ""), "parameters": shown}


def _hammer_properties(schema: Fields, query: int) -> Parsed:
    required = schema.get("required") or []
    members = (schema.get("properties") or {}).items()
    return {name: _hammer_property(member, name in required, query) for name, member in members}


def _hammer_property(schema: object, required: bool, query: int) -> Any:
    """A property; one with properties of its own is replaced by them."""
    if not isinstance(schema, Mapping):
        return schema
    if "properties" in schema:
        return _hammer_properties(schema, query)
    result = dict(schema)
    if "default" in result:
        if "description" not in result:
            raise UsageError("the template of this family fails on a default without description")
        result["description"] += f"default is '{result['default']}'" * query
    if required:
        result["required"] = True
    return result


def glm4(shown: Prompted) -> str:
    """GLM-4; without tools the head is missing."""
    head = ""
    if shown.functions:
        head = shown.texts["glm4.head"]
        for tool in compile_tools(shown.functions):
            function = tool["function"]
            head += f"\n\n## {function['name']}\n\n{indented(function)}{shown.texts['glm4.sentence']}"
    said = "".join(f"<|{m['role']}|>\n{text_of(m)}" for m in shown.messages)
    return f"{head}{said}<|assistant|>"


def mistral(shown: Prompted) -> str:
    """Mistral: tools stand before the last user message."""
    last = [number for number, message in enumerate(shown.rest) if message["role"] == "user"]
    marked = shown.rest[last[-1]] if last else None
    parts = ["<s>"]
    for number, message in enumerate(shown.rest):
        content, role = text_of(message), message["role"]
        if role == "user":
            if shown.functions and message == marked:
                parts.append(f"[AVAILABLE_TOOLS][{', '.join(map(_mistral_tool, shown.functions))}][/AVAILABLE_TOOLS]")
            leading = shown.system is not None and number == len(shown.rest) - 1
            parts.append(f"[INST]{f'{shown.system}' + chr(10) * 2 if leading else ''}{content}[/INST]")
        elif role == "assistant":
            parts.append(f"{content}</s>")
        elif role == "tool":
            result = {"content": content, "call_id": message.get("tool_call_id", "")}
            parts.append(f"[TOOL_RESULTS]{one_line(result)}[/TOOL_RESULTS]")
    return "".join(parts)


def _mistral_tool(function: Fields) -> str:
    """Texts at the top are put between quotes as they are."""
    fields = [
        f'"{key}": "{value}"' if isinstance(value, str) else f'"{key}": {json.dumps(value)}'
        for key, value in function.items()
        if key != "return"
    ]
    return f'{{"type": "function", "function": {{{", ".join(fields)}}}}}'


def thinkagent(shown: Prompted) -> str:
    """ThinkAgent: one user block and nothing later."""
    tools = [
        {
            "name": function["name"],
            "description": function.get("description", ""),
            "parameters": (function.get("parameters") or {}).get("properties") or {},
        }
        for function in shown.functions
    ]
    first = next((text_of(m).strip() for m in shown.messages if m["role"] != "system"), "")
    texts = shown.texts
    system = "Cutting Knowledge Date: December 2023Today Date: 07 Dec 2024"
    instruction = f"{texts['thinkagent.instruction']}{texts['thinkagent.format']}Do not use variables."
    user = f"{instruction}Available tools:{tools}{first}"
    reply = "<|start_header_id|>assistant<|end_header_id|>"
    return f"<|begin_of_text|>{llama('system', system, '')}{llama('user', user, '')}{reply}"
