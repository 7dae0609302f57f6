"""Values, calls and answers in one line of Python's notation, cut to a width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_bfcl.plain_text import clean, cut
from pytest_bfcl.transcript import Call

LEFT_OUT = "(left out)"


def value_text(value: object, width: int = 200) -> str:
    """A value in Python notation with double quotes; never longer than ``width``."""
    return cut(_value(value, 0), width)


def _value(value: object, depth: int) -> str:
    if isinstance(value, str):
        inner = clean(value[:2000]).replace('"', '\\"') if '"' in value else clean(value[:2000])
        return f'"{inner}"'
    if depth > 6:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())[:30]
        return "{" + ", ".join(f"{_key(key)}: {_value(item, depth + 1)}" for key, item in items) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_value(item, depth + 1) for item in value[:30])
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    try:
        return clean(repr(value)[:2000])
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def _key(key: object) -> str:
    return _value(key, 0) if isinstance(key, str) else clean(str(key)[:100])


def call_text(call: Call | Mapping[Any, Any], width: int = 200) -> str:
    """A decoded call, also as stored: ``name(parameter=value, …)``."""
    if isinstance(call, Call):
        call = call.as_object()
    if not isinstance(call, Mapping) or len(call) != 1:
        return value_text(call, width)
    ((name, arguments),) = call.items()
    if not isinstance(arguments, Mapping):
        return cut(f"{clean(str(name))}({_value(arguments, 0)})", width)
    inner = ", ".join(f"{clean(str(key))}={_value(value, 1)}" for key, value in list(arguments.items())[:30])
    return cut(f"{clean(str(name))}({inner})", width)


def allowed_text(answers: object, width: int = 200, *, optional: bool = True) -> str:
    """Acceptable values: ``"a" or "b" or (left out)``."""
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        return value_text(answers, width)
    shown = [_allowed(answer) for answer in answers if answer != ""]
    if "" in answers:
        shown.append(LEFT_OUT if optional or shown else '""')
    if not shown:
        return "(nothing)"
    if len(shown) > 6:
        shown = [*shown[:5], f"… ({len(shown) - 5} more)"]
    return cut(" or ".join(dict.fromkeys(shown)), width)


def _allowed(answer: object) -> str:
    """One acceptable value; objects in answer notation show their alternatives."""
    if isinstance(answer, Mapping):
        inner = ", ".join(
            f"{_key(key)}: {allowed_text(values) if isinstance(values, list) else _value(values, 1)}"
            for key, values in answer.items()
        )
        return "{" + inner + "}"
    if isinstance(answer, list) and any(isinstance(item, Mapping) for item in answer):
        return "[" + ", ".join(_allowed(item) for item in answer) + "]"
    return _value(answer, 0)


def answer_text(answer: object, width: int = 200) -> str:
    """An expected call with its allowed values, ``name(parameter="a" or "b")``; any other value unchanged."""
    if not isinstance(answer, Mapping):
        return cut(clean(str(answer)), width)
    name, arguments = next(iter(answer.items()), ("", {}))
    if not isinstance(arguments, Mapping):
        return cut(clean(str(name)), width)
    inner = ", ".join(f"{key}={allowed_text(values, 80)}" for key, values in arguments.items())
    return cut(f"{clean(str(name))}({inner})", width)
