"""What servers, templates and models do to texts, numbers and truth values: forward functions, by their names.

Each row turns what was due into what may have been said. `learning` composes rows and keeps what foretells replies.
A function may raise: then it does not apply.
"""

from __future__ import annotations

import base64
import codecs
import hashlib
import html
import json
import math
import re
import struct
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote, quote_plus

Change = Callable[..., Any]
TROUBLE = (
    ValueError,
    TypeError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
    StopIteration,
    struct.error,
)
"""What a function raises where it does not apply."""


def _bare(text: str) -> str:
    parted = unicodedata.normalize("NFKD", text)
    return "".join(each for each in parted if not unicodedata.combining(each))


def _words(join: str) -> Change:
    return lambda text: join.join(re.findall(r"[^\W_]+", text))


def _joined_words(text: str) -> str:
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])|[^\W_]+", text)
    return "".join(each[:1].upper() + each[1:] for each in words)


def _in_powers(text: str, form: str) -> str:
    if not re.fullmatch(r"\d{3,}", text):
        raise ValueError(text)
    return format(int(text), form)


def _hashed(name: str) -> Change:
    return lambda text: hashlib.new(name, text.encode(), usedforsecurity=False).hexdigest()


def _without(pattern: str, instead: str = "") -> Change:
    return lambda text: re.sub(pattern, instead, text)


_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


def dates_as(form: str, later: int = 0) -> Change:
    """Days of a text, or those some days ``later``, in another form of `strftime`."""

    def change(text: str) -> str:
        if not _DATE.search(text):
            raise ValueError(text)
        shift = timedelta(later)
        return _DATE.sub(lambda found: (date(*map(int, found.groups())) + shift).strftime(form), text)

    return change


