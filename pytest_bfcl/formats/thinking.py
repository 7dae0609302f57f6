"""``<think>…</think>`` inside a reply's text (formats spec §5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Literal, NamedTuple

Think = Literal["auto", "strip", "keep"]
"""``auto``: like the family's handler; ``strip``: reasoning does not belong to the answer; ``keep``: unchanged."""
Thinking = Literal["none", "think", "r1", "harmony", "served"]
"""How a family's handler treats thoughts: not at all; like Qwen's; like DeepSeek-R1's; by gpt-oss's channels; like
servers' parsers, with the family's tags."""

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
"""The signs around the thoughts of a family's models, by name."""
_CLOSED = re.compile("|".join({re.escape(closing) for _, closing in TAGS.values()}))
_SHARED = ("gemma", "inkling")
"""Families whose closing tag also ends other things: without its opening it ends no thought."""
_LOOKED_AT = 20
"""Most closing tags that are read; thoughts are at a reply's start."""
_MOST_THOUGHTS = 500
"""Most thoughts that `said` removes."""
_CALLED = re.compile(
    r"<\|?[\w:|]*(?:tool_?call|function|tools_prefix|action_start)|<invoke|<｜|\]<\]|\[TOOL_CALLS\]|<\|(?:python|START_ACTION)"
)
"""Signs that begin a call, where a thought that the template opened also ends."""


class Parted(NamedTuple):
    """A reply's answer and the reasoning before it (``None`` without any)."""

    answer: str
    reasoning: str | None = None


def part(text: str, thinking: Thinking) -> Parted:
    """The reply, split like by the family's handler; an unclosed thought stays in the text."""
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
    """The text after the first tag that closes a thought, unless a call began before it outside any thought."""
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
    """gpt-oss: the analysis channel is reasoning, the final one the answer; calls stay unchanged."""
    answer, thoughts = [], []
    for piece in re.split(r"(?=<\|start\|>)|<\|(?:end|return)\|>", text):
        head, message, body = piece.partition("<|message|>")
        channel = head.rpartition("<|channel|>")[2].split("<|")[0].split()
        if message and channel[:1] == ["analysis"] and "to=" not in head:
            thoughts.append(body)
        elif message and channel[:1] == ["final"]:
            answer.append(body)
        elif not re.fullmatch(r"(?:<\|start\|>)?\s*+(?:assistant)?\s*+", piece):
            answer.append(piece)
    return Parted("".join(answer), "\n".join(thoughts) or None)


def strip(text: str) -> Parted:
    """The reply without any thoughts: closed, unclosed, or without an opening tag (the template wrote it).

    An unclosed thought has no answer: the text before it is the answer.
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
    """The reply's answer and reasoning under an option; ``thinking`` is the family's treatment, for ``auto``."""
    if think == "keep":
        return Parted(text)
    return strip(text) if think == "strip" else part(text, thinking)


_PLAIN = "apriel"
"""A family whose opening is an ordinary sentence: it opens a thought only in a reply that was cut."""
_OPENINGS = {name: re.escape(opening) for name, (opening, _) in TAGS.items()}
_OPENED = re.compile("|".join({each for name, each in _OPENINGS.items() if name != _PLAIN}))
_LOOSE = re.compile(
    r"(?i)<\s*+(/?)\s*+(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)\s*+>|\u25c1(/?)think\u25b7"
)
"""Tags of thoughts that no family's parser knows, and their other spellings."""
_MARKED = re.compile(r"<\|(?:channel|start|message)\|>")
_CUT_TAG = re.compile(r"(?:<[|\w:/\uff5c\u2581 ]{0,40}\|?|\[/?[A-Z_]{0,20}|\]<?\]?)\Z")
_CUT_HEADER = re.compile(r"<\|start\|>[^<>\n]{0,60}(?:<\|(?:channel|constrain)\|>[^<>\n]{0,60}){0,3}\Z")
"""A message that was cut before its first word."""
_HEADLESS = re.compile(r"\A(?!<\|)[^<]*<\|end\|>(?=<\|start\|>)")
"""A thought whose message the template opened, before the next message."""
_TO_ITSELF = re.compile(r"\A\s*to=self<\|message\|>")
"""The same, of a family that names the reader."""
_RESPONSE = re.compile(r"<\|open\|>response<\|sep\|>(.*?)(?:<\|close\|>|\Z)", re.DOTALL)
"""Kimi K3's channel of words."""
_TOKENS = re.compile(r"<\|[\w:/ -]{1,40}\|>")
"""Special tokens, which say nothing by themselves."""
_BEGUN = re.compile(
    r"<\|?[\w:|]*(?:tool_?call|function|tools_prefix|action_start)|<TOOL_?CALL|<invoke|<｜|\]<\]|\[TOOL_CALLS\]|<\|(?:python|START_ACTION)"
    r"|\bto=(?!self\b|user\b|all\b)\w|<\|open\|>tools?|<\|message_sep\|>|\bfunctools\b|\AAction:"
    r"|`{3}\w*\s*(?:[\[{]|\Z)|\{\s*\"(?:name|function|tool_name|type)\"\s*:|\{\s*(?:\"\w*)?\Z"
)
_STARTS = re.compile(
    r"\A[\s`]*+(?:json|python|tool_code)?\s*+(?:[\[{]\s*[\[{\"']|\[\s*[A-Za-z_][\w.]*\s*(?:\(|\Z)|\[\s*\Z|\{\s*\Z)"
    r"|\A\s*[A-Za-z_][\w.-]*\n\s*\{|\A\s*+[A-Za-z](?=\w*_)\w*+\Z"
)
"""A list, an object or a call at the beginning, or a name alone, as functions have."""
_BARE_MARKS = ("functools[", "Action:")
"""Marks of families that look like words until they are whole."""


