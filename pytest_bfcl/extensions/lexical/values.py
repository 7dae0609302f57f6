"""Filling arguments from what a sentence offers, by type and by nearness to the parameter's words.

No language model and no network; `pytest_bfcl.extensions.lexical.clues` finds the candidates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.extensions.lexical.clues import CAMEL, STOP, WORD, Clues, Found, stem, words
from pytest_bfcl.json_types import Fields, Parsed


def fill(parameters: Fields, clues: Clues) -> Parsed | None:
    """Arguments for one function; ``None`` when no required one can be found in the text."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = [name for name in parameters.get("required") or [] if name in properties]
    found: Parsed = {}
    # The most particular kinds first, so that they are not taken by free text.
    for name in sorted(properties, key=lambda name: (name not in required, _particularity(properties[name]))):
        value = _value(name, _schema(properties[name]), clues, must=name in required)
        if value is not None:
            found[name] = value
    missing = [name for name in required if name not in found]
    if missing and len(missing) == len(required):
        return None
    found |= {name: _fallback(_schema(properties[name])) for name in missing}
    return {name: found[name] for name in properties if name in found}


def _schema(value: object) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _particularity(schema: object) -> int:
    kind = _kind(schema)
    if isinstance(schema, Mapping) and schema.get("enum"):
        return 0
    return {"boolean": 1, "array": 2, "object": 3, "integer": 4, "number": 4}.get(kind, 5)


def _kind(schema: object) -> str:
    from pytest_bfcl.tools.schemas import JSON_TYPES

    word = schema.get("type") if isinstance(schema, Mapping) else None
    return "boolean" if word == "Boolean" else JSON_TYPES.get(str(word), "string")


def _value(name: str, schema: Fields, clues: Clues, *, must: bool) -> Any:
    cue = set(words(name))
    about = f"{name} {schema.get('description') or ''}"
    if schema.get("enum"):
        return _choice(schema["enum"], clues, about)
    kind = _kind(schema)
    if kind == "boolean":
        return _boolean(name, clues, must=must)
    if kind in ("integer", "number"):
        return _number(cue, clues, kind, must=must)
    if kind == "array":
        return _array(schema, clues, must=must)
    if kind == "object":
        inner = fill(schema, clues) if must and schema.get("properties") else None
        return inner or None
    return _text(name, cue, about, clues, must=must)


def _choice(options: object, clues: Clues, about: str) -> Any:
    lowered = clues.text.lower()
    for option in options if isinstance(options, list) else []:
        if isinstance(option, str) and option and re.search(rf"(?<!\w){re.escape(option.lower())}", lowered):
            return option
    present = {stem(w) for w in WORD.findall(lowered)}
    for option in options if isinstance(options, list) else []:
        parts = words(str(option))
        if parts and all(part in present for part in parts):
            return option
    return None


def _boolean(name: str, clues: Clues, *, must: bool) -> Any:
    cue = set(words(name)) - {"includ", "is", "show"}
    lowered = clues.text.lower()
    if cue & set(words(lowered)):
        return not re.search(r"\b(?:not|no|without|don't|exclude|excluding|disable)\b", lowered)
    return True if must else None


def _number(cue: set[str], clues: Clues, kind: str, *, must: bool) -> Any:
    candidates = [f for f in clues.free(clues.numbers) if kind == "number" or float(f.value).is_integer()]
    if not candidates:
        return None
    near = _nearest(candidates, cue, clues.text)
    if near is None and not must:
        return None
    chosen = near or candidates[0]
    value = clues.take(chosen)
    return int(value) if kind == "integer" else value


def _nearest(candidates: list[Found], cue: set[str], text: str) -> Found | None:
    """The candidate closest to a mention of the parameter's words, within 40 characters."""
    spots = [m for m in re.finditer(r"[A-Za-z]+", text) if stem(m.group().lower()) in cue]
    best: tuple[int, Found] | None = None
    for spot in spots:
        for candidate in candidates:
            after = candidate.start - spot.end()
            before = spot.start() - candidate.end
            distance = after if after >= 0 else (before + 3 if before >= 0 else 0)
            if distance <= 40 and (best is None or distance < best[0]):
                best = (distance, candidate)
    return best[1] if best else None


def _array(schema: Fields, clues: Clues, *, must: bool) -> Any:
    items = schema.get("items") if isinstance(schema.get("items"), Mapping) else {}
    kind = _kind(items)
    if not must:
        return None
    if kind in ("integer", "number"):
        numbers = clues.free(clues.numbers)
        values = [clues.take(f) for f in numbers]
        return [float(v) if kind == "number" else int(v) for v in values] or None
    texts = clues.free(clues.quoted) or clues.free(clues.names)
    return [clues.take(f) for f in texts] or None


def _text(name: str, cue: set[str], about: str, clues: Clues, *, must: bool) -> Any:
    lowered = about.lower()
    if re.search(r"\b(?:date|day|time|when|hh:mm|yyyy-mm-dd)\b|date|_at\b", lowered):
        dates = clues.free(clues.dates)
        if dates:
            return clues.take(_nearest(dates, cue, clues.text) or dates[0])
        if "date" in name.lower():
            return None
    named = _after_name(name, clues)
    if named is not None:
        return named
    quoted = clues.free(clues.quoted)
    names = clues.free(clues.names)
    for candidates in (quoted, names):
        near = _nearest(candidates, cue, clues.text)
        if near is not None:
            return clues.take(near)
    if not must:
        return None
    for candidates in (quoted, names):
        if candidates:
            return clues.take(candidates[0])
    return None


def _after_name(name: str, clues: Clues) -> str | None:
    """``colour: red``, ``colour is red``, ``colour = red``."""
    label = re.escape(CAMEL.sub(" ", name).replace("_", " "))
    match = re.search(rf"\b{label}\s*(?:is|:|=|of|named|called)\s+['\"`]?([\w@.+-]+)", clues.text, re.IGNORECASE)
    if match and match.group(1).lower() not in STOP:
        return str(clues.take(Found(match.group(1).rstrip("."), *match.span(1))))
    return None


def _fallback(schema: Fields) -> Any:
    if "default" in schema and schema["default"] is not None:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    return {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}.get(_kind(schema), "")
