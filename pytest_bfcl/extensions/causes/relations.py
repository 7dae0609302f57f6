"""How a text differs from the expected text, as named relations.

A relation is a systematic effect of a server, a parser or a habit: a prefix, another style, a cut. Each has a parameter
(``functions_``, ``camel case``), so that equal ones in a whole run can be counted. This module knows only texts, not
calls.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import quopri
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from pytest_bfcl.extensions.causes.primitives import TEXTS

MOST = 2_000
"""Characters of a text that are compared."""
TOKEN = re.compile(r"<\|?/?[\w:. -]{1,40}\|?>|\[/?(?:INST|TOOL_CALLS?|AVAILABLE_TOOLS)\]|<<?/?SYS>?>|▁|Ġ|Ċ")
"""Pieces of chat templates and markup."""
ASCII_LOST = "letters beyond ASCII are lost"
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff]")
_MONTHS = {
    month: number
    for number, month in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)  # noqa: SIM905
}


_REPEATED = re.compile(r"(\S.{0,39}?)\1{6,}.{0,40}$", re.S)
WHITE_SPACE = "white space"
_OF_PIECE, _BLANK = 400, 20
"""Characters of a text that are searched for a repeated piece, and of white space at its end that are no accident."""


class Relation(NamedTuple):
    """``key`` is the cause's, without its level; ``told`` the parameter in words."""

    key: str
    told: str = ""


@lru_cache(maxsize=10_000)  # a run says the same names again and again
def of_texts(said: str, due: str) -> tuple[Relation, ...]:
    """Relations of a text to the expected one, the most specific first; empty if none is known."""
    said, due = said[:MOST], due[:MOST]
    if said == due or not said or not due:
        return ()
    return tuple(found for rule in _OF_TEXTS if (found := rule(said, due)) is not None)


def repeated(text: str) -> str:
    """The piece that a text repeats up to its end; empty without."""
    if len(text) - len(text.rstrip()) >= _BLANK:
        return WHITE_SPACE
    found = _REPEATED.search(text[-_OF_PIECE:])
    return found.group(1)[:20] if found is not None else ""


def named_after(text: str, name: str) -> str:
    """A text with a function's name in some style, and a word in place of the name; empty without."""
    for style in ("", *_STYLES):
        told, styled = f"the function's name {style}".strip(), TEXTS[style](name) if style else name
        before, found, after = text.partition(styled)
        if found and len(styled) > 2:
            return told if before == after == "" else f"{before}⟨{told}⟩{after}"
    return ""


_STYLES = ("in Pascal case", "in camel case", "in lower case", "in upper case", "with hyphens")


def changing(texts: Sequence[str]) -> str:
    """The form of texts that change: what all begin and end with, and the kind of the rest; empty without any."""
    if len({*texts}) < 2:
        return ""
    before = _beginning(texts)
    behind = _beginning([text[len(before) :][::-1] for text in texts])[::-1]
    middles = [text[len(before) : len(text) - len(behind)] for text in texts]
    alike = len({*map(len, middles)}) == 1
    signs = next((told for told, known in _SIGNS if all(known.fullmatch(each) for each in middles)), "letters")
    told = f"{len(middles[0])} {signs}" if alike else f"{signs} that change"
    return f"{before}⟨{told}⟩{behind}" if before or behind or (alike and signs != "letters") else ""


