"""Rows of data sets about calls: xLAM's, and ACEBench's with the answers in a folder next to them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_bfcl.extensions.own.logs.conversation import Conversation, documents_of, objects
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies import Said, UnknownShape, read_call
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.python_syntax import decode_python
from pytest_bfcl.transcript import ToolCall

_WORDS = {
    "str": "string", "string": "string", "int": "integer", "integer": "integer", "float": "number", "number": "number",
    "bool": "boolean", "boolean": "boolean", "dict": "object", "object": "object", "list": "array", "array": "array",
    "set": "array", "tuple": "array",
}  # fmt: skip
_GENERIC = re.compile(r"(\w+)\[(.*)\]")
_SPEAKER = re.compile(r"^(user|system): ?", re.MULTILINE)
ANSWERS = "possible_answer"


def xlam_conversation(row: Fields, place: str) -> Conversation | None:
    """A row with ``query``, ``tools`` and ``answers``; ``None`` for another. Raises `UnknownShape`."""
    if not {"query", "tools", "answers"} <= row.keys():
        return None
    tools = documents_of([_xlam_tool(each) for each in objects(row["tools"], "tools")])
    calls = tuple(read_call(each) for each in objects(row["answers"], "answers"))
    return Conversation(place, tools, (Said("user", str(row["query"])), Said("model", calls=calls)))


def _xlam_tool(tool: Fields) -> Fields:
    """Its parameters are name → ``{type, description, default}``, types in Python's words."""
    parameters = tool.get("parameters")
    if not isinstance(parameters, Mapping) or "properties" in parameters:
        return tool
    properties: Parsed = {}
    required = []
    for name, told in parameters.items():
        if not isinstance(told, Mapping):
            raise UnknownShape(f"tools: parameter {name!r} of {tool.get('name')!r} is no object")
        word = str(told.get("type", ""))
        schema = _python_type(word)
        schema |= {key: told[key] for key in ("description", "default", "enum") if key in told}
        properties[name] = schema
        if "optional" not in word.lower() and "default" not in told:
            required.append(name)
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": tool.get("name"), "description": tool.get("description", ""), "parameters": schema}


def _python_type(word: str) -> Parsed:
    word = re.sub(r",\s*optional\s*$", "", word, flags=re.IGNORECASE).strip()
    generic = _GENERIC.fullmatch(word)
    if generic and generic[1].lower() in ("optional", "union"):
        first, _, _ = generic[2].partition(",")
        return _python_type(first)
    kind = _WORDS.get((generic[1] if generic else word).lower())
    if kind is None:
        return {}
    if kind == "array" and generic:
        return {"type": kind, "items": _python_type(generic[2])}
    return {"type": kind}


class AceAnswers:
    """The answers of ACEBench's files, from the folder ``possible_answer`` next to the questions."""

    def __init__(self, path: Path) -> None:
        self._path = path.parent / ANSWERS / path.name
        self._by_id: dict[str, Any] | None = None

    def of(self, row: Fields) -> Any:
        """The answer to a row. Raises `UnknownShape`."""
        if "ground_truth" in row:
            return row["ground_truth"]
        if self._by_id is None:
            try:
                lines = self._path.read_text(encoding="utf-8-sig").splitlines()
                found = [json.loads(line) for line in lines if line.strip()]
                self._by_id = {str(each["id"]): each["ground_truth"] for each in found}
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                raise UnknownShape(
                    f"it is an entry, not a conversation (a row of ACEBench has its answer in {self._path})"
                ) from None
        if str(row["id"]) not in self._by_id:
            raise UnknownShape(f"{self._path} has no answer to {row['id']!r}")
        return self._by_id[str(row["id"])]


def ace_conversation(row: Fields, place: str, answers: AceAnswers) -> Conversation | None:
    """A row of ACEBench: a conversation as one text, and its final calls. Raises `UnknownShape`."""
    if not isinstance(row.get("question"), str) or not isinstance(row.get("function"), list) or "id" not in row:
        return None
    if "initial_config" in row or "involved_classes" in row:
        raise UnknownShape("an agent's scenario is played on ACEBench's own systems, which are not recorded")
    tools = documents_of(row["function"], "function")
    said = [Said("system", str(row[key])) for key in ("time", "profile") if row.get(key)]
    said += _turns(str(row["question"]))
    calls = tuple(_expected(answers.of(row), {tool["name"] for tool in tools}))
    said.append(Said("model", "" if calls else "(no call is due)", calls))
    return Conversation(place, tools, tuple(said))


def _turns(text: str) -> Iterator[Said]:
    """``user:`` and ``system:`` at the start of lines; text after a call is its result."""
    parts = _SPEAKER.split(text)
    if len(parts) == 1:
        yield Said("user", text.strip())
    called: tuple[ToolCall, ...] = ()
    for who, words in zip(parts[1::2], parts[2::2], strict=True):
        words = words.strip()
        if who == "user":
            yield Said("user", words)
            called = ()
        elif called:
            yield Said("tool", words, name=called[0].name if len(called) == 1 else None)
            called = ()
        else:
            called = _written_calls(words)
            yield Said("model", "" if called else words, called)


def _written_calls(text: str) -> tuple[ToolCall, ...]:
    """``[name(key=value), …]``; none for texts without calls."""
    try:
        calls = decode_python(text) if text.startswith("[") else []
        return tuple(ToolCall(call.name, json.dumps(call.arguments)) for call in calls)
    except (DecodeError, TypeError, ValueError):
        return ()


def _expected(answer: Any, names: set[str]) -> Iterator[ToolCall]:
    """Calls of an answer: ``{name: arguments}`` or a list of them, several of one tool as ``name_1``, ``name_2``.

    A text, or a list of missing values, means that no call is expected.
    """
    if isinstance(answer, str):
        return
    listed: Sequence[Any] = answer if isinstance(answer, list) else [answer]
    for each in listed:
        if not isinstance(each, Mapping):
            raise UnknownShape(f"an answer is {{name: arguments}}, not {str(each)[:80]!r}")
        for name, arguments in each.items():
            plain = re.sub(r"_\d+$", "", name)
            if isinstance(arguments, Mapping):
                yield ToolCall(name if name in names or plain not in names else plain, json.dumps(arguments))
