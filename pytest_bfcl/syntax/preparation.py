"""Common preparation of a text before its format is read (ast_checker spec §3.1)."""

from __future__ import annotations

from pytest_bfcl.syntax.limits import DecodeError

_TAG, _TAG_END = "<TOOLCALL>", "</TOOLCALL>"


def prepare(text: str, tool_call_tag: bool = False) -> str:
    """Strip back-ticks, line feeds and spaces, supply outer brackets, take the inside of a demanded tag.

    Raises `DecodeError` when the tag is demanded and absent.
    """
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = "[" + text
    if not text.endswith("]"):
        text += "]"
    return tag_content(text) if tool_call_tag else text


def tag_content(text: str) -> str:
    """The inside of the first tag pair, shortest match, stripped; `DecodeError` without one."""
    start = text.find(_TAG)
    end = text.find(_TAG_END, start)
    if start < 0 or end < 0:
        raise DecodeError("no <TOOLCALL> … </TOOLCALL> in the text")
    return text[start + len(_TAG) : end].strip()
