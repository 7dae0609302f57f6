"""Limits on the cost of decoding a model's text; a reply beyond them does not decode.

Python's own parser refuses more than 200 nested brackets, so `MAX_DEPTH` costs nothing there. For JSON it keeps decoded
values small enough for all recursive code (comparison, printing, writing).
"""

from __future__ import annotations

import re
from typing import Any


class DecodeError(ValueError):
    """The reply cannot be decoded (``ast_decoder:decoder_failed``); the message has the reason in one line."""


class WrongShape(DecodeError):
    """Decoded, but not a list of one-key objects (``ast_decoder:decoder_wrong_output_format``).

    ``decoded`` is the actual result.
    """

    def __init__(self, decoded: object, message: str = "") -> None:
        super().__init__(message or "decoded, but not to a list of calls")
        self.decoded = decoded

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.decoded, *self.args))


def is_call_list(value: object) -> bool:
    """The shape test of ast_checker spec §1 step 2: exact classes, one key per item; the empty list is valid."""
    if type(value) is not list:
        return False
    for item in value:
        if type(item) is not dict or len(item) != 1:
            return False
        for arguments in item.values():
            if type(arguments) is not dict:
                return False
    return True


MAX_CHARACTERS = 1_000_000
"""Longest text or arguments text that is read."""
MAX_CALLS = 10_000
"""Most calls of one step of a conversation that executes calls."""
MAX_DEPTH = 200
"""Deepest nesting of brackets in text, of containers in JSON."""
DIGITS_LIMIT = 10**4300
"""Larger integers have no decimal text in Python (``sys.int_info.default_max_str_digits``)."""

_BITS_LIMIT = DIGITS_LIMIT.bit_length()
_BRACKETS = re.compile(r"[(\[{<]|[)\]}>]")


def check_length(text: str) -> None:
    """Raise `DecodeError` for a text longer than `MAX_CHARACTERS`."""
    if len(text) > MAX_CHARACTERS:
        raise DecodeError(f"text of {len(text)} characters; at most {MAX_CHARACTERS} are decoded")


def check_depth(text: str, opening: str = "([{", closing: str = ")]}") -> None:
    """Raise `DecodeError` if brackets nest deeper than `MAX_DEPTH`; brackets in strings count, too, if there are that
    many.

    Texts with few brackets, the usual case, cost only a count.
    """
    if sum(map(text.count, opening)) <= MAX_DEPTH:
        return
    depth = 0
    for found in _BRACKETS.finditer(text):
        character = found.group()
        if character in opening:
            depth += 1
            if depth > MAX_DEPTH:
                raise DecodeError(f"brackets nested deeper than {MAX_DEPTH}")
        elif character in closing and depth:
            depth -= 1


def check_integer(value: int) -> int:
    """The value. Raises `DecodeError` if it has more than 4300 digits."""
    if value.bit_length() >= _BITS_LIMIT and abs(value) >= DIGITS_LIMIT:
        raise DecodeError("integer of more than 4300 digits")
    return value
