"""The grammar of call texts: a bounded subset of Python expressions, parsed with `ast` and never evaluated.

Accepted (multi_turn spec §3.4): literals (text, int, float, bool, None, list, tuple, dict, set) and a sign before a
number. Also calls of a (dotted) name with positional and keyword arguments, calls as arguments, subscripts, and lists
or tuples of calls. Everything else is refused before anything runs. `scan` reads the characters first. Python's own
parser can overflow the C stack on texts such as sixty thousand minus signs, so only texts of limited nesting reach it.
"""

from __future__ import annotations

import ast
import keyword
import re
from dataclasses import dataclass, field
from functools import lru_cache
from keyword import kwlist
from typing import Any

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import parse_expression
from pytest_bfcl.transcript import Arguments, Call

MAX_TEXT_CHARS = 200_000
MAX_NESTING = 64
"""Brackets within brackets; also the depth of the parsed tree."""
MAX_NODES = 100_000
MAX_CALLS = 64
"""Calls in one text, nested ones included."""
MAX_NUMBER_CHARS = 4_300
"""Like Python's own limit on decimal integers, but for every notation."""
MAX_SIGNS = 8
MAX_DOTS = 8
MAX_SUFFIXES = 64
"""Brackets that directly follow a closing bracket, as in ``f()[0][1]``."""
MAX_WORDED_CHARS = 1_000
"""Longest text that Python's parser parses only for its error message."""
MAX_KEPT_CHARS = 400
MAX_KEPT_TREES = 1_024
"""Number of cached trees of short texts; the most hostile ones take about 40 MB together."""


class CallRefused(ValueError):
    """The text is not an accepted call; the message names the obstacle."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """One plain call with literal arguments; ``name`` as written, dots included."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Parsed = field(default_factory=dict)


_TOKEN = re.compile(
    r"""
      (?P<space>\s++|\\\r?\n|\#[^\n]*+)
    | (?P<string>[rRuU]?(?:
          '''(?:[^'\\]|\\.|'(?!''))*+'''
        | \"""(?:[^"\\]|\\.|"(?!""))*+\"""
        | '(?!'')[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'
        | "(?!"")[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"
      ))
    | (?P<number>(?:\d|\.\d)[\w.]*+(?:(?<=[eE])[+-]\d++)?)
    | (?P<name>[^\W\d]\w*+(?:\s*+\.\s*+[^\W\d]\w*+)*+)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<sign>[+-])
    | (?P<mark>[,:=])
    """,
    re.VERBOSE | re.DOTALL,
)

_VALUES = frozenset({"True", "False", "None"})
_ENDS_VALUE = frozenset({"string", "number", "name", "close"})


def scan(text: str) -> None:
    """Refuse, in one linear pass, every text that could harm the parser or that no accepted form can start with."""
    position = depth = signs = suffixes = 0
    before = ""
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise CallRefused(f"unexpected {text[position]!r} at position {position}")
        position, kind, written = token.end(), token.lastgroup or "", token.group()
        if kind == "space":
            continue
        signs = signs + 1 if kind == "sign" else 0
        if kind == "open":
            depth += 1
            suffixes += before == "close"
        elif kind == "close":
            depth -= 1
        elif kind == "name":
            _check_name(written, before)
        if kind == "number" and len(written) > MAX_NUMBER_CHARS:
            raise CallRefused(f"a number of {len(written):,} characters")
        if kind == "string" and before in ("name", "number", "close"):
            raise CallRefused("a literal of this kind is not evaluated")  # f"...", b"..."
        if kind == "sign" and before in _ENDS_VALUE:
            raise CallRefused("arithmetic is not evaluated")
        if depth > MAX_NESTING or signs > MAX_SIGNS or suffixes > MAX_SUFFIXES:
            raise CallRefused("nested too deeply")
        before = kind


def _check_name(written: str, before: str) -> None:
    if before in ("name", "number", "close"):
        raise CallRefused(f"unexpected name {written[:40]!r}")
    if keyword.iskeyword(written) and written not in _VALUES:
        raise CallRefused(f"{written!r} is not allowed here")
    if written.count(".") > MAX_DOTS:
        raise CallRefused("a dotted name of too many parts")


def parse(text: str) -> ast.expr:
    """The checked expression tree of a call text. Raises `CallRefused`; all nodes are accepted and within limits."""
    if not isinstance(text, str):
        raise CallRefused(f"a call is text, not {type(text).__name__}")
    if len(text) > MAX_TEXT_CHARS:
        raise CallRefused(f"a call of {len(text):,} characters, more than the {MAX_TEXT_CHARS:,} allowed")
    return _parse_short(text) if len(text) <= MAX_KEPT_CHARS else _parse(text)


def _parse(text: str) -> ast.expr:
    try:
        scan(text)
        tree = _tree(text.lstrip(" \t\f"))
        _check_tree(tree)
    except CallRefused as refused:
        raise _worded(refused, text) from None
    return tree


def _worded(refused: CallRefused, text: str) -> CallRefused:
    """The refusal in Python's own words if its parser also refuses the text, as the reference shows it to a model."""
    if len(text) > MAX_WORDED_CHARS:
        return refused
    try:
        parse_expression(text.lstrip(" \t"))
    except SyntaxError as error:
        return CallRefused(f"{error.msg} (<string>, line {error.lineno})")
    except (ValueError, MemoryError, RecursionError):
        pass
    return refused


# A conversation and its ground truth mostly make the same calls, and trees are never changed.
_parse_short = lru_cache(maxsize=MAX_KEPT_TREES)(_parse)


