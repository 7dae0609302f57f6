"""Finds the format of a text with calls: for advice, for reports of lost calls, for unreadable folders.

And how recorded texts are read: the decoder, and the treatment of thoughts.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.decoders import Decoder
from pytest_bfcl.formats.decoders import mended as without_defects
from pytest_bfcl.formats.members import items, literal, texts
from pytest_bfcl.formats.notations import Notation
from pytest_bfcl.formats.schema_types import Documents
from pytest_bfcl.formats.served import NOTATIONS, TELLING, announced, elements
from pytest_bfcl.formats.table import find_decoder, guessed_decoder, nearest_families, resembles
from pytest_bfcl.formats.thinking import Think, Thinking, part, read_thinking
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.syntax.json_format import decode_native, parse_json
from pytest_bfcl.syntax.limits import DecodeError, WrongShape, check_length, is_call_list
from pytest_bfcl.syntax.python_syntax import check_count, decode_python
from pytest_bfcl.transcript import Call, Mode, Reply, Transcript, wire_name

LOOKED_AT = 50_000
"""Longest text that is searched; a lost call is in a short one."""

_PLAIN = (('"parameters"', "llama3-json"), ('"arguments"', "xlam"), ("(", "pythonic"), ("\n{", "functionary32"))
"""Formats without their own signs: a text that fits them is a call only with the name of an offered function."""


_TURNS = (
    "</tool_call>", "</function>", "<parameter=", "<arg_key>", "functools[", "[TOOL_RESULTS]", "<tool▁", "<｜tool",
    "<|tool", "<|function", "<|plugin|>", "<|channel|>", "<|message|>", "<|call|>", "<|start|>", "<|im_start|>",
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>",
)  # fmt: skip
SIGNS = tuple(
    dict.fromkeys(
        [mark for name in TELLING for mark in NOTATIONS[name].marks if re.search(r"[<\[=]", mark)] + list(_TURNS)
    )
)
"""Signs around calls and turns in models' own formats; an answer's text has none of them."""


def sign_in(text: str) -> str | None:
    """The first sign of a model's own format in a text."""
    return next((sign for sign in SIGNS if sign in text), None)


def lost_calls(text: str, functions: Sequence[Fields] = ()) -> tuple[str, list[Call]] | None:
    """The format of the calls in a text, and the calls; ``None`` without any. Without ``functions`` any name may be a
    function. `reading_name` gives the decoder for the format.
    """
    if len(text) > LOOKED_AT or not text.strip():
        return None
    answer = part(text, "served").answer
    for name in announced(answer):
        if calls := _calls_by(answer, name, functions):
            return name, calls
    for sign, name in _PLAIN:
        calls = _calls_by(answer, name, functions) if sign in answer else []
        if not calls:
            continue
        offered = {wire_name(str(function.get("name"))) for function in functions}
        anyone = not offered and name != "functionary32"  # a word on its own line may be anything
        if anyone or any(wire_name(call.name) in offered for call in calls):
            return name, calls
    return None


def _calls_by(text: str, name: str, functions: Sequence[Fields]) -> list[Call]:
    return _calls_of(NOTATIONS[name], text, functions)


def _calls_of(notation: Notation, text: str, functions: Sequence[Fields] = ()) -> list[Call]:
    try:
        pairs = notation.pairs(text, functions)
    except DecodeError:
        return []
    return [Call(call, arguments) for call, arguments in pairs if isinstance(arguments, dict)]


_TURN = re.compile(
    r"<\|(?:im_start|im_end|eot_id|eom_id|start_header_id|end_header_id|user|assistant|system|observation|end|return)\|>"
    r"|</s>|\[/?INST\]|<(?:start|end)_of_turn>|<｜(?:User|Assistant|end▁of▁sentence)｜>"
    r"|^(?:USER|ASSISTANT|SYSTEM|FUNCTION RESPONSE|Human|Assistant|User):",
    re.MULTILINE,
)
"""Separators of turns in a template's text of a conversation."""
_CALLED = re.compile(r"(?<![\w.])(?:[^\WA-Za-z_]|\.)*+([A-Za-z_][\w.]*+)\s*+\(")
"""The name of a Python call: a word is tried once, not from each of its letters."""
_QUOTED = re.compile(r"""\{\s*"name"\s*:\s*"([^"]{1,200})"\s*,\s*"arguments"\s*:\s*'([^']{0,4000})'\s*\}""")
"""A call whose arguments are JSON in single quotes, as in Glaive's training data."""
_ACTION = re.compile(r"^Action:[ \t]*([\w.-]{1,200})[ \t]*\n+Action Input:[ \t]*\{", re.MULTILINE)
"""A call in the form of ReAct prompts."""
_VALUE = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder()
_PYTHONIC = re.compile(r"\s*(?:'|\{\s*')")
"""After a bracket: a text in single quotes, as Python prints objects."""
_ESCAPED = re.compile(r"&(?:lt|quot|#34|#39|#x27);")
_INVOKES = elements("<invoke ", ends=("</function_calls>",))
"""Calls in the form of Claude's own prompts."""
_MOST_STARTS = 500
"""Places of one text where JSON or a Python call may begin."""
_LONGEST_CALL = 4_000


