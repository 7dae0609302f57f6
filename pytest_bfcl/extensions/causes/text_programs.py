"""Programs of texts: parts, notations, pieces of streams, maps of letters and words, days and times moved."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from difflib import SequenceMatcher
from typing import Any

from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.primitives import TEXTS, WRITERS, dates_as
from pytest_bfcl.extensions.causes.programs import SHORTEST, Program, foretold, is_number, made_of

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
        if inside and not name and len(before) + len(behind) < 200:
            yield from _of_computed(place, before, behind, read)
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
    yield from _of_cut_note(due, said, read)
    yield from _in_texts(due, said, read)


def computed(place: Place, text: str) -> Iterator[tuple[str, str]]:
    """What can be computed of a text or its place: description and result."""
    words = text.split()
    if len(words) > 1:
        yield "its last word", words[-1]
        yield "its first word", words[0]
    if len(text) > 9:
        yield "its length", str(len(text))
    of = place.of
    if of is not None:
        made = of.nth + sum(len(turn.due) for turn in of.case.turns[: of.number])
        for number, told in ((of.nth, "call of the turn"), (made, "call of the conversation")):
            for start in (0, 1):
                yield f"the number of the {told} (the first is {start})", str(number + start)
        yield "the name of the function", of.due.name
        yield "the name of the argument", of.key


def _of_computed(place: Place, before: str, behind: str, read: Callable[..., Any]) -> Iterator[Program]:
    """Signs before and behind a text that are computed: its number, its last word (once or often), its name."""
    for told, value in computed(place, read(place)):
        if not value or value not in before + behind:
            continue
        times = max(before.count(value), behind.count(value))
        form = before.replace(value, "{0}") + "…" + behind.replace(value, "{0}")
        if form.replace("{0}", "").count("{") or form.replace("{0}", "").count("}"):
            continue

        def foretell(p: Place, t: str = told, f: str = form) -> Any:
            text = read(p)
            held = next(value for each, value in computed(p, text) if each == t)
            one, other = f.replace("{0}", held).split("…", 1)
            return one + text + other

        often = f" {times} times" if times > 1 else ""
        yield Program(f"with `{form.replace('{0}', 'N')}` around, where N is {told}{often}", foretell, 3)


def _of_cut_note(due: str, said: str, read: Callable[..., Any]) -> Iterator[Program]:
    """The beginning of a text, and a note that counts what is missing, or all of it."""
    kept = next((n for n, (a, b) in enumerate(zip(due, said, strict=False)) if a != b), min(len(due), len(said)))
    for size in (kept, kept - 1) if kept > 2 else ():
        note = said[size:]
        for told, number in (("lost letters", len(due) - size), ("all letters", len(due))):
            begin, found, end = note.partition(str(number))
            if found and 4 < len(note) < 80:
                yield Program(
                    f"cut after {size} letters, then `{begin}N{end}` with the number of {told}",
                    lambda p, n=size, b=begin, e=end, lost=told == "lost letters": (
                        read(p)[:n] + b + str(len(read(p)) - (n if lost else 0)) + e if len(read(p)) > n else NOTHING
                    ), 3,
                )  # fmt: skip


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


_CODES = ("%A", "%a", "%B", "%b", "%Y", "%m", "%d", "%-m", "%-d", "%j", "%y", "%Y%m%d", "%d%m%Y", "%y%m%d", "%s", "%V")
"""Parts of dates, as `strftime` writes them."""
MOST_FORMS = 24


def of_dates(place: Place) -> Iterator[Program]:
    """Days in another form, which is read off one of them: words and numbers that are parts of the day, and signs."""
    said = str(place.said) if is_number(place.said) else place.said
    found = _DAY.search(place.due) if isinstance(place.due, str) and isinstance(said, str) else None
    if found is None or not said.startswith(place.due[: found.start()]) or not said.endswith(place.due[found.end() :]):
        return
    try:
        day = date(*map(int, found.groups()))
    except ValueError:
        return
    forms = [""]
    for piece in re.findall(r"[^\W\d_]+|\d+|[\W_]", said[found.start() : len(said) - (len(place.due) - found.end())]):
        codes = [code for code in _CODES if day.strftime(code) == piece]
        forms = [form + code for form in forms for code in codes or [piece.replace("%", "%%")]][:MOST_FORMS]
    for form in forms:
        if "%" in form and form != "%Y-%m-%d":
            read = (lambda p, f=form: int(dates_as(f)(p.due))) if is_number(place.said) else None
            yield Program(
                f"dates as `{date(2031, 4, 2).strftime(form)}` for 2031-04-02",
                read or (lambda p, f=form: dates_as(f)(p.due)), 1 + ("%-" in form),
            )  # fmt: skip


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
    """A map of letters: each to another, to several, or to nothing; what is inserted belongs to either neighbour."""
    known = [*_of_letters(places, True)]
    yield from known
    yield from (each for each in _of_letters(places, False) if all(each.told != one.told for one in known))


def _of_letters(places: Sequence[Place], behind: bool) -> Iterator[Program]:
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
            elif kind == "insert" and (a if behind else a < len(due)):
                one = due[a - 1] if behind else due[a]
                counted[one][one] -= 1
                counted[one][one + said[c:d] if behind else said[c:d] + one] += 1
            elif kind == "replace" and b - a == 1:
                counted[due[a]][said[c:d]] += 1
    known = {one: told.most_common(1)[0][0] for one, told in counted.items()}
    changed = {one: other for one, other in known.items() if one != other}
    if not changed:
        return
    letters = [(a, b) for a, b in changed.items() if a.isalpha() and len(b) == 1 and b.isalpha()]
    shifts = {(ord(b) - ord(a)) % 26 for a, b in letters}
    gone = "".join(sorted({one for one, other in changed.items() if not other}))
    if gone and all(not other for other in changed.values()):
        few = gone if len(gone) < 12 else "capitals" if gone.isupper() else "small ones" if gone.islower() else gone
        told = f"letters are missing (`{few}`)"
    elif len(shifts) == 1 and len(letters) > 5:
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
    """A map of words: each to another; or words that never arrive."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    gone: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for place in places:
        due, said = _PIECES_OF_TEXT.findall(place.due), _PIECES_OF_TEXT.findall(place.said)
        if len(due) == len(said) > 1:
            for one, other in zip(due, said, strict=True):
                counted[one][other] += 1
        whole, left = place.due.split(), Counter(place.said.split())
        if len(whole) > sum(left.values()) > 0:
            for one in whole:
                gone[one][left[one] > 0] += 1
                left[one] -= 1
    known = {one: told.most_common(1)[0][0] for one, told in counted.items()}
    changed = {one: other for one, other in known.items() if one != other and counted[one][other] > 1}
    shown = [f"{a} → {b}" for a, b in sorted(changed.items(), key=lambda e: -counted[e[0]][e[1]])]
    told = f"words are replaced (`{'`, `'.join(shown[:3])}`{' …' if len(shown) > 3 else ''})"
    programs = [Program(told, lambda p: _replaced(p.due, changed), 3)] if changed else []
    lost = sorted((one for one, (n, kept) in gone.items() if n and not kept), key=lambda one: -gone[one][0])
    if lost and len(places) > 1:
        few = f"`{'`, `'.join(lost[:5])}`{' …' if len(lost) > 5 else ''}"
        never = frozenset(lost)
        programs.append(Program(f"words are missing ({few})", lambda p: _without_words(p.due, never), 3))
    for program in programs:
        for place in places:
            if foretold(program, place) == place.said:
                yield program


def _without_words(text: Any, never: frozenset[str]) -> Any:
    if not isinstance(text, str):
        return NOTHING
    return re.sub(r"\S+\s*", lambda found: "" if found[0].strip() in never else found[0], text)


def _replaced(text: Any, known: Mapping[str, str]) -> Any:
    if not isinstance(text, str):
        return NOTHING
    return "".join(known.get(each, each) for each in _PIECES_OF_TEXT.findall(text))