def _beginning(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts), max(texts)
    return first[: next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


_SIGNS = (("digits", re.compile(r"\d+")), ("hexadecimal digits", re.compile(r"[0-9a-fA-F]+")))


def plain(text: str) -> str:
    """Letters and digits only, in lower case."""
    return re.sub(r"[\W_]+", "", text).casefold()


def style_of(text: str, due: str) -> str:
    """The style of a text's words: ``camel case``, ``upper case`` …"""
    if text == due[:1].upper() + due[1:]:
        return "capitals at the beginning" if re.search(r"[\W_]", text) else "Pascal case"
    if text.casefold() == due.casefold():
        ways = [f"{way} case" for way in ("upper", "lower", "title") if text == getattr(due, way)()]
        return ways[0] if ways else "capitals and small letters exchanged"
    if " " in text:
        return "title case" if text.istitle() else "words with spaces"
    if "-" in text or "." in text:
        return "kebab case" if "-" in text else "words with dots"
    if "_" in text or text.islower():
        return "snake case" if "_" in text else "lower case without separators"
    return "Pascal case" if text[:1].isupper() else "camel case"


def script_of(text: str) -> str:
    """The script of most letters in a text, with Unicode's name: ``LATIN``, ``CYRILLIC``, ``CJK`` …"""
    text = text[:MOST]
    if text.isascii():
        return "LATIN" if re.search("[a-zA-Z]", text) else ""
    counts: dict[str, int] = {}
    for each in text:
        if each.isalpha():
            name = "LATIN" if each.isascii() else unicodedata.name(each, "OTHER").split()[0]
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else ""


def _undone(undo: Callable[[str], str], told: str, key: str = "encoding") -> Callable[[str, str], Relation | None]:
    """A text that an inverse function restores."""

    def rule(said: str, due: str) -> Relation | None:
        try:
            return Relation(key, told) if undo(said) == due else None
        except (ValueError, binascii.Error):
            return None

    return rule


def _reread(text: str, encoding: str, times: int = 1) -> str:
    for _ in range(times):
        text = text.encode(encoding).decode("utf-8")
    return text


def _escaped(text: str) -> str:
    of_python = re.sub(r"\\x([0-9a-fA-F]{2})", r"\\u00\1", text)
    return str(json.loads(f'"{of_python}"'))


ENCODINGS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("HTML escapes", "[&<>\"']", html.unescape),
    ("UTF-8 read as Latin-1", r"[^\x00-\x7f]", lambda said: _reread(said, "latin-1")),
    ("UTF-8 read as Windows-1252", r"[^\x00-\x7f]", lambda said: _reread(said, "cp1252")),
    ("UTF-8 read as Latin-1", r"[^\x00-\x7f]", lambda said: _reread(said, "latin-1", 2)),
    ("UTF-8 read as Windows-1252", r"[^\x00-\x7f]", lambda said: _reread(said, "cp1252", 2)),
    ("percent escapes", r"[^\w.~-]", unquote),
    ("backslash escapes", r"[^ !#-\[\]-~]", _escaped),
    ("backslashes before signs", r"[^a-zA-Z0-9 ]", lambda said: re.sub(r"\\([\W_])", r"\1", said)),
    ("blanks as plus signs", " ", lambda said: said.replace("+", " ")),
    ("quoted-printable", "=", lambda said: quopri.decodestring(said).decode()),
    ("Base64", "", lambda said: base64.b64decode(said, validate=True).decode()),
    ("hexadecimal", "", lambda said: bytes.fromhex(said).decode()),
    ("letters taken apart", r"[^\x00-\x7f]", lambda said: unicodedata.normalize("NFC", said)),
    (
        "letters of full width",
        "",
        lambda said: "".join(chr(ord(each) - 0xFEE0) if "\uff01" <= each <= "\uff5e" else each for each in said),
    ),
    ("colours of a terminal", "", lambda said: re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", said)),
    (ASCII_LOST, r"[^\x00-\x7f]", lambda said: said),
)
"""Name of an encoding, its typical characters (any, if empty), and its inverse."""


def _ascii_lost(said: str, due: str) -> Relation | None:
    if due.isascii():
        return None
    parted = unicodedata.normalize("NFKD", due)
    bare = "".join(each for each in parted if not unicodedata.combining(each))
    ways = [bare, *(re.sub(r"[^\x00-\x7f]", mark, due) for mark in ("", "?", "\ufffd", "_", " ", "."))]
    lost = said in ways or re.sub(r"[^\x00-\x7f]+|\?", "", said) == ways[1].replace("?", "")
    return Relation("encoding", ASCII_LOST) if lost else None


def _tokens(said: str, due: str) -> Relation | None:
    found = [token for token in TOKEN.findall(said) if token not in due and due not in token]
    rest = said
    for token in found:
        rest = rest.replace(token, "")
    return Relation("tokens", found[0].strip()) if found and (due in said or rest.strip() == due) else None


def _invisible(said: str, due: str) -> Relation | None:
    gone = _INVISIBLE.sub("", said)
    return Relation("space", "invisible characters") if gone != said and gone == due else None


def _style(said: str, due: str) -> Relation | None:
    if plain(said) != plain(due) or not plain(said):
        return None
    if due in said or said.split() == due.split():
        return None
    return Relation("style", style_of(said, due))


def _affixed(said: str, due: str) -> Relation | None:
    before, found, after = said.rpartition(due) if said.endswith(due) else said.partition(due)
    if not found or not (before or after) or TOKEN.search(before + " " + after):
        return None
    if before and after and (before + after).strip():
        quoted = before == after and before in "\"'`“‘"
        return Relation("quoted", before) if quoted else Relation("around", f"{before[:30]}…{after[:30]}")
    if (before + after).isspace():
        return Relation("space")
    return Relation("prefix", before[:60]) if before else Relation("suffix", after[:60])


def _cut(said: str, due: str) -> Relation | None:
    begin = re.sub(r"\s?(?:…|\.{3})$|(?<=\w{3})[_-]?(?=[a-f]*\d)[0-9a-f]{4,12}$", "", said) if len(said) > 3 else said
    if due.startswith(said) or (begin and len(begin) < len(due) and due.startswith(begin)):
        whole = due.startswith(said)
        behind = (
            "" if whole else ", with a hash behind" if re.search(r"[0-9a-f]{4,12}$", said) else ", with dots behind"
        )
        return Relation("cut", f"{len(said if whole else begin)} characters{behind}")
    return Relation("begin_cut") if due.endswith(said) else None


def _dates(said: str, due: str) -> Relation | None:
    """The same groups of digits, in another order."""
    before, after = re.findall(r"\d+", due), re.findall(r"\d+", said)
    if _is_date(due) and len(said) < len(due) and re.sub(r"\D", "", said) in _without_separators(due):
        return Relation("date_format")
    if not 2 <= len(before) <= 7 or any(len(each) > 4 for each in (*before, *after)):
        return None
    numbers = [int(each) for each in after]
    if sorted(numbers) != sorted(map(int, before)) or plain(re.sub(r"\d", "", said)) != plain(re.sub(r"\d", "", due)):
        return None
    if numbers == [int(each) for each in before]:
        return Relation("date_format") if _is_date(due) else None
    left = list(enumerate(map(int, before), 1))
    order = []
    for number in numbers:
        place = next(each for each in left if each[1] == number)
        left.remove(place)
        order.append(str(place[0]))
    if len(set(numbers)) < len(numbers):  # of two equal ones nobody knows which is first
        return Relation("date_order")
    ordered = "-".join(order[:3])
    return Relation("date_order", _ORDERS.get(ordered, ordered) if re.match(r"\d{4}\D", due) else ordered)


_ORDERS = {
    "1-3-2": "year, day, month", "3-2-1": "day, month, year", "2-3-1": "month, day, year", "3-1-2": "day, year, month",
}  # fmt: skip


def _without_separators(date: str) -> tuple[str, str]:
    """The digits of a date; the same without the century."""
    return re.sub(r"\D", "", date), re.sub(r"\D", "", re.sub(r"\b\d\d(\d\d)\b", r"\1", date))


def _epoch(said: str, due: str) -> Relation | None:
    """Seconds or milliseconds since 1970 in place of a day."""
    if not said.isdigit() or not 8 <= len(said) <= 13 or (found := re.match(r"(\d{4})-(\d\d)-(\d\d)", due)) is None:
        return None
    try:
        days = (date(*map(int, found.groups())) - date(1970, 1, 1)).days
    except ValueError:
        return None
    seconds = int(said) / (1000 if len(said) > 11 else 1)
    return Relation("date_format") if abs(seconds / 86_400 - days) <= 1 else None


def _zeros(said: str, due: str) -> Relation | None:
    one, other = (re.sub(r"(?<!\d)0+(?=\d)", "", text) for text in (said, due))
    return Relation("zeros") if one == other else None


_MASK = re.compile(r"[*#•█■]+|[xX]{3,}|\[[A-Z][A-Z_ 0-9]*\]|<[A-Z][A-Z_ 0-9]*>|\{\{?\w+\}?\}")
"""Replacements of hidden content."""


def masked(said: str, due: str) -> Relation | None:
    """A text with a replacement for hidden content."""
    found = [mask for mask in _MASK.findall(said) if mask not in due]
    if not found:
        return None
    kept = "(.+?)".join(re.escape(part) for part in _MASK.split(said))
    mask = re.sub(r"\d+", "N", found[0]) if found[0][-1:] in "]>}" else found[0][0]
    return Relation("masked", mask) if re.fullmatch(kept, due, re.S) else None


def _is_date(text: str) -> bool:
    return re.search(r"\d+[-/.]\d+[-/.]\d+|\d+:\d\d", text) is not None


def _months(said: str, due: str) -> Relation | None:
    """A date whose month is a word in one and a number in the other, or a time of twelve hours."""
    for words, digits in ((said, due), (due, said)):
        month = re.search(r"\b(" + "|".join(_MONTHS) + r")[a-z]*\b", words, re.I)
        numbers = sorted(int(each) for each in re.findall(r"\d+", words)[:6])
        told = sorted(int(each) for each in re.findall(r"\d+", digits)[:6])
        if month is not None and told == sorted([*numbers, _MONTHS[month.group(1).lower()]]):
            return Relation("date_format")
        if re.search(r"\d\s*[ap]\.?m\b", words, re.I) and _clock(words) == _clock(digits) is not None:
            return Relation("time_format")
    return None


def _clock(text: str) -> tuple[int, int] | None:
    """Hour of twelve, and minute."""
    found = re.search(r"\b(\d{1,2})(?::(\d\d))?", text)
    return (int(found.group(1)) % 12, int(found.group(2) or 0)) if found else None


def _of_space(said: str, due: str) -> str:
    return "broken_lines" if "\n" in said and "\n" not in due else "space"


def _digits(said: str, due: str) -> Relation | None:
    """Other digits at the same places, or the same ones in another order."""
    if len(said) != len(due) or said == due or re.sub(r"\d", "#", said) != re.sub(r"\d", "#", due):
        return None
    return Relation("digits", "the same in another order" if sorted(said) == sorted(due) else "")


_OF_TEXTS: tuple[Callable[[str, str], Relation | None], ...] = (
    _invisible,
    *(_undone(undo, told) for told, _, undo in ENCODINGS),
    _ascii_lost,
    _tokens,
    _dates,
    _months,
    _epoch,
    _zeros,
    masked,
    _style,
    _affixed,
    _cut,
    lambda said, due: Relation(_of_space(said, due)) if said.split() == due.split() else None,
    _digits,
)
