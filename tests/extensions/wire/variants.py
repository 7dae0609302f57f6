"""Broken servers: the reference with one fault each, and the checks that are meant to find it."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_bfcl.extensions.wire.check import Api
from tests.extensions.wire import reference
from tests.extensions.wire.reference import Heard, Json, Reference, Refusal, Said

Stages = dict[str, Callable[..., Any]]


@dataclass(frozen=True)
class Variant:
    """One fault. ``fails``: exactly the checks that break; ``api``: where the fault is possible."""

    name: str
    fails: frozenset[str]
    stages: Stages
    api: Api = "chat"
    slots: int = 64
    size: int = 3
    options: Json = field(default_factory=dict)

    def server(self) -> Reference:
        return Reference(size=self.size, slots=self.slots, **self.options, **self.stages)


def fails(*names: str) -> frozenset[str]:
    return frozenset(names)


# -- where a fault sits ----------------------------------------------------------------------------------------------


def in_message(change: Callable[[Json], None]) -> Stages:
    """The unstreamed message."""

    def whole(body: Json, heard: Heard) -> Json:
        for choice in body["choices"]:
            change(choice["message"])
        return body

    return {"whole": whole}


def in_whole(change: Callable[[Json], Any]) -> Stages:
    """The unstreamed body."""
    return {"whole": lambda body, heard: change(body) or body}


def in_calls(change: Callable[[Json], None]) -> Stages:
    """Every unstreamed call."""
    return in_message(lambda message: [change(call) for call in message.get("tool_calls", ())] and None)


def in_items(change: Callable[[Json], None], kind: str = "function_call") -> Stages:
    """Every unstreamed output item of a kind."""
    return in_whole(lambda body: [change(item) for item in body["output"] if item["type"] == kind] and None)


def in_chunks(change: Callable[[list[Json]], Iterable[Json]]) -> Stages:
    """The events of a stream."""
    return {"chunks": lambda events, heard: iter(list(change(list(events))))}


def in_deltas(change: Callable[[Json, Json], Any]) -> Stages:
    """Every call delta of a stream, with its chunk."""

    def chunks(events: list[Json]) -> list[Json]:
        for event in events:
            for choice in event["choices"]:
                for delta in choice["delta"].get("tool_calls", ()):
                    change(delta, event)
        return events

    return in_chunks(chunks)


def in_events(kind: str, change: Callable[[Json], Any]) -> Stages:
    """Every Responses event of a kind."""
    return in_chunks(lambda events: [(change(e), e)[1] if e["type"] == kind else e for e in events])


def in_speech(change: Callable[[Said, Heard], Any], *, form: bool | None = None) -> Stages:
    """What the model says, in both forms or in one (``form``: streamed)."""

    def think(heard: Heard) -> Said:
        said = reference.think(heard)
        if form is None or heard.stream == form:
            change(said, heard)
        return said

    return {"think": think}


def in_arguments(change: Callable[[str], str], *, form: bool | None = None) -> Stages:
    """Every call's arguments text."""

    def speech(said: Said, heard: Heard) -> None:
        said.calls = [(name, change(arguments)) for name, arguments in said.calls]

    return in_speech(speech, form=form)


def in_values(change: Callable[[Any], Any], *, form: bool | None = None) -> Stages:
    """Every single value inside the arguments."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(part) for key, part in value.items()}
        return [walk(part) for part in value] if isinstance(value, list) else change(value)

    def text(arguments: str) -> str:
        return json.dumps(walk(json.loads(arguments)), ensure_ascii=False)

    return in_arguments(text, form=form)


def texts(change: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda value: change(value) if isinstance(value, str) else value


def in_hearing(change: Callable[[Heard], Any]) -> Stages:
    """The request as the server understands it."""

    def hear(api: str, body: Any) -> Heard:
        heard = reference.hear(api, body)
        change(heard)
        return heard

    return {"hear": hear}


def refusing(when: Callable[[Heard], bool], message: str = "this is not possible", status: int = 400) -> Stages:
    """A request that is right is refused."""

    def change(heard: Heard) -> None:
        if when(heard):
            raise Refusal(message, status)

    return in_hearing(change)


def told(words: str, status: int, message: str) -> Stages:
    """Refusals with these words are answered otherwise."""

    def refuse(refusal: Refusal) -> tuple[int, Json]:
        if words in refusal.message:
            return status, {"error": {"message": message}}
        return reference.refused(refusal)

    return {"refuse": refuse}


def accepting(words: str) -> Stages:
    """Requests that are wrong in this way are answered."""

    def hear(api: str, body: Any) -> Heard:
        try:
            return reference.hear(api, body)
        except Refusal as refusal:
            if words not in refusal.message:
                raise
            return Heard(api, [reference.Turn("user", "Say hello.")], [])

    return {"hear": hear}


def encoded(change: Callable[[Json, str], str]) -> Stages:
    """The text of every event."""
    return {"encode": change}


def swap_flying(server: Reference, said: Said) -> Said:
    """The latest answer that is in flight, whoever asked for it."""
    return replace(server.flying[-1], ids=[]) if len(server.flying) > 1 else said


def lose_under_load(server: Reference, said: Said) -> Said:
    """Nothing of another request, but calls get lost while many are in flight."""
    odd = sum(map(ord, str(said.calls))) % 2
    return Said(before="Busy.") if len(server.flying) > 8 and odd else said


def merged(said: Said, heard: Heard) -> None:
    """Calls of one answer become one."""
    if len(said.calls) > 1:
        said.calls = [(said.calls[0][0], "".join(arguments for _, arguments in said.calls))]


def hold_slot(server: Reference, finished: bool) -> None:
    if finished:
        server.slots.release()
    else:
        asyncio.get_running_loop().call_later(30.0, server.slots.release)


def drop(events: list[Json], wanted: Callable[[Json], bool], which: int) -> list[Json]:
    """The events without one of those wanted."""
    found = [number for number, event in enumerate(events) if wanted(event)]
    if not found:
        return events
    return [event for number, event in enumerate(events) if number != found[which]]


def has_arguments(event: Json) -> bool:
    return any(
        delta["function"].get("arguments")
        for choice in event["choices"]
        for delta in choice["delta"].get("tool_calls", ())
    )


def changing(value: str) -> Iterator[str]:
    return (f"{value}{number}" for number in range(10**6))


def set_in(*path: Any, value: Any) -> Callable[[Json], None]:
    """Sets a field by its path."""

    def change(body: Json) -> None:
        for part in path[:-1]:
            body = body[part]
        if value is None:
            body.pop(path[-1], None)
        else:
            body[path[-1]] = value

    return change


_COUNT = changing("chatcmpl-")
_CALLS = changing("call_x")


def _text_of_calls(said: Said) -> str:
    return "\n".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>' for name, text in said.calls
    )


def leave_in_text(said: Said, heard: Heard) -> None:
    said.before, said.calls = _text_of_calls(said) or said.before, []


def leak(said: Said, heard: Heard) -> None:
    if said.calls:
        said.before += _text_of_calls(said)


def spaced(events: list[Json]) -> list[Json]:
    for event in events:
        for choice in event["choices"]:
            for delta in choice["delta"].get("tool_calls", ()):
                if delta["function"].get("arguments"):
                    delta["function"]["arguments"] += " "
    return events


def split_utf8(event: Json, text: str) -> str:
    """Each delta's bytes decoded on their own, after being cut every 5 bytes."""
    return text


