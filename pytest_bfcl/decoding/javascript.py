"""JavaScript call syntax → one call whose arguments are source text (ast_checker spec §3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.decoding.errors import DecodeError
from pytest_bfcl.decoding.trees import parse

if TYPE_CHECKING:
    from tree_sitter import Node


def decode_javascript(text: str) -> Any:
    """The first top-level call as ``[{name: {parameter: text}}]``; without one ``None``, a wrong shape.

    ``text`` is a prepared text: its first and last character, the brackets, are dropped. Raises `DecodeError`.
    """
    source = text[1:-1]
    data = source.encode(errors="surrogatepass")
    for statement in parse(source, "javascript").children:
        if statement.type == "expression_statement" and statement.children:
            expression = statement.children[0]
            if expression.type == "call_expression":
                return [_call(data, expression)]
    return None


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
        if optional and arguments is not None and arguments.type == "template_string":
            raise DecodeError("a tagged template cannot be optional")
        return {text(callee) if callee else "": values}
    for child in arguments.named_children:
        if child.type == "assignment_expression":
            # The first and the third child, even if one of them is a comment (defect).
            key: str | None = text(child.children[0])
            value = unquoted(text(child.children[2]))
        elif child.type in ("identifier", "true"):
            key, value = None, text(child)
        else:
            continue
        if key in values:
            raise DecodeError(f"parameter {key!r} given twice" if key else "two arguments without a name")
        values[key] = value
    return {text(callee) if callee else "": values}
