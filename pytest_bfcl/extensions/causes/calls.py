"""Differences between a turn's calls and the expected ones: pairing, names, raw arguments, number, order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.causes.arguments import of_arguments, signs_of, why_at
from pytest_bfcl.extensions.causes.cases import Case, Due, Made, Turn
from pytest_bfcl.extensions.causes.places import (
    At,
    Context,
    Features,
    Fix,
    Place,
    Why,
    add,
    call_at,
    drop,
    in_order,
    put_right,
    restore,
    set_given,
)
from pytest_bfcl.extensions.causes.raw import (
    changed_sign,
    doubled_names,
    is_beginning,
    list_in,
    mended,
    object_in,
    objects_in,
    parts_of,
    positional,
    taken_apart,
    wrapper_of,
    written,
)
from pytest_bfcl.extensions.causes.relations import MOST, Relation, masked, named_after, of_texts
from pytest_bfcl.extensions.causes.values import same

_Read = tuple[Relation | None, dict[str, Any] | None, str]


def of_calls(case: Case, turn: Turn, number: int, about: Features, gap: Gap | None = None) -> Iterator[Place]:
    """The places of a turn with calls; ``gap`` is the piece that texts of arguments lack in the whole run."""
    places = [(s, i, call) for s, step in enumerate(turn.steps) for i, call in enumerate(step)]
    readable = [_readable(case, call) for _, _, call in places]
    places = [(s, i, replace(call, name=name)) for (s, i, call), (_, _, name) in zip(places, readable, strict=True)]
    pairs = _aligned(case, [(name, given) for _, given, name in readable], turn.due)
    yield from _counts(case, turn, number, about, places, pairs, readable)
    for n, due_at in pairs.items():
        step, index, call = places[n]
        at, due = (number, step, index), turn.due[due_at]
        here = {**about, "call": due_at, "step": step, "due": len(turn.due), "bare": not due.said}
        here |= {**shapes_of([due]), "functions": frozenset((due.name,)), "modules": modules_of(case, [due.name])}
        here["signs of call"] = signs_of(value for value in due.said.values() if isinstance(value, str))
        here["names"] = len({each.name for each in turn.due})
        here["nth of function"] = sum(each.name == due.name for each in case.before(number, due_at))
        here["parameters"] = len(case.properties(due.name))
        here |= {"last call": due_at == len(turn.due) - 1, "given": len(due.said), "written": len(written(due.said)[0])}
        of = Context(case, turn, number, due_at)
        yield _name(of, call, at, here)
        relation, given, _ = readable[n]
        whole = call.given if call.given is not None else list_in(call.raw)
        inner = dict(given) if given is not None else None
        if call.given is None and not due.said and list_in(call.raw) == []:
            relation, inner = Relation("bare_list"), {}
        elif (listed := positional(case, call, due)) is not None:
            relation, inner = Relation("positional"), listed
        elif gap is not None and lacks(call.raw, due.said, gap):
            begin, length = gap
            lost = ("json_begin_cut", f"always {length} letters") if length > 2 else ("json_begin_cut", "")
            gone = ("json_gap", f"{begin + 1} to {begin + length}") if begin else lost
            relation, inner = Relation(*gone), None
        elif call.given is None and inner is None:
            relation = next(filter(None, (masked(call.raw, text) for text in written(due.said))), relation)
            if relation is not None and relation.key in _UNCLEAR and (sign := changed_sign(call.raw, due.said)):
                relation = Relation("json_signs", sign)
        if (whole_again := taken_apart(due, inner)) is not None:
            relation, inner = Relation(whole_again[0]), whole_again[1]
        wrapper = wrapper_of(case, due, inner)
        others = [each.said for each in turn.due if each is not due]
        if relation is not None:
            if relation.key == "repeating" and any(text.startswith(call.raw) for text in written(due.said)):
                relation = Relation("json_cut")  # a number may repeat its digits
            if relation.key == "json_cut":  # what was cut off cannot be known from the rest
                relation = relation if is_beginning(inner or {}, due) else Relation("json_broken")
                inner = None
            mend = inner if inner is not None else dict(due.said)
            fix = set_given(at, mend, call.name)
            why: Why = ((relation.key, relation.told),)
            if relation.key == "json_cut" and any(call.raw == each[:-1] for each in written(due.said)):
                why = (("json_signs", "the last `}` is lost"), *why)
            elif relation.key == "json_braces" and any(call.raw == each[1:] for each in written(due.said)):
                why = (("json_signs", "the first `{` is lost"), *why)
            yield Place("raw", "", here, why, fix, at, due.said, whole, of)
        elif wrapper is not None:
            inner = object_in(inner[wrapper]) if inner is not None else None
            told = named_after(wrapper, due.name) or wrapper
            if inner and len(inner) == 1 and not inner.keys() & {*due.accepted, *case.properties(due.name)}:
                ((second, within),) = inner.items()
                if (deeper := object_in(within)) is not None:
                    inner, told = deeper, f"{told}.{second}"
            if inner and all(isinstance(each, dict) and "type" in each for each in inner.values()):
                key, told, inner = "schema_echoed", "", dict(due.said)
            else:
                key = "wrapped"
            yield Place("raw", "", here, ((key, told),), set_given(at, inner or {}), at, due.said, whole, of)
        elif inner and len(parts_of(case, due, inner)) > 1:  # a rule may foretell which of them an argument is in
            inner = None
            yield Place("raw", "", here, at=at, due=due.said, said=whole, of=of)
        elif inner and any(same(inner, each) for each in others) and not _accepts(due, inner):
            inner = None
            why = (("arguments_of_other", ""), *([("name_of_other", "")] if here["names"] > 1 else []))
            yield Place("raw", "", here, why, set_given(at, dict(due.said)), at, due.said, whole, of)
        else:
            yield Place("raw", "", here, at=at, due=due.said, said=whole, of=of)
        if inner is not None:
            yield from of_arguments(of, inner, at, here)


def modules_of(case: Case, names: list[str]) -> frozenset[str]:
    """What comes before the dot in the documented names of functions; else the first words."""
    return frozenset(each.partition("." if "." in each else "_")[0] for each in map(case.documented, names))


def shapes_of(due: list[Due]) -> Features:
    """Whether expected calls have lists, objects (also in lists), or either."""
    values = [value for each in due for value in each.said.values() if value]
    kinds = {*map(type, values)}
    return {
        "lists": list in kinds,
        "objects": any(map(_has_object, values)),
        "nested": not kinds.isdisjoint((list, dict)),
    }


def _has_object(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_object, value)))


def _accepts(due: Due, given: dict[str, Any]) -> bool:
    """Whether arguments could be the expected ones."""
    return all(any(same(value, each) for each in due.accepted.get(key, ())) for key, value in given.items())


def _readable(case: Case, call: Made) -> _Read:
    """The problem of a call's argument text, the arguments, and the name."""
    name, parenthesis, inside = call.name.partition("(")
    if parenthesis and not call.given and name in case.wires and inside.strip(") "):
        found = mended(inside.strip().removesuffix(")"))[1]
        return Relation("call_in_name"), found, name
    if call.given is None:
        return *mended(call.raw), call.name
    first = doubled_names(call.raw)
    return (None, call.given, call.name) if first is None else (Relation("doubled_names"), first, call.name)


