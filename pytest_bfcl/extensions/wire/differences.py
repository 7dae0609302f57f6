"""How a value differs from the dictated one, and whether the difference is typical of a server.

A model may copy badly. Some differences are known of parsers and not of models: U+FFFD for characters, a text escaped
twice, ``None`` for null, an object as a text. They are called damage.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, unquote_plus

from pytest_bfcl.extensions.wire.replies import Call, Reply, loads
from pytest_bfcl.formats.detection import lost_calls, sign_in
from pytest_bfcl.json_types import Fields, Parsed

Kind = Literal["exact", "damaged", "other", "none"]


@dataclass(frozen=True, slots=True)
class Match:
    """``exact``; ``damaged`` (by the server); ``other`` (a call with other content); ``none`` (no call)."""

    kind: Kind
    why: str = ""


EXACT = Match("exact")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that was dictated."""

    name: str
    arguments: Fields


def compare(wanted: Sequence[Wanted], reply: Reply) -> Match:
    """An answer's calls compared with the dictated ones, in order."""
    counted = count(wanted, reply)
    if counted.kind != "exact":
        return counted
    return _first(_compare_call(each, call) for each, call in zip(wanted, reply.calls, strict=True))


def count(wanted: Sequence[Wanted], reply: Reply) -> Match:
    """The number of an answer's calls compared with the dictated one: calls may be lost, merged or doubled."""
    calls = reply.calls
    said = f"{len(calls)} of {len(wanted)} calls"
    if len(calls) < len(wanted):
        broken = next((call for call in calls if isinstance(call.arguments, str) and call.values is None), None)
        if broken is not None:
            return Match("damaged", f"{said}, with broken arguments: {_short(broken.arguments)}")
        if lost := lost_call(reply):
            return Match("damaged", f"{said}: {lost}" if calls else lost)
        return Match("other" if calls else "none", said)
    if len(calls) >= 2 * len(wanted) > 0 and len({repr((call.name, call.arguments)) for call in calls}) <= len(wanted):
        return Match("damaged", f"{len(calls)} calls for {len(wanted)}: calls are doubled")
    return EXACT if len(calls) == len(wanted) else Match("other", f"{len(calls)} calls for {len(wanted)}")


def _compare_call(wanted: Wanted, call: Call) -> Match:
    if call.name != wanted.name:
        if isinstance(call.name, str) and call.name and same_but_signs(wanted.name, call.name):
            return Match("damaged", f"the name {wanted.name!r} became {call.name!r}")
        return Match("other", f"called {str(call.name)[:80]!r}, not {wanted.name!r}")
    if call.values is None:
        return Match("damaged", f"the arguments are no JSON object: {_short(call.arguments)}")
    return difference(wanted.arguments, call.values)


def same_but_signs(wanted: str, got: str) -> bool:
    """Whether a name is another one with other signs, or half of it."""

    def letters(text: str) -> str:
        return re.sub(r"[^A-Za-z0-9]", "", text)

    return letters(wanted).lower() == letters(got).lower() or wanted.startswith(got) or wanted.endswith(got)


def difference(wanted: object, got: object, at: str = "the arguments") -> Match:
    """Two JSON values compared; numbers by value, texts by character."""
    if isinstance(wanted, Mapping) and isinstance(got, Mapping):
        return _objects(wanted, got, at)
    if isinstance(wanted, list) and isinstance(got, list):
        if len(wanted) != len(got):
            return Match("other", f"{at} has {len(got)} items, not {len(wanted)}")
        return _first(difference(w, g, f"{at}[{i}]") for i, (w, g) in enumerate(zip(wanted, got, strict=True)))
    if got is None and wanted in ("", [], {}):
        return Match("damaged", f"{at} was {_short(wanted)} and is null")
    if [wanted] == got or wanted == [got]:
        return Match("damaged", f"{at} is {_short(got)}, not {_short(wanted)}: a list of one")
    if isinstance(wanted, str) and isinstance(got, str):
        return _texts(wanted, got, at)
    if isinstance(wanted, str) or isinstance(got, str):
        return _retyped(wanted, got, at)
    if type(wanted) is type(got) or not {type(wanted), type(got)} - {int, float}:
        if wanted == got:
            return EXACT
        rounded = _is_rounded(wanted, got)
        return Match("damaged" if rounded else "other", f"{at} is {got!r}, not {wanted!r}{' (rounded)' * rounded}")
    boolean = isinstance(wanted, bool) != isinstance(got, bool) and wanted == got
    return Match("damaged" if boolean else "other", f"{at} is {_short(got)}, not {_short(wanted)}")


def _is_rounded(wanted: object, got: object) -> bool:
    """Whether digits were lost: beyond a float's precision, or after the point."""
    if not isinstance(wanted, int | float) or not isinstance(got, int | float):
        return False
    if isinstance(wanted, int):
        return float(wanted) == float(got)
    return any(round(wanted, digits) == got for digits in range(7))


