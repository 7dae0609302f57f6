"""Java: call syntax → one call whose arguments are source text; source text → Python values.

Calls are read by ast_checker spec §3.3, values are properly parsed (corrected rule C13).
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, Any

from pytest_bfcl.json_types import Fields
from pytest_bfcl.syntax.limits import MAX_DEPTH, DecodeError, check_depth
from pytest_bfcl.syntax.trees import integer_literal, named_children, parse, walk

if TYPE_CHECKING:
    from tree_sitter import Node


_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_CHARACTER = re.compile(r"'(?:[^'\\\n]|\\.)*'")  # of any length: models quote texts so, and the grammar allows it
_TEXT_BLOCK = re.compile(r'"""[ \t]*\n(.*)"""', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(\r?\n)|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "s": " "}
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*)")
_REAL = re.compile(r"-?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?")
_WIDENING = ("byte", "short", "integer", "long", "float", "double")
"""Primitive number types, each widened to the later ones (JLS §5.1.2)."""
_SCALARS = {*_WIDENING, "boolean"}
_WRAPPED = re.compile(
    r"(?:(?:new\s+)?(?P<box>Byte|Short|Integer|Long|Float|Double|Boolean)(?P<made>\.valueOf)?\s*\((?P<boxed>[^()]*)\)"
    r"|\(\s*(?P<cast>byte|short|int|long|float|double)\s*\)(?P<number>[^()]+))"
)
_OWN_NAMES = {"int": "integer"}
_TEXTS = {"String", "char", "any"}
_LIST_FACTORIES = {"Arrays.asList", "List.of", "Set.of", "Collections.singletonList", "Collections.singleton"}
_UNKNOWN = object()
_QUOTED = ("string_literal", "character_literal")
_LOSSY = ("class_body", "dimensions", "dimensions_expr", "line_comment", "block_comment")
"""Nodes that the reference's rendering drops or renders wrongly."""
_VERBATIM = ("identifier", "class_literal", "method_invocation", *_QUOTED)


def java_value(source_text: str, schema: Fields) -> Any:
    """The value of a Java expression under a parameter's schema (``type``, ``items``).

    Numbers are widened and unboxed as an argument of a call is (JLS §5.3: ``5`` or ``Integer.valueOf(5)`` for ``long``,
    ``1.5f`` for ``double``, never ``1.5`` for ``float``). ``Array`` needs an array creation, ``ArrayList`` and
    ``HashMap`` an object creation. Double-brace bodies, ``Arrays.asList``, ``List.of`` and ``Map.of`` inside are read,
    to any depth of generics. ``String``, ``char`` and ``any`` lose the quotes of a literal. Text that is no literal of
    the type is returned unchanged (a variable or constant), as by the official converter.
    """
    kind = schema.get("type")
    if kind in _SCALARS:
        return _scalar(source_text, str(kind))
    if kind in _TEXTS:
        return unquoted(source_text)
    node = _expression(source_text)
    if node is None:
        return source_text
    value = _Reader(source_text).collection(node, schema, 0)
    return source_text if value is _UNKNOWN else value


def unquoted(text: str) -> str:
    """The text of a complete string or character literal; any other text unchanged."""
    block = _TEXT_BLOCK.fullmatch(text)
    if block:
        return _unescaped(_dedented(block.group(1)))
    if _STRING.fullmatch(text) or _CHARACTER.fullmatch(text):
        return _unescaped(text[1:-1])
    return text


def _dedented(body: str) -> str:
    """A text block's content without the common indentation (the closing delimiter's line counts)."""
    lines = body.split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines[:-1] if line.strip()]
    indents.append(len(lines[-1]) - len(lines[-1].lstrip()))
    return "\n".join(line[min(indents) :] for line in lines)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_escape, text) if "\\" in text else text


def _escape(found: re.Match[str]) -> str:
    unicode_digits, octal, line_break, other = found.groups()
    if unicode_digits:
        return chr(int(unicode_digits, 16))
    if octal:
        return chr(int(octal, 8))
    return "" if line_break else _SIMPLE_ESCAPES.get(other, other)