_UNCLEAR = ("json_broken", "json_cut")
Gap = tuple[int, int]
"""First character and length of a lost piece."""


def lacks(raw: str, due: dict[str, Any], gap: Gap) -> bool:
    """Whether a text of arguments is the expected one without a piece."""
    begin, length = gap
    return any(raw == text[:begin] + text[begin + length :] and raw != text for text in written(due))


def joined_calls(case: Case, made: list[Made], due: list[Due]) -> list[Due]:
    """The calls of a reply of which several came as one: names, or texts of arguments, behind each other."""
    each_call = [objects_in(call.raw) if call.given is None else [call.given] for call in made]
    objects = [each for found in each_call for each in found]
    if objects == [each.said for each in due] and len(made) < len(due):
        return due
    names = [name for call in made for name in _split(call.name, list(case.wires))]
    if len(made) == 1 < len(due) and names == [each.name for each in due]:
        return due
    cut = any(call.raw.strip() and not found for call, found in zip(made, each_call, strict=True))
    if cut or len(objects) < 2 or all(call.given is not None for call in made):
        return []
    if all(len(found) > 1 and all(each == found[0] for each in found) for found in each_call):  # each text twice over
        return []
    if len(set(names)) == 1:
        names = [names[0]] * len(objects)
    if len(names) != len(objects):
        return []
    return [Due(name, {}, frozenset(), given) for name, given in zip(names, objects, strict=True)]


def is_earlier(case: Case, call: Made, number: int) -> bool:
    """Whether a call was expected in a turn before that made calls."""
    before = [turn for turn in case.turns[:number] if any(turn.steps)]
    return any(call.name == due.name and call.given == due.said for turn in before for due in turn.due)


def _split(name: str, offered: list[str]) -> list[str]:
    """The offered names that form a name; else the name."""
    if name in offered or len(name) > MOST:
        return [name]
    for each in offered:
        rest = _split(name[len(each) :], offered) if name.startswith(each) else [""]
        if all(part in offered for part in rest):
            return [each, *rest]
    return [name]


def calls_inside(case: Case, made: list[Made]) -> tuple[str, list[Due]] | None:
    """Calls that are the arguments of another call, which was never offered."""
    if not made or any(call.name in case.wires or call.given is None for call in made):
        return None
    found: list[Due] = []
    for call in made:
        given = call.given or {}
        listed = next((v for v in given.values() if isinstance(v, list) and v and isinstance(v[0], dict)), [given])
        for each in listed:
            key = next((k for k, v in each.items() if isinstance(v, str) and _offered(case, v)), None)
            if key is None:
                return None
            name = _offered(case, each[key])
            rest = {other: value for other, value in each.items() if other != key}
            known = case.properties(name).keys()
            inner = next((told for value in rest.values() if (told := object_in(value)) is not None), None)
            if inner is None and not rest.keys() <= known:
                return None
            found.append(Due(name, {}, frozenset(), rest if inner is None or (rest.keys() <= known) else inner))
    return made[0].name, found


