"""Recorded conversations with tool calls → entries for a person to review.

Every answered user request becomes a single-turn entry with exactly the recorded calls as its answer. Earlier calls and
results are in the conversation's text, because single-turn entries have no tool messages. A conversation with tool
results also becomes an entry of the category ``recorded``, whose tools return the recorded results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from pytest_bfcl.checkers.entries import is_error
from pytest_bfcl.dataset.expectation import Values
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.extensions.own.logs import conversations_of_log
from pytest_bfcl.extensions.own.logs.conversation import Conversation, said_trouble
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.entries import plain_answers
from pytest_bfcl.replies import Said
from pytest_bfcl.spread_json import NOT_JSON, json_or
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.tools.json_schema import DIALECT, schema_problem
from pytest_bfcl.transcript import Call, ToolCall

SHOWN_CHARS = 2_000
"""Characters of a tool's result that are copied into the text of a later turn."""
Turns = Literal["both", "single", "multi"]


def entries_of_log(
    path: Path, prefix: str = "log", turns: Turns = "both", leave_out: Callable[[str], None] | None = None
) -> Iterator[Parsed]:
    """Entries of every conversation in a file, all marked unreviewed.

    Ids are ``<prefix>_<conversation>_<request>``, ``<prefix>_<conversation>`` for whole conversations. Raises
    `UsageError` with the place that cannot be read; ``leave_out`` receives it instead, and the rest is read.
    """
    refuse = leave_out or _refused
    for number, conversation in enumerate(conversations_of_log(path, refuse)):
        try:
            yield from list(_entries(conversation, f"{prefix}_{number}", turns))
        except UsageError as error:
            refuse(str(error))


def _refused(told: str) -> None:
    raise UsageError(told) from None


def _entries(conversation: Conversation, entry_id: str, turns: Turns) -> Iterator[Parsed]:
    if not conversation.tools:
        if any(said.calls for said in conversation.said):
            raise UsageError(f"{conversation.place}: calls were made, and no tools are recorded to offer")
        return
    for tool in conversation.tools:
        if problem := schema_problem(tool["parameters"]):
            raise UsageError(f"{conversation.place}: the tool {tool['name']!r}: {problem}")
    calls = _calls(conversation)
    if turns != "multi":
        yield from _single(conversation, calls, entry_id)
    if turns != "single" and any(said.who == "tool" for said in conversation.said):
        yield _whole(conversation, calls, entry_id)


def _calls(conversation: Conversation) -> list[list[Call]]:
    """The calls of each item, with names that every notation can write. Raises `UsageError`."""
    offered = {portable_name(str(tool["name"])) for tool in conversation.tools}
    found = [[_call(call, conversation.place) for call in said.calls] for said in conversation.said]
    if unknown := next((call.name for calls in found for call in calls if call.name not in offered), None):
        raise UsageError(f"{conversation.place}: {unknown!r} is called, which is not among its tools")
    return found


def _call(call: ToolCall, place: str) -> Call:
    if (values := json_or(call.arguments or "{}", NOT_JSON)) is NOT_JSON:
        raise UsageError(f"{place}: the arguments of a call are not JSON: {call.arguments[:80]!r}")
    if not isinstance(values, dict):
        raise UsageError(f"{place}: the arguments of a call are an object: {call.arguments[:80]!r}")
    return Call(portable_name(call.name), values)


def _start(conversation: Conversation, entry_id: str, category: str) -> Parsed:
    functions = [
        {key: portable_name(str(value)) if key == "name" else value for key, value in tool.items() if key != "dialect"}
        for tool in conversation.tools
    ]
    return {
        "id": entry_id, "category": category, "question": [], "dialect": DIALECT,
        "function": [{"description": "", **each} for each in functions],
        "reviewed": False, "note": f"from {conversation.place}",
    }  # fmt: skip


# -- one request ---------------------------------------------------------------------------------------------------


def _single(conversation: Conversation, calls: Sequence[list[Call]], entry_id: str) -> Iterator[Parsed]:
    told: list[dict[str, str]] = []
    asked = False
    number = 0
    for said, made in zip(conversation.said, calls, strict=True):
        if said.who in ("user", "system"):
            told.append({"role": said.who, "content": said.text})
            asked = (asked or said.who == "user") and not said.beside
        elif said.who == "tool":
            _tell(told, f"(result: {said.text[:SHOWN_CHARS]})")
        else:
            if asked and told[-1]["role"] == "user":
                if trouble := said_trouble(said, conversation.tools):
                    raise UsageError(f"{conversation.place}, reply {number + 1}: {trouble}")
                yield _request(conversation, f"{entry_id}_{number}", told, made)
                number += 1
            _tell(told, " ".join(filter(None, (said.text, *map(_call_text, made)))))


