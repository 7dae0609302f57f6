"""Differences between the calls of a turn and those due: which is which, names, raw arguments, number, order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.causes.arguments import of_arguments, why_at
from pytest_bfcl.extensions.causes.cases import Case, Due, Made, Turn
from pytest_bfcl.extensions.causes.places import (
    At,
    Features,
    Place,
    add,
    call_at,
    drop,
    in_order,
    put_right,
    restore,
    set_given,
)
from pytest_bfcl.extensions.causes.raw import doubled_names, mended
from pytest_bfcl.extensions.causes.relations import Relation, of_texts
from pytest_bfcl.extensions.causes.values import same

_Read = tuple[Relation | None, dict[str, Any] | None, str]


def of_calls(case: Case, turn: Turn, number: int, about: Features) -> Iterator[Place]:
    """The places of a turn in which calls were made."""
    places = [(s, i, call) for s, step in enumerate(turn.steps) for i, call in enumerate(step)]
    readable = [_readable(case, call) for _, _, call in places]
    places = [(s, i, replace(call, name=name)) for (s, i, call), (_, _, name) in zip(places, readable, strict=True)]
    pairs = _aligned(case, [(name, given) for _, given, name in readable], turn.due)
    yield from _counts(case, turn, number, about, places, pairs, readable)
    for n, due_at in pairs.items():
        step, index, call = places[n]
        at, due = (number, step, index), turn.due[due_at]
        nested = any(isinstance(value, dict) and value for value in due.said.values())
        here = {**about, "call": due_at, "step": step, "due": len(turn.due), "nested": nested}
        yield _name(case, call, due, at, here)
        relation, given, _ = readable[n]
        inner = dict(given) if given is not None else _positional(case, call, due)
        flat = _unflattened(due, inner)
        if flat is not None:
            relation, inner = Relation("flattened"), flat
        wrapper = _wrapper(case, call, due, inner)
        others = [each.said for each in turn.due if each is not due]
        if relation is not None:
            if relation.key == "json_cut":  # what was cut off cannot be known from the rest
                inner = None
            mend = inner if inner is not None else dict(due.said)
            yield Place("raw", "", here, ((relation.key, relation.told),), set_given(at, mend, call.name), at, due.name)
        elif wrapper is not None:
            inner = _inside(inner[wrapper]) if inner is not None else None
            told = "the function's name" if wrapper in (call.name, due.name) else wrapper
            if inner and all(isinstance(each, dict) and "type" in each for each in inner.values()):
                key, told, inner = "schema_echoed", "", dict(due.said)
            else:
                key = "wrapped"
            yield Place("raw", "", here, ((key, told),), set_given(at, inner or {}), at, due.name)
        elif inner and any(same(inner, each) for each in others) and not _accepts(due, inner):
            inner = None
            yield Place("raw", "", here, (("arguments_of_other", ""),), set_given(at, dict(due.said)), at, due.name)
        else:
            yield Place("raw", "", here)
        if inner is not None:
            yield from of_arguments(case, due, inner, at, here)


def _wrapper(case: Case, call: Made, due: Due, given: dict[str, Any] | None) -> str | None:
    """The one key that all arguments stand under; beside it may stand what no function has."""
    known = {*due.accepted, *(case.schema(due.name).get("properties") or {})}
    if not given or known & given.keys():
        return None
    for key, value in given.items():
        inner = _inside(value)
        if inner is not None and (known & inner.keys() or (not inner and len(given) == 1)):
            return str(key)
    return None


def _accepts(due: Due, given: dict[str, Any]) -> bool:
    """Whether arguments could be those that were due."""
    return all(any(same(value, each) for each in due.accepted.get(key, ())) for key, value in given.items())


def _inside(value: object) -> dict[str, Any] | None:
    """The object a value is, or is the JSON of."""
    if isinstance(value, str) and value[:1] == "{":
        return mended(json.dumps(value))[1]
    return dict(value) if isinstance(value, dict) else None


def _readable(case: Case, call: Made) -> _Read:
    """What is wrong with the text of a call's arguments, the arguments, and the name."""
    name, parenthesis, inside = call.name.partition("(")
    if parenthesis and not call.given and name in case.wires and inside.strip(") "):
        found = mended(inside.strip().removesuffix(")"))[1]
        return Relation("call_in_name"), found, name
    if call.given is None:
        return *mended(call.raw), call.name
    first = doubled_names(call.raw)
    return (None, call.given, call.name) if first is None else (Relation("doubled_names"), first, call.name)


