"""Makes untrusted texts short and plain, and prints all output of the verbs: no control characters, bounded.

Python's own parser for untrusted texts is here, too: parsed, never run. A process parses one text at a time. CPython
(3.11, 3.12) counts the depth of the tree it builds in one place for all threads. Two texts at once make it raise
`SystemError`, or refuse a valid text. All threads share warning filters, too.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import threading
import unicodedata
import warnings
from typing import Literal, TextIO

MAX_CLEANED = 4_000
MAX_WHOLE = 40_000

_ODD = re.compile("[^ -~]")
"""Characters that may need an escape."""
_ODD_DATA = re.compile("[^\n\t -~]")
_COMMAND = re.compile(r"##(\w*)\[")
"""Prefixes of commands to CI runners, except GitHub's newer ones."""


def clean(text: str) -> str:
    """The text with control, format and unpaired surrogate characters escaped, so that a terminal shows them.

    A text of more than `MAX_CLEANED` characters is cut, marked with ``…``: no place shows more.
    """
    return clean_line(cut(text, MAX_CLEANED))


def whole_text(text: str) -> str:
    """As `clean`, but up to `MAX_WHOLE` characters, and line ends stay: for output that the user asked for in full."""
    return "\n".join(clean_line(line) for line in cut(text, MAX_WHOLE).splitlines())


def clean_line(text: str) -> str:
    """One line of text with everything but plain characters escaped."""
    return text if text.isprintable() else _ODD.sub(_escaped_if_hidden, text)


def printable(text: str) -> str:
    """A text for a terminal or a log: each line is escaped, made inert and cut to a safe length."""
    return "\n".join(cut(inert(clean(line)), MAX_CLEANED) for line in text.split("\n"))


def inert(line: str) -> str:
    """The line, changed so that no CI runner reads it as a command.

    GitHub obeys lines that begin with ``::``, and ``##[command]`` anywhere, as Azure (``##vso[``) and TeamCity do.
    """
    if line.lstrip().startswith("::"):
        line = line.replace("::", "\\x3a:", 1)
    return _COMMAND.sub(r"##\1\\x5b", line) if "##" in line else line


def inert_data(text: str) -> str:
    """JSON or YAML with control characters and runner commands as escapes that both formats read."""
    text = _COMMAND.sub(r"#\\u0023\1[", text) if "##" in text else text
    return text if text.replace("\n", "").isprintable() else _ODD_DATA.sub(_unicode_escape, text)


def _unicode_escape(found: re.Match[str]) -> str:
    character = found.group()
    return character if _is_plain(character) else json.dumps(character)[1:-1]


def _escaped_if_hidden(found: re.Match[str]) -> str:
    character = found.group()
    return character if _is_plain(character) else _escaped(character)


def _is_plain(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) in ("Zs", "Mn", "Mc")


def _escaped(character: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or character.encode("unicode_escape").decode()


def shortened(text: str, width: int) -> str:
    """At most ``width`` characters; a cut is marked with ``…``; runs of white space become one space."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(width - 1, 1)] + "…"


def cut(text: str, width: int) -> str:
    """At most ``width`` characters; a cut is marked with ``…``."""
    return text if len(text) <= width else text[: max(width - 1, 1)] + "…"


def parted(one: str, other: str, width: int) -> tuple[str, str]:
    """Two texts, each at most ``width`` characters, cut so that their first difference stays visible."""
    if max(len(one), len(other)) <= width:
        return one, other
    same = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        same += 1
    start = max(same - width // 3, 0)
    if start < 4:
        return cut(one, width), cut(other, width)
    return cut("…" + one[start:], width), cut("…" + other[start:], width)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun: ``1 entry``, ``2 entries``; ``many`` is an irregular plural."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def say(text: object = "", *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print a text line by line: control characters escaped, runner commands inert, long lines cut."""
    _write(printable(str(text)) + "\n", file, flush)


def say_data(text: str) -> None:
    """Print JSON or YAML for a file or another program: complete, with such characters as escapes."""
    _write(inert_data(text), None, False)


def obeyed(line: str) -> None:
    """Print a line that a CI runner is meant to obey. The caller has escaped untrusted text in it."""
    _write(f"{line}\n", None, False)


def redrawn(text: str, file: TextIO) -> None:
    """Overwrite the last line on a terminal, without a line end."""
    _write(f"\r\x1b[K{printable(text)}", file, True)


def _write(text: str, file: TextIO | None, flush: bool) -> None:
    stream = sys.stdout if file is None else file
    if stream is None:  # a process without a console
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    if flush:
        stream.flush()


_ONE_AT_A_TIME = threading.Lock()
_MAY_WARN = re.compile(r"\\|[0-9]\.?[A-Za-z]")
"""Texts for which the parser may warn (escapes, ``1or``): a warning must not become an error."""
_ATTEMPTS = 20
"""Third-party code in other threads may parse at the same time."""


def parse_python(text: str, mode: Literal["eval", "exec"] = "eval") -> ast.AST:
    """The syntax tree of a text, without warnings.

    Raises the parser's own errors: `SyntaxError`, `ValueError`, `RecursionError`, `MemoryError` or `OverflowError`. Its
    tokenizer gives up beyond 200 nested brackets, at once.
    """
    with _ONE_AT_A_TIME:
        for _ in range(_ATTEMPTS - 1):
            try:
                return _parse(text, mode)
            except SystemError:
                continue
        return _parse(text, mode)


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression; see `parse_python`."""
    return parse_python(text).body  # type: ignore[attr-defined, no-any-return]


def _parse(text: str, mode: str) -> ast.AST:
    if _MAY_WARN.search(text) is None:
        return ast.parse(text, mode=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode=mode)


def read_literal(text: str) -> object:
    """The value of a literal. Raises as `parse_python`, and `ValueError` or `TypeError` for other expressions."""
    return ast.literal_eval(parse_expression(text.lstrip(" \t")))
