"""MiniMax M3's calls: a tag a parameter, elements inside elements for objects and lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pytest_bfcl.formats.members import Kept, Pair
from pytest_bfcl.formats.schema_types import Documents, typed_arguments
from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError

_Element = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class NestedTags:
    """``SIGN<invoke name="…">`` with ``SIGN<KEY>value SIGN</KEY>``, every tag behind the same ``sign``."""

    sign: str

    @property
    def marks(self) -> tuple[str, ...]:
        """What is in every reply that calls."""
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
            """Keep the call that ends here; one with an element left open or a text next to elements is broken."""
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
    """Elements by name; those that come twice are a list."""
    gathered: dict[str, list[Any]] = {}
    for key, value in elements:
        gathered.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in gathered.items()}
