"""Differences within the arguments of one call: names, values, and parts of values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.causes.cases import Due
from pytest_bfcl.extensions.causes.cause import KINDS
from pytest_bfcl.extensions.causes.places import NOTHING, At, Context, Features, Place, Why, remove, rename, set_value
from pytest_bfcl.extensions.causes.relations import MOST, Relation, of_texts
from pytest_bfcl.extensions.causes.values import Leaf, same, unequal

_A_QUESTION = 20
"""Characters from which a value inside the question is a piece of it."""


def of_arguments(of: Context, given: dict[str, Any], at: At, here: Features) -> Iterator[Place]:
    """The places of one call's arguments."""
    case, due = of.case, of.due
    schema, properties = case.schema(due.name), case.properties(due.name)
    order = list(properties)
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    absent = [key for key in due.said if key not in given and key not in due.optional]
    strange = [key for key in given if key not in due.accepted]
    renamed = _renamed(absent, [each for each in strange if each not in properties], due, given, order)
    keys, before = list(due.said), case.before(of.number, of.nth)[-1:]
    for position, key in enumerate(keys):
        about = {
            **here, "first": position == 0, "last": position == len(keys) - 1, "nth": position + 1,
            "position": position, "optional": key not in needed, "required": key in needed,
            "omittable": key in due.optional,
            "type": str(_word(properties.get(key), "type")),
            "kind": _kind_word(due.said[key]), "enum": bool(_word(properties.get(key), "enum")),
            "numeric": isinstance(due.said[key], int | float) and not isinstance(due.said[key], bool),
            "argument": key, "word": _last_word(key), "alone": len(keys) == 1, "empty": not due.said[key],
            "default": _is_default(properties.get(key), due.said[key]),
            "words of name": _words_of(key),
            "first of enum": _is_first(properties.get(key), due.said[key]),
            "as before": any(key in each.said and each.said[key] == due.said[key] for each in before),
        }  # fmt: skip
        within = of._replace(key=key)
        if key in renamed:
            why = (
                *why_at("key", _key_relations(str(renamed[key]), key, order)),
                ("key_renamed", f"`{key}` is called `{str(renamed[key])[:40]}`"),
            )
            yield Place("key", "", about, why, rename(at, renamed[key], key), at, key, str(renamed[key]), within)
        elif key not in given and key not in due.optional:
            lost: Why = () if given else ((_without_any(of, at), ""),)
            lost = (*lost, ("key_lost", ""))
            lost = (("elided", ""), *lost) if about["as before"] else lost
            yield Place("key", "", about, lost, set_value(at, (key,), due.said[key]), at, key, of=within)
        elif key in given or key in due.optional:
            yield Place("key", "", about, at=at, due=key, of=within)
        said = renamed.get(key, key)
        if said in given:
            yield from _of_value(within, given[said], said, given, at, about)
    for key in strange:
        if key in renamed.values():
            continue
        known = key in properties
        over: Why = (
            (("defaults", _filled(given[key], properties[key], key)),) if known else (("key_extra", str(key)[:60]),)
        )
        over = over if known or given[key] is not None else (("nulls", ""), *over)
        yield Place("extra", "", {**here, "argument": key} if known else here, over, remove(at, key), at)
    for key in due.accepted:
        if key in given and key not in due.said:  # may be left out, and was given
            about = {**here, "argument": key, "optional": True}
            right = any(same(given[key], each) for each in due.accepted[key])
            fix = None if right else remove(at, key)
            told = "" if right else _filled(given[key], properties.get(key), key)
            over = () if right else (("defaults", told),)
            meant = None if right or told else _meant(given[key], due.accepted[key])
            if meant is None:
                yield Place("extra", "", about, over, fix, at)
                continue
            about |= {"filled": True, "type": str(_word(properties.get(key), "type")), "kind": _kind_word(meant)}
            for place in _of_value(_with(of, key, meant), given[key], key, given, at, about):
                place.candidates = (*place.candidates, *over)  # a value of its own, or the due one changed
                yield place
    for key in properties:
        if key not in given and key not in due.said:  # could have been filled in
            yield Place("extra", "", {**here, "argument": key})
    if not strange:
        yield Place("extra", "", here)


