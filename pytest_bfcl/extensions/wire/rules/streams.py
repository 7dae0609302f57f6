"""Rules about OpenAI's streams: chunks and deltas of chat completions, items and events of Responses.

Chat: the events, the chunks in them, the deltas of calls. Responses: items announced, filled and finished, and the same
answer at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from pytest_bfcl.extensions.wire.chat import call_deltas, choices_of, deltas_of, function_of
from pytest_bfcl.extensions.wire.replies import DONE, is_count, is_text, place_in
from pytest_bfcl.extensions.wire.responses import ENDS, calls_of
from pytest_bfcl.extensions.wire.row import Found, Judged, RowJudge, RowJudges, wrong
from pytest_bfcl.extensions.wire.rules.messages import (
    ends_with_done,
    event_stream,
    first_odd,
    is_time,
    odd_fields,
    of_events,
    response_fields,
)
from pytest_bfcl.json_types import Parsed


def _events(judged: Judged) -> Found:
    exchange = judged.reply.exchange
    if odd := wrong(judged.reply.problem) or event_stream(exchange):
        return odd
    if judged.api == "chat":
        return ends_with_done(exchange)
    last = (exchange.events[-1].parsed if exchange.events else None) or {}
    ended = any(event.data.strip() == DONE for event in exchange.events) or last.get("type") in ENDS[:2]
    return wrong("" if ended else f"the stream does not end with {ENDS[0]}", exchange.received[-200:])


# -- chat completions ------------------------------------------------------------------------------------------------


def _chunk_form(judged: Judged) -> Found:
    found = [chunk for chunk in judged.reply.exchange.objects() if not _preface(chunk)]
    if not found:
        return None
    ids = {repr(chunk.get("id")) for chunk in found}
    if len(ids) != 1 or not is_text(found[0].get("id")):
        return wrong(f"chunks of one answer have the ids {', '.join(sorted(ids)[:3])}")
    for chunk in found:
        if odd := first_odd(_fields, chunk, proof=repr(chunk).encode()[:400]):
            return odd
    roles = [delta["role"] for chunk in found for c in choices_of(chunk) if (delta := _delta(c)).get("role")]
    told = bool(roles) and all(role == "assistant" for role in roles)
    return wrong("" if told else f"the role is not told as assistant: {roles[:3]}")


def _preface(chunk: Parsed) -> bool:
    """Whether a chunk is no part of the answer: gateways report prompt filters in such chunks."""
    return not chunk.get("choices") and not chunk.get("usage") and not chunk.get("id")


def _fields(chunk: Parsed) -> Iterator[str]:
    yield from odd_fields("a chunk's ", chunk, object="chat.completion.chunk", created=is_time, model=is_text)
    for choice in choices_of(chunk):
        if not is_count(choice.get("index")):
            yield f"a chunk's choice has the index {choice.get('index')!r:.40}"
        if not isinstance(choice.get("delta"), dict):
            yield "a chunk's choice has no delta"


def _delta(choice: Parsed) -> Parsed:
    found = choice.get("delta")
    return found if isinstance(found, dict) else {}


def finish_last(judged: Judged) -> Found:
    """One finish reason, and neither text nor calls after it."""
    finishes, found = 0, list(judged.reply.exchange.objects())
    for chunk in found:
        for choice in choices_of(chunk):
            if finishes and (_delta(choice).get("content") or choice.get("text") or deltas_of(choice)):
                return wrong("text or a call comes after the finish reason", repr(chunk).encode())
            finishes += choice.get("finish_reason") is not None
    return wrong("" if finishes == 1 else f"the stream has {finishes} finish reasons") if found else None


Deltas = list[tuple[int, Parsed]]


def _of_deltas(said: Callable[[Deltas], Iterator[str]]) -> RowJudge:
    """A rule about the call deltas of a stream: ``said`` gives their faults."""

    def judge(judged: Judged) -> Found:
        exchange = judged.reply.exchange
        found = list(call_deltas(exchange))
        if not found:
            return None
        shown = {number for number, _ in found[:6]}
        events = [event for event in exchange.events if event.data.strip() != DONE]
        proof = b"".join(event.raw for number, event in enumerate(events) if number in shown)
        return wrong(next(said(found), None), proof[:4000])

    return judge


def _index(found: Deltas) -> Iterator[str]:
    indexes = [delta.get("index") for _, delta in found]
    yield from (f"a call delta has the index {index!r}" for index in indexes if not is_count(index))
    if list(dict.fromkeys(indexes)) != list(range(len(set(indexes)))):
        yield f"the indexes begin so: {list(dict.fromkeys(indexes))}, not 0, 1, …"
    begun: set[Any] = set()
    for index, (_, delta) in zip(indexes, found, strict=True):
        if function_of(delta).get("name") and delta.get("id") and index in begun:
            yield f"a new call begins with the index {index} of an older one"
        begun.add(index)


def _once(what: str, take: Callable[[Parsed], Any]) -> RowJudge:
    """The field is in the first delta of each call and in no other."""

    def said(found: Deltas) -> Iterator[str]:
        told: dict[Any, list[Any]] = defaultdict(list)
        for _, delta in found:
            told[place_in(delta)].append(take(delta))
        for index, (first, *later) in told.items():
            if not is_text(first):
                yield f"the first delta of call {index} has no {what}: {first!r}"
            if others := [each for each in later if each]:
                yield f"call {index} tells its {what} {1 + len(others)} times: {[first, *others][:3]}"

    return _of_deltas(said)


def _pieces(found: Deltas) -> Iterator[str]:
    for _, delta in found:
        piece = function_of(delta).get("arguments")
        if not isinstance(piece, str | None):
            yield f"a delta's arguments are no text: {ascii(piece)[:80]}"


def _usage_last(judged: Judged) -> Found:
    found = list(judged.reply.exchange.objects())
    carrying = [number for number, chunk in enumerate(found) if chunk.get("usage") is not None]
    if not carrying:  # another rule's matter
        return None
    if len(carrying) != 1 or carrying[0] != len(found) - 1:
        return wrong(f"usage stands in {len(carrying)} of {len(found)} chunks, not in the last one alone")
    empty = found[-1].get("choices") == []
    return wrong("" if empty else "the chunk with the usage has choices that are not empty", repr(found[-1]).encode())


# -- Responses -------------------------------------------------------------------------------------------------------

Facts = Callable[[list[Parsed]], Iterator[str]]
ADDED, DONE_ITEM = "response.output_item.added", "response.output_item.done"


def named_events(judged: Judged) -> Found:
    """The line ``event:`` of every event is the type in its data."""
    for event in judged.reply.exchange.events:
        kind = event.parsed.get("type") if isinstance(event.parsed, dict) else None
        if kind is not None and event.name != kind:
            return wrong(f"the line event: says {event.name!r:.80}, the data {kind!r:.80}", event.raw)
    return ()


def _sequence(found: list[Parsed]) -> Iterator[str]:
    for n, event in enumerate(found):
        if event.get("sequence_number") != n:
            yield f"event {n} has the sequence number {event.get('sequence_number')!r}"


def _begin(found: list[Parsed]) -> Iterator[str]:
    kinds = [event["type"] for event in found]
    if kinds[0] != "response.created":
        yield f"the first event is {kinds[0]}, not response.created"
    if sum(kind in ENDS for kind in kinds) != 1 or kinds[-1] not in ENDS:
        yield f"the last event is {kinds[-1]}"


def _response(found: list[Parsed]) -> Iterator[str]:
    """The response object in the first and the last event."""
    bodies = [event["response"] for event in found if isinstance(event.get("response"), dict)]
    ids = {repr(body.get("id")) for body in bodies}
    if len(ids) > 1:
        yield f"events of one answer tell the response ids {', '.join(sorted(ids)[:3])}"
    for body in bodies[-1:]:
        yield from response_fields(body)


def _items(found: list[Parsed]) -> Iterator[str]:
    """Every item: added, then its deltas, then done, each index once and in order."""
    open_: set[Any] = set()
    seen: list[Any] = []
    for event in found:
        index, kind = place_in(event, "output_index"), event["type"]
        if kind == ADDED:
            if index in seen:
                yield f"a second item has the output_index {index}"
            seen.append(index)
            open_.add(index)
        elif index is not None and index not in open_:
            yield f"{kind} for output_index {index!r}, which is not open"
        if kind == DONE_ITEM:
            open_.discard(index)
    if open_ or seen != list(range(len(seen))):
        yield f"items have the indexes {seen}; not done: {sorted(map(str, open_))}"


def _item_ids(found: list[Parsed]) -> Iterator[str]:
    ids: dict[Any, Any] = {}
    for event in found:
        index, item = place_in(event, "output_index"), event.get("item")
        told_id = item.get("id") if isinstance(item, dict) else event.get("item_id")
        if index is None:
            continue
        if not is_text(told_id):
            yield f"{event['type']} tells no item id"
        if ids.setdefault(index, told_id) != told_id:
            yield f"item {index} has the ids {ids[index]!r:.80} and {told_id!r:.80}"
    if len(set(ids.values())) != len(ids):
        yield "two items have one id"


def _call_ids(found: list[Parsed]) -> Iterator[str]:
    ids: dict[Any, Any] = {}
    for event in found:
        item, index = event.get("item"), place_in(event, "output_index")
        if isinstance(item, dict) and item.get("type") == "function_call":
            call_id = item.get("call_id")
            if not is_text(call_id):
                yield f"a call's call_id is {call_id!r:.80}"
            if ids.setdefault(index, call_id) != call_id:
                yield f"a call has the call_id {ids[index]!r:.80} and then {call_id!r:.80}"


def _place(event: Parsed) -> tuple[Any, Any]:
    """Item and part of an event."""
    return place_in(event, "output_index"), place_in(event, "content_index")


def _joined(what: str, value: str) -> Facts:
    """The deltas of a kind join to the text of their done event, once for each place."""

    def said(found: list[Parsed]) -> Iterator[str]:
        joined: dict[Any, str] = {}
        done: set[Any] = set()
        for event in found:
            place, kind = _place(event), event["type"]
            if kind == f"response.{what}.delta":
                joined[place] = joined.get(place, "") + str(event.get("delta"))
            elif kind == f"response.{what}.done":
                done.add(place)
                if event.get(value) != joined.get(place, ""):
                    yield f"the deltas join to {joined.get(place, '')!r:.80}, done says {event.get(value)!r:.80}"
        if not done >= set(joined):
            yield f"{len(joined)} items have {what} deltas, {len(done)} are done"

    return said


def _arguments(found: list[Parsed]) -> Iterator[str]:
    yield from _joined("function_call_arguments", "arguments")(found)
    done = sum(event["type"] == "response.function_call_arguments.done" for event in found)
    calls = len(calls_of(_done_items(found)))
    if done != calls:
        yield f"{calls} calls are done, the arguments of {done}"


def _done_items(found: list[Parsed]) -> list[Parsed]:
    return [each["item"] for each in found if each["type"] == DONE_ITEM and isinstance(each.get("item"), dict)]


def _parts(found: list[Parsed]) -> Iterator[str]:
    """Every text part: added before its first delta, done after its last, with the whole text."""
    open_: set[Any] = set()
    texts: dict[Any, str] = {}
    for event in found:
        kind, part, place = event["type"], event.get("part"), _place(event)
        if kind == "response.content_part.added":
            open_.add(place)
        elif kind == "response.output_text.delta":
            if place not in open_:
                yield "a text has deltas, and no response.content_part.added came before them"
            texts[place] = texts.get(place, "") + str(event.get("delta"))
        elif kind == "response.content_part.done":
            open_.discard(place)
            whole = part.get("text", "") if isinstance(part, dict) and part.get("type") == "output_text" else None
            if whole is not None and whole != texts.get(place, ""):
                yield f"a part is done with the text {whole!r:.80}, its deltas join to another"
    if open_:
        yield "a part is added, and no response.content_part.done follows"


def _completed(found: list[Parsed]) -> Iterator[str]:
    items, last = _done_items(found), found[-1].get("response")
    ended = last.get("output") or [] if isinstance(last, dict) else []
    if calls_of(items) != calls_of(ended):
        yield f"done items hold {len(calls_of(items))} calls, the final response {len(calls_of(ended))} or others"
    kinds = [[item.get("type") for item in each if isinstance(item, dict)] for each in (items, ended)]
    if kinds[0] != kinds[1]:
        yield f"the items done are {kinds[0]}, those of the final response {kinds[1]}"


JUDGES: RowJudges = {
    "stream_events": _events,
    "chunk_form": _chunk_form,
    "finish_last": finish_last,
    "delta_index": _of_deltas(_index),
    "delta_id": _once("id", lambda delta: delta.get("id")),
    "delta_type": _once("type", lambda delta: delta.get("type")),
    "delta_name": _once("name", lambda delta: function_of(delta).get("name")),
    "delta_arguments": _of_deltas(_pieces),
    "usage_last": _usage_last,
    "events_names": named_events,
    "events_sequence": of_events(_sequence),
    "events_begin": of_events(_begin),
    "events_response": of_events(_response),
    "events_items": of_events(_items),
    "events_item_ids": of_events(_item_ids),
    "events_call_ids": of_events(_call_ids),
    "events_arguments": of_events(_arguments),
    "events_parts": of_events(_parts),
    "events_text": of_events(_joined("output_text", "text")),
    "events_completed": of_events(_completed),
}
