"""Helpers of decoders for models' own formats: calls as JSON members, literals, call texts (formats spec §4).

Decoders read untrusted texts: everything here is limited by `pytest_bfcl.syntax.limits`, and nothing is evaluated.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from keyword import kwlist
from typing import Any

from pytest_bfcl.syntax.arithmetic import Folder
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import MAX_CALLS, DecodeError, check_integer
from pytest_bfcl.syntax.python_syntax import mapping_of, python_expression

Pair = tuple[Any, Any]
"""Name and arguments of a member, unchanged: the name may be no text, the arguments no object."""


TOKENS = re.compile(
    r"<\|(?:eot_id|eom_id|eot|eom|im_end|end|return|call|end_of_text|endoftext|observation|user)\|>|</s>|<eos>"
    r"|<｜end▁of▁sentence｜>|<\|END_OF_TURN_TOKEN\|>"
)
"""Ends of messages; a server removes them, a recorded text may have them."""


MAX_BROKEN = 20
"""Broken calls of one reply after which nothing in it is read."""


class Kept:
    """The calls of a reply, and the first error: a broken call next to a good one is left out, as by servers."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self._trouble: DecodeError | None = None
        self._broken = self._begun = 0

    def begin(self) -> None:
        """Count an announced call. Raises `DecodeError` for more than `MAX_CALLS` of them."""
        self._begun += 1
        if self._begun > MAX_CALLS:
            raise DecodeError(f"more than {MAX_CALLS} calls in one reply")

    @contextmanager
    def broken(self) -> Iterator[None]:
        """Continue after a call that cannot be read. Raises `DecodeError` after `MAX_BROKEN` of them."""
        try:
            yield
        except DecodeError as trouble:
            self._trouble = self._trouble or trouble
            self._broken += 1
            if self._broken > MAX_BROKEN:
                raise

    def read(self) -> list[Pair]:
        """The good calls. Raises the `DecodeError` of a broken one if no call is good."""
        if self._trouble is not None and not self.pairs:
            raise self._trouble
        return self.pairs


class ReadError(DecodeError):
    """The family's handler raises while it reads the reply, before decoding ("inference error")."""


def literal(text: str) -> Any:
    """The value of a Python literal, number arithmetic included; bare names (``true``, ``null``) fail."""
    return _Literals().value(python_expression(text.lstrip(" \t")))


class _Literals:
    def __init__(self) -> None:
        self._folder = Folder()

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return check_integer(node.value) if type(node.value) is int else node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.value(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Dict):
            return mapping_of(node, self.value)
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            value = self._folder.fold(node)
            return check_integer(value) if type(value) is int else value
        raise DecodeError(f"no literal: {type(node).__name__}")


def iterated(value: object) -> list[Any]:
    """The items of a loop over a parsed value: members, keys, characters. `DecodeError` if it has none."""
    if isinstance(value, (list, tuple, dict, str)):
        return list(value)
    raise DecodeError(f"no list of calls: {type(value).__name__}")


def pair(member: object, arguments: str = "arguments") -> Pair:
    """Name and arguments of a member that needs both."""
    if not isinstance(member, dict):
        raise DecodeError(f"a call is an object, not {type(member).__name__}")
    for key in ("name", arguments):
        if key not in member:
            raise DecodeError(f"a call without {key}")
    return member["name"], member[arguments]


def hashable(name: object) -> bool:
    """Whether a name can be the key of a mapping."""
    return not isinstance(name, (list, dict))


def objects(pairs: Iterable[Pair]) -> list[dict[Any, Any]]:
    """``{name: arguments}`` per call; `DecodeError` for a name that cannot be a key."""
    result = []
    for name, arguments in pairs:
        if not hashable(name):
            raise DecodeError("the name of a call is no text")
        result.append({name: arguments})
    return result


def texts(pairs: Iterable[Pair], comma: str = ",") -> list[str]:
    """Call texts. Raises `DecodeError` for arguments that are no object, and for more calls than are executed."""
    result = []
    for name, arguments in pairs:
        if not isinstance(arguments, dict):
            raise DecodeError(f"arguments of {str(name)[:200]} are not an object")
        result.append(f"{name}({comma.join([f'{key}={value!r}' for key, value in arguments.items()])})")
    if len(result) > MAX_CALLS:
        raise DecodeError(f"{len(result)} calls in one reply; at most {MAX_CALLS} are executed")
    return result