def _without_any(of: Context, at: At) -> str:
    """The kind of a call that has no arguments: those of a text may be there without names."""
    turn, step, _ = at
    said = of.case.transcript.turns[turn].steps[step].reply
    unnamed = re.search(rf"\b{re.escape(of.due.name)}\(\s*[^\s)=][^)=]*\)", (said.text or "")[:MOST])
    return "positional" if unnamed and not said.tool_calls else "no_arguments"


def _renamed(
    absent: list[str], strange: list[str], due: Due, given: dict[str, Any], order: list[str]
) -> dict[str, str]:
    """Missing argument → the name under which it was given: a similar one, or one with its value."""
    found: dict[str, str] = {}
    for related in (True, False):
        for key in absent:
            for said in strange:
                if key in found or said in found.values():
                    continue
                if bool(_key_relations(str(said), key, order)) if related else same(given[said], due.said[key]):
                    found[key] = said
    return found


def _meant(said: object, accepted: Sequence[Any]) -> Any:
    """The accepted value that another one may come from: of its kind, a related one first; ``None`` without any."""
    alike = [each for each in accepted if _kind(each) == _kind(said) and each not in ("", None)]
    related = (each for each in alike if any(leaf.relations for leaf in unequal(said, each)))
    return next(related, alike[0] if alike else None)


def _with(of: Context, key: str, value: Any) -> Context:
    """The context in a call that has one of its optional arguments."""
    due = list(of.turn.due)
    due[of.nth] = replace(of.due, said={**of.due.said, key: value})
    return of._replace(turn=replace(of.turn, due=due), key=key)


def _filled(value: object, schema: object, key: str) -> str:
    """The content of an argument that the request does not ask for."""
    if value is None or value in ("None", "null", "undefined"):
        return "null" if value is None else f"`{value}`"
    if not value:
        return "empty texts, 0, false"
    if value == _word(schema, "type") or value == _word(schema, "description"):
        return "the names of their types" if value == _word(schema, "type") else "their descriptions"
    if value == key:
        return "their own names"
    if _is_first(schema, value):
        return "the first of their enums"
    return "the schema's defaults" if _is_default(schema, value) else ""


def _is_first(schema: object, value: object) -> bool:
    known = _word(schema, "enum")
    return isinstance(known, list) and known[:1] == [value]


def _is_default(schema: object, value: object) -> bool:
    return isinstance(schema, dict) and "default" in schema and bool(schema["default"] == value)


def _last_word(name: str) -> str:
    return str((re.findall(r"[A-Z]?[a-z]+", name) or [name])[-1]).lower()


def _words_of(name: str) -> frozenset[str]:
    return frozenset(each.lower() for each in re.findall(r"[A-Z]?[a-z]+", name))


def _word(schema: object, key: str) -> object:
    return schema.get(key, "") if isinstance(schema, dict) else ""


def _key_relations(said: str, due: str, order: list[str]) -> list[Relation]:
    weak = ("cut", "begin_cut", "digits")
    found = [each for each in of_texts(said, due) if each.key not in weak or len(said) > 2]
    number = re.fullmatch(r"(\D{0,20}?)(\d{1,2})", said)
    if number is not None and due in order and int(number.group(2)) in (order.index(due), order.index(due) + 1):
        found.insert(0, Relation("number", f"{number.group(1)}N"))
    return found


