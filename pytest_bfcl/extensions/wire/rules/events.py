"""The Responses API streamed: items announced, filled and finished, and the same answer at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.responses import ENDS, Json, calls_of
from pytest_bfcl.extensions.wire.row import Found, RowJudges, wrong
from pytest_bfcl.extensions.wire.rules.messages import is_text, response_fields

Facts = Callable[[list[Json]], str | None]


def event_rule(facts: Facts) -> Callable[[Judged], Found]:
    """A rule about the events of a stream."""

    def judge(judged: Judged) -> Found:
        found = list(judged.reply.exchange.objects(typed=True))
        return wrong(facts(found)) if found else None

    return judge


def _names(judged: Judged) -> Found:
    for event in judged.reply.exchange.events:
        kind = event.parsed.get("type") if isinstance(event.parsed, dict) else None
        if kind is not None and event.name != kind:
            return wrong(f"the line event: says {event.name!r:.80}, the data {kind!r:.80}", event.raw)
    return ()


def _sequence(found: list[Json]) -> str | None:
    numbers = [event.get("sequence_number") for event in found]
    if numbers != list(range(len(numbers))):
        odd = next((n for n, number in enumerate(numbers) if number != n), 0)
        return f"event {odd} has the sequence number {numbers[odd]!r}"
    return None


def _begin(found: list[Json]) -> str | None:
    kinds = [event["type"] for event in found]
    if kinds[0] != "response.created":
        return f"the first event is {kinds[0]}, not response.created"
    if sum(kind in ENDS for kind in kinds) != 1 or kinds[-1] not in ENDS:
        return f"the last event is {kinds[-1]}"
    return None


def _response(found: list[Json]) -> str | None:
    """The response object in the first and the last event."""
    bodies = [event["response"] for event in found if isinstance(event.get("response"), dict)]
    if not bodies:
        return None
    ids = {repr(body.get("id")) for body in bodies}
    if len(ids) != 1:
        return f"events of one answer tell the response ids {', '.join(sorted(ids)[:3])}"
    return next(response_fields(bodies[-1]), None)


def _items(found: list[Json]) -> str | None:
    """Every item: added, then its deltas, then done, each index once and in order."""
    open_: set[Any] = set()
    seen: list[Any] = []
    for event in found:
        index, kind = event.get("output_index"), event["type"]
        if kind == "response.output_item.added":
            if index in seen:
                return f"a second item has the output_index {index}"
            seen.append(index)
            open_.add(index)
        elif index is not None and index not in open_:
            return f"{kind} for output_index {index!r}, which is not open"
        if kind == "response.output_item.done":
            open_.discard(index)
    if open_ or seen != list(range(len(seen))):
        return f"items have the indexes {seen}; not done: {sorted(map(str, open_))}"
    return None


def _item_ids(found: list[Json]) -> str | None:
    ids: dict[Any, Any] = {}
    for event in found:
        index, item = event.get("output_index"), event.get("item")
        told_id = item.get("id") if isinstance(item, dict) else event.get("item_id")
        if index is None:
            continue
        if not is_text(told_id):
            return f"{event['type']} tells no item id"
        if ids.setdefault(index, told_id) != told_id:
            return f"item {index} has the ids {ids[index]!r:.80} and {told_id!r:.80}"
    return "two items have one id" if len(set(ids.values())) != len(ids) else None


def _call_ids(found: list[Json]) -> str | None:
    ids: dict[Any, Any] = {}
    for event in found:
        item = event.get("item")
        if isinstance(item, dict) and item.get("type") == "function_call":
            call_id = item.get("call_id")
            if not is_text(call_id):
                return f"a call's call_id is {call_id!r:.80}"
            if ids.setdefault(event.get("output_index"), call_id) != call_id:
                return f"a call has the call_id {ids[event.get('output_index')]!r:.80} and then {call_id!r:.80}"
    return None


def _joined(what: str, value: str) -> Facts:
    """The deltas of a kind join to what its done event says, once for each place."""

    def facts(found: list[Json]) -> str | None:
        joined: dict[Any, str] = {}
        done: set[Any] = set()
        for event in found:
            place, kind = (event.get("output_index"), event.get("content_index")), event["type"]
            if kind == f"response.{what}.delta":
                joined[place] = joined.get(place, "") + str(event.get("delta"))
            elif kind == f"response.{what}.done":
                done.add(place)
                if event.get(value) != joined.get(place, ""):
                    return f"the deltas join to {joined.get(place, '')!r:.80}, done says {event.get(value)!r:.80}"
        return None if done >= set(joined) else f"{len(joined)} items have {what} deltas, {len(done)} are done"

    return facts


def _arguments(found: list[Json]) -> str | None:
    said = _joined("function_call_arguments", "arguments")(found)
    done = [event for event in found if event["type"] == "response.function_call_arguments.done"]
    calls = [e for e in found if e["type"] == "response.output_item.done" and (e.get("item") or {}).get("type") == CALL]
    return said or (None if len(done) == len(calls) else f"{len(calls)} calls are done, the arguments of {len(done)}")


CALL = "function_call"


def _text(found: list[Json]) -> str | None:
    if said := _joined("output_text", "text")(found):
        return said
    texts = {place(event) for event in found if event["type"] == "response.output_text.delta"}
    done = {place(event) for event in found if event["type"] == "response.output_text.done"}
    return None if texts <= done else "a text is streamed, and no response.output_text.done tells that it is whole"


def place(event: Json) -> tuple[Any, Any]:
    """Item and part that an event is about."""
    return event.get("output_index"), event.get("content_index")


def _parts(found: list[Json]) -> str | None:
    """Every text part: added before its first delta, done after its last, with the whole text."""
    open_: set[Any] = set()
    texts: dict[Any, str] = {}
    for event in found:
        kind, part = event["type"], event.get("part")
        if kind == "response.content_part.added":
            open_.add(place(event))
        elif kind == "response.output_text.delta":
            if place(event) not in open_:
                return "a text has deltas, and no response.content_part.added came before them"
            texts[place(event)] = texts.get(place(event), "") + str(event.get("delta"))
        elif kind == "response.content_part.done":
            open_.discard(place(event))
            text = part.get("text", "") if isinstance(part, dict) else None
            if isinstance(part, dict) and part.get("type") == "output_text" and text != texts.get(place(event), ""):
                return f"a part is done with the text {text!r:.80}, its deltas join to another"
    return "a part is added, and no response.content_part.done follows" if open_ else None


def _completed(found: list[Json]) -> str | None:
    items = [e["item"] for e in found if e["type"] == "response.output_item.done" and isinstance(e.get("item"), dict)]
    last = found[-1].get("response")
    ended = last.get("output") or [] if isinstance(last, dict) else []
    if calls_of(items) != calls_of(ended):
        return f"done items hold {len(calls_of(items))} calls, the final response {len(calls_of(ended))} or others"
    kinds = [[item.get("type") for item in each if isinstance(item, dict)] for each in (items, ended)]
    return None if kinds[0] == kinds[1] else f"the items done are {kinds[0]}, those of the final response {kinds[1]}"


JUDGES: RowJudges = {
    "events_names": _names,
    "events_sequence": event_rule(_sequence),
    "events_begin": event_rule(_begin),
    "events_response": event_rule(_response),
    "events_items": event_rule(_items),
    "events_item_ids": event_rule(_item_ids),
    "events_call_ids": event_rule(_call_ids),
    "events_arguments": event_rule(_arguments),
    "events_parts": event_rule(_parts),
    "events_text": event_rule(_text),
    "events_completed": event_rule(_completed),
}
