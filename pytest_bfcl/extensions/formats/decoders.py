"""The benchmark's handlers by the formats they read, with the exact failure behaviour of each (formats spec §4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_bfcl.extensions.formats import bars, gemma, json_lists, sources, text_lines
from pytest_bfcl.extensions.formats import native_variants as native
from pytest_bfcl.extensions.formats import tool_call_tags as tags
from pytest_bfcl.formats.decoders import HANDLER, HANDLERS, Decoder, handler_name

Reads = Callable[..., Any]


def _handler(
    name: str, texts: Callable[..., list[str]], calls: Callable[..., Any] | None = None, **more: Any
) -> Decoder:
    return Decoder(handler_name(name), HANDLERS[name], texts, calls, **more)


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
    _handler("granite3", tags.listed_texts, tags.listed_calls, read=bars.read_granite3, stored=True),
    _handler("phi4-mini", tags.listed_texts, tags.listed_calls, read=bars.read_phi, stored=True),
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
    _handler("native", native.native_texts, native.native_calls),
    _handler("native-or-texts", native.mixed_texts, native.mixed_calls, stored=True),
    _handler("cohere", native.cohere_texts, native.cohere_calls, stored=True),
    _handler("xiaoming", json_lists.mining_texts, native.xiaoming_calls, stored=True),
)


DECODERS: Mapping[str, Decoder] = {decoder.name.removeprefix(HANDLER): decoder for decoder in (*_PARSED, *_OWN)}
"""Name → the *reference reading* of the format; the entry point ``reference`` of the group ``pytest_bfcl.handlers``."""
