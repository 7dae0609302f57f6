"""How the parsers of inference servers read each format: the *server reading*, one row a notation.

The *reference reading* (`decoders`) keeps the exact failures of the benchmark's handlers, for official folders. A
server's reading has none of them. It is for replies whose server left the calls in the text, for third-party models,
and to find such calls (`detection`). A text without calls is a refusal, as with native calls. A broken call next to
good ones is left out; alone it is unreadable. The notations are those of the models' chat templates; the reading of
broken text follows the servers' parsers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_bfcl.formats.gemma_call import GemmaCalls, NestedTags
from pytest_bfcl.formats.members import TOKENS, Pair, objects, texts
from pytest_bfcl.formats.notations import (
    FirstOf,
    JsonCalls,
    LooseJson,
    NamedJson,
    Notation,
    PythonCalls,
    Tagged,
)
from pytest_bfcl.formats.schema_types import Documents, has_function
from pytest_bfcl.formats.thinking import part
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import MAX_CALLS, DecodeError, check_length
from pytest_bfcl.syntax.python_syntax import decode_python

Pairs = Callable[[str, Documents], list[Pair]]


class _Harmony:
    """gpt-oss: messages whose head names ``to=functions.NAME``, before or after the channel."""

    marks = ("to=functions.",)

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        pairs: list[Pair] = []
        if text.rstrip().endswith("<|message|>") and self.marks[0] in text.rpartition("<|start|>")[2]:
            raise DecodeError("a call that was cut off")
        for piece in re.split(r"<\|(?:start|call|end|return)\|>", text):
            head, found, body = piece.partition("<|message|>")
            to = re.search(r"to=functions\.([^\s<]+)", head)
            if found and to:
                pairs.append((to[1], parse_json(body.strip() or "{}")))
        return pairs


class _Code:
    """Llama 3 and functionary: code after ``sign`` for the built-in interpreter, or ``tool.call(…)`` of another
    tool."""

    def __init__(self, sign: str) -> None:
        self.sign = sign
        self.marks = (sign,)

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The call; see `Notation`."""
        _, found, code = TOKENS.sub("", text).partition(self.sign)
        if not found or not code.strip():
            return []
        built_in = re.match(r"\s*\w+\.call\(", code)
        if built_in is not None:
            calls = decode_python(code.strip())
            return [(call.name.removesuffix(".call"), call.arguments) for call in calls]
        interpreter = next((name for name in _INTERPRETERS if has_function(name, documents)), None)
        return [(interpreter, {"code": code.strip()})] if interpreter is not None else []


_INTERPRETERS = ("python", "ipython", "code_interpreter")


class _Lines:
    """GLM-4: every pair of lines is a name and its arguments."""

    marks = ()

    def pairs(self, text: str, documents: Documents = ()) -> list[Pair]:
        """The calls; see `Notation`."""
        lines = [line for line in TOKENS.sub("", text).split("\n") if line.strip()]
        if len(lines) % 2:
            raise DecodeError("a name without arguments on the next line")
        return [(name.strip(), parse_json(line)) for name, line in zip(lines[::2], lines[1::2], strict=True)]


def elements(opening: str, *, ends: tuple[str, ...], prefix: str = "", **more: Any) -> Tagged:
    """``<PREFIXinvoke name="…">`` with ``<PREFIXparameter name="…">``, with or without quotes, in several families."""
    invoke, parameter = f"<{prefix}invoke", f"<{prefix}parameter"
    return Tagged(
        call=re.compile(rf"{re.escape(invoke)}\s+name\s*=\s*(?P<name>\"[^\"<>\n]*\"|'[^']*'|[^\s<>]++)[^<>]{{0,200}}>"),
        parameter=re.compile(
            rf"{re.escape(parameter)}\s+name\s*=\s*(?P<key>\"[^\"<>\n]*\"|'[^']*'|[^\s<>]++)"
            r"(?:\s+string\s*=\s*\"(?P<kind>[^\"]{0,20})\")?[^<>]{0,200}>"
        ),
        value_ends=(f"</{prefix}parameter>", f"{parameter} "),
        call_ends=(f"</{prefix}invoke>", f"{invoke} ", *ends),
        marks=(opening,),
        **more,
    )


def _functions(*opening: str, trimmed: str = "line") -> Tagged:
    """``<function=NAME>`` with ``<parameter=KEY>``: Qwen Coder's notation; the outer tag differs."""
    return Tagged(
        call=re.compile(r"<function=(?P<name>[^<>]*)>?"),
        parameter=re.compile(r"<\s?parameter\s?=\s?(?P<key>[^>]*)>"),
        value_ends=("</parameter>", "<parameter="),
        call_ends=("</function>", "<function=", "</tool_call>"),
        marks=opening or ("<function=",),
        trimmed=trimmed,
        unclosed=True,
    )


