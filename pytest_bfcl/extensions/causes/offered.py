"""Other texts that were offered where one was due: of the schema, of the other arguments, of the question, of tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pytest_bfcl.extensions.causes.places import NOTHING, Context, Place

Offered = Iterator[tuple[str, Any]]
_WORDS = ("description", "title", "type", "format", "default", "minimum", "maximum")


def offered_at(place: Place) -> Offered:
    """What could be said at a place, described; nothing for places of whole replies."""
    given = {"value": of_value, "key": of_key, "name": of_name}.get(place.level)
    if place.level in ("text", "raw") and place.of is not None:
        yield from _asked(place.of)
    if place.of is None or given is None:
        return
    yield from ((told, value) for told, value in given(place.of, place.due) if value is not None)
    made = len(place.of.case.before(place.of.number, place.of.nth))
    for number, told in ((place.of.nth, "call of the turn"), (made, "call of the conversation")):
        for start in (0, 1):
            yield f"the number of the {told} (the first is {start})", str(number + start)


def one_offered(place: Place, told: str) -> Any:
    """The offered value of that description, `NOTHING` without one."""
    return next((value for each, value in offered_at(place) if each == told), NOTHING)


def of_value(at: Context, due: Any) -> Offered:
    """What could be said in place of a value."""
    known, given = _sent(at, at.due.name), at.due.said
    schema = known.get(at.key)
    schema = schema if isinstance(schema, Mapping) else {}
    yield "the name of the argument", at.key
    yield "the last word of the argument's name", re.split(r"[\W_]+", at.key)[-1]
    yield "the name of the function", at.due.name
    yield "the description of the function", _function(at, at.due.name).get("description")
    for word in _WORDS:
        yield f"the {word} of the argument", schema.get(word)
    enum = schema.get("enum")
    if isinstance(enum, list) and enum:
        yield from _neighbours(enum, due, "value of the enum")
        for start in (0, 1) if due in enum else ():
            yield f"their number in the enum (the first is {start})", enum.index(due) + start
    yield from _neighbours(list(given.values()), given.get(at.key), "value of the call", list(given).index(at.key))
    yield from _neighbours(list(given), at.key, "argument's name")
    yield (
        "the value at this place once those of the call are sorted",
        sorted(given.values(), key=str)[list(given).index(at.key)],
    )
    elements = given.get(at.key)
    if isinstance(elements, list) and elements:
        yield from _neighbours(elements, due, "element of the list")
    for told, other in _others(at):
        yield f"the same argument of {told}", other.said.get(at.key)
    before = [each.said[at.key] for turn in at.case.turns[: at.number] for each in turn.due if at.key in each.said]
    if before:
        yield "the first value of an argument of this name", before[0]
        yield "the last value of an argument of this name", before[-1]
    yield from _asked(at)


def of_key(at: Context, due: Any) -> Offered:
    """What could be said in place of an argument's name."""
    known = _sent(at, at.due.name)
    schema = known.get(due)
    schema = schema if isinstance(schema, Mapping) else {}
    for word in _WORDS[:3]:
        yield f"the {word} of the argument", schema.get(word)
    for sign in "._-:/ ":
        yield f"the function's name, `{sign}` and the argument's", f"{at.due.name}{sign}{due}"
        yield f"the argument's name, `{sign}` and its type", f"{due}{sign}{schema.get('type')}"
    yield "the value of the argument", at.due.said.get(due)
    if due in at.due.said:
        place = list(at.due.said).index(due)
        for noun, name in (("first", next(iter(at.case.sent), "")), ("last", next(reversed(at.case.sent), ""))):
            others = list(_sent(at, name))
            if place < len(others):
                yield f"the parameter at this place of the {noun} offered function", others[place]
    if due in known:
        yield from _neighbours(list(known), due, "parameter of the function")
        yield from _numbers(list(known), due, "")


def of_name(at: Context, due: Any) -> Offered:
    """What could be said in place of a function's name."""
    yield "the description of the function", _function(at, due).get("description")
    names = list(at.case.wires)
    if due in names:
        yield from _neighbours(names, due, "offered function")
        yield from _neighbours(sorted(names), due, "offered function by the alphabet")
        yield from _numbers(names, due, "")
        yield from _numbers(sorted(names), due, " by the alphabet")
    for told, other in _others(at):
        yield f"the name of {told}", other.name
    for key, value in list(at.due.said.items())[:1]:
        yield "the name of the first argument", key
        yield "the value of the first argument", value


def _numbers(known: Sequence[Any], one: Any, how: str) -> Offered:
    for start in (0, 1):
        yield f"their number{how} (the first is {start})", str(known.index(one) + start)


def _function(at: Context, name: str) -> Mapping[str, Any]:
    return at.case.sent.get(name, {})


def _sent(at: Context, name: str) -> Mapping[str, Any]:
    parameters = _function(at, name).get("parameters")
    found = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _neighbours(known: Sequence[Any], one: Any, noun: str, place: int | None = None) -> Offered:
    yield f"the first {noun}", known[0]
    yield f"the last {noun}", known[-1]
    if place is None:
        place = next((n for n, each in enumerate(known) if each == one), None)
    if place is not None and len(known) > 1:
        yield f"the next {noun}", known[(place + 1) % len(known)]
        yield f"the {noun} before", known[place - 1]


def _others(at: Context) -> Offered:
    """The other calls of the turn, and those of turns before."""
    due, n = at.turn.due, at.nth
    if n:
        yield "the first call", due[0]
        yield "the call before", due[n - 1]
    if n + 1 < len(due):
        yield "the next call", due[n + 1]
        yield "the last call", due[-1]
    for turn in at.case.turns[: at.number][::-1]:
        for each in turn.due[::-1]:
            if each.name == at.due.name:
                yield "an earlier turn's call", each
                return


def _asked(at: Context) -> Offered:
    turns = at.case.entry.question
    texts = [" ".join(str(each.get("content")) for each in turn if each.get("role") == "user") for turn in turns]
    yield from _in_words(next((each for each in texts[: at.number + 1][::-1] if each), ""), "the question")
    if at.number:
        yield from _in_words(" ".join(texts), "the conversation")


@lru_cache(maxsize=4096)  # every place of an entry is asked for the same texts
def _in_words(text: str, noun: str) -> tuple[tuple[str, Any], ...]:
    return tuple(_parts_of_text(text, noun))


def _parts_of_text(text: str, noun: str) -> Offered:
    if not text:
        return
    yield noun, text
    words = re.findall(r"\w+", text)
    if words:
        yield f"the first word of {noun}", words[0]
        yield f"the last word of {noun}", words[-1]
        yield f"the longest word of {noun}", max(words, key=len)
    numbers = [
        float(each) if "." in each else int(each) for each in re.findall(r"\d+(?:\.\d+)?", text)[:40] if len(each) < 15
    ]
    if numbers:
        yield f"the first number of {noun}", numbers[0]
        yield f"the last number of {noun}", numbers[-1]
        yield f"the largest number of {noun}", max(numbers)
    whole = [int(each) for each in re.findall(r"\d{1,15}", text)[:40]]
    if whole:
        yield f"the first digits of {noun}", whole[0]
        yield f"the last digits of {noun}", whole[-1]
    yield f"the number of words of {noun}", len(text.split())