def _objects(wanted: Fields, got: Fields, at: str) -> Match:
    missing = [key for key in wanted if key not in got]
    if missing and all(wanted[key] in (None, "", [], {}) for key in missing):
        return Match("damaged", f"{at}: {', '.join(missing)} was {_short(wanted[missing[0]])} and is gone")
    if set(got) in ({"arguments"}, {"parameters"}) and next(iter(got.values())) == wanted:
        return Match("damaged", f"{at} are wrapped in another object")
    if missing and missing == list(wanted)[-1:] and got and all(got[key] == wanted.get(key) for key in got):
        return Match("damaged", f"{at}: {missing[0]}, the last of them, is gone")
    if missing or len(got) > len(wanted):
        return Match("other", f"{at} has the keys {sorted(got)[:8]}, not {sorted(wanted)[:8]}")
    return _first(difference(value, got[key], f"{at}.{key}") for key, value in wanted.items())


def _first(found: Iterable[Match]) -> Match:
    """The first damage, else the first difference."""
    odd = [match for match in found if match.kind != "exact"]
    return next((match for match in odd if match.kind == "damaged"), odd[0] if odd else EXACT)


_WORDS: Parsed = {"None": None, "True": True, "False": False, "null": None, "true": True, "false": False}


def _retyped(wanted: object, got: object, at: str) -> Match:
    """A text in place of another type, or the reverse."""
    if isinstance(got, str):
        read = _WORDS[got] if got in _WORDS else loads(got)
        same = type(read) is type(wanted) and read == wanted
    else:
        same = json.dumps(got) == wanted or str(got) == wanted or (got is not None and loads(str(wanted)) == got)
    kind: Kind = "damaged" if same else "other"
    return Match(kind, f"{at} is {_short(got)}, not {_short(wanted)}: another type")


def _texts(wanted: str, got: str, at: str) -> Match:
    if wanted == got:
        return EXACT
    for what, marked in _MARKS.items():
        if marked(wanted, got):
            return Match("damaged", f"{at}: {what}: {_apart(wanted, got)}")
    return Match("other", f"{at}: {_apart(wanted, got)}")


def _mojibake(wanted: str, got: str) -> bool:
    return any(wanted.encode().decode(code, "replace") == got for code in ("latin-1", "cp1252"))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), text)


_MARK = re.compile(r"</?[\w|]+>|\[[A-Z_]+\]")


def _visible(text: str) -> str:
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def _joined(text: str) -> str:
    return re.sub(r"\s", "", text)


_MARKS: dict[str, Callable[[str, str], bool]] = {
    "replacement characters": lambda w, g: "\ufffd" in g and "\ufffd" not in w,
    "half a surrogate pair": lambda w, g: any("\ud800" <= c <= "\udfff" for c in g),
    "escaped twice": lambda w, g: g in (json.dumps(w)[1:-1], json.dumps(w, ensure_ascii=False)[1:-1]),
    "unescaped twice": lambda w, g: _unescaped(g) == _unescaped(w) or g == w.replace("\\", ""),
    "escaped for HTML": lambda w, g: html.unescape(g) == w,
    "percent signs decoded": lambda w, g: unquote(w) == unquote(g) or g == unquote_plus(w),
    "a date written otherwise": lambda w, g: bool(re.fullmatch(r"\d{4}-\d\d-\d\d", w)) and g.startswith(w),
    "invisible characters lost": lambda w, g: _visible(w) == g,
    "marks of a format lost": lambda w, g: _joined(_MARK.sub("", w)) == _joined(g),
    "unescaped as HTML": lambda w, g: html.unescape(w) == g,
    "bytes read in another encoding": _mojibake,
    "another Unicode normal form": lambda w, g: unicodedata.normalize("NFKC", w) == unicodedata.normalize("NFKC", g),
    "the text twice": lambda w, g: g == w + w,
    "the end is missing": lambda w, g: bool(g.strip()) and w.startswith(g.rstrip()) and g.rstrip() != w.rstrip(),
    "the beginning is missing": lambda w, g: bool(g.strip()) and w.endswith(g.lstrip()) and g.lstrip() != w.lstrip(),
    "blanks or line ends changed": lambda w, g: _joined(w) == _joined(g),
    "quotes changed": lambda w, g: w.replace('"', "'") == g.replace('"', "'"),
    "characters lost": lambda w, g: w.encode("ascii", "ignore").decode() == g,
}


def _apart(wanted: str, got: str) -> str:
    """The position where two texts differ."""
    at = next((i for i, (w, g) in enumerate(zip(wanted, got, strict=False)) if w != g), min(len(wanted), len(got)))
    start = max(0, at - 12)
    return f"at character {at} {got[start : at + 24]!a}, not {wanted[start : at + 24]!a}"


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 120 else f"{text[:80]} … {text[-30:]}"


def lost_call(reply: Reply) -> str:
    """Evidence that a model's call was left in the text, or an empty text."""
    for what, text in (("content", reply.text), ("reasoning", reply.reasoning)):
        found = lost_calls(text)
        written = f", as {found[0]} has it" if found is not None else ""
        if sign := sign_in(text):
            return f"the call was left in the {what}{written}, with the model's own marker {sign!r}"
        if re.search(r'\{\s*"(?:name|function)"\s*:\s*"', text) and '"' in text:
            return f"the call was left in the {what} as JSON{written}"
    return ""