def _keys(prefix: str = "", sign: str = "", **more: Any) -> Tagged:
    """``<tool_call>NAME`` with alternating ``<arg_key>`` and ``<arg_value>``: GLM's notation."""
    call, key, value, kind = (f"{prefix}{name}" for name in ("tool_call", "arg_key", "arg_value", "arg_type"))
    escaped = re.escape
    return Tagged(
        call=re.compile(
            rf"<{escaped(call)}>\s*(?P<name>[^\s<>{{}}\[\]\"]+)\s*+{escaped(sign)}"
            rf"(?=\s*(?:<{escaped(key)}>|</{escaped(call)}>|\Z))"
        ),
        parameter=re.compile(
            rf"<{escaped(key)}>(?P<key>(?:(?!</?{escaped(key)}>).)*)</{escaped(key)}>\s*"
            rf"(?:<{escaped(kind)}>(?P<kind>[^<]*)</{escaped(kind)}>\s*)?(?P<opened_><{escaped(value)}>)?"
        ),
        value_ends=(f"</{value}>", f"<{key}>"),
        call_ends=(f"</{call}>",),
        marks=(f"<{call}>",),
        unclosed=True,
        **more,
    )


_LOOSE, _LIST = LooseJson(), PythonCalls()
_GEMMA4, _GEMMA3 = GemmaCalls("<|tool_call>", "<tool_call|>", '<|"|>'), GemmaCalls(
    "<start_function_call>", "<end_function_call>", "<escape>"
)  # fmt: skip

