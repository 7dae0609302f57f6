"""Dictated calls arrive: their number, the choice, any values, many tools, unusual names and schemas.

``dictated.json`` has values and schemas: texts (``{}`` becomes a fresh word), values of other types with their
properties, parameters of tools with fitting arguments.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from pytest_bfcl.extensions.wire.differences import EXACT, Match, Wanted, compare
from pytest_bfcl.extensions.wire.probe import Broke, NotCalled, Probe, together
from pytest_bfcl.extensions.wire.replies import Exchange, Reply
from pytest_bfcl.extensions.wire.requests import (
    LOOK_UP,
    NOTE,
    NOTHING,
    PING,
    TEXT,
    Request,
    Tool,
    dictate,
    note,
    schema,
)
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.formats.table import family_of
from pytest_bfcl.json_types import Fields, Parsed

FIVE = (NOTE, PING, LOOK_UP, Tool("set_name", schema({"name": TEXT}), "Sets a name."),
        Tool("open_door", schema({"door": TEXT}), "Opens a door."))  # fmt: skip


DICTATED: Parsed = json.loads(Path(__file__).with_name("dictated.json").read_text(encoding="utf-8"))
"""Kind → check → what it dictates."""


def forms(request: Request, **more: object) -> list[Request]:
    """The request in both forms with this change."""
    return [replace(request, stream=stream, **more) for stream in (False, True)]  # type: ignore[arg-type]


# -- how many, and who decides ---------------------------------------------------------------------------------------


async def _parallel(count: int, probe: Probe) -> None:
    """This number of calls of different functions in one answer."""
    wanted = [Wanted(tool.name, {next(iter((tool.parameters or {})["properties"])): probe.word()}) for tool in FIVE]
    await probe.dictated(dictate(*wanted[:count], tools=FIVE), wanted[:count])


async def _same_twice(probe: Probe) -> None:
    wanted = [note(probe.word()), note(probe.word())]
    await probe.dictated(dictate(*wanted), wanted)


async def _after_empty(probe: Probe) -> None:
    full, empty = note(probe.word()), Wanted(NOTHING.name, {})

    def ordered(reply: Reply) -> Match:
        names = [call.name for call in reply.calls]
        return compare([empty, full] if names[:1] == [empty.name] else [full, empty], reply)

    tools = (NOTE, NOTHING)
    await probe.weighed([dictate(full, empty, tools=tools), *forms(dictate(empty, full, tools=tools))], ordered)


async def _text(said: str, where: Literal["before", "after"], probe: Probe) -> None:
    """A text ``before`` or ``after`` a call."""
    text = f"{said}, {probe.word()}."

    def text_match(reply: Reply) -> Match:
        if not reply.calls:
            return Match("none", "no call")
        return EXACT if text in reply.text else Match("other", f"the text is {ascii(reply.text)[:120]}")

    shaping: Fields = {where: text}
    await probe.alike(dictate(note(probe.word()), **shaping), text_match)


async def _auto(probe: Probe) -> None:
    wanted = [note(probe.word())]
    request = dictate(*wanted)
    requests = [*forms(request), *forms(request, choice="auto")]
    await probe.weighed(requests, lambda reply: compare(wanted, reply))


async def _parallel_off(probe: Probe) -> None:
    request = dictate(note(probe.word()), Wanted(PING.name, {"host": probe.word()}), tools=(NOTE, PING))
    if len((await probe.reply(request)).calls) < 2:
        raise NotCalled("the model does not make two calls when it may either")
    for reply in await probe.both(replace(request, parallel=False)):
        if len(reply.calls) > 1:
            raise Broke(f"{reply.form}: parallel_tool_calls is false, and there are {len(reply.calls)} calls", reply)
        if not reply.calls:
            raise NotCalled(f"{reply.form}: no call at all", reply)


_TAGS, _SIZES = ({"type": "array", "items": {"type": kind}} for kind in ("string", "integer"))
LISTS = Tool("set_tags", schema({"tags": _TAGS, "sizes": _SIZES}), "Sets tags and sizes.")


async def _required_lists(probe: Probe) -> None:
    wanted = [Wanted(LISTS.name, {"tags": [probe.word(), "b"], "sizes": [1, 2]})]
    plain = dictate(*wanted, tools=[LISTS])
    await probe.weighed([plain, *forms(plain, choice="required")], lambda reply: compare(wanted, reply))


async def called(probe: Probe, *, stream: bool = False) -> Reply:
    """An answer to one dictated call that has at least one call."""
    reply = await probe.reply(dictate(note(probe.word())), stream=stream)
    if not reply.calls:
        raise NotCalled("the model did not call", reply)
    return reply


async def thoughts(probe: Probe) -> tuple[Fields, ...]:
    """The reasoning of a call, requested once: an endpoint may refuse calls without any in a history."""

    async def ask() -> tuple[Fields, ...]:
        (reply, *_) = await probe.replies(dictate(note(probe.word())))
        return reply.thoughts

    return await probe.shared("thoughts", ask)


# -- values ----------------------------------------------------------------------------------------------------------


async def _argument(template: str, probe: Probe) -> None:
    """A text, with a fresh word for ``{}``, is the dictated argument."""
    wanted = note(template.replace("{}", probe.word()))
    await probe.dictated(dictate(wanted), [wanted])


async def _marks(probe: Probe) -> None:
    """The signs of the model's own format in a text; for an unknown model those of most models."""
    family = family_of(probe.line.model)
    marks = dict.fromkeys((*(family.signs if family is not None else ()), *MARKS))
    await together(*(_argument(f"{{}} {mark} end", probe) for mark in marks))


