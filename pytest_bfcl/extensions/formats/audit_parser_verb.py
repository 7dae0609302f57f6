"""Compare a parser of an installed vLLM, SGLang or LMDeploy with our decoder, and with itself when it streams.

The decoder and the parser read every text; the parser also reads it streamed, under every split into deltas. Exit
code 1 when any two results differ.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import say

if TYPE_CHECKING:
    from pytest_bfcl.extensions.formats.installed_parser import Found, StreamedText
    from pytest_bfcl.formats.decoders import Decoder

SUMMARY = "compare an installed engine's parser with our decoder"
SHOWN = 10
WIDTH = 160


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("name", metavar="NAME", help="vllm:, sglang: or lmdeploy:PARSER, as --tool-call-parser has it")
    parser.add_argument(
        "--lines", required=True, metavar="FILE",
        help=".jsonl of recorded texts: text or output, and the tools or function documents they were given",
    )  # fmt: skip
    parser.add_argument("--decoder", metavar="NAME", help="our decoder (default: the one of the same format)")
    parser.add_argument(
        "--tokenizer", default="", metavar="DIR",
        help="folder of the model's tokenizer (default: one with every special token the parser looks for)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="a line of JSON for every text")


@dataclass(frozen=True, slots=True)
class Text:
    """A recorded text with the functions it was given; ``where`` is its line's id or number."""

    where: str
    text: str
    functions: list[Fields]


def run(args: argparse.Namespace) -> int:
    """Read, compare, print."""
    from pytest_bfcl.extensions.formats.installed_parser import installed_parser, is_installed_name, under_every_split

    if not is_installed_name(args.name):
        raise UsageError(f"{args.name} names no engine: vllm:{args.name} or sglang:{args.name}")
    decoder = _decoder(args.name, args.decoder)
    texts = list(recorded_texts(Path(args.lines)))
    parser = installed_parser(args.name, args.tokenizer)
    differing = broken = by_tokens = splits = 0
    shown: list[str] = []
    for text in texts:
        told = under_every_split(parser, text.text, text.functions)
        ours = None if decoder is None else _ours(decoder, text)
        other = decoder is not None and ours != (told.whole if isinstance(told.whole, list) else [])
        differing += other
        broken += bool(told.failing)
        by_tokens += told.by_tokens
        splits += told.splits
        if args.json:
            say(json.dumps(_as_json(text, ours, told)))
        elif (other or told.failing) and len(shown) < SHOWN * 6:
            shown += _difference_lines(args.name, decoder, text, ours if other else None, told)
    if not args.json:
        _summary(args.name, decoder, len(texts), differing)
        say(
            f"streamed in {splits:,} ways: {len(texts) - broken} texts read alike in all of them, {broken} do not"
            f" ({by_tokens} token by token, as servers stream)"
        )
        say("\n".join(shown))
    return 1 if differing or broken else 0


def _summary(name: str, decoder: Decoder | None, texts: int, differing: int) -> None:
    held = "no decoder of ours to compare with" if decoder is None else (
        f"decoder {decoder.name} finds the same in {texts - differing} of them"
    )  # fmt: skip
    say(f"{name} on {texts} texts: {held}")


def _difference_lines(
    name: str, decoder: Decoder | None, text: Text, ours: Found | None, told: StreamedText
) -> Iterator[str]:
    """The lines about one text where something differs."""
    yield f"{text.where}: {_cut(text.text)}"
    yield f"  {name} unstreamed: {_cut(told.whole)}"
    if ours is not None and decoder is not None:
        yield f"  decoder {decoder.name}: {_cut(ours)}"
    if told.failing:
        yield f"  {told.failing} of {told.splits} splits come to something else; the smallest:"
        yield "    " + " | ".join(_cut(delta) for delta in told.deltas[:SHOWN])
        yield f"    streamed: {_cut(told.streamed)}"


def _as_json(text: Text, ours: Found | None, told: StreamedText) -> dict[str, Any]:
    return {
        "id": text.where, "decoder": ours, "unstreamed": told.whole, "splits": told.splits, "failing": told.failing,
        "by_tokens": told.by_tokens, "deltas": list(told.deltas),
        "streamed": told.streamed if told.failing else told.whole,
    }  # fmt: skip


def _cut(value: object) -> str:
    from pytest_bfcl.plain_text import cut

    return cut(json.dumps(value, ensure_ascii=False, default=str), WIDTH)


def _decoder(name: str, chosen: str | None) -> Decoder | None:
    """Our decoder of the parser's format. Raises `UsageError` for one that is named and unknown."""
    from pytest_bfcl.formats.table import decoder_of_parser, find_decoder

    if chosen is not None:
        return find_decoder(chosen)
    engine, _, parser = name.partition(":")
    return decoder_of_parser(engine, parser)


def _ours(decoder: Decoder, text: Text) -> Found:
    from pytest_bfcl.formats.own_calls import own_calls
    from pytest_bfcl.syntax.limits import DecodeError
    from pytest_bfcl.transcript import Reply

    try:
        return [(call.name, call.arguments) for call in own_calls(Reply(text=text.text), decoder, text.functions)]
    except DecodeError:
        return []


def recorded_texts(path: Path) -> Iterator[Text]:
    """The texts of a file; lines of runs and of tests of parsers are known. Raises `UsageError` without any."""
    from pytest_bfcl.runs.lines import read_json_lines

    found = False
    try:
        for line in read_json_lines(path):
            text = line.value.get("text", line.value.get("output"))
            if isinstance(text, str) and text:
                found = True
                where = str(line.value.get("id") or f"line {line.number}")
                yield Text(where, text, _functions(line.value))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    if not found:
        raise UsageError(f"{path} holds no texts: lines have text or output")


def _functions(line: Fields) -> list[Fields]:
    listed = line.get("tools") or line.get("function") or ()
    documents = [each.get("function", each) for each in listed if isinstance(each, dict)]
    return [each for each in documents if isinstance(each, dict)]