_ANNOUNCED = re.compile("|".join(re.escape(mark) for name in TELLING for mark in NOTATIONS[name].marks))


def values_in(text: str) -> Iterator[Any]:
    """Every object and list in a text, the outermost ones; in fences, tags or prose. They are JSON or Python literals,
    also inside a JSON text and with HTML escapes. Unclosed ones are tried at most `_MOST_STARTS` times and over twice
    the text's length.
    """
    text = _unescaped(text)
    position = starts = 0
    left = 2 * len(text)
    scan = _DECODER.raw_decode
    while starts < _MOST_STARTS and left >= 0 and (found := _VALUE.search(text, position)) is not None:
        starts += 1
        try:
            value, position = scan(text, found.start())
        except (ValueError, RecursionError) as error:
            left -= (error.pos if isinstance(error, json.JSONDecodeError) else len(text)) - found.start()
            position = found.end()
            if _PYTHONIC.match(text, position) and (end := _closing(text, position)) is not None:
                left -= end - position
                with suppress(DecodeError):
                    yield literal(text[found.start() : end])
                    position = end
            continue
        yield value


def _unescaped(text: str) -> str:
    """The content of a JSON text, with HTML escapes replaced."""
    if text.startswith('"'):
        with suppress(DecodeError):
            inner = parse_json(text)
            text = inner if isinstance(inner, str) else text
    return html.unescape(text) if _ESCAPED.search(text) else text


def calls_anywhere(text: str, names: Container[str]) -> Iterator[Call]:
    """Every possible call of a text in any format, also in whole conversations, to find known calls again. Not for
    judging, because a quoted call counts here. ``names``: the function names of Python calls.
    """
    for turn in filter(str.strip, _TURN.split(_unescaped(text))):
        if len(turn) <= LOOKED_AT:
            marked = announced(turn) if _ANNOUNCED.search(turn) else ()
            for name in (*marked, *(["functionary32"] if "\n{" in turn else [])):
                yield from _calls_by(turn, name, ())
            if "<invoke " in turn:
                yield from _calls_of(_INVOKES, turn)
        for name, arguments in _QUOTED.findall(turn):
            with suppress(DecodeError):
                yield Call(name, parse_json(arguments))
        for found in _ACTION.finditer(turn):
            with suppress(ValueError, RecursionError):
                yield Call(found[1], _DECODER.raw_decode(turn, found.end() - 1)[0])
        yield from _python_calls(turn, names)


def _python_calls(text: str, names: Container[str]) -> Iterator[Call]:
    """Python calls with these names, anywhere."""
    starts = 0
    for found in _CALLED.finditer(text):
        if found[1] not in names or starts >= _MOST_STARTS:
            continue
        starts += 1
        if (end := _closing(text, found.end())) is not None:
            with suppress(DecodeError):
                yield from decode_python(f"[{text[found.start() : end]}]")