def _scalar(text: str, kind: str) -> Any:
    """A number or boolean that a parameter of this kind accepts, else the text."""
    own, value = _primitive(text)
    if own == kind:
        return value
    if own not in _WIDENING or kind not in _WIDENING:
        return text
    if _WIDENING.index(own) > max(_WIDENING.index(kind), _WIDENING.index("integer")):
        return text  # `byte` and `short` are documented for what is an `int`
    try:
        return float(value) if kind in ("float", "double") else value
    except OverflowError:
        return text


def _primitive(text: str) -> tuple[str, Any]:
    """The own type of an expression, and its value; no type for anything but a number or boolean."""
    if text in ("true", "false"):
        return "boolean", text == "true"
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped is not None:
        return _unwrapped(wrapped)
    value: float | str = integer_literal(text, _INTEGER)
    if not isinstance(value, str):
        return "integer", value
    body, suffix = text[:-1], text[-1:].lower()
    kind = {"l": "long", "f": "float", "d": "double"}.get(suffix, "double")
    if kind == "long":
        value = integer_literal(body, _INTEGER)
    else:
        value = _real(body if suffix in ("f", "d") else text)
    return ("", text) if isinstance(value, str) else (kind, value)


def _unwrapped(wrapped: re.Match[str]) -> tuple[str, Any]:
    """The value in ``Long.valueOf(5)``, ``new Long(5)`` or ``(long) 5``."""
    cast = wrapped["cast"]
    if cast is not None:
        kind = _OWN_NAMES.get(cast, cast)
        own, value = _primitive(wrapped["number"].strip())
        if own not in _WIDENING or value in (inf, -inf):
            return "", None
        return kind, float(value) if kind in ("float", "double") else int(value)
    if not wrapped["made"] and not wrapped.string.startswith("new"):
        return "", None
    kind = wrapped["box"].lower()
    value = _scalar(wrapped["boxed"].strip(), kind)
    return ("", None) if isinstance(value, str) else (kind, value)


def _real(text: str) -> float | str:
    return float(text.replace("_", "")) if _REAL.fullmatch(text) else text


def _expression(source: str) -> Node | None:
    """The node of a text that is exactly one Java expression, else ``None``."""
    try:
        check_depth(source)
        root = parse(f"x({source});", "java")
    except DecodeError:
        return None
    call = next((node for node in walk(root) if node.type == "method_invocation"), None)
    arguments = call.child_by_field_name("arguments") if call is not None and call.start_byte == 0 else None
    values = named_children(arguments)
    if arguments is None or len(values) != 1 or arguments.end_byte != len(f"x({source})".encode()):
        return None
    return values[0]


