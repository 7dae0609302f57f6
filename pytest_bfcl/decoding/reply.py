"""Reply → calls or call texts: the entry points of this package (ast_checker spec §1–§3, §9).

`attempts_call` is corrected rule C8: whether a reply without a decodable call attempts one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_bfcl.formats.detection import own_calls, own_decoder, own_texts
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.syntax.java import decode_java
from pytest_bfcl.syntax.javascript import decode_javascript
from pytest_bfcl.syntax.json_format import decode_json, decode_native, parse_json
from pytest_bfcl.syntax.limits import MAX_CHARACTERS, DecodeError, WrongShape, check_length, is_call_list
from pytest_bfcl.syntax.python_syntax import PositionalNames, PythonCalls, check_count, decode_python, written_calls
from pytest_bfcl.syntax.wrapping import prepare, recover, tag_content
from pytest_bfcl.syntax.xml_format import XmlText, decode_concise_xml, decode_verbose_xml
from pytest_bfcl.transcript import Call, Mode, Reply, wire_name

SIGNS = "C1"
WRAPPING = "C2"
ESCAPES = "C3"
POSITIONAL = "C4"
REFUSAL = "C8"
JAVA = "C13"
JAVASCRIPT = "C14"
FORMATS = "C15"

DECODING_RULES: dict[str, str] = {
    SIGNS: "signs: + keeps, - negates, other operators before a literal do not decode",
    WRAPPING: "wrapping: fences with a language word, prose around one call list, tabs, calls on lines of their own",
    ESCAPES: "escapes: \\_ in names is read as _",
    POSITIONAL: "positional: arguments without a name go to the documented parameters in order",
    REFUSAL: "refusal: a reply that attempts a call is not a refusal",
    JAVA: "Java: read as Java literals, numbers widened and unboxed",
    JAVASCRIPT: "JavaScript: read as JavaScript literals",
    FORMATS: "formats: JSON and XML replies, and models' own formats, decoded as the format means them",
}
"""Corrected rules of decoding → their description in one line."""

_EVERY_TEXT = frozenset({WRAPPING, ESCAPES})
TOUCHING: dict[str, frozenset[str]] = {
    "python": _EVERY_TEXT | {SIGNS, POSITIONAL},
    "java": _EVERY_TEXT | {JAVA},
    "javascript": _EVERY_TEXT | {JAVASCRIPT},
    "json": _EVERY_TEXT | {FORMATS},
    "verbose_xml": _EVERY_TEXT | {FORMATS},
    "concise_xml": _EVERY_TEXT | {FORMATS},
}
"""Return format → the rules that affect how a text decodes; no rule affects native calls."""

OWN_FORMATS: frozenset[str] = frozenset({FORMATS})
"""The rules that affect how a reply in a model's own format decodes."""

NO_RULES: frozenset[str] = frozenset()
_ALL = frozenset(DECODING_RULES)
_TAGS = re.compile(
    r"<TOOLCALL>|<tool_?calls?>|<function_?calls?>|<functions>|<function\s*=|<function\s+name\s*=|<invoke\s+name\s*="
    r"|<\|python_tag\|>|<\|tool_?calls?(?:_begin)?\|>|\[TOOL_CALLS\]",
    re.IGNORECASE,
)
"""Signs with which models announce a call in their own formats."""
_BRACKETED = re.compile(r"\A[\s`]*(?:\w+[ \t]*\r?\n\s*)?\[\s*[A-Za-z_][\w.\\]*\s*\(")
"""A reply that begins with a list of calls, readable or not."""
_LINE = re.compile(
    r"^[ \t]{0,8}(?:[-*][ \t]{1,4}|\d{1,3}\.[ \t]{1,4})?[`\[(]{0,4}[ \t]{0,4}([A-Za-z_][\w.\\]*)\(", re.MULTILINE
)
_LISTED = re.compile(r"\[\s{0,8}([A-Za-z_][\w.\\]*)\(")
_OBJECT = re.compile(r"\{\s*\"")
_NAME_KEYS = ("function", "name", "tool", "tool_name", "function_name", "action")
_ARGUMENT_KEYS = ("parameters", "arguments", "args", "input", "tool_input", "action_input", "kwargs")
_MAX_OBJECTS = 50
_DECODER = json.JSONDecoder()


