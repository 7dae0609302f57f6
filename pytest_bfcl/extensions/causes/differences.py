"""What a conversation's calls lack to be the ones that were due: differences at every place where one could be.

A place without a difference counts, too: only against those can be said that something happens to all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.extensions.causes.cases import Case, Due, Made, Turn
from pytest_bfcl.extensions.causes.raw import doubled_names, mended
from pytest_bfcl.extensions.causes.relations import Relation, of_texts, script_of
from pytest_bfcl.extensions.causes.values import same, unequal
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.json_types import Fields

Fix = Callable[[list[Turn]], None]
Features = dict[str, Any]

REFUSED = re.compile(
    r"\b(?:can(?:no|')?t|unable to|not able to|won't|will not)\b.{0,40}\b(?:help|assist|do that|comply|provide|fulfil)"
    r"|\bas an ai\b|against my (?:policy|guidelines)", re.I,
)  # fmt: skip
_ENDINGS = {
    reasons.REPLY_LENGTH.name: "length",
    reasons.REPLY_FILTERED.name: "filtered",
    reasons.REPLY_OVERFLOW.name: "overflow",
}
Why = tuple[tuple[str, str], ...]
At = tuple[int, int, int]
"""Turn, step and number of a call."""
_FIRST = {
    "raw": 0,
    "keys": 1,
    "value": 2,
    "key": 3,
    "extra": 4,
    "name": 5,
    "call": 6,
    "count": 7,
    "reply": 8,
    "missing": 9,
}
"""Fixes are made in this order: values by the names they had."""


@dataclass
class Place:
    """A place where a difference could be: ``level`` of the call's parts, ``kind`` of what stands there."""

    level: str
    kind: str
    features: Features
    candidates: tuple[tuple[str, str], ...] = ()
    """Causes it may be of, each with its parameter, the most telling first."""
    fix: Fix | None = None
    at: At = (0, 0, 0)
    due: Any = None

    @property
    def differs(self) -> bool:
        """Whether something is wrong here."""
        return self.fix is not None

    @property
    def rank(self) -> int:
        """When its fix is made."""
        return _FIRST.get(self.level, 10)


@dataclass
class Found:
    """All places of a case."""

    case: Case
    features: Features
    places: list[Place] = field(default_factory=list)

    @property
    def differences(self) -> list[Place]:
        """Those where something is wrong."""
        return [each for each in self.places if each.differs]


def places_of(case: Case) -> Found:
    """Every place of a case. Nothing a model wrote makes it raise."""
    found = Found(case, _features(case))
    ending = _ENDINGS.get(str(case.line.get("reason")))
    due_words = case.entry.row.checker == "irrelevance"
    for number, turn in enumerate(case.turns):
        made = [call for step in turn.steps for call in step]
        about = {**found.features, "turn": number}
        if ending and not case.passed and number == _turn_of(case, ending):
            found.places.append(_reply(turn, number, about, ending))
        elif not turn.due:
            if made or due_words:
                fix = _drop_all(number) if made and not case.passed else None
                found.places.append(Place("undue", "", about, (("undue", ""),) if fix else (), fix))
        elif number and _is_first_again(case, made):
            found.places.append(_reply(turn, number, about, "restarted"))
        elif (inside := _calls_inside(case, made)) is not None:
            told, calls = inside
            found.places.append(Place("reply", "", about, (("call_inside", told),), _restore(number, calls)))
        elif not made:
            key, told, fix = _no_call(case, turn, number)
            found.places.append(Place("reply", "", about | {"tool": _tool(case, turn)}, ((key, told),), fix))
        else:
            found.places.append(Place("reply", "", about | {"tool": _tool(case, turn)}))
            found.places += _of_calls(case, turn, number, about)
    return found


def _turn_of(case: Case, ending: str) -> int:
    """The turn a conversation was broken off in: the last that was begun."""
    return max(0, min(len(case.transcript.turns), len(case.turns)) - 1)


def _features(case: Case) -> Features:
    entry = case.entry
    asked = " ".join(str(m.get("content")) for turn in entry.question for m in turn)
    return {
        "category": entry.category,
        "tools": len(entry.function),
        "characters": len(asked) + len(str(entry.function)),
        "question": len(asked),
        "script": script_of(asked) or "LATIN",
        "non-Latin letters": any(each.isalpha() and ord(each) > 0x24F for each in asked),
        "order": case.order,
    }


def _tool(case: Case, turn: Turn) -> int:
    names = list(case.wires)
    return max((names.index(due.name) for due in turn.due if due.name in names), default=0)