def _positional(case: Case, call: Made, due: Due) -> dict[str, Any] | None:
    """Arguments that are a list, by the order of the parameters."""
    try:
        values = json.loads(call.raw[:20_000])
    except (ValueError, RecursionError):
        return None
    order = list(case.schema(due.name).get("properties") or due.said)
    return dict(zip(order, values, strict=False)) if isinstance(values, list) and len(values) <= len(order) else None


def _unflattened(due: Due, given: dict[str, Any] | None) -> dict[str, Any] | None:
    """Arguments ``a.b``, or ``b`` alone, put back into the objects they belong to; ``None`` where there are none."""
    if given is None:
        return None
    nested = [key for key, value in due.said.items() if isinstance(value, dict) and key not in given]
    parts = {
        said: (key, re.sub(rf"^{re.escape(key)}[._/\[]", "", str(said)).rstrip("]"))
        for said in given
        for key in nested
        if re.match(rf"{re.escape(key)}[._/\[]", str(said)) or (said in due.said[key] and said not in due.accepted)
    }
    if not parts:
        return None
    found: dict[str, Any] = {key: value for key, value in given.items() if key not in parts}
    for said, (key, inner) in parts.items():
        found.setdefault(key, {})[inner] = given[said]
    return found


def is_first_again(case: Case, made: list[Made]) -> bool:
    """Whether a later turn makes the calls of the first once more."""
    first = case.turns[0].due
    return bool(made) and [(m.name, m.given) for m in made] == [(d.name, d.said) for d in first]


_INNER = ("arguments", "parameters", "args", "input", "kwargs")


def calls_inside(case: Case, made: list[Made]) -> tuple[str, list[Due]] | None:
    """Calls that are the arguments of another one, which was never offered."""
    if not made or any(call.name in case.wires or call.given is None for call in made):
        return None
    found: list[Due] = []
    for call in made:
        given = call.given or {}
        listed = next((v for v in given.values() if isinstance(v, list) and v and isinstance(v[0], dict)), [given])
        for each in listed:
            name = next((v for v in each.values() if isinstance(v, str) and _offered(case, v)), None)
            inner = next((_inside(each[key]) for key in _INNER if key in each), None)
            if name is None or inner is None:
                return None
            found.append(Due(_offered(case, name), {}, frozenset(), inner))
    return made[0].name, found


def _offered(case: Case, name: str) -> str:
    """The offered name that a name is, or ends with; empty for none."""
    return next((each for each in (name, name.rpartition(".")[2]) if each in case.wires), "")


def _aligned(case: Case, made: list[tuple[str, dict[str, Any] | None]], due: list[Due]) -> dict[int, int]:
    """Index of a call made → index of the one due that it stands for; calls beyond those are left out."""
    scored = []
    for m, (name, given) in enumerate(made):
        for d, each in enumerate(due):
            close = 4 if name == each.name else 3 if name not in case.wires and _name_relation(name, each.name) else 0
            if not close and name in case.wires:
                continue
            values = sum(any(same(v, a) for a in each.accepted.get(str(k), ())) for k, v in (given or {}).items())
            scored.append((-close, -values, m if m == d else m + d + 1, m, d))
    found: dict[int, int] = {}
    taken: set[int] = set()
    for *_, m, d in sorted(scored):
        if m not in found and d not in taken:
            found[m] = d
            taken.add(d)
    strange = [m for m, (name, _) in enumerate(made) if m not in found and name not in case.wires]
    free = [d for d in range(len(due)) if d not in taken]
    if len(strange) == len(free):  # names that tell nothing: by their order
        found |= dict(zip(strange, free, strict=True))
    return found


