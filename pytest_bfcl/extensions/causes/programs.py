"""Programs that foretell what was said from what is expected: of one change, of two, of tables and constants."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.primitives import LISTS, NUMBERS, OBJECTS, TEXTS, TROUBLE, TRUTHS, Change

MOST_COMPOSED = 10
"""Places that pairs of changes are tried on."""
SHORTEST = 2_000
MOSTLY_APART = 0.8
"""Share of a table's values that differ: many for one are chosen by chance."""
OF_A_TABLE = 20
"""Cost of a table: anything that says why is better."""

Trained = list[tuple[int, Place]]
"""Number of the entry and place."""


class Program(NamedTuple):
    """``foretell``: place → what is said there. ``cost`` counts parts and parameters; the cheaper of two is kept."""

    told: str
    foretell: Callable[..., Any]
    cost: int = 1


def foretold(program: Program, place: Place) -> Any:
    """What a program foretells at a place, `NOTHING` where it does not apply."""
    try:
        return program.foretell(place)
    except TROUBLE:
        return NOTHING


def equal(told: Any, said: Any) -> bool:
    """Whether a value was foretold; numbers to as many digits as were said."""
    if isinstance(told, bool) or isinstance(said, bool):
        return told is said
    if is_number(told) and is_number(said):
        exact = "e" in repr(said) or said == int(said)
        digits = 12 if exact else len(repr(float(said)).partition(".")[2])
        return math.isclose(told, said, rel_tol=1e-9, abs_tol=0.5000001 * 10.0**-digits)
    return type(told) is type(said) and bool(told == said)


def changes_of(value: Any) -> Mapping[str, Change]:
    """The rows of `primitives` for values of a type."""
    if isinstance(value, bool):
        return TRUTHS
    if isinstance(value, int | float):
        return NUMBERS
    if isinstance(value, str):
        return TEXTS
    return LISTS if isinstance(value, list) else OBJECTS if isinstance(value, Mapping) else {}


def made_of(change: Change, value: Any) -> Any:
    """What a change makes of a value, `NOTHING` where it does not apply."""
    try:
        told = change(value)
    except TROUBLE:
        return NOTHING
    return NOTHING if told is None or (isinstance(told, str) and len(told) > SHORTEST) else told


def _of_kind(name: str, kind: Any) -> Callable[[Place], Any]:
    """A named change of what is expected, for values of the kind that it was seen with."""
    return lambda place: made_of(changes_of(place.due)[name], place.due) if isinstance(place.due, kind) else NOTHING


def kind_of(place: Place) -> str:
    """What kind of value is expected at a place: a rule is tested on the kinds that it was seen with."""
    return "decimals" if isinstance(place.due, float) else noun_of(place)


def noun_of(place: Place) -> str:
    """A word for the values that are expected at a place; empty for names."""
    if place.level in ("key", "name", "raw"):
        return ""
    kind = place.due
    if isinstance(kind, bool):
        return "truth values"
    known = ((int | float, "numbers"), (str, "texts"), (list, "lists"))
    return next((noun for each, noun in known if isinstance(kind, each)), "objects")


def of_changes(place: Place) -> Iterator[Program]:
    """One change of the whole."""
    for name, change in changes_of(place.due).items():
        if equal(made_of(change, place.due), place.said):
            kind: Any = type(place.due) if not isinstance(place.due, int | float) else int | float
            yield Program(f"{noun_of(place)} {name}".strip(), _of_kind(name, kind))


LARGEST = 1e15
"""Numbers beyond are not calculated with: a model may write 400 digits, which no float holds."""


def is_number(value: object) -> bool:
    """Whether a value is a finite number that can be calculated with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST


def of_constants(places: Sequence[Place]) -> Iterator[Program]:
    """The same in place of many."""
    meant: defaultdict[str, set[str]] = defaultdict(set)
    for place in places:
        meant[repr(place.said)].add(repr(place.due))
    for place in places:
        if len(meant[repr(place.said)]) > 1:
            yield Program(f"always {repr(place.said)[:60]}", lambda p, s=place.said: s)


def of_tables(places: Trained) -> Iterator[Program]:
    """What is expected, looked up in a table of what other entries said for it."""
    counted: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    said: dict[str, Any] = {}
    for number, place in places:
        counted[repr(place.due)][repr(place.said)].add(number)
        said[repr(place.said)] = place.said
    known = {}
    for due, told in counted.items():
        most = max(told, key=lambda each: len(told[each]))
        if len(told[most]) > 1 and len(told[most]) >= 0.8 * sum(map(len, told.values())):
            known[due] = said[most]
    if len(known) < 2 or len({repr(each) for each in known.values()}) < MOSTLY_APART * len(known):
        return
    shown = ", ".join(f"{due} → {told!r}" for due, told in [*known.items()][:2])
    yield Program(f"one for another ({shown} …)"[:120], lambda p: known.get(repr(p.due), NOTHING), OF_A_TABLE)


def of_codes(places: Sequence[Place], right: Sequence[Place]) -> Iterator[Program]:
    """Numbers in place of the texts of an argument: their positions among all of them, sorted or as they come."""
    texts: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for place in (*places, *right) if any(type(place.said) is int for place in places) else ():
        if place.of is not None and isinstance(place.due, str):
            texts[place.of.key][place.due] = None
    for told, ordered in (("sorted texts", sorted), ("texts as they come", list)):
        for first in (0, 1):
            known = {key: {text: n for n, text in enumerate(ordered(each), first)} for key, each in texts.items()}
            program = Program(
                f"their position among the {told} of the argument (the first is {first})",
                lambda p, k=known: k[p.of.key][p.due], 2,
            )  # fmt: skip
            yield from [program] * sum(equal(foretold(program, place), place.said) for place in places)


def of_two(place: Place) -> Iterator[Program]:
    """Two changes behind each other."""
    for first, one in changes_of(place.due).items():
        between = made_of(one, place.due)
        if between is NOTHING or between == place.due:
            continue
        for second, other in changes_of(between).items():
            if equal(made_of(other, between), place.said):
                kind = type(place.due)
                yield Program(
                    f"{noun_of(place)} {first}, then {second}".strip(),
                    lambda p, f=one, g=other, k=kind: g(f(p.due)) if isinstance(p.due, k) else NOTHING,
                    3,
                )
