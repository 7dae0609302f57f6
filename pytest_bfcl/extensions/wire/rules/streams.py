"""Chat completions streamed: the events, the chunks in them, and the deltas of calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.chat import Json, call_deltas, choices_of, deltas_of, function_of
from pytest_bfcl.extensions.wire.exchange import DONE, loads
from pytest_bfcl.extensions.wire.row import Found, RowJudges, wrong
from pytest_bfcl.extensions.wire.rules.messages import is_count, is_text, is_time


def _events(judged: Judged) -> Found:
    if judged.reply.problem:
        return wrong(judged.reply.problem)
    exchange = judged.reply.exchange
    if not exchange.streamed:
        return wrong(f"the content type is {exchange.content_type!r:.80}, not text/event-stream")
    for event in exchange.events:
        if not event.ended:
            return wrong("the last event has no empty line at its end", event.raw)
        if event.data.strip() != DONE and not isinstance(loads(event.data), dict):
            return wrong("an event's data is no JSON object", event.raw)
    datas = [event.data.strip() for event in exchange.events]
    end = exchange.received[-200:]
    if judged.api == "chat":
        return wrong(
            "" if datas.count(DONE) == 1 and datas[-1] == DONE else f"the stream does not end with {DONE}", end
        )
    last = exchange.events[-1].parsed if exchange.events else None
    ended = DONE in datas or (last or {}).get("type") in ("response.completed", "response.incomplete")
    return wrong("" if ended else "the stream does not end with response.completed", end)


def _chunk_form(judged: Judged) -> Found:
    found = [chunk for chunk in judged.reply.exchange.objects() if not _preface(chunk)]
    if not found:
        return None
    ids = {repr(chunk.get("id")) for chunk in found}
    if len(ids) != 1 or not is_text(found[0].get("id")):
        return wrong(f"chunks of one answer have the ids {', '.join(sorted(ids)[:3])}")
    for chunk in found:
        if said := next(_fields(chunk), None):
            return wrong(said, repr(chunk).encode()[:400])
    roles = [delta["role"] for chunk in found for c in choices_of(chunk) if (delta := _delta(c)).get("role")]
    return wrong("" if roles and set(roles) == {"assistant"} else f"the role is not told as assistant: {roles[:3]}")


def _preface(chunk: Json) -> bool:
    """Whether a chunk is no part of the answer: gateways tell there what filters made of the prompt."""
    return not chunk.get("choices") and not chunk.get("usage") and not chunk.get("id")


def _fields(chunk: Json) -> Iterator[str]:
    if chunk.get("object") != "chat.completion.chunk":
        yield f"a chunk's object is {chunk.get('object')!r:.40}, not chat.completion.chunk"
    for name, fits in (("created", is_time), ("model", is_text)):
        if not fits(chunk.get(name)):
            yield f"a chunk's {name} is missing or wrong: {chunk.get(name)!r:.80}"
    for choice in choices_of(chunk):
        if not is_count(choice.get("index")):
            yield f"a chunk's choice has the index {choice.get('index')!r:.40}"
        if not isinstance(choice.get("delta"), dict):
            yield "a chunk's choice has no delta"


def _delta(choice: Json) -> Json:
    found = choice.get("delta")
    return found if isinstance(found, dict) else {}


def _finish_last(judged: Judged) -> Found:
    finishes, found = 0, list(judged.reply.exchange.objects())
    for chunk in found:
        for choice in choices_of(chunk):
            if finishes and (_delta(choice).get("content") or deltas_of(choice)):
                return wrong("text or a call comes after the finish reason", repr(chunk).encode())
            finishes += choice.get("finish_reason") is not None
    return wrong("" if finishes == 1 else f"the stream has {finishes} finish reasons") if found else None


Deltas = list[tuple[int, Json]]


def deltas(facts: Callable[[Deltas], str | None]) -> Callable[[Judged], Found]:
    """A rule about the call deltas of a stream: ``facts`` says what is wrong with them."""

    def judge(judged: Judged) -> Found:
        found = list(call_deltas(judged.reply.exchange))
        return wrong(said, _proof(judged, found)) if found and (said := facts(found)) else () if found else None

    return judge


def _proof(judged: Judged, found: Deltas) -> bytes:
    shown = {number for number, _ in found[:6]}
    events = [event for event in judged.reply.exchange.events if event.data.strip() != DONE]
    return b"".join(event.raw for number, event in enumerate(events) if number in shown)[:4000]


def _index(found: Deltas) -> str | None:
    indexes = [delta.get("index") for _, delta in found]
    if any(not is_count(index) for index in indexes):
        return f"a call delta has the index {next(i for i in indexes if not is_count(i))!r}"
    if list(dict.fromkeys(indexes)) != list(range(len(set(indexes)))):
        return f"the indexes begin so: {list(dict.fromkeys(indexes))}, not 0, 1, …"
    begun: set[Any] = set()
    for index, (_, delta) in zip(indexes, found, strict=True):
        if function_of(delta).get("name") and delta.get("id") and index in begun:
            return f"a new call begins with the index {index} of an older one"
        begun.add(index)
    return None


def _once(what: str, take: Callable[[Json], Any]) -> Callable[[Judged], Found]:
    """The field is in the first delta of each call and in no other."""

    def facts(found: Deltas) -> str | None:
        grouped: dict[Any, list[Json]] = defaultdict(list)
        for _, delta in found:
            grouped[delta.get("index")].append(delta)
        for index, group in grouped.items():
            told = [take(delta) for delta in group]
            if not isinstance(told[0], str) or not told[0]:
                return f"the first delta of call {index} has no {what}: {told[0]!r}"
            others = [each for each in told[1:] if each]
            if others:
                return f"call {index} tells its {what} {1 + len(others)} times: {[told[0], *others][:3]}"
        return None

    return deltas(facts)


def _pieces(found: Deltas) -> str | None:
    pieces = [piece for _, delta in found if (piece := function_of(delta).get("arguments")) is not None]
    odd = next((piece for piece in pieces if not isinstance(piece, str)), None)
    return None if odd is None else f"a delta's arguments are no text: {ascii(odd)[:80]}"


def _usage_last(judged: Judged) -> Found:
    found = list(judged.reply.exchange.objects())
    carrying = [number for number, chunk in enumerate(found) if chunk.get("usage") is not None]
    if not carrying:  # another rule's matter
        return None
    if len(carrying) != 1 or carrying[0] != len(found) - 1:
        return wrong(f"usage stands in {len(carrying)} of {len(found)} chunks, not in the last one alone")
    empty = found[-1].get("choices") == []
    return wrong("" if empty else "the chunk with the usage has choices that are not empty", repr(found[-1]).encode())


JUDGES: RowJudges = {
    "stream_events": _events,
    "chunk_form": _chunk_form,
    "finish_last": _finish_last,
    "delta_index": deltas(_index),
    "delta_id": _once("id", lambda delta: delta.get("id")),
    "delta_type": _once("type", lambda delta: delta.get("type")),
    "delta_name": _once("name", lambda delta: function_of(delta).get("name")),
    "delta_arguments": deltas(_pieces),
    "usage_last": _usage_last,
}
