"""Templates of families asked in prompting mode: tools stand in the system message (formats spec §3)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.extensions.formats.parts import CHATML_REPLY, LLAMA_REPLY, Prompted, chatml, llama, text_of
from pytest_bfcl.formats.table import Format
from pytest_bfcl.transcript import Message


def chatml_prompt(shown: Prompted) -> str:
    """ChatML with any role: MiniCPM3."""
    return "".join(chatml(m["role"], text_of(m)) for m in shown.messages) + CHATML_REPLY


def bielik(shown: Prompted) -> str:
    """ChatML behind a start token."""
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
    """DeepSeek-R1: thoughts of earlier replies go."""
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
    """Consecutive user messages as one, a blank line between."""
    result: list[Message] = []
    for message in messages:
        if result and message["role"] == result[-1]["role"] == "user":
            result[-1]["content"] = f"{text_of(result[-1])}\n\n{text_of(message)}"
        else:
            result.append(message)
    return result