# -- replies without a call ----------------------------------------------------------------------------------------


def _reply(turn: Turn, number: int, about: Features, key: str) -> Place:
    return Place("reply", "", about, ((key, ""),), _restore(number, turn.due))


def _no_call(case: Case, turn: Turn, number: int) -> tuple[str, str, Fix]:
    """What stands where a call was due, and what puts the call there."""
    steps = case.transcript.turns[number].steps if number < len(case.transcript.turns) else []
    text = " ".join(step.reply.text or "" for step in steps).strip()
    thoughts = " ".join(step.reply.reasoning or "" for step in steps).strip()
    restored = _restore(number, turn.due)
    for said, key in ((text, "call_in_text"), (thoughts, "call_in_thoughts")):
        found = _calls_in(said, case) if said else None
        if found is not None:
            told, calls = found
            return key, told, _restore(number, calls)
    if not text:
        return ("thoughts" if thoughts else "empty" if steps else "not_asked"), "", restored
    if REFUSED.search(text):
        return "refused", "", restored
    asks = text.rstrip(" \n*)\"'").endswith("?") or text.count("?") > 1
    return ("asked" if asks else "words"), "", restored


def _calls_in(text: str, case: Case) -> tuple[str, list[Due]] | None:
    """Calls that a text holds, and the format they are in: only of functions that are offered."""
    text = text[:20_000]
    functions = case.entry.all_functions
    lost = lost_calls(text, functions)
    if lost is not None:
        name, calls = lost
        return name, [Due(case._wire(call.name), {}, frozenset(), dict(call.arguments)) for call in calls]
    made = re.search(r"\[?\s*([\w.]+)\(.*\)\s*\]?", text, re.S)
    if made and (made.group(1) in case.wires or made.group(1).replace(".", "_") in case.wires):
        written = _python_calls(made.group().strip(), case)
        return ("Python", written) if written else None
    return None


def _python_calls(text: str, case: Case) -> list[Due]:
    from pytest_bfcl.decoding import decode
    from pytest_bfcl.failures import BenchmarkError
    from pytest_bfcl.syntax.errors import DecodeError

    try:
        calls = decode(text, functions=case.entry.all_functions)
    except (DecodeError, BenchmarkError, ValueError):
        return []
    return [Due(case._wire(c.name), {}, frozenset(), {str(k): v for k, v in c.arguments.items()}) for c in calls]


def _restore(turn: int, due: list[Due]) -> Fix:
    def fix(draft: list[Turn]) -> None:
        steps = draft[turn].steps
        calls = [Made(each.name, dict(each.said)) for each in due]
        if steps:
            steps[0] = calls
        else:
            steps.append(calls)

    return fix


def _drop_all(turn: int) -> Fix:
    def fix(draft: list[Turn]) -> None:
        for step in draft[turn].steps:
            for call in step:
                call.gone = True

    return fix


# -- calls ---------------------------------------------------------------------------------------------------------


def _of_calls(case: Case, turn: Turn, number: int, about: Features) -> Iterator[Place]:
    """The places of a turn in which calls were made."""
    places = [(s, i, call) for s, step in enumerate(turn.steps) for i, call in enumerate(step)]
    readable: dict[int, tuple[Relation | None, dict[str, Any] | None]] = {}
    for n, (_, _, call) in enumerate(places):
        readable[n] = _readable(call)
    pairs = _aligned(case, [(call.name, readable[n][1]) for n, (_, _, call) in enumerate(places)], turn.due)
    yield from _counts(case, turn, number, about, places, pairs)
    for n, due_at in pairs.items():
        step, index, call = places[n]
        at, due = (number, step, index), turn.due[due_at]
        here = {**about, "call": due_at, "step": step}
        yield _name(case, call, due, at, here)
        relation, given = readable[n]
        inner = dict(given) if given is not None else _positional(case, call, due)
        flat = _unflattened(due, inner)
        if flat is not None:
            relation, inner = Relation("flattened"), flat
        wrapper = _wrapper(case, call, due, inner)
        if relation is not None:
            if relation.key == "json_cut":  # what was cut off cannot be known from the rest
                inner = None
            mend = inner if inner is not None else dict(due.said)
            yield Place("raw", "", here, ((relation.key, relation.told),), _set_given(at, mend), at, due.name)
        elif wrapper is not None:
            inner = _inside(inner[wrapper]) if inner is not None else None
            told = "the function's name" if wrapper in (call.name, due.name) else wrapper
            yield Place("raw", "", here, (("wrapped", told),), _set_given(at, inner or {}), at, due.name)
        else:
            yield Place("raw", "", here)
        if inner is not None:
            yield from _of_arguments(case, due, inner, at, here)


