"""The parser of an installed vLLM or SGLang as a decoder: ``ENGINE:PARSER``, or ``ENGINE:PARSER+stream``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_bfcl.extensions.formats.installed_parser import STREAMED, installed_parser, pairs_of
from pytest_bfcl.extensions.formats.parser_streams import token_cuts
from pytest_bfcl.formats.decoders import Decoder
from pytest_bfcl.formats.served import calls_of, texts_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.limits import DecodeError


def installed_decoder(name: str) -> Decoder:
    """The parser asked, streamed token by token for ``+stream``. Raises `UsageError`."""
    parser = installed_parser(name)

    def pairs(text: str, functions: Sequence[Fields]) -> list[tuple[Any, Any]]:
        if not name.endswith(STREAMED):
            return list(pairs_of(parser.whole(text, functions)))
        (calls,) = parser.streamed(text, functions, [token_cuts(parser.atoms(text, functions))])
        if isinstance(calls, DecodeError):
            raise calls
        return list(pairs_of(calls))

    what = f"the parser {parser.name} of an installed {parser.engine}"
    return Decoder(name, what, texts_of(pairs), calls_of(pairs), served=True, thinking="think")
