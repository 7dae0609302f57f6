"""Formats that servers parse into native calls, read where a server left them in the text.

They are not the reference's: a text without a call is a refusal, as native calls have it, and one broken call spoils
the reply. What a format does not say (the type of an argument written as plain text) the function's document does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.formats.members import Pair, literal, objects, spans, texts
from pytest_bfcl.decoding.formats.mended import json_pairs, python_inside
from pytest_bfcl.decoding.limits import check_length
from pytest_bfcl.decoding.native import parse_json
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import wire_name

Documents = Sequence[Fields]
Pairs = Callable[[str, Documents], list[Pair]]

_TEXTS = frozenset({"string", "String", "char", "any", "Any"})
_TOKEN = re.compile(r"<\|(?:eot_id|eom_id|im_end|end|return|call|end_of_text|endoftext)\|>|</s>|<｜end▁of▁sentence｜>")


def calls_of(read: Pairs) -> Callable[[Any, Documents], list[Any]]:
    """A decoder's ``calls`` from its reader of pairs."""

    def calls(result: Any, functions: Documents = ()) -> list[Any]:
        return objects(_read(read, result, functions))

    return calls


def texts_of(read: Pairs) -> Callable[[Any, Documents], list[str]]:
    """A decoder's ``texts`` from its reader of pairs."""

    def call_texts(result: Any, functions: Documents = ()) -> list[str]:
        return texts(_read(read, result, functions))

    return call_texts


def _read(read: Pairs, result: Any, functions: Documents) -> list[Pair]:
    if not isinstance(result, str):
        raise DecodeError("the result is no text")
    check_length(result)
    if not result.strip():
        return []
    pairs = read(result, functions)
    if not pairs:
        raise DecodeError("no tool call: the reply is text")
    return pairs


def pythonic(text: str, functions: Documents) -> list[Pair]:
    """Llama 3.2 and 4, ToolACE: ``[f(a=1), g()]``, behind ``<|python_tag|>`` or between ``<|python_start|>`` tags."""
    text = text.rpartition("<|python_tag|>")[2]
    text = next(spans(text, "<|python_start|>", "<|python_end|>"), text)
    return [(call.name, call.arguments) for call in python_inside(_TOKEN.sub("", text))]


def mistral(text: str, functions: Documents) -> list[Pair]:
    """Mistral: ``[TOOL_CALLS]`` before a JSON list, or before each ``name{arguments}`` (with ``[ARGS]`` or without)."""
    if "[TOOL_CALLS]" not in text:
        return []
    pieces = [piece.strip() for piece in _TOKEN.sub("", text).split("[TOOL_CALLS]")[1:]]
    pairs: list[Pair] = []
    for piece in pieces:
        if piece.startswith(("[", "{")):
            pairs += json_pairs(piece)
        else:
            name, brace, rest = piece.replace("[ARGS]", "").partition("{")
            pairs.append((name.partition("[CALL_ID]")[0].strip(), parse_json(brace + rest)))
    return pairs


def qwen_coder(text: str, functions: Documents) -> list[Pair]:
    """Qwen Coder: ``<function=NAME>`` with ``<parameter=KEY>`` lines; values are plain texts."""
    pairs: list[Pair] = []
    for inside in _elements(text, "<function=", "</function>"):
        name, closed, body = inside.partition(">")
        if not closed:
            raise DecodeError("a function without a name")
        arguments = {}
        for parameter in _elements(body, "<parameter=", "</parameter>"):
            key, closed, value = parameter.partition(">")
            if not closed:
                raise DecodeError("a parameter without a name")
            arguments[key.strip()] = _typed(value.removeprefix("\n").removesuffix("\n"), name, key.strip(), functions)
        pairs.append((name.strip(), arguments))
    return pairs


def glm45(text: str, functions: Documents) -> list[Pair]:
    """GLM 4.5 and later: the name, then ``<arg_key>`` and ``<arg_value>`` in turn, in ``<tool_call>`` tags."""
    pairs: list[Pair] = []
    for inside in spans(text, "<tool_call>", "</tool_call>"):
        name = inside.partition("<arg_key>")[0].strip()
        keys = list(spans(inside, "<arg_key>", "</arg_key>"))
        values = list(spans(inside, "<arg_value>", "</arg_value>"))
        if len(keys) != len(values) or not name:
            raise DecodeError("keys and values of a call do not pair")
        arguments = {
            key.strip(): _typed(value.strip("\n"), name, key.strip(), functions)
            for key, value in zip(keys, values, strict=True)
        }
        pairs.append((name, arguments))
    return pairs


def _elements(text: str, opening: str, closing: str) -> Iterator[str]:
    """Insides of elements; one that is not closed ends with the next or with the text."""
    for piece in text.split(opening)[1:]:
        yield piece.partition(closing)[0]


def _typed(value: str, name: str, key: str, functions: Documents) -> Any:
    """A plain text as the documented type, as servers' parsers do; unknown parameters by what they look like."""
    if value.strip().lower() == "null":
        return None
    schema = _schema(name.strip(), key, functions)
    if schema is not None and schema.get("type") in _TEXTS:
        return value
    for parse in (parse_json, literal):
        try:
            return parse(value.strip())
        except DecodeError:
            continue
    return value


def _schema(name: str, key: str, functions: Documents) -> Fields | None:
    for document in functions:
        documented = str(document.get("name", ""))
        if name in (documented, wire_name(documented)):
            properties = (document.get("parameters") or {}).get("properties") or {}
            found = properties.get(key)
            return found if isinstance(found, Mapping) else None
    return None


_BEGIN, _END = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"


def deepseek(text: str, functions: Documents) -> list[Pair]:
    """DeepSeek V3 and R1 (kind, name, fenced JSON) and V3.1 (name, JSON), between its tokens."""
    pairs: list[Pair] = []
    for inside in _elements(text, _BEGIN, _END):
        head, _, rest = inside.partition("<｜tool▁sep｜>")
        if "```" in rest:
            name, _, rest = rest.partition("```")
            rest = rest.partition("\n")[2].rpartition("```")[0]
        else:
            name = head
        pairs.append((name.strip(), parse_json(rest.strip())))
    return pairs


def harmony(text: str, functions: Documents) -> list[Pair]:
    """gpt-oss: messages ``to=functions.NAME`` in the commentary channel."""
    pairs: list[Pair] = []
    for piece in re.split(r"<\|(?:start|call|end|return)\|>", text):
        head, found, body = piece.partition("<|message|>")
        to = re.search(r"to=functions\.([^\s<]+)", head)
        if found and to:
            pairs.append((to[1], parse_json(body.strip())))
    return pairs


def toolcall_json(text: str, functions: Documents) -> list[Pair]:
    """Nemotron Nano and others: a JSON list in ``<TOOLCALL>`` tags."""
    return [pair for inside in spans(text, "<TOOLCALL>", "</TOOLCALL>") for pair in json_pairs(inside)]


def kimi(text: str, functions: Documents) -> list[Pair]:
    """Kimi K2: an id that holds the name, then JSON, between its tokens."""
    pairs: list[Pair] = []
    for inside in _elements(text, "<|tool_call_begin|>", "<|tool_call_end|>"):
        call_id, _, rest = inside.partition("<|tool_call_argument_begin|>")
        name = call_id.strip().rpartition(":")[0] or call_id.strip()
        pairs.append((name.removeprefix("functions."), parse_json(rest.strip())))
    return pairs