def _of_value(of: Context, said: Any, said_key: str, given: dict[str, Any], at: At, about: Features) -> Iterator[Place]:
    """The places within one value: each text, number or truth of it."""
    case, due, key = of.case, of.due, of.key
    right = due.said[key]
    accepted = due.accepted.get(key) or [right]
    exact = case.entry.row.checker == "state" or case.entry.language != "python"  # there texts hold code
    if any(same(said, each, exact=exact) for each in accepted):
        for kind, value, inside in _leaves(right):
            told = NOTHING if inside or value is not right else said
            yield Place("value", kind, {**about, **_of_text(value), "inside": inside}, due=value, of=of, right=told)
        return
    leaves = min((list(unequal(said, each, exact=exact)) for each in accepted), key=_strangeness)
    other = next((k for k, v in due.said.items() if k != key and same(said, v) and type(v) is type(said)), None)
    if other is not None and not same(right, due.said[other]) and same(given.get(other), right):
        fix = set_value(at, (said_key,), right)
        yield Place("value", _kind(right), {**about, **_of_text(right)}, (("swapped", ""),), fix, at, right, said, of)
        return
    properties = case.properties(due.name)
    known = _word(properties.get(key), "enum")
    for leaf in leaves:
        why, target = why_at("value", leaf.relations), leaf.due
        if isinstance(leaf.said, str) and leaf.said in (key, _word(properties.get(key), "description")):
            why = (("argument_name", ""), *why)
        elif isinstance(leaf.said, str) and len(leaf.said) >= _A_QUESTION and _is_of_question(leaf, case.asked):
            why = (*why, ("question", ""))
        if isinstance(known, list) and known and leaf.said == known[0]:
            why = (("enum_first", ""), *why)
        if isinstance(known, list) and known and leaf.said not in known:
            why = (*why, ("enum", ""))
        why = (*why, ("value_other", _short(leaf.said)))
        inside = "lists" if any(isinstance(each, int) for each in leaf.path) else "objects" if leaf.path else ""
        features = {**about, **_of_text(target), "inside": inside}
        fix = set_value(at, (said_key, *leaf.path), target)
        yield Place("value", _kind(target), features, why, fix, at, target, leaf.said, of)


def _is_of_question(leaf: Leaf, asked: str) -> bool:
    """Whether a text was taken from the question, not from the expected value."""
    return str(leaf.said) in asked and not (isinstance(leaf.due, str) and str(leaf.said) in leaf.due)


def _strangeness(leaves: list[Any]) -> tuple[int, int]:
    return sum(not each.relations for each in leaves), len(leaves)


def _leaves(value: Any, inside: str = "") -> Iterator[tuple[str, Any, str]]:
    """A value and all values within it, with their kinds and what each is inside of."""
    yield _kind(value), value, inside
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each, inside or "objects")
    elif isinstance(value, list):
        for each in value[:20]:
            yield from _leaves(each, "lists")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "object"


def _kind_word(value: Any) -> str:
    kind = "decimal" if isinstance(value, float) else _kind(value)
    return "whole number" if kind == "number" else kind


def _of_text(value: Any) -> Features:
    if not isinstance(value, str):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        elements = len(value) if isinstance(value, list) else None
        return {"digits": number, "number": value if number else None, "kind": _kind_word(value), "elements": elements}
    return {
        "words": len(value.split()), "length": len(value), "digits": any(each.isdigit() for each in value),
        "beyond ASCII": not value.isascii(), "capitals": value.isupper(),
        "signs": signs_of([value]), "begins": _class_of(value[:1]), "mixed": _MIXED.fullmatch(value) is not None,
        "file": re.fullmatch(r"[\w/-]{1,200}\.[a-z]{2,4}", value) is not None,
    }  # fmt: skip


_SIGN = re.compile(r"[^\w ]|_")


def signs_of(texts: Iterable[str]) -> frozenset[str]:
    """The signs in texts that are no letters, digits or plain blanks."""
    return frozenset(each for text in texts for each in _SIGN.findall(text[:MOST]))


_MIXED = re.compile(r"(?=.{0,200}\d)(?=.{0,200}[^\W\d_])[\w#.:/-]{1,200}")


def _class_of(letter: str) -> str:
    if letter.isdigit():
        return "a digit"
    return ("a capital" if letter.isupper() else "a small letter") if letter.isalpha() else "a sign" if letter else ""


def _short(value: Any) -> str:
    return repr(value)[:40]


def why_at(level: str, relations: Sequence[Relation]) -> Why:
    """Relations as causes at a level of the call; a few are the same cause for names, arguments and values."""
    return tuple((each.key if each.key in KINDS else f"{level}_{each.key}", each.told) for each in relations)
