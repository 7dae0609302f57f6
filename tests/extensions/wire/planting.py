"""Where a fault is planted in the reference, and the small transforms that faults are made of."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_bfcl.extensions.wire.row import Api
from tests.extensions.wire import reference
from tests.extensions.wire.reference import Heard, Json, Message, Reference, Refusal, form_of

Stages = dict[str, Callable[..., Any]]
DELTA, ARGUMENTS_DONE = "response.function_call_arguments.delta", "response.function_call_arguments.done"
ADDED, DONE, COMPLETED = "response.output_item.added", "response.output_item.done", "response.completed"


@dataclass(frozen=True)
class Variant:
    """One fault. ``found_by``: exactly the checks that break, by names; ``api``: where the fault is possible."""

    name: str
    found_by: str
    stages: Stages
    api: Api = "chat"
    slots: int = 64
    size: int = 3
    options: Json = field(default_factory=dict)

    @property
    def fails(self) -> frozenset[str]:
        return frozenset(self.found_by.split())

    def server(self) -> Reference:
        return Reference(size=self.size, slots=self.slots, **self.options, **self.stages)


def in_whole(change: Callable[[Json], Any]) -> Stages:
    """The unstreamed body."""
    return {"whole": lambda body, heard: (change(body), body)[1]}


def in_choices(change: Callable[[Json], Any]) -> Stages:
    """Every unstreamed choice."""
    return in_whole(lambda body: [change(choice) for choice in body["choices"]])


def in_message(change: Callable[[Json], Any]) -> Stages:
    """The unstreamed message."""
    return in_choices(lambda choice: change(choice["message"]))


def in_calls(change: Callable[[Json], None]) -> Stages:
    """Every unstreamed call."""
    return in_message(lambda message: [change(call) for call in message.get("tool_calls", ())])


def in_items(change: Callable[[Json], Any], kind: str = "function_call") -> Stages:
    """Every unstreamed output item of a kind, or block of Messages."""
    return in_whole(lambda body: [change(i) for i in body.get("output") or body["content"] if i["type"] == kind])


def in_chunks(change: Callable[[list[Json]], Iterable[Json]]) -> Stages:
    """The events of a stream."""
    return {"chunks": lambda events, heard: iter(list(change(list(events))))}


def in_chunk_choices(change: Callable[[Json], Any]) -> Stages:
    """Every choice in every chunk of a stream."""
    return in_chunks(lambda events: [([change(choice) for choice in event["choices"]], event)[1] for event in events])


def in_deltas(change: Callable[[Json, Json], Any]) -> Stages:
    """Every call delta of a stream, with its choice."""
    return in_chunk_choices(lambda choice: [change(delta, choice) for delta in choice["delta"].get("tool_calls", ())])


def in_events(kind: str, change: Callable[[Json], Any]) -> Stages:
    """Every named event of a kind; its copy, for the reference shares objects."""

    def changed(event: Json) -> Json:
        if event["type"] == kind:
            event = json.loads(json.dumps(event))
            change(event)
        return event

    return in_chunks(lambda events: map(changed, events))


def always(heard: Heard) -> bool:
    return True


def in_speech(
    change: Callable[[Message, Heard], Any], *, form: bool | None = None, when: Callable[[Heard], bool] = always
) -> Stages:
    """What the model says, in both forms or in one (``form``: streamed)."""

    def think(heard: Heard) -> Message:
        said = form_of(heard.api).think(heard)
        if (form is None or heard.stream == form) and when(heard):
            change(said, heard)
        return said

    return {"think": think}


def in_said_calls(
    change: Callable[[list[tuple[str, str]]], Iterable[tuple[str, str]]], *, form: bool | None = None,
    when: Callable[[Heard], bool] = always,
) -> Stages:  # fmt: skip
    """The calls that the model makes: names and arguments texts."""
    return in_speech(lambda said, heard: setattr(said, "calls", list(change(said.calls))), form=form, when=when)


def in_names(change: Callable[[str], str], **how: Any) -> Stages:
    """Every call's name."""
    return in_said_calls(lambda calls: [(change(name), arguments) for name, arguments in calls], **how)


def in_arguments(change: Callable[[str], str], **how: Any) -> Stages:
    """Every call's arguments text."""
    return in_said_calls(lambda calls: [(name, change(arguments)) for name, arguments in calls], **how)


def in_object(change: Callable[[Json], Any], **how: Any) -> Stages:
    """Every call's arguments."""
    return in_arguments(lambda text: json.dumps(change(json.loads(text)), ensure_ascii=False), **how)


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
        heard = form_of(api).hear(api, body)
        change(heard)
        return heard

    return {"hear": hear}


