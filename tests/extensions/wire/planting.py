"""Where a fault is planted in the reference, and the small changes that faults are made of."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_bfcl.extensions.wire.row import Api
from tests.extensions.wire.apis import FORMS, refused
from tests.extensions.wire.model import Heard, Json, Message, Refusal, Turn
from tests.extensions.wire.reference import Reference

Stages = dict[str, Callable[..., Any]]
When = Callable[[Heard], bool]
MESSAGE, DELTA = "choices.*.message", "choices.*.delta"
CALL, CALL_DELTA = f"{MESSAGE}.tool_calls.*", f"{DELTA}.tool_calls.*"
FINISH = "choices.*.finish_reason"
"""Where chat completions have messages, calls and endings, whole and streamed."""


@dataclass(frozen=True)
class Variant:
    """One fault. ``found_by``: exactly the checks that break, by names; ``how``: options of the reference."""

    name: str
    api: Api
    found_by: str
    stages: Stages
    how: Json = field(default_factory=dict)

    @property
    def fails(self) -> frozenset[str]:
        return frozenset(self.found_by.split())

    def server(self) -> Reference:
        return Reference(**self.how, **self.stages)


def of_api(api: Api) -> Callable[..., Variant]:
    """Makes the variants of an API: name, checks that find it, stages, options of the reference."""

    def made(name: str, found_by: str, stages: Stages | None = None, **how: Any) -> Variant:
        return Variant(name, api, found_by, stages or {}, how)

    return made


# -- answers and streams: the part at a path ---------------------------------------------------------------------------

GONE = object()


def edited(value: Any, path: list[str], change: Any) -> Any:
    """A copy of a value whose parts at a path are another value, changed by a function, or `GONE`.

    ``*`` is every item of a list, ``[kind]`` those of a type. What is missing on the way stays so.
    """
    if not path:
        return change(value) if callable(change) else change
    step, *rest = path
    if isinstance(value, list):
        kinds = [f"[{each.get('type')}]" if isinstance(each, dict) else "" for each in value]
        return [
            edited(each, rest, change) if step in ("*", str(n), kind) else each
            for n, (each, kind) in enumerate(zip(value, kinds, strict=True))
        ]
    if not isinstance(value, dict) or (rest and step not in value):
        return value
    if not rest and change is GONE:
        return {name: each for name, each in value.items() if name != step}
    return {**value, step: edited(value.get(step), rest, change)}


def swap(old: Any, new: Any) -> Callable[[Any], Any]:
    """One value for another."""
    return lambda value: new if value == old else value


def renamed(old: str, new: str) -> Callable[[Json], Json]:
    """One name of a field for another."""
    return lambda fields: {new if name == old else name: each for name, each in fields.items()}


def less(fields: Json, name: str) -> Json:
    """Without a field."""
    return edited(fields, [name], GONE)  # type: ignore[no-any-return]


def always(heard: Heard) -> bool:
    return True


def whole(path: str, change: Any, when: When = always) -> Stages:
    """A part of the unstreamed body."""
    return {"whole": lambda body, heard: edited(body, path.split("."), change) if when(heard) else body}


def stream(path: str, change: Any, *, of: str | None = None, when: When = always) -> Stages:
    """A part of every event, or of the events of a type."""

    def chunks(events: Iterable[Json], heard: Heard) -> Iterator[Json]:
        for event in events:
            meant = of in (None, event.get("type")) and when(heard)
            yield edited(event, path.split("."), change) if meant else event

    return {"chunks": chunks}


def both(change: Callable[[Json], Json]) -> Stages:
    """The messages of chat completions, whole and streamed."""
    return {**whole(MESSAGE, change), **stream(DELTA, change)}


def events(change: Callable[[list[Json]], Iterable[Json]]) -> Stages:
    """The events of a stream, numbered anew where they are numbered."""

    def chunks(made: Iterable[Json], heard: Heard) -> Iterator[Json]:
        for n, event in enumerate(change(list(made))):
            yield {**event, "sequence_number": n} if "sequence_number" in event else event

    return {"chunks": chunks}


def without(kind: str, which: int | None = None) -> Stages:
    """A stream without events of a kind, or without one of them."""
    return dropping(lambda event: event["type"] == kind, which)


def dropping(wanted: Callable[[Json], bool], which: int | None = None) -> Stages:
    """A stream without the wanted events, or without one of them."""

    def change(made: list[Json]) -> list[Json]:
        found = [number for number, event in enumerate(made) if wanted(event)]
        gone = found if which is None else found[which:][:1]
        return [event for number, event in enumerate(made) if number not in gone]

    return events(change)


def has_calls(event: Json) -> bool:
    return any(choice["delta"].get("tool_calls") for choice in event["choices"])


def arguments_piece(event: Json) -> str:
    """The arguments in a chunk's first call delta."""
    calls = [delta for each in event["choices"] for delta in each["delta"].get("tool_calls", ())]
    return calls[0]["function"].get("arguments", "") if calls else ""


