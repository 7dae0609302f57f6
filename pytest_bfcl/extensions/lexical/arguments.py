"""Arguments from a sentence: quoted texts, numbers, dates and times, names, by type and by distance.

Patterns only: no language model and no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.schemas import JSON_TYPES

TEXT_LIMIT = 20_000
"""Longest text that is read, in characters."""

WORD = re.compile(r"[A-Za-z]+|\d+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
STOP = frozenset({
    "a", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from", "get",
    "give", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "like", "me", "my", "need", "of", "on",
    "or", "our", "please", "should", "so", "some", "tell", "that", "the", "their", "them", "then", "there", "this",
    "to", "us", "want", "was", "what", "when", "where", "which", "who", "will", "with", "would", "you", "your",
    "help", "find", "using", "use", "given", "also", "let", "know",
})  # fmt: skip
_QUOTED = re.compile(
    r"'((?:[^'\n]|(?<=\w)'(?=\w)){1,200}?)'(?!\w)|\"([^\"\n]{1,400})\"|`([^`\n]{1,400})`|“([^”\n]{1,400})”"
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\$?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(%| ?percent\b)?(?![\w]*\d)", re.IGNORECASE)
_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:T\S+| \d{2}:\d{2}(?::\d{2})?)?|\b\d{1,2}:\d{2}\b(?! ?[ap]m)|\d{1,2}/\d{1,2}/\d{2,4}"
    r"|(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,2}(?:st|nd|rd|th)?"
    r"(?:,?\s+\d{4})?|\b\d{1,2}(?::\d{2})?\s?(?:am|pm|AM|PM)\b|\b(?:today|tomorrow|yesterday)\b"
)
_NAME = re.compile(
    r"\b[A-Z][\w'’&.-]*(?:(?:,? (?:of|the|de|da|van|and) (?=[A-Z]))?[ ][A-Z0-9][\w'’&.-]*)*"
    r"(?:, [A-Z]{2}\b|, [A-Z][a-z]+\b)?"
)
_SMALL = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate: its value, and its position in the text."""

    value: Any
    start: int
    end: int


@dataclass(slots=True)
class Clues:
    """Everything found in one text. Used candidates are not used again."""

    text: str
    quoted: list[Found] = field(default_factory=list)
    numbers: list[Found] = field(default_factory=list)
    dates: list[Found] = field(default_factory=list)
    names: list[Found] = field(default_factory=list)
    used: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def of(cls, text: str) -> Clues:
        """The clues of a text, in reading order."""
        text = text[:TEXT_LIMIT]
        clues = cls(text)
        for match in _QUOTED.finditer(text):
            value = next(group for group in match.groups() if group is not None)
            clues.quoted.append(Found(value.strip(), *match.span()))
        clues.dates = [Found(m.group(), *m.span()) for m in _DATE.finditer(text)]
        clues.numbers = clues._apart(_numbers(text))
        starts = {m.end() for m in re.finditer(r"(?:^|[.!?]\s+|\n)", text)}
        for match in _NAME.finditer(text):
            first = match.group().split()[0]
            if match.start() in starts and (" " not in match.group() or first.lower() in STOP or _verbish(first)):
                rest = match.group()[len(first) :].strip()
                if rest[:1].isupper():
                    clues.names.append(Found(rest, match.end() - len(rest), match.end()))
                continue
            if match.group() not in ("I", "I'm", "I'd", "I've", "I'll"):
                clues.names.append(Found(match.group().rstrip(".'’"), *match.span()))
        return clues

    def _apart(self, found: Iterable[Found]) -> list[Found]:
        """Candidates that are not part of a date."""
        return [f for f in found if not any(f.start < date.end and date.start < f.end for date in self.dates)]

    def free(self, found: Iterable[Found]) -> list[Found]:
        """Candidates of which no part was used."""
        return [f for f in found if not any(f.start < end and start < f.end for start, end in self.used)]

    def take(self, found: Found) -> Any:
        """Mark a candidate as used and return its value."""
        self.used.add((found.start, found.end))
        return found.value

    def without_values(self) -> str:
        """The text without quoted texts, names and dates: the request without its values."""
        text = self.text
        for found in sorted([*self.quoted, *self.names, *self.dates], key=lambda f: f.start, reverse=True):
            text = f"{text[: found.start]} {text[found.end :]}"
        return text


def _verbish(word: str) -> bool:
    return word.lower() not in _SMALL and word.isalpha() and word[1:].islower()


def _numbers(text: str) -> Iterable[Found]:
    for match in _NUMBER.finditer(text):
        digits = match.group(1).replace(",", "")
        value: float = float(digits + (match.group(2) or "")) if match.group(2) else int(digits[:300])
        if match.group().startswith("-"):
            value = -value
        if match.group(3):
            value = round(value / 100, 6)
        yield Found(value, *match.span())
    for match in re.finditer(r"[A-Za-z]+", text):
        number = _SMALL.get(match.group().lower())
        if number is not None:
            yield Found(number, *match.span())


def words(text: str) -> list[str]:
    """Content words in lower case, cut to a rough stem; identifiers are split."""
    split = CAMEL.sub(" ", str(text)[:TEXT_LIMIT]).replace("_", " ")
    return [stem(w) for w in WORD.findall(split.lower()) if w not in STOP and len(w) > 1]


_ENDINGS = (
    "ations", "ation", "ating", "ated", "ates", "ate", "ings", "ing", "ies", "ers", "er", "ed", "es", "s", "e", "y",
)  # fmt: skip


