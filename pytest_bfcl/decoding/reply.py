"""From a reply to calls: the entry points of this room (ast_checker spec §1–§3, §9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_bfcl.decoding import rules as rule
from pytest_bfcl.decoding.errors import DecodeError, WrongShape, is_call_list
from pytest_bfcl.decoding.java import decode_java
from pytest_bfcl.decoding.javascript import decode_javascript
from pytest_bfcl.decoding.json_format import decode_json
from pytest_bfcl.decoding.limits import check_length
from pytest_bfcl.decoding.native import decode_native
from pytest_bfcl.decoding.preparation import prepare, tag_content
from pytest_bfcl.decoding.python_syntax import PositionalNames, decode_python
from pytest_bfcl.decoding.wrapping import recover
from pytest_bfcl.decoding.xml_format import decode_concise_xml, decode_verbose_xml
from pytest_bfcl.transcript import Mode, Reply

Call = dict[str, dict[str, Any]]
"""One decoded call: ``{name: {parameter: value}}``; a parameter is ``None`` where the reference has a null key."""


def decode_reply(
    reply: Reply,
    mode: Mode,
    *,
    return_format: str = "python",
    tool_call_tag: bool = False,
    rules: str | Iterable[str] = "official",
    functions: Sequence[Mapping[str, Any]] = (),
    language: str = "python",
) -> list[Call]:
    """The calls of a single-turn reply.

    ``mode`` ``fc`` reads the native calls and ignores everything else; ``prompt`` reads the text in ``return_format``
    (``python``, ``java``, ``javascript``, ``json``, ``verbose_xml``, ``concise_xml``). ``rules``: ``official``,
    ``corrected``, or the names of the corrected rules to apply; ``functions`` are the offered documents (rule C4).
    ``language`` is that of the entry; it matters to checkers, not here.

    Raises `DecodeError` when nothing decodes, `WrongShape` when something else than a list of calls comes out.
    """
    if mode == "fc":
        return decode_native(reply)
    if reply.text is None:
        raise DecodeError("the reply has no text")
    return decode(
        reply.text, return_format=return_format, tool_call_tag=tool_call_tag, rules=rules, functions=functions
    )


def decode(
    text: str,
    *,
    return_format: str = "python",
    tool_call_tag: bool = False,
    rules: str | Iterable[str] = "official",
    functions: Sequence[Mapping[str, Any]] = (),
) -> list[Call]:
    """The calls of a text, see `decode_reply`."""
    check_length(text)
    active = rule.active_rules(rules)
    if not active:
        return _decode_format(prepare(text, tool_call_tag), return_format, active, functions)
    return _decode_corrected(text, return_format, tool_call_tag, active, functions)


def _decode_corrected(
    text: str, return_format: str, tool_call_tag: bool, active: frozenset[str], functions: Sequence[Mapping[str, Any]]
) -> list[Call]:
    """As `decode`; a text that does not decode as it stands gets a second chance by rules C2 and C3."""

    def read(candidate: str) -> list[Call]:
        return _decode_format(prepare(candidate), return_format, active, functions)

    inner = tag_content(text) if tool_call_tag else text
    try:
        return _decode_format(prepare(text, tool_call_tag), return_format, active, functions)
    except DecodeError:
        calls = recover(
            inner,
            read,
            wrapping=rule.WRAPPING in active,
            escapes=rule.ESCAPES in active,
            lines=return_format == "python",
        )
        if calls is None:
            raise
        return calls


def has_call(
    reply: Reply,
    mode: Mode,
    *,
    rules: str | Iterable[str] = "official",
    functions: Sequence[Mapping[str, Any]] = (),
) -> bool:
    """Whether a reply contains a call, for relevance and irrelevance (ast_checker spec §9): Python or native rules."""
    try:
        return bool(decode_reply(reply, mode, rules=rules, functions=functions))
    except DecodeError:
        return False


def _decode_format(
    text: str, return_format: str, active: frozenset[str], functions: Sequence[Mapping[str, Any]]
) -> list[Call]:
    """The calls of a prepared text; raises `WrongShape` when something else comes out."""
    if return_format == "python":
        if not active:
            return decode_python(text)
        return decode_python(
            text,
            strict_signs=rule.SIGNS in active,
            positional=_documented(functions) if functions and rule.POSITIONAL in active else None,
        )
    decoder = _DECODERS.get(return_format)
    if decoder is None:
        raise ValueError(f"unknown return format {return_format!r}; known: python, {', '.join(_DECODERS)}")
    decoded = decoder(text, active)
    if not is_call_list(decoded):
        raise WrongShape(decoded)
    return decoded  # type: ignore[no-any-return]


_DECODERS: dict[str, Callable[[str, frozenset[str]], Any]] = {
    "java": lambda text, active: decode_java(text, proper=rule.JAVA in active),
    "javascript": lambda text, active: decode_javascript(text, proper=rule.JAVASCRIPT in active),
    "json": lambda text, active: decode_json(text, proper=rule.FORMATS in active, escapes=rule.ESCAPES in active),
    "verbose_xml": lambda text, active: decode_verbose_xml(
        text, proper=rule.FORMATS in active, escapes=rule.ESCAPES in active
    ),
    "concise_xml": lambda text, active: decode_concise_xml(
        text, proper=rule.FORMATS in active, escapes=rule.ESCAPES in active
    ),
}


def _documented(functions: Sequence[Mapping[str, Any]]) -> PositionalNames:
    def parameters(name: str) -> list[str] | None:
        for document in functions:
            if document.get("name") == name:
                properties = (document.get("parameters") or {}).get("properties")
                return list(properties) if isinstance(properties, Mapping) else None
        return None

    return parameters
