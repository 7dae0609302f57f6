"""Finding argument values in a user's sentence, by type and by nearness to the parameter's words.

No language model and no network: quoted texts, numbers, dates, names, listed items, enumerations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT_LIMIT = 20_000
"""Longest text looked at, in characters."""

_WORD = re.compile(r"[A-Za-z]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STOP = frozenset({
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
    r"\d{4}-\d{2}-\d{2}(?:T\S+)?|\d{1,2}/\d{1,2}/\d{2,4}"
    r"|(?:January|February|March|April|May|June|July|August|September|October|November|December)\s+\d{1,2}(?:st|nd|rd|th)?"
    r"(?:,?\s+\d{4})?|\b\d{1,2}(?::\d{2})?\s?(?:am|pm|AM|PM)\b|\b(?:today|tomorrow|yesterday)\b"
)
_NAME = re.compile(
    r"\b[A-Z][\w'’&.-]*(?:(?:,? (?:of|the|de|da|van|and) (?=[A-Z]))?[ ][A-Z0-9][\w'’&.-]*)*"
    r"(?:, [A-Z]{2}\b|, [A-Z][a-z]+\b)?"
)
_JOIN = re.compile(r"\band\b|[,;&+]|\bthen\b|\balso\b|\bor\b")
_LISTED = re.compile(r"\[([^\[\]]{1,500})\]")
_SMALL = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate: its value, and where it stands in the text."""

    value: Any
    start: int
    end: int


@dataclass(slots=True)
class Clues:
    """Everything found in one text. Candidates that were used once are not used again."""

    text: str
    quoted: list[Found] = field(default_factory=list)
    numbers: list[Found] = field(default_factory=list)
    dates: list[Found] = field(default_factory=list)
    names: list[Found] = field(default_factory=list)
    lists: list[Found] = field(default_factory=list)
    used: set[tuple[int, int]] = field(default_factory=set)
    origins: dict[str, Found] = field(default_factory=dict)
    """Parameter → the candidate it was filled with last."""
    taken: Found | None = None

    @classmethod
    def of(cls, text: str) -> Clues:
        """The clues of a text, in reading order."""
        text = text[:TEXT_LIMIT]
        clues = cls(text)
        for match in _QUOTED.finditer(text):
            value = next(group for group in match.groups() if group is not None)
            clues.quoted.append(Found(value.strip(), *match.span()))
        clues.dates = [Found(m.group(), *m.span()) for m in _DATE.finditer(text)]
        clues.numbers = list(_numbers(text))
        clues.lists = [Found(_items(m.group(1)), *m.span()) for m in _LISTED.finditer(text)]
        starts = {m.end() for m in re.finditer(r"(?:^|[.!?]\s+|\n)", text)}
        for match in _NAME.finditer(text):
            first = match.group().split()[0]
            if match.start() in starts and (" " not in match.group() or first.lower() in _STOP or _verbish(first)):
                rest = match.group()[len(first) :].strip()
                if rest[:1].isupper():
                    clues.names.append(Found(rest, match.end() - len(rest), match.end()))
                continue
            if match.group() not in ("I", "I'm", "I'd", "I've", "I'll"):
                clues.names.append(Found(match.group().rstrip(".'’"), *match.span()))
        return clues

    def free(self, found: Iterable[Found]) -> list[Found]:
        """Candidates no part of which was used."""
        return [f for f in found if not any(f.start < end and start < f.end for start, end in self.used)]

    def take(self, found: Found) -> Any:
        """Mark a candidate as used and return its value."""
        self.used.add((found.start, found.end))
        self.taken = found
        return found.value

    def without_values(self) -> str:
        """The text without quoted texts, names and dates: what is asked, not about what."""
        text = self.text
        for found in sorted([*self.quoted, *self.names, *self.dates], key=lambda f: f.start, reverse=True):
            text = f"{text[: found.start]} {text[found.end :]}"
        return text

    def sibling(self, name: str) -> Found | None:
        """The next free candidate of the same kind as the parameter's last one, if "and" or a comma joins the two."""
        last = self.origins.get(name)
        pool = next((p for p in (self.quoted, self.dates, self.numbers, self.names) if last in p), None)
        if last is None or pool is None:
            return None
        later = [f for f in self.free(pool) if f.start >= last.end]
        if later and _JOIN.search(self.text[last.end : later[0].start]):
            return later[0]
        return None


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


def _items(text: str) -> list[Any]:
    items: list[Any] = []
    for piece in text.split(","):
        piece = piece.strip().strip("'\"`")
        if re.fullmatch(r"-?\d+", piece):
            items.append(int(piece[:300]))
        elif re.fullmatch(r"-?\d*\.\d+", piece):
            items.append(float(piece))
        elif piece:
            items.append(piece)
    return items


def words(text: str) -> list[str]:
    """Content words, lower-cased and cut to a rough stem; identifiers are split."""
    split = _CAMEL.sub(" ", str(text)[:TEXT_LIMIT]).replace("_", " ")
    return [stem(w) for w in _WORD.findall(split.lower()) if w not in _STOP and len(w) > 1]