def stem(word: str) -> str:
    """A rough stem: "prices" equals "price", and "pressed" equals "press"."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            return word[: -len(ending)]
    return word


# -- arguments -------------------------------------------------------------------------------------------------------


def fill(parameters: Fields, clues: Clues) -> Parsed | None:
    """Arguments for one function; ``None`` if no required one is in the text."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = [name for name in parameters.get("required") or [] if name in properties]
    found: Parsed = {}
    # The most particular kinds first, so that they are not taken by free text.
    for name in sorted(properties, key=lambda name: (name not in required, _particularity(_schema(properties[name])))):
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


_RANKS = {"boolean": 1, "array": 2, "object": 3, "integer": 4, "number": 4, "string": 5}
_DUMMIES: Parsed = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}, "string": ""}


def _particularity(schema: Fields) -> int:
    return 0 if schema.get("enum") else _RANKS[_kind(schema)]


def _kind(schema: Fields) -> str:
    word = str(schema.get("type"))
    return "boolean" if word == "Boolean" else JSON_TYPES.get(word, "string")


def _value(name: str, schema: Fields, clues: Clues, *, must: bool) -> Any:
    cue, kind = set(words(name)), _kind(schema)
    if schema.get("enum"):
        return _choice(schema["enum"], clues)
    if kind == "boolean":
        return _boolean(cue, clues, must=must)
    if kind in ("integer", "number"):
        return _number(cue, clues, kind, must=must)
    if kind == "array":
        return _array(schema, clues) if must else None
    if kind == "object":
        return fill(schema, clues) or None if must else None
    return _text(name, f"{name} {schema.get('description') or ''}", clues, must=must)


def _choice(options: object, clues: Clues) -> Any:
    lowered = clues.text.lower()
    listed = options if isinstance(options, list) else []
    for option in listed:
        if isinstance(option, str) and option and re.search(rf"(?<!\w){re.escape(option.lower())}", lowered):
            return option
    present = {stem(word) for word in WORD.findall(lowered)}
    return next((option for option in listed if (parts := words(str(option))) and present.issuperset(parts)), None)


def _boolean(cue: set[str], clues: Clues, *, must: bool) -> Any:
    lowered = clues.text.lower()
    if (cue - {"includ", "is", "show"}) & set(words(lowered)):
        return not re.search(r"\b(?:not|no|without|don't|exclude|excluding|disable)\b", lowered)
    return True if must else None


def _number(cue: set[str], clues: Clues, kind: str, *, must: bool) -> Any:
    candidates = [f for f in clues.free(clues.numbers) if kind == "number" or float(f.value).is_integer()]
    chosen = _nearest(candidates, cue, clues.text) or (candidates[0] if candidates and must else None)
    if chosen is None:
        return None
    return int(clues.take(chosen)) if kind == "integer" else clues.take(chosen)


def _nearest(candidates: list[Found], cue: set[str], text: str) -> Found | None:
    """The candidate closest to the parameter's words, within 40 characters."""
    spots = [m for m in re.finditer(r"[A-Za-z]+", text) if stem(m.group().lower()) in cue]
    measured = [(_distance(spot, each), each) for spot in spots for each in candidates]
    return min((each for each in measured if each[0] <= 40), key=lambda each: each[0], default=(0, None))[1]


def _distance(spot: re.Match[str], candidate: Found) -> int:
    """Characters between; text after a mention is nearer than text before it."""
    if candidate.start >= spot.end():
        return candidate.start - spot.end()
    return spot.start() - candidate.end + 3 if candidate.end <= spot.start() else 0


def _array(schema: Fields, clues: Clues) -> Any:
    kind = _kind(_schema(schema.get("items")))
    if kind in ("integer", "number"):
        number = int if kind == "integer" else float
        return [number(clues.take(each)) for each in clues.free(clues.numbers)] or None
    return [clues.take(each) for each in clues.free(clues.quoted) or clues.free(clues.names)] or None


def _text(name: str, about: str, clues: Clues, *, must: bool) -> Any:
    cue = set(words(name))
    if re.search(r"\b(?:date|day|time|when|hh:mm|yyyy-mm-dd)\b|date|_at\b", about.lower()):
        dates = clues.free(clues.dates)
        if dates:
            return clues.take(_nearest(dates, cue, clues.text) or dates[0])
        if "date" in name.lower():
            return None
    if (named := _after_name(name, clues)) is not None:
        return named
    quoted, names = clues.free(clues.quoted), clues.free(clues.names)
    near = _nearest(quoted, cue, clues.text) or _nearest(names, cue, clues.text)
    chosen = near or next(iter([*quoted, *names] if must else ()), None)
    return None if chosen is None else clues.take(chosen)


def _after_name(name: str, clues: Clues) -> str | None:
    """``colour: red``, ``colour is red``, ``colour = red``."""
    label = re.escape(CAMEL.sub(" ", name).replace("_", " "))
    match = re.search(rf"\b{label}\s*(?:is|:|=|of|named|called)\s+['\"`]?([\w@.+-]+)", clues.text, re.IGNORECASE)
    if match and match.group(1).lower() not in STOP:
        return str(clues.take(Found(match.group(1).rstrip("."), *match.span(1))))
    return None


def _fallback(schema: Fields) -> Any:
    """The placeholder for a required argument that the text does not have."""
    given = (schema.get("default"), *(schema.get("enum") or ()))
    return next((each for each in given if each is not None), _DUMMIES[_kind(schema)])