def _wrapper(case: Case, call: Made, due: Due, given: dict[str, Any] | None) -> str | None:
    """The one key that all arguments stand under."""
    if given is None or len(given) != 1:
        return None
    ((key, value),) = given.items()
    inner = _inside(value)
    known = {*due.accepted, *(case.schema(due.name).get("properties") or {})}
    if key in known or inner is None:
        return None
    return str(key) if not inner or known & {str(each) for each in inner} else None


def _inside(value: object) -> dict[str, Any] | None:
    """The object a value is, or is the JSON of."""
    if isinstance(value, str) and value[:1] == "{":
        return mended(json.dumps(value))[1]
    return dict(value) if isinstance(value, dict) else None


def _readable(call: Made) -> tuple[Relation | None, dict[str, Any] | None]:
    """What is wrong with the text of a call's arguments, and the arguments."""
    if call.given is None:
        return mended(call.raw)
    first = doubled_names(call.raw)
    return (None, call.given) if first is None else (Relation("doubled_names"), first)


def _positional(case: Case, call: Made, due: Due) -> dict[str, Any] | None:
    """Arguments that are a list, by the order of the parameters."""
    try:
        values = json.loads(call.raw[:20_000])
    except (ValueError, RecursionError):
        return None
    order = list(case.schema(due.name).get("properties") or due.said)
    return dict(zip(order, values, strict=False)) if isinstance(values, list) and len(values) <= len(order) else None


def _unflattened(due: Due, given: dict[str, Any] | None) -> dict[str, Any] | None:
    """Arguments ``a.b`` put back into the objects they belong to; ``None`` where there are none."""
    if given is None:
        return None
    nested = [key for key, value in due.said.items() if isinstance(value, dict) and key not in given]
    parts = {k: key for k in given for key in nested if re.match(rf"{re.escape(key)}[._/\[]", str(k))}
    if not parts:
        return None
    found: dict[str, Any] = {key: value for key, value in given.items() if key not in parts}
    for said, key in parts.items():
        found.setdefault(key, {})[said[len(key) + 1 :].rstrip("]")] = given[said]
    return found


def _is_first_again(case: Case, made: list[Made]) -> bool:
    """Whether a later turn makes the calls of the first once more."""
    first = case.turns[0].due
    return bool(made) and [(m.name, m.given) for m in made] == [(d.name, d.said) for d in first]


_INNER = ("arguments", "parameters", "args", "input", "kwargs")


def _calls_inside(case: Case, made: list[Made]) -> tuple[str, list[Due]] | None:
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
    case: Case, turn: Turn, number: int, about: Features, places: list[tuple[int, int, Made]], pairs: dict[int, int]
) -> Iterator[Place]:
    """Calls that are missing, and calls that nothing asks for."""
    due, left = turn.due, [d for d in range(len(turn.due)) if d not in pairs.values()]
    over = [n for n in range(len(places)) if n not in pairs]
    here = {**about, "due": len(due), "made": len(places)}
    if not left and not over:
        order = [pairs[n] for n in sorted(pairs)]
        turned = case.entry.row.checker == "state" and order != sorted(order)
        fix = _ordered(number, turn.due) if turned else None
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
        if again is not None:
            key, told = ("doubled", "") if again == step else ("repeated_steps", "")
        elif call.name not in case.wires:
            key, told = "extra_call", call.name[:60]
        elif left and len(places) == len(due) == 1:
            key, told = "other_function", ""
            yield Place("call", "", here, ((key, told),), _put_right(at, due[left.pop(0)]), at)
            continue
        else:
            key, told = "undue_call", ""
        yield Place("count", "", here, ((key, told),), _drop(at), at)
    if not left:
        return
    kept = sorted(pairs.values())
    step = places[-1][0] if places else 0
    fix = _add(number, step, due, left, {d: places[n][:2] for n, d in pairs.items()})
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
    yield Place("missing", "", here, ((key, told),), fix)


def _name_relation(said: str, due: str) -> bool:
    return bool(of_texts(said, due))


def _name(case: Case, call: Made, due: Due, at: At, here: Features) -> Place:
    """A function's name: the due one, or how it came from that."""
    about = {**here, "changes": ""}
    if call.name == due.name:
        return Place("name", "", about)
    why = _why("name", of_texts(call.name, due.name))
    number = re.search(r"\d+$", call.name)
    if number is not None:
        names = list(case.wires)
        place = names.index(due.name) if due.name in names else -1
        if int(number.group()) in (place, place + 1):
            why = (("name_number", call.name[: number.start()] + "N"), *why)

    def fix(draft: list[Turn]) -> None:
        _call(draft, at).name = due.name

    return Place("name", "", about, (*why, ("name_other", call.name[:60])), fix, at, due.name)


