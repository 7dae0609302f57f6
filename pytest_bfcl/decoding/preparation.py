"""Common preparation of a text before its format is read (ast_checker spec §3.1)."""

from __future__ import annotations

import re

from pytest_bfcl.decoding.errors import DecodeError

_TAG = re.compile(r"<TOOLCALL>(.*?)</TOOLCALL>", re.DOTALL)


def prepare(text: str, tool_call_tag: bool = False) -> str:
    """Strip back-ticks, line feeds and spaces, supply outer brackets, take the inside of a demanded tag.

    Raises `DecodeError` when the tag is demanded and absent.
    """
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = "[" + text
    if not text.endswith("]"):
        text += "]"
    if tool_call_tag:
        found = _TAG.search(text)
        if found is None:
            raise DecodeError("no <TOOLCALL> … </TOOLCALL> in the text")
        text = found.group(1).strip()
    return text
