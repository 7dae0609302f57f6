"""Decoders by name: from a reply's text to calls, with the exact failure behaviour of the family's handler.

Three stages, as the reference has them: *read* a reply into a result (a text, or a list where the handler parses at
once), decode the result for single-turn checking, and write its calls for execution. All are pure functions, evaluate
nothing, and are bounded in size, depth and time (formats spec §4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_bfcl.formats import bars, gemma_call, json_lists, served, sources, text_lines
from pytest_bfcl.formats import native_variants as native
from pytest_bfcl.formats import tool_call_tags as tags
from pytest_bfcl.formats.thinking import Thinking
from pytest_bfcl.syntax.preparation import prepare


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


_WHATS = {
    "pythonic": "[f(a=1)], between <|python_start|> tags or not: Llama 4, ToolACE",
    "mistral": "[TOOL_CALLS] before JSON, or a name and JSON: Mistral",
    "qwen-coder": "<function=f> with <parameter=a>: Qwen Coder, Qwen 3.5, Nemotron 3, Step 3.5",
    "seed": "the same in <seed:tool_call>: Seed-OSS",
    "mimo": "the same, values to the letter: MiMo",
    "glm45": "<arg_key> and <arg_value> in <tool_call>: GLM 4.5, Ling 3, Spark",
    "laguna": "the same, to the letter: Laguna",
    "hunyuan3": "the same behind <tool_sep>: Hunyuan 3",
    "k2-horizon": "the same in <ifm|tool_call>: K2 Horizon",
    "minimax-m2": "<invoke> with <parameter>: MiniMax M2",
    "minimax-m3": "<invoke> with a tag a parameter: MiniMax M3",
    "dots": "<invoke> in <dots_function_call>: dots",
    "dsml": "<｜DSML｜invoke>: DeepSeek V3.2 and V4",
    "step3": "<steptml:invoke>: Step 3",
    "muse": "<atem:invoke> in messages to a tool: Muse",
    "minicpm5": "<function name=f> with <param>: MiniCPM5",
    "kimi-k3": "<|open|>call with arguments of a type: Kimi K3",
    "kimi": "an id with the name, then JSON: Kimi K2",
    "deepseek": "JSON between DeepSeek's tokens: V3, R1, V3.1",
    "functionary31": "<function=f> before JSON: functionary 3.1",
    "functionary32": ">>>f before JSON: functionary 3.2",
    "solar": "a name and JSON between Solar's tokens",
    "plamo": "PLaMo's tokens around name and JSON",
    "harmony": "messages to=functions.f: gpt-oss, llm-jp 4",
    "toolcall-json": "a JSON list in <TOOLCALL>: Nemotron Nano",
    "longcat": "JSON in <longcat_tool_call>: LongCat",
    "internlm": "JSON behind <|action_start|><|plugin|>: InternLM",
    "gigachat": "JSON behind <|function_call|>: GigaChat 3",
    "command": "a JSON list behind <|START_ACTION|>: Command R and A",
    "apertus": "{name: arguments} behind <|tools_prefix|>: Apertus",
    "inkling": "JSON behind <|content_invoke_tool_json|>: Inkling",
    "olmo3": "a Python call a line in <function_calls>: Olmo 3",
    "lfm2": "[f(a=1)] between <|tool_call_start|> tags: LFM2",
    "gemma4": "call:f{a:1} in <|tool_call> tags: Gemma 4",
}


def _served(name: str, what: str, notation: str) -> Decoder:
    read = served.served_pairs(notation)
    return Decoder(name, what, served.texts_of(read), served.calls_of(read), served=True, thinking="served")


_REFERENCE = {decoder.name: decoder for decoder in (*_PARSED, *_OWN)}
DECODERS: Mapping[str, Decoder] = {**_REFERENCE, **{name: _served(name, what, name) for name, what in _WHATS.items()}}
"""Every decoder by name: the *reference reading* of formats that a handler of the benchmark has, else the server's."""
SERVER = "server:"
SERVER_READINGS: Mapping[str, Decoder] = {
    f"{SERVER}{name}": _served(f"{SERVER}{name}", f"{decoder.what}, as servers read it", notation)
    for name, decoder in DECODERS.items()
    if (notation := served.server_reading(name)) is not None
}
"""The *server reading* of every format that a server has, ``server:`` before its name."""


def mended(decoder: Decoder) -> Decoder:
    """A decoder without its handler's defects (corrected rule C15): the server reading, of any JSON where none is."""
    return decoder if decoder.served else SERVER_READINGS.get(SERVER + decoder.name, SERVER_READINGS[f"{SERVER}xlam"])