def strange_call(case: Case, made: list[Made], due: list[Due]) -> str:
    """The only name of calls that were never offered and share nothing with the expected ones; else empty."""
    names = {call.name for call in made}
    known = {key for each in due for key in (*each.accepted, *case.properties(each.name))}
    told = next(iter(names), "")
    if len(names) != 1 or told in case.wires or any(_name_relation(told, each.name) for each in due):
        return ""
    for call in made:
        given = call.given or {}
        if not given or known & given.keys() or any(isinstance(value, dict | list) for value in given.values()):
            return ""
    return told[:60]


def _offered(case: Case, name: str) -> str:
    """The offered name that a name equals or ends with; else empty."""
    return next((each for each in (name, name.rpartition(".")[2]) if each in case.wires), "")


def _aligned(case: Case, made: list[tuple[str, dict[str, Any] | None]], due: list[Due]) -> dict[int, int]:
    """Index of a call → index of its expected call; further calls are left out."""
    scored = []
    same_names = sorted(name for name, _ in made) == sorted(each.name for each in due)
    for m, (name, given) in enumerate(made):
        for d, each in enumerate(due):
            values = sum(any(same(v, a) for a in each.accepted.get(str(k), ())) for k, v in (given or {}).items())
            if name == each.name:
                close = 4 if values or not given or same_names else 2
            elif name in case.wires:
                if values < len(given or {}) or (not given and (each.said or len(made) != len(due))):
                    continue
                close = 3  # another offered name with the arguments of this one
            else:
                close = 3 if _name_relation(name, each.name) else 0
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
    """Missing calls, and calls without an expected one."""
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
        if is_earlier(case, call, number):
            key, told = "earlier_again", ""
        elif again is not None:
            key, told = ("doubled", _which(call, due, len(over))) if again == step else ("repeated_steps", "")
        elif call.name not in case.wires:
            key, told = "extra_call", call.name[:60]
        elif left:
            yield Place("count", "", here, (("other_function", ""),), put_right(at, due[left.pop(0)]), at)
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
    why = [("other_function", "")] if over else [*_missing(kept, len(due), _is_old(case, number)), ("call_missing", "")]
    if not over and not any(due[each].said for each in left):
        why.insert(0, ("bare_lost", ""))
    yield Place("count", "", here, tuple(why), fix, adds=True)


def _which(call: Made, due: list[Due], over: int) -> str:
    """Which of several calls comes twice, if only one does."""
    if len(due) < 2 or over > 1:
        return ""
    same_as = [each.name == call.name and each.said == call.given for each in due]
    return "only the last one" if same_as[-1] else "only the first one" if same_as[0] else ""


def _is_old(case: Case, number: int) -> bool:
    """Whether a turn's calls came in the old field of the chat API, which holds one."""
    steps = case.transcript.turns[number].steps
    return any(step.reply.finish_reason == "function_call" for step in steps)


def _missing(kept: list[int], due: int, old: bool) -> Iterator[tuple[str, str]]:
    """Which of several calls a reply has."""
    every = list(range(due))
    if kept == every[:1]:
        yield "first_only", "in the old field `function_call`" if old else ""
    elif kept == every[: len(kept)]:
        yield "at_most", str(len(kept))
    if kept == every[-1:]:
        yield "last_only", ""
    if due > 1 and kept == every[1:]:
        yield "first_lost", ""
    if due > 1 and kept == every[:-1]:
        yield "last_lost", ""


def _merged(due: list[Due], left: list[int], pairs: dict[int, int], readable: list[_Read]) -> list[Due]:
    """The expected calls, if the remaining ones are in lists of one call; else empty."""
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


def _name(of: Context, call: Made, at: At, here: Features) -> Place:
    """A function's name: the due one, or how it came from that."""
    case, due = of.case, of.due
    about = {key: value for key, value in here.items() if key not in ("given", "written")}
    if call.name == due.name:
        return Place("name", "", about, due=due.name, of=of)
    if call.name in case.wires:
        return Place("name", "", about, (("name_of_other", ""),), _named(at, due), at, due.name, call.name, of)
    why = why_at("name", of_texts(call.name, due.name)) if call.name.strip() else (("name_empty", ""),)
    renamed = ("name_renamed", f"`{due.name}` is called `{call.name[:40]}`")
    why = (*why, *([] if why else [renamed]), ("name_other", call.name[:60]))
    return Place("name", "", about, why, _named(at, due), at, due.name, call.name, of)


def _named(at: At, due: Due) -> Fix:
    def fix(draft: list[Turn]) -> None:
        call_at(draft, at).name = due.name

    return fix
