"""Programs of the calls of a turn: merged, split, moved, lost, in other turns, with one call more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_bfcl.extensions.causes.forms import of_forms
from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.programs import Program, foretold

Calls = list[tuple[str, dict[str, Any]]]


def _grouped(calls: Calls) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for name in dict.fromkeys(name for name, _ in calls):
        yield name, [given for other, given in calls if other == name]


def _with_lists(calls: Calls) -> Calls:
    """Calls of one function as one, with lists of what each was given."""
    return [
        (name, {key: [one.get(key) for one in given] for key in given[0]} if len(given) > 1 else given[0])
        for name, given in _grouped(calls)
    ]


def _joined_texts(calls: Calls, join: str) -> Calls:
    return [
        (name, {key: join.join(str(one.get(key)) for one in given) for key in given[0]} if len(given) > 1 else given[0])
        for name, given in _grouped(calls)
    ]


def _with_differing(calls: Calls) -> Calls:
    """As `_with_lists`; what all calls have alike stays as it is."""
    return [
        (
            name,
            {
                key: given[0][key]
                if all(one.get(key) == given[0][key] for one in given)
                else [one.get(key) for one in given]
                for key in given[0]
            },
        )
        for name, given in _grouped(calls)
    ]


def _united(calls: Calls, earlier: bool = False) -> Calls:
    held: dict[str, Any] = {}
    for _, given in calls:
        held = {**given, **held} if earlier else {**held, **given}
    return [(calls[0][0], held)] if calls else []


def _one_of_each(calls: Calls, last: bool) -> Calls:
    return [(name, given[-1 if last else 0]) for name, given in _grouped(calls)]


def _growing(calls: Calls) -> Calls:
    held: dict[str, Any] = {}
    found = []
    for name, given in calls:
        held = {**held, **given}
        found.append((name, held))
    return found


def _per_element(calls: Calls, listed: bool) -> Calls:
    found: Calls = []
    for name, given in calls:
        key = next((key for key, value in given.items() if isinstance(value, list) and len(value) > 1), None)
        parts = [given] if key is None else [{**given, key: [each] if listed else each} for each in given[key]]
        found += [(name, part) for part in parts]
    return found


def _with_moved(calls: Calls, last: bool, by: int) -> Calls:
    """The values of the first or the last argument, moved among the calls of one function."""
    moved = {}
    for name, given in _grouped(calls):
        key = list(given[0])[-1 if last else 0] if given[0] else ""
        values = [one.get(key) for one in given]
        moved[name] = iter([{**one, key: value} for one, value in zip(given, values[by:] + values[:by], strict=True)])
    return [(name, next(moved[name])) for name, _ in calls]


def _moved(calls: Calls, by: int) -> Calls:
    names, held = [name for name, _ in calls], [given for _, given in calls]
    return list(zip(names, held[by:] + held[:by], strict=True))


CALLS: Mapping[str, Callable[[Calls], Calls]] = {
    "calls of one function are merged into one, with lists": _with_lists,
    "calls of one function are merged into one, with lists where they differ": _with_differing,
    "calls of one function are merged into one, with joined texts": lambda calls: _joined_texts(calls, ", "),
    "calls of one function are merged into one, with texts joined by `and`": lambda c: _joined_texts(c, " and "),
    "all calls are merged into the first one": _united,
    "all calls are merged into the first one, which keeps its values": lambda calls: _united(calls, True),
    "all calls are merged into the first one, with lists": lambda calls: _united(_with_lists(calls)),
    "of calls of one function only the last arrives": lambda calls: _one_of_each(calls, True),
    "of calls of one function only the first arrives": lambda calls: _one_of_each(calls, False),
    "calls have the arguments of earlier calls as well": _growing,
    "calls are split: one for each argument": lambda calls: [(n, {k: v}) for n, g in calls for k, v in g.items()],
    "calls are split: one for each element of a list, in a list": lambda calls: _per_element(calls, True),
    "calls are split: one for each element of a list": lambda calls: _per_element(calls, False),
    "calls have the arguments of the next call": lambda calls: _moved(calls, 1),
    "calls have the arguments of the call before": lambda calls: _moved(calls, -1),
    "calls have the arguments of the first call": lambda calls: [(name, calls[0][1]) for name, _ in calls],
    "calls have the arguments of the last call": lambda calls: [(name, calls[-1][1]) for name, _ in calls],
    "calls have the last argument of the next call": lambda calls: _with_moved(calls, True, 1),
    "calls have the last argument of the call before": lambda calls: _with_moved(calls, True, -1),
    "calls have the first argument of the next call": lambda calls: _with_moved(calls, False, 1),
    "calls have the first argument of the call before": lambda calls: _with_moved(calls, False, -1),
    "calls have the name of the last call": lambda calls: [(calls[-1][0], given) for _, given in calls],
    "only the first and the last call arrive": lambda calls: [calls[0], *calls[1:][-1:]],
    "the second call is lost": lambda calls: calls[:1] + calls[2:],
    "the call before the last is lost": lambda calls: calls[:-2] + calls[-1:] if len(calls) > 2 else calls,
    "only every second call arrives": lambda calls: calls[::2],
    "only the first half of the calls arrives": lambda calls: calls[: (len(calls) + 1) // 2],
    "all calls come twice, one round after the other": lambda calls: calls * 2,
    "the first call comes twice": lambda calls: calls[:1] + calls,
    "the last call comes twice": lambda calls: calls + calls[-1:],
    "the first call comes again at the end": lambda calls: calls + calls[:1],
    "each call comes three times": lambda calls: [each for each in calls for _ in range(3)],
    "every call comes once more without arguments": lambda calls: [e for n, g in calls for e in ((n, {}), (n, g))],
    "every call is followed by one without arguments": lambda calls: [e for n, g in calls for e in ((n, g), (n, {}))],
    "calls are in reverse order": lambda calls: calls[::-1],
    "calls are sorted by name": lambda calls: sorted(calls, key=lambda each: each[0]),
    "the first call is made for all": lambda calls: [calls[0]] * len(calls),
}  # fmt: skip
"""What may be made of the calls of a turn."""


def of_turns(place: Place) -> Iterator[Program]:
    """Changes of the calls of a turn."""
    for told, change in CALLS.items():
        program = Program(told, lambda p, c=change: _of_turn(p, c))
        if foretold(program, place) == place.said:
            yield program
    yield from _of_added(place)
    if place.of is not None and place.due:
        for told in _TURNS:
            program = Program(told, lambda p, t=told: _TURNS[t](p))
            if foretold(program, place) == place.said:
                yield program


def _of_added(place: Place) -> Iterator[Program]:
    """One call more, before or behind the others, with a name that is a form of the first one's."""
    if not place.due or len(place.said) != len(place.due) + 1 or place.of is None:
        return
    for at, others, where in ((0, place.said[1:], "before"), (-1, place.said[:-1], "behind")):
        name, given = place.said[at]
        if others != place.due or name in place.of.case.wires:
            continue
        for form in of_forms(Place("name", "", {}, due=place.due[0][0], said=name, of=place.of)):

            def foretell(p: Place, n: int = at, f: Program = form, g: Any = given) -> Any:
                new = (f.foretell(Place("name", "", {}, due=p.due[0][0], of=p.of)), g)
                return ([new, *p.due] if n == 0 else [*p.due, new]) if isinstance(new[0], str) else NOTHING

            told = f"one call more {where} the others, its name made of the first one's: {form.told}"
            yield Program(told, foretell, form.cost)