def _why(level: str, relations: list[Relation]) -> Why:
    return tuple((_at_level(level, each.key), each.told) for each in relations)


def _at_level(level: str, key: str) -> str:
    return key if key in _ONE_NAME else f"{level}_{key}"


_ONE_NAME = frozenset((
    "boolean_number", "boolean_text", "boxed", "date_format", "date_order", "digits", "encoding", "first_word",
    "inverted", "json_text", "last_word", "letters", "list_cut", "list_order", "list_reversed", "list_text", "listed",
    "nested_lost", "number_text", "number_type", "number_with_unit", "number_words", "quoted", "reversed", "rounded",
    "scaled", "script", "shifted", "sign", "space", "text_number", "thinned", "tokens", "unlisted", "word_order",
))  # fmt: skip
"""Relations whose cause is the same at names, arguments and values."""


# -- arguments -----------------------------------------------------------------------------------------------------


def _of_arguments(case: Case, due: Due, given: dict[str, Any], at: At, here: Features) -> Iterator[Place]:
    """The places of one call's arguments."""
    schema = case.schema(due.name)
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    order = list(properties)
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    absent = [key for key in due.said if key not in given and key not in due.optional]
    strange = [key for key in given if key not in due.accepted]
    renamed = _renamed(absent, [each for each in strange if each not in properties], due, given, order)
    keys = list(due.said)
    for position, key in enumerate(keys):
        about = {
            **here, "first": position == 0, "last": position == len(keys) - 1 and len(keys) > 0,
            "optional": key not in needed, "type": str(_word(properties.get(key), "type")),
            "nested": isinstance(due.said[key], dict), "enum": bool(_word(properties.get(key), "enum")),
            "argument": key, "alone": len(keys) == 1,
        }  # fmt: skip
        if key in renamed:
            why = (
                *_why("key", _key_relations(str(renamed[key]), key, order)),
                ("key_renamed", f"`{key}` is called `{str(renamed[key])[:40]}`"),
            )
            yield Place("key", "", about, why, _rename(at, renamed[key], key), at, key)
        elif key not in given and key not in due.optional:
            lost: Why = (("key_lost", ""),)
            if not given:
                lost = (*lost, ("no_arguments", "")) if len(keys) == 1 else (("no_arguments", ""),)
            yield Place("key", "", about, lost, _set(at, (key,), due.said[key]), at, key)
        elif key in given or key in due.optional:
            yield Place("key", "", about, at=at, due=key)
        said = renamed.get(key, key)
        if said in given:
            yield from _of_value(case, due, key, given[said], said, at, about)
    for key in strange:
        if key in renamed.values():
            continue
        known = key in properties
        name, told = ("defaults", "") if known else ("key_extra", str(key)[:60])
        yield Place("extra", "", {**here, "argument": key}, ((name, told),), _remove(at, key), at)
    for key in due.accepted:
        if key in given and key not in due.said:  # may be left out, and was given
            about = {**here, "argument": key, "optional": True}
            right = any(same(given[key], each) for each in due.accepted[key])
            fix = None if right else _remove(at, key)
            yield Place("extra", "", about, () if right else (("defaults", ""),), fix, at)
    if not strange:
        yield Place("extra", "", here)


def _renamed(
    absent: list[str], strange: list[str], due: Due, given: dict[str, Any], order: list[str]
) -> dict[str, str]:
    """Missing argument → the name it was given under: one that is like it, or that has its value."""
    found: dict[str, str] = {}
    for related in (True, False):
        for key in absent:
            for said in strange:
                if key in found or said in found.values():
                    continue
                if bool(_key_relations(str(said), key, order)) if related else same(given[said], due.said[key]):
                    found[key] = said
    return found


def _word(schema: object, key: str) -> object:
    return schema.get(key, "") if isinstance(schema, dict) else ""


def _key_relations(said: str, due: str, order: list[str]) -> list[Relation]:
    weak = ("cut", "begin_cut", "letter", "script", "digits")
    found = [each for each in of_texts(said, due) if each.key not in weak or len(said) > 2]
    number = re.fullmatch(r"(\D{0,20}?)(\d{1,2})", said)
    if number is not None and due in order and int(number.group(2)) in (order.index(due), order.index(due) + 1):
        found.insert(0, Relation("number", f"{number.group(1)}N"))
    return found