def active_rules(rules: str | Iterable[str]) -> frozenset[str]:
    """The active corrected rules: none for ``"official"``, all of decoding's for ``"corrected"``, else the given
    names."""
    if rules == "official":
        return NO_RULES
    if rules == "corrected":
        return _ALL
    if isinstance(rules, str):
        raise ValueError(f"rules are 'official', 'corrected' or a set of names, not {rules!r}")
    return rules if isinstance(rules, frozenset) else frozenset(rules)


def decode_reply(
    reply: Reply,
    mode: Mode,
    *,
    return_format: str = "python",
    tool_call_tag: bool = False,
    rules: str | Iterable[str] = "official",
    functions: Sequence[Fields] = (),
    decoder: str | None = None,
) -> list[Call]:
    """The calls of a single-turn reply.

    ``mode`` ``fc`` reads the native calls and ignores everything else; ``prompt`` reads the text in ``return_format``
    (``python``, ``java``, ``javascript``, ``json``, ``verbose_xml``, ``concise_xml``). ``rules``: ``official``,
    ``corrected``, or the names of the corrected rules to apply; ``functions`` are the offered documents (rule C4).
    ``decoder`` names a model's own format.

    Raises `DecodeError` if nothing decodes, `WrongShape` if the result is no list of calls.
    """
    if mode == "fc" and decoder is None:  # nothing below matters to native calls
        return decode_native(reply)
    reader = ReplyDecoder(
        reply, mode, return_format=return_format, tool_call_tag=tool_call_tag, functions=functions, decoder=decoder
    )
    return reader.calls(rules)


def decode(
    text: str,
    *,
    return_format: str = "python",
    tool_call_tag: bool = False,
    rules: str | Iterable[str] = "official",
    functions: Sequence[Fields] = (),
) -> list[Call]:
    """The calls of a text, see `decode_reply`."""
    return decode_reply(
        Reply(text=text), "prompt", return_format=return_format, tool_call_tag=tool_call_tag, rules=rules,
        functions=functions,
    )  # fmt: skip


