"""Arguments of a call in another shape: under a wrapper, in parts, without names, taken apart; and put back."""

from __future__ import annotations

import json
import re
from typing import Any

from pytest_bfcl.extensions.causes.cases import Case, Due, Made
from pytest_bfcl.extensions.causes.raw import mended
from pytest_bfcl.spread_json import json_or


def wrapper_of(case: Case, due: Due, given: dict[str, Any] | None) -> str | None:
    """The only key with all arguments; unknown ones may be next to it."""
    known = {*due.accepted, *case.properties(due.name)}
    if not given or known & given.keys() or len(parts_of(case, due, given)) > 1:
        return None
    for key, value in given.items():
        inner = object_in(value)
        if inner is not None and len(inner) == 1 and not known & inner.keys():  # wrapped once more
            inner = object_in(next(iter(inner.values())))
        if inner is not None and (known & inner.keys() or (not inner and (len(given) == 1 or not due.said))):
            return str(key)
    return None


def parts_of(case: Case, due: Due, given: dict[str, Any]) -> list[str]:
    """Unknown names under which objects with known arguments stand."""
    known = {*due.accepted, *case.properties(due.name)}
    inner = {key: value for key, value in given.items() if key not in known and isinstance(value, dict)}
    return [key for key, value in inner.items() if known & value.keys()]


def object_in(value: object) -> dict[str, Any] | None:
    """The object that a value is, or whose JSON it is."""
    if isinstance(value, str) and value[:1] == "{":
        return mended(json.dumps(value))[1]
    return dict(value) if isinstance(value, dict) else None


def positional(case: Case, call: Made, due: Due) -> dict[str, Any] | None:
    """Arguments that are a list, alone or under an unknown name, in the order of the parameters."""
    order = list(case.properties(due.name) or due.said)
    values: object = None
    if call.given is None:
        values = json_or(call.raw[:20_000])
    elif 0 < len(call.given) <= 2 and not call.given.keys() & {*order, *due.accepted}:
        filled = [each for each in call.given.values() if each not in ({}, [], None)]
        if not filled and not due.said:
            return {}
        values = filled[0] if len(filled) == 1 else None
    if values == [] and not due.said:
        return {}
    if not isinstance(values, list) or not values or len(values) > len(order):
        return None
    known = dict(zip(order, values, strict=False))
    return None if any(isinstance(each, dict) and each.keys() & {*order, "name"} for each in values) else known


def list_in(raw: str) -> Any:
    """A text of arguments as the list or text that it is JSON of; the text where it is none."""
    try:
        found = json.loads(raw[:20_000])
    except (ValueError, RecursionError):
        return raw
    return found if isinstance(found, list) else raw


MOST_INWARDS = 8
_INWARDS = re.compile(r"[._/\-\[\]]+")
"""Signs between a name and what stands inside it."""


def taken_apart(due: Due, given: dict[str, Any] | None) -> tuple[str, dict[str, Any]] | None:
    """Arguments ``a.b``, ``a[0]``, or ``b`` alone, put back into their objects and lists; ``None`` without any.

    With the kind of cause: of lists, or of objects only.
    """
    whole = {key: each for key, each in due.said.items() if isinstance(each, dict | list) and key not in (given or {})}
    parts: dict[str, list[str]] = {}
    for said in given or {}:
        for key, value in whole.items():
            if said.startswith(key) and (path := _path_inwards(said[len(key) :], value)):
                parts[said] = [key, *path]
            elif isinstance(value, dict) and said in value and said not in due.accepted:
                parts[said] = [key, said]
    if given is None or not parts:
        return None
    found: dict[str, Any] = {key: value for key, value in given.items() if key not in parts}
    for said, (*path, last) in parts.items():
        held = found
        for key in path:
            held = held.setdefault(key, {})
            if not isinstance(held, dict):
                return None
        held[last] = given[said]
    listed = any(isinstance(whole[path[0]], list) for path in parts.values())
    for key in whole:
        if key in found:
            found[key] = _in_shape(found[key], whole[key])
    return "spread" if listed else "flattened", found


def _path_inwards(behind: str, shape: Any) -> list[str]:
    """The names and numbers of elements after an argument's name; empty if it is another name."""
    path: list[str] = []
    while behind and len(path) < MOST_INWARDS and (isinstance(shape, list) or _INWARDS.match(behind)):
        behind = _INWARDS.sub("", behind, count=1) if _INWARDS.match(behind) else behind
        if not behind:
            return path
        step = re.match(r"\d+" if isinstance(shape, list) else r"[^./\[\]]+", behind)
        if step is None:
            return []
        path.append(step[0])
        shape = shape[0] if isinstance(shape, list) and shape else shape.get(step[0]) if isinstance(shape, dict) else ""
        behind = behind[step.end() :]
    return [] if behind else path


def _in_shape(held: Any, shape: Any) -> Any:
    """Objects with numbers for names, as lists where lists are expected."""
    if not isinstance(held, dict):
        return held
    if isinstance(shape, list) and all(key.isdigit() for key in held):
        return [_in_shape(held[key], shape[0] if shape else None) for key in sorted(held, key=int)]
    known = shape if isinstance(shape, dict) else {}
    return {key: _in_shape(value, known.get(key)) for key, value in held.items()}
