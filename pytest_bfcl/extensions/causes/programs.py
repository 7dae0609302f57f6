"""Programs that foretell what was said from what is expected: of one change, of two, of tables and constants.

Also of arguments as wholes, of numbers, and of other texts that were offered.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.offered import offered_at, one_offered
from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.primitives import NUMBERS, TEXTS, TROUBLE, TRUTHS, Change
from pytest_bfcl.extensions.causes.raw import repaired
from pytest_bfcl.extensions.causes.structures import LISTS, OBJECTS, WRITERS

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
    """What a program foretells at a place, `NOTHING` where it does not apply; of answers without blanks around them."""
    try:
        told = program.foretell(place)
    except TROUBLE:
        return NOTHING
    return told.strip() if place.level == "text" and isinstance(told, str) else told


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
        told = made_of(change, place.due)
        if equal(told, place.said) and (told != place.due or type(told) is not type(place.due)):
            kind: Any = type(place.due) if not isinstance(place.due, int | float) else int | float
            yield Program(f"{noun_of(place)} {name}".strip(), _of_kind(name, kind))


def of_deep_changes(place: Place) -> Iterator[Program]:
    """One change of a list or an object, and of all of its kind inside it."""
    if not isinstance(place.due, dict | list) or place.level != "value":
        return
    kind = type(place.due)
    for name, change in changes_of(place.due).items():
        if equal(made_of(_deep(change, kind), place.due), place.said):
            yield Program(
                f"{noun_of(place)} {name}, also inside",
                lambda p, c=change, k=kind: made_of(_deep(c, k), p.due) if isinstance(p.due, k) else NOTHING,
                2,
            )


def of_wrapped(place: Place) -> Iterator[Program]:
    """A list or an object with constant values added: in a list, or in the object itself."""
    due, said = place.due, place.said
    if place.level != "value":
        return
    if isinstance(due, dict | list) and isinstance(said, list) and len(said) == 2 and due in said:
        at, other = said.index(due), said[said[0] == due]
        if not isinstance(other, dict | list):
            shown = ", ".join("…" if n == at else repr(other) for n in (0, 1))
            kind = type(due)
            yield Program(
                f"{noun_of(place)} as `[{shown}]`",
                lambda p, n=at, o=other: ([p.due, o] if n == 0 else [o, p.due]) if type(p.due) is kind else NOTHING,
            )
    if isinstance(due, dict) and isinstance(said, dict) and due.items() < said.items():
        more = {key: value for key, value in said.items() if key not in due}
        told = ", ".join(f"`{key}: {value}`" for key, value in more.items())[:100]
        yield Program(f"objects with {told}", lambda p, m=more: {**m, **p.due} if isinstance(p.due, dict) else NOTHING)


def _deep(change: Change, kind: type) -> Change:
    """A change made from the inside out. Its lists and objects are few and small: arguments of a call."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            value = {key: changed(each) for key, each in value.items()}
        elif isinstance(value, list):
            value = [changed(each) for each in value]
        return change(value) if isinstance(value, kind) else value

    return changed


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
    yield Program(f"one for another ({shown[:100]} …)", lambda p: known.get(repr(p.due), NOTHING), OF_A_TABLE)


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
        if between is NOTHING or between == place.due or equal(between, place.said):
            continue
        for second, other in changes_of(between).items():
            if equal(made_of(other, between), place.said):
                kind = type(place.due)
                yield Program(
                    f"{noun_of(place)} {first}, then {second}".strip(),
                    lambda p, f=one, g=other, k=kind: g(f(p.due)) if isinstance(p.due, k) else NOTHING,
                    3,
                )


MOST_BEYOND = 60
"""Characters of a name and its value that a repair leaves out."""


