"""JavaScript call syntax → one call whose arguments are source text (ast_checker spec §3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.syntax.errors import DecodeError
from pytest_bfcl.syntax.javascript_literals import string_text
from pytest_bfcl.syntax.trees import parse

if TYPE_CHECKING:
    from tree_sitter import Node


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
    """One ``"`` or ``'`` removed from each end when the text both starts and ends with it, whatever is between."""
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