def _counts(
    case: Case,
    turn: Turn,
    number: int,
    about: Features,
    places: list[tuple[int, int, Made]],
    pairs: dict[int, int],
    readable: list[_Read],
) -> Iterator[Place]:
    """Calls that are missing, and calls that nothing asks for."""
    due, left = turn.due, [d for d in range(len(turn.due)) if d not in pairs.values()]
    over = [n for n in range(len(places)) if n not in pairs]
    here = {**about, "due": len(due), "made": len(places)}
    if not left and not over:
        order = [pairs[n] for n in sorted(pairs)]
        turned = case.entry.row.checker == "state" and order != sorted(order)
        fix = in_order(number, turn.due) if turned else None
        yield Place("count", "", here, (("call_order", ""),) if fix else (), fix)
        return
    seen: list[tuple[int, str, dict[str, Any] | None, str]] = []
    for n, (step, index, call) in enumerate(places):
        mark = (call.name, call.given, call.raw if call.given is None else "")
        again = next((s for s, *before in seen if tuple(before) == mark), None)
        seen.append((step, *mark))
        if n not in over:
            continue
        at = (number, step, index)
        if again == step and left:
            yield Place("count", "", here, (("arguments_of_other", ""),), put_right(at, due[left.pop(0)]), at)
            continue
        if again is not None:
            key, told = ("doubled", "") if again == step else ("repeated_steps", "")
        elif call.name not in case.wires:
            key, told = "extra_call", call.name[:60]
        elif left:
            key, told = "other_function", ""
            yield Place("count", "", here, ((key, told),), put_right(at, due[left.pop(0)]), at)
            continue
        else:
            key, told = "undue_call", ""
        yield Place("count", "", here, ((key, told),), drop(at), at)
    if not left:
        return
    if not over and (whole := _merged(turn.due, left, pairs, readable)):
        yield Place("count", "", here, (("merged", ""),), restore(number, whole), adds=True)
        return
    kept = sorted(pairs.values())
    step = places[-1][0] if places else 0
    fix = add(number, step, due, left, {d: places[n][:2] for n, d in pairs.items()})
    if over:
        key, told = "other_function", ""
    elif kept == list(range(len(kept))) and len(kept) == 1:
        key, told = "first_only", ""
    elif kept == list(range(len(kept))):
        key, told = "at_most", str(len(kept))
    elif kept == [len(due) - 1]:
        key, told = "last_only", ""
    else:
        key, told = "call_missing", ""
    yield Place("count", "", here, ((key, told),), fix, adds=True)


def _merged(due: list[Due], left: list[int], pairs: dict[int, int], readable: list[_Read]) -> list[Due]:
    """The calls due, where those left are in lists of one that was made; empty elsewhere."""
    for n, d in pairs.items():
        same_name = [each for each in due if each.name == due[d].name]
        given = readable[n][1] or {}
        if len(same_name) < 2 or all(each.name != due[d].name for each in (due[number] for number in left)):
            continue
        together = {key: [each.said.get(key) for each in same_name] for key in due[d].said}
        if not any(same(given.get(key), values) for key, values in together.items()):
            return []
    return due if any(due[number].name in {due[d].name for d in pairs.values()} for number in left) else []


def _name_relation(said: str, due: str) -> bool:
    return bool(of_texts(said, due))


def _name(case: Case, call: Made, due: Due, at: At, here: Features) -> Place:
    """A function's name: the due one, or how it came from that."""
    about = {**here, "changes": ""}
    if call.name == due.name:
        return Place("name", "", about)
    why = why_at("name", of_texts(call.name, due.name))
    number = re.search(r"\d+$", call.name)
    if number is not None:
        names = list(case.wires)
        place = names.index(due.name) if due.name in names else -1
        if int(number.group()) in (place, place + 1):
            why = (("name_number", call.name[: number.start()] + "N"), *why)

    def fix(draft: list[Turn]) -> None:
        call_at(draft, at).name = due.name

    return Place("name", "", about, (*why, ("name_other", call.name[:60])), fix, at, due.name)
