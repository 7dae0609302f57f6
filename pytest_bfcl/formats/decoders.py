"""Decoders by name: from a reply's text to calls, with the exact failure behaviour of the family's handler.

It has the reference's three stages. *Read* a reply into a result (a text, or a list where the handler parses at once),
decode the result for single-turn checking, and write its calls for execution. All are pure functions, evaluate nothing,
and are bounded in size, depth and time (formats spec §4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pytest_bfcl import entry_points
from pytest_bfcl.formats import served
from pytest_bfcl.formats.thinking import Thinking
from pytest_bfcl.syntax.python_syntax import decode_python, written_calls
from pytest_bfcl.syntax.wrapping import prepare

Source = Callable[[str, bool], str]
"""Text and whether a tag is required → text for the parser of a return format. Raises `DecodeError`."""


def _unread(text: str) -> Any:
    return text


@dataclass(frozen=True, slots=True)
class Decoder:
    """How one notation of calls is read.

    ``texts``: a result's calls as texts for execution. ``calls``: its value for single-turn checking, usually ``{name:
    arguments}`` objects, else the handler's own result; ``None`` for formats that the parser of the entry's return
    format reads, after ``source`` has prepared the text. ``read``: reply's text → result. All raise `DecodeError`.
    """

    name: str
    what: str
    texts: Callable[..., list[str]]
    calls: Callable[..., Any] | None = None
    source: Source = prepare
    read: Callable[[str], Any] = _unread
    thinking: Thinking = "none"
    """How thoughts are separated from its replies by default."""
    served: bool = False
    """A format of servers, not of the reference: ``calls`` and ``texts`` take the functions' documents as well."""
    stored: bool = False
    """Results of the handler are lists of ``{name: arguments}``, not texts."""


HANDLERS: Mapping[str, str] = {
    "python": "[f(a=1), g()], the benchmark's own",
    "python-fence": "the same behind a fence: Phi",
    "tool-code": "the same in tool_code fences: Gemini",
    "toolcall": "[f(a=1)] in <TOOLCALL>: Nemotron",
    "gorilla": "f(a=1) without brackets: Gorilla",
    "nexus": "Call: f(a=1); g(): Nexus",
    "hermes": "JSON in <tool_call> tags: Qwen, Hermes",
    "hermes-strict": "the same, broken JSON fails: Arch",
    "falcon": "JSON behind the first <tool_call>: Falcon 3",
    "granite3": "a JSON list behind <|tool_call|>: Granite 3",
    "phi4-mini": "JSON lists in <|tool_call|> blocks: Phi-4-mini",
    "granite20b": "JSON behind <function_call>: Granite 20B",
    "llama3-json": '{"name", "parameters"}: Llama 3.1',
    "hammer": "a JSON list: Hammer",
    "json-list": "a JSON list or object: BitAgent",
    "xlam": "a JSON list, or objects between ';': xLAM",
    "mistral-json": "a JSON list: Ministral",
    "thinkagent": "a JSON list behind </think>: ThinkAgent",
    "glm4": "the name on a line, JSON on the next: GLM-4",
    "functiongemma": "call:f{a:1} in tags: FunctionGemma",
    "minicpm3": "Python in <|tool_call_start|>: MiniCPM3",
    "tool-calls-list": "a JSON list in <tool_calls>: DM-Cito",
    "native": "stored native calls",
    "native-or-texts": "stored native calls, else texts: Gemini, Nova",
    "cohere": "stored {tool_name, parameters}: Cohere",
    "xiaoming": "stored native calls that never decode",
}
"""The formats that the benchmark's handlers read; extensions have all readings but the first."""
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


SERVED: Mapping[str, Decoder] = {
    name: _served(name, what, notation)
    for name, what in {**HANDLERS, **_WHATS}.items()
    if (notation := served.server_reading(name)) is not None
}
"""The *server reading* of every format that a server has: the meaning of a format's name for users."""
HANDLER = "handler:"
"""Prefix of a handler's reading if a server's reading has the plain name."""


def handler_name(name: str) -> str:
    """The decoder with a handler's reading of a format."""
    return f"{HANDLER}{name}" if name in SERVED else name


def _python_texts(text: str) -> list[str]:
    return written_calls(decode_python(prepare(text)))


@cache
def reference_reading(name: str) -> Decoder | None:
    """The *reference reading* of a handler, with every defect, by `handler_name`; ``None`` for other names.

    Raises `UsageError` if no installed package has it.
    """
    if name == "python":
        return Decoder(name, HANDLERS[name], _python_texts)
    own = name.removeprefix(HANDLER)
    if own not in HANDLERS or handler_name(own) != name:
        return None
    offered: Mapping[str, Decoder] = entry_points.require("handlers", "reference", f"the handler's reading of {own}")
    return offered[own]


def mended(decoder: Decoder) -> Decoder:
    """A decoder without its handler's defects (corrected rule C15): the server reading, or any JSON without one."""
    return decoder if decoder.served else SERVED.get(decoder.name.removeprefix(HANDLER), SERVED["xlam"])
