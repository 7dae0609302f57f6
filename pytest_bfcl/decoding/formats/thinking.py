"""``<think>…</think>`` inside a reply's text (formats spec §5)."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Think = Literal["auto", "strip", "keep"]
"""``auto``: as the family's handler does; ``strip``: reasoning is no part of the answer; ``keep``: as it is."""
Thinking = Literal["none", "think", "r1", "harmony"]
"""How a family's handler treats thinking: not at all; as Qwen's; as DeepSeek-R1's; by gpt-oss's channels."""

OPENING, CLOSING = "<think>", "</think>"


class Parted(NamedTuple):
    """A reply's answer and the reasoning before it (``None``: none was found)."""

    answer: str
    reasoning: str | None = None


def part(text: str, thinking: Thinking) -> Parted:
    """The reply as the family's handler parts it; an unclosed thought stays where it is."""
    if thinking == "harmony":
        return _channels(text)
    if thinking == "none" or CLOSING not in text:
        return Parted(text)
    if thinking == "r1":
        return Parted(text.rpartition(CLOSING)[2], text.partition(CLOSING)[0].rpartition(OPENING)[2].strip("\n"))
    answer = text.rpartition(CLOSING)[2].lstrip("\n")
    before = text.partition(CLOSING)[0].rstrip("\n")
    return Parted(answer, before.rpartition(OPENING)[2].lstrip("\n"))


def _channels(text: str) -> Parted:
    """gpt-oss: the analysis channel is reasoning, the final one the answer; calls stay as they are."""
    answer, thoughts = [], []
    for piece in re.split(r"(?=<\|start\|>|<\|channel\|>)", text):
        head, message, body = piece.partition("<|message|>")
        body = re.sub(r"<\|(?:end|return)\|>", "", body)
        if message and "analysis" in head and "to=" not in head:
            thoughts.append(body)
        elif message and "final" in head:
            answer.append(body)
        else:
            answer.append(piece)
    said = "".join(answer)
    return Parted(
        re.sub(r"\A(?:<\|start\|>assistant)+(?!<\|channel| to=)|<\|start\|>assistant\Z", "", said),
        "\n".join(thoughts) or None,
    )


def strip(text: str) -> Parted:
    """The reply without any thinking: closed, unclosed, or without its opening tag (the template wrote it).

    An unclosed thought holds no answer: what stands before it is the answer.
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
