"""Single-turn tasks from tools of any kind: values that fit the schemas, and requests in the tools' own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

from pytest_bfcl.checkers import judge, judge_both
from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.extensions.lab.auditing.request_rules import request_defects
from pytest_bfcl.extensions.lab.auditing.schema_rules import misfits
from pytest_bfcl.extensions.own.own_entry import lint_entry, words
from pytest_bfcl.extensions.training.generating import requests
from pytest_bfcl.extensions.training.generating.play import transcript_of
from pytest_bfcl.extensions.training.generating.proof import Facts, Unproved
from pytest_bfcl.extensions.training.generating.reach import Heard
from pytest_bfcl.extensions.training.generating.values import value_for
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.transcript import Reply

KIND_OF = (
    "simple", "multiple", "simple", "parallel", "multiple", "simple", "irrelevance", "multiple", "parallel", "multiple",
)  # fmt: skip
"""The sequence of kinds; a set of one tool has only those that one tool allows."""
CATEGORY = {"simple": "simple_python", "multiple": "multiple", "parallel": "parallel", "irrelevance": "irrelevance"}
MOST_OFFERED = 5
OPTIONAL = 0.5
"""Probability of an optional parameter."""
_VERBS = {
    "gets": "get", "returns": "get", "fetches": "fetch", "tells": "tell me", "searches": "search", "finds": "find",
    "lists": "list", "shows": "show me", "retrieves": "retrieve", "calculates": "calculate", "computes": "compute",
    "creates": "create", "deletes": "delete", "updates": "update", "adds": "add", "removes": "remove", "sends": "send",
    "sets": "set", "puts": "put", "makes": "make", "looks": "look", "converts": "convert", "books": "book",
    "cancels": "cancel", "checks": "check", "reads": "read", "writes": "write", "opens": "open", "closes": "close",
    "starts": "start", "stops": "stop", "plays": "play", "translates": "translate", "estimates": "estimate",
}  # fmt: skip
_PLAIN = frozenset(each.split()[0] for each in _VERBS.values()) | {
    "place", "upload", "download", "reserve", "order", "buy", "sell", "change", "edit", "move", "copy", "count", "rate",
    "log", "register", "subscribe", "schedule", "post", "query", "filter", "sort", "print", "run", "ask", "give",
}  # fmt: skip


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
            if value is None and name in required:
                raise Unproved("no value known", f"{tool['name']}.{name}")
            if value is not None and not any(misfits(schema, value, 0)):
                given[name] = value
            elif name in required:
                raise Unproved("no value known", f"{tool['name']}.{name}")
            if name not in required and given.get(name) == schema.get("default"):
                given.pop(name, None)  # nobody asks for what is so anyway
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
    return requests.request(rng, parts)


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
    return requests.value_text(value)


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