def stem(word: str) -> str:
    """A crude stem: enough to let "prices" meet "price"."""
    for ending in (
        "ations",
        "ation",
        "ating",
        "ated",
        "ates",
        "ate",
        "ings",
        "ing",
        "ies",
        "ers",
        "er",
        "ed",
        "es",
        "s",
        "e",
        "y",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def fill(parameters: Mapping[str, Any], clues: Clues) -> dict[str, Any] | None:
    """Arguments for one function; ``None`` when a required one cannot be found in the text."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = parameters.get("required") or []
    found: dict[str, Any] = {}
    missing = 0
    # The most particular kinds first, so that they are not taken by free text.
    order = sorted(properties, key=lambda name: (name not in required, _particularity(properties[name])))
    for name in order:
        schema = properties[name] if isinstance(properties[name], Mapping) else {}
        clues.taken = None
        value = _value(name, schema, clues, must=name in required)
        if value is not None:
            found[name] = value
            taken: Found | None = clues.taken
            if taken is not None and not isinstance(value, (list, dict)):
                clues.origins[name] = taken
        elif name in required:
            missing += 1
            found[name] = _fallback(schema)
    if missing and missing == len(required):
        return None
    return {name: found[name] for name in properties if name in found}


def next_call(arguments: Mapping[str, Any], clues: Clues) -> dict[str, Any] | None:
    """The same call with the next listed values ("… and for Porto 7 days"); ``None`` when nothing more is listed."""
    following: dict[str, Any] = {}
    for name in arguments:
        found = clues.sibling(name)
        if found is not None:
            value = clues.take(found)
            clues.origins[name] = found
            following[name] = type(arguments[name])(value) if isinstance(arguments[name], (int, float)) else value
    return {**arguments, **following} if following else None


def _particularity(schema: Any) -> int:
    kind = _kind(schema)
    if isinstance(schema, Mapping) and schema.get("enum"):
        return 0
    return {"boolean": 1, "array": 2, "object": 3, "integer": 4, "number": 4}.get(kind, 5)


def _kind(schema: Any) -> str:
    from pytest_bfcl.models.tools import JSON_TYPES

    word = schema.get("type") if isinstance(schema, Mapping) else None
    return "boolean" if word == "Boolean" else JSON_TYPES.get(str(word), "string")


def _value(name: str, schema: Mapping[str, Any], clues: Clues, *, must: bool) -> Any:
    cue = set(words(name))
    about = f"{name} {schema.get('description') or ''}"
    if schema.get("enum"):
        return _choice(schema["enum"], clues, about)
    kind = _kind(schema)
    if kind == "boolean":
        return _boolean(name, clues, must=must)
    if kind in ("integer", "number"):
        return _number(cue, about, clues, kind, must=must)
    if kind == "array":
        return _array(schema, cue, clues, must=must)
    if kind == "object":
        inner = fill(schema, clues) if must and schema.get("properties") else None
        return inner or None
    return _text(name, cue, about, clues, must=must)


def _choice(options: Any, clues: Clues, about: str) -> Any:
    lowered = clues.text.lower()
    for option in options if isinstance(options, list) else []:
        if isinstance(option, str) and option and re.search(rf"(?<!\w){re.escape(option.lower())}", lowered):
            return option
    present = {stem(w) for w in _WORD.findall(lowered)}
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


def _number(cue: set[str], about: str, clues: Clues, kind: str, *, must: bool) -> Any:
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


def _array(schema: Mapping[str, Any], cue: set[str], clues: Clues, *, must: bool) -> Any:
    items = schema.get("items") if isinstance(schema.get("items"), Mapping) else {}
    kind = _kind(items)
    listed = clues.free(clues.lists)
    if listed:
        chosen = _nearest(listed, cue, clues.text) or listed[0]
        value = clues.take(chosen)
        return [float(v) if kind == "number" and isinstance(v, int) else v for v in value]
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
    if re.search(r"\b(?:date|day|time|when)\b|date|_at\b", lowered):
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
    return _phrase(cue, clues)


def _after_name(name: str, clues: Clues) -> str | None:
    """``colour: red``, ``colour is red``, ``colour = red``."""
    label = re.escape(_CAMEL.sub(" ", name).replace("_", " "))
    match = re.search(rf"\b{label}\s*(?:is|:|=|of|named|called)\s+['\"`]?([\w@.+-]+)", clues.text, re.IGNORECASE)
    if match and match.group(1).lower() not in _STOP:
        return str(clues.take(Found(match.group(1).rstrip("."), *match.span(1))))
    return None


def _phrase(cue: set[str], clues: Clues) -> str | None:
    """The words after the last preposition: where people put what they mean."""
    matches = list(
        re.finditer(r"\b(?:in|for|of|to|from|on|about|with|at|as|named|called)\s+(?:the |a |an )?", clues.text)
    )
    for match in reversed(matches):
        rest = re.match(r"[^\s,.;:?!]+(?: [^\s,.;:?!]+){0,2}", clues.text[match.end() :])
        if rest and clues.free([Found("", match.end(), match.end() + rest.end())]):
            words_kept = [w for w in rest.group().split() if w.lower() not in _STOP]
            if words_kept:
                return " ".join(words_kept[:2])
    return None


def _fallback(schema: Mapping[str, Any]) -> Any:
    if "default" in schema and schema["default"] is not None:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    return {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}.get(_kind(schema), "")
