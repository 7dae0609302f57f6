"""Syntax trees of Java and JavaScript texts: parsers, error test, traversal without recursion."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pytest_bfcl.syntax.limits import DecodeError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_SOURCE = 10_000
"""Longest source text that is parsed, in characters; error recovery takes time and memory that grow with its square."""
MAX_ANGLES = 500
"""Most ``<`` in a source text: the Java parser's memory grows with the square of those left open."""

_SHORT = 2_000
"""Size in bytes up to which no text is expensive, so that it is parsed without limits."""
_MAX_PROGRESS = 5_000
"""Progress reports (about 100 parser operations each) before a parse is stopped; usual text stays below 1 a byte."""
_MAX_SECONDS = 0.3
"""Processor time before a parse is stopped."""

_SHOWN = 40
"""Characters of the text shown with a syntax error."""

SourceLanguage = Literal["java", "javascript"]
_NAMES = {"java": "Java", "javascript": "JavaScript"}
_LOCK = threading.Lock()


@cache
def _parser(language: SourceLanguage) -> Parser:
    from tree_sitter import Language, Parser

    grammar: Any
    if language == "java":
        import tree_sitter_java as grammar
    else:
        import tree_sitter_javascript as grammar
    return Parser(Language(grammar.language()))


def parse(source: str, language: SourceLanguage) -> Node:
    """The root node of a source text. Raises `DecodeError` if the text has a syntax error.

    Tokens the parser inserted to repair the text are no errors (ast_checker spec §3.3).
    """
    root = parse_with_errors(source, language)
    if root.has_error:
        errors = [node for node in walk(root, only_broken=True) if node.is_error]
        if errors:
            raise DecodeError(f"syntax error in {_NAMES[language]}{_near(errors, source)}")
    return root


def _near(errors: list[Node], source: str) -> str:
    """The position of the error: the smallest one, which is inside the others."""
    smallest = min(errors, key=lambda node: node.end_byte - node.start_byte)
    before = len(source.encode()[: smallest.start_byte].decode(errors="replace"))
    shown = source[before : before + _SHOWN]
    if before == 0 or not shown.strip():
        return ""
    return f" near {shown.strip()}{'…' if before + _SHOWN < len(source) else ''}"


def integer_literal(text: str, form: re.Pattern[str]) -> int | str:
    """The whole number that a text of this form writes, with or without a prefix such as ``0x``; any other text
    unchanged."""
    if not form.fullmatch(text) or text.endswith("_"):
        return text
    digits = text.replace("_", "")
    sign, digits = (-1, digits[1:]) if digits.startswith("-") else (1, digits)
    base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2].lower(), 10)
    try:
        return sign * int(digits, base)
    except ValueError:  # more than 4300 digits
        return text


def parse_with_errors(source: str, language: SourceLanguage) -> Node:
    """The root node of a source text, also with syntax errors. Raises `DecodeError` if it is too long or not Unicode
    text."""
    if len(source) > MAX_SOURCE:
        raise DecodeError(f"source of {len(source)} characters; at most {MAX_SOURCE} are parsed")
    if source.count("<") > MAX_ANGLES:
        raise DecodeError(f"more than {MAX_ANGLES} '<' in a source text")
    try:
        data = source.encode()
    except UnicodeEncodeError as error:
        raise DecodeError(f"not Unicode text: {error}") from None
    with _LOCK:  # one parser, many threads
        parser = _parser(language)
        return parser.parse(data).root_node if len(data) <= _SHORT else _watched(parser, data)


def _watched(parser: Parser, data: bytes) -> Node:
    """Parse within a limit of work. Raises `DecodeError` above it."""
    reports = 0
    deadline = time.thread_time() + _MAX_SECONDS

    def enough(*_position: Any) -> bool:
        nonlocal reports
        reports += 1
        return reports > _MAX_PROGRESS or time.thread_time() > deadline

    try:
        tree = parser.parse(lambda offset, _point: data[offset:], progress_callback=enough)
    except ValueError:
        tree = None
    if tree is None:
        parser.reset()
        raise DecodeError("source text too costly to parse")
    return tree.root_node


def walk(root: Node, *, only_broken: bool = False) -> Iterator[Node]:
    """Every node in document order, parents before their children; ``only_broken`` skips nodes without errors."""
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None:
            yield node
        enter = not only_broken or node is None or node.has_error
        if (enter and cursor.goto_first_child()) or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return


def named_children(node: Node | None) -> list[Node]:
    """The named children without comments; an empty list for no node."""
    if node is None:
        return []
    return [child for child in node.named_children if not child.type.endswith("comment")]
