"""Any object with a model's output → `Reply`: knows the shapes of answers and of whole rollouts.

Of a whole agent's run `final_reply` gives its last message, and the tokens of all its requests if reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_bfcl.answers import read_blocks, read_candidates, read_completion, read_items, read_text
from pytest_bfcl.endings import TROUBLE, UNTOLD, first_choice
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies.messages import kind_of, of_api, read_message, read_written, speaker_of
from pytest_bfcl.replies.shapes import (
    CALL_KINDS,
    MAX_DEPTH,
    UnknownShape,
    fields_of,
    is_call,
    plain,
    read_call,
    sequence,
    unknown,
    why_unreadable,
)
from pytest_bfcl.transcript import Call, Reply, ToolCall

KNOWN = "text, a Reply, a list of calls, or an object of a supported library (docs/outputs.md lists them)"
_MESSAGE_FIELDS = ("content", "tool_calls", "blocks", "parts")
_ITEMS = frozenset(("custom_tool_call", "function_call", "message", "reasoning"))
"""Output items of Responses."""
_PARTS = CALL_KINDS | _ITEMS | {"redacted_thinking", "text", "output_text", "thinking"}
_INPUT = ("input_tokens", "request_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "response_tokens", "completion_tokens")


def read_reply(output: object) -> Reply:
    """A model's output as a `Reply`. Raises `UnknownShape` for an unknown shape; never guesses.

    Of several choices the one with index 0 counts. Of a list of messages the model's part after the user's last message
    counts. It gives all its calls, or, without native ones, the text before a tool's result, else its last message.
    ``None`` is a reply without text, an empty list one with an empty text; they decode differently.
    """
    try:
        return _read(output, 0)
    except RecursionError:
        raise UnknownShape("an output nested too deeply") from None


def _read(output: object, depth: int) -> Reply:
    if isinstance(output, Reply):
        return output
    if output is None or isinstance(output, str):
        return Reply(text=output)
    if isinstance(output, ToolCall | Call):
        return Reply(tool_calls=(read_call(output),))
    if depth > MAX_DEPTH:
        raise UnknownShape("an output nested too deeply")
    listed = sequence(output)
    if listed is None and callable(messages := getattr(output, "new_messages", None)):  # pydantic-ai's result of a run
        listed = sequence(messages())
    if listed is not None:
        return _from_list(listed, depth)
    fields = fields_of(output)
    if fields is None:
        reason = why_unreadable(output)
        raise UnknownShape(f"{reason} is no output") if reason else unknown(f"an output is {KNOWN}; not", output)
    return _from_fields(fields, output, depth)


def _from_fields(fields: Fields, output: object, depth: int) -> Reply:
    for name, read in _ENVELOPES.items():
        if name in fields and (reply := read(fields, depth)) is not None:
            return reply
    if "stop_reason" in fields and (sequence(fields.get("content")) is not None or fields.get("type") == "message"):
        return of_api(lambda: read_blocks(plain(fields)))
    if is_call(fields) and "role" not in fields:
        return Reply(tool_calls=(read_call(fields),))
    if speaker_of(fields) or any(name in fields for name in _MESSAGE_FIELDS):
        return read_message(_constructed(fields))
    if isinstance(fields.get("text"), str):
        return read_written(fields)
    if fields.get("error"):
        raise UnknownShape(f"an error instead of an output: {str(fields['error'])[:300]}")
    if reason := why_unreadable(output):
        raise UnknownShape(f"{reason} is no output")
    if len(fields) == 1:
        return Reply(tool_calls=(read_call(fields),))
    raise unknown(f"an output is {KNOWN}; not", output)


def _constructed(fields: Fields) -> Fields:
    """LangChain's ``message_to_dict`` keeps the message under ``data``."""
    inner = fields_of(fields.get("data"))
    return inner if inner is not None and "content" in inner else fields


def _choices(fields: Fields, depth: int) -> Reply | None:
    """``choices`` of chat completions and of text completions."""
    listed = [fields_of(each) for each in sequence(fields["choices"]) or ()]
    choice = first_choice({"choices": listed})
    if choice is None:
        raise UnknownShape("a completion without choices")
    if choice.get("delta") is not None and choice.get("message") is None:
        raise UnknownShape("a piece of a stream is no output; join the pieces first")
    message = fields_of(choice.get("message"))
    if message is None and not isinstance(choice.get("text"), str):
        raise UnknownShape("a completion whose first choice has no message")
    if message is not None and "stop_reason" in choice and "finish_reason" not in choice:  # Inspect's
        return read_message(message, choice, fields)
    read = read_text if message is None else read_completion
    return of_api(lambda: read(plain(fields)))


