"""The benchmark's handlers by the formats they read, with the exact failure behaviour of each (formats spec §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_bfcl.extensions.formats import gemma, json_lists, sources, text_lines
from pytest_bfcl.extensions.formats import tool_call_tags as tags
from pytest_bfcl.extensions.formats.installed_parser import STREAMED, installed_parser, pairs_of
from pytest_bfcl.extensions.formats.parser_streams import token_cuts
from pytest_bfcl.formats.decoders import HANDLER, HANDLERS, Decoder, handler_name
from pytest_bfcl.formats.members import Pair, items, iterated, objects, pair, string_parsed, texts
from pytest_bfcl.formats.served import calls_of, texts_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.native import parse_json

Reads = Callable[..., Any]


def _handler(
    name: str, texts: Callable[..., list[str]], calls: Callable[..., Any] | None = None, **more: Any
) -> Decoder:
    return Decoder(handler_name(name), HANDLERS[name], texts, calls, **more)


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


def cohere_calls(result: object) -> list[Any]:
    """Cohere."""
    return objects(cohere_pairs(result))


def cohere_texts(result: object) -> list[str]:
    """The same as call texts."""
    return texts(cohere_pairs(result))


def xiaoming_calls(result: object) -> list[Any]:
    """xiaoming: stored as native calls, read as DM-Cito's, so calls never decode."""
    return objects(map(pair, iterated(result)))


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


_PARSED = (
    _handler("python-fence", sources.phi_texts, source=sources.without_fence),
    _handler("tool-code", sources.gemini_texts, source=sources.no_tool_code),
    _handler("toolcall", sources.toolcall_texts, source=sources.toolcall),
    _handler("gorilla", sources.never, source=sources.bracketed),
    _handler("nexus", sources.never, source=sources.nexus, read=sources.read_nexus),
)
_OWN = (
    _handler("hermes", tags.hermes_texts, tags.hermes_calls, thinking="think"),
    _handler("hermes-strict", tags.listed_texts, tags.listed_calls, read=tags.read_arch, stored=True),
    _handler("falcon", tags.falcon_texts, tags.falcon_calls),
    _handler("granite3", tags.listed_texts, tags.listed_calls, read=tags.read_granite3, stored=True),
    _handler("phi4-mini", tags.listed_texts, tags.listed_calls, read=tags.read_phi, stored=True),
    _handler("granite20b", text_lines.granite20b_texts, text_lines.granite20b_calls),
    _handler("llama3-json", json_lists.llama_texts, json_lists.llama_calls),
    _handler("hammer", json_lists.hammer_texts, json_lists.hammer_calls),
    _handler("json-list", json_lists.bitagent_texts, json_lists.bitagent_calls),
    _handler("xlam", json_lists.xlam_texts, json_lists.xlam_calls),
    _handler("mistral-json", tags.listed_texts, tags.listed_calls, read=json_lists.read_mistral, stored=True),
    _handler("thinkagent", json_lists.thinkagent_texts, json_lists.thinkagent_calls),
    _handler("glm4", text_lines.glm_texts, text_lines.glm_calls),
    _handler("functiongemma", gemma.gemma_texts, gemma.gemma_calls),
    _handler("minicpm3", text_lines.minicpm_texts, text_lines.minicpm_calls),
    _handler("tool-calls-list", json_lists.mining_texts, json_lists.mining_calls, read=json_lists.read_mining),
    _handler("native", native_texts, native_calls),
    _handler("native-or-texts", mixed_texts, mixed_calls, stored=True),
    _handler("cohere", cohere_texts, cohere_calls, stored=True),
    _handler("xiaoming", json_lists.mining_texts, xiaoming_calls, stored=True),
)


DECODERS: Mapping[str, Decoder] = {decoder.name.removeprefix(HANDLER): decoder for decoder in (*_PARSED, *_OWN)}
"""Name → the *reference reading* of the format; the entry point ``reference`` of the group ``pytest_bfcl.handlers``."""
