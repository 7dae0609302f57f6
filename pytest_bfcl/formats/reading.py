"""How recorded texts are read: the decoder, and the treatment of thoughts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.decoders import Decoder
from pytest_bfcl.formats.decoders import mended as without_defects
from pytest_bfcl.formats.members import items, texts
from pytest_bfcl.formats.schema_types import Documents
from pytest_bfcl.formats.table import find_decoder, guessed_decoder, nearest_families, resembles
from pytest_bfcl.formats.thinking import Think, Thinking, read_thinking
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.syntax.json_format import decode_native, parse_json
from pytest_bfcl.syntax.limits import DecodeError, WrongShape, check_length, is_call_list
from pytest_bfcl.syntax.python_syntax import check_count, decode_python
from pytest_bfcl.transcript import Call, Mode, Reply, Transcript


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
