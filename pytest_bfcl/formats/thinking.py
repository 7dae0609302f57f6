"""``<think>…</think>`` inside a reply's text (formats spec §5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Literal, NamedTuple

Think = Literal["auto", "strip", "keep"]
"""``auto``: as the family's handler does; ``strip``: reasoning is no part of the answer; ``keep``: as it is."""
Thinking = Literal["none", "think", "r1", "harmony", "served"]
"""How a family's handler treats thinking: not at all; as Qwen's; as DeepSeek-R1's; by gpt-oss's channels; as servers'
parsers do, whatever the family's tags."""

OPENING, CLOSING = "<think>", "</think>"
TAGS: Mapping[str, tuple[str, str]] = {
    "think": (OPENING, CLOSING),
    "seed": ("<seed:think>", "</seed:think>"),
    "minimax": ("<mm:think>", "</mm:think>"),
    "mistral": ("[THINK]", "[/THINK]"),
    "command": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "gemma": ("<|channel>thought", "<channel|>"),
    "kimi-k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    "plamo": ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    "ifm": ("<ifm|think>", "</ifm|think>"),
    "minicpm3": ("<|thought_start|>", "<|thought_end|>"),
    "inkling": ("<|content_thinking|>", "<|end_message|>"),
    "apriel": ("Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]"),
}
"""What stands around the thoughts of a family's models, by a name for it."""
_CLOSED = re.compile("|".join({re.escape(closing) for _, closing in TAGS.values()}))
_SHARED = ("gemma", "inkling")
"""Families whose closing tag ends other things, too: without the opening one it ends no thought."""
_LOOKED_AT = 20
"""Closing tags that are looked at; thoughts stand at a reply's beginning."""
_CALLED = re.compile(
    r"<\|?[\w:|]*(?:tool_?call|function|tools_prefix|action_start)|<invoke|<｜|\]<\]|\[TOOL_CALLS\]|<\|(?:python|START_ACTION)"
)
"""What begins a call: a thought that the template opened ends there, too."""


class Parted(NamedTuple):
    """A reply's answer and the reasoning before it (``None``: none was found)."""

    answer: str
    reasoning: str | None = None


def part(text: str, thinking: Thinking) -> Parted:
    """The reply as the family's handler parts it; an unclosed thought stays where it is."""
    if thinking == "harmony":
        return _channels(text)
    if thinking == "served":
        return _channels(text) if "<|message|>" in text else _first_thought(text)
    if thinking == "none" or CLOSING not in text:
        return Parted(text)
    if thinking == "r1":
        return Parted(text.rpartition(CLOSING)[2], text.partition(CLOSING)[0].rpartition(OPENING)[2].strip("\n"))
    answer = text.rpartition(CLOSING)[2].lstrip("\n")
    before = text.partition(CLOSING)[0].rstrip("\n")
    return Parted(answer, before.rpartition(OPENING)[2].lstrip("\n"))


def _first_thought(text: str) -> Parted:
    """The text behind the first tag that closes a thought, unless a call began before it outside any thought."""
    for closed in islice(_CLOSED.finditer(text), _LOOKED_AT):
        name, opening = next((name, tags[0]) for name, tags in TAGS.items() if tags[1] == closed.group())
        head, opened, thought = text[: closed.start()].partition(opening)
        if _CALLED.search(head):
            break
        if opened or name not in _SHARED:
            head, thought = (head, thought) if opened else ("", head)
            return Parted(head.rstrip("\n") + text[closed.end() :].lstrip("\n"), thought.strip("\n"))
    return Parted(text)


def _channels(text: str) -> Parted:
    """gpt-oss: messages to the analysis channel are reasoning, the final one's the answer; calls stay as they are."""
    answer, thoughts = [], []
    for piece in re.split(r"(?=<\|start\|>)|<\|(?:end|return)\|>", text):
        head, message, body = piece.partition("<|message|>")
        channel = head.rpartition("<|channel|>")[2].split("<|")[0].split()
        if message and channel[:1] == ["analysis"] and "to=" not in head:
            thoughts.append(body)
        elif message and channel[:1] == ["final"]:
            answer.append(body)
        elif not re.fullmatch(r"(?:<\|start\|>)?\s*(?:assistant)?\s*", piece):
            answer.append(piece)
    return Parted("".join(answer), "\n".join(thoughts) or None)


def strip(text: str) -> Parted:
    """The reply without any thinking: closed, unclosed, or without its opening tag (the template wrote it).

    An unclosed thought holds no answer: the text before it is the answer.
    """
    reasoning = None
    if CLOSING in text:
        text, reasoning = part(text, "think")
    head, opened, rest = text.partition(OPENING)
    if opened:
        thoughts = [each for each in (reasoning, rest.strip("\n")) if each]
        return Parted(head.rstrip("\n"), "\n".join(thoughts))
    return Parted(text, reasoning)


def read_thinking(text: str, think: Think, thinking: Thinking = "none") -> Parted:
    """The reply's answer and reasoning under an option; ``thinking`` is the family's own way, for ``auto``."""
    if think == "keep":
        return Parted(text)
    return strip(text) if think == "strip" else part(text, thinking)
