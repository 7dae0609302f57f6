"""What a text says beside its thoughts: nothing of a thought that is open, of a channel or tag that is cut.

A reply is an answer only by this. Thoughts are the families' (`pytest_bfcl.formats.thinking`).
"""

from __future__ import annotations

import re

from pytest_bfcl.formats.thinking import TAGS, part

_PLAIN = "apriel"
"""A family whose opening is an ordinary sentence: it opens a thought only in a reply that was cut."""
_OPENINGS = {name: re.escape(opening) for name, (opening, _) in TAGS.items()}
_OPENED = re.compile("|".join({each for name, each in _OPENINGS.items() if name != _PLAIN}))
_MARKED = re.compile(r"<\|(?:channel|start|message)\|>")
_HEADER = re.compile(r"(?:<\|start\|>)?\s*(?:assistant)?\s*(?:<\|channel\|>[^<{\[]*)?(?:<\|constrain\|>\s*\w*)?\Z")
"""A message of gpt-oss that ends before its first word."""
_CUT_TAG = re.compile(r"(?:<[|\w:/\uff5c\u2581]{0,40}\|?|\[/?[A-Z_]{0,20})\Z")
_BEGUN = re.compile(
    r"<\|?[\w:|]*(?:tool_?call|function|tools_prefix|action_start)|<invoke|<｜|\]<\]|\[TOOL_CALLS\]|<\|(?:python|START_ACTION)"
    r"|\bto=functions\."
)
_STARTS = re.compile(
    r"\A[\s`]*(?:json|python|tool_code)?\s*(?:[\[{]\s*[\[{\"']|\[\s*[A-Za-z_][\w.]*\s*\(|\[\s*\Z|\{\s*\Z)"
)


def said(text: str, *, cut: bool = False) -> str:
    """The text without its thoughts, closed or open. ``cut``: the reply was broken off, so its last tag may be."""
    if _MARKED.search(text):
        text = part(text, "harmony").answer
        head, opened, rest = text.rpartition("<|channel|>")
        if opened and rest.split("<|")[0].split()[:1] == ["analysis"] and "to=" not in rest:
            text = head
        if _HEADER.search(text) and (cut or "<|" in text):
            text = text[: _HEADER.search(text).start()]  # type: ignore[union-attr]
    else:
        while (parted := part(text, "served")).reasoning is not None and parted.answer != text:
            text = parted.answer
        text = text[: _open_thought(text, cut)]
    if cut:
        text = _CUT_TAG.sub("", text)
    return text.strip()


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
    return "<" in text or "[" in text


def begins_call(text: str) -> bool:
    """Whether a text that was cut begins a call: a family's mark, or a list or object at its beginning."""
    return _BEGUN.search(text) is not None or _STARTS.match(text) is not None
