"""The benchmark's handlers by the formats they read, with the exact failure behaviour of each (formats spec §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_bfcl.extensions.formats import json_calls, text_calls
from pytest_bfcl.extensions.formats.installed_parser import STREAMED, installed_parser, pairs_of, token_cuts
from pytest_bfcl.formats.decoders import HANDLER, HANDLERS, Decoder, handler_name
from pytest_bfcl.formats.members import Pair, items, iterated, objects, pair, string_parsed, texts
from pytest_bfcl.formats.served import calls_of, texts_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError


def _handler(
    name: str, texts: Callable[..., list[str]], calls: Callable[..., Any] | None = None, **more: Any
) -> Decoder:
    return Decoder(handler_name(name), HANDLERS[name], texts, calls, **more)


def _of_pairs(name: str, pairs: Callable[..., list[Pair]], comma: str = ",", **more: Any) -> Decoder:
    """A handler with both readings from the same pairs."""
    return _handler(
        name, lambda result: texts(pairs(result), comma), lambda result: objects(pairs(result)), **more
    )  # fmt: skip


def native_calls(result: object) -> list[Any]:
    """``{name: JSON text}`` objects; the empty text is the empty list, any other does not decode."""
    if result == "":
        return []
    if not isinstance(result, list):
        raise DecodeError("no tool call: the reply is text" if result else "no tool call and no text")
    return objects((name, _parsed(arguments)) for name, arguments in items(result))


def _parsed(arguments: object) -> Any:
    return parse_json(arguments) if isinstance(arguments, str) else arguments


def native_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(items(native_calls(result)))


def mixed_calls(result: Any) -> list[Any]:
    """Nova and Gemini: calls hold parsed arguments; a text-only reply is a list of texts, which is no list of calls."""
    return [result] * bool(result) if isinstance(result, str) else list(result)


def mixed_texts(result: object) -> list[str]:
    """The same as call texts; a list of texts raises."""
    if not isinstance(result, list):
        if result == "":
            return []
        raise DecodeError("no tool call: the reply is text")
    return texts(string_parsed(items(result)))


def cohere_pairs(result: object) -> list[Pair]:
    """Calls stored as ``{tool_name, parameters}``; anything else is no call."""
    return list(items(result)) if isinstance(result, list) else []


def xiaoming_calls(result: object) -> list[Any]:
    """xiaoming: stored as native calls, read like DM-Cito's, so calls never decode."""
    return objects(map(pair, iterated(result)))


def installed_decoder(name: str) -> Decoder:
    """The requested parser; ``+stream`` reads token by token. Raises `UsageError`."""
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


_PARSED = (
    _handler("python-fence", text_calls.phi_texts, source=text_calls.without_fence),
    _handler("tool-code", text_calls.gemini_texts, source=text_calls.no_tool_code),
    _handler("toolcall", text_calls.toolcall_texts, source=text_calls.toolcall),
    _handler("gorilla", text_calls.never, source=text_calls.bracketed),
    _handler("nexus", text_calls.never, source=text_calls.nexus, read=text_calls.read_nexus),
)
_LISTED = json_calls.listed_texts, json_calls.listed_calls
_OWN = (
    _handler("hermes", json_calls.hermes_texts, json_calls.hermes_calls, thinking="think"),
    _handler("hermes-strict", *_LISTED, read=json_calls.read_arch, stored=True),
    _of_pairs("falcon", json_calls.falcon_pairs),
    _handler("granite3", *_LISTED, read=json_calls.read_granite3, stored=True),
    _handler("phi4-mini", *_LISTED, read=json_calls.read_phi, stored=True),
    _handler("granite20b", text_calls.granite20b_texts, text_calls.granite20b_calls),
    _of_pairs("llama3-json", json_calls.llama_pairs),
    _handler("hammer", json_calls.hammer_texts, json_calls.hammer_calls),
    _of_pairs("json-list", json_calls.bitagent_pairs),
    _of_pairs("xlam", json_calls.xlam_pairs),
    _handler("mistral-json", *_LISTED, read=json_calls.read_mistral, stored=True),
    _handler("thinkagent", json_calls.thinkagent_texts, lambda result: objects(json_calls.thinkagent_pairs(result))),
    _handler("glm4", text_calls.glm_texts, text_calls.glm_calls),
    _of_pairs("functiongemma", text_calls.gemma_pairs, ", "),
    _handler("minicpm3", text_calls.minicpm_texts, text_calls.minicpm_calls),
    _handler("tool-calls-list", json_calls.mining_texts, json_calls.mining_calls, read=json_calls.read_mining),
    _handler("native", native_texts, native_calls),
    _handler("native-or-texts", mixed_texts, mixed_calls, stored=True),
    _of_pairs("cohere", cohere_pairs, stored=True),
    _handler("xiaoming", json_calls.mining_texts, xiaoming_calls, stored=True),
)


DECODERS: Mapping[str, Decoder] = {decoder.name.removeprefix(HANDLER): decoder for decoder in (*_PARSED, *_OWN)}
"""Name → the *reference reading* of the format; the entry point ``reference`` of the group ``pytest_bfcl.handlers``."""