NOTATIONS: Mapping[str, Notation] = {
    # JSON objects between tags
    "hermes": JsonCalls(("<tool_call>",), "</tool_call>", alone=True),
    "longcat": FirstOf(
        (_keys("longcat_"), JsonCalls(("<longcat_tool_call>",), "</longcat_tool_call>", alone=True))
    ),
    "tool-calls-list": JsonCalls(("<tool_calls>",), "</tool_calls>"),
    "toolcall-json": JsonCalls(("<TOOLCALL>",), "</TOOLCALL>"),
    "granite3": FirstOf(
        (
            JsonCalls(("<|tool_call|>", "<tool_call>"), bare=True),
            NamedJson(  # cut off behind the arguments
                re.compile(r'<\|?tool_call\|?>\s*+\[?\s*+\{\s*"name"\s*:\s*"([^"]+)"\s*,\s*"arguments"\s*:\s*'),
                ("<|tool_call|>", "<tool_call>"),
            ),
        )
    ),
    "granite20b": JsonCalls(("<function_call>",), "<function_call>"),
    "phi4-mini": JsonCalls(("functools", "<|tool_call|>"), "<|/tool_call|>"),
    "internlm": JsonCalls(("<|action_start|><|plugin|>",), "<|action_end|>", bare=True),
    "gigachat": JsonCalls(("<|function_call|>", "function call<|role_sep|>")),
    "command": JsonCalls(("<|START_ACTION|>", "Action:"), "<|END_ACTION|>", bare=True),
    "apertus": JsonCalls(("<|tools_prefix|>",), "<|tools_suffix|>", keyed=True),
    "inkling": JsonCalls(("<|content_invoke_tool_json|>",)),
    # JSON without tags
    "llama3-json": FirstOf((_LOOSE, _Code("<|python_tag|>"), PythonCalls(("<|python_tag|>",)), _LIST)),
    "xlam": _LOOSE,
    "glm4": _Lines(),
    # a name, then JSON
    "deepseek": NamedJson(
        re.compile(
            r"<｜tool▁calls?▁begin｜>\s*(?:function<｜tool▁sep｜>\s*([^\s<`]+)(?=\s*```)|([^\s<]+)<｜tool▁sep｜>)"
        ),
        ("<｜tool▁call▁begin｜>", "<｜tool▁calls▁begin｜>"),
        closing="<｜tool▁call▁end｜>",
    ),
    "kimi": NamedJson(
        re.compile(r"<\|tool_call_begin\|>\s*(?:functions\.)?([^\s<:]+):\d+\s*<\|tool_call_argument_begin\|>"),
        ("<|tool_call_begin|>",),
        bare=True,
        closing="<|tool_call_end|>",
    ),
    "mistral": FirstOf(
        (
            JsonCalls(("[TOOL_CALLS]",)),
            NamedJson(
                re.compile(r"\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*+\w*+\s*)?(?:\[ARGS\]|(?=\{))"),
                ("[TOOL_CALLS]",),
            ),
        )
    ),
    "mistral-json": FirstOf((JsonCalls(("[TOOL_CALLS]",)), _LOOSE)),
    "functionary31": FirstOf(
        (
            NamedJson(re.compile(r"<function=([^<>\s]+)>(?=\s*\{)"), ("<function=",), ending="</function>"),
            _Code("<|python_tag|>"),
        )
    ),
    "functionary32": FirstOf(
        (NamedJson(re.compile(r"(?:\A\s*|>>>)([\w.-]+)\n(?=\s*\{)")), _Code(">>>python\n"))
    ),
    "solar": NamedJson(
        re.compile(r"<\|tool_call:begin\|>[^<]*<\|tool_call:name\|>([^<]+)<\|tool_call:args\|>"),
        ("<|tool_call:begin|>",),
        ending="<|tool_call:end|>",
    ),
    "plamo": NamedJson(
        re.compile(
            r"<\|plamo:begin_tool_name:plamo\|>([^<]+)<\|plamo:end_tool_name:plamo\|>\s*"
            r"<\|plamo:begin_tool_arguments:plamo\|>(?:<\|plamo:constrain\|>\w*)?(?:<\|plamo:msg\|>)?"
        ),
        ("<|plamo:begin_tool_name:plamo|>",),
        ending="<|plamo:end_tool_arguments:plamo|>",
    ),
    "harmony": _Harmony(),
    # tags with a parameter each
    "qwen-coder": _functions(),
    "seed": _functions("<seed:tool_call>"),
    "mimo": _functions(trimmed=""),
    "glm45": _keys(named=True),
    "laguna": _keys(closed=True, json_untyped=True),
    "hunyuan3": _keys(sign="<tool_sep>"),
    "k2-horizon": FirstOf(
        (_keys("ifm|", named=True, closed=True), JsonCalls(("<ifm|tool_call>",), "</ifm|tool_call>"))
    ),
    "minimax-m2": elements("<minimax:tool_call>", ends=("</minimax:tool_call>",), named=True),
    "minimax-m3": NestedTags("]<]minimax[>["),
    "dots": FirstOf(
        (elements(
                "<dots_function_call>", ends=("</dots_function_call>",), trimmed="all", named=True, closed=True
            ), JsonCalls(("<dots_function_call>",)))
    ),
    "dsml": FirstOf(
        (
            elements(
                "<｜DSML｜", ends=("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"), prefix="｜DSML｜",
                json_values=True,
            ),
            elements("<｜DSML｜", ends=("</｜DSML｜ calls>",), prefix="｜DSML｜ ", json_values=True),
        )
    ),
    "step3": elements(
        "<｜tool_call_begin｜>", ends=("<｜tool_call_end｜>",), prefix="steptml:", trimmed="all", closed=True
    ),
    "muse": elements(
        "<atem:function_calls>", ends=("</atem:function_calls>", "<|eom|>"), prefix="atem:", json_values=True,
        closed=True,
        prose=re.compile(
            r"to=(?:self|user|commentary|developer)<\|message\|>(?:(?!<\|eo[mt]\|>|<\|start\|>).)*", re.DOTALL
        ),
    ),
    "minicpm5": Tagged(
        call=re.compile(r"<function[\sĠ]?name=(?P<name>\"[^\"<>]*\"|'[^'<>]*')[^<>]{0,200}>"),
        parameter=re.compile(r"<param[\sĠ]?name=(?P<key>\"[^\"<>]*\"|'[^'<>]*')>"),
        value_ends=("</param>",),
        call_ends=("</function>",),
        marks=("<function name=", "<functionĠname=", "<functionname="),
        escaped=True,
        json_untyped=True,
        named=True,
        closed=True,
    ),
    "kimi-k3": Tagged(
        call=re.compile(r"<\|open\|>\s*call\s++[^<]{0,200}?tool=(?P<name>\"[^\"<]*\")[^<]{0,200}<\|sep\|>"),
        parameter=re.compile(
            r"<\|open\|>\s*argument\s+key=(?P<key>\"[^\"<]*\")(?:\s+type=\"(?P<kind>\w*)\")?[^<]{0,200}<\|sep\|>"
        ),
        value_ends=("<|close|>argument<|sep|>",),
        call_ends=("<|close|>call<|sep|>",),
        marks=("<|open|>call ",),
        closed=True,
    ),
    # Python
    "pythonic": FirstOf(
        (PythonCalls(("<|python_start|>", "<|python_tag|>"), ("<|python_end|>",)), _LIST)
    ),
    "olmo3": PythonCalls(("<function_calls>",), ("</function_calls>",)),
    "lfm2": FirstOf(
        (
            PythonCalls(("<|tool_call_start|>",), ("<|tool_call_end|>",)),
            JsonCalls(("<|tool_call_start|>",), "<|tool_call_end|>"),
        )
    ),
    "toolcall": FirstOf((PythonCalls(("<TOOLCALL>",), ("</TOOLCALL>",)), JsonCalls(("<TOOLCALL>",), "</TOOLCALL>"))),
    # signs of its own
    "functiongemma": GemmaCalls("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": GemmaCalls("<|tool_call>", "<tool_call|>", '<|"|>'),
}  # fmt: skip
"""Every notation by name. Names are those of `decoders` if a reference reading exists."""

_READ_LIKE = {
    "hermes-strict": "hermes",
    "falcon": "hermes",
    "minicpm3": "lfm2",
    "hammer": "xlam",
    "json-list": "xlam",
    "thinkagent": "xlam",
}
"""Formats of handlers whose servers read another notation."""
_ALSO = {"qwen-coder": ("hermes",), "mimo": ("hermes",), "glm45": ("hermes",), "laguna": ("hermes",)}
"""Formats whose models also write another notation with the same tag."""
TELLING = (
    "dsml", "deepseek", "harmony", "muse", "minimax-m3", "minimax-m2", "dots", "step3", "seed", "kimi", "kimi-k3",
    "k2-horizon", "gemma4", "functiongemma", "apertus", "gigachat", "internlm", "inkling", "plamo", "command",
    "longcat", "mistral", "olmo3", "lfm2", "hunyuan3", "minicpm5", "solar", "functionary31", "qwen-coder", "glm45",
    "hermes", "tool-calls-list", "toolcall", "toolcall-json", "granite20b", "granite3", "phi4-mini",
)  # fmt: skip
"""Notations with unmistakable signs; those whose signs contain others' come first."""


_ANY_MARK = re.compile("|".join(sorted({re.escape(mark) for name in TELLING for mark in NOTATIONS[name].marks})))
_LISTED = re.compile(r"[\s`]*\[\s*[A-Za-z_][\w.]*\(")


def server_reading(name: str) -> str | None:
    """The notation in which a server reads a format; ``None`` for those that only a handler has."""
    name = _READ_LIKE.get(name, name)
    return name if name in NOTATIONS else None


def announced(text: str) -> Iterator[str]:
    """The notations with a sign in a text, the most specific first."""
    if _ANY_MARK.search(text) is None:  # nearly every answer
        return iter(())
    return (name for name in TELLING if any(mark in text for mark in NOTATIONS[name].marks))


def served_pairs(name: str) -> Pairs:
    """The reader of a format: in its notation, or in another one if only that one's signs are in the text.

    The benchmark's own list of Python calls is always read, because prompts may ask for it. Raises `DecodeError` for
    announced but unreadable calls.
    """

    def pairs(text: str, documents: Documents = ()) -> list[Pair]:
        answer = part(text, "served").answer
        trouble: DecodeError | None = None
        plain = ("pythonic",) if _LISTED.match(answer) else ()
        for way in (name, *_ALSO.get(name, ()), *_others(name, answer), *plain):
            try:
                if found := NOTATIONS[way].pairs(answer, documents):
                    return found[:MAX_CALLS]
            except DecodeError as error:
                trouble = trouble or error
        if trouble is not None:
            raise trouble
        return []

    return pairs


def _others(name: str, text: str) -> Iterator[str]:
    own = NOTATIONS[name].marks
    return (other for other in announced(text) if not set(own) & set(NOTATIONS[other].marks))


def calls_of(read: Pairs) -> Callable[[Any, Documents], list[Any]]:
    """A decoder's ``calls`` from its reader of pairs."""

    def calls(result: Any, functions: Documents = ()) -> list[Any]:
        return objects(_read(read, result, functions))

    return calls


def texts_of(read: Pairs) -> Callable[[Any, Documents], list[str]]:
    """A decoder's ``texts`` from its reader of pairs."""

    def call_texts(result: Any, functions: Documents = ()) -> list[str]:
        return texts(_read(read, result, functions), ", ")

    return call_texts


def _read(read: Pairs, result: Any, functions: Documents) -> list[Pair]:
    if not isinstance(result, str):
        raise DecodeError("the result is no text")
    check_length(result)
    if not result.strip():
        return []
    pairs = read(result, functions)
    if not pairs:
        raise DecodeError("no tool call: the reply is text")
    return pairs
