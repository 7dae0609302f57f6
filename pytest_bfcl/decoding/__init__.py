"""Text and native replies → calls. No text of a model is evaluated."""

from pytest_bfcl.decoding.reply import ReplyDecoder, attempts_call, call_texts, decode, decode_reply, has_call, is_empty
from pytest_bfcl.syntax.json_format import decode_native
from pytest_bfcl.syntax.limits import DecodeError, WrongShape

__all__ = [
    "DecodeError",
    "ReplyDecoder",
    "WrongShape",
    "attempts_call",
    "call_texts",
    "decode",
    "decode_native",
    "decode_reply",
    "has_call",
    "is_empty",
]
