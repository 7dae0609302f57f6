"""The documentation of offered functions on a page."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting import rendering

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_DESCRIPTION = 3_000
MAX_SCHEMA = 1_500
MAX_KEPT = 20_000
"""Size in bytes of JSON up to which a function's documentation is cached for the next pages."""

as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


class Parameter(NamedTuple):
    """One parameter of an offered function; ``more`` is the rest of its schema beyond type and description, as JSON."""

    name: str
    type: str
    description: str
    required: bool
    more: str


class Function(NamedTuple):
    """One offered function."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]


class Offered(NamedTuple):
    """Offered functions: their number, their names in one line, and their documentation as markup."""

    number: int
    names: str
    markup: Markup


class Documentation:
    """Documents functions; recent ones are cached, because entries share them. ``size``: how many."""

    def __init__(self, size: int = 1024) -> None:
        self._size = size
        self._kept: OrderedDict[tuple[bytes, str], Markup] = OrderedDict()

    def of(self, documents: Iterable[tuple[Fields, str]]) -> Offered:
        """All functions of an entry; those added later have a note about the turn."""
        from markupsafe import Markup

        found = list(documents)
        names = ", ".join([str(document.get("name", "")) for document, _ in found])
        markup = Markup("".join([self(document, note) for document, note in found]))  # parts that are markup
        return Offered(len(found), names, markup)

    def __call__(self, document: Fields, note: str = "") -> Markup:
        """One function's documentation."""
        from pydantic_core import PydanticSerializationError, to_json

        try:
            key = to_json(document), note
        except (PydanticSerializationError, ValueError, RecursionError):  # unpaired surrogates, say
            return _documented(document, note)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        found = _documented(document, note)
        if len(key[0]) <= MAX_KEPT:
            self._kept[key] = found
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return found


def _documented(document: Fields, note: str) -> Markup:
    return rendering.macro("functions.html.jinja", "documentation", described(document), note)


def described(document: Fields) -> Function:
    """The shown parts of a function document."""
    schema = document.get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    properties, required = schema.get("properties"), schema.get("required")
    names = properties if isinstance(properties, Mapping) else {}
    needed = required if isinstance(required, list) else []
    parameters = tuple(_parameter(str(name), each, name in needed) for name, each in names.items())
    return Function(str(document.get("name", "")), str(document.get("description") or "")[:MAX_DESCRIPTION], parameters)


def _parameter(name: str, schema: object, required: bool) -> Parameter:
    if not isinstance(schema, Mapping):
        return Parameter(name, "", str(schema)[:MAX_SCHEMA], required, "")
    more = {key: value for key, value in schema.items() if key != "type" and key != "description"}
    kind, about = str(schema.get("type", "")), str(schema.get("description") or "")[:MAX_DESCRIPTION]
    return Parameter(name, kind, about, required, as_json(more)[:MAX_SCHEMA] if more else "")
