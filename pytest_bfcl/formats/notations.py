"""The notations in which models write calls, described by data: openings, endings, names and encodings.

A notation reads a text as the parser of the family's server does. Text outside its marks is prose. A call that was cut
off ends with the text. An announced but unreadable call is a `DecodeError`. All are limited in depth and linear in the
text's length.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, Protocol

from pytest_bfcl.formats.members import TOKENS, Kept, Pair, items, literal, plain_name, repaired
from pytest_bfcl.formats.schema_types import Documents, has_function, typed_arguments
from pytest_bfcl.syntax.json_format import leading_json, parse_json
from pytest_bfcl.syntax.limits import MAX_CALLS, DecodeError
from pytest_bfcl.syntax.python_syntax import PythonCalls as Python

_OVER = re.compile(rf"(?:\s|{TOKENS.pattern})*+\Z")
_GAP = re.compile(r"(?:[\s,;]|```(?:json|python)?)*", re.IGNORECASE)
_CLOSINGS = ("<|close|>call<|sep|>", "<｜tool_call_end｜>", "<|eom|>")
_LISTED = re.compile(r"\[\s*[A-Za-z_][\w.-]*\(")
_LIST_END = re.compile(r"\)\s*\]")
_BRACKET = re.compile(r"[{\[]")
_SPACE = re.compile(r"\s*+")
_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_TRIES = 50
"""Most brackets of prose that are tried as the beginning of JSON."""


class Notation(Protocol):
    """One notation of calls. ``marks``: texts of which every reply with a call has one (none: any text may be a
    call)."""

    @property
    def marks(self) -> tuple[str, ...]:
        """Texts of which every reply with a call has one; none if any text may be a call."""
        ...

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """Name and arguments of each call, none for prose. Raises `DecodeError` for unreadable calls."""
        ...


def member_pairs(member: object, *, bare: bool = False) -> Iterator[Pair]:
    """The calls of a JSON value: an object with a name and arguments, or a list of them.

    ``bare``: a call may omit empty arguments. Text arguments are parsed as JSON.
    """
    if isinstance(member, (list, tuple)):
        for item in member:
            yield from member_pairs(item, bare=bare)
        return
    if not isinstance(member, dict):
        raise DecodeError("something else than a call among the calls")
    function = member.get("function")
    fields = function if isinstance(function, dict) else member
    name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), function)
    key = next((key for key in _ARGUMENTS if key in fields), None)
    if not isinstance(name, str) or (key is None and not bare):
        raise DecodeError("a call needs a name and arguments")
    arguments = fields[key] if key is not None else {}
    if isinstance(arguments, str):
        with suppress(DecodeError):  # a text that is none says itself that it is no object
            arguments = parse_json(arguments)
    yield name, arguments


@dataclass(frozen=True, slots=True)
class JsonCalls:
    """JSON objects, or lists of them, behind each ``opening``; several may follow each other with or without signs.
    ``closing`` ends a text with Python's quotes and words; if calls are ``alone`` nothing else may come before it.
    ``keyed``: the members are ``{name: arguments}``. ``bare`` as `member_pairs`.
    """

    opening: tuple[str, ...]
    closing: str = ""
    alone: bool = False
    keyed: bool = False
    bare: bool = False

    @property
    def marks(self) -> tuple[str, ...]:
        """A text in every reply with a call."""
        return self.opening

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        kept = Kept()
        position = 0
        for start in _behind(text, self.opening):
            if start < position:
                continue  # inside the call before
            with kept.broken():
                found, position = self._members(text, start)
                kept.pairs += found
        return kept.read()

    def _members(self, text: str, position: int) -> tuple[list[Pair], int]:
        pairs: list[Pair] = []
        position = _skipped(text, position)
        if text[position : position + 1] not in ("{", "["):
            raise DecodeError("no JSON where a call is announced")
        while text[position : position + 1] in ("{", "["):
            try:
                value, position = leading_json(text, position)
            except DecodeError:
                signs = (sign for sign in (self.closing, *self.opening) if sign)
                end = min((at for sign in signs if (at := text.find(sign, position)) >= 0), default=len(text))
                value, position = _quoted(text[position:end]), end
            pairs += self._pairs(value)
            position = _skipped(text, position)
        if (self.alone or self._is_closed(text, position)) and not self._ended(text, position):
            raise DecodeError("something behind the JSON of a call")
        return pairs, position

    def _is_closed(self, text: str, position: int) -> bool:
        """Whether the closing tag of this call follows: then the text before it is no prose."""
        end = text.find(self.closing, position) if self.closing and self.closing not in self.opening else -1
        return end >= 0 and not any(text.find(each, position, end) >= 0 for each in self.opening)

    def _ended(self, text: str, position: int) -> bool:
        """Whether the tag closes here, another opens, or the text ends."""
        return text.startswith((self.closing, *self.opening), position) or _OVER.match(text, position) is not None

    def _pairs(self, value: object) -> Iterable[Pair]:
        if not self.keyed:
            return member_pairs(value, bare=self.bare)
        return items(value if isinstance(value, list) else [value])


@dataclass(frozen=True, slots=True)
class LooseJson:
    """JSON objects with a name and arguments, or lists of them, anywhere in the text.

    An object that is no call makes the whole reply prose. Only a text without anything else may use Python's quotes and
    words.
    """

    marks: tuple[str, ...] = ()

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        pairs: list[Pair] = []
        position = tries = 0
        while tries < _TRIES and (found := _BRACKET.search(text, position)) is not None:
            try:
                value, position = leading_json(text, found.start())
            except DecodeError:
                tries, position = tries + 1, found.end()
                if not pairs and not _unfenced(text[: found.start()]).strip():
                    with suppress(DecodeError):
                        return list(member_pairs(_quoted(text[found.start() :])))
                if found.group() == "{":
                    raise
                continue
            if isinstance(value, dict) or any(isinstance(item, dict) for item in value):
                pairs += member_pairs(value)
        return pairs


@dataclass(frozen=True, slots=True)
class NamedJson:
    """A name between the format's signs, then its arguments as one JSON object.

    ``call``: a pattern with the name in one of its groups, up to the JSON; other text is no call. ``bare``: missing
    JSON means no arguments. ``closing``: a call without it was cut off. ``ending``: only white space may come before
    it.
    """

    call: re.Pattern[str]
    marks: tuple[str, ...] = ()
    bare: bool = False
    closing: str = ""
    ending: str = ""

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        kept = Kept()
        position = 0
        end = text.find(self.ending) if self.ending else -1
        while (found := self.call.search(text, position)) is not None:
            kept.begin()
            start = position = _skipped(text, found.end())
            with kept.broken():
                if text.startswith("{", start):
                    arguments, position = leading_json(text, start)
                elif self.bare and self._is_empty(text, start):
                    arguments = {}
                else:
                    raise DecodeError("the arguments of a call are no JSON object")
                if not text.startswith(self.closing, _skipped(text, position)):
                    raise DecodeError("a call that was cut off")
                end = text.find(self.ending, position) if 0 <= end < position else end
                behind = _SPACE.match(text, position)
                if behind and behind.end() < end and not self.call.search(text, position, end):
                    raise DecodeError("something behind the JSON of a call")
                kept.pairs.append((next(filter(None, found.groups())).strip(), arguments))
        return kept.read()

    def _is_empty(self, text: str, position: int) -> bool:
        """Whether nothing is written up to the next sign."""
        end = text.find("<", position)
        return not TOKENS.sub("", text[position : end if end >= 0 else len(text)]).strip()


class _Inside(NamedTuple):
    """A call's parameters, the text between them, its end, and whether it ends before the text."""

    arguments: dict[str, Any]
    unread: list[str]
    end: int
    closed: bool

    def read(self, ends: tuple[str, ...]) -> dict[str, Any]:
        """The arguments, perhaps one JSON object; ``ends``: texts that may end the call, or be cut off at its end.

        Raises `DecodeError` if a part of the call is unread.
        """
        rest = TOKENS.sub("", "".join(self.unread)).strip()
        if not rest or (not self.closed and any(end.startswith(rest) for end in ends)):
            return self.arguments
        value = parse_json(rest) if rest.startswith("{") and not self.arguments else None
        if not isinstance(value, dict):
            raise DecodeError("a call with text that is no parameter")
        return value


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tag with the name, then one element a parameter, whose values are texts.

    ``call``: group ``name``. ``parameter``: group ``key`` and, if the format shows the type, ``kind`` (``true`` or
    ``string``: a text, anything else: JSON). A value ends with the first of ``value_ends`` (its own closing tag comes
    first), or is invalid. A call ends with the first of ``call_ends``, or with the text unless it must be ``closed``.
    ``trimmed``: the white space around a value that belongs to the tag (``line``: a line feed on either side).
    ``json_untyped``: values without a documented type are JSON if possible. ``unclosed``: the next element also ends a
    value. ``named``: a tag around an unknown name is no call. ``prose``: messages without calls. A call with other
    content is broken, unless that is one JSON object.
    """

    call: re.Pattern[str]
    parameter: re.Pattern[str]
    value_ends: tuple[str, ...]
    call_ends: tuple[str, ...]
    marks: tuple[str, ...]
    trimmed: str = ""
    escaped: bool = False
    json_values: bool = False
    json_untyped: bool = False
    named: bool = False
    closed: bool = False
    unclosed: bool = False
    prose: re.Pattern[str] | None = None

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        if self.prose is not None:
            text = self.prose.sub("", text)
        kept = Kept()
        position = 0
        while (found := self.call.search(text, position)) is not None:
            kept.begin()
            inside = self._inside(text, found.end())
            position = inside.end
            name = html.unescape(found["name"].strip().strip("\"'"))
            if (
                not name
                or (self.closed and not inside.closed)
                or (self.named and documents and not has_function(name, documents))
            ):
                continue
            with kept.broken():
                kept.pairs.append(
                    (name, typed_arguments(name, inside.read(self.call_ends), documents, json=self.json_untyped))
                )
        return kept.read()

    def _inside(self, text: str, position: int) -> _Inside:
        """The content of a call that begins at ``position``."""
        inside, ends = _parts_of(self.parameter.pattern, self.value_ends, self.call_ends)
        arguments: dict[str, Any] = {}
        unread: list[str] = []
        while (found := inside.search(text, position)) is not None:
            unread.append(text[position : found.start()])
            if found["end_"] is not None:
                closing = found.group().startswith("</") or found.group() in _CLOSINGS
                return _Inside(arguments, unread, found.end() if closing else found.start(), True)
            end = self._value_end(text, ends, found.end())
            if end is None:
                return _Inside(arguments, [*unread, text[found.start() :]], len(text), False)
            own = end.group() == self.value_ends[0]
            position = end.end() if own else end.start()
            if not own and (not self.unclosed or found.groupdict().get("opened_", "") is None):
                unread.append(text[found.start() : end.start()])
                continue
            raw = text[found.end() : end.start()]
            key = html.unescape(found["key"].strip().strip("\"'"))
            arguments[key] = self._value(raw, found.groupdict().get("kind"))
        return _Inside(arguments, [*unread, text[position:]], len(text), False)

    def _value_end(self, text: str, ends: re.Pattern[str], position: int) -> re.Match[str] | None:
        """The first sign that ends a value; a sign of the call inside a value that its own tag closes later does not
        count."""
        end = ends.search(text, position)
        if end is not None and end.group() not in self.value_ends:
            own = _next_of(self.value_ends, self.call.pattern).search(text, end.end())
            if own is not None and own.group() == self.value_ends[0]:
                return own
        return end

    def _value(self, raw: str, kind: str | None) -> Any:
        if (inside := raw.strip()).startswith("<![CDATA[") and inside.endswith("]]>"):
            return inside[9:-3]
        if self.trimmed == "line":
            raw = raw.removeprefix("\n").removesuffix("\n")
        elif self.trimmed == "all":
            raw = raw.strip()
        if self.escaped:
            raw = html.unescape(raw)
        if kind in ("true", "string") or (kind is None and not self.json_values):
            return raw
        try:
            return parse_json(raw)
        except DecodeError:
            return raw


@dataclass(frozen=True, slots=True)
class PythonCalls:
    """Python calls, a list or one a line, between ``opening`` and ``closing``; without an opening the whole text."""

    opening: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """A text in every reply with a call."""
        return self.opening

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        kept = Kept()
        position = 0
        for start in _behind(text, self.opening) if self.opening else [0]:
            if start < position:
                continue
            ends = [end for closing in self.closing if (end := text.find(closing, start)) >= 0]
            position = min(ends, default=len(text))
            inside = _unfenced(TOKENS.sub("", text[start:position])).strip()
            if inside.strip("[] \n"):
                with kept.broken():
                    kept.pairs += _python(inside) if self.opening else _python_in_prose(inside)
        return kept.read()


def _python_in_prose(text: str) -> list[Pair]:
    """The calls of a text that is a list of them, else of the lists in it."""
    try:
        return _python(text)
    except DecodeError:
        pairs: list[Pair] = []
        position = tries = 0
        while tries < _TRIES // 5 and (found := _LISTED.search(text, position)) is not None:
            position = found.end()
            if _LIST_END.search(text, position) is None:
                break  # no later list ends either
            for end in islice(_LIST_END.finditer(text, position), _TRIES // 5):
                tries += 1
                with suppress(DecodeError):
                    pairs += _python(text[found.start() : end.end()])
                    position = end.end()
                    break
        if not pairs:
            raise
        return pairs


def _python(text: str) -> list[Pair]:
    error: DecodeError | None = None
    if "(" not in text:  # spared the parser
        raise DecodeError("no call in the text")
    for candidate in repaired(text):
        try:
            parsed = Python(candidate)
            calls = parsed.calls()
        except DecodeError as trouble:
            error = error or trouble
            continue
        if parsed.unnamed:
            raise DecodeError("a call with an argument that has no name")
        return [
            (plain_name(call.name), {plain_name(key): item for key, item in call.arguments.items()}) for call in calls
        ]
    raise error or DecodeError("no call in the text")


@dataclass(frozen=True, slots=True)
class FirstOf:
    """A family with several notations: the first that finds calls."""

    ways: tuple[Notation, ...]
    marks: tuple[str, ...] = field(init=False)
    """A text in every reply with a call."""

    def __post_init__(self) -> None:
        marks = dict.fromkeys(mark for way in self.ways for mark in way.marks)
        object.__setattr__(self, "marks", tuple(marks))

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        error: DecodeError | None = None
        for way in self.ways:
            try:
                if found := way.pairs(text, documents):
                    return found
            except DecodeError as trouble:
                error = error or trouble
        if error is not None:
            raise error
        return []


@lru_cache(maxsize=64)
def _parts_of(
    parameter: str, value_ends: tuple[str, ...], call_ends: tuple[str, ...]
) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The possible next signs in a call (its end or a parameter), and the possible ends of a value."""
    return re.compile(f"(?P<end_>{_any(call_ends)})|{parameter}"), re.compile(_any((*value_ends, *call_ends)))


