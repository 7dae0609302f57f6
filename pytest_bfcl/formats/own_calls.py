"""A reply in a model's own format → calls: under official rules as its family's handler, else repaired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_bfcl.formats.decoders import Decoder
from pytest_bfcl.formats.decoders import mended as without_defects
from pytest_bfcl.formats.members import items, texts
from pytest_bfcl.formats.schema_types import Documents
from pytest_bfcl.formats.table import find_decoder
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.syntax.json_format import decode_native, parse_json
from pytest_bfcl.syntax.limits import DecodeError, WrongShape, check_length, is_call_list
from pytest_bfcl.syntax.python_syntax import check_count, decode_python
from pytest_bfcl.transcript import Call, Reply


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
