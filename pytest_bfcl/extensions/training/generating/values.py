"""A value for a parameter of any tool: by its schema, else by the words of its name and description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from random import Random
from typing import Any
from uuid import UUID

from pytest_bfcl.extensions.lab.auditing.literals import words
from pytest_bfcl.extensions.training.generating.reach import choices
from pytest_bfcl.extensions.training.generating.words import FAMILIES, PEOPLE, term, topic
from pytest_bfcl.json_types import Fields

_TOWNS = ("Riga", "Porto", "Bergen", "Ghent", "Lviv", "Turku", "Graz", "Cork", "Split", "Aarhus", "Leipzig", "Bilbao")
_LANDS = ("Norway", "Portugal", "Latvia", "Japan", "Kenya", "Peru", "Canada", "Austria", "Vietnam", "Chile")


def _day(rng: Random) -> str:
    return (date(2027, 1, 3) + timedelta(days=rng.randrange(700))).isoformat()


def _person(rng: Random) -> str:
    return f"{rng.choice(PEOPLE)} {rng.choice(FAMILIES)}"


def _mail(rng: Random) -> str:
    return f"{rng.choice(PEOPLE).lower()}.{rng.choice(FAMILIES).lower()}@example.org"


_BY_FORMAT: Mapping[str, Callable[[Random], str]] = {
    "date": _day,
    "date-time": lambda rng: f"{_day(rng)}T{rng.randint(7, 21):02}:{rng.choice(['00', '15', '30'])}:00Z",
    "email": _mail,
    "uri": lambda rng: f"https://example.org/{term(rng, topic(rng))}/{rng.randint(10, 99)}",
    "uuid": lambda rng: str(UUID(int=rng.getrandbits(128), version=4)),
}
_BY_WORD: tuple[tuple[tuple[str, ...], Callable[[Random], str]], ...] = (
    (("email", "mail"), _mail),
    (("date", "day", "birthday"), _day),
    (("time",), lambda rng: f"{rng.randint(7, 21):02}:{rng.choice(['00', '15', '30', '45'])}"),
    (("url", "uri", "link"), _BY_FORMAT["uri"]),
    (("country", "nation"), lambda rng: rng.choice(_LANDS)),
    (("city", "town", "place", "location", "destination", "origin"), lambda rng: rng.choice(_TOWNS)),
    (("phone",), lambda rng: f"+49 30 {rng.randint(10**6, 10**7 - 1)}"),
    (("currency",), lambda rng: rng.choice(["EUR", "USD", "NOK", "JPY"])),
    (("language",), lambda rng: rng.choice(["English", "Latvian", "Spanish", "Japanese"])),
    (("firstname", "first"), lambda rng: rng.choice(PEOPLE)),
    (("lastname", "surname", "last"), lambda rng: rng.choice(FAMILIES)),
    (("user", "username", "login"), lambda rng: f"{rng.choice(PEOPLE).lower()}{rng.randint(10, 99)}"),
    (("person", "author", "customer", "contact", "owner"), _person),
    (("id", "code", "number", "key", "sku"), lambda rng: f"{rng.choice('ABKMPT')}{rng.randint(1000, 9999)}"),
    (("color", "colour"), lambda rng: rng.choice(["blue", "green", "amber", "ivory"])),
)


def value_for(rng: Random, name: str, schema: Fields, depth: int = 0) -> Any:
    """A value that fits the schema (benchmark or JSON Schema words); ``None`` if none is known."""
    if schema.get("enum"):
        return rng.choice(list(schema["enum"]))
    if isinstance(schema.get("examples"), list) and schema["examples"]:
        return rng.choice(schema["examples"])
    kind = schema.get("type")
    kind = next((each for each in kind if each != "null"), None) if isinstance(kind, list) else kind
    match kind:
        case "boolean":
            return rng.random() < 0.5
        case "integer":
            return _whole(rng, name, schema)
        case "float" | "number":
            return _whole(rng, name, schema) + rng.choice((0.25, 0.5, 0.75))
        case "string":
            return _text(rng, name, schema)
        case "array" | "tuple" if depth < 2:
            items = schema.get("items")
            inner = items if isinstance(items, Mapping) else {"type": "string"}
            found = [value_for(rng, name, inner, depth + 1) for _ in range(rng.randint(2, 3))]
            distinct = list({repr(each): each for each in found}.values())
            return None if None in found else distinct
        case "dict" | "object" if depth < 1:
            properties = schema.get("properties") or {}
            wanted = [each for each in properties if each in (schema.get("required") or properties)]
            made = {each: value_for(rng, each, properties[each], depth + 1) for each in wanted}
            return made if made and None not in made.values() else None
    return None


def _whole(rng: Random, name: str, schema: Fields) -> int:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and high is None:
        low, high = next((span for telling, span in _SPANS if set(telling) & set(words(name))), (2, 40))
    first = int(low) if isinstance(low, int | float) else int(high) - 40 if isinstance(high, int | float) else 2
    last = int(high) if isinstance(high, int | float) else first + 40
    step = schema.get("multipleOf")
    return rng.randrange(first, max(last, first) + 1, int(step) if isinstance(step, int) and step > 0 else 1)


_SPANS: tuple[tuple[tuple[str, ...], tuple[int, int]], ...] = (
    (("year",), (1995, 2031)), (("month",), (1, 12)), (("age",), (18, 79)), (("id",), (1001, 9899)),
    (("price", "amount", "cost", "budget"), (15, 900)), (("hour",), (0, 23)), (("minute",), (5, 55)),
)  # fmt: skip


def _text(rng: Random, name: str, schema: Fields) -> str | None:
    if schema.get("pattern"):
        return None
    if made := _BY_FORMAT.get(str(schema.get("format"))):
        return made(rng)
    named = list(choices(schema))
    if len(named) > 1:
        return rng.choice(named)
    spelled = set(words(name))
    for telling, draw in _BY_WORD:
        if set(telling) & spelled:
            return draw(rng)
    if "name" in spelled:
        return _person(rng)
    theme = topic(rng)
    return f"{term(rng, theme)} {term(rng, theme)}" if rng.random() < 0.6 else term(rng, theme)
