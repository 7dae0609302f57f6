"""What a text says next to its thoughts: nothing of a thought that is open, of a channel or tag that is cut.

A reply is an answer only by this. Thoughts are the families' (`pytest_bfcl.formats.thinking`).
"""

from __future__ import annotations

import re

from pytest_bfcl.formats.thinking import TAGS, part

_PLAIN = "apriel"
"""A family whose opening is an ordinary sentence: it opens a thought only in a reply that was cut."""
_OPENINGS = {name: re.escape(opening) for name, (opening, _) in TAGS.items()}
_OPENED = re.compile("|".join({each for name, each in _OPENINGS.items() if name != _PLAIN}))
_LOOSE = re.compile(
    r"(?i)<\s*(/?)\s*(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)\s*>|\u25c1(/?)think\u25b7"
)
"""Tags of thoughts that no family's parser knows, and other spellings of theirs."""
_MARKED = re.compile(r"<\|(?:channel|start|message)\|>")
_HEADER = re.compile(r"(?:<\|start\|>)?\s*(?:assistant)?\s*(?:<\|channel\|>[^<{\[]*)?(?:<\|constrain\|>\s*\w*)?\Z")
"""A message of gpt-oss that ends before its first word."""
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
    r"\A[\s`]*(?:json|python|tool_code)?\s*(?:[\[{]\s*[\[{\"']|\[\s*[A-Za-z_][\w.]*\s*(?:\(|\Z)|\[\s*\Z|\{\s*\Z)"
    r"|\A\s*[A-Za-z_][\w.-]*\n\s*\{|\A\s*[A-Za-z]\w*_\w*\Z"
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
        while (parted := part(text, "served")).reasoning is not None and parted.answer != text:
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
    header = _HEADER.search(text)
    return text[: header.start()] if header and (cut or "<|" in text) else text


def _open_thought(text: str, cut: bool) -> int:
    """Where a thought begins that is never closed; the end of the text where there is none."""
    for found in _OPENED.finditer(text):
        name = next(name for name, (opening, _) in TAGS.items() if opening == found.group())
        if TAGS[name][1] not in text[found.end() :]:
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