def halved(path: str, piece_of: Callable[[Json], str]) -> Stages:
    """Surrogate pairs are cut in two deltas."""

    def change(made: list[Json]) -> Iterator[Json]:
        for event in made:
            piece = piece_of(event)
            at = next((n for n, c in enumerate(piece) if c > "\uffff"), None)
            if at is None:
                yield event
                continue
            units = piece[at].encode("utf-16-be")
            one, two = (chr(int.from_bytes(half, "big")) for half in (units[:2], units[2:]))
            for part in (piece[:at] + one, two + piece[at + 1 :]):
                yield edited(event, path.split("."), part)

    return events(change)


# -- what the model says -----------------------------------------------------------------------------------------------


def speech(change: Callable[[Message, Heard], Any], *, form: bool | None = None, when: When = always) -> Stages:
    """What the model says, in both forms or in one (``form``: streamed)."""

    def think(heard: Heard) -> Message:
        said: Message = FORMS[heard.api].think(heard)
        if form in (None, heard.stream) and when(heard):
            change(said, heard)
        return said

    return {"think": think}


def says(*, form: bool | None = None, when: When = always, **fields: Any) -> Stages:
    """Other parts of what the model says."""
    return speech(lambda said, heard: vars(said).update(fields), form=form, when=when)


def calls(change: Callable[[list[tuple[str, str]]], Iterable[tuple[str, str]]], **how: Any) -> Stages:
    """The calls that the model makes: names and arguments texts."""
    return speech(lambda said, heard: setattr(said, "calls", list(change(said.calls))), **how)


def names(change: Callable[[str], str], **how: Any) -> Stages:
    """Every call's name."""
    return calls(lambda made: [(change(name), text) for name, text in made], **how)


def arguments(change: Callable[[str], str], **how: Any) -> Stages:
    """Every call's arguments text."""
    return calls(lambda made: [(name, change(text)) for name, text in made], **how)


def objects(change: Callable[[Json], Any], **how: Any) -> Stages:
    """Every call's arguments."""
    return arguments(lambda text: json.dumps(change(json.loads(text)), ensure_ascii=False), **how)


def values(change: Callable[[Any], Any], **how: Any) -> Stages:
    """Every single value inside the arguments."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: walk(part) for key, part in value.items()}
        return [walk(part) for part in value] if isinstance(value, list) else change(value)

    return objects(walk, **how)


def texts(change: Callable[[str], Any], **how: Any) -> Stages:
    """Every text inside the arguments."""
    return values(lambda value: change(value) if isinstance(value, str) else value, **how)


def by_schema(change: Callable[[Json, Any], Any]) -> Stages:
    """The arguments of every call with the tool's schema, then each with the schema of its parameter."""

    def speak(said: Message, heard: Heard) -> None:
        offered = dict(heard.tools)
        for number, (name, text) in enumerate(said.calls):
            parts = offered[name].get("properties", {})
            made = {k: change(parts.get(k, {}), v) for k, v in change(offered[name], json.loads(text)).items()}
            said.calls[number] = name, json.dumps(made)

    return speech(speak)


def written(said: Message) -> str:
    """The calls as the model writes them."""
    return "\n".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>' for name, text in said.calls
    )


def leave_in_text(said: Message, heard: Heard) -> None:
    said.before, said.calls = written(said) or said.before, []


def cutting(**changed: Any) -> Stages:
    """The answer is cut as if the request were another."""
    return {"cut": lambda said, heard, size: FORMS[heard.api].cut(said, replace(heard, **changed), size)}


def after_cut(change: Callable[[Message, Heard], Any], *, form: bool | None = None) -> Stages:
    """What is left of an answer when it was cut."""

    def cut(said: Message, heard: Heard, size: int) -> Message:
        said = FORMS[heard.api].cut(said, heard, size)
        if form in (None, heard.stream):
            change(said, heard)
        return said

    return {"cut": cut}


# -- the request -------------------------------------------------------------------------------------------------------


def hearing(change: Callable[[Heard], Any]) -> Stages:
    """The request as the server understands it."""

    def hear(api: str, body: Any) -> Heard:
        heard: Heard = FORMS[api].hear(api, body)
        change(heard)
        return heard

    return {"hear": hear}


