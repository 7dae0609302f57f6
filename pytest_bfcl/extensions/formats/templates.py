"""Templates of model families: their common parts, and the short ones (formats spec §3).

JSON as templates print it, messages of ChatML and of Llama's tokens; families in prompting mode, whose tools are in the
system message; families with their own layouts of tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.table import Format
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.schemas import compile_tools
from pytest_bfcl.transcript import Message

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import FunctionDoc
    from pytest_bfcl.fetching.texts import FormatTexts


@dataclass(frozen=True, slots=True)
class Prompted:
    """The input of a template. ``query`` counts the conversation's requests from 1.

    ``variables`` are names that a model's own template may read besides (``chat_template_kwargs``).
    """

    messages: Sequence[Message]
    functions: Sequence[FunctionDoc]
    texts: FormatTexts
    query: int = 1
    variables: Fields = field(default_factory=dict)

    @property
    def system(self) -> str | None:
        """The leading system message's text, ``None`` without one."""
        first = self.messages[0] if self.messages else {}
        return text_of(first) if first.get("role") == "system" else None

    @property
    def rest(self) -> Sequence[Message]:
        """The messages after a leading system message."""
        return self.messages if self.system is None else self.messages[1:]


Template = Callable[[Prompted], str]
"""A family's template: input → prompt."""


def text_of(message: Fields) -> str:
    """A message's content; null is the empty text."""
    content = message.get("content")
    return content if isinstance(content, str) else "" if content is None else str(content)


def one_line(value: object) -> str:
    """JSON on one line, ASCII only."""
    return json.dumps(value)


def indented(value: object) -> str:
    """JSON with an indent of four."""
    return json.dumps(value, indent=4)


def chatml(role: str, content: str, end: str = "<|im_end|>\n") -> str:
    """One message between ChatML's tokens."""
    return f"<|im_start|>{role}\n{content}{end}"


def llama(role: str, content: str, gap: str = "\n\n") -> str:
    """One message between Llama 3's tokens."""
    return f"<|start_header_id|>{role}<|end_header_id|>{gap}{content}<|eot_id|>"


CHATML_REPLY = "<|im_start|>assistant\n"
LLAMA_REPLY = "<|start_header_id|>assistant<|end_header_id|>\n\n"


def chatml_prompt(shown: Prompted) -> str:
    """ChatML with any role: MiniCPM3."""
    return "".join(chatml(m["role"], text_of(m)) for m in shown.messages) + CHATML_REPLY


def bielik(shown: Prompted) -> str:
    """ChatML after a start token."""
    return f"<s>{chatml_prompt(shown)}"


def llama3(shown: Prompted) -> str:
    """Llama 3.x."""
    said = "".join(llama(m["role"], text_of(m).strip()) for m in shown.messages)
    return f"<|begin_of_text|>{said}{LLAMA_REPLY}"


def llama4(shown: Prompted) -> str:
    """Llama 4: other tokens."""
    said = "".join(f"<|header_start|>{m['role']}<|header_end|>\n\n{text_of(m).strip()}<|eot|>" for m in shown.messages)
    return f"<|begin_of_text|>{said}<|header_start|>assistant<|header_end|>\n\n"


def gemma(shown: Prompted) -> str:
    """Gemma 3: system text goes into the first message; only the entry's own assistant messages become ``model``."""
    prefix = f"{shown.system.strip()}\n\n" if shown.system is not None else ""
    parts = ["<bos>"]
    for number, message in enumerate(shown.rest):
        content = text_of(message).strip()
        parts.append(f"<start_of_turn>{message['role']}\n{prefix if number == 0 else ''}{content}<end_of_turn>\n")
    return "".join(parts) + "<start_of_turn>model\n"


def phi4(shown: Prompted) -> str:
    """Phi-4."""
    said = "".join(f"<|im_start|>{m['role']}<|im_sep|>{text_of(m)}<|im_end|>\n" for m in shown.messages)
    return f"{said}<|im_start|>assistant<|im_sep|>"


def phi4mini(shown: Prompted) -> str:
    """Phi-4-mini."""
    return "".join(f"<|{m['role']}|>{text_of(m)}<|end|>" for m in shown.messages) + "<|assistant|>"


def r1(shown: Prompted) -> str:
    """DeepSeek-R1: thoughts of earlier replies are removed."""
    parts = ["<｜begin▁of▁sentence｜>"]
    for message in shown.messages:
        content = text_of(message)
        if message["role"] == "user":
            parts.append(f"<｜User｜>{content}")
        elif message["role"] == "assistant":
            parts.append(f"<｜Assistant｜>{content.rpartition('</think>')[2]}<｜end▁of▁sentence｜>")
        else:
            parts.append(content)
    return "".join(parts) + "<｜Assistant｜><think>\n"


_JOINING = frozenset({"gemma", "r1"})
_SYSTEM_TO_USER = frozenset({"r1", "hammer"})


def opened(family: Format, messages: Sequence[Message], first: bool) -> list[Message]:
    """A turn's messages in this family's form; ``first`` is turn 0, system prompt included."""
    changed = [dict(message) for message in messages]
    if family.template in _SYSTEM_TO_USER and first:
        for message in changed:
            if message["role"] == "system":
                message["role"] = "user"
    if family.template == "gemma":
        for message in changed:
            if message["role"] == "assistant":
                message["role"] = "model"
    return _joined(changed) if family.template in _JOINING else changed


def _joined(messages: list[Message]) -> list[Message]:
    """Consecutive user messages as one, separated by a blank line."""
    result: list[Message] = []
    for message in messages:
        if result and message["role"] == result[-1]["role"] == "user":
            result[-1]["content"] = f"{text_of(result[-1])}\n\n{text_of(message)}"
        else:
            result.append(message)
    return result


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


def xlam_llama(shown: Prompted, default: str = "xlam.system") -> str:
    """xLAM 2 on Llama; BitAgent Bounty has its own system text."""
    parts = ["<|begin_of_text|>", llama("system", _xlam_system(shown, default))]
    for message in shown.rest:
        content, role = text_of(message), message["role"]
        parts.append(llama("ipython", content) if role == "tool" else llama(role, content.strip()))
    return "".join(parts) + LLAMA_REPLY


def xlam_qwen(shown: Prompted) -> str:
    """xLAM 2 on Qwen: no line feed behind a message."""
    parts = [chatml("system", _xlam_system(shown, "xlam.system"), "<|im_end|>")]
    for message in shown.rest:
        content, role = text_of(message), message["role"]
        parts.append(chatml(role, content if role == "tool" else content.strip(), "<|im_end|>"))
    return "".join(parts) + CHATML_REPLY


def hammer(shown: Prompted) -> str:
    """Hammer 2.1; its handler adds notes about defaults again with every query."""
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
    """A property; one with its own properties is replaced by them."""
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
    """Mistral: tools come before the last user message."""
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
    """Texts at the top level are unchanged inside quotes."""
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
