"""Rules about an answer as an object: its fields by the reference, and the streams of all APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.extensions.wire.chat import choices_of, function_of
from pytest_bfcl.extensions.wire.replies import DONE, Exchange, is_count, is_text, objects_in
from pytest_bfcl.extensions.wire.row import Finding, Found, Judged, RowJudge, RowJudges, of_calls, readable, wrong
from pytest_bfcl.json_types import Fields


def is_time(value: object) -> bool:
    """Seconds since 1970."""
    return is_count(value) or isinstance(value, float)


def odd_fields(what: str, body: Fields, **fields: object) -> Iterator[str]:
    """The invalid fields of an object; ``fields``: the value of each, or its evidence."""
    for name, right in fields.items():
        found = body.get(name)
        if callable(right):
            if not right(found):
                yield f"{what}{name} is missing or wrong: {found!r:.80}"
        elif found != right:
            yield f"{what}{name} is {found!r:.80}, not {right!r}"


def first_odd(said: Callable[[Any], Iterator[str]], given: Any, proof: bytes = b"") -> list[Finding]:
    """The first fault."""
    return wrong(next(said(given), None), proof)


def of_events(said: Callable[[list[Any]], Iterator[str]]) -> RowJudge:
    """A rule about the typed events of a stream: ``said`` gives their faults."""

    @readable
    def judge(judged: Judged) -> Found:
        exchange = judged.reply.exchange
        found = list(exchange.objects(typed=True))
        return first_odd(said, found, exchange.received[:4000]) if found else None

    return judge


def event_stream(exchange: Exchange, *, done: bool = True) -> list[Finding]:
    """Why it is no event stream; ``done``: of OpenAI's APIs; others have types in their data and no ``[DONE]``."""
    if exchange.kind != "text/event-stream":
        return wrong(f"the content type is {exchange.content_type!r:.80}, not text/event-stream")
    for event in exchange.events:
        if not event.ended:
            return wrong("the last event has no empty line at its end", event.raw)
        data = event.parsed
        if event.data.strip() == DONE:
            if not done:
                return wrong(f"the stream has {DONE}, which clients of this API do not know", event.raw)
        elif not isinstance(data, dict) or not (done or is_text(data.get("type"))):
            return wrong(f"an event's data is no JSON object{'' if done else ' with a type'}", event.raw)
    return []


def ends_with_done(exchange: Exchange) -> list[Finding]:
    """A stream that does not end with ``[DONE]``, or has two."""
    datas = [event.data.strip() for event in exchange.events]
    right = datas.count(DONE) == 1 and datas[-1] == DONE
    return wrong("" if right else f"the stream does not end with {DONE}", exchange.received[-200:])


def json_answer(exchange: Exchange) -> list[Finding]:
    """An answer without the content type of JSON."""
    said = "" if exchange.kind == "application/json" else f"the content type is {exchange.kind!r:.80}"
    return wrong(said, exchange.kind.encode())


def _replies(judged: Judged) -> Found:
    return wrong(judged.reply.problem) or json_answer(judged.reply.exchange)


@readable
def _message_form(judged: Judged) -> Found:
    body = judged.reply.exchange.body
    if not isinstance(body, dict):
        return None
    return first_odd(_chat_fields if judged.api == "chat" else response_fields, body)


def _chat_fields(body: Fields) -> Iterator[str]:
    yield from odd_fields("", body, id=is_text, created=is_time, model=is_text, object="chat.completion")
    for position, choice in enumerate(choices_of(dict(body))):
        if not is_count(choice.get("index")) or choice["index"] != position:
            yield f"choice {position} has the index {choice.get('index')!r:.40}"
        message = choice.get("message")
        if isinstance(message, dict):
            yield from _message_fields(message)


def _message_fields(message: Fields) -> Iterator[str]:
    yield from odd_fields("the message's ", message, role="assistant")
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
    """The missing parts of a response object."""
    yield from odd_fields("", body, id=is_text, created_at=is_time, model=is_text, object="response")
    if body.get("status") == "completed" and body.get("incomplete_details") is not None:
        yield "status is completed, and incomplete_details says otherwise"
    for item in objects_in(body.get("output")):
        if item.get("type") == "message":
            yield from odd_fields("an output message's ", item, role="assistant")
            if not isinstance(item.get("content"), list) or not all(map(_is_part, item["content"])):
                yield "an output message's content is no list of output_text parts"


def _is_part(part: object) -> bool:
    if not isinstance(part, dict):
        return False
    return isinstance(part.get({"output_text": "text", "refusal": "refusal"}.get(str(part.get("type")), "")), str)


def final(judged: Judged) -> Fields:
    """The response object of an answer, streamed or not; empty without one."""
    exchange = judged.reply.exchange
    if not judged.cell.streamed:
        return exchange.body if isinstance(exchange.body, dict) else {}
    ended = [event.get("response") for event in exchange.objects(typed=True)]
    return next((body for body in reversed(ended) if isinstance(body, dict)), {})


def _item_ids(judged: Judged) -> Found:
    items = objects_in(final(judged).get("output"))
    if not items:
        return None
    ids = [item.get("id") for item in items]
    odd = next((item for item in items if not is_text(item.get("id"))), None)
    if odd is not None:
        return wrong(f"an item of type {odd.get('type')!r:.40} has the id {odd.get('id')!r:.40}")
    return wrong(f"two items have one id: {ids[:4]}" if len(set(ids)) < len(ids) else "")


def _item_status(judged: Judged) -> Found:
    body = final(judged)
    items = [each for each in objects_in(body.get("output")) if each.get("type") in ("message", "function_call")]
    if not items or body.get("status") != "completed":
        return None
    odd = next((item for item in items if item.get("status") != "completed"), None)
    return wrong(
        f"the response is completed, a {odd.get('type')} in it has the status {odd.get('status')!r:.40}" if odd else ""
    )


@readable
def _served_model(judged: Judged) -> Found:
    streamed = judged.api == "chat" and judged.cell.streamed
    bodies = list(judged.reply.exchange.objects()) if streamed else [final(judged)]
    told = {body["model"] for body in bodies if is_text(body.get("model"))}
    if not told:
        return None
    other = next((name for name in sorted(told) if not _same_model(judged.requested_model, name)), None)
    return wrong(f"{judged.requested_model!r} was asked, {other!r:.80} answered" if other else "", certain=False)


def _same_model(asked: str, told: str) -> bool:
    """Whether a served name may be the requested one: a dated version, a path's last part, another case, a tag."""
    one, two = (name.lower().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] for name in (asked, told))
    return one.startswith(two) or two.startswith(one) or one.split(":")[0] == two.split(":")[0]


@of_calls
def _call_id(judged: Judged) -> Found:
    odd = [call.id for call in judged.reply.calls if not is_text(call.id)]
    return wrong(f"a call's id is {odd[0]!r:.80}" if odd else "")


@of_calls
def _call_type(judged: Judged) -> Found:
    kind = "function" if judged.api == "chat" else "function_call"
    odd = [call.kind for call in judged.reply.calls if call.kind != kind]
    return wrong(f"a call's type is {odd[0]!r:.40}, not {kind!r}" if odd else "")


JUDGES: RowJudges = {
    "answers": _replies,
    "message_form": _message_form,
    "served_model": _served_model,
    "call_id": _call_id,
    "call_type": _call_type,
    "item_ids": _item_ids,
    "item_status": _item_status,
}
