"""Programs of texts: pieces of streams, days in other forms, maps of letters and words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from difflib import SequenceMatcher
from typing import Any

from pytest_bfcl.extensions.causes.forms import LONGEST, text_of, visible
from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.primitives import dates_as
from pytest_bfcl.extensions.causes.programs import Program, foretold, is_number, made_of
from pytest_bfcl.extensions.causes.relations import ENCODINGS


def _cut_up(name: str, size: int, text: str) -> str:
    pieces = _pieces(text, size)
    if name == "twice":
        return "".join(2 * each for each in pieces)
    if name == "in exchanged order":
        for n in range(0, len(pieces) - 1, 2):
            pieces[n], pieces[n + 1] = pieces[n + 1], pieces[n]
        return "".join(pieces)
    if name == "backwards":
        return "".join(each[::-1] for each in pieces)
    if name.startswith("of which the"):
        first = 1 if "second" in name else 0
        pieces[first : first + 2] = pieces[first : first + 2][::-1]
        return "".join(pieces)
    for what, times in (("is dropped", 0), ("comes twice", 2)):
        if name.startswith("of which every") and name.endswith(what):
            nth = _NTH.index(name.split()[3]) + 2
            return "".join(each * (times if n % nth == nth - 1 else 1) for n, each in enumerate(pieces))
    raise ValueError(name)


_NTH = ("second", "third", "fourth", "fifth", "sixth")
_PIECES = (
    "twice", "in exchanged order", "backwards",
    "of which the first two are exchanged", "of which the second and third are exchanged",
    *(f"of which every {nth} one {what}" for nth in _NTH for what in ("is dropped", "comes twice")),
)  # fmt: skip


def of_encodings(place: Place) -> Iterator[Program]:
    """A text that the inverse of an encoding makes right again."""
    if isinstance(place.due, str) and isinstance(place.said, str) and place.said != place.due:
        for told, _, undo in ENCODINGS:
            if made_of(undo, place.said) == place.due:
                noun = "with" if told.startswith("backslashes") else "in"
                yield Program(f"{noun} {told}", lambda p, u=undo: p.said if made_of(u, p.said) == p.due else NOTHING)


def of_pieces(place: Place) -> Iterator[Program]:
    """A text in pieces of one length, as streams and lines have them."""
    yield from _parted(place)
    yield from _filled_up(place)
    yield from _end_again(place)
    yield from _without_end(place)
    due, said = text_of(place), place.said
    if not isinstance(due, str) or not isinstance(said, str) or len(due) < 8 or len(said) < 6:
        return
    for size in range(2, min(len(due) - 1, 80)):
        for name in _PIECES:
            if _cut_up(name, size, due) == said:
                told = f"pieces of {size} letters {name}"
                yield Program(told, lambda p, n=name, k=size: _cut_up(n, k, text_of(p)), 2)
                return


def _filled_up(place: Place) -> Iterator[Program]:
    """A text of one length, as in a column: cut, or filled up at the end or at the beginning."""
    due, said = text_of(place), place.said
    if not isinstance(due, str) or not isinstance(said, str) or len(said) < 3 or due == said:
        return
    size = len(said)
    for where, change in (("behind", str.ljust), ("before", str.rjust)):
        sign = " " if len(due) >= size else said[-1] if where == "behind" else said[0]
        if change(due[:size], size, sign) == said:
            told = f"cut to {size} letters, or filled up with `{sign}` {where}"
            yield Program(told, lambda p, n=size, c=change, s=sign: _of_size(text_of(p), n, c, s), 2)


def _of_size(text: Any, size: int, change: Callable[[str, int, str], str], sign: str) -> Any:
    return change(text[:size], size, sign) if isinstance(text, str) else NOTHING


_TIMES = ("once", "twice")


def _end_again(place: Place) -> Iterator[Program]:
    """A text whose last letter, word or words come again, some times."""
    due, said = text_of(place), place.said
    if not isinstance(due, str) or not isinstance(said, str) or not due or len(said) > LONGEST:
        return
    more = said.removeprefix(due)
    if not more or more == said:
        return
    size = next(n for n in range(1, len(more) + 1) if more[:n] * (len(more) // n) == more)
    times, blank = len(more) // size, more[:1].isspace()
    words = len(more[:size].split()) if blank else 0
    if size != (len(_last_words(due, words)) + 1 if words else 1) or times + words < 2:
        return
    what = "word" if words == 1 else f"{words} words" if words else "letter"
    often = _TIMES[times - 1] if times <= len(_TIMES) else f"{times} times"
    told = f"with the last {what} {often} more"
    yield Program(told, lambda p, s=more[0], n=words, k=times: _with_end_again(text_of(p), s, n, k), 2)


def _with_end_again(text: Any, sign: str, words: int, times: int) -> Any:
    if not isinstance(text, str) or not text or (words and not _last_words(text, words)):
        return NOTHING
    return text + (sign + _last_words(text, words) if words else text[-1]) * times


def _last_words(text: str, number: int) -> str:
    """The last words with what is between them; empty if there are not as many."""
    words = text.rsplit(maxsplit=number)
    if len(words) < number or text != text.rstrip():
        return ""
    return text[len(words[0]) :].lstrip() if len(words) > number else text.lstrip()


def _without_end(place: Place) -> Iterator[Program]:
    """A text that has lost certain signs at its end, or at its beginning."""
    due, said = text_of(place), place.said
    if not isinstance(due, str) or not isinstance(said, str) or not 0 < len(due) - len(said) <= MOST_SIGNS or not said:
        return
    for where, is_part, change in (
        ("end", due.startswith(said), str.removesuffix),
        ("beginning", due.endswith(said), str.removeprefix),
    ):
        if is_part:
            signs = due[len(said) :] if where == "end" else due[: -len(said)]
            told = f"without `{visible(signs)}` at the {where}"
            yield Program(told, lambda p, c=change, s=signs: c(text_of(p), s) if p.due else NOTHING)


MOST_SIGNS = 12
"""Signs between two pieces, or lost at an end."""


def _parted(place: Place) -> Iterator[Program]:
    """A text with the same signs between all of its letters, or pieces, or behind each."""
    due, said = text_of(place), place.said
    if not isinstance(due, str) or not isinstance(said, str) or not 2 < len(due) < len(said):
        return
    for size in range(1, len(due)):
        if not said.startswith(due[:size]):
            return
        at = said.find(due[size : 2 * size], size + 1)
        signs = said[size:at]
        if at < 0 or len(signs) > MOST_SIGNS:
            continue
        for where, last in (("between", ""), ("behind", signs)):
            if signs.join(_pieces(due, size)) + last == said:
                what = "letters" if size == 1 else f"pieces of {size} letters"
                told = f"with `{visible(signs)}` {where} {what}"
                yield Program(told, lambda p, n=size, s=signs, e=last: _with_signs(text_of(p), n, s, e), 2)
                return


def _pieces(text: str, size: int) -> list[str]:
    return [text[n : n + size] for n in range(0, len(text), size)]


def _with_signs(text: Any, size: int, signs: str, last: str) -> Any:
    return signs.join(_pieces(text, size)) + last if isinstance(text, str) and text else NOTHING


_CODES = (
    "%A", "%a", "%B", "%b", "%Y", "%G", "%m", "%V", "%d", "%-m", "%-d", "%u", "%w", "%j", "%y",
    "%Y%m%d", "%d%m%Y", "%y%m%d", "%s", "%s000",
)  # fmt: skip
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
    if isinstance(place.said, int):
        yield from _of_days(day, place.said)
    written = said[found.start() : len(said) - (len(place.due) - found.end())]
    for later in dict.fromkeys((0, _days_later(day, written))):
        for form in _forms_of(day + timedelta(later), written):
            example = (meant := date(2031, 4, 2) + timedelta(later)).strftime(form)
            if example == str(meant):  # a change of days is told as one
                continue
            change, kind = dates_as(form, later), type(place.said)
            yield Program(
                f"dates as `{example}` for 2031-04-02", lambda p, c=change, k=kind: k(c(p.due)), 1 + ("%-" in form)
            )


MOST_LATER = 31
"""Days by which a calendar or time zone may be off."""


def _days_later(day: date, written: str) -> int:
    """By how many days the day in a text is later than the expected one; 0 without one, or if they have little in
    common.
    """
    found = re.search(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)", written)
    try:
        later = (date(*map(int, found.groups())) - day).days if found else 0
    except ValueError:
        return 0
    return later if abs(later) <= MOST_LATER else 0


def _forms_of(day: date, written: str) -> Iterator[str]:
    """The forms of `strftime` in which a day is so written."""
    forms = [""]
    for piece in re.findall(r"[^\W\d_]+|\d+|[\W_]", written):
        codes = [code for code in _CODES if day.strftime(code) == piece]
        forms = [form + code for form in forms for code in codes or [piece.replace("%", "%%")]][:MOST_FORMS]
    yield from (form for form in forms if "%" in form.replace("%%", ""))


def _of_days(day: date, said: int) -> Iterator[Program]:
    """Days counted from another."""
    if abs(said) < day.toordinal():
        first = date.fromordinal(day.toordinal() - said)

        def foretell(place: Place) -> Any:
            found = _DAY.fullmatch(place.due)
            return (date(*map(int, found.groups())) - first).days if found else NOTHING

        yield Program(f"dates as the number of days since {first}", foretell)


_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")


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
                after = behind and not (a < len(due) and said[d - 1] == due[a] != due[a - 1])
                one = due[a - 1] if after else due[a]
                counted[one][one] -= 1
                counted[one][one + said[c:d] if after else said[c:d] + one] += 1
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


def of_spelled(places: Sequence[Place]) -> Iterator[Program]:
    """A map of letters to words, with blanks around them."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for place in places:
        due, said = place.due[:200], place.said[:800]
        for kind, a, b, c, d in SequenceMatcher(None, due, said, autojunk=False).get_opcodes():
            words = said[c:d].split()
            if kind == "replace" and len(words) == b - a:
                for one, other in zip(due[a:b], words, strict=True):
                    counted[one][other] += 1
    known = {one: told.most_common(1)[0][0] for one, told in sorted(counted.items())}
    spelled = {one: word for one, word in known.items() if len(word) > 1 and word.isalpha() and not one.isalpha()}
    if len(spelled) < 2:
        return
    shown = "`, `".join(f"{one} → {word}" for one, word in [*spelled.items()][:3])
    program = Program(f"signs are spelled (`{shown}` …)", lambda p: _spelled(p.due, spelled), 2)
    yield from [program] * sum(foretold(program, place) == place.said for place in places)


def _spelled(text: Any, words: Mapping[str, str]) -> Any:
    if not isinstance(text, str):
        return NOTHING
    return " ".join("".join(f" {words[each]} " if each in words else each for each in text).split())


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
