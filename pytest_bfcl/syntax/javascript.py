"""JavaScript call syntax → one call, and its source texts → Python values (ast_checker spec §3.4, rule C14)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError, check_depth
from pytest_bfcl.syntax.trees import integer_literal, named_children, parse

if TYPE_CHECKING:
    from tree_sitter import Node

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\$]|\\.|\$(?!\{))*`', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r?\n)|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*)")
_REAL = re.compile(r"-?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?")
_UNKNOWN = object()


def javascript_value(source_text: str, schema: Fields) -> Any:
    """The value of a JavaScript expression under a parameter's schema (``type``, ``items``).

    Strings stay strings with any content. Arrays and objects are read to any depth and over any number of lines; names
    and other expressions inside them stay text. Text that is no literal of the type is returned unchanged (``array``
    and ``dict``: trimmed), as by the official converter.
    """
    kind = schema.get("type")
    if kind in ("array", "dict"):
        trimmed = source_text.strip()
        node = _expression(trimmed)
        value = _UNKNOWN if node is None else _Reader(trimmed).container(node, schema, 0)
        return value if isinstance(value, list if kind == "array" else dict) else trimmed
    return _scalar(source_text, str(kind))


def string_text(text: str) -> str:
    """The text of a complete string or template literal without substitutions; any other text unchanged."""
    if not _STRING.fullmatch(text):
        return text
    return _ESCAPE.sub(_escape, text[1:-1]) if "\\" in text else text[1:-1]


def _escape(found: re.Match[str]) -> str:
    point, unit, byte, line_break, other = found.groups()
    if digits := point or unit or byte:
        number = int(digits, 16)
        return chr(number) if number <= 0x10FFFF else found.group()
    return "" if line_break else _SIMPLE_ESCAPES.get(other, other)


def _scalar(text: str, kind: str) -> Any:
    """A value of exactly this kind, else the text."""
    if kind == "Boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind == "integer":
        return integer_literal(text, _INTEGER)
    if kind == "float":
        return _real(text)
    if kind == "Bigint":
        value = integer_literal(text[:-1], _INTEGER) if text.endswith("n") else text
        return text if isinstance(value, str) else value
    return string_text(text) if kind in ("String", "any") else text


def _real(text: str) -> float | str:
    if _REAL.fullmatch(text):
        return float(text.replace("_", ""))
    value = integer_literal(text, _INTEGER)
    try:
        return text if isinstance(value, str) else float(value)
    except OverflowError:
        return text


def _expression(source: str) -> Node | None:
    """The node of a text that is exactly one JavaScript expression, else ``None``."""
    try:
        check_depth(source)
        root = parse(f"({source})", "javascript")
    except DecodeError:
        return None
    statements = named_children(root)
    if len(statements) != 1 or statements[0].type != "expression_statement":
        return None
    wrapper = statements[0].children[0]
    if wrapper.type != "parenthesized_expression" or wrapper.end_byte != len(f"({source})".encode()):
        return None
    values = named_children(wrapper)
    return values[0] if len(values) == 1 else None


class _Reader:
    """Converts nodes of one expression to values; ``_UNKNOWN`` for anything but an array or object literal."""

    def __init__(self, source: str) -> None:
        self._bytes = f"({source})".encode()

    def text(self, node: Node) -> str:
        return self._bytes[node.start_byte : node.end_byte].decode()

    def container(self, node: Node, schema: Fields, depth: int) -> Any:
        """A list or mapping from a literal or from ``new Array(…)`` / ``Array.of(…)``."""
        if depth > MAX_DEPTH:
            return _UNKNOWN
        if node.type == "parenthesized_expression" and len(named_children(node)) == 1:
            return self.container(named_children(node)[0], schema, depth + 1)
        items = schema.get("items")
        if node.type == "array":
            return [self.element(item, items, depth) for item in named_children(node)]
        if node.type in ("new_expression", "call_expression"):
            field = "constructor" if node.type == "new_expression" else "function"
            callee = node.child_by_field_name(field)
            name = self.text(callee) if callee is not None else ""
            if (node.type, name) in (("new_expression", "Array"), ("call_expression", "Array.of")):
                return [
                    self.element(item, items, depth) for item in named_children(node.child_by_field_name("arguments"))
                ]
        return self._object(node, depth) if node.type == "object" else _UNKNOWN

    def element(self, node: Node, schema: Fields | None, depth: int) -> Any:
        """An element: by its declared type if ``items`` gives one, else by its own literal."""
        kind = schema.get("type") if schema else None
        if kind in ("String", "integer", "float", "Bigint", "Boolean"):
            text = self.text(node)
            return _scalar(text.replace(" ", "") if node.type == "unary_expression" else text, str(kind))
        value = self.container(node, schema or {}, depth + 1)
        return self._literal(node) if value is _UNKNOWN else value

    def _literal(self, node: Node) -> Any:
        """A literal's value by its own notation, other expressions as text."""
        text = self.text(node)
        if node.type in ("null", "undefined"):
            return None
        if node.type in ("true", "false"):
            return node.type == "true"
        if node.type == "unary_expression":
            text = text.replace(" ", "")
        if node.type in ("number", "unary_expression"):
            for kind in ("integer", "float", "Bigint"):
                value = _scalar(text, kind)
                if not isinstance(value, str):
                    return value
        return string_text(self.text(node))

    def _object(self, node: Node, depth: int) -> Any:
        result: Parsed = {}
        for member in named_children(node):
            if member.type == "pair":
                key, value = member.child_by_field_name("key"), member.child_by_field_name("value")
                if key is None or value is None:
                    return _UNKNOWN
                result[string_text(self.text(key))] = self.element(value, None, depth)
            elif member.type == "shorthand_property_identifier":
                result[self.text(member)] = self.text(member)
            else:  # spread members and methods have no their own value
                return _UNKNOWN
        return result