def cut_bytes(arguments: str) -> str:
    data = arguments.encode()
    return "".join(data[i : i + 5].decode("utf-8", "replace") for i in range(0, len(data), 5))


def halved(events: list[Json]) -> Iterator[Json]:
    """Surrogate pairs are cut in two deltas."""
    for event in events:
        calls = [d for c in event["choices"] for d in c["delta"].get("tool_calls", ())]
        piece = calls[0]["function"].get("arguments", "") if calls else ""
        at = next((n for n, c in enumerate(piece) if c > "\uffff"), None)
        if at is None:
            yield event
            continue
        units = piece[at].encode("utf-16-be")
        halves = [int.from_bytes(units[:2], "big"), int.from_bytes(units[2:], "big")]
        for part in (piece[:at] + chr(halves[0]), chr(halves[1]) + piece[at + 1 :]):
            copy = json.loads(json.dumps(event))
            copy["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = part
            yield copy


def after_finish(events: list[Json]) -> list[Json]:
    last = next(n for n, e in enumerate(events) if e["choices"] and e["choices"][0]["finish_reason"])
    if last and has_arguments(events[last - 1]):
        events[last - 1], events[last] = events[last], events[last - 1]
    return events


def reuse_index(events: list[Json]) -> list[Json]:
    for event in events:
        for choice in event["choices"]:
            for delta in choice["delta"].get("tool_calls", ()):
                delta["index"] = 0
    return events


def last_is_tool(heard: Heard) -> bool:
    return heard.turns[-1].role == "tool"


def by_position(heard: Heard) -> None:
    """Results are taken in the order they come."""
    results = [turn for turn in heard.turns if turn.role == "tool"]
    calls = [call for turn in heard.turns for call in turn.calls]
    if len(results) == len(calls):
        for turn, call in zip(results, calls, strict=True):
            turn.call_id = call[0]


def only_last_part(body: Any) -> Any:
    for message in (body.get("messages") or []) if isinstance(body, dict) else []:
        if isinstance(message.get("content"), list):
            message["content"] = message["content"][:1]
    return body


def clip_results(heard: Heard) -> None:
    for turn in heard.turns:
        if turn.role == "tool":
            turn.text = turn.text[:50_000]


def without_role(role: str, *, only_tools: bool = True) -> Callable[[Heard], None]:
    def change(heard: Heard) -> None:
        heard.turns = [turn for turn in heard.turns if turn.role != role] or heard.turns

    return change


def only_last_message(heard: Heard) -> None:
    if heard.turns[-1].role == "user":
        heard.turns = heard.turns[-1:]


def think_into_text(said: Said, heard: Heard) -> None:
    if said.reasoning:
        said.before, said.reasoning = f"<think>{said.reasoning}</think>{said.before}", ""


def repair(said: Said, heard: Heard, size: int) -> Said:
    said = reference.cut(said, heard, size)
    if said.finish == "length":
        said.calls = [(name, text if text.endswith("}") else text + '"}') for name, text in said.calls]
        said.finish = "calls"
    return said


def uncut(said: Said, heard: Heard, size: int) -> Said:
    return reference.cut(said, replace(heard, limit=None), size)


def no_stop(said: Said, heard: Heard, size: int) -> Said:
    return reference.cut(said, replace(heard, stop=[]), size)


def kept_stop(said: Said, heard: Heard, size: int) -> Said:
    said = reference.cut(said, heard, size)
    said.before += heard.stop[0] if heard.stop and not said.calls else ""
    return said


def stop_is_length(said: Said, heard: Heard, size: int) -> Said:
    said = reference.cut(said, heard, size)
    said.finish = "length" if heard.stop and not said.calls else said.finish
    return said


def numbered_twice(arguments: str) -> str:
    return json.dumps(json.loads(arguments, parse_int=float), ensure_ascii=False)


def without_nulls(arguments: str) -> str:
    def walk(value: Any) -> Any:
        return {k: walk(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value

    return json.dumps(walk(json.loads(arguments)), ensure_ascii=False)


def flat(arguments: str) -> str:
    """Inner objects and lists as texts."""
    values = json.loads(arguments)
    return json.dumps({k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in values.items()})


def brace_parser(arguments: str) -> str:
    """Stops at the first closing brace, even inside a text; nested objects are counted."""
    depth = 0
    for at, sign in enumerate(arguments):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return arguments[: at + 1]
    return arguments


def cap(count: int) -> Callable[[Said, Heard], None]:
    def change(said: Said, heard: Heard) -> None:
        said.calls = said.calls[:count]

    return change


def unique_names(said: Said, heard: Heard) -> None:
    said.calls = list(dict(said.calls).items())


def rename(change: Callable[[str], str]) -> Stages:
    def speech(said: Said, heard: Heard) -> None:
        said.calls = [(change(name), arguments) for name, arguments in said.calls]

    return in_speech(speech)


def first_tools(count: int) -> Callable[[Heard], None]:
    def change(heard: Heard) -> None:
        heard.tools = heard.tools[:count]

    return change


def clear(*names: str, form: bool | None = None) -> Stages:
    def speech(said: Said, heard: Heard) -> None:
        if said.calls:
            for name in names:
                setattr(said, name, "")

    return in_speech(speech, form=form)


def schema_has(word: str) -> Callable[[Heard], bool]:
    return lambda heard: word in json.dumps(heard.tools)


def reversed_calls(*, form: bool | None) -> Stages:
    return in_speech(lambda said, heard: said.calls.reverse(), form=form)


CHAT: tuple[Variant, ...] = (
    # the answer and its parts
    Variant("no choices", fails("answers"), in_whole(set_in("choices", value=[]))),
    Variant(
        "answer is not JSON",
        fails("answers"),
        {"bytes": lambda data: data.replace(b'"', b"'") if b"choices" in data else data},
    ),
    Variant("content type is text", fails("answers"), {"kind": lambda: "text/plain"}),
    Variant("every request fails", fails("answers"), refusing(lambda heard: True, status=500)),
    Variant("tools are refused", fails("answers"), refusing(lambda heard: bool(heard.tools))),
    Variant("call left in the text", fails("call_recognised"), in_speech(leave_in_text)),
    Variant(
        "call doubled",
        fails("call_recognised", "choice_function"),
        in_speech(lambda said, heard: said.calls.extend(said.calls)),
    ),
    Variant("id missing", fails("call_id"), in_calls(set_in("id", value=None))),
    Variant("id empty", fails("call_id"), in_calls(set_in("id", value=""))),
    Variant("type missing", fails("call_type"), in_calls(set_in("type", value=None))),
    Variant(
        "arguments are an object",
        fails("arguments_text"),
        in_calls(lambda call: call["function"].update(arguments={"text": call["function"]["arguments"]})),
    ),
    Variant("single quotes", fails("arguments_parse"), in_arguments(lambda text: str(json.loads(text)))),
    Variant("arguments doubled", fails("arguments_parse"), in_arguments(lambda text: text + text)),
    Variant("arguments in a list", fails("arguments_parse"), in_arguments(lambda text: f"[{text}]")),
    Variant("arguments are a JSON text of JSON", fails("arguments_parse"), in_arguments(json.dumps)),
    Variant("role is tool", fails("message_form"), in_message(set_in("role", value="tool"))),
    Variant("object is wrong", fails("message_form"), in_whole(set_in("object", value="text_completion"))),
    Variant("call leaks into the content", fails("content_markers"), in_speech(leak)),
    Variant("call leaks into streamed content", fails("stream_markers"), in_speech(leak, form=True)),
    # the matrix
    Variant("another model answers", fails("served_model"), in_whole(set_in("model", value="cheaper"))),
    Variant(
        "prompt tokens are always seven",
        fails("usage_grows"),
        {
            "whole": lambda body, heard: {**body, "usage": seven(body["usage"])},
            "chunks": lambda events, heard: (e | {"usage": seven(e["usage"])} if e["usage"] else e for e in events),
        },
    ),
    Variant(
        "names have a prefix when forced",
        fails("choice_required", "call_recognised", "names_offered"),
        in_speech(lambda said, heard: _prefixed(said) if heard.choice == "required" else None),
    ),
    Variant(
        "empty arguments when required",
        fails("choice_required", "arguments_schema", "strict"),
        in_speech(
            lambda said, heard: (
                _emptied(said) if heard.choice == "required" and "hello" in heard.turns[-1].text else None
            )
        ),
    ),
    Variant(
        "arguments swapped when thinking",
        fails("arguments_dictated"),
        in_speech(lambda said, heard: _capital(said)),
    ),
    # the stream
    Variant("stream says JSON", fails("stream_events"), {}, options={"stream_type": "application/json"}),
    Variant("no DONE", fails("stream_events"), {"end": lambda text: ""}),
    Variant("events without an empty line", fails("stream_events"), encoded(lambda event, text: text[:-1])),
    Variant(
        "a chunk is no JSON",
        fails("stream_events"),
        encoded(lambda event, text: text.replace("}\n\n", "\n\n") if event.get("usage") else text),
    ),
    Variant(
        "id of the answer changes",
        fails("chunk_form"),
        in_chunks(lambda events: [{**event, "id": next(_COUNT)} for event in events]),
    ),
    Variant("no role", fails("chunk_form"), encoded(lambda event, text: text.replace('"role": "assistant", ', ""))),
    Variant("text after the finish reason", fails("finish_last"), in_chunks(after_finish)),
    Variant(
        "two finish reasons",
        fails("finish_last"),
        in_chunks(lambda events: [e for event in events for e in [event, *([event] if _finishes(event) else [])]]),
    ),
    Variant("index reset", fails("delta_index"), in_chunks(reuse_index)),
    Variant("index missing", fails("delta_index"), in_deltas(lambda delta, event: delta.pop("index"))),
    Variant(
        "index from 1", fails("delta_index"), in_deltas(lambda delta, event: delta.update(index=delta["index"] + 1))
    ),
    Variant("index counts deltas", fails("delta_index"), in_chunks(lambda events: _counted(events))),
    Variant("id per chunk", fails("delta_id"), in_deltas(lambda delta, event: delta.update(id=next(_CALLS)))),
    Variant("id repeated", fails("delta_id"), in_deltas(lambda delta, event: delta.setdefault("id", "call_same"))),
    Variant("id only at the end", fails("delta_id"), in_deltas(lambda delta, event: delta.pop("id", None))),
    Variant("type missing in the stream", fails("delta_type"), in_deltas(lambda delta, event: delta.pop("type", None))),
    Variant("type repeated", fails("delta_type"), in_deltas(lambda delta, event: delta.update(type="function"))),
    Variant(
        "name repeated",
        fails("delta_name"),
        in_deltas(lambda delta, event: delta["function"].setdefault("name", "save_note")),
    ),
    Variant("name in two pieces", fails("delta_name"), in_chunks(lambda events: _name_in_pieces(events))),
    Variant(
        "argument deltas are null",
        fails("delta_arguments"),
        in_deltas(lambda delta, event: delta["function"].update(arguments=[delta["function"]["arguments"]])),
    ),
    Variant("streamed call left in the text", fails("stream_calls"), in_speech(leave_in_text, form=True)),
    Variant("streamed calls swapped", fails("stream_calls"), reversed_calls(form=True)),
    Variant("streamed second call lost", fails("stream_calls"), in_speech(cap(1), form=True)),
    Variant("last delta lost", fails("stream_arguments"), in_chunks(lambda events: drop(events, has_arguments, -1))),
    Variant("first delta lost", fails("stream_arguments"), in_chunks(lambda events: drop(events, has_arguments, 0))),
    Variant("arguments joined with a space", fails("stream_arguments", "strict"), in_chunks(spaced)),
    Variant(
        "a delta twice",
        fails("stream_arguments"),
        in_chunks(
            lambda events: [e for event in events for e in [event] * (1 + has_arguments(event) * (len(str(event)) % 2))]
        ),
    ),
    Variant(
        "streamed arguments with single quotes",
        fails("stream_arguments"),
        in_arguments(lambda t: str(json.loads(t)), form=True),
    ),
    Variant(
        "streamed text loses its end",
        fails("stream_text"),
        in_chunks(
            lambda events: drop(events, lambda e: bool(e["choices"] and e["choices"][0]["delta"].get("content")), -1)
        ),
    ),
    Variant(
        "streamed finish is stop",
        fails("stream_finish"),
        encoded(lambda event, text: text.replace('"finish_reason": "tool_calls"', '"finish_reason": "stop"')),
    ),
    Variant(
        "streamed usage missing",
        fails("stream_usage"),
        in_chunks(lambda events: [event for event in events if event["choices"]]),
    ),
    Variant(
        "streamed prompt tokens differ",
        fails("stream_usage"),
        in_chunks(lambda events: [_other_usage(event) for event in events]),
    ),
    Variant(
        "usage in every chunk",
        fails("usage_last"),
        in_chunks(lambda events: [{**event, "usage": events[-1]["usage"]} for event in events]),
    ),
    Variant(
        "usage beside a choice",
        fails("usage_last"),
        in_chunks(lambda events: [*events[:-1], {**events[-1], "choices": events[0]["choices"]}]),
    ),
    # values
    Variant("numbers as floats", fails("arguments_numbers"), in_arguments(numbered_twice)),
    Variant(
        "numbers as texts",
        fails("arguments_numbers", "arguments_nested"),
        in_values(lambda value: str(value) if type(value) in (int, float) else value),
    ),
    Variant(
        "texts as numbers",
        fails("arguments_number_text", "schema_any_of"),
        in_values(texts(lambda text: _literal(text))),
    ),
    Variant(
        "booleans as Python words",
        fails("arguments_booleans"),
        in_values(lambda value: str(value) if isinstance(value, bool) else value),
    ),
    Variant("null as None", fails("arguments_null"), in_values(lambda value: "None" if value is None else value)),
    Variant("null left out", fails("arguments_null"), in_arguments(without_nulls)),
    Variant(
        "inner objects as texts",
        fails("arguments_nested"),
        in_arguments(flat),
    ),
    Variant(
        "empty arguments as an empty text",
        fails("arguments_empty"),
        in_arguments(lambda text: "" if text == "{}" else text),
    ),
    Variant(
        "empty arguments as null",
        fails("arguments_empty"),
        in_arguments(lambda text: "null" if text == "{}" else text),
    ),
    Variant(
        "empty arguments lost in the stream",
        fails("arguments_empty"),
        in_arguments(lambda text: "" if text == "{}" else text, form=True),
    ),
    Variant(
        "letters beyond ASCII lost",
        fails("arguments_unicode"),
        in_values(texts(lambda text: text.encode("ascii", "ignore").decode())),
    ),
    Variant(
        "bytes read as latin-1", fails("arguments_unicode"), in_arguments(lambda text: text.encode().decode("latin-1"))
    ),
    Variant("bytes cut in half", fails("arguments_unicode"), in_arguments(cut_bytes, form=True)),
    Variant(
        "emoji lost",
        fails("arguments_surrogates"),
        in_values(texts(lambda text: re.sub(r"[\U00010000-\U0010ffff]", "\ufffd", text))),
    ),
    Variant(
        "surrogate pair cut in half", fails("arguments_surrogates"), in_chunks(halved), options={"ascii_only": True}
    ),
    Variant(
        "emoji broken at some boundaries",
        fails("unicode_boundaries"),
        in_values(texts(lambda text: text.replace("aaaaaé", "aaaaa\ufffd")), form=True),
    ),
    Variant(
        "quotes lost their backslash",
        fails("arguments_quotes"),
        in_values(texts(lambda text: text.replace('"no"', "'no'"))),
    ),
    Variant("unescaped twice", fails("arguments_backslashes"), in_values(texts(lambda text: text.replace("\\", "")))),
    Variant(
        "line ends escaped twice",
        fails("arguments_newlines"),
        in_values(texts(lambda text: text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r"))),
    ),
    Variant(
        "line ends become blanks",
        fails("arguments_newlines"),
        in_values(texts(lambda text: re.sub(r"[\n\r\t]", " ", text))),
    ),
    Variant("braces counted in texts", fails("arguments_braces"), in_arguments(brace_parser)),
    Variant(
        "escaped for HTML",
        fails("arguments_markup", "arguments_quotes", "arguments_backslashes", "arguments_braces"),
        in_values(texts(html.escape)),
    ),
    Variant("blanks stripped", fails("arguments_blanks"), in_values(texts(str.strip))),
    Variant("long arguments cut", fails("arguments_long"), in_values(texts(lambda text: text[:15_000]))),
    Variant(
        "long arguments lost in the stream",
        fails("arguments_long"),
        in_values(texts(lambda text: text[:15_000]), form=True),
    ),
    # calls and choices
    Variant(
        "five tools are too many when streamed",
        fails("calls_one"),
        in_speech(lambda said, heard: leave_in_text(said, heard) if len(heard.tools) == 5 else None, form=True),
    ),
    Variant(
        "second call's arguments lost when streamed",
        fails("stream_arguments", "strict"),
        in_speech(
            lambda said, heard: said.calls.__setitem__(slice(1, 2), [(n, "{}") for n, _ in said.calls[1:2]]), form=True
        ),
    ),
    Variant("auto is fatal", fails("choice_auto"), {"body": lambda body: _no_auto(body)}),
    Variant("unstreamed second call lost", fails("calls_unstreamed"), in_speech(merged, form=False)),
    Variant("two calls merged", fails("calls_unstreamed"), in_speech(merged)),
    Variant("unstreamed calls swapped", fails("calls_unstreamed"), reversed_calls(form=False)),
    Variant("four calls at most when streamed", fails("calls_five"), in_speech(cap(4), form=True)),
    Variant("same function once when streamed", fails("calls_same_twice"), in_speech(unique_names, form=True)),
    Variant("one id for all calls", fails("ids_in_answer"), {"new_id": lambda server, n: "call_1"}),
    Variant("ids begin again", fails("ids_unique"), {"new_id": lambda server, n: f"call_{n % 2}"}),
    Variant("text before calls lost when streamed", fails("text_before"), clear("before", form=True)),
    Variant("text before calls lost unstreamed", fails("text_before"), clear("before", form=False)),
    Variant("text after calls lost when streamed", fails("text_after"), clear("after", form=True)),
    Variant(
        "none is ignored",
        fails("choice_none"),
        in_hearing(lambda heard: setattr(heard, "choice", "auto") if heard.choice == "none" else None),
    ),
    Variant(
        "none leaks the call",
        fails("choice_none", "content_markers"),
        in_speech(
            lambda said, heard: setattr(said, "before", "<tool_call>{}</tool_call>") if heard.choice == "none" else None
        ),
    ),
    Variant(
        "required is ignored",
        fails("choice_required"),
        in_hearing(lambda heard: setattr(heard, "choice", "auto") if heard.choice == "required" else None),
    ),
    Variant(
        "required is ignored when streamed",
        fails("choice_required_stream"),
        in_hearing(
            lambda heard: setattr(heard, "choice", "auto") if heard.choice == "required" and heard.stream else None
        ),
    ),
    Variant(
        "named function is ignored",
        fails("choice_function"),
        in_hearing(lambda heard: setattr(heard, "choice", "required") if heard.choice.startswith("=") else None),
    ),
    Variant(
        "named function is ignored when streamed",
        fails("choice_function_stream"),
        in_hearing(
            lambda heard: (
                setattr(heard, "choice", "required") if heard.choice.startswith("=") and heard.stream else None
            )
        ),
    ),
    Variant(
        "parallel_tool_calls is ignored",
        fails("parallel_off"),
        in_hearing(lambda heard: setattr(heard, "parallel", True)),
    ),
    # tools
    Variant("32 tools at most", fails("tools_64", "tools_200"), in_hearing(first_tools(32)), size=50),
    Variant("64 tools or 500", fails("tools_200"), refusing(lambda heard: len(heard.tools) > 64, status=500)),
    Variant("$ref is refused", fails("schema_recursive", "schema_ref"), refusing(schema_has("$ref"))),
    Variant("$ref is fatal", fails("schema_recursive", "schema_ref"), refusing(schema_has("$ref"), status=500)),
    Variant("anyOf is refused", fails("schema_any_of"), refusing(schema_has("anyOf"))),
    Variant("deep schemas are fatal", fails("schema_deep"), refusing(schema_has("level_9"), status=500)),
    Variant("long descriptions are fatal", fails("schema_long_description"), {"body": lambda body: _no_long(body)}),
    Variant("enum with signs is fatal", fails("schema_enum"), refusing(schema_has("kelvin"), status=500)),
    Variant(
        "odd keys are changed",
        fails("schema_odd_keys"),
        in_arguments(lambda text: text.replace("max-size", "max_size"), form=True),
    ),
    Variant("missing parameters are fatal", fails("schema_none"), {"body": lambda body: _no_bare_tools(body)}),
    Variant("dots become underscores", fails("name_dots"), rename(lambda name: name.replace(".", "_"))),
    Variant("dashes become underscores", fails("name_dashes"), rename(lambda name: name.replace("-", "_"))),
    Variant("names cut at 50", fails("name_64"), rename(lambda name: name[:50])),
    Variant(
        "an undeclared key is always added",
        fails("strict"),
        in_arguments(lambda text: json.dumps({**json.loads(text), "explanation": "why"})),
    ),
    Variant("strict is fatal", fails("strict"), {"body": lambda body: _no_strict(body)}),
    # conversations
    Variant("own ids are refused", fails("ids_accepted"), refusing(last_is_tool)),
    Variant(
        "foreign ids are refused",
        fails("ids_foreign"),
        refusing(lambda heard: any(c[0].startswith("toolu_") for t in heard.turns for c in t.calls)),
    ),
    Variant(
        "results do not arrive when streamed", fails("result_string"), in_hearing(lambda heard: _no_results(heard))
    ),
    Variant("parts are refused", fails("result_parts"), {"body": lambda body: _no_parts(body)}),
    Variant("only the first part is read", fails("result_parts"), {"body": only_last_part}),
    Variant(
        "empty results are fatal",
        fails("result_empty"),
        refusing(lambda heard: last_is_tool(heard) and not heard.turns[-1].text, status=500),
    ),
    Variant("long results are cut", fails("result_large"), in_hearing(clip_results)),
    Variant(
        "errors as results are fatal",
        fails("result_error"),
        refusing(lambda heard: last_is_tool(heard) and '"error"' in heard.turns[-1].text, status=500),
    ),
    Variant("results by position", fails("results_reordered"), in_hearing(by_position)),
    Variant(
        "long conversations are fatal",
        fails("conversation_20"),
        refusing(lambda heard: len(heard.turns) > 40, status=500),
    ),
    Variant("system is dropped", fails("role_system"), in_hearing(without_role("system"))),
    Variant("developer is dropped", fails("role_developer"), in_hearing(without_role("developer"))),
    Variant("history is dropped", fails("role_user"), in_hearing(lambda heard: _drop_history(heard))),
    # endings
    Variant(
        "finish is stop with calls", fails("finish_calls"), in_whole(lambda body: _refinish(body, "tool_calls", "stop"))
    ),
    Variant(
        "finish is tool_calls without calls",
        fails("finish_stop"),
        in_whole(lambda body: _refinish(body, "stop", "tool_calls")),
    ),
    Variant("usage missing", fails("usage_present"), in_whole(set_in("usage", value=None))),
    Variant("usage without total", fails("usage_present"), in_whole(set_in("usage", "total_tokens", value=None))),
    Variant("usage is zero", fails("usage_plausible"), in_whole(set_in("usage", "completion_tokens", value=0))),
    Variant("usage does not add up", fails("usage_plausible"), in_whole(set_in("usage", "total_tokens", value=7))),
    Variant("reasoning in the content", fails("reasoning_apart"), in_speech(think_into_text, form=False)),
    Variant("reasoning in the streamed content", fails("stream_reasoning"), in_speech(think_into_text, form=True)),
    Variant("reasoning lost when streamed", fails("stream_reasoning"), clear("reasoning", form=True)),
    Variant("cut calls look complete", fails("cut_in_call"), {"cut": repair}),
    Variant("max_tokens is ignored", fails("cut_in_call"), {"cut": uncut}),
    Variant(
        "streams cut look complete",
        fails("cut_in_call_stream"),
        {"cut": lambda said, heard, size: (repair if heard.stream else reference.cut)(said, heard, size)},
    ),
    Variant("stop is ignored", fails("stop"), {"cut": no_stop}),
    Variant("stop is part of the text", fails("stop"), {"cut": kept_stop}),
    Variant("stop is called length", fails("stop"), {"cut": stop_is_length}),
    Variant("n is ignored", fails("n"), in_hearing(lambda heard: setattr(heard, "n", 1))),
    Variant(
        "choices all have index 0",
        fails("n"),
        encoded(lambda event, text: text.replace('{"index": 1, "delta"', '{"index": 0, "delta"')),
    ),
    Variant(
        "logprobs lose the call",
        fails("logprobs"),
        in_speech(lambda said, heard: said.calls.clear() if heard.logprobs else None),
    ),
    Variant("logprobs are fatal", fails("logprobs"), refusing(lambda heard: heard.logprobs, status=500)),
    # faults
    Variant("broken body is 500", fails("fault_body"), told("the body is no JSON", 500, "internal error")),
    Variant("broken body is not named", fails("fault_body"), told("the body is no JSON", 400, "no")),
    Variant("missing result is taken", fails("fault_missing_result"), accepting("no result")),
    Variant("missing result is 500", fails("fault_missing_result"), told("has no result", 500, "KeyError")),
    Variant(
        "unknown tool in history is 500",
        fails("fault_unknown_tool"),
        refusing(lambda heard: any(c[1] == "gone_tool" for t in heard.turns for c in t.calls), status=500),
    ),
    Variant(
        "broken arguments in history are 500",
        fails("fault_history_arguments"),
        told("are no JSON", 500, "json.decoder.JSONDecodeError"),
    ),
    Variant("unknown id is 500", fails("fault_unknown_id"), told("belongs to no call", 500, "KeyError")),
    Variant("unknown choice is taken", fails("fault_choice"), accepting("tool_choice names")),
    Variant("tool without function is 500", fails("fault_tool"), told("is missing", 500, "KeyError: name")),
    Variant("errors without a message", fails("error_form"), {"refuse": lambda r: (r.status, {"detail": r.message})}),
    # load
    Variant("cross-talk", fails("crosstalk"), {"fly": swap_flying}),
    Variant("every other call lost under load", fails("crosstalk"), {"fly": lose_under_load}, slots=4),
    Variant("a disconnect frees nothing", fails("disconnect"), {"release": hold_slot}, slots=8),
)


def seven(usage: Json) -> Json:
    return {**usage, "prompt_tokens": 7, "total_tokens": 7 + usage["completion_tokens"]}


def _prefixed(said: Said) -> None:
    said.calls = [(f"functions.{name}", arguments) for name, arguments in said.calls]


def _emptied(said: Said) -> None:
    said.calls = [(name, "{}") for name, _ in said.calls]


def _capital(said: Said) -> None:
    said.calls = [(name, arguments.replace('": "', '": "\ufffd')) for name, arguments in said.calls]


def _finishes(event: Json) -> bool:
    return any(choice["finish_reason"] for choice in event["choices"])


def _counted(events: list[Json]) -> list[Json]:
    number = 0
    for event in events:
        for choice in event["choices"]:
            for delta in choice["delta"].get("tool_calls", ()):
                delta["index"] = number
                number += 2
    return events


def _name_in_pieces(events: list[Json]) -> Iterator[Json]:
    for event in events:
        calls = [d for c in event["choices"] for d in c["delta"].get("tool_calls", ())]
        name = calls[0]["function"].get("name", "") if calls else ""
        if not name:
            yield event
            continue
        other = json.loads(json.dumps(event))
        calls[0]["function"]["name"] = name[:3]
        yield event
        delta = other["choices"][0]["delta"]["tool_calls"][0]
        other["choices"][0]["delta"] = {"tool_calls": [{"index": delta["index"], "function": {"name": name[3:]}}]}
        yield other


def _other_usage(event: Json) -> Json:
    if event["usage"]:
        event["usage"]["prompt_tokens"] += 5
    return event


def _literal(text: str) -> Any:
    try:
        return json.loads(text) if text not in ("nan",) else text
    except ValueError:
        return int(text) if text.isdigit() else text


def _tools(body: Any) -> list[Json]:
    return body.get("tools") or [] if isinstance(body, dict) else []


def _no_long(body: Any) -> Any:
    if any(len(tool.get("function", {}).get("description", "")) > 2_000 for tool in _tools(body)):
        raise Refusal("too long", 500)
    return body


def _no_bare_tools(body: Any) -> Any:
    if any(tool.get("function") and "parameters" not in tool["function"] for tool in _tools(body)):
        raise Refusal("KeyError: parameters", 500)
    return body


def _no_strict(body: Any) -> Any:
    if any("strict" in tool.get("function", {}) for tool in _tools(body)):
        raise Refusal("unexpected keyword strict", 500)
    return body


def _no_auto(body: Any) -> Any:
    if isinstance(body, dict) and body.get("tool_choice") == "auto":
        raise Refusal("AssertionError", 500)
    return body


def _no_parts(body: Any) -> Any:
    if any(m["role"] == "tool" and isinstance(m["content"], list) for m in body.get("messages") or []):
        raise Refusal("content must be a string", 400)
    return body


def _no_results(heard: Heard) -> None:
    if heard.stream and last_is_tool(heard):
        for turn in heard.turns:
            if turn.role == "tool":
                turn.text = "None"


def _drop_history(heard: Heard) -> None:
    if heard.turns[-1].role == "user" and not any(turn.calls for turn in heard.turns):
        heard.turns = [turn for turn in heard.turns if turn.role != "user"] + heard.turns[-1:]


def _refinish(body: Json, old: str, new: str) -> None:
    for choice in body["choices"]:
        if choice["finish_reason"] == old:
            choice["finish_reason"] = new


# -- Responses -------------------------------------------------------------------------------------------------------


def responses(name: str, failing: frozenset[str], stages: Stages, **more: Any) -> Variant:
    return Variant(name, failing, stages, "responses", **more)


DELTA, ARGUMENTS_DONE = "response.function_call_arguments.delta", "response.function_call_arguments.done"
ADDED, DONE = "response.output_item.added", "response.output_item.done"
COMPLETED = "response.completed"


def _without(kind: str, which: int | None = None) -> Stages:
    """A stream without events of a kind, or without one of them, numbered anew."""

    def change(events: list[Json]) -> list[Json]:
        if which is None:
            kept = [event for event in events if event["type"] != kind]
        else:
            kept = drop(events, lambda event: event["type"] == kind, which)
        return [{**event, "sequence_number": number} for number, event in enumerate(kept)]

    return in_chunks(change)


def _call_item(change: Callable[[Json], Any]) -> Callable[[Json], None]:
    def apply(event: Json) -> None:
        event["item"] = dict(event["item"])
        if event["item"]["type"] == "function_call":
            change(event["item"])

    return apply


def _in_end(change: Callable[[Json], Any]) -> Stages:
    def apply(event: Json) -> None:
        event["response"] = json.loads(json.dumps(event["response"]))
        change(event["response"])

    return in_events(COMPLETED, apply)


_ITEMS = changing("fc_")
RESPONSES: tuple[Variant, ...] = (
    responses("no output", fails("answers"), in_whole(set_in("output", value=None))),
    responses("answered as chat completions", fails("answers"), {"whole": lambda body, heard: {"choices": []}}),
    responses("items without ids", fails("item_ids"), in_items(set_in("id", value=None))),
    responses("calls stay in progress", fails("item_status"), in_items(set_in("status", value="in_progress"))),
    responses("another response id at the end", fails("events_response"), _in_end(set_in("id", value="resp_other"))),
    responses("no content parts", fails("events_parts"), _without("response.content_part.added")),
    responses("call left in the text", fails("call_recognised"), in_speech(leave_in_text)),
    responses("call_id missing", fails("call_id"), in_items(set_in("call_id", value=None))),
    responses("call item without a type", fails("call_recognised"), in_items(set_in("type", value="tool_call"))),
    responses(
        "arguments are an object",
        fails("arguments_text"),
        in_items(lambda item: item.update(arguments={"text": item["arguments"]})),
    ),
    responses("single quotes", fails("arguments_parse"), in_arguments(lambda text: str(json.loads(text)))),
    responses("object is wrong", fails("message_form"), in_whole(set_in("object", value="chat.completion"))),
    responses("call leaks into the text", fails("content_markers"), in_speech(leak)),
    responses("call leaks into the streamed text", fails("stream_markers"), in_speech(leak, form=True)),
    responses("stream says JSON", fails("stream_events"), {}, options={"stream_type": "application/json"}),
    responses("no end", fails("stream_events"), _without(COMPLETED)),
    responses("events without an empty line", fails("stream_events"), encoded(lambda event, text: text[:-1])),
    responses("no event lines", fails("events_names"), encoded(lambda event, text: text.split("\n", 1)[1])),
    responses(
        "event line of another type",
        fails("events_names"),
        encoded(lambda event, text: text.replace("event: response.output_item", "event: output_item")),
    ),
    responses(
        "sequence numbers missing", fails("events_sequence"), in_chunks(lambda events: [_bare(e) for e in events])
    ),
    responses(
        "sequence numbers from 1",
        fails("events_sequence"),
        in_chunks(lambda events: [{**e, "sequence_number": e["sequence_number"] + 1} for e in events]),
    ),
    responses("no created", fails("events_begin"), _without("response.created")),
    responses("no added", fails("events_items"), _without(ADDED)),
    responses("no done", fails("events_items"), _without(DONE)),
    responses(
        "output_index reset", fails("events_items"), in_events(ADDED, lambda event: event.update(output_index=0))
    ),
    responses(
        "deltas of another index", fails("events_items"), in_events(DELTA, lambda event: event.update(output_index=7))
    ),
    responses(
        "item id per event",
        fails("events_item_ids"),
        in_events(DELTA, lambda event: event.update(item_id=next(_ITEMS))),
    ),
    responses("item id missing", fails("events_item_ids"), in_events(DELTA, lambda event: event.pop("item_id"))),
    responses(
        "call_id changes",
        fails("events_call_ids"),
        in_events(DONE, _call_item(lambda item: item.update(call_id="call_other"))),
    ),
    responses("last delta lost", fails("events_arguments"), _without(DELTA, -1)),
    responses(
        "done without arguments", fails("events_arguments"), in_events(ARGUMENTS_DONE, lambda e: e.update(arguments=""))
    ),
    responses("arguments never done", fails("events_arguments"), _without(ARGUMENTS_DONE)),
    responses("completed is empty", fails("events_completed"), _in_end(lambda response: response.update(output=[]))),
    responses(
        "completed has other arguments",
        fails("events_completed"),
        _in_end(lambda response: [item.update(arguments="{}") for item in response["output"] if "arguments" in item]),
    ),
    responses("streamed call left in the text", fails("stream_calls"), in_speech(leave_in_text, form=True)),
    responses("streamed calls swapped", fails("stream_calls"), reversed_calls(form=True)),
    responses(
        "streamed arguments with single quotes",
        fails("stream_arguments"),
        in_arguments(lambda text: str(json.loads(text)), form=True),
    ),
    responses("streamed text loses its end", fails("events_text"), _without("response.output_text.delta", -1)),
    responses("streamed usage missing", fails("stream_usage"), _in_end(set_in("usage", value=None))),
    responses(
        "streamed prompt tokens differ", fails("stream_usage"), _in_end(set_in("usage", "input_tokens", value=3))
    ),
    responses("streamed status is failed", fails("stream_finish"), _in_end(set_in("status", value="failed"))),
    responses("status is failed", fails("finish_calls", "finish_stop"), in_whole(set_in("status", value="failed"))),
    responses("status missing", fails("finish_calls", "finish_stop"), in_whole(set_in("status", value=None))),
    responses("usage missing", fails("usage_present"), in_whole(set_in("usage", value=None))),
    responses("usage does not add up", fails("usage_plausible"), in_whole(set_in("usage", "total_tokens", value=7))),
    responses("reasoning in the text", fails("reasoning_apart"), in_speech(think_into_text, form=False)),
    responses("reasoning lost when streamed", fails("stream_reasoning"), clear("reasoning", form=True)),
    responses("cut calls look complete", fails("cut_in_call"), {"cut": repair}),
    responses("output as parts is refused", fails("result_parts"), {"body": lambda body: _no_output_parts(body)}),
    responses("results by position", fails("results_reordered"), in_hearing(by_position)),
    responses("one id for all calls", fails("ids_in_answer"), {"new_id": lambda server, n: "call_1"}),
    responses(
        "surrogate pair cut in half",
        fails("arguments_surrogates"),
        in_chunks(lambda events: _halved_deltas(events)),
        options={"ascii_only": True},
    ),
    responses("cross-talk", fails("crosstalk"), {"fly": swap_flying}),
    responses("a disconnect frees nothing", fails("disconnect"), {"release": hold_slot}, slots=8),
)

_FORMLESS = {"think", "cut", "hear", "refuse", "new_id"}
_ONLY_CHAT = {"stop", "n", "logprobs"}
SHARED: tuple[Variant, ...] = tuple(
    replace(variant, api="responses")
    for variant in CHAT
    if set(variant.stages) <= _FORMLESS and variant.stages and not variant.fails & _ONLY_CHAT
)
"""Faults of model, parser and request that do not depend on the API, over Responses."""


def _bare(event: Json) -> Json:
    return {key: value for key, value in event.items() if key != "sequence_number"}


def _no_output_parts(body: Any) -> Any:
    items = body.get("input") or [] if isinstance(body, dict) else []
    if any(item.get("type") == "function_call_output" and isinstance(item["output"], list) for item in items):
        raise Refusal("output must be a string", 400)
    return body


def _halved_deltas(events: list[Json]) -> list[Json]:
    made: list[Json] = []
    for event in events:
        piece = event.get("delta", "") if event["type"] == DELTA else ""
        at = next((n for n, c in enumerate(piece) if c > "\uffff"), None)
        if at is None:
            made.append(event)
            continue
        units = piece[at].encode("utf-16-be")
        halves = [int.from_bytes(units[:2], "big"), int.from_bytes(units[2:], "big")]
        for part in (piece[:at] + chr(halves[0]), chr(halves[1]) + piece[at + 1 :]):
            made.append({**event, "delta": part})
    return [{**event, "sequence_number": number} for number, event in enumerate(made)]