def _output(fields: Fields, depth: int) -> Reply | None:
    """``output`` of a Responses object, or of Bedrock's ``converse``."""
    items = sequence(fields["output"])
    if items is None:
        inner = fields_of(fields["output"])
        message = None if inner is None else fields_of(inner.get("message"))
        return None if message is None else read_message(message, fields)
    return of_api(lambda: read_items(plain(fields)))


def _message(fields: Fields, depth: int) -> Reply | None:
    """``message`` of LlamaIndex, Ollama, Cohere."""
    message = fields_of(fields["message"])
    if message is None or not (speaker_of(message) or any(name in message for name in _MESSAGE_FIELDS)):
        return None
    if "finish_reason" in fields and "index" in fields:  # one choice of a completion
        return _choices({"choices": [fields]}, depth)
    return read_message(message, fields)


def _candidates(fields: Fields, depth: int) -> Reply | None:
    """``candidates`` of Gemini."""
    return of_api(lambda: read_candidates(plain(fields)))


def _generations(fields: Fields, depth: int) -> Reply | None:
    """``generations`` of LangChain: one list of choices, or one per prompt."""
    first: Any = fields["generations"]
    for _ in range(2):
        if listed := sequence(first):
            first = listed[0]
    if sequence(first) is not None or fields_of(first) is None:
        raise UnknownShape("a result without generations")
    return _read(first, depth + 1)


def _completions(fields: Fields, depth: int) -> Reply | None:
    """``outputs`` of vLLM's offline engine."""
    listed = sequence(fields["outputs"])
    return _read(listed[0], depth + 1) if listed else None


def _generated(fields: Fields, depth: int) -> Reply | None:
    """``generated_text`` of a transformers pipeline: text, or the whole conversation."""
    return _read(fields["generated_text"], depth + 1)


def _messages(fields: Fields, depth: int) -> Reply | None:
    """``messages`` of a graph's state or of an agent's result."""
    listed = sequence(fields["messages"])
    return _from_list(listed, depth) if listed else None


_ENVELOPES: dict[str, Callable[[Fields, int], Reply | None]] = {
    "choices": _choices,
    "candidates": _candidates,
    "generations": _generations,
    "outputs": _completions,
    "output": _output,
    "generated_text": _generated,
    "message": _message,
    "messages": _messages,
}


def _from_list(items: Sequence[Any], depth: int) -> Reply:
    if not items:
        return Reply(text="")  # an empty list and an empty text decode alike (ast_checker spec §2)
    views = [fields_of(item) for item in items]
    if all(view is None or not speaker_of(view) for view in views):
        return _without_speakers(items, views, depth)
    return _rollout(items, views, depth)


def _without_speakers(items: Sequence[Any], views: Sequence[Fields | None], depth: int) -> Reply:
    """Parts of one message, or plain calls."""
    envelope = not isinstance(items[0], Mapping) or "generated_text" in items[0]  # lists of vLLM, of transformers
    if len(items) == 1 and envelope and any(name in (views[0] or ()) for name in _ENVELOPES):
        return _read(items[0], depth + 1)
    if any(view is not None and kind_of(view) in _PARTS and not isinstance(view, ToolCall) for view in views):
        return _of_parts(items)
    return Reply(tool_calls=tuple(map(read_call, items)))


def _of_parts(items: Sequence[Any]) -> Reply:
    """Output items of Responses by the reader of that API; parts of a message as one."""
    if all((view := fields_of(item)) is not None and kind_of(view) in _ITEMS for item in items):
        return of_api(lambda: read_items({"output": plain(items), "status": UNTOLD}))
    return read_message({"content": items})


def _rollout(items: Sequence[Any], views: Sequence[Fields | None], depth: int) -> Reply:
    """The model's part of a conversation, see `read_reply`."""
    said: list[Reply] = []
    answered: Reply | None = None
    for item, view in zip(items, views, strict=True):
        speaker = speaker_of(view) if view is not None else ""
        if speaker == "user":
            said, answered = [], None
        elif speaker == "tool":
            answered = answered or (said[-1] if said else None)
        elif view is not None and (speaker == "model" or kind_of(view) in _PARTS):
            said.append(_read(item, depth + 1) if speaker and kind_of(view) != "message" else _of_parts([item]))
        else:
            raise unknown("a list of messages holds something that is no message", item)
    if not said:
        raise UnknownShape("a list of messages without one of the model after the user's last")
    if (broken := next((reply for reply in said if reply.problem == TROUBLE), None)) is not None:
        return broken
    calls = tuple(call for reply in said for call in reply.tool_calls)
    if calls:
        last = said[-1]
        return Reply(None, calls, last.reasoning, last.finish_reason)
    return answered or said[-1]


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
