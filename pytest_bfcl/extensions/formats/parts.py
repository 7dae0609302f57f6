"""What templates are put together from: JSON as they print it, messages of ChatML and of Llama's tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Message

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import FunctionDoc
    from pytest_bfcl.fetching.format_texts import FormatTexts


@dataclass(frozen=True, slots=True)
class Prompted:
    """What a template renders. ``query`` counts the conversation's requests from 1.

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
        """The messages behind a leading system message."""
        return self.messages if self.system is None else self.messages[1:]


Template = Callable[[Prompted], str]
"""A family's template: what to show → the prompt."""


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