def of_raw(place: Place) -> Iterator[Program]:
    """Arguments written in another notation, and the text changed; another shape inside objects of one name."""
    if place.level != "raw":
        return
    path: list[str] = []
    inner = place.said
    while isinstance(inner, dict) and len(inner) == 1 and len(path) < 4 and not inner.keys() & place.due.keys():
        path.append(*inner)
        inner = inner[path[-1]]
    for name, change in OBJECTS.items() if path else ():
        if (
            not name.startswith("only the first")
            and isinstance(inner, dict | list)
            and equal(made_of(change, place.due), inner)
        ):
            told = f"wrapped in `{'.'.join(path)}`, {name}"
            yield Program(told, lambda p, c=change, k=tuple(path): _wrapped(k, c(p.due)), 2)
    yield from _of_cut(place)
    for writer, write in WRITERS.items():
        text = made_of(write, place.due)
        if text == place.said:
            yield Program(writer, lambda p, w=write: w(p.due))
            continue
        if isinstance(text, str) and isinstance(place.said, str) and place.said:
            yield from _of_first_sign(place.said, text, writer, write)
        for name, change in TEXTS.items() if isinstance(text, str) and not isinstance(place.said, dict) else ():
            if made_of(change, text) == place.said:
                told = ", ".join(each for each in (writer, name) if each)
                yield Program(told, lambda p, w=write, c=change: _or_read(p, c(w(p.due))), 2)
    for name, change in TEXTS.items() if isinstance(place.said, dict) else ():
        if made_of(lambda due, c=change: json.loads(c(WRITERS[""](due))), place.due) == place.said:
            yield Program(name, lambda p, c=change: _or_read(p, c(WRITERS[""](p.due))), 2)


def _of_first_sign(said: str, text: str, writer: str, write: Callable[[Any], Any]) -> Iterator[Program]:
    """A text that ends with the first of some sign, as a lazy pattern reads it."""
    sign = said[-1]
    if said != text and text.startswith(said) and text.index(sign) == len(said) - 1 and not sign.isalnum():
        told = ", ".join(filter(None, (writer, f"cut after the first `{sign}`")))
        yield Program(told, lambda p, w=write, s=sign: _up_to(w(p.due), s), 1)


def _up_to(text: str, sign: str) -> Any:
    before, found, after = text.partition(sign)
    return before + found if after else NOTHING


def _or_read(place: Place, text: Any) -> Any:
    """A text of arguments, as the object that would be read of it where one was read."""
    if not isinstance(place.said, dict) or not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def of_split(places: Sequence[Place]) -> Iterator[Program]:
    """Arguments split into several objects: by the kinds of their values, by what is required, or by their names."""
    split = [place for place in places if _is_split(place)]
    for told, class_of in _CLASSES.items():
        counted: defaultdict[Any, Counter[str]] = defaultdict(Counter)
        for place in split:
            for name, held in place.said.items():
                for key in held:
                    counted[class_of(place, key)][name] += 1
        table = {one: names.most_common(1)[0][0] for one, names in counted.items() if names}
        shown = defaultdict[str, list[str]](list)
        for one, name in table.items():
            shown[name].append(str(one))
        if len(shown) > 1:
            parts = ", ".join(f"`{name}` ({', '.join(sorted(ones)[:4])})" for name, ones in sorted(shown.items()))
            program = Program(
                f"split into {parts}{told}", lambda p, t=table, c=class_of: _in_parts(p, t, c), len(table)
            )
            yield from [program] * sum(equal(foretold(program, place), place.said) for place in split)


def _is_split(place: Place) -> bool:
    """Whether all arguments stand unchanged in objects, of which there are several."""
    said, due = place.said, place.due
    if not isinstance(said, dict) or len(said) < 2 or not all(isinstance(each, dict) for each in said.values()):
        return False
    inner = [pair for held in said.values() for pair in held.items()]
    return len(inner) == len(due) and all(key in due and equal(due[key], value) for key, value in inner)


def _kind(place: Place, key: str) -> str:
    value = place.due[key]
    if isinstance(value, dict | list):
        return "objects and lists"
    return "texts" if isinstance(value, str) else "numbers"


def _is_required(place: Place, key: str) -> str:
    needed = place.of.case.schema(place.of.due.name).get("required") if place.of is not None else None
    return "required" if isinstance(needed, list) and key in needed else "optional"


_CLASSES: Mapping[str, Callable[[Place, str], str]] = {
    "": _kind,
    " ones": _is_required,
    " by their names": lambda place, key: key,
}


def _in_parts(place: Place, table: Mapping[str, str], class_of: Callable[[Place, str], str]) -> Any:
    parts: dict[str, dict[str, Any]] = {}
    for key, value in place.due.items():
        parts.setdefault(table[class_of(place, key)], {})[key] = value
    return parts


