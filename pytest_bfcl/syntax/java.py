"""Java call syntax → one call whose arguments are source text (ast_checker spec §3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_bfcl.syntax.java_literals import unquoted
from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError
from pytest_bfcl.syntax.trees import parse, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTED = ("string_literal", "character_literal")
_LOSSY = ("class_body", "dimensions", "dimensions_expr", "line_comment", "block_comment")
"""Nodes that the reference's rendering drops or renders wrongly."""
_VERBATIM = ("identifier", "class_literal", "method_invocation", *_QUOTED)


def decode_java(text: str, *, proper: bool = False) -> Any:
    """The first method invocation as ``[{name: {parameter: text}}]``; without one ``{}``, a wrong shape.

    ``text`` is a prepared text: its first and last character, the brackets, are dropped. ``proper`` is corrected rule
    C13: a missing semicolon is supplied, text is sliced by characters, class bodies and the dimensions of arrays are
    kept, string literals lose quotes and escapes. Raises `DecodeError`.
    """
    source = text[1:-1]
    try:
        root = parse(source, "java")
    except DecodeError:
        if not proper:
            raise
        root = parse(source + ";", "java")
    for node in walk(root):
        if node.type == "method_invocation":
            return [(_ProperSlices if proper else _Slices)(source).call(node)]
    return {}


class _Slices:
    """Renders nodes of one source text by the reference's rules, with its slicing defect."""

    def __init__(self, source: str) -> None:
        self._source = source

    def text(self, node: Node) -> str:
        """Byte offsets used as characters: text after a non-ASCII character is shifted (defect)."""
        return self._source[node.start_byte : node.end_byte]

    def call(self, node: Node) -> dict[str, dict[str | None, str]]:
        """``{name: {parameter: value text}}`` of a method invocation."""
        name_node = node.child_by_field_name("name")
        name = self.text(name_node) if name_node is not None else ""
        base = node.child_by_field_name("object")
        if base is not None:
            name = f"{self.text(base)}.{name}"
        arguments: dict[str | None, str] = {}
        argument_list = node.child_by_field_name("arguments")
        for child in argument_list.named_children if argument_list is not None else ():
            if child.type == "assignment_expression":
                left, right = self.sides(child)
                key: str | None = self.text(left)
                value = self.value(right)
            elif child.type in ("identifier", "class_literal"):
                key, value = None, self.text(child)
            else:
                continue
            if key in arguments:
                raise DecodeError(f"parameter {key!r} given twice" if key else "two arguments without a name")
            arguments[key] = value
        return {name: arguments}

    def sides(self, assignment: Node) -> tuple[Node, Node]:
        """Name and value: the first and the third child, even if one of them is a comment (defect)."""
        return assignment.children[0], assignment.children[2]

    def value(self, node: Node) -> str:
        """An argument's text: outer quotes of a literal removed, everything else as `render` writes it."""
        return self.text(node)[1:-1] if node.type in _QUOTED else self.render(node)

    def render(self, node: Node, depth: int = 0) -> str:
        """A node's text: unchanged, as an array or object creation, or its children without whitespace."""
        if depth > MAX_DEPTH * 2:
            raise DecodeError("expression nested too deeply")
        if node.type in _VERBATIM or node.child_count == 0:
            return self.text(node)
        if node.type == "array_creation_expression":
            return self._array(node, depth)
        if node.type == "object_creation_expression":
            return self._object(node, depth)
        return "".join([self.render(child, depth + 1) for child in node.children])

    def _array(self, node: Node, depth: int) -> str:
        type_node, initialiser = node.child_by_field_name("type"), node.child_by_field_name("value")
        if type_node is None or initialiser is None:
            raise DecodeError("array creation without an initialiser")
        return f"new {self.render(type_node, depth + 1)}[]{self.render(initialiser, depth + 1)}"

    def _object(self, node: Node, depth: int) -> str:
        type_node, arguments = node.child_by_field_name("type"), node.child_by_field_name("arguments")
        if type_node is None or arguments is None:
            raise DecodeError("incomplete object creation")
        values = [self.render(child, depth + 1) for child in arguments.named_children]
        return f"new {self.render(type_node, depth + 1)}({', '.join(values)})"


class _ProperSlices(_Slices):
    """Rule C13: characters instead of bytes, and values without losses."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self._bytes = source.encode() + b";"

    def text(self, node: Node) -> str:
        return self._bytes[node.start_byte : node.end_byte].decode()

    def sides(self, assignment: Node) -> tuple[Node, Node]:
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        if left is None or right is None:
            raise DecodeError("incomplete assignment among the arguments")
        return left, right

    def value(self, node: Node) -> str:
        if node.type in _QUOTED:
            return unquoted(self.text(node))
        if any(part.type in _LOSSY for part in walk(node)):
            return self.text(node)
        return self.render(node)
