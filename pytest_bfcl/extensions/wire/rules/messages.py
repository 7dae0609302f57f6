"""An unstreamed answer as an object: its fields, as the reference lists them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.chat import choices_of, function_of
from pytest_bfcl.extensions.wire.row import Found, RowJudges, wrong
from pytest_bfcl.json_types import Fields


def is_text(value: object) -> bool:
    """A text that is not empty."""
    return isinstance(value, str) and bool(value)


def is_count(value: object) -> bool:
    """A whole number, and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_time(value: object) -> bool:
    """Seconds since 1970."""
    return is_count(value) or isinstance(value, float)


def _replies(judged: Judged) -> Found:
    reply = judged.reply
    if reply.problem:
        return wrong(reply.problem)
    kind = reply.exchange.content_type.partition(";")[0].strip().lower()
    return wrong(f"the content type is {kind!r}" if kind != "application/json" else "", kind.encode())


def _message_form(judged: Judged) -> Found:
    body = judged.reply.exchange.body
    if judged.reply.problem or not isinstance(body, dict):
        return None
    said = _chat_fields(body) if judged.api == "chat" else response_fields(body)
    return wrong(next(said, None))


def _chat_fields(body: Fields) -> Iterator[str]:
    for name, fits in (("id", is_text), ("created", is_time), ("model", is_text)):
        if not fits(body.get(name)):
            yield f"{name} is missing or wrong: {body.get(name)!r:.80}"
    if body.get("object") != "chat.completion":
        yield f"object is {body.get('object')!r:.80}, not 'chat.completion'"
    for position, choice in enumerate(choices_of(dict(body))):
        if not is_count(choice.get("index")) or choice["index"] != position:
            yield f"choice {position} has the index {choice.get('index')!r:.40}"
        message = choice.get("message")
        if isinstance(message, dict):
            yield from _message_fields(message)


def _message_fields(message: Fields) -> Iterator[str]:
    if message.get("role") != "assistant":
        yield f"the message's role is {message.get('role')!r:.40}"
    if not isinstance(message.get("content"), str | None):
        yield "the content is neither text nor null"
    calls = message.get("tool_calls")
    if not isinstance(calls, list | None):
        yield f"tool_calls is {type(calls).__name__}, not a list"
    for call in calls or () if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            yield f"a call is {call!r:.40}, no object"
        elif set(function_of(call)) - {"name", "arguments"}:
            yield "a function object has other fields than name and arguments"


def response_fields(body: Fields) -> Iterator[str]:
    """What a response object lacks."""
    for name, fits in (("id", is_text), ("created_at", is_time), ("model", is_text)):
        if not fits(body.get(name)):
            yield f"{name} is missing or wrong: {body.get(name)!r:.80}"
    if body.get("object") != "response":
        yield f"object is {body.get('object')!r:.80}, not 'response'"
    if body.get("status") == "completed" and body.get("incomplete_details") is not None:
        yield "status is completed, and incomplete_details says otherwise"
    for item in _items(body):
        if item.get("type") == "message" and item.get("role") != "assistant":
            yield "an output message's role is not assistant"
        parts = item.get("content") if item.get("type") == "message" else []
        if not isinstance(parts, list) or any(not _is_part(part) for part in parts):
            yield "an output message's content is no list of output_text parts"


def _is_part(part: object) -> bool:
    if not isinstance(part, dict):
        return False
    text = part.get({"output_text": "text", "refusal": "refusal"}.get(str(part.get("type")), ""))
    return isinstance(text, str)


def _items(body: object) -> list[Any]:
    output = body.get("output") if isinstance(body, dict) else None
    return [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []


def final(judged: Judged) -> Fields:
    """The response object of an answer, streamed or not; empty when there is none."""
    if not judged.cell.streamed:
        body = judged.reply.exchange.body
        return body if isinstance(body, dict) else {}
    ended = [event.get("response") for event in judged.reply.exchange.objects(typed=True)]
    return next((body for body in reversed(ended) if isinstance(body, dict)), {})


def _item_ids(judged: Judged) -> Found:
    items = _items(final(judged))
    if not items:
        return None
    ids = [item.get("id") for item in items]
    odd = next((item for item in items if not is_text(item.get("id"))), None)
    if odd is not None:
        return wrong(f"an item of type {odd.get('type')!r:.40} has the id {odd.get('id')!r:.40}")
    return wrong(f"two items have one id: {ids[:4]}" if len(set(ids)) < len(ids) else "")


def _item_status(judged: Judged) -> Found:
    body = final(judged)
    items = [item for item in _items(body) if item.get("type") in ("message", "function_call")]
    if not items or body.get("status") != "completed":
        return None
    odd = next((item for item in items if item.get("status") != "completed"), None)
    return wrong(
        f"the response is completed, a {odd.get('type')} in it has the status {odd.get('status')!r:.40}" if odd else ""
    )


def _served_model(judged: Judged) -> Found:
    if judged.reply.problem:
        return None
    if judged.api != "chat":
        bodies: list[Fields] = [final(judged)]
    elif judged.cell.streamed:
        bodies = list(judged.reply.exchange.objects())
    else:
        bodies = [judged.reply.exchange.body]
    told = {body["model"] for body in bodies if isinstance(body, dict) and is_text(body.get("model"))}
    if not told:
        return None
    other = next((name for name in sorted(told) if not _same_model(judged.requested_model, name)), None)
    return wrong(f"{judged.requested_model!r} was asked, {other!r:.80} answered" if other else "", certain=False)


def _same_model(asked: str, told: str) -> bool:
    """Whether a served name may be what was asked: a dated version, a path's last part, another case, a tag."""
    one, two = (name.lower().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] for name in (asked, told))
    return one.startswith(two) or two.startswith(one) or one.split(":")[0] == two.split(":")[0]


def _call_id(judged: Judged) -> Found:
    if not judged.reply.calls:
        return None
    odd = next((call.id for call in judged.reply.calls if not is_text(call.id)), EVERY)
    return wrong("" if odd is EVERY else f"a call's id is {odd!r:.80}")


EVERY = object()


def _call_type(judged: Judged) -> Found:
    if not judged.reply.calls:
        return None
    kind = "function" if judged.api == "chat" else "function_call"
    odd = next((call for call in judged.reply.calls if call.kind != kind), None)
    return wrong(f"a call's type is {odd.kind!r:.40}, not {kind!r}" if odd else "")


JUDGES: RowJudges = {
    "answers": _replies,
    "message_form": _message_form,
    "served_model": _served_model,
    "call_id": _call_id,
    "call_type": _call_type,
    "item_ids": _item_ids,
    "item_status": _item_status,
}