def in_turns(role: str, change: Callable[[str], str], *, when: Callable[[Heard], bool] = always) -> Stages:
    """The texts of a role's messages as the server understands them."""

    def hearing(heard: Heard) -> None:
        for turn in heard.turns if when(heard) else ():
            turn.text = change(turn.text) if turn.role == role else turn.text

    return in_hearing(hearing)


def kept_turns(keep: Callable[[list[reference.Turn], int], bool]) -> Stages:
    """The messages that the server understands, by their place; all where none would be left."""

    def hearing(heard: Heard) -> None:
        turns = heard.turns
        heard.turns = [turn for place, turn in enumerate(turns) if keep(turns, place)] or turns

    return in_hearing(hearing)


def empty_results(last: str) -> Stages:
    """Results before the last message of a role are empty."""

    def hearing(heard: Heard) -> None:
        until = max((place for place, turn in enumerate(heard.turns) if turn.role == last), default=0)
        for turn in heard.turns[:until]:
            turn.text = "" if turn.role == "tool" else turn.text

    return in_hearing(hearing)


def first_part(*roles: str) -> Stages:
    """Of messages in parts the first part is read."""

    def body(found: Any) -> Any:
        for message in (found.get("messages") or []) if isinstance(found, dict) else []:
            if message["role"] in roles and isinstance(message.get("content"), list):
                message["content"] = message["content"][:1]
        return found

    return {"body": body}


def cutting(**changed: Any) -> Stages:
    """The answer is cut as if the request were another."""
    return {"cut": lambda said, heard, size: form_of(heard.api).cut(said, replace(heard, **changed), size)}


def after_cut(change: Callable[[Message, Heard], Any], *, form: bool | None = None) -> Stages:
    """What is left of an answer when it was cut."""

    def cut(said: Message, heard: Heard, size: int) -> Message:
        said = form_of(heard.api).cut(said, heard, size)
        if form is None or heard.stream == form:
            change(said, heard)
        return said

    return {"cut": cut}


def halved(piece_of: Callable[[Json], str], with_piece: Callable[[Json, str], None]) -> Stages:
    """Surrogate pairs are cut in two deltas."""

    def chunks(events: list[Json]) -> Iterator[Json]:
        for event in events:
            piece = piece_of(event)
            at = next((n for n, c in enumerate(piece) if c > "\uffff"), None)
            if at is None:
                yield event
                continue
            units = piece[at].encode("utf-16-be")
            halves = [int.from_bytes(units[:2], "big"), int.from_bytes(units[2:], "big")]
            for part in (piece[:at] + chr(halves[0]), chr(halves[1]) + piece[at + 1 :]):
                copy = json.loads(json.dumps(event))
                with_piece(copy, part)
                yield copy

    return in_chunks(chunks)


def numbered(stages: Stages) -> Stages:
    """A stream whose events are numbered anew."""
    inner = stages["chunks"]
    return in_chunks(lambda events: [{**e, "sequence_number": n} for n, e in enumerate(inner(events, None))])


def arguments_piece(event: Json) -> str:
    """The arguments in a chunk's first call delta."""
    calls = [delta for each in event["choices"] for delta in each["delta"].get("tool_calls", ())]
    return calls[0]["function"].get("arguments", "") if calls else ""


def set_piece(event: Json, part: str) -> None:
    event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = part


def refusing(when: Callable[[Heard], bool], message: str = "this is not possible", status: int = 400) -> Stages:
    """A request that is right is refused."""

    def change(heard: Heard) -> None:
        if when(heard):
            raise Refusal(message, status)

    return in_hearing(change)


def refusing_body(wrong: Callable[[Json], bool], status: int = 400) -> Stages:
    """A request that is right is refused as it stands."""

    def look(body: Any) -> Any:
        if isinstance(body, dict) and wrong(body):
            raise Refusal("this is not supported", status)
        return body

    return {"body": look}


def refusing_turn(wrong: Callable[[Json], bool], status: int = 400) -> Stages:
    """A message, an input item or a function of the request is refused."""
    names = ("messages", "input", "tools")
    return refusing_body(lambda body: any(wrong(each) for name in names for each in body.get(name) or ()), status)


def in_parts(role: str) -> Callable[[Json], bool]:
    """Whether a message of this role is a list of parts."""
    return lambda turn: turn.get("role") == role and isinstance(turn.get("content"), list)


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
            return form_of(api).hear(api, body)
        except Refusal as refusal:
            if words not in refusal.message:
                raise
            return Heard(api, [reference.Turn("user", "Say hello.")], [])

    return {"hear": hear}


def encoded(change: Callable[[Json, str], str]) -> Stages:
    """The text of every event."""
    return {"encode": change}


def swap_flying(server: Reference, said: Message) -> Message:
    """The latest answer that is in flight, whoever asked for it."""
    return replace(server.flying[-1], ids=[]) if len(server.flying) > 1 else said


