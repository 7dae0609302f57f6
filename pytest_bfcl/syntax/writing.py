"""Python calls written back as call texts, for conversations that execute calls (multi_turn spec §2.2)."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from keyword import iskeyword

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.python_text import parse_expression
from pytest_bfcl.syntax.limits import MAX_CALLS, DecodeError
from pytest_bfcl.transcript import Arguments, Call


def written_calls(calls: Iterable[Call]) -> list[str]:
    """``name(key=value, …)`` of each call."""
    listed = list(calls)
    check_count(len(listed))
    return [_written(*call) for call in listed]


def exact_text(call: Call) -> str:
    """A call as ``name(key=value, **{…})``: values as Python literals, names that are no identifiers in the mapping."""
    spread = call.arguments.get(None)
    spread = spread if isinstance(spread, dict) else {}
    plain = {str(key): value for key, value in (call.arguments | spread).items() if key is not None or not spread}
    named = [f"{key}={value!r}" for key, value in plain.items() if key.isidentifier() and not iskeyword(key)]
    others = {key: value for key, value in plain.items() if not key.isidentifier() or iskeyword(key)}
    return f"{call.name}({', '.join([*named, *([f'**{others!r}'] if others else [])])})"


def read_call(text: str) -> tuple[str, Parsed]:
    """Name and arguments of a call text of literals; raises `ValueError` for any other text."""
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError("not one call of a tool")
        if node.args:
            raise ValueError("arguments are given by name")
        arguments: Parsed = {}
        for item in node.keywords:
            value = ast.literal_eval(item.value)
            arguments |= {item.arg: value} if item.arg is not None else {str(key): each for key, each in value.items()}
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        raise
    except (SyntaxError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise ValueError(f"this is no call that can be carried out: {type(error).__name__}") from None
    return node.func.id, arguments


def check_count(calls: int) -> None:
    """Raise `DecodeError` for more calls than one step may execute."""
    if calls > MAX_CALLS:
        raise DecodeError(f"{calls} calls in one reply; at most {MAX_CALLS} are executed")


def _written(name: object, arguments: Arguments) -> str:
    """``name(key=value, …)``."""
    return f"{name}({', '.join(f'{key}={_value(value)}' for key, value in arguments.items())})"


def _value(value: object) -> str:
    """A value as source text, with the reference's defects for mappings outside lists.

    Keys become texts without regard to quotes in them. A mapping of mappings is misread as a nested call, of which
    whatever follows the first item is lost, the empty mapping fails.
    """
    if not isinstance(value, dict):
        return repr(value)
    if not value:
        raise DecodeError("an empty mapping as argument")
    if all(isinstance(item, dict) for item in value.values()):
        return _written(*next(iter(value.items())))
    return "{" + ", ".join([f"'{key}': {_value(item)}" for key, item in value.items()]) + "}"
