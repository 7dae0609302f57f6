"""Decoders by name: from a reply's text to calls, with the exact failure behaviour of the family's handler.

Three stages, as the reference has them: *read* a reply into a result (a text, or a list where the handler parses at
once), decode the result for single-turn checking, and write its calls for execution. All are pure functions, evaluate
nothing, and are bounded in size, depth and time (formats spec §4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_bfcl.decoding.formats import bars, gemma_call, json_lists, served, sources, text_lines
from pytest_bfcl.decoding.formats import native_variants as native
from pytest_bfcl.decoding.formats import tool_call_tags as tags
from pytest_bfcl.decoding.formats.thinking import Thinking
from pytest_bfcl.decoding.preparation import prepare


def _unread(text: str) -> Any:
    return text


@dataclass(frozen=True, slots=True)
class Decoder:
    """How one notation of calls is read.

    ``texts``: a result's calls as texts for execution. ``calls``: its value for single-turn checking, usually ``{name:
    arguments}`` objects, but whatever the handler makes of it; ``None`` for formats that the parser of the entry's
    return format reads, from what ``source`` makes of the text. ``read``: reply's text → result. All raise
    `DecodeError`.
    """

    name: str
    what: str
    texts: Callable[..., list[str]]
    calls: Callable[..., Any] | None = None
    source: sources.Source = prepare
    read: Callable[[str], Any] = _unread
    thinking: Thinking = "none"
    """How thoughts are parted from its replies where no family says it."""
    served: bool = False
    """A format of servers, not of the reference: ``calls`` and ``texts`` take the functions' documents as well."""
    stored: bool = False
    """Results of the handler are lists of ``{name: arguments}``, not texts."""


_PARSED = (
    Decoder("python", "[f(a=1), g()], the benchmark's own", sources.python_texts),
    Decoder("python-fence", "the same behind a fence: Phi", sources.phi_texts, source=sources.without_fence),
    Decoder("tool-code", "the same in tool_code fences: Gemini", sources.gemini_texts, source=sources.no_tool_code),
    Decoder("toolcall", "[f(a=1)] in <TOOLCALL>: Nemotron", sources.toolcall_texts, source=sources.toolcall),
    Decoder("gorilla", "f(a=1) without brackets: Gorilla", sources.never, source=sources.bracketed),
    Decoder("nexus", "Call: f(a=1); g(): Nexus", sources.never, source=sources.nexus, read=sources.read_nexus),
)
_OWN = (
    Decoder("hermes", "JSON in <tool_call> tags: Qwen, Hermes", tags.hermes_texts, tags.hermes_calls, thinking="think"),
    Decoder(
        "hermes-strict",
        "the same, broken JSON fails: Arch",
        tags.listed_texts,
        tags.listed_calls,
        read=tags.read_arch,
        stored=True,
    ),
    Decoder("falcon", "JSON behind the first <tool_call>: Falcon 3", tags.falcon_texts, tags.falcon_calls),
    Decoder(
        "granite3",
        "a JSON list behind <|tool_call|>: Granite 3",
        tags.listed_texts,
        tags.listed_calls,
        read=bars.read_granite3,
        stored=True,
    ),
    Decoder(
        "phi4-mini",
        "JSON lists in <|tool_call|> blocks: Phi-4-mini",
        tags.listed_texts,
        tags.listed_calls,
        read=bars.read_phi,
        stored=True,
    ),
    Decoder(
        "granite20b",
        "JSON behind <function_call>: Granite 20B",
        text_lines.granite20b_texts,
        text_lines.granite20b_calls,
    ),
    Decoder("llama3-json", '{"name", "parameters"}: Llama 3.1', json_lists.llama_texts, json_lists.llama_calls),
    Decoder("hammer", "a JSON list: Hammer", json_lists.hammer_texts, json_lists.hammer_calls),
    Decoder("json-list", "a JSON list or object: BitAgent", json_lists.bitagent_texts, json_lists.bitagent_calls),
    Decoder("xlam", "a JSON list, or objects between ';': xLAM", json_lists.xlam_texts, json_lists.xlam_calls),
    Decoder(
        "mistral-json",
        "a JSON list: Ministral",
        tags.listed_texts,
        tags.listed_calls,
        read=json_lists.read_mistral,
        stored=True,
    ),
    Decoder(
        "thinkagent",
        "a JSON list behind </think>: ThinkAgent",
        json_lists.thinkagent_texts,
        json_lists.thinkagent_calls,
    ),
    Decoder("glm4", "the name on a line, JSON on the next: GLM-4", text_lines.glm_texts, text_lines.glm_calls),
    Decoder("functiongemma", "call:f{a:1} in tags: FunctionGemma", gemma_call.gemma_texts, gemma_call.gemma_calls),
    Decoder("minicpm3", "Python in <|tool_call_start|>: MiniCPM3", text_lines.minicpm_texts, text_lines.minicpm_calls),
    Decoder(
        "tool-calls-list",
        "a JSON list in <tool_calls>: DM-Cito",
        json_lists.mining_texts,
        json_lists.mining_calls,
        read=json_lists.read_mining,
    ),
    Decoder("native", "stored native calls", native.native_texts, native.native_calls),
    Decoder(
        "native-or-texts",
        "stored native calls, else texts: Gemini, Nova",
        native.mixed_texts,
        native.mixed_calls,
        stored=True,
    ),
    Decoder("cohere", "stored {tool_name, parameters}: Cohere", native.cohere_texts, native.cohere_calls, stored=True),
    Decoder(
        "xiaoming", "stored native calls that never decode", json_lists.mining_texts, native.xiaoming_calls, stored=True
    ),
)


def _served(name: str, what: str, read: served.Pairs, thinking: Thinking = "think") -> Decoder:
    return Decoder(name, what, served.texts_of(read), served.calls_of(read), served=True, thinking=thinking)


_SERVED = (
    _served("pythonic", "[f(a=1)] behind <|python_tag|>: Llama 3.2, Llama 4", served.pythonic),
    _served("mistral", "[TOOL_CALLS] before JSON: Mistral", served.mistral),
    _served("qwen-coder", "<function=f> with <parameter=a>: Qwen Coder", served.qwen_coder),
    _served("glm45", "<arg_key> and <arg_value> in <tool_call>: GLM 4.5", served.glm45),
    _served("deepseek", "JSON between DeepSeek's tokens", served.deepseek),
    _served("harmony", "messages to=functions.f: gpt-oss", served.harmony, "harmony"),
    _served("toolcall-json", "a JSON list in <TOOLCALL>: Nemotron Nano", served.toolcall_json),
    _served("kimi", "JSON between Kimi's tokens", served.kimi),
)
DECODERS: Mapping[str, Decoder] = {decoder.name: decoder for decoder in (*_PARSED, *_OWN, *_SERVED)}
"""Every decoder by name."""
