"""Programs of arguments, lists and answers in other notations."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.programs import Program, noun_of

MOST_BETWEEN = 60
"""Characters between two parts of a call."""
MOST_READ = 12
"""Answers whose notation is read for that of others."""

Calls = Sequence[tuple[str, dict[str, Any]]]

_SCALARS: Mapping[str, Callable[[Any], str]] = {
    "": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
    " of Python": repr,
    " of JSON": lambda value: json.dumps(value, ensure_ascii=False),
    " as Python prints them": str,
}


class Writing(NamedTuple):
    """How arguments are written: each value, and the part in which its name is, `None` without a name."""

    told: str
    value: Callable[[Any], str]
    name: Callable[[str, Any, int], str | None]


def _type_of(value: Any) -> str:
    return type(value).__name__


_NAMES: Mapping[str, Callable[[str, Any, int], str | None]] = {
    "": lambda key, value, number: key,
    ", the first without its name": lambda key, value, number: key if number else None,
    ", without names of arguments": lambda key, value, number: None,
    ", with types": lambda key, value, number: f"{key}: {_type_of(value)}",
}
_WRITINGS = [
    Writing(names + (values and f", values{values}"), write, name)
    for values, write in _SCALARS.items()
    for names, name in _NAMES.items()
]


class Marks(NamedTuple):
    """Signs before all, behind a name, behind an argument's name, between arguments, between calls, behind all.

    ``between_calls`` is `None` where one call was made. ``bare`` follows the name of a call without arguments:
    ``opening``, or its beginning.
    """

    begin: str
    opening: str
    equals: str
    between: str
    between_calls: str | None
    end: str
    bare: str = ""


def of_notations(place: Place) -> Iterator[Program]:
    """A text with the names and values, the elements, or the calls in order, and the same signs between them."""
    calls, said = _calls(place), place.said
    if not isinstance(said, str) or said == place.due or not calls:
        return
    if place.level != "text" and len(calls[0][1]) < (1 if isinstance(place.due, dict) and place.level != "raw" else 2):
        return
    for writing in _WRITINGS:
        marks = _marks_of(calls, said, writing)
        if marks is not None and (writing.name("a", 1, 0) or len(calls[0][1]) > 1 or place.level == "text"):
            yield _program(place, marks, writing)


def of_bare_calls(places: Sequence[Place]) -> Iterator[Program]:
    """The notation of most answers, with what it writes behind the name of a call without arguments."""
    bare = [place for place in places if not all(given for _, given in _calls(place))]
    others = [place for place in places if place not in bare and isinstance(place.said, str)] if bare else []
    seen: Counter[tuple[Marks, Writing]] = Counter()
    for place in others[:MOST_READ]:
        read = ((_marks_of(_calls(place), place.said, writing), writing) for writing in _WRITINGS)
        seen.update((marks, writing) for marks, writing in read if marks is not None)
    for (marks, writing), _ in seen.most_common(len(_WRITINGS)):
        for size in range(len(marks.opening)):
            short = marks._replace(bare=marks.opening[:size])
            hits = sum(written(_calls(place), short, writing) == place.said for place in bare)
            yield from [_program(bare[0], short, writing)] * hits


def _program(place: Place, marks: Marks, writing: Writing) -> Program:
    several = [("g", {"a": 3})] if marks.between_calls is not None else []
    form = writing._replace(value=str)
    shown = written([("f" if place.level == "text" else "", {"a": 1, "b": 2}), *several], marks, form)
    noun = _NOUNS.get(place.level) or noun_of(place)
    told = f"{noun} as texts like `{shown}`{writing.told if not isinstance(place.due, list) else ''}"
    return Program(told, lambda p: written(_calls(p), marks, writing), 2)


_NOUNS = {"text": "calls", "raw": "arguments"}


def _calls(place: Place) -> Calls:
    """The expected calls of an answer; arguments, an object or a list as one call without a name."""
    if place.level == "text":
        return [(due.name, due.said) for due in place.of.turn.due] if place.of is not None else []
    due = place.due
    if isinstance(due, list):
        due = {str(number): each for number, each in enumerate(due)}
    return [("", due)] if isinstance(due, dict) and due else []


def _marks_of(calls: Calls, said: str, writing: Writing) -> Marks | None:
    """The signs of a text; `None` where it has other parts, or signs that differ."""
    place = 0
    gaps: defaultdict[str, set[str]] = defaultdict(set)
    after_bare = []
    for number, (name, given) in enumerate(calls):
        parts = [("between_calls" if number else "begin", name)]
        for n, (key, value) in enumerate(given.items()):
            told = writing.name(key, value, n)
            before, written_value = "between" if n else "opening", writing.value(value)
            parts += [(before, written_value)] if told is None else [(before, told), ("equals", written_value)]
        for gap, part in parts:
            found = said.find(part, place)
            if found < 0 or found - place > MOST_BETWEEN:
                return None
            bare = gap == "between_calls" and not calls[number - 1][1]  # nothing is between its two signs
            after_bare += [said[place:found]] if bare else []
            gaps[gap] |= set() if bare else {said[place:found]}
            place = found + len(part)
    opening, end = next(iter(gaps["opening"]), ""), said[place:]
    for each in after_bare:
        gaps["between_calls"].add(each.removeprefix(opening))
    if not opening or len(end) > MOST_BETWEEN or any(len(each) > 1 for each in gaps.values()):
        return None
    known = {name: next(iter(each)) for name, each in gaps.items() if each}
    return Marks(
        known["begin"], opening, known.get("equals", ""), known.get("between", ", "), known.get("between_calls"),
        end if calls[-1][1] else end.removeprefix(opening), opening,
    )  # fmt: skip


def written(calls: Calls, marks: Marks, writing: Writing) -> Any:
    """Calls with these signs; `NOTHING` for several where only one was seen."""
    if not calls or (len(calls) > 1 and marks.between_calls is None):
        return NOTHING
    told = []
    for name, given in calls:
        parts = []
        for number, (key, value) in enumerate(given.items()):
            before = writing.name(key, value, number)
            parts.append(("" if before is None else before + marks.equals) + writing.value(value))
        told.append(name + (marks.opening + marks.between.join(parts) if parts else marks.bare))
    return marks.begin + (marks.between_calls or "").join(told) + marks.end