MARKS = ("</tool_call>", "<tool_call>", "[TOOL_CALLS]", "</parameter>", "</function>", "</arg_value>", "<|im_end|>")


async def _values(properties: Fields, arguments: Fields, probe: Probe) -> None:
    """Arguments of other types, dictated with a fresh word."""
    tool = Tool("set_values", schema({"label": TEXT, **properties}), "Sets values.")
    wanted = Wanted(tool.name, {"label": probe.word(), **arguments})
    await probe.dictated(dictate(wanted, tools=[tool]), [wanted])


async def _empty(probe: Probe) -> None:
    wanted = Wanted(NOTHING.name, {})
    await probe.dictated(dictate(wanted, tools=[NOTHING]), [wanted])


async def _long(probe: Probe) -> None:
    word = probe.word()
    lines = [f"Line {number:04} of the report is about {word}." for number in range(520)]
    await _argument(" ".join(lines)[:20_000], probe)


SHIFTS = 8


async def _unicode_boundaries(probe: Probe) -> None:
    await together(*(_whole_characters(probe, "a" * width + "é世😀ß" * 6 + probe.word()) for width in range(SHIFTS)))


async def _surrogates(probe: Probe) -> None:
    await _whole_characters(probe, f"{probe.word()} 😀👩‍🚀𝔘𝕟𝕚 🇳🇴")


async def _whole_characters(probe: Probe, text: str) -> None:
    """The text arrives, and no event has half a character: neither half of a code point's bytes nor half a pair."""
    exchange: Exchange = (await probe.dictated(dictate(note(text)), [note(text)])).exchange
    for event in exchange.events:
        try:
            event.raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Broke("an event's bytes are no UTF-8", exchange, proof=event.raw) from None
        if any("\ud800" <= c <= "\udfff" for c in json.dumps(event.parsed, ensure_ascii=False)):
            raise Broke("an event's JSON holds half a surrogate pair", exchange, proof=event.raw)


# -- tools -----------------------------------------------------------------------------------------------------------


async def _one_of(count: int, probe: Probe) -> None:
    """A call of the last tool of ``count``, compared with the same call of that tool alone."""
    tools = [Tool(f"action_{n:03}", schema({"text": TEXT}), f"Carries out action {n}.") for n in range(count)]
    wanted = Wanted(tools[-1].name, {"text": probe.word()})
    requests = [dictate(wanted, tools=tools[-1:]), *forms(dictate(wanted, tools=tools))]
    await probe.weighed(requests, lambda reply: compare([wanted], reply))


SAID = "Sets something up."


async def asked_for_less(probe: Probe, tool: Tool, arguments: Fields, *others: Tool) -> None:
    """A dictated call of a tool, compared with the same under a schema without conditions."""
    wanted = Wanted(tool.name, arguments)
    plain = Tool(tool.name, schema({key: {} for key in arguments}), SAID)
    requests = [
        dictate(wanted, tools=[*others, plain]), *forms(dictate(wanted, tools=[*others, tool]))
    ]  # fmt: skip
    await probe.weighed(requests, lambda reply: compare([wanted], reply))


async def _tool(probe: Probe, parameters: Fields, arguments: Fields, *, name: str = "set_up", said: str = SAID) -> None:
    """A dictated call of a tool with this schema; the label is a fresh word."""
    given = {**arguments, "label": probe.word()}
    await asked_for_less(probe, Tool(name, parameters, said), given, NOTE)


async def _without_parameters(probe: Probe) -> None:
    await asked_for_less(probe, Tool("get_status", None, SAID), {}, NOTE)


LABEL: Parsed = schema({"label": TEXT})
LONG = "Sets something up. " + "The value is kept until it is changed; nothing else happens. " * 130
NAMES = {
    "name_dots": "files.v2.save",
    "name_dashes": "save-the-file",
    "name_case": "saveHTTPFile",
    "name_64": "save_" + "a_very_long_name_" * 3 + "12345678",
}
"""Check → an unusual but allowed name of a tool."""

JUDGES: Judges = {
    "calls_one": partial(_parallel, 1),
    "calls_five": partial(_parallel, 5),
    "calls_same_twice": _same_twice,
    "calls_after_empty": _after_empty,
    "text_before": partial(_text, "I will note this now", "before"),
    "text_after": partial(_text, "That was everything", "after"),
    "choice_auto": _auto,
    "choice_required_lists": _required_lists,
    "parallel_off": _parallel_off,
    **{name: partial(_argument, said) for name, said in DICTATED["texts"].items()},
    **{name: partial(_values, said["properties"], said["arguments"]) for name, said in DICTATED["values"].items()},
    "arguments_empty": _empty,
    "arguments_surrogates": _surrogates,
    "unicode_boundaries": _unicode_boundaries,
    "arguments_marks": _marks,
    "arguments_long": _long,
    **{name: partial(_tool, **said) for name, said in DICTATED["tools"].items()},
    **{name: partial(_tool, parameters=LABEL, arguments={}, name=said) for name, said in NAMES.items()},
    "tools_1": partial(_one_of, 1),
    "tools_64": partial(_one_of, 64),
    "tools_200": partial(_one_of, 200),
    "schema_long_description": partial(_tool, parameters=LABEL, arguments={}, said=LONG),
    "schema_none": _without_parameters,
}
