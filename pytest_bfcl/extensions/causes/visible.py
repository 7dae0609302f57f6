"""Where a cause could be seen: the places at which what it does would change anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pytest_bfcl.extensions.causes.places import Place
from pytest_bfcl.extensions.causes.relations import ENCODINGS

_SEPARATED = re.compile(r"[_.\- ]|[a-z][A-Z]")
_DATE = re.compile(r"\d+[-/.]\d+[-/.]\d+")


def is_visible(why: tuple[str, str], place: Place) -> bool:
    """Whether a place without this difference could have had it."""
    key, told = why
    if place.level == "raw" and place.features.get("bare"):  # no arguments were due
        return False
    rule = _VISIBLE.get(key)
    if rule is not None:
        return rule(place)
    if key.endswith("_style"):
        return told not in _JOINED or _SEPARATED.search(str(place.due)) is not None
    if key.endswith("cut") and told.isdigit():
        return len(str(place.due)) > int(told)
    if key.endswith("_replaced"):
        before = told.partition(" → ")[0]
        word = rf"(?<![^\W\d_]){before}(?![^\W\d_])" if before.isalpha() else re.escape(before)
        return re.search(word, str(place.due)) is not None
    if key == "encoding":
        return re.search(_SHOWN.get(told, ""), str(place.due)) is not None
    return True


_JOINED = frozenset((
    "camel case", "kebab case", "snake case", "lower case without separators", "words with spaces", "words with dots",
))  # fmt: skip
_SHOWN = {told: shown for told, shown, _ in ENCODINGS}


def _due_over(number: int) -> Callable[[Place], bool]:
    return lambda place: int(place.features.get("due", 1)) > number


def _absent(place: Place) -> bool:
    return "argument" in place.features


_VISIBLE: Mapping[str, Callable[[Place], bool]] = {
    "defaults": _absent,
    "key_extra": lambda place: not _absent(place),
    "first_word": lambda place: place.features.get("words", 0) > 1,
    "last_word": lambda place: place.features.get("words", 0) > 1,
    "digits": lambda place: bool(place.features.get("digits")),
    "date_order": lambda place: _DATE.search(str(place.due)) is not None,
    "date_format": lambda place: re.search(r"\d\D\d", str(place.due)) is not None,
    "rounded": lambda place: isinstance(place.due, float) and place.due != round(place.due),
    "enum_first": lambda place: place.features.get("enum") is True and not place.features.get("first of enum"),
    "number_cut": lambda place: isinstance(place.due, int | float) and abs(place.due) > 9,
    "zeros": lambda place: bool(place.features.get("digits")),
    "json_cut": lambda place: True,
    "flattened": lambda place: bool(place.features.get("nested")),
    "name_of_other": lambda place: place.features.get("names", 1) > 1 or place.features.get("tools", 1) > 1,
    "merged": _due_over(1),
    "arguments_of_other": _due_over(1),
    "swapped": lambda place: not place.features.get("alone"),
    "time_format": lambda place: re.search(r"\d:\d\d", str(place.due)) is not None,
    "first_lost": _due_over(1),
    "last_lost": _due_over(1),
    "number_words": lambda place: place.due in range(21),
    "first_only": _due_over(1),
    "last_only": _due_over(1),
    "at_most": _due_over(2),
    "json_text": lambda place: place.kind in ("list", "object"),
    "list_text": lambda place: place.kind == "list",
}
