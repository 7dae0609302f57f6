"""Python call syntax → calls (ast_checker spec §3.2).

The text is parsed with ``ast``, and nothing in it is evaluated except arithmetic on literals by the bounded evaluator
of `pytest_bfcl.syntax.arithmetic`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Sequence
from keyword import iskeyword
from typing import Any, Literal

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import parse_expression, parse_python
from pytest_bfcl.syntax.arithmetic import Folder
from pytest_bfcl.syntax.call_parsing import read_plain_calls
from pytest_bfcl.syntax.limits import MAX_CALLS, DecodeError, check_integer, check_length
from pytest_bfcl.transcript import Arguments, Call

_WORD_FIRST = re.compile(r"\[?\s*\w")
_PROSE = re.compile(
    r"\[?[ \t]*(?!(?:not|lambda|await|yield|if|for|while|import|from)\b)[^\W\d]\w*[ \t]+"
    r"(?!(?:and|or|if|else|for|async|in|is|not)\b)[^\W\d]\w*"
)
"""Two consecutive words, which a Python expression has only around a word operator."""
_ADDRESS = re.compile(r" object at 0x[0-9A-Fa-f]+")
_LONG_INTEGER = 3_500
"""Shorter texts have no integer of more than 4300 digits, not even in hexadecimal."""
_LITERAL_CLASSES = (int, float, complex)


def parse_lines(text: str) -> list[ast.expr]:
    """The expressions of a text of several statements. Raises `DecodeError` if one is no expression."""
    nodes = []
    for statement in _parse(text, "exec").body:
        if not isinstance(statement, ast.Expr):
            raise DecodeError("a statement among the calls")
        nodes.append(statement.value)
    return nodes


def python_expression(text: str) -> ast.expr:
    """Parse one Python expression; every problem is a `DecodeError`, never a crash, a warning or a long wait.

    Python's tokenizer refuses more than 200 nested brackets at once.
    """
    return _parse(text, "eval").body  # type: ignore[no-any-return]


def _parse(text: str, mode: Literal["eval", "exec"]) -> Any:
    check_length(text)
    try:
        return parse_python(text, mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise DecodeError(f"not Python call syntax: {getattr(error, 'msg', None) or error}") from None


def decode_python(text: str) -> list[Call]:
    """Calls of a prepared text under official rules. Raises `DecodeError`."""
    return PythonCalls(text).calls()


class PythonCalls:
    """The calls of a prepared text, parsed once for any rules, which may raise `DecodeError` later."""

    __slots__ = ("_nodes", "_plain")

    def __init__(self, text: str) -> None:
        text = text.strip().strip("'")
        self._nodes: list[ast.expr] = []
        self._plain = read_plain_calls(text)
        if self._plain is None:
            self._nodes = _elements(text)

    @property
    def unnamed(self) -> bool:
        """Whether a call has an argument without a name, which the official rules drop."""
        return any(isinstance(node, ast.Call) and node.args for node in self._nodes)

    def calls(self, *, strict_signs: bool = False, positional: PositionalNames | None = None) -> list[Call]:
        """The calls; those of a plain list are cached.

        ``strict_signs`` is corrected rule C1, ``positional`` maps a function name to its documented parameter names
        (C4).
        """
        if self._plain is not None:
            return self._plain
        reader = _Reader(strict_signs, positional)
        calls = []
        try:
            for node in self._nodes:
                if not isinstance(node, ast.Call):
                    raise DecodeError(f"an element of the list is not a call: {type(node).__name__}")
                calls.append(reader.call(node))
        except RecursionError:
            raise DecodeError("expression nested too deeply") from None
        return calls


def _elements(text: str) -> list[ast.expr]:
    """The parsed content of a list of calls, or the only call."""
    if ("(" not in text and _WORD_FIRST.match(text)) or _PROSE.match(text):  # spared the parser
        raise DecodeError("no call in the text")
    body = python_expression(text)
    if isinstance(body, ast.Call):
        return [body]
    if isinstance(body, (ast.List, ast.Tuple, ast.Set)):
        return body.elts
    raise DecodeError(f"neither a call nor a list of calls: {type(body).__name__}")


def mapping_of(node: ast.Dict, value: Callable[[ast.expr], Any]) -> dict[Any, Any]:
    """A dictionary whose keys and values ``value`` reads. Raises `DecodeError` for ``**`` and for keys that cannot be
    hashed."""
    result: dict[Any, Any] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        if key is None:
            raise DecodeError("** inside a mapping")
        try:
            result[value(key)] = value(item)
        except TypeError as error:
            raise DecodeError(str(error)) from None
    return result


PositionalNames = Callable[[str], list[str] | None]
"""Function name → its documented parameters in order, or ``None`` if it is not offered."""


class _Reader:
    """Converts nodes to values; one per text, so that arithmetic is counted over the whole text."""

    def __init__(self, strict_signs: bool, positional: PositionalNames | None) -> None:
        self._strict_signs = strict_signs
        self._positional = positional
        self._folder: Folder | None = None

    def call(self, node: ast.Call) -> Call:
        """Name and keyword arguments; positional and starred arguments are discarded (but see rule C4)."""
        arguments: Arguments = {}
        name = function_name(node.func)
        if node.args and self._positional is not None:
            arguments.update(self._mapped(name, node))
        for keyword in node.keywords:
            value = keyword.value
            if type(value) is ast.Constant:  # the common case, spared a call
                arguments[keyword.arg] = _constant(value)
            else:
                arguments[keyword.arg] = self.value(value)
        return Call(name, arguments)

    def _mapped(self, name: str, node: ast.Call) -> Parsed:
        """Positional arguments under their documented names, or nothing if they do not all fit."""
        names = self._positional(name) if self._positional else None
        given = {keyword.arg for keyword in node.keywords}
        if names is None or len(node.args) > len(names) or any(isinstance(arg, ast.Starred) for arg in node.args):
            return {}
        mapped = names[: len(node.args)]
        if given.intersection(mapped) or None in given:
            return {}
        return {key: self.value(arg) for key, arg in zip(mapped, node.args, strict=True)}

    def value(self, node: ast.expr) -> Any:
        """The value of an argument by the table of ast_checker spec §3.2. Raises `DecodeError`."""
        read = _READERS.get(type(node))
        if read is None:
            raise DecodeError(f"unsupported value: {type(node).__name__}")
        return read(self, node)

    def _list(self, node: ast.List) -> list[Any]:
        return [self.value(item) for item in node.elts]

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple([self.value(item) for item in node.elts])

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        return mapping_of(node, self.value)

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = node.operand
        if not isinstance(operand, ast.Constant) or not isinstance(operand.value, _LITERAL_CLASSES):
            raise DecodeError("sign before something that is not a number")
        value = _constant(operand)
        if self._strict_signs:
            if isinstance(node.op, ast.UAdd):
                return +value
            if not isinstance(node.op, ast.USub):
                raise DecodeError("operator before a literal")
        return -value  # whatever the operator: the reference's defect

    def _binary(self, node: ast.BinOp) -> Any:
        if self._folder is None:
            self._folder = Folder()
        value = self._folder.fold(node)
        return check_integer(value) if isinstance(value, int) else value

    def _subscript(self, node: ast.Subscript) -> str:
        return f"{source(node.value)}[{source(node.slice)}]"

    def _call(self, node: ast.Call) -> Any:
        return self.call(node).as_object() if node.keywords else source(node)


def _constant(node: ast.Constant) -> Any:
    value = node.value
    if value is ...:
        return "..."
    return check_integer(value) if type(value) is int else value


def _name(_reader: _Reader, node: ast.Name) -> str:
    return node.id


_READERS: dict[type[ast.expr], Callable[[_Reader, Any], Any]] = {
    ast.Constant: lambda _reader, node: _constant(node),
    ast.Name: _name,
    ast.List: _Reader._list,
    ast.Tuple: _Reader._tuple,
    ast.Dict: _Reader._dict,
    ast.UnaryOp: _Reader._unary,
    ast.BinOp: _Reader._binary,
    ast.Subscript: _Reader._subscript,
    ast.Call: _Reader._call,
}


def python_literal(text: str) -> Any:
    """The value of a Python literal by ``ast.literal_eval``. Raises `DecodeError`."""
    node = python_expression(text.lstrip(" \t"))
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError, ArithmeticError) as error:
        words = _ADDRESS.sub("", str(error))  # or equal replies would have lines that differ
        raise DecodeError(f"not a Python literal: {words}") from None
    if len(text) > _LONG_INTEGER:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant):
                _constant(part)
    return value


def function_name(node: ast.expr) -> str:
    """The attribute chain joined with dots; a base that is no plain name is dropped (``""`` if nothing is left)."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def source(node: ast.expr) -> str:
    """Source text as Python's unparser writes it."""
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"expression cannot be written back: {error}") from None