def lose_under_load(server: Reference, said: Message) -> Message:
    """Nothing of another request, but calls get lost while many are in flight."""
    odd = sum(map(ord, str(said.calls))) % 2
    return Message(before="Busy.") if len(server.flying) > 8 and odd else said


def merged(said: Message, heard: Heard) -> None:
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


COUNT = changing("chatcmpl-")


CALLS = changing("call_x")
NUMBERS = itertools.count()


def text_of_calls(said: Message) -> str:
    return "\n".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>' for name, text in said.calls
    )


def leave_in_text(said: Message, heard: Heard) -> None:
    said.before, said.calls = text_of_calls(said) or said.before, []


def leak(said: Message, heard: Heard) -> None:
    if said.calls:
        said.before += text_of_calls(said)


def after_finish(events: list[Json]) -> list[Json]:
    last = next(n for n, e in enumerate(events) if e["choices"] and e["choices"][0]["finish_reason"])
    if last and has_arguments(events[last - 1]):
        events[last - 1], events[last] = events[last], events[last - 1]
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


def think_into_text(said: Message, heard: Heard) -> None:
    if said.reasoning:
        said.before, said.reasoning = f"<think>{said.reasoning}</think>{said.before}", ""


def repair(said: Message, heard: Heard) -> None:
    if said.finish == "length":
        said.calls = [(name, text if text.endswith("}") else text + '"}') for name, text in said.calls]
        said.finish = "calls"


def stop_is_length(said: Message, heard: Heard) -> None:
    said.finish = "length" if heard.stop and not said.calls else said.finish


def brace_parser(arguments: str) -> str:
    """Stops at the first closing brace, even inside a text; nested objects are counted."""
    depth = 0
    for at, sign in enumerate(arguments):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return arguments[: at + 1]
    return arguments


def clear(*names: str, form: bool | None = None) -> Stages:
    def speech(said: Message, heard: Heard) -> None:
        if said.calls:
            for name in names:
                setattr(said, name, "")

    return in_speech(speech, form=form)


def schema_has(word: str, *, sort: bool = False) -> Callable[[Heard], bool]:
    return lambda heard: word in json.dumps(heard.tools, sort_keys=sort)


def seven(usage: Json) -> Json:
    return {**usage, "prompt_tokens": 7, "total_tokens": 7 + usage["completion_tokens"]}


def name_in_pieces(events: list[Json]) -> Iterator[Json]:
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


def literal(text: str) -> Any:
    try:
        return json.loads(text) if text not in ("nan",) else text
    except ValueError:
        return int(text) if text.isdigit() else text


def refinish(old: str, new: str) -> Stages:
    """Another word for the end of an unstreamed answer."""
    return in_choices(lambda choice: choice.update(finish_reason=new) if choice["finish_reason"] == old else None)


def without(kind: str, which: int | None = None) -> Stages:
    """A stream without events of a kind, or without one of them, numbered anew."""

    def change(events: list[Json]) -> list[Json]:
        if which is None:
            kept = [event for event in events if event["type"] != kind]
        else:
            kept = drop(events, lambda event: event["type"] == kind, which)
        return [event | {"sequence_number": n} if "sequence_number" in event else event for n, event in enumerate(kept)]

    return in_chunks(change)


def in_end(change: Callable[[Json], Any]) -> Stages:
    return in_events(COMPLETED, lambda event: change(event["response"]))


ITEMS = changing("fc_")


# -- one cell of the matrix ------------------------------------------------------------------------------------------


def last_of(heard: Heard) -> str:
    """The last thing a user said."""
    return next((turn.text for turn in reversed(heard.turns) if turn.role == "user"), "")


def thinks(heard: Heard) -> bool:
    return "Think about it" in last_of(heard)


def choice(*names: str) -> Callable[[Heard], bool]:
    """Whether the choice is one of these; ``=``: any function by name."""
    return lambda heard: heard.choice[:1] in names or heard.choice in names


def becomes(other: str, when: Callable[[Heard], bool]) -> Callable[[Heard], None]:
    """The server takes one choice for another."""
    return lambda heard: setattr(heard, "choice", other) if when(heard) else None


def repeated(said: Message, heard: Heard) -> None:
    said.before = "\n".join(arguments for _, arguments in said.calls) or said.before


def swallowed(said: Message, heard: Heard) -> None:
    """Where there is reasoning, the call is its end."""
    if said.reasoning and said.calls:
        said.reasoning, said.calls = f"{said.reasoning}\n{text_of_calls(said)}", []


def text_into_reasoning(said: Message, heard: Heard) -> None:
    if (said.reasoning or last_is_tool(heard)) and not said.calls:
        said.reasoning, said.before = f"{said.reasoning}\n{said.before}", ""


