"""Recorded conversations of any known notation → texts, calls and results; an unknown block is an error.

Messages of OpenAI, Anthropic, Gemini, Bedrock, LangChain, pydantic-ai and OpenTelemetry, items of the Responses API.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies.messages import kind_of, read_message, speaker_of, words_of
from pytest_bfcl.replies.shapes import CALL_KINDS, UnknownShape, fields_of, is_call, plain, sequence, unknown, word
from pytest_bfcl.transcript import ToolCall

_TEXTS = frozenset(("input_text", "output_text", "system-prompt", "text", "user-prompt"))
_RESULTS = frozenset(
    ("custom_tool_call_output", "function_call_output", "retry-prompt", "tool-return", "tool_call_response",
     "tool_result", "tool_return")
)  # fmt: skip
_NESTED = ("functionResponse", "function_response", "toolResult")
_CALL_IDS = ("tool_use_id", "tool_call_id", "call_id", "toolUseId", "id")
_TOLD = ("content", "output", "response", "result")
_WRAPPED = ("result", "output")
"""The only key of an object that Gemini's SDK wraps around a tool's result."""


@dataclass(frozen=True, slots=True)
class Said:
    """One item of a conversation; ``call_id`` and ``name`` identify the call of a tool's result, if known. ``beside``:
    the user's words share a message with a tool's result, so they may be no request.
    """

    who: Literal["system", "user", "model", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    name: str | None = None
    beside: bool = False


def read_history(messages: object, field: str = "messages") -> list[Said]:
    """The items of a list of messages, in order; a reply in several items becomes one.

    Raises `UnknownShape`, which names the place below ``field``.
    """
    listed = sequence(messages)
    if listed is None:
        raise unknown(f"{field}: messages are a list, not", messages)
    found: list[Said] = []
    for number, message in enumerate(listed):
        try:
            for said in _read(message):
                if said.who == "model" and found and found[-1].who == "model":
                    last = found.pop()
                    said = Said("model", "\n".join(filter(None, (last.text, said.text))), last.calls + said.calls)
                found.append(said)
        except UnknownShape as error:
            raise UnknownShape(f"{field}[{number}]: {error}") from None
        except RecursionError:
            raise UnknownShape(f"{field}[{number}]: nested too deeply") from None
    return found


def _read(message: object) -> Iterator[Said]:
    fields = fields_of(message)
    if fields is None:
        raise unknown("a message is an object, not", message)
    kind = kind_of(fields)
    if _is_result(fields):
        yield _result(fields)
    elif "role" not in fields and (kind in CALL_KINDS or kind == "reasoning"):
        yield _of_model({"content": [fields]})
    elif (speaker := speaker_of(fields)) == "model":
        yield _of_model(fields)
    elif speaker == "tool" and not _blocks(fields):
        yield _result(fields)
    elif speaker:
        yield from _of_others(fields, "tool" if speaker == "tool" else _side(fields))
    else:
        raise unknown("a message of nobody known (role: system, user, assistant, tool)", message)


def _side(fields: Fields) -> Literal["system", "user"]:
    said = {word(fields.get(name)) for name in ("role", "type", "part_kind")}
    return "system" if said & {"system", "developer", "systemmessage", "system-prompt"} else "user"


def _of_model(fields: Fields) -> Said:
    if fields.get("content") is None and not any(fields.get(name) for name in ("parts", "blocks")):
        fields = {**fields, "content": ""}
    reply = read_message(fields, strict=True)
    return Said("model", reply.text or "", reply.tool_calls)


def _blocks(fields: Fields) -> Sequence[Any] | None:
    """The blocks of a message that has several; ``None`` if its content is one text or one result."""
    for name in ("parts", "content"):
        listed = sequence(fields.get(name))
        if listed and any((view := fields_of(each)) is not None and _is_result(view) for each in listed):
            return listed
    return sequence(fields.get("parts")) or (sequence(fields.get("content")) if "tool_call_id" not in fields else None)


def _of_others(fields: Fields, who: Literal["system", "user", "tool"]) -> Iterator[Said]:
    """A message of the user, the system or the tools: results first, then the words."""
    content = fields.get("content")
    blocks = _blocks(fields)
    if blocks is None:
        if not isinstance(content, str):
            raise unknown("content is text or a list of blocks, not", content)
        yield Said(who, content)
        return
    words: list[str] = []
    results = 0
    for number, block in enumerate(blocks):
        view = fields_of(block)
        if view is not None and _is_result(view):
            try:
                yield _result(view)
                results += 1
            except UnknownShape as error:
                raise UnknownShape(f"content[{number}]: {error}") from None
        elif view is not None and kind_of(view) == "system-prompt":
            yield Said("system", words_of(view))
        else:
            words.append(_words(block, f"content[{number}]"))
    if words or not blocks:
        yield Said("user" if who == "tool" else who, "\n".join(filter(None, words)), beside=results > 0)


def _words(block: object, place: str) -> str:
    if isinstance(block, str):
        return block
    view = fields_of(block) or {}
    kind = kind_of(view)
    if kind in _TEXTS or (not kind and isinstance(view.get("text"), str) and not is_call(view)):
        return words_of(view)
    raise unknown(f"{place}: a block of the kind {kind or '(none)'!r}", block)


def _is_result(fields: Fields) -> bool:
    return kind_of(fields) in _RESULTS or any(fields_of(fields.get(name)) is not None for name in _NESTED)


def _result(fields: Fields) -> Said:
    """The result of a tool. Raises `UnknownShape` for pictures and other blocks without text."""
    inner = next((found for name in _NESTED if (found := fields_of(fields.get(name))) is not None), fields)
    call_id = next((inner[name] for name in _CALL_IDS if isinstance(inner.get(name), str)), None)
    name = next((inner[key] for key in ("name", "tool_name") if isinstance(inner.get(key), str)), None)
    told = next((inner[key] for key in _TOLD if inner.get(key) is not None), "")
    return Said("tool", _result_text(told), call_id=call_id, name=name)


def _result_text(told: object) -> str:
    if isinstance(told, str):
        return told
    listed = sequence(told)
    views = [fields_of(each) for each in listed or ()]
    if listed and all(view is not None and (kind_of(view) or {"json", "text"} & view.keys()) for view in views):
        return "\n".join(
            _json(view["json"]) if view and "json" in view else _words(each, f"content[{number}]")
            for number, (each, view) in enumerate(zip(listed, views, strict=True))
        )
    single = fields_of(told)
    if single is not None and len(single) == 1 and next(iter(single)) in _WRAPPED:
        told = next(iter(single.values()))
    return told if isinstance(told, str) else _json(told)


def _json(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False)
