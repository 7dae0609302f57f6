"""Values that must arrive as they were dictated, streamed and unstreamed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from pytest_bfcl.extensions.wire.differences import Wanted
from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.probe import Broke, Probe, together
from pytest_bfcl.extensions.wire.requests import Tool
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import NOTHING, TEXT, Json, dictate, note, schema
from pytest_bfcl.formats.families import family_of

Judge = Callable[[Probe], Awaitable[None]]


def texts(*templates: str) -> Judge:
    """Each text, with a fresh word in place of ``{}``, is one dictated argument."""

    async def judge(probe: Probe) -> None:
        asked = [note(template.replace("{}", probe.word())) for template in templates]
        await together(*(probe.dictated(dictate(each), [each]) for each in asked))

    return judge


async def _marks(probe: Probe) -> None:
    """The marks of the model's own format in a text; of an unknown model's name those of the most models."""
    family = family_of(probe.line.model)
    marks = dict.fromkeys((*(family.signs if family is not None else ()), *MARKS))
    asked = [note(f"{probe.word()} {mark} end") for mark in marks]
    await together(*(probe.dictated(dictate(each), [each]) for each in asked))


MARKS = ("</tool_call>", "<tool_call>", "[TOOL_CALLS]", "</parameter>", "</function>", "</arg_value>", "<|im_end|>")


def values(properties: Mapping[str, Json], arguments: Json, name: str = "set_values") -> Judge:
    """Arguments of other types, dictated together with a fresh word."""
    tool = Tool(name, schema({"label": TEXT, **properties}), "Sets values.")

    async def judge(probe: Probe) -> None:
        wanted = Wanted(tool.name, {"label": probe.word(), **arguments})
        await probe.dictated(dictate(wanted, tools=[tool]), [wanted])

    return judge


async def _empty(probe: Probe) -> None:
    wanted = Wanted(NOTHING.name, {})
    await probe.dictated(dictate(wanted, tools=[NOTHING]), [wanted])


async def _long(probe: Probe) -> None:
    word = probe.word()
    lines = [f"Line {number:04} of the report is about {word}." for number in range(520)]
    text = " ".join(lines)[:20_000]
    await probe.dictated(dictate(note(text)), [note(text)])


SHIFTS = 8


async def _unicode_boundaries(probe: Probe) -> None:
    async def shifted(width: int) -> None:
        text = "a" * width + "é世😀ß" * 6 + probe.word()
        _, streamed = await probe.dictated(dictate(note(text)), [note(text)])
        _whole_characters(streamed.exchange)

    await together(*(shifted(width) for width in range(SHIFTS)))


async def _surrogates(probe: Probe) -> None:
    text = f"{probe.word()} 😀👩‍🚀𝔘𝕟𝕚 🇳🇴"
    _, streamed = await probe.dictated(dictate(note(text)), [note(text)])
    _whole_characters(streamed.exchange)


def _whole_characters(exchange: Exchange) -> None:
    """No event holds half a character: neither half a code point's bytes nor half a surrogate pair."""
    for event in exchange.events:
        try:
            event.raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Broke("an event's bytes are no UTF-8", exchange, proof=event.raw) from None
        if any("\ud800" <= c <= "\udfff" for c in str(_strings(event.parsed))):
            raise Broke("an event's JSON holds half a surrogate pair", exchange, proof=event.raw)


def _strings(value: object) -> str:
    """All texts in a JSON value, one after another."""
    if isinstance(value, dict):
        return "".join(map(_strings, value.values()))
    if isinstance(value, list):
        return "".join(map(_strings, value))
    return value if isinstance(value, str) else ""


NUMBERS: Json = {"whole": 9007199254740993, "negative": -17, "decimal": 0.1, "small": 1.5e-07, "zero": 0, "last": 12}
NUMBER_TYPES: Json = {name: {"type": "integer" if isinstance(v, int) else "number"} for name, v in NUMBERS.items()}
NESTED: Json = {
    "order": {"items": [{"name": "nut", "sizes": [1, 2, [3]]}, {"name": "bolt", "sizes": []}], "to": {"at": {"x": {}}}}
}
NESTED_TYPES: Json = {
    "order": schema(
        {
            "items": {"type": "array", "items": schema({"name": TEXT, "sizes": {"type": "array"}})},
            "to": schema({"at": schema({"x": {"type": "object"}})}),
        }
    )
}


NOTHING_TYPES: Json = {"text": TEXT, "list": {"type": "array"}, "object": {"type": "object"}}
WORDS = {"a": "null", "b": "None", "c": "2026-02-03", "d": "-"}


JUDGES: Judges = {
    "arguments_numbers": values(NUMBER_TYPES, NUMBERS),
    "arguments_booleans": values({"on": {"type": "boolean"}, "off": {"type": "boolean"}}, {"on": True, "off": False}),
    "arguments_null": values({"nothing": {"type": ["string", "null"]}}, {"nothing": None}),
    "arguments_nested": values(NESTED_TYPES, NESTED),
    "arguments_empty": _empty,
    "arguments_unicode": texts("{} Grüße, 世界, שלום, नमस्ते, Ελλάδα"),
    "arguments_surrogates": _surrogates,
    "unicode_boundaries": _unicode_boundaries,
    "arguments_quotes": texts("""{} said "no" and 'yes' and "" and ''"""),
    "arguments_backslashes": texts(r"C:\new\table\{} \\server\u0041 \" end\\"),
    "arguments_newlines": texts("{}\nsecond\n\n\tfourth\r\nfifth"),
    "arguments_braces": texts('{} } ], "a": {"b": [1, 2}, ] ```'),
    "arguments_markup": texts('{} <b class="x">1 &lt; 2 && 3 > 2</b> &amp;'),
    "arguments_blanks": texts("  {}   three blanks  "),
    "arguments_final_newline": texts("{}\nlast line\n"),
    "arguments_percent": texts("{} 100% of %20 and %2F, a+b"),
    "arguments_nothing": values(NOTHING_TYPES, {"text": "", "list": [], "object": {}}),
    "arguments_list_of_one": values({"sizes": {"type": "array"}}, {"sizes": [7]}),
    "arguments_words": values(dict.fromkeys(WORDS, TEXT), WORDS),
    "arguments_json_text": values({"a": TEXT, "b": TEXT}, {"a": '{"k": [1]}', "b": "[1, 2]"}),
    "arguments_number_text": values({"a": TEXT, "b": TEXT, "c": TEXT}, {"a": "007", "b": "true", "c": "1e5"}),
    "arguments_marks": _marks,
    "arguments_long": _long,
}
