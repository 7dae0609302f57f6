"""Single-turn tasks from tools of any kind: values that fit the schemas, and requests in the tools' own words.

A value is found by its parameter's schema, else by the words of its name and description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from random import Random
from typing import Any
from uuid import UUID

from pytest_bfcl.checkers import judge, judge_both
from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.extensions.lab.literals import words as parts_of
from pytest_bfcl.extensions.lab.request_rules import request_defects
from pytest_bfcl.extensions.lab.schema_rules import misfits
from pytest_bfcl.extensions.own.own_entry import lint_entry, words
from pytest_bfcl.extensions.training.generating.language import (
    FAMILIES,
    PEOPLE,
    plural,
    request,
    table,
    term,
    topic,
    value_text,
)
from pytest_bfcl.extensions.training.generating.policies import transcript_of
from pytest_bfcl.extensions.training.generating.proof import Facts, Unproved
from pytest_bfcl.extensions.training.generating.reach import Heard, choices
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.transcript import Reply

KIND_OF = (
    "simple", "multiple", "simple", "parallel", "multiple", "simple", "irrelevance", "multiple", "parallel", "multiple",
)  # fmt: skip
"""The sequence of kinds; a set of one tool has only those that one tool allows."""
CATEGORY = {"simple": "simple_python", "multiple": "multiple", "parallel": "parallel", "irrelevance": "irrelevance"}
_WORDS = table("words")["tools"]
MOST_OFFERED = 5
OPTIONAL = 0.5
"""Probability of an optional parameter."""
_VERBS: dict[str, str] = {plural(verb): verb for verb in _WORDS["verbs"].split()} | _WORDS["other_verbs"]
_PLAIN = frozenset((*(each.split()[0] for each in _VERBS.values()), *_WORDS["plain_verbs"].split()))


def drafted(rng: Random, tools: Sequence[FunctionDoc], kind: str) -> tuple[Parsed, str]:
    """An entry of a kind and its category. Raises `Unproved` if the tools do not allow it."""
    kind = kind if len(tools) > 1 else {"multiple": "simple", "irrelevance": "simple"}.get(kind, kind)
    called = rng.choice(tools)
    others = [tool for tool in tools if tool is not called]
    offered = [called] if kind in ("simple", "parallel") else rng.sample(others, min(len(others), MOST_OFFERED - 1))
    if kind == "multiple":
        offered.insert(rng.randint(0, len(offered)), called)
    calls = [_call(rng, called) for _ in range(2 if kind == "parallel" else 1)]
    entry: Parsed = {
        "question": [[{"role": "user", "content": _request(rng, called, calls)}]],
        "function": offered,
        "generated": {"kind": kind},
    }
    if kind != "irrelevance":
        entry["possible_answer"] = [{called["name"]: _accepted(called, call)} for call in calls]
    return entry, CATEGORY[kind]


def _call(rng: Random, tool: FunctionDoc) -> dict[str, Any]:
    parameters = tool["parameters"]
    required = parameters.get("required") or []
    given: dict[str, Any] = {}
    for name, schema in (parameters.get("properties") or {}).items():
        if name in required or rng.random() < OPTIONAL:
            value = value_for(rng, name, schema)
            fits = value is not None and not any(misfits(schema, value, 0))
            if name in required and not fits:
                raise Unproved("no value known", f"{tool['name']}.{name}")
            if fits and (name in required or value != schema.get("default")):  # nobody asks for what is so anyway
                given[name] = value
    return given


def _accepted(tool: FunctionDoc, given: Fields) -> dict[str, list[Any]]:
    """Acceptable values: those in the request, or, without any, the default or nothing."""
    found: dict[str, list[Any]] = {}
    for name, schema in (tool["parameters"].get("properties") or {}).items():
        if name in given:
            value = given[name]
            found[name] = [{key: [each] for key, each in value.items()} if isinstance(value, dict) else value]
            found[name] += [""] if "default" in schema and schema["default"] == value else []
        else:
            default = schema.get("default")
            found[name] = ["", default] if default not in (None, "") else [""]
    return found


def _request(rng: Random, tool: FunctionDoc, calls: Sequence[Fields]) -> str:
    clause = _clause(tool)
    parts = [_with_values(rng, clause, tool, calls[0])]
    if len(calls) > 1:
        told = _values(rng, tool, calls[1])
        parts.append(f"{rng.choice(['do the same', 'do it again', 'once more'])}{': ' + told if told else ''}")
    return request(rng, parts)


def _clause(tool: FunctionDoc) -> str:
    """The tool's purpose as a request."""
    text = re.split(r"(?<=[^.])\.(?:\s|$)|\n|;", str(tool.get("description") or "").strip())[0].strip().rstrip(".")
    first, _, rest = text.partition(" ")
    verb = _VERBS.get(first.lower()) or (first.lower() if first.lower() in _PLAIN else None)
    if verb and rest:
        return f"{verb} {rest}"
    name = " ".join(words_of(str(tool["name"])))
    return f"use {name} for me" if not text else f"get me this: {text[:1].lower()}{text[1:]}"


