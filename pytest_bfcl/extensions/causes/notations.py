"""Programs of arguments, lists and answers in other notations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.programs import Program, noun_of

MOST_BETWEEN = 60
"""Characters between two parts of a call."""

Calls = Sequence[tuple[str, dict[str, Any]]]

_SCALARS: Mapping[str, Callable[[Any], str]] = {
    "": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
    " of Python": repr,
    " of JSON": lambda value: json.dumps(value, ensure_ascii=False),
    " as Python prints them": str,
}


class Marks(NamedTuple):
    """Signs before all, behind a name, behind an argument's name, between arguments, between calls, behind all.

    ``is_told``: whether arguments have their names. ``between_calls`` is `None` where one call was made.
    """

    begin: str
    opening: str
    is_told: bool
    equals: str
    between: str
    between_calls: str | None
    end: str


def of_notations(place: Place) -> Iterator[Program]:
    """A text with the names and values, the elements, or the calls in order, and the same signs between them."""
    calls, said = _calls(place), place.said
    if not isinstance(said, str) or said == place.due or not calls:
        return
    if place.level != "text" and len(calls[0][1]) < (1 if isinstance(place.due, dict) and place.level != "raw" else 2):
        return
    for word, write in _SCALARS.items():
        for is_told in (True, False):
            marks = _marks_of(calls, said, write, is_told)
            if marks is not None and (is_told or len(calls[0][1]) > 1 or place.level == "text"):
                several = [("g", {"a": 3})] if marks.between_calls is not None else []
                shown = written([("f" if place.level == "text" else "", {"a": 1, "b": 2}), *several], marks, str)
                bare = "" if is_told or isinstance(place.due, list) else ", without names of arguments"
                noun = _NOUNS.get(place.level) or noun_of(place)
                told = f"{noun} as texts like `{shown}`{bare}{word and f', values{word}'}"
                yield Program(told, lambda p, m=marks, w=write: written(_calls(p), m, w), 2)


_NOUNS = {"text": "calls", "raw": "arguments"}


def _calls(place: Place) -> Calls:
    """The expected calls of an answer; arguments, an object or a list as one call without a name."""
    if place.level == "text":
        return [(due.name, due.said) for due in place.of.turn.due] if place.of is not None else []
    due = place.due
    if isinstance(due, list):
        due = {str(number): each for number, each in enumerate(due)}
    return [("", due)] if isinstance(due, dict) and due else []


def _marks_of(calls: Calls, said: str, write: Callable[[Any], str], is_told: bool) -> Marks | None:
    """The signs of a text; `None` where it has other parts, or signs that differ."""
    place = 0
    gaps: dict[str, set[str]] = {}
    for number, (name, given) in enumerate(calls):
        parts = [("between_calls" if number else "begin", name)]
        for n, (key, value) in enumerate(given.items()):
            before = "between" if n else "opening"
            parts += [(before, key), ("equals", write(value))] if is_told else [(before, write(value))]
        for gap, part in parts:
            found = said.find(part, place)
            if found < 0 or found - place > MOST_BETWEEN:
                return None
            gaps.setdefault(gap, set()).add(said[place:found])
            place = found + len(part)
    if "opening" not in gaps or len(said) - place > MOST_BETWEEN or any(len(each) > 1 for each in gaps.values()):
        return None
    known = {name: next(iter(each)) for name, each in gaps.items()}
    return Marks(
        known["begin"], known["opening"], is_told, known.get("equals", ""), known.get("between", ", "),
        known.get("between_calls"), said[place:],
    )  # fmt: skip


def written(calls: Calls, marks: Marks, write: Callable[[Any], str]) -> Any:
    """Calls with these signs; `NOTHING` for several where only one was seen."""
    if not calls or (len(calls) > 1 and marks.between_calls is None):
        return NOTHING
    told = [
        name + marks.opening + marks.between.join((key + marks.equals if marks.is_told else "") + write(value)
                                                  for key, value in given.items())
        for name, given in calls
    ]  # fmt: skip
    return marks.begin + (marks.between_calls or "").join(told) + marks.end