TEXTS: Mapping[str, Change] = {
    "in upper case": str.upper,
    "in lower case": str.lower,
    "in title case": str.title,
    "with a capital at the beginning": str.capitalize,
    "with a capital first letter": lambda text: text[:1].upper() + text[1:],
    "with a small first letter": lambda text: text[:1].lower() + text[1:],
    "capitals and small letters exchanged": str.swapcase,
    "backwards": lambda text: text[::-1],
    "with words in reverse order": lambda text: " ".join(text.split()[::-1]),
    "with parts in reverse order": lambda text: "".join(re.split(r"([_.\-]+)", text)[::-1]),
    "with words in alphabetical order": lambda text: " ".join(sorted(text.split())),
    "with letters in alphabetical order": lambda text: "".join(sorted(text)),
    "each word backwards": lambda text: " ".join(each[::-1] for each in text.split(" ")),
    "only their first word": lambda text: text.split()[0],
    "only their last word": lambda text: text.split()[-1],
    "without their first word": lambda text: text.split(maxsplit=1)[1],
    "without their last word": lambda text: text.rsplit(maxsplit=1)[0],
    "only the initials": lambda text: "".join(each[0] for each in text.split()),
    "only the first letter": lambda text: text[:1],
    "only the last letter": lambda text: text[-1:],
    "without the first letter": lambda text: text[1:],
    "without the last letter": lambda text: text[:-1],
    "only the first half": lambda text: text[: len(text) // 2],
    "only the second half": lambda text: text[len(text) // 2 :],
    "only the first sentence": lambda text: re.split(r"(?<=[.!?])\s", text)[0],
    "only the first line": lambda text: text.splitlines()[0],
    "only every second letter": lambda text: text[::2],
    "with double letters single": lambda text: re.sub(r"(.)\1", r"\1", text),
    "every letter twice": lambda text: "".join(2 * each for each in text),
    "twice": lambda text: text * 2,
    "twice, with a space between": lambda text: f"{text} {text}",
    "with the last letter twice": lambda text: text + text[-1:],
    "with the first letter twice": lambda text: text[:1] + text,
    "without vowels": _without("[aeiouAEIOU]"),
    "without consonants": _without("(?![aeiouAEIOU])[a-zA-Z]"),
    "without punctuation": _without(r"[^\w\s]"),
    "without signs at the end": _without(r"[^\w\s]+$"),
    "without signs and spaces": _without(r"[\W_]"),
    "without digits": _without(r"\d"),
    "without spaces": _without(r"\s"),
    "without what stands in brackets": _without(r"\s*[(\[{].*?[)\]}]"),
    "without articles": _without(r"(?i)\b(?:the|an?|of) "),
    "only their letters": _without(r"[\W\d_]"),
    "only their digits": _without(r"\D"),
    "only the letters of ASCII": _without(r"[^\x00-\x7f]"),
    "without accents": _bare,
    "with a no-break space for each space": _without(" ", "\u00a0"),
    "with tabs for spaces": _without(" ", "\t"),
    "with line ends for spaces": _without(" ", "\n"),
    "with two spaces for each": _without(" ", "  "),
    "with every letter spaced": " ".join,
    "with signs as words apart": _words(" "),
    "with spaces between words and signs": lambda text: " ".join(re.findall(r"\w+|[^\w\s]", text)),
    "with underscores": _words("_"),
    "with hyphens": _words("-"),
    "with dots": _words("."),
    "in camel case": lambda text: text[:1].lower() + _joined_words(text)[1:],
    "in Pascal case": lambda text: _joined_words(text),
    "in snake case": lambda text: re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", _words("_")(text)).lower(),
    "with the last two letters exchanged": lambda text: text[:-2] + text[:-3:-1],
    "with the first two letters exchanged": lambda text: text[1] + text[0] + text[2:],
    "with letters exchanged in pairs": lambda text: re.sub(r"(.)(.)", r"\2\1", text),
    "only the number they begin with": lambda text: int(re.match(r"\d+", text)[0]),  # type: ignore[index]
    "only the number in them": lambda text: int(re.search(r"\d+", text)[0]),  # type: ignore[index]
    "with numbers that have leading zeros": lambda text: re.sub(r"\d+", lambda found: "0" + found[0], text),
    "with numbers without leading zeros": _without(r"(?<!\d)0+(?=\d)"),
    "in rot13": lambda text: codecs.encode(text, "rot13"),
    "in Base64": lambda text: base64.b64encode(text.encode()).decode(),
    "in Base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "in Base32": lambda text: base64.b32encode(text.encode()).decode(),
    "in hexadecimal": lambda text: text.encode().hex(),
    "in Punycode": lambda text: text.encode("idna").decode(),
    "as MD5": _hashed("md5"),
    "as SHA-1": _hashed("sha1"),
    "as SHA-256": _hashed("sha256"),
    "in quoted-printable": lambda text: codecs.encode(text.encode(), "quopri").decode(),
    "in percent escapes": quote,
    "in the escapes of a form": quote_plus,
    "in HTML escapes": html.escape,
    "in numbered escapes": lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    "in Unicode escapes": lambda text: text.encode("unicode_escape").decode(),
    "in JSON's escapes": lambda text: json.dumps(text)[1:-1],
    "with backslashes before quotes": lambda text: text.replace('"', '\\"'),
    "with backslashes before signs": lambda text: re.sub(r"([^\w\s])", r"\\\1", text),
    "quoted as JSON": json.dumps,
    "quoted as Python": repr,
    "as UTF-8 read as Latin-1": lambda text: text.encode().decode("latin-1"),
    "as UTF-8 read as Windows-1252": lambda text: text.encode().decode("cp1252"),
    "as UTF-8 with marks for what is lost": lambda text: text.encode().decode("ascii", "replace"),
    "with question marks beyond ASCII": lambda text: text.encode("ascii", "replace").decode(),
    "with letters taken apart": lambda text: unicodedata.normalize("NFD", text),
    "in letters of full width": lambda text: "".join(chr(ord(e) + 0xFEE0) if "!" <= e <= "~" else e for e in text),
    "with bytes (`<0xC3>`) beyond ASCII": lambda text: "".join(
        each if each.isascii() else "".join(f"<0x{byte:02X}>" for byte in each.encode()) for each in text
    ),
    "as bytes of Python": lambda text: repr(text.encode()),
    **{f"as powers of ten, {n} digits": lambda text, n=n: _in_powers(text, f".{n}E") for n in range(6)},
    "as their length": len,
    "as a list of one": lambda text: [text],
    "as a list of words": str.split,
    "as a list of letters": list,
    "as a list parted at commas": lambda text: re.split(r",\s*", text) if "," in text else None,
    "as numbers of their letters": lambda text: [ord(each) for each in text],
    "as a whole number": lambda text: int(text) if re.fullmatch(r"\d{1,40}", text) else None,
    "as a number": lambda text: int(text) if re.fullmatch(r"-?\d{1,40}", text) else float(text),
    "as values of JSON": json.loads,
    "as numbers with signs lost": lambda text: int(re.sub(r"\D", "", text)),
    "as days and times without signs (`20310402T0900`)": lambda text: re.sub(
        r"\b(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?",
        lambda found: "".join(found.groups("")[:3]) + ("T" if found[4] else "") + "".join(found.groups("")[3:]), text,
    ),
    "day and month exchanged": dates_as("%Y-%d-%m"),
    "with slashes in dates": _without(r"(?<=\d)-(?=\d\d)", "/"),
    "with T between day and time": _without(r"(?<=\d{4}-\d\d-\d\d) (?=\d)", "T"),
    "with midnight behind days": _without(r"(?<=\b\d{4}-\d\d-\d\d)$", "T00:00:00"),
    "with Z behind times": _without(r"(?<=\d\d:\d\d)$", "Z"),
    "with seconds behind times": _without(r"(?<=\d\d:\d\d)$", ":00"),
    "with minutes of :00": _without(r"(?<=\b\d\d:)\d\d", "00"),
    "with hours of twelve": lambda text: re.sub(
        r"\b(\d\d):(?=\d\d)", lambda found: f"{(int(found[1]) - 1) % 12 + 1:02}:", text
    ),
    "times as minutes (`510` for 08:30)": lambda text: (
        int(text[:-3]) * 60 + int(text[-2:]) if re.fullmatch(r"\d{1,2}:[0-5]\d", text) else None
    ),
    "as durations (`PT8H30M` for 08:30)": lambda text: re.sub(
        r"\b(\d\d):([0-5]\d)\b(?!:)", lambda found: f"PT{int(found[1])}H{int(found[2])}M", text
    ),
    "without minutes": _without(r"(?<=\b\d\d):\d\d"),
}  # fmt: skip
"""What may be said in place of a text."""


def _roman(number: int) -> str:
    if not 0 < number < 4000:
        raise ValueError(number)
    told = ""
    for value, letters in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        told += letters * (number // value)
        number %= value
    return told


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number % 100 < 14 else ending}"


def _whole(change: Callable[[int], Any]) -> Change:
    """Only of whole numbers."""
    return lambda number: change(number) if isinstance(number, int) else 1 // 0


def _packed(letter: str) -> Change:
    return lambda number: struct.unpack(letter, struct.pack(letter, number))[0]


NUMBERS: Mapping[str, Change] = {
    "with the other sign": lambda number: -number,
    "without a sign": abs,
    "as whole numbers, rounded": round,
    "as whole numbers, rounded down": math.floor,
    "as whole numbers, rounded up": math.ceil,
    **{f"rounded to {n} digits after the point": lambda number, n=n: round(number, n) for n in (1, 2, 3)},
    **{f"with {n} digits": lambda number, n=n: float(f"{number:.{n}g}") for n in (1, 2, 3, 4)},
    **{f"rounded to {n}s": lambda number, n=n: round(number / n) * n for n in (5, 10, 50, 100, 1000)},
    **{f"rounded up to {n}s": lambda number, n=n: -(-number // n) * n for n in (5, 10, 100)},
    **{f"rounded down to {n}s": lambda number, n=n: number // n * n for n in (5, 10, 100)},
    "as powers of two": lambda number: 2 ** round(math.log2(number)),
    "in 32 bits": _packed("f"),
    "in 16 bits": _packed("e"),
    "in bfloat16": lambda number: struct.unpack(">f", struct.pack(">f", number)[:2] + b"\0\0")[0],
    "in 8 bits": _whole(lambda number: number % 256),
    "in 8 bits with a sign": _whole(lambda number: (number + 128) % 256 - 128),
    **{f"modulo {n}": lambda number, n=n: number % n for n in (2, 7, 10, 12, 24, 60, 100, 360, 1000)},
    "squared": lambda number: number * number,
    "as their root": math.sqrt,
    "as their logarithm": math.log,
    "as their logarithm to ten": math.log10,
    "as one divided by them": lambda number: 1 / number,
    "as angles in radians": math.radians,
    "as angles in degrees": math.degrees,
    "with digits backwards": lambda number: type(number)(str(number)[::-1]),
    "only their first digit": lambda number: int(str(abs(number))[0]),
    "only their last digit": lambda number: int(str(abs(number))[-1]),
    "without their first digit": _whole(lambda number: int(str(number)[1:])),
    "without their last digit": _whole(lambda number: int(str(number)[:-1])),
    "with the last two digits exchanged": _whole(lambda number: int(str(number)[:-2] + str(number)[:-3:-1])),
    "with the first two digits exchanged": _whole(lambda n: int(str(n)[1] + str(n)[0] + str(n)[2:])),
    "with every digit twice": _whole(lambda number: int("".join(2 * each for each in str(number)))),
    "as their number of digits": lambda number: len(str(number)),
    "without the point": lambda number: int(str(number).replace(".", "")) if isinstance(number, float) else 1 // 0,
    "as integers": lambda number: int(number) if isinstance(number, float) else 1 // 0,
    "as decimals": lambda number: float(number) if isinstance(number, int) else 1 // 0,
    "as texts": str,
    **{f"as texts with {n} digits after the point": lambda number, n=n: f"{number:.{n}f}" for n in range(5)},
    "as texts with commas": lambda number: f"{number:,}",
    "as texts with a decimal comma": lambda number: str(number).replace(".", ","),
    "as texts of powers of ten": lambda number: f"{number:e}",
    **{f"as texts of powers of ten, {n} digits": lambda number, n=n: f"{number:.{n}e}" for n in range(6)},
    **{f"as texts of powers of ten (`E`), {n} digits": lambda number, n=n: f"{number:.{n}E}" for n in range(6)},
    "as texts with percent signs": lambda number: f"{number}%",
    "as texts of shares": lambda number: f"{number:%}",
    "in thousands, with `k`": lambda number: f"{number / 1000:.3g}k" if number >= 1000 else None,
    "in hexadecimal": _whole(hex),
    "in hexadecimal, without a mark": _whole(lambda number: f"{number:x}"),
    "in binary": _whole(bin),
    "in binary, without a mark": _whole(lambda number: f"{number:b}"),
    "in octal": _whole(oct),
    "in Roman numerals": _whole(_roman),
    "as ordinals": _whole(_ordinal),
    "as marks": _whole(lambda number: "|" * number if number < 100 else None),
    "as letters of their codes": _whole(chr),
    "as truth values": bool,
    "as a list of one": lambda number: [number],
    "as a list up to them": _whole(lambda number: list(range(number)) if number < 1000 else None),
    "as a list of digits": _whole(lambda number: [int(each) for each in str(number)]),
    "with a range around them": lambda number: f"{number}-{number}",
}  # fmt: skip
"""What may be said in place of a number."""

TRUTHS: Mapping[str, Change] = {
    "the wrong way round": lambda truth: not truth,
    "as 0 and 1": int,
    "as texts": str,
    "as texts of JSON": lambda truth: str(truth).lower(),
    "as yes and no": lambda truth: "yes" if truth else "no",
    "as on and off": lambda truth: "on" if truth else "off",
    "as y and n": lambda truth: "y" if truth else "n",
    "as texts of 0 and 1": lambda truth: str(int(truth)),
    "as 1 and an empty text": lambda truth: 1 if truth else "",
    "as t and f": lambda truth: "t" if truth else "f",
    "as a list of one": lambda truth: [truth],
}
"""What may be said in place of a truth value."""