@lru_cache(maxsize=64)
def _next_of(value_ends: tuple[str, ...], call: str) -> re.Pattern[str]:
    """The next end of a value or the next call, whichever is first: no search goes further than it must."""
    return re.compile(f"{_any(value_ends)}|{call}")


def _any(texts: Iterable[str]) -> str:
    return "|".join(map(re.escape, texts))


def _behind(text: str, openings: tuple[str, ...]) -> Iterator[int]:
    """Positions after each opening, from left to right."""
    for number, found in enumerate(re.finditer(_any(openings), text)):
        if number >= MAX_CALLS:
            raise DecodeError(f"more than {MAX_CALLS} calls in one reply")
        yield found.end()


def _quoted(text: str) -> Any:
    """A value written with Python's quotes and words."""
    if ":" not in text:  # spared the parser
        raise DecodeError("not JSON")
    return literal(_unfenced(TOKENS.sub("", text)))


def _skipped(text: str, position: int) -> int:
    found = _GAP.match(text, position)
    return found.end() if found else position


_FENCE = re.compile(r"\s*+```\w*+\s*+")


def _unfenced(text: str) -> str:
    """A text without the fences around it, at most two of them."""
    for _ in range(2):
        opening = _FENCE.match(text)
        text = text[opening.end() :] if opening else text
        inside = text.rstrip()
        text = inside.removesuffix("```").rstrip() if inside.endswith("```") else text
    return text
