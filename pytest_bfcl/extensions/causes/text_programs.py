"""Programs of texts: parts, notations, pieces of streams, maps of letters and words, days and times moved."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from difflib import SequenceMatcher
from typing import Any

from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.primitives import TEXTS, WRITERS
from pytest_bfcl.extensions.causes.programs import SHORTEST, Program, foretold, is_number, made_of, noun_of

_SEPARATORS = " ,.;:-_/|()'\"@#\n"


def _after(change: Callable[..., Any], read: Callable[..., Any]) -> Callable[..., Any]:
    return lambda place: change(read(place))


def _itself(text: Any) -> Any:
    return text


def text_of(place: Place) -> str:
    """The expected value as a text."""
    return place.due if isinstance(place.due, str) else str(place.due) if is_number(place.due) else place.due[:]


def as_written(place: Place) -> str:
    """The expected arguments as JSON."""
    return str(WRITERS[""](place.due))


def of_parts(place: Place) -> Iterator[Program]:
    """A constant before, behind or within a text; a part of it; a part up to a sign."""
    due, said = place.due, place.said
    if place.level == "raw":
        due = made_of(WRITERS[""], due)
    if not isinstance(said, str) or isinstance(due, bool | list | dict) or due is None or not said:
        return
    read = text_of if place.level != "raw" else as_written
    if not isinstance(due, str):
        due = str(due)
    for name, change in {"": _itself, **(TEXTS if len(said) < SHORTEST else {})}.items():
        text = made_of(change, due)
        if not isinstance(text, str) or len(text) < 2 or text == said:
            continue
        if name and re.search(r"\d", text):
            yield from _in_texts(text, said, _after(change, read), f"{name}, ")
        before, inside, behind = said.partition(text)
        if name and 3 < len(said) < len(text) and text.startswith(said):
            size = len(said)
            told = f"{name}, only the first {size} letters"
            yield Program(told, lambda p, c=change, n=size: _cut(c(read(p)), 0, n), 3)
        if inside and (before or behind) and len(before) + len(behind) < 80:
            told = f"`{before}` before" if before else ""
            told += (" and " if before and behind else "") + (f"`{behind}` behind" if behind else "")
            yield Program(
                ", ".join(each for each in (name, f"with {told}") if each),
                lambda p, c=change, b=before, e=behind: b + c(read(p)) + e, 2 + bool(name),
            )  # fmt: skip
    if due.startswith(said):
        n = len(said)
        yield Program(f"only the first {n} letters", lambda p: _cut(read(p), 0, n))
        lost = len(due) - n
        yield Program(f"without the last {lost} letters", lambda p: _cut(read(p), 0, -lost))
        yield Program(f"only the words within {n} letters", lambda p, n=n: _at_word(read(p), n), 2)
        if n < len(due) and due[n] in _SEPARATORS:
            yield Program(f"only what stands before `{due[n]}`", lambda p, s=due[n]: _before(read(p), s))
    elif due.endswith(said):
        n = len(due) - len(said)
        yield Program(f"without the first {n} letters", lambda p: _cut(read(p), n, None))
        kept = len(said)
        yield Program(f"only the last {kept} letters", lambda p: _cut(read(p), -kept, None))
        if due[n - 1] in _SEPARATORS:
            yield Program(f"only what stands behind `{due[n - 1]}`", lambda p, s=due[n - 1]: read(p).rpartition(s)[2])
    elif len(said) > len(due):
        begin = next((i for i, (a, b) in enumerate(zip(said, due, strict=False)) if a != b), len(due))
        piece = said[begin : begin + len(said) - len(due)]
        if said == due[:begin] + piece + due[begin:] and len(due) > begin > 0:
            yield Program(
                f"with `{piece}` behind letter {begin}", lambda p: read(p)[:begin] + piece + read(p)[begin:], 2
            )
    yield from _in_texts(due, said, read)


def _cut(text: str, begin: int | None, end: int | None) -> Any:
    cut = text[begin:end]
    return cut if cut and cut != text else NOTHING


def _at_word(text: str, most: int) -> Any:
    words = text.split(" ")
    while len(words) > 1 and len(" ".join(words)) > most:
        words.pop()
    return " ".join(words)


def _before(text: str, sign: str) -> Any:
    before, found, _ = text.partition(sign)
    return before if found else NOTHING


def _cut_up(name: str, size: int, text: str) -> str:
    pieces = [text[n : n + size] for n in range(0, len(text), size)]
    if name == "twice":
        return "".join(2 * each for each in pieces)
    if name == "in exchanged order":
        for n in range(0, len(pieces) - 1, 2):
            pieces[n], pieces[n + 1] = pieces[n + 1], pieces[n]
        return "".join(pieces)
    if name == "backwards":
        return "".join(each[::-1] for each in pieces)
    if name == "dropped every second time":
        return "".join(pieces[::2])
    return name[-1].join(pieces)


_PIECES = ("twice", "in exchanged order", "backwards", "dropped every second time", "parted by \n", "parted by  ")


def of_pieces(place: Place) -> Iterator[Program]:
    """A text in pieces of one length, as streams and lines have them."""
    due, said = as_written(place) if place.level == "raw" else place.due, place.said
    if not isinstance(due, str) or not isinstance(said, str) or len(due) < 8 or len(said) < 6:
        return
    for size in range(2, min(len(due) - 1, 80)):
        for name in _PIECES:
            if _cut_up(name, size, due) == said:
                told = f"pieces of {size} letters {name.strip()}"
                read = as_written if place.level == "raw" else text_of
                yield Program(told, lambda p, n=name, k=size, r=read: _cut_up(n, k, r(p)), 2)
                return


_SCALARS: Mapping[str, Callable[[Any], str]] = {
    "": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
    " of Python": repr,
    " of JSON": lambda value: json.dumps(value, ensure_ascii=False),
    " as Python prints them": str,
}


def of_notations(place: Place) -> Iterator[Program]:
    """A text with the names and values, or the elements, in order and the same signs between them."""
    due, said = place.due, place.said
    if not isinstance(said, str) or not isinstance(due, dict | list) or not due:
        return
    for word, write in _SCALARS.items():
        marks = _marks_of(due, said, write)
        if marks is not None:
            shown = _in_notation({"a": "1", "b": "2"} if isinstance(due, dict) else ["1", "2"], marks, str)
            yield Program(
                f"{noun_of(place) or 'arguments'} as texts like `{shown}`{word and f', values{word}'}",
                lambda p, m=marks, w=write: _in_notation(p.due, m, w) if type(p.due) is type(due) else NOTHING, 2,
            )  # fmt: skip


Marks = tuple[str, str, str, str]
"""What is before all, between a name and its value, between two of them, behind all."""


def _marks_of(due: dict[str, Any] | list[Any], said: str, write: Callable[[Any], str]) -> Marks | None:
    """The signs around names and values of a text; ``None`` where it is no such text, or has only one of them."""
    parts = [[key, write(each)] for key, each in due.items()] if isinstance(due, dict) else [[write(e)] for e in due]
    if len(parts) < 2:
        return None
    place, gaps = 0, []
    for part in (each for pair in parts for each in pair):
        found = said.find(part, place)
        if found < 0 or found - place > 40:
            return None
        gaps.append(said[place:found])
        place = found + len(part)
    if isinstance(due, dict):
        names, between = set(gaps[1::2]), set(gaps[2::2])
    else:
        names, between = {""}, set(gaps[1:])
    return (gaps[0], names.pop(), between.pop(), said[place:]) if len(names) == len(between) == 1 else None


def _in_notation(due: Any, marks: Marks, write: Callable[[Any], str]) -> str:
    begin, name, between, end = marks
    told = [f"{key}{name}{write(each)}" for key, each in due.items()] if isinstance(due, dict) else map(write, due)
    return begin + between.join(told) + end


_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


_CLOCK = re.compile(r"\b(\d\d):(\d\d)\b")


def _in_texts(due: str, said: str, read: Callable[..., Any], first: str = "") -> Iterator[Program]:
    """Days, times or numbers within a text that are all later, or larger, by the same."""
    if re.sub(r"\d+", "#", due) != re.sub(r"\d+", "#", said):
        return
    one, other = _DAY.search(due), _DAY.search(said)
    if one and other:
        try:
            days = (date(*map(int, other.groups())) - date(*map(int, one.groups()))).days
        except ValueError:
            days = 0
        if days:
            yield Program(f"{first}days {_later(days, 'day')}", lambda p: _moved_days(read(p), days), 2 + bool(first))
    one, other = _CLOCK.search(due), _CLOCK.search(said)
    if one and other:
        minutes = (_minutes(other) - _minutes(one) + 720) % 1440 - 720
        if minutes:
            told = _later(minutes // 60, "hour") if minutes % 60 == 0 else _later(minutes, "minute")
            yield Program(f"{first}times {told}", lambda p: _moved_times(read(p), minutes), 2 + bool(first))
    befores, afters = re.findall(r"\d+", due), re.findall(r"\d+", said)
    for n, (before, after) in enumerate(zip(befores, afters, strict=True)):
        if before != after:
            by = int(after) - int(before)
            for place, told in (
                (n, f"number {n + 1} in texts"),
                (n - len(befores), f"number {len(befores) - n} from the end in texts"),
                (None, "numbers in texts"),
            ):
                yield Program(
                    f"{first}{told} {by:+d}", lambda p, k=place, by=by: _moved_numbers(read(p), k, by), 2 + bool(first)
                )
            return


def _later(by: int, noun: str) -> str:
    return f"{abs(by)} {noun}{'s' if abs(by) != 1 else ''} {'later' if by > 0 else 'earlier'}"


def _minutes(found: re.Match[str]) -> int:
    return 60 * int(found[1]) + int(found[2])


def _moved_days(text: str, by: int) -> Any:
    if not _DAY.search(text):
        return NOTHING
    return _DAY.sub(lambda found: (date(*map(int, found.groups())) + timedelta(by)).isoformat(), text)


def _moved_times(text: str, by: int) -> Any:
    if not _CLOCK.search(text):
        return NOTHING
    return _CLOCK.sub(lambda f: "{:02}:{:02}".format(*divmod((_minutes(f) + by) % 1440, 60)), text)


def _moved_numbers(text: str, place: int | None, by: int) -> Any:
    found = list(re.finditer(r"\d+", text))
    if not found or (place is not None and not -len(found) <= place < len(found)):
        return NOTHING
    for each in found[::-1] if place is None else [found[place]]:
        number = f"{int(each[0]) + by:0{len(each[0])}}"
        text = text[: each.start()] + number + text[each.end() :]
    return text


def of_letters(places: Sequence[Place]) -> Iterator[Program]:
    """A map of letters: each to another, to several, or to nothing."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for place in places:
        due, said = place.due[:200], place.said[:400]
        if len(due) == len(said):
            for one, other in zip(due, said, strict=True):
                counted[one][other] += 1
            continue
        for kind, a, b, c, d in SequenceMatcher(None, due, said, autojunk=False).get_opcodes():
            if kind == "equal" or (kind == "replace" and b - a == d - c):
                for one, other in zip(due[a:b], said[c:d], strict=True):
                    counted[one][other] += 1
            elif kind == "delete":
                for one in due[a:b]:
                    counted[one][""] += 1
            elif kind == "insert" and a:
                one = due[a - 1]
                counted[one][one] -= 1
                counted[one][one + said[c:d]] += 1
            elif kind == "replace" and b - a == 1:
                counted[due[a]][said[c:d]] += 1
    known = {one: told.most_common(1)[0][0] for one, told in counted.items()}
    changed = {one: other for one, other in known.items() if one != other}
    if not changed:
        return
    shifts = {(ord(b) - ord(a)) % 26 for a, b in changed.items() if a.isalpha() and len(b) == 1 and b.isalpha()}
    gone = "".join(sorted({one for one, other in changed.items() if not other}))
    if gone and all(not other for other in changed.values()):
        few = gone if len(gone) < 12 else "capitals" if gone.isupper() else "small ones" if gone.islower() else gone
        told = f"letters are missing (`{few}`)"
    elif len(shifts) == 1 and len(changed) > 5:
        told = f"letters are those {shifts.copy().pop()} places on in the alphabet"
    else:
        shown = [f"{a} → {b or 'nothing'}" for a, b in sorted(changed.items(), key=lambda e: -counted[e[0]][e[1]])]
        told = f"letters are replaced (`{'`, `'.join(shown[:3])}`{' …' if len(shown) > 3 else ''})"
    program = Program(
        told, lambda p: "".join(changed.get(e, e) for e in p.due) if isinstance(p.due, str) else NOTHING, 3
    )
    for place in places:
        if foretold(program, place) == place.said:
            yield program


_PIECES_OF_TEXT = re.compile(r"[^\W\d_]+|\d+|[\W_]")


def of_words(places: Sequence[Place]) -> Iterator[Program]:
    """A map of words: each to another."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for place in places:
        due, said = _PIECES_OF_TEXT.findall(place.due), _PIECES_OF_TEXT.findall(place.said)
        if len(due) == len(said) > 1:
            for one, other in zip(due, said, strict=True):
                counted[one][other] += 1
    known = {one: told.most_common(1)[0][0] for one, told in counted.items()}
    changed = {one: other for one, other in known.items() if one != other and counted[one][other] > 1}
    if not changed:
        return
    shown = [f"{a} → {b}" for a, b in sorted(changed.items(), key=lambda e: -counted[e[0]][e[1]])]
    told = f"words are replaced (`{'`, `'.join(shown[:3])}`{' …' if len(shown) > 3 else ''})"
    program = Program(told, lambda p: _replaced(p.due, changed), 3)
    for place in places:
        if foretold(program, place) == place.said:
            yield program


def _replaced(text: Any, known: Mapping[str, str]) -> Any:
    if not isinstance(text, str):
        return NOTHING
    return "".join(known.get(each, each) for each in _PIECES_OF_TEXT.findall(text))
