"""The result of a whole agent's run: its last message, and the tokens of all its requests if reported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_bfcl.replies.messages import speaker_of
from pytest_bfcl.replies.reading import read_reply
from pytest_bfcl.replies.shapes import UnknownShape, fields_of, plain, sequence
from pytest_bfcl.transcript import Reply

_INPUT = ("input_tokens", "request_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "response_tokens", "completion_tokens")


def final_reply(result: object) -> Reply:
    """The last message of an agent's run, without earlier calls.

    Known are text, numbers, ``None``, the results of pydantic-ai (``output``), the OpenAI Agents SDK
    (``final_output``), smolagents (``output``), LangChain and LangGraph (``messages``), and all that `read_reply`
    reads. Raises `UnknownShape` for everything else.
    """
    if result is None or isinstance(result, str | int | float):
        return Reply(text=result if isinstance(result, str) else json.dumps(result) if result is not None else "")
    for name, usage in (("final_output", _context_usage), ("output", _own_usage)):
        if hasattr(result, name) and (usage is _context_usage or _is_run(result)):
            return _with_tokens(Reply(text=_text(getattr(result, name))), usage(result))
    fields = fields_of(result)
    listed = sequence((fields or {}).get("messages")) if fields is not None else sequence(result)
    if listed and any(speaker_of(view) for view in map(fields_of, listed) if view is not None):
        return _last_words(listed)
    return replace(read_reply(result), tool_calls=())


def _is_run(result: object) -> bool:
    """Results of pydantic-ai and smolagents; the ``output`` of a Responses object is a list instead."""
    return callable(getattr(result, "new_messages", None)) or hasattr(result, "token_usage")


def _text(output: object) -> str:
    if output is None or isinstance(output, str):
        return output or ""
    try:
        return json.dumps(plain(output), ensure_ascii=False)
    except UnknownShape:
        return str(output)


def _last_words(messages: Sequence[Any]) -> Reply:
    """The last message; tokens of all the model's messages after the user's last."""
    said: list[Reply] = []
    for message in messages:
        view = fields_of(message)
        speaker = speaker_of(view) if view is not None else ""
        if speaker == "user":
            said = []
        elif speaker == "model":
            said.append(read_reply(message))
    if not said:
        return Reply(text="")
    tokens = [sum(getattr(reply, name) or 0 for reply in said) or None for name in ("input_tokens", "output_tokens")]
    last = said[-1]  # words that announced calls say nothing of a text without them
    why = None if last.tool_calls else last.finish_reason
    return replace(last, tool_calls=(), finish_reason=why, input_tokens=tokens[0], output_tokens=tokens[1])


def _context_usage(result: object) -> object:
    return getattr(getattr(result, "context_wrapper", None), "usage", None)


def _own_usage(result: object) -> object:
    usage = getattr(result, "usage", None) or getattr(result, "token_usage", None)
    return usage() if callable(usage) and not hasattr(usage, "input_tokens") else usage


def _with_tokens(reply: Reply, usage: object) -> Reply:
    return replace(reply, input_tokens=_count(usage, _INPUT), output_tokens=_count(usage, _OUTPUT))


def _count(usage: object, names: Sequence[str]) -> int | None:
    found = (getattr(usage, name, None) for name in names)
    return next((value for value in found if type(value) is int and value > 0), None)