def decode_javascript(text: str, *, proper: bool = False) -> Any:
    """The first top-level call as ``[{name: {parameter: text}}]``; without one ``None``, a wrong shape.

    ``text`` is a prepared text: its first and last character, the brackets, are dropped. ``proper`` is corrected rule
    C14: only a string literal loses its quotes, with its escapes; comments are skipped. Raises `DecodeError`.
    """
    source = text[1:-1]
    data = source.encode(errors="surrogatepass")
    for statement in parse(source, "javascript").children:
        if statement.type == "expression_statement" and statement.children:
            expression = statement.children[0]
            if expression.type == "call_expression":
                return [_call(data, expression, proper)]
    return None


def unquoted(text: str) -> str:
    """Removes one ``"`` or ``'`` from each end if the text starts and ends with it, for any content."""
    for quote in ('"', "'"):
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1]
    return text


def _call(data: bytes, node: Node, proper: bool) -> dict[str, dict[str | None, str]]:
    def text(part: Node) -> str:
        return data[part.start_byte : part.end_byte].decode()

    callee = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    optional = any(child.type == "optional_chain" for child in node.children)
    values: dict[str | None, str] = {}
    if arguments is None or arguments.type != "arguments" or optional:
        if optional and arguments is not None and arguments.type == "template_string":
            raise DecodeError("a tagged template cannot be optional")
        return {text(callee) if callee else "": values}
    for child in arguments.named_children:
        if child.type == "assignment_expression":
            left, right = _sides(child, proper)
            key: str | None = text(left)
            value = unquoted(text(right))
            if proper:
                value = string_text(text(right)) if right.type == "string" else text(right)
        elif child.type in ("identifier", "true"):
            key, value = None, text(child)
        else:
            continue
        if key in values:
            raise DecodeError(f"parameter {key!r} given twice" if key else "two arguments without a name")
        values[key] = value
    return {text(callee) if callee else "": values}


def _sides(assignment: Node, proper: bool) -> tuple[Node, Node]:
    """Name and value: the first and the third child, even if one of them is a comment (defect)."""
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if proper and left is not None and right is not None:
        return left, right
    return assignment.children[0], assignment.children[2]