class ReplyDecoder:
    """One single-turn reply, decoded under any rules; common work is done once.

    The arguments are those of `decode_reply`. The returned calls are shared; do not change them.
    """

    __slots__ = ("_format", "_functions", "_known", "_mode", "_own", "_python", "_ready", "_reply", "_tagged", "_xml")

    def __init__(
        self,
        reply: Reply,
        mode: Mode,
        *,
        return_format: str = "python",
        tool_call_tag: bool = False,
        functions: Sequence[Fields] = (),
        decoder: str | None = None,
    ) -> None:
        self._reply = reply
        self._own = own_decoder(reply, decoder)
        self._mode: Mode = mode if decoder is None or reply.tool_calls else "prompt"
        self._format = return_format
        self._tagged = tool_call_tag
        self._functions = functions
        self._known: dict[frozenset[str], list[Call] | DecodeError] = {}
        self._python: PythonCalls | DecodeError | None = None
        self._ready: str | None = None
        self._xml: XmlText | None = None

    def calls(self, rules: str | Iterable[str] = "official") -> list[Call]:
        """The calls under these rules. Raises `DecodeError` and `WrongShape` like `decode_reply`."""
        active = NO_RULES
        listed = self._own is not None and self._own.calls is not None
        if rules and (self._mode != "fc" or listed):
            touching = OWN_FORMATS if listed else TOUCHING.get(self._format, NO_RULES)
            active = active_rules(rules) & touching
        known = self._known.get(active)
        if known is None:
            try:
                if self._own is not None and listed:
                    known = own_calls(self._reply, self._own, self._functions, mended=bool(active))
                else:
                    known = decode_native(self._reply) if self._mode == "fc" else self._decoded(active)
            except DecodeError as error:
                self._known[active] = error
                raise
            self._known[active] = known
        elif isinstance(known, DecodeError):
            raise known.with_traceback(None)
        return known

    def calls_if_any(self, rules: str | Iterable[str] = "official") -> list[Call]:
        """The calls under these rules, none if nothing decodes, as relevance needs them (ast_checker spec §9)."""
        try:
            return self.calls(rules)
        except DecodeError:
            return []

    def _decoded(self, active: frozenset[str]) -> list[Call]:
        text = self._reply.text
        if text is None:
            raise DecodeError("the reply has no text")
        check_length(text)
        try:
            return self._as_it_stands(text, active)
        except DecodeError:
            calls = self._recovered(text, active) if active else None
            if calls is None:
                raise
            return calls

    def _prepared(self, text: str) -> str:
        if self._own is None:
            return prepare(text, self._tagged)
        return self._own.source(self._own.read(text), self._tagged)

    def _as_it_stands(self, text: str, active: frozenset[str]) -> list[Call]:
        if self._format != "python":
            if self._ready is None:
                self._ready = self._prepared(text)
            return self._read(self._ready, active)
        if self._python is None:
            try:
                self._python = PythonCalls(self._prepared(text))
            except DecodeError as error:
                self._python = error
        if isinstance(self._python, DecodeError):
            raise self._python.with_traceback(None)
        return self._written(self._python, active) if active else self._python.calls()

    def _recovered(self, text: str, active: frozenset[str]) -> list[Call] | None:
        """A text that does not decode unchanged is repaired by rules C2 and C3."""
        return recover(
            tag_content(text) if self._tagged else text,
            lambda candidate: self._read(prepare(candidate), active),
            wrapping=WRAPPING in active,
            escapes=ESCAPES in active,
            lines=self._format == "python",
        )

    def _read(self, text: str, active: frozenset[str]) -> list[Call]:
        """The calls of a prepared text. Raises `WrongShape` for another result."""
        if self._format == "python":
            return self._written(PythonCalls(text), active)
        if self._format in _XML_DECODERS:
            decoded = self._read_xml(text, active)
        elif self._format in _DECODERS:
            decoded = _DECODERS[self._format](text, active)
        else:
            known = ", ".join([*_DECODERS, *_XML_DECODERS])
            raise ValueError(f"unknown return format {self._format!r}; known: python, {known}")
        if not is_call_list(decoded):
            raise WrongShape(decoded)
        return [Call(*next(iter(item.items()))) for item in decoded]

    def _read_xml(self, text: str, active: frozenset[str]) -> list[Parsed]:
        if self._xml is None or self._xml.text != text:
            self._xml = XmlText(text)
        return _XML_DECODERS[self._format](self._xml, proper=FORMATS in active, escapes=ESCAPES in active)

    def _written(self, parsed: PythonCalls, active: frozenset[str]) -> list[Call]:
        positional = _documented(self._functions) if self._functions and POSITIONAL in active else None
        return parsed.calls(strict_signs=SIGNS in active, positional=positional)


def has_call(
    reply: Reply, mode: Mode, *, rules: str | Iterable[str] = "official", functions: Sequence[Fields] = ()
) -> bool:
    """Whether a reply contains a call, for relevance and irrelevance (ast_checker spec §9): Python or native rules."""
    return bool(ReplyDecoder(reply, mode, functions=functions).calls_if_any(rules))


_DECODERS: dict[str, Callable[[str, frozenset[str]], Any]] = {
    "java": lambda text, active: decode_java(text, proper=JAVA in active),
    "javascript": lambda text, active: decode_javascript(text, proper=JAVASCRIPT in active),
    "json": lambda text, active: decode_json(text, proper=FORMATS in active, escapes=ESCAPES in active),
}
_XML_DECODERS: dict[str, Callable[..., list[Parsed]]] = {
    "verbose_xml": decode_verbose_xml,
    "concise_xml": decode_concise_xml,
}


def _documented(functions: Sequence[Fields]) -> PositionalNames:
    def parameters(name: str) -> list[str] | None:
        for document in functions:
            if document.get("name") == name:
                properties = (document.get("parameters") or {}).get("properties")
                return list(properties) if isinstance(properties, Mapping) else None
        return None

    return parameters