def read_calls(nodes: Sequence[ast.Call]) -> list[Call]:
    """The calls of parsed nodes under official rules; raises `DecodeError`."""
    reader = _Reader(False, None)
    try:
        return [reader.call(node) for node in nodes]
    except RecursionError:
        raise DecodeError("expression nested too deeply") from None


def written_calls(calls: Iterable[Call]) -> list[str]:
    """``name(key=value, …)`` of each call."""
    listed = list(calls)
    check_count(len(listed))
    return [_written(*call) for call in listed]


def exact_text(call: Call) -> str:
    """A call as ``name(key=value, **{…})``: values as Python literals, other names in the mapping."""
    spread = call.arguments.get(None)
    spread = spread if isinstance(spread, dict) else {}
    plain = {str(key): value for key, value in (call.arguments | spread).items() if key is not None or not spread}
    named = [f"{key}={value!r}" for key, value in plain.items() if key.isidentifier() and not iskeyword(key)]
    others = {key: value for key, value in plain.items() if not key.isidentifier() or iskeyword(key)}
    return f"{call.name}({', '.join([*named, *([f'**{others!r}'] if others else [])])})"


def read_call(text: str) -> tuple[str, Parsed]:
    """Name and arguments of a call text of literals. Raises `ValueError` for any other text."""
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError("not one call of a tool")
        if node.args:
            raise ValueError("arguments are given by name")
        arguments: Parsed = {}
        for item in node.keywords:
            value = ast.literal_eval(item.value)
            arguments |= {item.arg: value} if item.arg is not None else {str(key): each for key, each in value.items()}
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        raise
    except (SyntaxError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise ValueError(f"this is no call that can be executed: {type(error).__name__}") from None
    return node.func.id, arguments


def check_count(calls: int) -> None:
    """Raise `DecodeError` for more calls than one step may execute."""
    if calls > MAX_CALLS:
        raise DecodeError(f"{calls} calls in one reply; at most {MAX_CALLS} are executed")


def _written(name: object, arguments: Arguments) -> str:
    """``name(key=value, …)``."""
    return f"{name}({', '.join(f'{key}={_value(value)}' for key, value in arguments.items())})"


def _value(value: object) -> str:
    """A value as source text, with the reference's defects for mappings outside lists.

    Keys become texts without escaping quotes. A mapping of mappings is misread as a nested call and loses all but its
    first item; the empty mapping fails.
    """
    if not isinstance(value, dict):
        return repr(value)
    if not value:
        raise DecodeError("an empty mapping as argument")
    if all(isinstance(item, dict) for item in value.values()):
        return _written(*next(iter(value.items())))
    return "{" + ", ".join([f"'{key}': {_value(item)}" for key, item in value.items()]) + "}"
