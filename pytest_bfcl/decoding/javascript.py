"""JavaScript call syntax → one call whose arguments are source text (ast_checker spec §3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.trees import parse

if TYPE_CHECKING:
    from tree_sitter import Node


def decode_javascript(text: str) -> list[Any]:
    """The first top-level call as ``[{name: {parameter: text}}]``, or ``[{}]`` (a wrong shape) without one.

    ``text`` is a prepared text: its first and last character, the brackets, are dropped. Raises `DecodeError`.
    """
    source = text[1:-1]
    data = source.encode(errors="surrogatepass")
    for statement in parse(source, "javascript").children:
        if statement.type == "expression_statement" and statement.children:
            expression = statement.children[0]
            if expression.type == "call_expression":
                return [_call(data, expression)]
    return [{}]


def unquoted(text: str) -> str:
    """One ``"`` or ``'`` removed from each end when the text both starts and ends with it, whatever is between."""
    for quote in ('"', "'"):
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1]
    return text


def _call(data: bytes, node: Node) -> dict[str, dict[str | None, str]]:
    def text(part: Node) -> str:
        return data[part.start_byte : part.end_byte].decode()

    callee = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    optional = any(child.type == "optional_chain" for child in node.children)
    values: dict[str | None, str] = {}
    if arguments is None or arguments.type != "arguments" or optional:
        return {text(callee) if callee else "": values}
    for child in arguments.named_children:
        if child.type == "assignment_expression":
            left, right = child.child_by_field_name("left"), child.child_by_field_name("right")
            if left is None or right is None:
                raise DecodeError("incomplete assignment among the arguments")
            key: str | None = text(left)
            value = unquoted(text(right))
        elif child.type in ("identifier", "true"):
            key, value = None, text(child)
        else:
            continue
        if key in values:
            raise DecodeError(f"parameter {key!r} given twice" if key else "two arguments without a name")
        values[key] = value
    return {text(callee) if callee else "": values}