def call_texts(
    reply: Reply, mode: Mode, decoder: str | None = None, functions: Sequence[Fields] = (), *, mended: bool = False
) -> list[str]:
    """The calls of one step as texts such as ``cd(folder='a')``, in order; the turn ends when the list `is_empty`.

    ``decoder`` reads a text in a model's own format, in any mode; ``mended`` without its family's defects. Raises
    `DecodeError` if the reply does not decode (then the turn also ends). In native mode one broken call makes the whole
    step unreadable.
    """
    own = own_decoder(reply, decoder)
    if own is not None:
        return own_texts(reply, own, functions, mended=mended and own.calls is not None)
    if mode == "fc" and (decoder is None or reply.tool_calls):
        return _native(reply)
    if reply.text is None:
        raise DecodeError("the reply has no text")
    check_length(reply.text)
    calls = decode_python(prepare(reply.text))
    return written_calls(calls)


def is_empty(texts: Sequence[str]) -> bool:
    """Predicate E: no call, or one empty text."""
    return len(texts) == 0 or (len(texts) == 1 and len(texts[0]) == 0)


def _native(reply: Reply) -> list[str]:
    if not reply.tool_calls:
        if reply.text == "":
            return []
        raise DecodeError("no tool call: the reply is text" if reply.text else "no tool call and no text")
    check_count(len(reply.tool_calls))
    texts = []
    for call in reply.tool_calls:
        arguments = parse_json(call.arguments)
        if not isinstance(arguments, dict):
            raise DecodeError(f"arguments of {call.name[:200]} are not an object")
        texts.append(f"{call.name}({','.join(f'{key}={value!r}' for key, value in arguments.items())})")
    return texts


def attempts_call(
    reply: Reply, mode: Mode, functions: Sequence[Fields] = (), decoder: ReplyDecoder | None = None
) -> bool:
    """Whether a reply calls, or tries to: a broken call, one in another format, a tagged one, one inside prose.

    Naming an offered function in a sentence is no attempt. A call counts at the start of the reply, on its own line, in
    a list, fence or tag, or as a JSON object with name and arguments. ``decoder`` saves work if the reply was already
    read as Python text.
    """
    if reply.tool_calls:
        return True
    text = reply.text
    if not text or len(text) > MAX_CHARACTERS:
        return False
    if decoder is None or mode != "prompt":
        decoder = ReplyDecoder(Reply(text=text), "prompt", functions=functions)
    if decoder.calls_if_any("corrected"):
        return True
    if _TAGS.search(text) or _BRACKETED.search(text):
        return True
    offered = _spellings(functions)
    return _names_a_call(text, offered) or any(_is_call_object(value, offered) for value in _objects(text))


def _spellings(functions: Iterable[Fields]) -> frozenset[str]:
    names = {str(document.get("name", "")) for document in functions} - {""}
    return frozenset(names | {wire_name(name) for name in names})


def _names_a_call(text: str, offered: frozenset[str]) -> bool:
    """Whether an offered function is called at the start of a line or of a bracketed list."""
    for pattern in (_LINE, _LISTED):
        for found in pattern.finditer(text):
            if found.group(1).replace("\\", "") in offered:
                return True
    return False


def _objects(text: str) -> Iterator[Any]:
    """JSON objects in a text, from left to right, only outermost ones."""
    position = 0
    for _ in range(_MAX_OBJECTS):
        found = _OBJECT.search(text, position)
        if found is None:
            return
        try:
            value, position = _DECODER.raw_decode(text, found.start())
            yield value
        except (ValueError, RecursionError):
            position = found.end()


def _is_call_object(value: object, offered: frozenset[str]) -> bool:
    """``{"name": …, "arguments": {…}}`` in one of its usual spellings, or ``{offered name: {…}}``."""
    if not isinstance(value, dict):
        return False
    inner = value.get("function")
    if isinstance(inner, dict) and _is_call_object(inner, offered):
        return True
    for key in _NAME_KEYS:
        name = value.get(key)
        if isinstance(name, str) and any(_are_arguments(value.get(other)) for other in _ARGUMENT_KEYS):
            return True
    return any(key in offered and isinstance(item, dict) for key, item in value.items())


def _are_arguments(value: object) -> bool:
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except DecodeError:
            return False
    return isinstance(value, dict)
