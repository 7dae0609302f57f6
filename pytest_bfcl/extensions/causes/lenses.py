"""Lenses: parts of a text that are changed one by one, all alike or one of them: its words, numbers, days, times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.forms import LONGEST, around, text_of
from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.primitives import NUMBERS, TEXTS
from pytest_bfcl.extensions.causes.programs import Program, made_of

MOST_PARTS = 40

Changes = Iterator[tuple[str, Callable[[str], Any]]]


class Lens(NamedTuple):
    """The parts of a text that match ``pattern``. ``changes``: what could have made one text of another."""

    noun: str
    one: str
    pattern: re.Pattern[str]
    changes: Callable[[str, str], Changes]
    least: int = 1
    """Parts that a text must have: one alone is the whole, which other programs change."""


def of_lenses(place: Place) -> Iterator[Program]:
    """A text with some parts changed, and the same between them."""
    due, said = text_of(place), place.said
    if not isinstance(due, str) or not isinstance(said, str) or due == said or len(due) + len(said) > 2 * LONGEST:
        return
    for lens in LENSES if place.level != "text" else LENSES[:_OF_ANSWERS]:
        pairs = _pairs(lens, due, said)
        differing = [number for number, (one, other) in enumerate(pairs) if one != other]
        if len(pairs) < lens.least or not differing:
            continue
        for told, change in lens.changes(*pairs[differing[0]]):
            if all(made_of(change, one) == other for one, other in pairs):
                yield Program(f"{lens.noun} {told}", _all(lens, change), 2)
            elif len(differing) == 1:
                at, left = differing[0], len(pairs) - differing[0]
                yield Program(f"{lens.one} {at + 1} {told}", _single(lens, change, at), 3)
                yield Program(f"{lens.one} {left} from the end {told}", _single(lens, change, -left), 3)


def _pairs(lens: Lens, due: str, said: str) -> Sequence[tuple[str, str]]:
    """Each part with what was said in its place; empty where the texts between them differ."""
    found = list(lens.pattern.finditer(due))
    if not found or len(found) > MOST_PARTS:
        return ()
    pairs = []
    ends = [*(each.start() for each in found[1:]), len(due)]
    if not said.startswith(due[: found[0].start()]):
        return ()
    at = found[0].start()
    for each, end in zip(found, ends, strict=True):
        between = due[each.end() : end]
        last = end == len(due)
        to = len(said) - len(between) if last else said.find(between, at) if between else -1
        if to < at or (last and not said.endswith(between)):
            return ()
        pairs.append((each[0], said[at:to]))
        at = to + len(between)
    return pairs


def _all(lens: Lens, change: Callable[[str], Any]) -> Callable[[Place], Any]:
    def foretell(place: Place) -> Any:
        text = text_of(place)
        found = list(lens.pattern.finditer(text)) if isinstance(text, str) else []
        return _changed(text, found, change) if len(found) >= lens.least else NOTHING

    return foretell


def _single(lens: Lens, change: Callable[[str], Any], number: int) -> Callable[[Place], Any]:
    def foretell(place: Place) -> Any:
        text = text_of(place)
        found = list(lens.pattern.finditer(text)) if isinstance(text, str) else []
        return _changed(text, [found[number]], change) if -len(found) <= number < len(found) else NOTHING

    return foretell


def _changed(text: str, found: Sequence[re.Match[str]], change: Callable[[str], Any]) -> Any:
    for each in reversed(found):
        made = made_of(change, each[0])
        if not isinstance(made, str):
            return NOTHING
        text = text[: each.start()] + made + text[each.end() :]
    return text


# -- what may happen to a part -------------------------------------------------------------------------------------


def _of_words(due: str, said: str) -> Changes:
    yield from ((name, change) for name, change in TEXTS.items() if made_of(change, due) == said)
    before, found, behind = said.partition(due)
    if found and (signs := around(before, behind)):
        yield signs, lambda text: before + text + behind


def _of_numbers(due: str, said: str) -> Changes:
    number = float(due) if "." in due else int(due)
    for name, change in NUMBERS.items():
        if str(made_of(change, number)) == said:
            yield name, _of_number(change)
    if due.isdigit() and said.isdigit():
        by = int(said) - int(due)
        yield f"{by:+d}", lambda text: f"{int(text) + by:0{len(text)}}"
        if int(due) and int(said) and int(said) % int(due) == 0:
            times = int(said) // int(due)
            yield f"× {times}", lambda text: str(int(text) * times)


def _of_number(change: Callable[[Any], Any]) -> Callable[[str], str]:
    return lambda text: str(change(float(text) if "." in text else int(text)))


def _of_days(due: str, said: str) -> Changes:
    days = (date.fromisoformat(said) - date.fromisoformat(due)).days
    yield _later(days, "day"), lambda text: (date.fromisoformat(text) + timedelta(days)).isoformat()


def _of_times(due: str, said: str) -> Changes:
    by = (_minutes(said) - _minutes(due) + 720) % 1440 - 720
    told = _later(by // 60, "hour") if by % 60 == 0 else _later(by, "minute")
    yield told, lambda text: "{:02}:{:02}".format(*divmod((_minutes(text) + by) % 1440, 60))


def _minutes(text: str) -> int:
    hour, minute = map(int, text.split(":"))
    return 60 * hour + minute


def _later(by: int, noun: str) -> str:
    return f"{abs(by)} {noun}{'s' if abs(by) != 1 else ''} {'later' if by > 0 else 'earlier'}"


def _tried(changes: Callable[[str, str], Changes]) -> Callable[[str, str], Changes]:
    """Nothing where a text is none of its kind."""

    def tried(due: str, said: str) -> Changes:
        try:
            yield from changes(due, said)
        except ValueError:
            return

    return tried


_OF_ANSWERS = 3
"""Of the answer to a prompt the first ones: its words are parts of the notation."""
LENSES = (
    Lens("days", "day", re.compile(r"\b\d{4}-\d\d-\d\d\b"), _tried(_of_days)),
    Lens("times", "time", re.compile(r"\b\d\d:\d\d\b"), _tried(_of_times)),
    Lens("numbers in texts", "number in texts", re.compile(r"\d{1,15}(?:\.\d+)?"), _tried(_of_numbers)),
    Lens("each word of texts", "word", re.compile(r"\S+"), _of_words, 2),
    Lens("each part of texts", "part", re.compile(r"[^\W_]+"), _of_words, 2),
)