def _of_value(case: Case, due: Due, key: str, said: Any, said_key: str, at: At, about: Features) -> Iterator[Place]:
    """The places within one value: each text, number or truth of it."""
    right = due.said[key]
    accepted = due.accepted.get(key) or [right]
    exact = case.entry.row.checker == "state"
    if any(same(said, each, exact=exact) for each in accepted):
        for kind, value in _leaves(right):
            yield Place("value", kind, {**about, **_of_text(value)}, due=value)
        return
    leaves = min((list(unequal(said, each, exact=exact)) for each in accepted), key=_strangeness)
    other = next((k for k, v in due.said.items() if k != key and same(said, v) and type(v) is type(said)), None)
    if other is not None and not same(right, due.said[other]):
        fix = _set(at, (said_key,), right)
        yield Place("value", _kind(right), {**about, **_of_text(right)}, (("swapped", ""),), fix, at, right)
        return
    known = properties_enum(case.schema(due.name), key)
    for leaf in leaves:
        why, target = _why("value", leaf.relations), leaf.due
        if known and leaf.said not in known:
            why = (*why, ("enum", ""))
        why = (*why, ("value_other", _short(leaf.said)))
        features = {**about, **_of_text(target)}
        yield Place("value", _kind(target), features, why, _set(at, (said_key, *leaf.path), target), at, target)


def properties_enum(schema: Fields, key: str) -> list[Any]:
    """The values a parameter may have; empty where any will do."""
    properties = schema.get("properties")
    found = _word(properties.get(key), "enum") if isinstance(properties, dict) else None
    return found if isinstance(found, list) else []


def _strangeness(leaves: list[Any]) -> tuple[int, int]:
    return sum(not each.relations for each in leaves), len(leaves)


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list) and value:
        for each in value[:20]:
            yield from _leaves(each)
    else:
        yield _kind(value), value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "object"


def _of_text(value: Any) -> Features:
    if not isinstance(value, str):
        return {"digits": isinstance(value, int | float) and not isinstance(value, bool)}
    return {
        "words": len(value.split()), "length": len(value), "digits": any(each.isdigit() for each in value),
        "beyond ASCII": not value.isascii(),
    }  # fmt: skip


def _short(value: Any) -> str:
    return repr(value)[:40]


# -- fixes ---------------------------------------------------------------------------------------------------------


def _call(draft: list[Turn], at: At) -> Made:
    turn, step, index = at
    return draft[turn].steps[step][index]


def _set_given(at: At, given: dict[str, Any]) -> Fix:
    import copy

    def fix(draft: list[Turn]) -> None:
        _call(draft, at).given = copy.deepcopy(given)

    return fix


def _set(at: At, path: tuple[Any, ...], value: Any) -> Fix:
    def fix(draft: list[Turn]) -> None:
        place: Any = _call(draft, at).given
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return fix


def _rename(at: At, said: str, due: str) -> Fix:
    def fix(draft: list[Turn]) -> None:
        given = _call(draft, at).given
        if given is not None and said in given:
            given[due] = given.pop(said)

    return fix


def _remove(at: At, key: str) -> Fix:
    def fix(draft: list[Turn]) -> None:
        (_call(draft, at).given or {}).pop(key, None)

    return fix


def _drop(at: At) -> Fix:
    def fix(draft: list[Turn]) -> None:
        _call(draft, at).gone = True

    return fix


def _put_right(at: At, due: Due) -> Fix:
    def fix(draft: list[Turn]) -> None:
        call = _call(draft, at)
        call.name, call.given = due.name, dict(due.said)

    return fix


def _add(turn: int, step: int, due: list[Due], missing: list[int], kept: dict[int, tuple[int, int]]) -> Fix:
    """Put missing calls before the next one that is due after them."""

    def fix(draft: list[Turn]) -> None:
        steps = draft[turn].steps
        for d in reversed(missing):
            later = [kept[each] for each in sorted(kept) if each > d]
            s, index = later[0] if later else (step, len(steps[step]))
            steps[s].insert(index, Made(due[d].name, dict(due[d].said)))

    return fix


def _ordered(turn: int, due: list[Due]) -> Fix:
    """The calls of a turn in the order they were due."""

    def fix(draft: list[Turn]) -> None:
        steps = draft[turn].steps
        made = [call for step in steps for call in step]
        for step in steps:
            step.clear()
        for each in due:
            call = next(call for call in made if call.name == each.name)
            made.remove(call)
            steps[0].append(call)

    return fix