def string_parsed(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Text arguments are parsed as JSON (execution of some families)."""
    for name, arguments in pairs:
        yield name, parse_json(arguments) if isinstance(arguments, str) else arguments


def items(result: list[Any]) -> Iterator[Pair]:
    """The pairs of a list of ``{name: arguments}`` objects, every key of each."""
    for member in result:
        if not isinstance(member, dict):
            raise DecodeError(f"a call is an object, not {type(member).__name__}")
        yield from member.items()


def stored(value: object) -> Any:
    """The value after a round trip through JSON: keys are texts, tuples lists. Raises `ReadError` for other types."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ReadError(f"no JSON value: {error}") from None


def spans(text: str, opening: str, closing: str) -> Iterator[str]:
    """The insides of tags, shortest first, without overlap; linear in the text's length."""
    start = text.find(opening)
    while start >= 0:
        start += len(opening)
        end = text.find(closing, start)
        if end < 0:
            return
        yield text[start:end]
        start = text.find(opening, end + len(closing))


def after(text: str, mark: str) -> str | None:
    """The text after the first mark, ``None`` without one."""
    _, found, rest = text.partition(mark)
    return rest if found else None


_PIECE = re.compile(r"[\"']|[^\W\d]\w*|(?<![\w.])0[\d_]+(?![\w.])")
_BODY = {quote: re.compile(rf"[^{quote}\\]*+(?:\\.[^{quote}\\]*+)*+", re.DOTALL) for quote in "\"'"}
_KEYWORDS = frozenset(kwlist) - {"True", "False", "None"}
KEPT = "kw__of__python__"
"""A prefix for names that are Python keywords; `plain_name` removes it."""
_NAMED = re.compile(r"\s*(?:=(?!=)|[(.])")
_WORDS = {"true": "True", "false": "False", "null": "None"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x00": "\\x00"}
_CONTROL = re.compile(r"[\n\r\t\x00]")
_CLOSES = re.compile(r"\s*+(?:[,)\]}:]|\Z)")


def repaired(text: str) -> Iterator[str]:
    """A list of calls as it was probably meant, by one repair after the other.

    Adds brackets around calls that follow each other or have a line each. Reads JSON's words, keywords as names,
    numbers with leading zeros, and line feeds inside texts. Finally, a quote inside a text in the same quotes ends it
    only where an argument can end.
    """
    if not text.startswith("["):
        text = "[" + ", ".join([line.strip().rstrip(",") for line in text.splitlines() if line.strip()]) + "]"
    yield _written(text, _ended)
    yield _written(text, _ended_where_arguments_end)


def plain_name(name: object) -> str:
    """A name as written: Python keywords may name functions and parameters."""
    return str(name).replace(KEPT, "")


def _written(text: str, end_of: Callable[[str, str, int], int]) -> str:
    out: list[str] = []
    position = 0
    while (found := _PIECE.search(text, position)) is not None:
        piece = found.group()
        out.append(text[position : found.start()])
        position = found.end()
        if piece in ("'", '"'):
            end = end_of(text, piece, position)
            body = _CONTROL.sub(lambda control: _ESCAPES[control.group()], text[position:end])
            if end_of is _ended_where_arguments_end:
                body = re.sub(rf"\\.|{piece}", lambda each: each[0] if len(each[0]) > 1 else f"\\{each[0]}", body)
            out.append(piece + body)
            position = end
            if position < len(text):
                out.append(piece)
                position += 1
        elif piece in _KEYWORDS and (_NAMED.match(text, position) or text[found.start() - 1 : found.start()] == "."):
            out.append(KEPT + piece)
        else:
            out.append((piece.lstrip("0_") or "0") if piece[0] == "0" else _WORDS.get(piece, piece))
    return "".join([*out, text[position:]])


def _ended(text: str, quote: str, position: int) -> int:
    """The end of a quoted text: its closing quote, else the end of everything."""
    body = _BODY[quote].match(text, position)
    end = body.end() if body else position
    return end if text.startswith(quote, end) else len(text)


def _ended_where_arguments_end(text: str, quote: str, position: int) -> int:
    while (end := _ended(text, quote, position)) < len(text) and not _CLOSES.match(text, end + 1):
        position = end + 1
    return end
