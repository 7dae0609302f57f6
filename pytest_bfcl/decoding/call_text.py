"""Replies → call texts, for conversations that execute calls (multi_turn spec §2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_bfcl.formats.own_calls import own_decoder, own_texts
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.errors import DecodeError
from pytest_bfcl.syntax.limits import check_length
from pytest_bfcl.syntax.native import parse_json
from pytest_bfcl.syntax.preparation import prepare
from pytest_bfcl.syntax.python_syntax import decode_python
from pytest_bfcl.syntax.writing import check_count, written_calls
from pytest_bfcl.transcript import Mode, Reply


def call_texts(
    reply: Reply, mode: Mode, decoder: str | None = None, functions: Sequence[Fields] = (), *, mended: bool = False
) -> list[str]:
    """The calls of one step as texts such as ``cd(folder='a')``, in order; the turn ends when the list `is_empty`.

    ``decoder`` reads a text in a model's own format, whatever the mode; ``mended`` without its family's defects. Raises
    `DecodeError` when the reply does not decode (then the turn ends as well): in native mode one broken call spoils the
    whole step.
    """
    own = own_decoder(reply, decoder)
    if own is not None:
        return own_texts(reply, own, functions, mended=mended and own.calls is not None)
    if mode == "fc" and (decoder is None or reply.tool_calls):
        return _native(reply)
    if reply.text is None:
        raise DecodeError("the reply has no text")
    check_length(reply.text)
    calls = decode_python(prepare(reply.text))
    return written_calls(calls)


def is_empty(texts: Sequence[str]) -> bool:
    """Predicate E: no call, or one empty text."""
    return len(texts) == 0 or (len(texts) == 1 and len(texts[0]) == 0)


def _native(reply: Reply) -> list[str]:
    if not reply.tool_calls:
        if reply.text == "":
            return []
        raise DecodeError("no tool call: the reply is text" if reply.text else "no tool call and no text")
    check_count(len(reply.tool_calls))
    texts = []
    for call in reply.tool_calls:
        arguments = parse_json(call.arguments)
        if not isinstance(arguments, dict):
            raise DecodeError(f"arguments of {call.name[:200]} are not an object")
        texts.append(f"{call.name}({','.join(f'{key}={value!r}' for key, value in arguments.items())})")
    return texts