def _closing(text: str, start: int) -> int | None:
    """The position after the parenthesis that closes a call; quoted texts are skipped."""
    depth, quote = 1, ""
    for place in range(start, min(len(text), start + _LONGEST_CALL)):
        character = text[place]
        if quote:
            quote = "" if character == quote and text[place - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
            if not depth:
                return place + 1
    return None


@dataclass(frozen=True, slots=True)
class TextReading:
    """``decoder``: a name, ``auto`` (by the model's name) or ``None``; ``think`` like the option.

    Raises `UsageError` for an unknown decoder.
    """

    decoder: str | None = None
    think: Think = "auto"

    def __post_init__(self) -> None:
        if self.decoder not in (None, "auto"):
            find_decoder(str(self.decoder))

    def decoder_for(self, model: str, mode: Mode = "fc") -> str | None:
        """The decoder's name for a model in a mode. Raises `UsageError` if ``auto`` finds none."""
        if self.decoder != "auto":
            return find_decoder(self.decoder).name if self.decoder is not None else None
        name = guessed_decoder(model, mode)
        if name is None:
            near = ", ".join(nearest_families(model))
            raise UsageError(
                f"the call format of {model or 'this model'} is not known: name a decoder, not auto "
                f"(nearest families: {near}; pytest-bfcl models --family NAME shows one)"
            )
        return name

    def decoder_text(self, model: str, mode: Mode = "fc") -> str:
        """The decoder of a model's texts, and whether it is the server's or the reference's reading; empty without
        one."""
        name = self.decoder_for(model, mode)
        if name is None:
            return ""
        served = find_decoder(name).served
        said = f"calls in texts read by {name}, the {'server' if served else 'reference'} reading"
        family = resembles(model) if self.decoder == "auto" else None
        return f"{said}; {model} only resembles the family {family.name}" if family is not None and served else said

    def apply(self, transcript: Transcript) -> Transcript:
        """A recorded conversation in this reading; the given one does not change.

        Thoughts of lines that name their decoder were parted when they were recorded.
        """
        decoder, thinking = transcript.decoder, _NONE
        if decoder is None and self.decoder is not None:
            decoder = self.decoder_for(transcript.model, transcript.mode)
            thinking = find_decoder(str(decoder)).thinking
        if self.think == "auto" and thinking == "none":
            return transcript if decoder == transcript.decoder else replace(transcript, decoder=decoder)
        turns = [
            replace(turn, steps=[replace(s, reply=without_thoughts(s.reply, self.think, thinking)) for s in turn.steps])
            for turn in transcript.turns
        ]
        return replace(transcript, decoder=decoder, turns=turns)


_NONE: Thinking = "none"


def model_name(spec: str) -> str:
    """The model's own name in a spec, without provider and mode."""
    base, found, mode = spec.rpartition("@")
    base = base if found and mode in ("fc", "prompt") else spec
    return base.partition(":")[2] or base


def without_thoughts(reply: Reply, think: Think, thinking: Thinking = "none") -> Reply:
    """A reply whose text is the answer; its reasoning is the separate one, else that found in the text."""
    if reply.text is None:
        return reply
    parted = read_thinking(reply.text, think, thinking)
    if parted.answer == reply.text and not parted.reasoning:
        return reply
    nothing = None if parted.answer.strip() else ""  # an empty thought is one where nothing else was said
    return replace(reply, text=parted.answer, reasoning=reply.reasoning or parted.reasoning or nothing)


def own_decoder(reply: Reply, name: str | None) -> Decoder | None:
    """The decoder that reads this reply; ``None`` for native calls and for the benchmark's own text.

    A reply that came with native calls needs none, unless the family's handler stores its calls in that shape.
    """
    if name is None or name in ("python", "native"):
        return None
    decoder = find_decoder(name)
    return None if reply.tool_calls and not decoder.stored else decoder


def result_of(reply: Reply, decoder: Decoder) -> Any:
    """What the family's handler stores for a reply: a list where it parses at once, else the text."""
    if reply.tool_calls:
        return [{call.name: _parsed(call.arguments)} for call in reply.tool_calls]
    if reply.text is None:
        if decoder.stored:
            return decoder.read("")
        raise DecodeError("the reply has no text")
    check_length(reply.text)
    return decoder.read(reply.text)


def _parsed(arguments: str) -> Any:
    try:
        return parse_json(arguments)
    except DecodeError:
        return arguments


def own_calls(reply: Reply, decoder: Decoder, functions: Documents = (), *, mended: bool = False) -> list[Call]:
    """The calls for single-turn checking; raises `DecodeError`, `WrongShape` where no list of calls comes out."""
    if mended and not decoder.served:
        if reply.tool_calls:
            return decode_native(reply)
        decoder = without_defects(decoder)
    assert decoder.calls is not None
    result = result_of(reply, decoder)
    value = decoder.calls(result, functions) if decoder.served else decoder.calls(result)
    if not is_call_list(value):
        raise WrongShape(value)
    return [Call(*next(iter(item.items()))) for item in value]


def own_texts(reply: Reply, decoder: Decoder, functions: Documents = (), *, mended: bool = False) -> list[str]:
    """The calls as texts for execution; raises `DecodeError`."""
    if mended and not decoder.served:
        if reply.tool_calls:
            return texts(decode_native(reply), ", ")
        decoder = without_defects(decoder)
    result = result_of(reply, decoder)
    written = decoder.texts(result, functions) if decoder.served else decoder.texts(result)
    check_count(len(written))
    return written


def decoded_calls(answer: str, decoder: str | None, functions: Documents = ()) -> list[tuple[str, Parsed]]:
    """Name and arguments of the calls a decoder finds; none where it fails or finds something else."""
    reads = find_decoder(decoder) if decoder else None
    if reads is None:
        return []
    try:
        if reads.calls is None:
            value = [call.as_object() for call in decode_python(reads.source(answer, False))]
        else:
            value = reads.calls(answer, functions) if reads.served else reads.calls(reads.read(answer))
        pairs = list(items(value))
    except DecodeError:
        return []
    return [(str(name), arguments) for name, arguments in pairs if isinstance(arguments, dict)]


def call_ids(count: int, ids: Sequence[str] = ()) -> list[str]:
    """Ids of a reply's calls, nine characters as Mistral's templates want them."""
    first = int(ids[0][4:]) if ids and ids[0][4:].isdecimal() else 1
    return [ids[number] if number < len(ids) else f"call{first + number:05d}" for number in range(count)]