class _Reader:
    """Converts the nodes of one expression to values; ``_UNKNOWN`` for anything but a literal."""

    def __init__(self, source: str) -> None:
        self._bytes = f"x({source});".encode()

    def text(self, node: Node) -> str:
        return self._bytes[node.start_byte : node.end_byte].decode()

    def element(self, node: Node, schema: Fields | None, depth: int) -> Any:
        """An element under ``items``: by its declared type if there is one, else by its own literal."""
        kind = schema.get("type") if schema else None
        text = self.text(node)
        if kind in _SCALARS:
            return _scalar(text.replace(" ", ""), str(kind))
        if kind in ("String", "char"):
            return unquoted(text)
        value = self.collection(node, schema or {}, depth + 1)
        return self._literal(node, text) if value is _UNKNOWN else value

    def _literal(self, node: Node, text: str) -> Any:
        """A literal's value by its own notation; other expressions as text."""
        if node.type == "null_literal":
            return None
        if node.type == "parenthesized_expression" and len(named_children(node)) == 1:
            inner = named_children(node)[0]
            return self._literal(inner, self.text(inner))
        compact = text.replace(" ", "") if node.type == "unary_expression" else text
        for kind in ("boolean", "integer", "long", "float", "double"):
            value = _scalar(compact, kind)
            if not isinstance(value, str):
                return value
        return unquoted(text)

    def collection(self, node: Node, schema: Fields, depth: int) -> Any:
        """A list or mapping from an array creation, a collection's creation or a factory call."""
        if depth > MAX_DEPTH:
            return _UNKNOWN
        items = schema.get("items")
        if node.type == "array_creation_expression":
            initialiser = node.child_by_field_name("value")
            return _UNKNOWN if initialiser is None else self._elements(initialiser, items, depth)
        if node.type == "array_initializer":
            return self._elements(node, items, depth)
        if node.type == "object_creation_expression":
            return self._created(node, items, depth)
        if node.type == "method_invocation" and depth > 0:  # ``List.of`` alone is no ``ArrayList``
            return self._factory(node, items, depth)
        return _UNKNOWN

    def _elements(self, holder: Node | None, items: Any, depth: int) -> list[Any]:
        return [self.element(node, items, depth) for node in named_children(holder)]

    def _factory(self, node: Node, items: Any, depth: int) -> Any:
        name = self._method(node)
        arguments = node.child_by_field_name("arguments")
        if name in _LIST_FACTORIES:
            return self._elements(arguments, items, depth)
        parts = named_children(arguments)
        if name == "Map.of" and len(parts) % 2 == 0:
            pairs = zip(parts[::2], parts[1::2], strict=True)
            return {self._key(key): self.element(value, items, depth) for key, value in pairs}
        if name == "Map.ofEntries":
            entries = [named_children(part.child_by_field_name("arguments")) for part in parts]
            if all(len(entry) == 2 for entry in entries):
                return {self._key(key): self.element(value, items, depth) for key, value in entries}
        return _UNKNOWN

    def _created(self, node: Node, items: object, depth: int) -> Any:
        """``new X<…>(…)`` with an optional double-brace body; its kind follows from the class's name."""
        type_node = node.child_by_field_name("type")
        name = self.text(type_node).split("<", 1)[0].strip().rpartition(".")[2] if type_node is not None else ""
        is_map = name.endswith(("Map", "Hashtable"))
        if not is_map and not name.endswith(("List", "Set", "Queue", "Deque", "Stack", "Vector")):
            return _UNKNOWN
        value: Any = {} if is_map else []
        arguments = named_children(node.child_by_field_name("arguments"))
        if len(arguments) == 1 and not self._is_capacity(arguments[0]):
            value = self.collection(arguments[0], {"items": items}, depth + 1)
            if not isinstance(value, dict if is_map else list):
                return _UNKNOWN
        body = next((child for child in node.children if child.type == "class_body"), None)
        for block in named_children(body):
            for statement in named_children(block):
                if not self._apply(statement, value, items, depth):
                    return _UNKNOWN
        return value

    def _is_capacity(self, node: Node) -> bool:
        return node.type.endswith("integer_literal")

    def _apply(self, statement: Node, value: Any, items: Any, depth: int) -> bool:
        """One ``add(…)``, ``addAll(…)`` or ``put(…)`` of a double-brace body; false for anything else."""
        parts = named_children(statement)
        if statement.type != "expression_statement" or len(parts) != 1 or parts[0].type != "method_invocation":
            return False
        name = self._method(parts[0]).removeprefix("this.")
        arguments = named_children(parts[0].child_by_field_name("arguments"))
        if isinstance(value, dict):
            if name != "put" or len(arguments) != 2:
                return False
            value[self._key(arguments[0])] = self.element(arguments[1], items, depth)
            return True
        if name in ("add", "offer", "push", "addLast") and len(arguments) == 1:
            value.append(self.element(arguments[0], items, depth))
            return True
        if name == "addAll" and len(arguments) == 1:
            more = self.collection(arguments[0], {"items": items}, depth + 1)
            if isinstance(more, list):
                value.extend(more)
                return True
        return False

    def _key(self, node: Node) -> str:
        return unquoted(self.text(node))

    def _method(self, node: Node) -> str:
        base, name = node.child_by_field_name("object"), node.child_by_field_name("name")
        text = self.text(name) if name is not None else ""
        return f"{self.text(base)}.{text}" if base is not None else text


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