def hears(when: When = always, **fields: Any) -> Stages:
    """The server takes parts of a request for others."""
    return hearing(lambda heard: vars(heard).update(fields) if when(heard) else None)


def reads(role: str, change: Callable[[str], str], when: When = always) -> Stages:
    """The texts of a role's messages as the server understands them."""

    def change_turns(heard: Heard) -> None:
        for turn in heard.turns if when(heard) else ():
            turn.text = change(turn.text) if turn.role == role else turn.text

    return hearing(change_turns)


def kept_turns(keep: Callable[[list[Turn], int], bool]) -> Stages:
    """The messages that the server understands, by their place; all where none would be left."""

    def change(heard: Heard) -> None:
        turns = heard.turns
        heard.turns = [turn for place, turn in enumerate(turns) if keep(turns, place)] or turns

    return hearing(change)


def empty_results(last: str) -> Stages:
    """Results before the last message of a role are empty."""

    def change(heard: Heard) -> None:
        until = max((place for place, turn in enumerate(heard.turns) if turn.role == last), default=0)
        for turn in heard.turns[:until]:
            turn.text = "" if turn.role == "tool" else turn.text

    return hearing(change)


def first_part(*roles: str) -> Stages:
    """Of messages in parts the first part is read."""

    def read(message: Json) -> Json:
        cut = message["role"] in roles and isinstance(message.get("content"), list)
        return {**message, "content": message["content"][:1]} if cut else message

    return {"body": lambda body: edited(body, ["messages", "*"], read)}


def accepting(words: str) -> Stages:
    """Requests that are wrong in this way are answered."""

    def hear(api: str, body: Any) -> Heard:
        try:
            heard: Heard = FORMS[api].hear(api, body)
        except Refusal as refusal:
            if words not in refusal.message:
                raise
            return Heard(api, [Turn("user", "Say hello.")], [])
        return heard

    return {"hear": hear}


# -- refusals ----------------------------------------------------------------------------------------------------------


def refusing(when: When, message: str = "this is not possible", status: int = 400) -> Stages:
    """A request that is right is refused."""

    def change(heard: Heard) -> None:
        if when(heard):
            raise Refusal(message, status)

    return hearing(change)


def refusing_body(wrong: Callable[[Json], bool], status: int = 400) -> Stages:
    """A request that is right is refused as it stands."""

    def look(body: Json) -> Json:
        if wrong(body):
            raise Refusal("this is not supported", status)
        return body

    return {"body": look}


def refusing_turn(wrong: Callable[[Json], bool], status: int = 400) -> Stages:
    """A message, an input item or a function of the request is refused."""
    fields = ("messages", "input", "tools")
    return refusing_body(lambda body: any(wrong(each) for name in fields for each in body.get(name) or ()), status)


def told(words: str, status: int, message: str) -> Stages:
    """Refusals with these words are answered otherwise."""
    otherwise = status, {"error": {"message": message}}
    return {"refuse": lambda refusal: otherwise if words in refusal.message else refused(refusal)}


# -- of which requests -------------------------------------------------------------------------------------------------


def last_of(heard: Heard) -> str:
    """The last thing a user said."""
    return next((turn.text for turn in reversed(heard.turns) if turn.role == "user"), "")


def last_is_tool(heard: Heard) -> bool:
    return heard.turns[-1].role == "tool"


def thinks(heard: Heard) -> bool:
    return "Think about it" in last_of(heard)


def choice(*names: str) -> When:
    """Whether the choice is one of these; ``=``: any function by name."""
    return lambda heard: heard.choice[:1] in names or heard.choice in names


def is_strict(heard: Heard) -> bool:
    return heard.strict


def schema_has(word: str, *, sort: bool = False) -> When:
    return lambda heard: word in json.dumps(heard.tools, sort_keys=sort)


def in_parts(role: str) -> Callable[[Json], bool]:
    """Whether a message of this role is a list of parts."""
    return lambda turn: turn.get("role") == role and isinstance(turn.get("content"), list)


# -- load, and what counts ---------------------------------------------------------------------------------------------


def swap_flying(server: Reference, said: Message) -> Message:
    """The latest answer that is in flight, whoever asked for it."""
    return replace(server.flying[-1], ids=[]) if len(server.flying) > 1 else said


def hold_slot(server: Reference, finished: bool) -> None:
    if finished:
        server.slots.release()
    else:
        asyncio.get_running_loop().call_later(30.0, server.slots.release)


NUMBERS = itertools.count()


def fresh(*_: Any) -> str:
    """Another id every time."""
    return f"id_{next(NUMBERS)}"
