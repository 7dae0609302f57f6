"""The fault of an argument text that is no JSON object, and the object in it; arguments in another shape, put back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Any

from pytest_bfcl.extensions.causes.cases import Case, Due, Made
from pytest_bfcl.extensions.causes.relations import ENCODINGS, MOST, TOKEN, WHITE_SPACE, Relation, repeated
from pytest_bfcl.extensions.causes.values import literal, same
from pytest_bfcl.spread_json import json_or

Object = dict[str, Any]
_TROUBLE = (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, AttributeError)

LONGEST_SIGN = 3
MOST_BRACES = 60
"""Braces from the end of a text at which an object is looked for."""

_REPAIRS: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("json_fenced", "", lambda raw: json.loads(re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", raw))),
    ("json_quotes", "", lambda raw: json.loads(re.sub("[“”„«»]", '"', raw))),
    ("json_commas", "", lambda raw: json.loads(re.sub(r",\s*([}\]])", r"\1", raw))),
    ("json_braces", "", lambda raw: json.loads(raw.strip()[1:-1]) if raw.startswith("{{") else None),
    ("json_python", "", lambda raw: literal(raw.strip())),
    ("json_signs", "`,` is lost", lambda raw: json.loads(re.sub(r'(["\d}\]el])\s+(")', r"\1,\2", raw))),
    ("json_keys", "", lambda raw: json.loads(re.sub(r"([{,]\s*)(\w+)\s*:", r'\1"\2":', raw))),
    ("json_comments", "", lambda raw: json.loads(re.sub(r"//[^\n]*|/\*.*?\*/|#[^\n]*", "", raw, flags=re.S))),
    ("json_lines", "", lambda raw: json.loads(raw, strict=False)),
    ("json_braces", "", lambda raw: json.loads("{" + raw + "}")),
    ("json_braces", "", lambda raw: json.loads("{" + raw)),
    *(("json_encoded", told, lambda raw, undo=undo: json.loads(undo(raw))) for told, _, undo in ENCODINGS),
)  # fmt: skip
"""Kind of cause, its parameter, and the object in a text that has it."""


def mended(raw: str) -> tuple[Relation, Object | None]:
    """The fault of such a text, and the object in it, ``None`` if it is unknown. Limited in length."""
    raw = raw[: 10 * MOST]
    if not raw.strip():
        return Relation("json_empty"), None
    value = _value(raw)
    if value is not _NOTHING:
        return _of_other_shape(value)
    looped = "" if raw.rstrip().endswith("}") else repeated(raw)
    if looped == WHITE_SPACE:
        return Relation("repeating", looped), None
    if (grown := _grown(raw)) is not None:
        return Relation("json_grown"), grown
    if tokens := TOKEN.findall(raw):
        without = _object(json.loads, TOKEN.sub("", raw).strip()) or _object(_leading, raw)
        if without is not None:
            return Relation("tokens", tokens[0]), without
    for key, told, repair in _REPAIRS:
        if (found := _object(repair, raw)) is not None:
            return Relation(key, told), found
    if looped:
        return Relation("repeating", looped), None
    return _in_a_part(raw) or (Relation("json_broken"), None)


def _grown(raw: str) -> Object | None:
    """The object at the end of a text of beginnings of it; in time proportional to the text."""
    end = len(raw)
    for _ in range(MOST_BRACES):
        end = raw.rfind("{", 0, end)
        if end <= 0 or (whole := _object(json.loads, raw[end:])) is not None:
            break
    if end <= 0 or whole is None:
        return None
    at = number = 0
    while at < end:
        longest = min(end - at, len(raw) - end)
        alike = next((n for n in range(longest) if raw[at + n] != raw[end + n]), longest)
        if not alike:
            return None
        behind = at + alike
        at = behind if behind == end or raw[behind] == "{" else raw.rfind("{", at + 1, behind)
        number += 1
        if at < 0:
            return None
    return whole if number > 1 or end > 2 else None


def _in_a_part(raw: str) -> tuple[Relation, Object | None] | None:
    """An object with text before or after it, or the beginning of one."""
    if (found := _object(_leading, raw)) is not None:
        rest = raw.lstrip()[len(_first(raw)) :].strip()
        following = _object(_leading, rest)
        return Relation("json_trailing", "" if following else rest[:20]), found or following
    if (start := raw.find("{")) > 0 and (found := _object(_leading, raw[start:])) is not None:
        return Relation("json_broken"), found
    found = repaired(raw)
    return (Relation("json_cut", str(len(raw))), found) if found is not None else None


def repaired(raw: str) -> Object | None:
    """The object of which a text is the beginning, without what is incomplete at its end."""
    for begin in (
        raw,
        re.sub(r'[,{]\s*"[^"]*"?\s*:?\s*[\w.+-]*$', _opening, raw),
        re.sub(r"(?<!\\)\\$|,\s*$", "", raw),
    ):
        closed = _closed(begin)
        if closed is not None and (found := _object(json.loads, closed)) is not None:
            return found
    return None


def _opening(tail: re.Match[str]) -> str:
    """What is left of the last name and its value where both are cut away."""
    return "{" if tail.group().startswith("{") else ""


def written(arguments: Object) -> list[str]:
    """Arguments as common libraries write them."""
    return [json.dumps(arguments, ensure_ascii=False, separators=each) for each in ((", ", ": "), (",", ":"))]


def is_beginning(cut: Object, due: Due) -> bool:
    """Whether what is left of cut arguments is right: the last name and its value may be cut, too."""
    whole, last = list(cut.items())[:-1], list(cut)[-1:]
    right = all(any(same(value, each) for each in due.accepted.get(key, ())) for key, value in whole)
    return right and all(any(key.startswith(one) for key in due.accepted) for one in last)


def lost_piece(raw: str, due: Object) -> tuple[int, int] | None:
    """First character and length of the piece that an argument text lacks; at 0: its beginning."""
    for whole in written(due):
        length = len(whole) - len(raw)
        if length > 0:
            begin = next((n for n, (a, b) in enumerate(zip(raw, whole, strict=False)) if a != b), len(raw))
            if whole[begin + length :] == raw[begin:]:
                return (0 if whole.endswith(raw) else begin), length
    return None


def changed_sign(raw: str, due: Object) -> str:
    """The only sign that an argument text has in place of another, or lacks, everywhere alike; else empty."""
    for whole in written(due):
        if not 0 < len(raw) <= MOST or whole.startswith(raw):
            break
        steps = SequenceMatcher(None, whole, raw, autojunk=False).get_opcodes()
        changed = {(whole[a:b], raw[c:d]) for kind, a, b, c, d in steps if kind != "equal"}
        if len(changed) == 1:
            ((right, wrong),) = changed
            if len(right) <= LONGEST_SIGN >= len(wrong) and not any(map(str.isalnum, right + wrong)):
                gone, added = f"`{right}` is lost", f"`{wrong}` is added"
                return gone if not wrong else added if not right else f"`{wrong}` for `{right}`"
    return ""


def objects_in(raw: str) -> list[Object]:
    """The JSON objects of a text with only consecutive objects; else empty."""
    found: list[Object] = []
    rest = raw[: 10 * MOST].strip()
    while rest and len(found) < MOST:
        each = _object(_leading, rest)
        if each is None:
            return []
        found.append(each)
        rest = rest[len(_first(rest)) :].strip()
    return found


def doubled_names(raw: str) -> Object | None:
    """The arguments with the first value of every repeated name; ``None`` without one."""
    twice: list[str] = []

    def first(pairs: list[tuple[str, Any]]) -> Object:
        held: Object = {}
        for key, value in pairs:
            if key in held:
                twice.append(key)
            else:
                held[key] = value
        return held

    if raw.count('"') < 4:
        return None
    try:
        found = json.loads(raw[: 10 * MOST], object_pairs_hook=first)
    except _TROUBLE:
        return None
    return found if twice and isinstance(found, dict) else None


_NOTHING = object()


def _value(raw: str) -> Any:
    try:
        return json.loads(raw)
    except _TROUBLE:
        return _NOTHING


def _of_other_shape(value: object) -> tuple[Relation, Object | None]:
    if isinstance(value, str):
        found = _object(json.loads, value)
        return (Relation("json_twice"), found) if found is not None else (Relation("json_broken"), None)
    if isinstance(value, list) and value and all(isinstance(each, dict) and len(each) >= 2 for each in value):
        names = [next((each[key] for key in ("name", "key", "parameter") if key in each), None) for each in value]
        if all(isinstance(name, str) for name in names):
            return Relation("pairs"), {
                str(name): next((each[key] for key in ("value", "val", "argument") if key in each), None)
                for name, each in zip(names, value, strict=True)
            }
    if isinstance(value, list) and value and all(isinstance(each, dict) and len(each) == 1 for each in value):
        return Relation("listed_arguments"), {key: each[key] for each in value for key in each}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return Relation("listed_arguments"), value[0]
    return Relation("json_no_object", _OTHER_SHAPES.get(type(value), "null")), None


_OTHER_SHAPES = {list: "a list", int: "a number", float: "a number", bool: "a truth value"}


def _object(read: Callable[[str], Any], raw: str) -> Object | None:
    try:
        found = read(raw)
    except _TROUBLE:
        return None
    return found if isinstance(found, dict) else None


def _leading(raw: str) -> Any:
    return json.JSONDecoder().raw_decode(raw.lstrip())[0]


def _first(raw: str) -> str:
    text = raw.lstrip()
    return text[: json.JSONDecoder().raw_decode(text)[1]]


def _closed(raw: str) -> str | None:
    """A beginning of a JSON object, with open parts closed; ``None`` for other texts."""
    if not raw.lstrip().startswith("{"):
        return None
    opened: list[str] = []
    inside = escaped = False
    for each in raw:
        if inside:
            inside, escaped = each != '"' or escaped, each == "\\" and not escaped
        elif each == '"':
            inside = True
        elif each in "{[":
            opened.append("}" if each == "{" else "]")
        elif each in "}]" and (not opened or opened.pop() != each):
            return None
    return raw + ('"' if inside else "") + "".join(reversed(opened)) if opened else None


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
        if not filled and not due.said and None not in call.given.values():
            return {}
        values = filled[0] if len(filled) == 1 else None
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
