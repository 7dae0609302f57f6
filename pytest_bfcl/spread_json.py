"""Files that users name: text, JSON and TOML, each read or refused with one message.

A file that should have JSON lines and has none (JSON over several lines, UTF-16, no text) is one message, not one a
line.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from pytest_bfcl.failures import UsageError

_MOST = 64 * 2**20
"""Bytes of a file that are read for this check."""

_HEAD = 1_000
"""Bytes that show the encoding."""

_MEND = "write every entry on one line (jq -c '.[]' FILE for an array, jq -c . FILE for objects)"


def spread_json(path: Path) -> str | None:
    """The problem of a file that has JSON over several lines, or no UTF-8 text; ``None`` for JSON lines.

    Damaged lines are JSON lines too.

    Raises `OSError` when the file cannot be read.
    """
    with path.open("rb") as file:
        if wide := _not_utf8(file.read(_HEAD)):
            return wide
        file.seek(0)
        first = next((line for line in file if line.strip(b"\xef\xbb\xbf \t\r\n")), b"")
        if first.lstrip(b"\xef\xbb\xbf \t")[:1] not in (b"[", b"{") or _is_json(first):
            return None
        file.seek(0)
        text = file.read(_MOST).decode("utf-8-sig", "replace").lstrip()
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    lines = text.count("\n", 0, end) + 1
    if lines == 1 or not value:
        return None
    kind = "array" if text[0] == "[" else "object"
    return f"this is one JSON {kind} printed over {lines} lines, not JSON lines: {_MEND}"


def read_json(raw: bytes) -> Any:
    """One JSON value in UTF-8. Raises `ValueError` with a short reason, for who wrote it by hand."""
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(json_trouble(error)) from None


def json_file(path: Path, advice: str = "") -> Any:
    """The JSON value of a file. Raises `UsageError` with the file, the reason and ``advice``."""
    try:
        return read_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, advice) from None


def text_file(path: Path, advice: str = "", *, most: int = _MOST) -> str:
    """The text of a file in UTF-8, without a byte order mark. Raises `UsageError` like `json_file`, also for more
    than ``most`` characters.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, "not UTF-8" if isinstance(error, UnicodeError) else error, advice) from None
    if len(text) > most:
        raise _unreadable(path, f"larger than {most:,} characters", advice)
    return text


def toml_file(path: Path, *, most: int = _MOST) -> dict[str, Any]:
    """The values of a TOML file. Raises `UsageError` like `text_file`."""
    try:
        return tomllib.loads(text_file(path, most=most))
    except RecursionError:
        raise _unreadable(path, "nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


def _unreadable(path: Path, why: object, advice: str = "") -> UsageError:
    why = why.strerror if isinstance(why, OSError) and why.strerror else why
    return UsageError(f"cannot read {path}: {why}{advice and f'; {advice}'}")


NOT_JSON = object()
"""In place of a value, where ``null`` is one."""


def json_or(text: str | bytes, otherwise: Any = None) -> Any:
    """The value of a JSON text; ``otherwise`` for a text that is none or is nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def json_trouble(error: ValueError | RecursionError) -> str:
    """The error of a text that cannot be read as JSON, in words for its author."""
    if isinstance(error, UnicodeError):
        return "not UTF-8"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if not isinstance(error, json.JSONDecodeError):  # Python's limit on digits
        return "a number of too many digits"
    return f"not JSON: {_syntax_trouble(error)}"


def _syntax_trouble(error: json.JSONDecodeError) -> str:
    text, at = error.doc, error.pos
    here, place = text[at : at + 1], f"at column {error.colno}"
    if here == "," or (here in ("}", "]") and text[:at].rstrip().endswith(",")):
        return f"a comma too many before {text[at:].lstrip(', ')[:1]!r} {place}: delete it"
    if here == "'":
        return f"a single quote {place}: JSON takes double quotes"
    if text.startswith(("True", "False", "None"), at):
        return f"{text[at : at + 5].rstrip(',} ]')} {place}: JSON writes true, false and null"
    return f"{error.msg.removesuffix(' at')} {place}"


def _not_utf8(head: bytes) -> str | None:
    if b"\0" not in head:
        return None
    encoding = json.detect_encoding(head)
    if not encoding.startswith("utf-8") and head.decode(encoding, "replace").lstrip("\ufeff \t\r\n")[:1] in ("[", "{"):
        kind = encoding[:6].upper()
        return f"this is {kind}, JSON lines are UTF-8: save it so (iconv -f {kind} -t UTF-8 FILE)"
    return "this is no text: it holds null bytes"


def _is_json(line: bytes) -> bool:
    return json_or(line.decode("utf-8-sig", "replace"), NOT_JSON) is not NOT_JSON
