"""Calls in a text that was not read as calls, in any notation: the obstacle, and the calls."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import product
from typing import Any, NamedTuple

from pytest_bfcl.decoding import decode
from pytest_bfcl.extensions.causes.cases import Case, Due
from pytest_bfcl.extensions.causes.forms import visible
from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.programs import Program, noun_of
from pytest_bfcl.extensions.causes.relations import ENCODINGS, TOKEN
from pytest_bfcl.extensions.causes.values import leaves_of
from pytest_bfcl.failures import BenchmarkError
from pytest_bfcl.formats.detection import calls_anywhere, lost_calls
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.transcript import Call

MOST = 20_000
"""Characters of a text that are searched."""
OWN = "in a notation of its own"
_CALL = re.compile(r"(?:\[\s*+)?(?<![\w.])([\w.]++)\(")
_END = re.compile(r"\s*+\]")


def calls_in(text: str, case: Case, due: list[Due]) -> tuple[str, list[Due]] | None:
    """Calls in the text of a reply without native ones, and their format.

    Without a known format: the expected ones (``due``), if the text has the name and the arguments of each.
    """
    text = text[:MOST]
    lost = lost_calls(text, case.entry.all_functions)
    if lost is not None:
        return lost[0], [_typed(_due(call, case), due) for call in lost[1]]
    if (made := _outermost(text)) is not None:
        name, calls = made
        if (name in case.wires or name.replace(".", "_") in case.wires) and (written := _decoded(calls, case)):
            return "Python", written
    if "Action Input:" in text and (acted := list(calls_anywhere(text, case.wires))):
        meant = due if due and acted[0].name == due[0].name else [_due(call, case) for call in acted]
        return "ReAct", meant  # one action at a time: the others follow its result
    if due and due[0].name in text and text.count("{") > text.count("}"):
        return "cut off", due
    if due and any(_is_told(each, text) for each in due):  # others may have been meant to follow the results
        return OWN, due
    return None


def _outermost(text: str) -> tuple[str, str] | None:
    """The name of the first call in a text, and everything from there to the last bracket."""
    last = text.rfind(")")
    made = _CALL.search(text, 0, max(last, 0))
    if made is None:
        return None
    end = _END.match(text, last + 1)
    return made[1], text[made.start() : end.end() if end else last + 1]


def _typed(call: Due, due: Sequence[Due]) -> Due:
    """A call as it was read; with expected values where those are written alike, as some notations have no types."""
    for each in due:
        if each.name == call.name and each.said.keys() == call.said.keys():
            alike = all(_SCALARS[""](each.said[key]) == _SCALARS[""](value) for key, value in call.said.items())
            call = replace(call, said=each.said) if alike else call
    return call


def _is_told(due: Due, text: str) -> bool:
    """Whether a text has the name of a call and every value of its arguments."""
    values = [each for value in due.said.values() for each in leaves_of(value)]
    told = text.casefold()
    return (
        (bool(values) or f"{due.name}(" in text)
        and re.search(rf"(?<!\w){re.escape(due.name)}(?!\w)", text) is not None
        and all(
            str(each).casefold() in told or json.dumps(each, ensure_ascii=False).casefold() in told for each in values
        )
    )


def calls_of_text(text: str, case: Case) -> tuple[str, str, list[Due]] | None:
    """The obstacle to reading a text, which is the answer to a prompt, as calls, and the calls."""
    text = text[:MOST]
    is_whole = text.rstrip().endswith("]")
    for key, told, repaired in _repairs(text):
        if key == "text_cut" and is_whole:
            continue
        if repaired != text and (found := _decoded(repaired, case)) and any(each.name in case.wires for each in found):
            return key, told, found
    lost = lost_calls(text, case.entry.all_functions)
    asked_for = lost is not None and lost[0] == "pythonic"
    return None if lost is None or asked_for else ("text_notation", lost[0], [_due(call, case) for call in lost[1]])


def _repairs(text: str) -> Iterator[tuple[str, str, str]]:
    """Kind of cause, its parameter, and the text without it."""
    tokens = TOKEN.findall(text)
    if tokens:
        bare = TOKEN.sub("", text)
        yield "tokens", tokens[0].strip(), bare
        yield "tokens", tokens[0].strip(), bare[bare.find("[") :] if "[" in bare else bare
    for key, told, repair in _REPAIRS:
        yield key, told, repair(text)


def what_is_around(text: str, due: str) -> list[str]:
    """What comes before, behind and within the expected answer, with a sign for numbers; what varies at the end only
    in its first word, and what varies before it whole or in its last word. Empty where a text does not have all of the
    answer in a few pieces, or has pieces of a template.
    """
    gaps = _gaps(text, due) if len(due) < len(text) <= MOST else []
    if not gaps or "\x1b" in text or TOKEN.search(" ".join(gaps)):
        return []
    before, *others = (re.sub(r"\d+", "#", each) for each in gaps)
    behind = _BEGUN.sub(_first, next(filter(None, others), ""))
    bare = before.strip()
    opening, closing = _OPENING.match(bare[:_OF_A_MARK]), _CLOSING.search(bare[-_OF_A_MARK:])
    framed = [f"{opening[0]} … {closing[0]}"] if opening and closing and len(bare) > len(opening[0]) else []
    heads = dict.fromkeys((*framed, before[:40], "".join(re.findall(r"\S{0,30}\s*\Z", before)[:1])))
    return [f"`{head}…{behind}`" for head in heads]


def _gaps(text: str, due: str) -> list[str]:
    """What comes before, between and behind the pieces of an answer; empty without some of it."""
    before, found, behind = text.partition(due)
    if found:
        return [before, behind]
    left = iter(text)
    if not all(each in left for each in due):
        return []
    blocks = SequenceMatcher(None, due, text, autojunk=False).get_matching_blocks()
    if sum(block.size for block in blocks) < len(due) or len(blocks) > due.count("(") + 3:
        return []
    ends = [0, *(block.b + block.size for block in blocks[:-1])]
    gaps = [text[end : block.b] for end, block in zip(ends, blocks, strict=True)]
    behind_calls = all(text[end - 1] == ")" for end, gap in zip(ends[1:-1], gaps[1:-1], strict=True) if gap)
    return gaps if behind_calls else []


_OF_A_MARK = 40
_OPENING = re.compile(r"[^\w\s.,;:!?'\"]+\w*[^\w\s]+(?=\w|\s)")
_CLOSING = re.compile(r"[^\w\s.,;:!?'\"]+\w*[^\w\s]+\Z")
"""Marks around words, as thoughts have them, within this number of signs of either end."""
_BEGUN = re.compile(r"(\s*\S{1,20}\s?).*", re.S)


def _first(found: re.Match[str]) -> str:
    return found[1]


def _fenced(text: str) -> str:
    found = re.search(r"```\w*+\s*+(.*?)```", text, re.S)
    return found.group(1).strip() if found else text


_BEGINNING = re.compile(r"(?:\[\s*+)?(?<![\w.])((?:[^\WA-Za-z_]|\.)*+)[A-Za-z_][\w.]*+\(")
"""A call, perhaps the first of a list, and what no name begins with before it."""


def _around(text: str) -> str:
    found = _BEGINNING.search(text)
    begin = len(text) if found is None else found.end(1) if found[1] else found.start()
    end = max(text.rfind(")"), text.rfind("]"))
    return text[begin : end + 1] if end > begin else text


def _closed(text: str) -> str:
    """The text with its open parts closed."""
    opened: list[str] = []
    quote = ""
    for before, each in zip(" " + text, text, strict=False):
        if quote:
            quote = "" if each == quote and before != "\\" else quote
        elif each in "'\"":
            quote = each
        elif each in "([{":
            opened.append({"(": ")", "[": "]", "{": "}"}[each])
        elif opened and each == opened[-1]:
            opened.pop()
    return text + quote + "".join(reversed(opened))


_REPAIRS: tuple[tuple[str, str, Callable[[str], str]], ...] = (
    ("text_cut", "", _closed),
    *(("encoding", told, undo) for told, _, undo in ENCODINGS if told in ("HTML escapes", "colours of a terminal")),
    ("text_quotes", "", lambda text: re.sub("[“”„«»]", '"', re.sub("[‘’]", "'", text))),
    ("text_fenced", "", _fenced),
    ("text_around", "", _around),
    ("text_cut", "", lambda text: text[: text.rfind("), ") + 1] + "]" if "), " in text else text),
    ("text_lines", "", lambda text: ", ".join(line.strip().rstrip(",;") for line in text.splitlines() if line.strip())),
)


def _decoded(text: str, case: Case) -> list[Due]:
    entry = case.entry
    try:
        calls = decode(text, return_format=entry.return_format, functions=entry.all_functions)
    except (DecodeError, BenchmarkError, ValueError):
        return []
    return [_due(call, case) for call in calls]


def _due(call: Call, case: Case) -> Due:
    return Due(case.on_wire(str(call.name)), {}, frozenset(), {str(k): v for k, v in call.arguments.items()})


MOST_BETWEEN = 60
"""Characters between two parts of a call."""
MOST_READ = 12
"""Answers whose notation is read for that of others."""

Calls = Sequence[tuple[str, dict[str, Any]]]

_SCALARS: Mapping[str, Callable[[Any], str]] = {
    "": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
    " of Python": repr,
    " of JSON": lambda value: json.dumps(value, ensure_ascii=False),
    " as Python prints them": str,
}


class Writing(NamedTuple):
    """How arguments are written: each value, and the part in which its name is, `None` without a name."""

    told: str
    value: Callable[[Any], str]
    name: Callable[[str, Any, int], str | None]


def _type_of(value: Any) -> str:
    return type(value).__name__


_NAMES: Mapping[str, Callable[[str, Any, int], str | None]] = {
    "": lambda key, value, number: key,
    ", the first without its name": lambda key, value, number: key if number else None,
    ", without names of arguments": lambda key, value, number: None,
    ", with types": lambda key, value, number: f"{key}: {_type_of(value)}",
}
_WRITINGS = [
    Writing(names + (values and f", values{values}"), write, name)
    for values, write in _SCALARS.items()
    for names, name in _NAMES.items()
]


class Marks(NamedTuple):
    """Signs before all, behind a name, behind an argument's name, between arguments, between calls, behind all.

    ``between_calls`` is `None` where one call was made. The numbers of a call and of the next one are in them as
    `_THIS` and `_NEXT`, counted from ``first``. ``bare`` follows the name of a call without arguments:
    ``opening``, or its beginning.
    """

    begin: str
    opening: str
    equals: str
    between: str
    between_calls: str | None
    end: str
    bare: str = ""
    first: int = 1


_THIS, _NEXT = "\x00", "\x01"


def _numbered(marks: str, number: int) -> str:
    """Signs with the numbers of a call and of the next one out of them."""
    for each, sign in ((number, _THIS), (number + 1, _NEXT)):
        marks = re.sub(rf"(?<![\d.]){each}(?![\d.])", sign, marks)
    return marks


def _with_numbers(marks: str, number: int) -> str:
    return marks.replace(_THIS, str(number)).replace(_NEXT, str(number + 1))


def of_notations(place: Place) -> Iterator[Program]:
    """A text with the names and values, the elements, or the calls in order, and the same signs between them."""
    calls, said = _calls(place), place.said
    if not isinstance(said, str) or said == place.due or not calls:
        return
    if place.level != "text" and len(calls[0][1]) < (1 if isinstance(place.due, dict) and place.level != "raw" else 2):
        return
    for writing, first in product(_WRITINGS, (1, 0) if place.level == "text" and re.search(r"[01]", said) else (1,)):
        marks = _marks_of(calls, said, writing, first)
        if marks is not None and (writing.name("a", 1, 0) or len(calls[0][1]) > 1 or place.level == "text"):
            yield _program(place, marks, writing)


def of_bare_calls(places: Sequence[Place]) -> Iterator[Program]:
    """The notation of most answers, with what it writes behind the name of a call without arguments."""
    bare = [place for place in places if not all(given for _, given in _calls(place))]
    others = [place for place in places if place not in bare and isinstance(place.said, str)] if bare else []
    seen: Counter[tuple[Marks, Writing]] = Counter()
    for place in others[:MOST_READ]:
        read = ((_marks_of(_calls(place), place.said, writing), writing) for writing in _WRITINGS)
        seen.update((marks, writing) for marks, writing in read if marks is not None)
    for (marks, writing), _ in seen.most_common(len(_WRITINGS)):
        for size in range(len(marks.opening)):
            short = marks._replace(bare=marks.opening[:size])
            hits = sum(written(_calls(place), short, writing) == place.said for place in bare)
            yield from [_program(bare[0], short, writing)] * hits


def _program(place: Place, marks: Marks, writing: Writing) -> Program:
    several = [("g", {"a": 3})] if marks.between_calls is not None else []
    form = writing._replace(value=str)
    shown = written([("f" if place.level == "text" else "", {"a": 1, "b": 2}), *several], marks, form)
    noun = _NOUNS.get(place.level) or noun_of(place)
    told = f"{noun} as texts like `{visible(shown)}`{writing.told if not isinstance(place.due, list) else ''}"
    return Program(told, lambda p: written(_calls(p), marks, writing), 2)


_NOUNS = {"text": "calls", "raw": "arguments"}


def _calls(place: Place) -> Calls:
    """The expected calls of an answer; arguments, an object or a list as one call without a name."""
    if place.level == "text":
        return [(due.name, due.said) for due in place.of.turn.due] if place.of is not None else []
    due = place.due
    if isinstance(due, list):
        due = {str(number): each for number, each in enumerate(due)}
    return [("", due)] if isinstance(due, dict) and due else []


def _marks_of(calls: Calls, said: str, writing: Writing, first: int = 1) -> Marks | None:
    """The signs of a text; `None` where it has other parts, or signs that differ."""
    place = 0
    gaps: defaultdict[str, set[str]] = defaultdict(set)
    after_bare = []
    for number, (name, given) in enumerate(calls):
        parts = [("between_calls" if number else "begin", name)]
        for n, (key, value) in enumerate(given.items()):
            told = writing.name(key, value, n)
            before, written_value = "between" if n else "opening", writing.value(value)
            parts += [(before, written_value)] if told is None else [(before, told), ("equals", written_value)]
        for gap, part in parts:
            found = said.find(part, place)
            if found < 0 or found - place > MOST_BETWEEN:
                return None
            bare = gap == "between_calls" and not calls[number - 1][1]  # nothing is between its two signs
            signs = said[place:found]
            signs = _numbered(signs, first + number - 1) if gap in ("begin", "between_calls") else signs
            after_bare += [signs] if bare else []
            gaps[gap] |= set() if bare else {signs}
            place = found + len(part)
    opening, end = next(iter(gaps["opening"]), ""), _numbered(said[place:], first + len(calls) - 1)
    for each in after_bare:
        gaps["between_calls"].add(each.removeprefix(opening))
    if not opening or len(end) > MOST_BETWEEN or any(len(each) > 1 for each in gaps.values()):
        return None
    known = {name: next(iter(each)) for name, each in gaps.items() if each}
    return Marks(
        known["begin"], opening, known.get("equals", ""), known.get("between", ", "), known.get("between_calls"),
        end if calls[-1][1] else end.removeprefix(opening), opening, first,
    )  # fmt: skip


def written(calls: Calls, marks: Marks, writing: Writing) -> Any:
    """Calls with these signs; `NOTHING` for several where only one was seen."""
    if not calls or (len(calls) > 1 and marks.between_calls is None):
        return NOTHING
    told = []
    for name, given in calls:
        parts = []
        for number, (key, value) in enumerate(given.items()):
            before = writing.name(key, value, number)
            parts.append(("" if before is None else before + marks.equals) + writing.value(value))
        told.append(name + (marks.opening + marks.between.join(parts) if parts else marks.bare))
    text = _with_numbers(marks.begin, marks.first - 1)
    for number, call in enumerate(told, marks.first):
        last = number == marks.first + len(told) - 1
        text += call + _with_numbers(marks.end if last else marks.between_calls or "", number)
    return text