def _of_cut(place: Place) -> Iterator[Program]:
    """The text of arguments, cut off and closed by a repair."""
    if not isinstance(place.said, dict) or not place.said:
        return
    text, said = (str(made_of(WRITERS[""], each)) for each in (place.due, place.said))
    kept = next((n for n, (a, b) in enumerate(zip(text, said, strict=False)) if a != b), len(text))
    for size in range(kept, min(kept + MOST_BEYOND, len(text))):
        if repaired(text[:size]) == place.said:
            yield Program(f"cut after {size} letters, and closed", lambda p, n=size: _cut_and_closed(p, n))


def _cut_and_closed(place: Place, size: int) -> Any:
    text = made_of(WRITERS[""], place.due)
    found = repaired(text[:size]) if len(text) > size else None
    return NOTHING if found is None else found


def _wrapped(path: tuple[str, ...], inner: Any) -> Any:
    for key in reversed(path):
        inner = {key: inner}
    return inner


def of_offered(place: Place) -> Iterator[Program]:
    """Another text that was offered, whole, changed or its beginning."""
    for told, value in offered_at(place):
        if equal(_with_hint(value, place.said), place.said):
            yield Program(told, lambda p, t=told: _with_hint(one_offered(p, t), p.said))
        elif isinstance(value, str) and isinstance(place.said, str) and value and place.said:
            for name, change in TEXTS.items():
                if made_of(change, value) == place.said:
                    yield Program(f"{told}, {name}", lambda p, t=told, c=change: made_of(c, one_offered(p, t)), 2)
            if len(place.said) > 3 and value.startswith(place.said):
                size = len(place.said)
                yield Program(f"the first {size} letters of {told}", lambda p, t=told, n=size: one_offered(p, t)[:n], 2)


def _with_hint(value: Any, said: Any) -> Any:
    """What was said where it is a sentence that was offered, with what requests say behind it of a language's types."""
    texts = isinstance(value, str) and isinstance(said, str) and len(value) > 3
    return said if texts and said.startswith(value) and value[-1:] in ".!?" else value


def of_lines(places: Sequence[Place]) -> Iterator[Program]:
    """``said = a × due + b``, exact or rounded; numbers that never go beyond one; powers."""
    for place in places:
        if place.due and place.said:
            yield from _line(place.said / place.due, 0.0)
        yield from _line(1.0, place.said - place.due)
    for one, other in pairwise(sorted(places, key=lambda each: float(each.due))):
        if one.due != other.due:
            slope = (other.said - one.said) / (other.due - one.due)
            yield from _line(slope, one.said - slope * one.due)
    for bound, number in Counter(place.said for place in places).items():
        if number > 1:
            above = all(place.due > bound for place in places if place.said == bound)
            below = all(place.due < bound for place in places if place.said == bound)
            if above or below:
                keep = min if above else max
                told = f"numbers are never {'more' if above else 'less'} than {bound:g}"
                for _ in range(number):
                    yield Program(told, lambda p, k=keep, b=bound: k(p.due, b) if is_number(p.due) else NOTHING, 2)


UNITS = (2.20462, 0.453592, 1.60934, 0.621371, 3.28084, 0.3048, 2.54, 0.393701, 3.6, 0.264172, 3.78541, 1.8)
"""Factors between units, which rounded numbers show only nearly; within this of them."""
_ALMOST = 0.004


def _line(slope: float, offset: float) -> Iterator[Program]:
    if not slope or (abs(slope - 1) < 1e-9 and abs(offset) < 1e-9):
        return
    slope, offset = float(f"{slope:.6g}"), round(offset, 4)
    if not offset:
        for unit in UNITS:
            if slope != unit and abs(slope / unit - 1) < _ALMOST:
                yield from _line(unit, 0.0)
    near = next(
        (q / p for p in (1, 2, 3, 4, 5, 6, 8, 9, 12) for q in [round(slope * p)] if q and abs(q / p - slope) < 2e-5),
        slope,
    )
    parts = [f"× {near:.5g}" if abs(near) >= 1 else f"÷ {1 / near:.5g}"] if abs(near - 1) > 1e-9 else []
    parts += [f"{'+' if offset > 0 else '−'} {abs(offset):.5g}"] if offset else []
    told = " ".join(parts)
    yield Program(
        f"numbers are {told}", lambda p: near * p.due + offset if is_number(p.due) else NOTHING, 1 + len(parts)
    )
    yield Program(
        f"numbers are {told}, rounded",
        lambda p: round(near * p.due + offset) if is_number(p.due) else NOTHING,
        2 + len(parts),
    )