def _with_values(rng: Random, clause: str, tool: FunctionDoc, given: Fields) -> str:
    told = _values(rng, tool, given)
    return f"{clause}{rng.choice([', with ', ' with ', ': ', ', using '])}{told}" if told else clause


def _values(rng: Random, tool: FunctionDoc, given: Fields) -> str:
    pattern = rng.choice(["{name} {value}", "{name} {value}", "{value} as the {name}", "the {name} {value}"])
    told = [
        ("{name} {value}" if isinstance(value, bool) else pattern).format(
            name=" ".join(words_of(name)), value=_value_text(value)
        )
        for name, value in given.items()
    ]
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}" if told else ""


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "switched on" if value else "switched off"
    if isinstance(value, dict):
        return ", ".join(f"{' '.join(words_of(name))} {_value_text(each)}" for name, each in value.items())
    if isinstance(value, str) and not re.fullmatch(r"[\w.@:/+-]+", value):
        return f'"{value}"'
    return value_text(value)


def words_of(name: str) -> list[str]:
    """A parameter's or tool's name as words."""
    return re.sub(r"[_.\-]", " ", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)).lower().split()


def proved_single(entry: Entry) -> Facts:
    """The facts of a proved single-turn entry. Raises `Unproved` with the problem."""
    heard = Heard()
    heard.say(str(entry.question[0][0]["content"]))
    calls = entry.possible_answer or []
    for call in calls:
        for name, answer_ in call.items():
            properties = next(tool for tool in entry.function if tool["name"] == name)["parameters"]["properties"]
            for parameter, values in answer_.items():
                if "" not in values and all(
                    heard.source(_plain(each), properties[parameter]) is None for each in values
                ):
                    raise Unproved("unreachable value", f"{parameter} of {name}")
    both = judge_both(entry, transcript_of(entry, answer(entry, "fc")))
    if not (both.official.valid and both.corrected.valid):
        raise Unproved("oracle fails", str(both.official.reason or both.corrected.reason))
    if calls and judge(entry, transcript_of(entry, Reply(text="I did nothing.", finish_reason="stop"))).valid:
        raise Unproved("passes with less", "doing nothing")
    for finding in lint_entry(entry):
        raise Unproved("unclear tools", str(finding))
    for defect in request_defects(entry):
        raise Unproved("unclear request", defect.message)
    _one_tool(entry, [str(name) for call in calls for name in call])
    return Facts(1, len(calls), 0, 1, len(entry.function))


def _plain(value: Any) -> Any:
    """An object's values without the lists of acceptable ones."""
    return {key: each[0] for key, each in value.items()} if isinstance(value, dict) else value


def _one_tool(entry: Entry, called: Sequence[str]) -> None:
    """The request must fit the expected tool better than any other offered one; without one nothing may fit."""
    asked = words(str(entry.question[0][0]["content"]))
    shares = {str(tool["name"]): _share(tool, asked) for tool in entry.function}
    best = max(shares.values(), default=0.0)
    if not called:
        if best > 0.5:
            raise Unproved("ambiguous", f"{max(shares, key=lambda name: shares[name])} seems to fit")
    elif any(share >= shares[called[0]] for name, share in shares.items() if name not in called):
        raise Unproved("ambiguous", "another tool fits as well")


def _share(tool: FunctionDoc, asked: frozenset[str]) -> float:
    told = words(f"{tool['name']} {tool.get('description') or ''}".replace(".", " "))
    return len(told & asked) / max(len(told), 1)


# -- values ------------------------------------------------------------------------------------------------------------


def _day(rng: Random) -> str:
    return (date(2027, 1, 3) + timedelta(days=rng.randrange(700))).isoformat()


def _person(rng: Random) -> str:
    return f"{rng.choice(PEOPLE)} {rng.choice(FAMILIES)}"


def _mail(rng: Random) -> str:
    return f"{rng.choice(PEOPLE).lower()}.{rng.choice(FAMILIES).lower()}@example.org"


