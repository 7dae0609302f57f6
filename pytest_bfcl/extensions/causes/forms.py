"""Forms: texts put together of pieces of what is expected, of pieces of its place, and of constant signs.

One reply shows several forms that could have made it. Which of them is the rule, the other replies tell (`learning`):
a piece that is there by accident foretells none of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.offered import offered_at, one_offered
from pytest_bfcl.extensions.causes.places import NOTHING, Place
from pytest_bfcl.extensions.causes.primitives import TEXTS, TROUBLE
from pytest_bfcl.extensions.causes.programs import Program, equal, is_number, made_of
from pytest_bfcl.extensions.causes.structures import WRITERS

LONGEST, MOST_EDGES, MOST_FORMS = 400, 160, 10
"""Characters of a text that is taken apart; pieces found in it; forms kept of one reply."""
SEPARATORS = " ,.;:-_/|()'\"@#\n"
_A_CONSTANT, _A_SIGN, _A_LONG_SIGN = 0.5, 0.4, 0.1
"""Costs of a constant piece: for being one, for each sign, for each sign from the twentieth on."""
FEW = 4
"""Letters less than which are counted as lost, rather than the others as kept."""
_WHOLE = "the whole"


class Source(NamedTuple):
    """A piece of a form. ``read``: expected text and place → piece, `NOTHING` for none. It may raise
    `TROUBLE`. ``cost`` is 1 for a plain one.
    """

    told: str
    read: Callable[[str, Place], Any]
    cost: float = 1.0


Part = str | Source


def text_of(place: Place) -> Any:
    """The expected value as a text: arguments as JSON, numbers as Python prints them; `NOTHING` for others."""
    if place.level == "raw":
        return made_of(WRITERS[""], place.due)
    if isinstance(place.due, str):
        return place.due
    return str(place.due) if is_number(place.due) else NOTHING


def of_forms(place: Place) -> Iterator[Program]:
    """A text or number that is a form; an object or list with values that are forms."""
    said, due = place.said, text_of(place)
    if due is NOTHING or isinstance(said, bool) or said is None:
        return
    if isinstance(said, dict | list):
        yield from _of_structure(place)
        return
    kind = type(said)
    for _, parts in _forms(place, str(said)):
        if _is_itself(parts) or not any(isinstance(each, Source) for each in parts):
            continue
        yield Program(_told(parts), _joined(parts, kind), len(parts))


def _as(kind: type, text: Any) -> Any:
    return text if text is NOTHING or kind is str else kind(text)


def _joined(parts: Sequence[Part], kind: type) -> Callable[[Place], Any]:
    """What a form makes of a place, of the type that was said."""
    return lambda place: _as(kind, _written(parts, place))


def _is_itself(parts: Sequence[Part]) -> bool:
    """Whether a form is the expected text, or one change of it, which is tried anyway."""
    (first, *others) = parts
    return not others and isinstance(first, Source) and (first.told == _WHOLE or first.told in TEXTS)


def _written(parts: Sequence[Part], place: Place) -> Any:
    told, due = [], text_of(place)
    for part in parts if isinstance(due, str) else ():
        text = part if isinstance(part, str) else part.read(due, place)
        if not isinstance(text, str):
            return NOTHING
        told.append(text)
    return "".join(told) if told else NOTHING


def _told(parts: Sequence[Part]) -> str:
    """A form in words: what stands around one piece, or all pieces by their names."""
    sources = [each for each in parts if isinstance(each, Source)]
    if len(sources) == 1:
        (source,) = sources
        at = parts.index(source)
        before, behind = "".join(map(str, parts[:at])), "".join(map(str, parts[at + 1 :]))
        signs = around(before, behind)
        name = "" if source.told == _WHOLE else source.told
        name = f"only {name}" if not signs and name.startswith("what stands") else name
        return ", ".join(filter(None, (name, signs)))
    shown = "".join(each if isinstance(each, str) else f"⟨{each.told}⟩" for each in parts)
    return f"as `{shown}`"


def around(before: str, behind: str) -> str:
    """Signs around a text, in words; empty without any."""
    signs = [f"`{visible(sign)}` {where}" for sign, where in ((before, "before"), (behind, "behind")) if sign]
    return f"with {' and '.join(signs)}" if signs else ""


def visible(signs: str) -> str:
    """Signs as Python prints those that have no picture."""
    return signs if signs.isprintable() else repr(signs)[1:-1]


# -- pieces --------------------------------------------------------------------------------------------------------


Text = Callable[[str], Any]


def _word(number: int) -> Text:
    def read(text: str) -> Any:
        words = text.split() if " " in text else re.findall(r"[^\W_]+", text)
        return words[number] if len(words) > max(1, number) else NOTHING

    return read


def _of_text(told: str, read: Text, cost: float) -> Source:
    return Source(told, lambda text, place: read(text), cost)


def _of_arguments(told: str, write: Callable[[Any], Any]) -> Source:
    return Source(told, lambda text, place: write(place.due), 1.1)


def _at(told: str, sign: str, read: Callable[[str, str], str]) -> Source:
    return Source(told.format(sign), lambda text, place: read(text, sign), 1.1)


_WORDS: Mapping[str, Text] = {
    "the first word": _word(0),
    "the second word": _word(1),
    "the third word": _word(2),
    "the last word": _word(-1),
    "all but the first word": lambda text: re.split(r"[\s_]+", text, maxsplit=1)[1],
    "all but the last word": lambda text: text.rsplit(maxsplit=1)[0] if " " in text else NOTHING,
    "the first number in it": lambda text: re.findall(r"\d+", text)[0],
    "the second number in it": lambda text: re.findall(r"\d+", text)[1],
    "the last number in it": lambda text: re.findall(r"\d+", text)[-1],
    "its length": lambda text: str(len(text)),
    "its length in bytes": lambda text: str(len(text.encode())),
    "its number of words": lambda text: str(len(text.split())),
}
_AT_SIGNS: Mapping[str, Callable[[str, str], str]] = {
    "what stands before `{}`": lambda text, sign: text.partition(sign)[0],
    "what stands behind `{}`": lambda text, sign: text.rpartition(sign)[2],
    "what stands before the last `{}`": lambda text, sign: text.rpartition(sign)[0],
    "what stands behind the first `{}`": lambda text, sign: text.partition(sign)[2],
}
_ITS_WHOLE = Source(_WHOLE, lambda text, place: text, 0.8)
_OF_WRITERS = [_of_arguments(told, write) for told, write in WRITERS.items() if told]
_CHANGED = [_of_text(told, change, 1.2) for told, change in TEXTS.items()]
_OF_WORDS = [_of_text(told, read, 1.0) for told, read in _WORDS.items()]
_OF_SIGNS = {sign: [_at(told, sign, read) for told, read in _AT_SIGNS.items()] for sign in SEPARATORS}


def _sources(place: Place, due: str) -> Iterator[Source]:
    """Pieces that do not depend on what was said."""
    yield _ITS_WHOLE
    if place.level == "raw":
        yield from _OF_WRITERS
    if place.level != "text":  # there words and signs are those of the notation
        yield from _OF_WORDS
        for sign in sorted({*SEPARATORS} & {*due}):
            yield from _OF_SIGNS[sign]
    yield from _CHANGED
    for told, _ in offered_at(place):
        yield Source(told, _offered(told), 1.5)


def _offered(told: str) -> Callable[[str, Place], Any]:
    """The offered text or number of that description."""

    def read(text: str, place: Place) -> Any:
        value = one_offered(place, told)
        return str(value) if is_number(value) else value

    return read


def _cut(begin: int | None, end: int | None) -> Callable[[str, Place], Any]:
    """A part of the expected text; `NOTHING` where it is all of it, or none."""

    def read(text: str, place: Place) -> Any:
        part = text[begin:end]
        return part if part and part != text else NOTHING

    return read


def _edges(place: Place, due: str, said: str) -> Iterator[tuple[int, int, Source]]:
    """Pieces that occur in what was said, with their places."""
    for source in _sources(place, due):
        try:
            text = source.read(due, place)
        except TROUBLE:
            continue
        if text == due and source.told != _WHOLE:  # a change that leaves this one as it is
            continue
        if isinstance(text, str) and (len(text) > 1 or text.isdigit()):
            at = said.find(text)
            while at >= 0:
                yield at, at + len(text), source
                at = said.find(text, at + 1)
    yield from _parts(due, said)
    yield from _counts(due, said)


def _parts(due: str, said: str) -> Iterator[tuple[int, int, Source]]:
    """Beginnings and ends of the expected text, as long as they can be."""
    for at in range(len(said)):
        size = _common(due, said[at:])
        left = len(due) - size
        if size and left and (size > 2 or at == 0 or not said[at - 1].isalnum()):
            yield at, at + size, Source(f"only the first {letters(size)}", _cut(0, size), 1.3)
            few = 1.0 if left < FEW else 1.4
            yield at, at + size, Source(f"without the last {letters(left)}", _cut(0, -left), few)
    for end in range(1, len(said) + 1):
        size = _common(due[::-1], said[:end][::-1])
        left = len(due) - size
        if size and left and (size > 2 or end == len(said) or not said[end].isalnum()):
            yield end - size, end, Source(f"without the first {letters(left)}", _cut(left, None), 1.3)
            yield end - size, end, Source(f"only the last {letters(size)}", _cut(-size, None), 1.4)


def letters(number: int) -> str:
    """A number of letters, in words."""
    return "letter" if number == 1 else f"{number} letters"


def _common(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _counts(due: str, said: str) -> Iterator[tuple[int, int, Source]]:
    """Numbers and runs of one sign that count letters of the expected text, all or all but a few."""
    for found in re.finditer(r"\d+", said):
        less = len(due) - int(found[0][:6])
        if 0 < less < len(due) and len(due) > 4:
            told = f"its length less {less}"
            yield *found.span(), Source(told, _longer(less, str), 1.2)
    for found in re.finditer(r"([^\w\s])\1{1,}|(x)x{2,}|(X)X{2,}", said):
        less, sign = len(due) - len(found[0]), found[0][0]
        if 0 <= less <= 6:
            told = f"`{sign}` for each letter" + (f" but {less}" if less else "")
            yield *found.span(), Source(told, _longer(less, sign.__mul__), 1.1)


def _longer(less: int, write: Callable[[int], str]) -> Callable[[str, Place], Any]:
    """What is written for the length of the expected text, less a number."""
    return lambda text, place: write(len(text) - less) if len(text) > less else NOTHING


# -- putting together ----------------------------------------------------------------------------------------------

_Form = tuple[float, tuple[Part, ...]]


def _forms(place: Place, said: str) -> list[_Form]:
    """The cheapest forms of what was said."""
    due = text_of(place)
    if not said or len(said) > LONGEST or not isinstance(due, str) or not due:
        return []
    found = sorted(_edges(place, due, said), key=lambda edge: edge[2].cost - _A_SIGN * (edge[1] - edge[0]))
    edges: dict[int, list[tuple[int, Source]]] = {}
    for begin, end, source in found[:MOST_EDGES]:
        edges.setdefault(begin, []).append((end, source))
    points = sorted({0, len(said), *edges, *(end for each in edges.values() for end, _ in each)})
    best: dict[int, list[_Form]] = {point: [] for point in points}
    best[0] = [(0.0, ())]
    for number, point in enumerate(points):
        best[point] = nsmallest(MOST_FORMS, best[point], key=lambda form: form[0])
        for cost, parts in best[point]:
            for end, source in edges.get(point, ()):
                best[end].append((cost + source.cost, (*parts, source)))
            if not parts or isinstance(parts[-1], Source):
                for later in points[number + 1 :]:
                    best[later].append((cost + _cost(later - point), (*parts, said[point:later])))
    return best[len(said)]


def _cost(signs: int) -> float:
    return _A_CONSTANT + _A_SIGN * min(signs, 20) + _A_LONG_SIGN * max(0, signs - 20)


# -- structures ----------------------------------------------------------------------------------------------------

_DEEPEST = 6
Leaf = Callable[[Place], Any]


def _of_structure(place: Place) -> Iterator[Program]:
    """A constant object or list around what is expected, whole or in forms."""
    used: dict[Leaf, str] = {}

    def form_of(value: Any, depth: int = 0) -> Any:
        if equal(place.due, value):
            used[_due] = "value"
            return _due
        if isinstance(value, dict) and depth < _DEEPEST:
            return {key: form_of(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list) and depth < _DEEPEST:
            return [form_of(each, depth + 1) for each in value]
        for _, parts in _forms(place, str(value))[:1] if isinstance(value, str) or is_number(value) else ():
            sources = [each for each in parts if isinstance(each, Source)]
            if sources and (place.level != "raw" or sources[0].told in (_WHOLE, "the question")):
                leaf = _joined(parts, type(value))
                used[leaf] = _shown(parts)
                return leaf
        return value

    form = form_of(place.said)
    if used:
        shown = json.dumps(_built(form, lambda leaf: f"<{used[leaf]}>"), ensure_ascii=False, default=str)
        kind = type(place.due)
        yield Program(
            f"values are inside `{shown[:100]}`",
            lambda p: _built(form, lambda leaf: leaf(p)) if type(p.due) is kind else NOTHING, 2,
        )  # fmt: skip


def _due(place: Place) -> Any:
    return place.due


def _shown(parts: Sequence[Part]) -> str:
    return "".join(each if isinstance(each, str) else "text" if each.told == _WHOLE else each.told for each in parts)


def _built(form: Any, read: Callable[[Leaf], Any]) -> Any:
    """A structure with its values. Raises `ValueError` where a place has none."""
    if callable(form):
        value = read(form)
        if value is NOTHING:
            raise ValueError("no such piece")
        return value
    if isinstance(form, dict):
        return {key: _built(each, read) for key, each in form.items()}
    return [_built(each, read) for each in form] if isinstance(form, list) else form
