"""What decoding raises when a reply cannot be read as calls."""

from __future__ import annotations

from typing import Any


class DecodeError(ValueError):
    """The reply cannot be decoded (``ast_decoder:decoder_failed``); the message says why, in one line."""


class WrongShape(DecodeError):
    """Decoded, but not a list of one-key objects (``ast_decoder:decoder_wrong_output_format``).

    ``decoded`` is what came out instead.
    """

    def __init__(self, decoded: object, message: str = "") -> None:
        super().__init__(message or "decoded, but not to a list of calls")
        self.decoded = decoded

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.decoded, *self.args))


def is_call_list(value: object) -> bool:
    """The shape test of ast_checker spec §1 step 2: exact classes, one key per item; the empty list is fine."""
    if type(value) is not list:
        return False
    for item in value:
        if type(item) is not dict or len(item) != 1:
            return False
        for arguments in item.values():
            if type(arguments) is not dict:
                return False
    return True
