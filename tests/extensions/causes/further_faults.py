"""Faults of gateways, replicas, streams, notations and values, planted after the rules were written."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_bfcl.models.oracle import answer
from tests.extensions.causes.faults import (
    Fault,
    arguments,
    by_schema,
    calls,
    instead,
    lists,
    names,
    numbers,
    only,
    raw,
    seldom,
    texts,
)
from tests.extensions.causes.faulty_server import Bend, Said


def replica(every: int, bend: Bend) -> Bend:
    """One of several servers behind a balancer is bad."""
    return only(lambda said: said.number % every == 0, bend)


def both(*bends: Bend) -> Bend:
    def bend(said: Said) -> None:
        for each in bends:
            each(said)

    return bend


def each_call(change: Callable[[str, dict[str, Any]], tuple[str, str]]) -> Bend:
    """Name and arguments of every call, changed together."""
    return calls(lambda made: [list(change(name, json.loads(given))) for name, given in made])


def _shuffled(text: str) -> str:
    return "".join(random.Random(text).sample(text, len(text))) if text.isdigit() and len(text) > 3 else text


def _has_two(said: Said) -> bool:
    return any(len(json.loads(given)) > 1 for _, given in said.calls)


def _blank(text: str) -> str:
    return text.partition(", ")[0] + "," + "\n" * 200


def _cut_if_blank(said: Said) -> None:
    said.finish = "length" if any(given.endswith("\n") for _, given in said.calls) else said.finish


def _cumulative(text: str) -> str:
    return "".join(text[:end] for end in range(8, len(text), 8)) + text


def _hashed(name: str) -> str:
    return name if len(name) <= 14 else f"{name[:8]}_{hashlib.sha1(name.encode()).hexdigest()[:6]}"


def _synonyms(name: str) -> str:
    words = {"get": "fetch", "calculate": "compute", "find": "lookup"}
    return re.sub(r"(?<![a-z])(get|calculate|find)(?![a-z])", lambda found: words[found[1]], name)


def _joined(made: list[list[str]]) -> list[list[str]]:
    return [["".join(name for name, _ in made), "".join(given for _, given in made)]] if made else made


def _first_name(made: list[list[str]]) -> list[list[str]]:
    return [[made[0][0], given] for _, given in made]


def _first_arguments(made: list[list[str]]) -> list[list[str]]:
    return [[name, made[0][1]] for name, _ in made]


def _first_tool_added(said: Said) -> None:
    if said.calls:
        said.calls.append([said.tools[0]["function"]["name"], "{}"])


def _of_turn_before(said: Said, kept: bool = False) -> None:
    if said.turn and not said.step and (said.calls or kept):
        before = answer(said.entry, "fc", said.turn - 1, 0)
        said.calls = [*([call.name, call.arguments] for call in before.tool_calls), *(said.calls if kept else [])]
        said.text = None if said.calls else "Done."


def _half_the_tools(said: Said) -> None:
    half = said.tools[: max(1, len(said.tools) // 2)]
    said.seen = [said.messages, half]
    if any(call[0] not in [tool["function"]["name"] for tool in half] for call in said.calls):
        said.calls, said.text = [], f"None of my {len(half)} functions does that."


def _yaml(name: str, given: dict[str, Any]) -> tuple[str, str]:
    return name, "\n".join(f"{k}: {v if isinstance(v, str) else json.dumps(v)}" for k, v in given.items())


def _glm(said: Said) -> str:
    told = []
    for name, given in said.calls:
        pairs = (
            f"<arg_key>{k}</arg_key>\n<arg_value>{v if isinstance(v, str) else json.dumps(v)}</arg_value>"
            for k, v in json.loads(given).items()
        )
        told.append("\n".join([f"<tool_call>{name}", *pairs, "</tool_call>"]))
    return "\n".join(told)


def _react(said: Said) -> str:
    name, given = said.calls[0]
    return f"Thought: I should use it.\nAction: {name}\nAction Input: {given}"


def _in_markdown(said: Said) -> str:
    told = (f"- **{n}** with {', '.join(f'`{k}` = {v}' for k, v in json.loads(g).items())}" for n, g in said.calls)
    return "I'll call:\n" + "\n".join(told)


def _gibberish(said: Said) -> str:
    return "".join(said.rng.choice("abcdefghijklmnopqrstuvwxyzабвгдежз的是不了人我  ") for _ in range(120))


def _nulls(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {key: given.get(key) for key in schema.get("properties") or {}} | given


def _without_enums(said: Said, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in given.items() if not (schema.get("properties") or {}).get(k, {}).get("enum")}


def _inner_names(given: dict[str, Any]) -> dict[str, Any]:
    return {k: {f"{a}_": b for a, b in v.items()} if isinstance(v, dict) else v for k, v in given.items()}


def _pairs(given: dict[str, Any]) -> dict[str, Any]:
    return {
        k: [{"key": a, "value": b} for a, b in v.items()] if isinstance(v, dict) else v for k, v in given.items()
    }  # fmt: skip


def _clock(text: str) -> str:
    found = re.fullmatch(r"(\d\d):(\d\d)", text)
    return f"{int(found[1]) % 12 or 12}:{found[2]} {'PM' if int(found[1]) > 11 else 'AM'}" if found else text


_GATEWAY_PAGE = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


FURTHER: Mapping[str, Fault] = {
    "digits in another order": Fault(texts(_shuffled), ("digits",), says="another order"),
    "white space without end": Fault(
        both(only(_has_two, raw(_blank)), _cut_if_blank), ("repeating",), says="white space"
    ),
    "cumulative pieces": Fault(raw(_cumulative), ("json_grown",)),
    "two wrappers": Fault(arguments(lambda given: {"request": {"body": given}}), ("wrapped",), says="request.body"),
    # Gateways and proxies.
    "names hashed": Fault(names(_hashed), ("name_cut",)),
    "synonyms in names": Fault(names(_synonyms), ("name_learned",), says="→"),
    "ids for names": Fault(
        calls(lambda made: [[f"call_{hashlib.md5(given.encode()).hexdigest()[:6]}", given] for _, given in made]),
        ("name_other",),
    ),
    "half the tools": Fault(_half_the_tools, ("first_tool_only",)),
    "error page": Fault(seldom(0.3, instead(_GATEWAY_PAGE)), ("error_text",)),
    "masked digits": Fault(texts(lambda text: re.sub(r"\d", "*", text)), ("masked",), says="*"),
    "byte order mark": Fault(raw(lambda text: "\ufeff" + text), ("raw_learned",), says="with `\\ufeff` before"),
    # Bad replicas.
    "gibberish": Fault(replica(3, instead(_gibberish)), ("foreign",)),
    "another language": Fault(replica(3, instead("抱歉，这个问题我需要更多的信息才能回答。")), ("foreign",)),
    "one piece over and over": Fault(replica(4, instead("the the " * 60)), ("repeating",), says="the"),
    "replica without a parser": Fault(
        replica(3, instead(lambda said: "".join(f"<function={n}>{g}</function>" for n, g in said.calls))),
        ("call_in_text",),
    ),
    "replica with other types": Fault(replica(3, numbers(str)), ("number_text",)),
    # Streams.
    "calls joined": Fault(calls(_joined), ("calls_joined",)),
    "chunk lost": Fault(raw(lambda text: text[:10] + text[13:] if len(text) > 16 else text), ("json_gap",), says="11"),
    "stopped at a comma": Fault(texts(lambda text: text.split(",")[0]), ("value_learned",), says="only what stands be"),
    # Notations.
    "GLM's notation": Fault(instead(_glm), ("call_in_text",)),
    "ReAct": Fault(instead(_react), ("call_in_text",)),
    "Markdown": Fault(instead(_in_markdown), ("call_in_text",)),
    "arguments as YAML": Fault(each_call(_yaml), ("raw_learned",), says="as lines of YAML"),
    "inside a call": Fault(
        each_call(lambda name, given: ("use_tool", json.dumps({"tool_name": name, "tool_input": given}))),
        ("call_inside",), says="use_tool",
    ),
    "a tool of its own": Fault(
        each_call(lambda name, given: ("think", json.dumps({"thought": "which one?"}))), ("extra_call",), says="think"
    ),
    # Schemas rewritten.
    "positions": Fault(arguments(lambda given: {"args": list(given.values()), "kwargs": {}}), ("positional",)),
    "nulls": Fault(by_schema(_nulls), ("defaults",)),
    "enums dropped": Fault(by_schema(_without_enums), ("key_lost",), says="enum"),
    "names inside objects": Fault(arguments(_inner_names), ("inner_names",)),
    "objects as lists": Fault(arguments(_pairs), ("object_list",)),
    # Values.
    "last digit lost": Fault(
        numbers(lambda v: v // 10 if isinstance(v, int) and v > 9 else v), ("value_learned",), says="numbers"
    ),
    "ellipsis": Fault(
        texts(lambda text: f"{text[:8]}…" if len(text) > 8 else text), ("value_learned",), says="8 letters"
    ),
    "zeros": Fault(texts(lambda text: re.sub(r"\b\d{1,5}\b", lambda found: found[0].zfill(8), text)), ("zeros",)),
    "times of twelve hours": Fault(texts(_clock), ("time_format",)),
    "lists sorted": Fault(lists(lambda value: sorted(value, key=str)), ("value_learned",), says="lists sorted as text"),
    # Calls and turns.
    "first name for all": Fault(calls(_first_name), ("name_learned",), says="the name of the first call"),
    "first arguments for all": Fault(calls(_first_arguments), ("reply_learned",), says="calls have the arguments of t"),
    "first tool added": Fault(_first_tool_added, ("reply_learned",), says="the first offered function is called beh"),
    "first call lost": Fault(calls(lambda made: made[1:] if len(made) > 1 else made), ("first_lost",)),
    "earlier calls again": Fault(lambda said: _of_turn_before(said, kept=True), ("earlier_again",)),
}  # fmt: skip