def said(text: str, *, cut: bool = False) -> str:
    """The text without its thoughts, closed or open. ``cut``: the reply was broken off, so its last tag may be."""
    text = _LOOSE.sub(lambda tag: TAGS["think"][bool(tag[1] or tag[2])], text)
    if _MARKED.search(text):
        text = _of_channels(text, cut)
    else:
        for _ in range(_MOST_THOUGHTS):
            parted = part(text, "served")
            if parted.reasoning is None or parted.answer == text:
                break
            text = parted.answer
        text = text[: _open_thought(text, cut)]
    if cut or _CUT_TAG.match(text.lstrip()):
        text = _CUT_TAG.sub("", text)
    if cut and not begins_call(text):
        text = "".join(_RESPONSE.findall(text)) if "<|open|>" in text else _TOKENS.sub("", text)
    return text.strip()


def _of_channels(text: str, cut: bool) -> str:
    """What messages of gpt-oss say: nothing of the analysis, of a message to itself, of a header that is cut."""
    if _TO_ITSELF.match(text) and "<|end|>" not in text:
        return ""
    text = _HEADLESS.sub("", text)
    if cut:
        text = _CUT_HEADER.sub("", _CUT_TAG.sub("", text))
    text = part(text, "harmony").answer
    head, opened, rest = text.rpartition("<|channel|>")
    if opened and rest.split("<|")[0].split()[:1] == ["analysis"] and "to=" not in rest:
        text = head
    return _without_header(text) if cut or "<|" in text else text


def _without_header(text: str) -> str:
    """The text before a message of gpt-oss that ends before its first word. Each part of it may be missing."""
    head, found, kind = text.rpartition("<|constrain|>")
    if found and re.fullmatch(r"\s*+\w*+", kind):
        text = head
    head, found, channel = text.rpartition("<|channel|>")
    if found and not re.search(r"[<{\[]", channel):
        text = head
    return text.rstrip().removesuffix("assistant").rstrip().removesuffix("<|start|>")


def _open_thought(text: str, cut: bool) -> int:
    """Where a thought begins that is never closed; else the end of the text."""
    last: dict[str, int] = {}
    for found in _OPENED.finditer(text):
        closing = next(closing for opening, closing in TAGS.values() if opening == found.group())
        if closing not in last:
            last[closing] = text.rfind(closing)
        if last[closing] < found.end():
            return found.start()
    if cut and text.lstrip().startswith(TAGS[_PLAIN][0].rstrip()):
        return 0
    return len(text)


def may_hold_thoughts(text: str) -> bool:
    """Whether `said` may differ from the text: a quick look."""
    return "<" in text or "[" in text or "\u25c1" in text


def begins_call(text: str) -> bool:
    """Whether a text that was cut begins a call: a family's mark, or a list or object at its beginning."""
    if _BEGUN.search(text) or _STARTS.match(text):
        return True
    bare = text.strip()
    return bool(bare) and any(mark.startswith(bare) for mark in _BARE_MARKS)
