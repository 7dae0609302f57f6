"""``call:NAME{key:value}`` in tags, in the servers' reading: FunctionGemma and Gemma 4."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pytest_bfcl.formats.members import TOKENS, Kept, Pair
from pytest_bfcl.formats.schema_types import Documents, typed_arguments
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.syntax.json_format import leading_json, parse_json
from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError


@dataclass(frozen=True, slots=True)
class GemmaCalls:
    """The servers' notation: keys and values without quotes, texts between two ``quote`` signs."""

    opening: str
    closing: str
    quote: str

    @property
    def marks(self) -> tuple[str, ...]:
        """A text in every reply with a call."""
        return (self.opening,)

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        kept = Kept()
        position = text.find(self.opening)
        while position >= 0:
            position += len(self.opening)
            kept.begin()
            with kept.broken():
                calls, position = self._block(text, position)
                kept.pairs += [(name, typed_arguments(name, found, documents)) for name, found in calls]
            position = text.find(self.opening, position)
        return kept.read()

    def _block(self, text: str, position: int) -> tuple[list[tuple[str, Parsed]], int]:
        """The calls of a block, one after the other with or without signs, and the block's end."""
        calls: list[tuple[str, Parsed]] = []
        ends = re.compile(rf"{re.escape(self.closing)}|{re.escape(self.opening)}|\{{")
        while True:
            head = _HEAD.match(text, position)
            position = head.end() if head else position
            found = ends.search(text, position)
            end = found.start() if found else len(text)
            name = text[position:end].strip()
            arguments: Parsed = {}
            position = end
            if text.startswith("{", position):
                arguments, position = self._object(text, position + 1, 0)
            if not re.fullmatch(r"[^(){}<>\"'=]*", name) or (arguments and not name):
                raise DecodeError("a call without a name")
            if name:
                calls.append((name, arguments))
            position = _skipped(text, position, " ,;\n\t")
            if not text.startswith("call:", position):
                break
        ended = text.startswith((self.closing, self.opening), position)
        rest = "" if ended else TOKENS.sub("", text[position:].partition(self.closing)[0]).strip()
        if rest and not self.closing.startswith(rest):
            raise DecodeError("a call with text that is no argument")
        return calls, position

    def _value(self, text: str, position: int, depth: int) -> tuple[Any, int]:
        if depth > MAX_DEPTH:
            raise DecodeError(f"containers nested deeper than {MAX_DEPTH}")
        if text.startswith(self.quote, position):
            return self._quoted(text, position)
        if text.startswith("{", position):
            return self._object(text, position + 1, depth + 1)
        if text.startswith("[", position):
            return self._list(text, position + 1, depth + 1)
        if text.startswith('"', position):
            with suppress(DecodeError):
                return leading_json(text, position)
        found = _BARE.match(text, position)
        word = found.group().partition(self.closing)[0] if found else ""
        try:
            return parse_json(word.strip()), position + len(word)
        except DecodeError:
            return word.strip(), position + len(word)

    def _quoted(self, text: str, position: int) -> tuple[str, int]:
        start = position + len(self.quote)
        end = text.find(self.quote, start)
        if end >= 0:
            return text[start:end], end + len(self.quote)
        return text[start:].partition(self.closing)[0], len(text)

    def _object(self, text: str, position: int, depth: int) -> tuple[Parsed, int]:
        found: Parsed = {}
        while True:
            position = _skipped(text, position)
            if position >= len(text) or text[position] in "}]" or text.startswith(self.closing, position):
                return found, position + 1
            if text.startswith(self.quote, position):
                key, position = self._quoted(text, position)
                colon = text.find(":", position)
            else:
                colon = text.find(":", position)
                key = text[position:colon].strip().strip("\"'") if colon >= 0 else ""
            if colon < 0 or self.closing in text[position:colon]:
                raise DecodeError("an argument without a value")
            found[key], position = self._value(text, _skipped(text, colon + 1, " \n\t"), depth)

    def _list(self, text: str, position: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while True:
            position = _skipped(text, position)
            if position >= len(text) or text[position] in "}]" or text.startswith(self.closing, position):
                return found, position + 1
            value, position = self._value(text, position, depth)
            found.append(value)


_HEAD = re.compile(r"\s*(?:call)?:?\s*")
_BARE = re.compile(r"[^,}\]]*")


def _skipped(text: str, position: int, signs: str = " ,\n\t") -> int:
    while position < len(text) and text[position] in signs:
        position += 1
    return position


_Element = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class NestedTags:
    """``SIGN<invoke name="…">`` with ``SIGN<KEY>value SIGN</KEY>``, every tag after the same ``sign``."""

    sign: str

    @property
    def marks(self) -> tuple[str, ...]:
        """A text in every reply with a call."""
        return (f"{self.sign}<",)

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        kept = Kept()
        sign = re.escape(self.sign)
        tag = re.compile(rf"{sign}<(/?)([^<>\s]+)(?:\s+name\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s<>]+))?\s*>")
        name: str | None = None
        open_: list[tuple[str, _Element]] = []
        start, unread = 0, False

        def ended() -> None:
            """Add the call that ends here; one with an open element or a text between elements is broken."""
            with kept.broken():
                if name is not None and (unread or len(open_) > 1):
                    raise DecodeError("a call with text that is no argument")
                if name is not None:
                    kept.pairs.append((name, typed_arguments(name, _object(open_[0][1]), documents)))

        for found in tag.finditer(text):
            closing, key, named = found.groups()
            said = text[start : found.start()]
            start = found.end()
            beside = not closing or key == "invoke" or (len(open_) > 1 and bool(open_[-1][1]))
            unread = unread or (beside and bool(said.strip()))
            if key == "invoke":
                kept.begin()
                ended()
                name = named.strip("\"'").strip() if named and not closing else None
                open_, unread = [("", [])], False
            elif name is None:
                continue
            elif not closing:
                if len(open_) > MAX_DEPTH:
                    raise DecodeError(f"elements nested deeper than {MAX_DEPTH}")
                open_.append((key, []))
            elif len(open_) > 1 and open_[-1][0] == key:
                _, inside = open_.pop()
                open_[-1][1].append((key, _value(inside, said)))
        ended()
        return kept.read()


def _value(inside: _Element, said: str) -> Any:
    if not inside:
        return said
    keys = {key for key, _ in inside}
    return [item for _, item in inside] if keys == {"item"} else _object(inside)


def _object(elements: _Element) -> dict[str, Any]:
    """Elements by name; repeated ones become a list."""
    gathered: dict[str, list[Any]] = {}
    for key, value in elements:
        gathered.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in gathered.items()}