def in_finish(word: str | None, *, form: bool, when: Callable[[Heard], bool] = always) -> Stages:
    """Another finish reason where there are calls."""

    def whole(body: Json, heard: Heard) -> Json:
        for each in body["choices"] if when(heard) else ():
            if each["message"].get("tool_calls"):
                each["finish_reason"] = word
        return body

    def chunks(events: Iterator[Json], heard: Heard) -> Iterator[Json]:
        for event in events:
            for each in event["choices"] if when(heard) else ():
                if each["finish_reason"] == "tool_calls":
                    each["finish_reason"] = word
            yield event

    return {"chunks": chunks} if form else {"whole": whole}


def in_whole_when(when: Callable[[Heard], bool], change: Callable[[Json], Any]) -> Stages:
    return {"whole": lambda body, heard: (change(body), body)[1] if when(heard) else body}


def calls_in(body: Json) -> list[Json]:
    return [call for each in body["choices"] for call in each["message"].get("tool_calls", ())]


def less(body: Any, name: str) -> Any:
    """Without a field."""
    return {key: value for key, value in body.items() if key != name} if isinstance(body, dict) else body


def odd(event: Json) -> int:
    return len(str(event)) % 2


def has_text(event: Json) -> bool:
    return bool(event["choices"] and event["choices"][0]["delta"].get("content"))


def has_calls(event: Json) -> bool:
    return any(each["delta"].get("tool_calls") for each in event["choices"])


def second_talks(heard: Heard) -> Message:
    """Every second of two choices has a text instead of the call."""
    heard.told = not getattr(heard, "told", True)  # type: ignore[attr-defined]
    return reference.think(heard) if heard.n == 1 or not heard.told else Message(before="No.")  # type: ignore[attr-defined]


def no_call_when_required(body: Json, heard: Heard) -> Json:
    for each in body["choices"] if heard.choice == "required" else ():
        each["message"].pop("tool_calls", None)
        each["message"]["content"] = "Hello."
    return body


def swallowing_stop(said: Message, heard: Heard, size: int) -> Message:
    whole = said.before
    said = reference.cut(said, heard, size)
    said.before = "" if heard.stop and said.before != whole else said.before
    return said


# -- schemas and histories -------------------------------------------------------------------------------------------


def in_tool_values(change: Callable[[Json, Any], Any]) -> Stages:
    """Every argument, with the schema of its parameter; a whole call's arguments with the tool's own."""

    def speech(said: Message, heard: Heard) -> None:
        offered = dict(heard.tools)
        made = []
        for name, arguments in said.calls:
            schema = offered[name]
            values = change(schema, json.loads(arguments))
            parts = schema.get("properties", {})
            made.append((name, json.dumps({k: change(parts.get(k, {}), v) for k, v in values.items()})))
        said.calls = made

    return in_speech(speech)


def declared(schema: Json, value: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(schema.get("additionalProperties"), dict):
        return value
    return {key: each for key, each in value.items() if key in schema.get("properties", {})}


def first_type(schema: Json, value: Any) -> Any:
    if not isinstance(schema.get("type"), list) or value is None:
        return value
    return {"string": str, "integer": int}.get(schema["type"][0], lambda each: each)(value)


def texts_of_enums(schema: Json, value: Any) -> Any:
    return str(value) if "enum" in schema else value


def texts_of_refs(schema: Json, value: Any) -> Any:
    return json.dumps(value) if "$ref" in schema else value


def first_of_any(schema: Json, value: Any) -> Any:
    first = schema["anyOf"][0].get("type") if "anyOf" in schema else None
    return int(value) if first == "integer" and isinstance(value, str) else value


def fewest(schema: Json, value: Any) -> Any:
    return value[: schema["minItems"]] if "minItems" in schema else value


def lost_after_empty(said: Message, heard: Heard) -> None:
    for number, (name, _) in enumerate(said.calls):
        if number and said.calls[number - 1][1] == "{}":
            said.calls[number] = name, "{}"


def incomplete_details(body: Json) -> None:
    if body["status"] == "completed":
        body["incomplete_details"] = {"reason": "max_output_tokens"}


def previous_ignored(body: Any) -> Any:
    """The result that follows another response has lost its call."""
    if not isinstance(body, dict) or "previous_response_id" not in body:
        return body
    return {**less(body, "previous_response_id"), "input": [{"role": "user", "content": "What now?"}]}


def renamed(fields: Json, old: str, new: str) -> None:
    if old in fields:
        fields[new] = fields.pop(old)


def without_last_integer(values: Json) -> Json:
    last = next(reversed(values), None)
    return {key: value for key, value in values.items() if key != last or type(value) is not int}