def _request(conversation: Conversation, entry_id: str, told: Sequence[Fields], calls: Sequence[Call]) -> Parsed:
    several = len(conversation.tools) > 1
    kind = "parallel" if len(calls) > 1 else "multiple" if several else "simple_python"
    entry = _start(conversation, entry_id, kind if calls else "irrelevance")
    entry["question"] = [[dict(message) for message in told if message["content"]]]
    if calls:
        entry["possible_answer"] = plain_answers([call.as_object() for call in calls])
        for answer in entry["possible_answer"]:
            _allow_leaving_out(answer, conversation.tools)
    return entry


def _allow_leaving_out(answer: Parsed, tools: Sequence[Fields]) -> None:
    """A documented default that was written out equals an omitted argument."""
    ((name, values),) = answer.items()
    schema = next(tool["parameters"] for tool in tools if portable_name(str(tool["name"])) == name)
    for key, accepted in values.items():
        told = (schema.get("properties") or {}).get(key)
        optional = key not in (schema.get("required") or ())
        if optional and isinstance(told, dict) and "default" in told and [told["default"]] == accepted:
            accepted.append("")


def _call_text(call: Call) -> str:
    return f"(called {call.name}: {json.dumps(call.arguments, ensure_ascii=False)})"


def _tell(told: list[dict[str, str]], text: str) -> None:
    """Add to the conversation; consecutive texts of the model and its tools become one message."""
    if told and told[-1]["role"] == "assistant":
        told[-1] = {"role": "assistant", "content": f"{told[-1]['content']}\n{text}"}
    elif text:
        told.append({"role": "assistant", "content": text})


# -- a whole conversation ------------------------------------------------------------------------------------------


def _whole(conversation: Conversation, calls: Sequence[list[Call]], entry_id: str) -> Parsed:
    """Turns with the tools' recorded results; every call must be made by the end of its turn."""
    entry = _start(conversation, entry_id, "recorded")
    turns: list[list[dict[str, str]]] = []
    way: list[list[str]] = []
    expected: list[tuple[int, Call]] = []
    results: list[Parsed] = []
    waiting: list[tuple[str | None, Call]] = []
    before: str = "model"
    for said, made in zip(conversation.said, calls, strict=True):
        if said.who in ("user", "system"):
            if not turns or (before not in ("user", "system") and any(each["role"] == "user" for each in turns[-1])):
                turns.append([])
                way.append([])
            if said.text:
                turns[-1].append({"role": said.who, "content": said.text})
        elif said.who == "tool":
            answered = _answered(said, waiting)
            if answered is None:
                raise UsageError(f"{conversation.place}: a tool's result answers no call that was made before")
            results.append({"call": answered.name, "arguments": answered.arguments, "result": said.text})
        elif not turns or not any(each["role"] == "user" for each in turns[-1]):  # a greeting
            turns, way = turns or [[]], way or [[]]
            if said.text:
                turns[-1].append({"role": "assistant", "content": said.text})
        waiting += [(call.id, each) for call, each in zip(said.calls, made, strict=True)]
        for call in made if turns else ():
            text = exact_text(call)
            if text not in (each for turn in way for each in turn):
                expected.append((len(turns) - 1, call))
            way[-1].append(text)
        before = said.who
    carried_out = {
        exact_text(Call(each["call"], each["arguments"])) for each in results if not is_error(each["result"])
    }
    expect = [
        {"turn": turn, ("called" if exact_text(call) in carried_out else "attempted"): call.name,
         "arguments": _wanted(call.arguments)}
        for turn, call in expected
    ]  # fmt: skip
    return entry | {"question": turns, "results": results, "expect": expect, "possible_answer": way}


def _wanted(arguments: Fields) -> Parsed:
    """Arguments as an expectation; an object that looks like a rule is taken literally."""
    rules = set(Values.model_fields)
    return {
        name: {"equals": value} if isinstance(value, dict) and set(value) <= rules else value
        for name, value in arguments.items()
    }


def _answered(said: Said, waiting: list[tuple[str | None, Call]]) -> Call | None:
    """The call that a result answers, which waits no longer: by its id, by its name, else the first."""
    for fits in (
        lambda one: said.call_id is not None and one[0] == said.call_id,
        lambda one: said.name is not None and one[1].name == portable_name(said.name),
        lambda one: said.call_id is None or one[0] is None,
    ):
        for number, one in enumerate(waiting):
            if fits(one):
                return waiting.pop(number)[1]
    return None
