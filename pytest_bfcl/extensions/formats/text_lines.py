"""Formats of plain text: Granite 20B, GLM-4, MiniCPM, Phi's and Gemini's fences, Nemotron, Gorilla, Nexus (spec §4)."""

from __future__ import annotations

import ast
from typing import Any

from pytest_bfcl.formats.members import Pair, objects, texts
from pytest_bfcl.python_text import parse_python
from pytest_bfcl.syntax.limits import DecodeError, check_length
from pytest_bfcl.syntax.native import parse_json
from pytest_bfcl.syntax.python_syntax import read_calls
from pytest_bfcl.syntax.writing import written_calls
from pytest_bfcl.transcript import Call


def _text(result: object) -> str:
    if not isinstance(result, str):
        raise DecodeError("the result is no text")
    return result


# Granite 20B.


def _granite20b_members(result: object) -> list[str | Pair]:
    members: list[str | Pair] = []
    for piece in _text(result).split("<function_call>"):
        piece = piece.strip()
        if not piece:
            continue
        try:
            value = parse_json(piece)
        except DecodeError:
            members.append(piece)
            continue
        if not isinstance(value, dict) or not isinstance(value.get("name", ""), str):
            raise DecodeError("a call is an object with a name")
        name = value.get("name", "").strip()
        members.append("No function is called" if name == "no_function" else (name, value.get("arguments", {})))
    return members


def granite20b_calls(result: object) -> list[Any]:
    """*function_call*: what is not JSON stays a text among the calls."""
    members = _granite20b_members(result)
    return [member if isinstance(member, str) else objects([member])[0] for member in members]


def granite20b_texts(result: object) -> list[str]:
    """The same as call texts; prose is run as a call, a defect of the handler."""
    members = _granite20b_members(result)
    return [member if isinstance(member, str) else texts([member])[0] for member in members]


# GLM-4.


def glm_calls(result: object) -> list[Any]:
    """*two lines*: the name, then its arguments; a single line is a text where a call is expected."""
    lines = _text(result).split("\n")
    return [result] if len(lines) == 1 else [{lines[0]: parse_json(lines[1])}]


def glm_texts(result: object) -> list[str]:
    """The same as call texts; a single line raises, the empty text is no call."""
    if result == "":
        return []
    calls = glm_calls(result)
    if isinstance(calls[0], str):
        raise DecodeError("one line is no call")
    return texts(calls[0].items())


# MiniCPM.

_THOUGHT, _THOUGHT_END = "<|thought_start|>", "<|thought_end|>"
_BLOCK, _BLOCK_END = "<|tool_call_start|>", "<|tool_call_end|>"


def minicpm_block(result: object) -> tuple[str, str | None]:
    """The text after the block of calls, and the block's inside (``None`` without one)."""
    text = _text(result)
    if _THOUGHT in text and _THOUGHT_END in text:
        if text.index(_THOUGHT) > text.rindex(_THOUGHT_END):
            raise DecodeError("thought tags in the wrong order")
        text = text.rpartition(_THOUGHT_END)[2]
    if _BLOCK not in text or _BLOCK_END not in text:
        return text.strip(), None
    start, end = text.index(_BLOCK), text.rindex(_BLOCK_END)
    if start > end:
        raise DecodeError("call tags in the wrong order")
    inside = text[start + len(_BLOCK) : end].strip()
    rest = text[end + len(_BLOCK_END) :].strip()
    if inside.startswith("`"):
        inside = inside.lstrip("`").strip()
        if inside.startswith("python"):
            inside = inside.lstrip("python").strip()
    return rest, inside.rstrip("`").strip()


def statement_calls(inside: str) -> list[Call]:
    """The calls of Python statements, a call as value of each; raises when one has none."""
    check_length(inside)
    try:
        tree = parse_python(inside, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise DecodeError(f"not Python statements: {error}") from None
    nodes = []
    for statement in getattr(tree, "body", ()):
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Expr, ast.Assign, ast.Return)) or not isinstance(value, ast.Call):
            raise DecodeError("a statement without a call")
        nodes.append(value)
    return read_calls(nodes)


def minicpm_calls(result: object) -> Any:
    """*python block*: without a readable block the text behind it."""
    rest, inside = minicpm_block(result)
    try:
        calls = statement_calls(inside) if inside else []
    except DecodeError:
        calls = []
    return [call.as_object() for call in calls] or rest


def minicpm_texts(result: object) -> list[str]:
    """The same as call texts; without a readable block no call."""
    _, inside = minicpm_block(result)
    try:
        return written_calls(statement_calls(inside)) if inside else []
    except DecodeError:
        return []