def _tree(text: str) -> ast.expr:
    try:
        return parse_expression(text)
    except SyntaxError as error:
        raise CallRefused(f"not readable as a call: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise CallRefused(f"not readable as a call: {error}") from None


_CONSTANTS = (str, int, float, bool, type(None))
_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Subscript, ast.Slice)


def _check_tree(tree: ast.expr) -> None:
    """Refuse nodes outside the grammar, and trees above the limits."""
    pending: list[tuple[ast.AST, int]] = [(tree, 1)]
    nodes = calls = 0
    while pending:
        node, depth = pending.pop()
        nodes += 1
        calls += isinstance(node, ast.Call)
        if nodes > MAX_NODES or calls > MAX_CALLS or depth > MAX_NESTING + 8:
            raise CallRefused("too large: too many values, calls or levels")
        pending.extend((child, depth + 1) for child in _children(node))


def _children(node: ast.AST) -> list[ast.AST]:
    """The parts of an accepted node that need a check; `CallRefused` for any other node."""
    match node:
        case ast.Constant(value=value) if type(value) in _CONSTANTS:
            return []
        case ast.Name() | ast.expr_context():
            return []
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return [operand]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return [*(key for key in keys if key is not None), *values]
        case ast.Call(args=args, keywords=keywords):
            call_name(node)
            return [*args, *_keyword_values(keywords)]
    if isinstance(node, _CONTAINERS):
        return list(ast.iter_child_nodes(node))
    raise CallRefused(f"{_WORDS.get(type(node).__name__, type(node).__name__)} is not evaluated")


_WORDS = {
    "BinOp": "arithmetic",
    "Attribute": "attribute access",
    "Starred": "unpacking",
    "JoinedStr": "a formatted text",
    "NamedExpr": "an assignment",
    "Dict": "unpacking",
    "Constant": "a literal of this kind",
}


def _keyword_values(keywords: list[ast.keyword]) -> list[ast.expr]:
    seen: set[str] = set()
    for item in keywords:
        if item.arg is None:
            raise CallRefused("unpacking is not evaluated")
        if item.arg in seen:
            raise CallRefused(f"keyword argument repeated: {item.arg} (<string>, line {item.lineno})")
        seen.add(item.arg)
    return [item.value for item in keywords]


def call_name(node: ast.Call) -> str:
    """The called name, dots included. Raises `CallRefused` if something else is called."""
    parts: list[str] = []
    function: ast.expr = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        raise CallRefused("only names can be called")
    return ".".join([function.id, *reversed(parts)])


def split_call(call_text: str) -> ParsedCall | None:
    """Name and arguments of one plain call with literal arguments; ``None`` for any other text."""
    try:
        tree = parse(call_text)
        if not isinstance(tree, ast.Call):
            return None
        args = tuple(ast.literal_eval(value) for value in tree.args)
        kwargs = {str(item.arg): ast.literal_eval(item.value) for item in tree.keywords}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return ParsedCall(call_name(tree), args, kwargs)


_TEXT = r"[^{quote}\\\r\n\0\ud800-\udfff]*+"
_LITERAL = (
    rf"(?:'{_TEXT.replace('{quote}', chr(39))}'|\"{_TEXT.replace('{quote}', chr(34))}\""
    r"|-?(?:0|[1-9][0-9]{0,14}+)(?:\.[0-9]{1,15}+)?|True|False|None)"
)
# Each item of a list is followed by a comma and something more, or by the end: said so, an item stands in the pattern
# only once, which compiles in a quarter of the time.
_VALUE = rf"(?:{_LITERAL}|\[(?:{_LITERAL}(?:, *(?!\])|(?=\])))*+\])"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*+"
_ARGUMENTS = rf"(?:{_NAME} ?= ?{_VALUE}(?:, *(?!\))|(?=\))))*+"
_CALL = rf"{_NAME}(?:\.{_NAME})*+\({_ARGUMENTS}\)"

_PLAIN = re.compile(rf"\[ *(?:{_CALL}(?:,[ \n]*(?=[A-Za-z_])|(?= *\])))++ *\]")
_PARTS = re.compile(rf"({_NAME}(?:\.{_NAME})*+)\(|({_NAME}) ?= ?({_VALUE})")
"""In a plain call list: the name of each call, then its arguments; matches have the pattern's positions."""
_ELEMENTS = re.compile(_LITERAL)
_LITERAL_WORDS = {"True": True, "False": False, "None": None}
_RESERVED = frozenset(kwlist) | {"__debug__"}


def read_plain_calls(text: str) -> list[Call] | None:
    """The calls of a text that is a plain call list, ``None`` for any other; linear in the text's length."""
    if _PLAIN.fullmatch(text) is None:
        return None
    calls: list[Call] = []
    arguments: Arguments = {}
    for name, parameter, value in _PARTS.findall(text):
        if name:
            if name in _RESERVED or ("." in name and not _RESERVED.isdisjoint(name.split("."))):
                return None
            arguments = {}
            calls.append(Call(name, arguments))
        elif parameter in _RESERVED or parameter in arguments:
            return None
        elif value[0] in "'\"":
            arguments[parameter] = value[1:-1]
        else:
            arguments[parameter] = _value(value)
    return calls


def _value(text: str) -> Any:
    first = text[0]
    if first in "'\"":
        return text[1:-1]
    if first == "[":
        return [_value(element) for element in _ELEMENTS.findall(text)]
    if first in "TFN":
        return _LITERAL_WORDS[text]
    return float(text) if "." in text else int(text)