def _of_turn(place: Place, change: Callable[[Calls], Calls]) -> Any:
    due = [(name, dict(given)) for name, given in place.due]
    told = [(name, given) for name, given in change(due)]
    if (
        not told
        or told == due
        or (place.features.get("turns") == "one turn" and sorted(map(repr, told)) == sorted(map(repr, due)))
    ):
        return NOTHING  # the order of calls counts in conversations only
    return told


def _due_in(place: Place, *turns: int) -> Any:
    assert place.of is not None
    known = place.of.case.turns
    if any(not 0 <= turn < len(known) for turn in turns):
        return NOTHING
    told = [(each.name, dict(each.said)) for turn in turns for each in known[turn].due]
    return told if told and told != place.due else NOTHING


def _number(place: Place) -> int:
    assert place.of is not None
    return place.of.number


def _to_all(place: Place) -> Any:
    assert place.of is not None
    return [(name, place.due[0][1]) for name in place.of.case.wires] if len(place.of.case.wires) > 1 else NOTHING


def _beside(place: Place, behind: bool) -> Any:
    """The first offered function, called without arguments next to what is expected."""
    assert place.of is not None
    more: list[tuple[str, dict[str, Any]]] = [(next(iter(place.of.case.wires), ""), {})]
    return [*place.due, *more] if behind else [*more, *place.due]


def _at_once(place: Place, turn: int) -> Any:
    """All calls of a conversation in one turn."""
    assert place.of is not None
    turns = place.of.case.turns
    if len(turns) < 2:
        return NOTHING
    every = [(each.name, dict(each.said)) for one in turns for each in one.due]
    return every if place.of.number == turn % len(turns) else []


def _late(place: Place) -> Any:
    assert place.of is not None
    if len(place.of.case.turns) < 2:
        return NOTHING
    return _due_in(place, _number(place) - 1) if _number(place) else []


def _in_last(place: Place, calls: list[Any]) -> Any:
    """The calls in the last of several turns, none before."""
    assert place.of is not None
    last = len(place.of.case.turns) - 1
    return NOTHING if not last else calls if place.of.number == last else []


LAST_TURN_ONLY = "only the last turn has calls"
_TURNS: Mapping[str, Callable[[Place], Any]] = {
    "turns have the calls of the next turn": lambda p: _due_in(p, _number(p) + 1),
    "turns have the calls of the turn before": lambda p: _due_in(p, _number(p) - 1),
    "every turn comes twice": lambda p: _due_in(p, _number(p) // 2),
    "turns have the calls of the first turn": lambda p: _due_in(p, 0) if _number(p) else NOTHING,
    "turns have the calls of the last turn": lambda p: _due_in(p, len(p.of.case.turns) - 1),  # type: ignore[union-attr]
    "turns have the calls of two turns before": lambda p: _due_in(p, _number(p) - 2),
    "turns have the calls of this and the next turn": lambda p: _due_in(p, _number(p), _number(p) + 1),
    "turns have the calls of all turns up to this one": lambda p: (
        _due_in(p, *range(_number(p) + 1)) if _number(p) else NOTHING
    ),
    "turns have the calls of the turn before, then their own": lambda p: _due_in(p, _number(p) - 1, _number(p)),
    LAST_TURN_ONLY: lambda p: _in_last(p, list(p.due)),
    "all calls come in the last turn": lambda p: _at_once(p, -1),
    "all calls come in the first turn": lambda p: _at_once(p, 0),
    "calls come one turn late": _late,
    "turns are in reverse order": lambda p: _due_in(p, len(p.of.case.turns) - 1 - _number(p)),  # type: ignore[union-attr]
    "the first offered function is called before, without arguments": lambda p: _beside(p, False),
    "the first offered function is called behind, without arguments": lambda p: _beside(p, True),
    "every offered function is called with the arguments of one": _to_all,
}