_BY_FORMAT: Mapping[str, Callable[[Random], str]] = {
    "date": _day,
    "date-time": lambda rng: f"{_day(rng)}T{rng.randint(7, 21):02}:{rng.choice(['00', '15', '30'])}:00Z",
    "email": _mail,
    "uri": lambda rng: f"https://example.org/{term(rng, topic(rng))}/{rng.randint(10, 99)}",
    "uuid": lambda rng: str(UUID(int=rng.getrandbits(128), version=4)),
}
_BY_WORD: tuple[tuple[tuple[str, ...], Callable[[Random], str]], ...] = (
    (("email", "mail"), _mail),
    (("date", "day", "birthday"), _day),
    (("time",), lambda rng: f"{rng.randint(7, 21):02}:{rng.choice(['00', '15', '30', '45'])}"),
    (("url", "uri", "link"), _BY_FORMAT["uri"]),
    (("country", "nation"), lambda rng: rng.choice(_WORDS["lands"])),
    (("city", "town", "place", "location", "destination", "origin"), lambda rng: rng.choice(_WORDS["towns"])),
    (("phone",), lambda rng: f"+49 30 {rng.randint(10**6, 10**7 - 1)}"),
    (("currency",), lambda rng: rng.choice(["EUR", "USD", "NOK", "JPY"])),
    (("language",), lambda rng: rng.choice(["English", "Latvian", "Spanish", "Japanese"])),
    (("firstname", "first"), lambda rng: rng.choice(PEOPLE)),
    (("lastname", "surname", "last"), lambda rng: rng.choice(FAMILIES)),
    (("user", "username", "login"), lambda rng: f"{rng.choice(PEOPLE).lower()}{rng.randint(10, 99)}"),
    (("person", "author", "customer", "contact", "owner"), _person),
    (("id", "code", "number", "key", "sku"), lambda rng: f"{rng.choice('ABKMPT')}{rng.randint(1000, 9999)}"),
    (("color", "colour"), lambda rng: rng.choice(["blue", "green", "amber", "ivory"])),
)


def value_for(rng: Random, name: str, schema: Fields, depth: int = 0) -> Any:
    """A value that fits the schema (benchmark or JSON Schema words); ``None`` if none is known."""
    if schema.get("enum"):
        return rng.choice(list(schema["enum"]))
    if isinstance(schema.get("examples"), list) and schema["examples"]:
        return rng.choice(schema["examples"])
    kind = schema.get("type")
    kind = next((each for each in kind if each != "null"), None) if isinstance(kind, list) else kind
    match kind:
        case "boolean":
            return rng.random() < 0.5
        case "integer":
            return _whole(rng, name, schema)
        case "float" | "number":
            return _whole(rng, name, schema) + rng.choice((0.25, 0.5, 0.75))
        case "string":
            return _text(rng, name, schema)
        case "array" | "tuple" if depth < 2:
            items = schema.get("items")
            inner = items if isinstance(items, Mapping) else {"type": "string"}
            found = [value_for(rng, name, inner, depth + 1) for _ in range(rng.randint(2, 3))]
            distinct = list({repr(each): each for each in found}.values())
            return None if None in found else distinct
        case "dict" | "object" if depth < 1:
            properties = schema.get("properties") or {}
            wanted = [each for each in properties if each in (schema.get("required") or properties)]
            made = {each: value_for(rng, each, properties[each], depth + 1) for each in wanted}
            return made if made and None not in made.values() else None
    return None


def _whole(rng: Random, name: str, schema: Fields) -> int:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and high is None:
        low, high = next((span for telling, span in _SPANS if set(telling) & {*parts_of(name)}), (2, 40))
    first = int(low) if isinstance(low, int | float) else int(high) - 40 if isinstance(high, int | float) else 2
    last = int(high) if isinstance(high, int | float) else first + 40
    step = schema.get("multipleOf")
    return rng.randrange(first, max(last, first) + 1, int(step) if isinstance(step, int) and step > 0 else 1)


_SPANS: tuple[tuple[tuple[str, ...], tuple[int, int]], ...] = (
    (("year",), (1995, 2031)), (("month",), (1, 12)), (("age",), (18, 79)), (("id",), (1001, 9899)),
    (("price", "amount", "cost", "budget"), (15, 900)), (("hour",), (0, 23)), (("minute",), (5, 55)),
)  # fmt: skip


def _text(rng: Random, name: str, schema: Fields) -> str | None:
    if schema.get("pattern"):
        return None
    if made := _BY_FORMAT.get(str(schema.get("format"))):
        return made(rng)
    named = list(choices(schema))
    if len(named) > 1:
        return rng.choice(named)
    spelled = {*parts_of(name)}
    for telling, draw in _BY_WORD:
        if set(telling) & spelled:
            return draw(rng)
    if "name" in spelled:
        return _person(rng)
    theme = topic(rng)
    return f"{term(rng, theme)} {term(rng, theme)}" if rng.random() < 0.6 else term(rng, theme)
