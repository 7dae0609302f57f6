"""Where a cause occurs: the places where it could be seen, and what the affected ones have in common."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.places import Found, Place
from pytest_bfcl.extensions.causes.relations import ENCODINGS

INSIDE, OUTSIDE, COVERED = 0.8, 0.1, 0.9
"""Limits: the share of places inside with the difference, the share outside, the share of all differences inside."""
LEAST_INSIDE, LEAST_OUTSIDE, BEYOND = 3, 5, 0.15
SHARP = 0.96
"""`INSIDE`, and what is left of it `OUTSIDE`, for lines of the run: some line can always be found."""
MOSTLY = 0.7
"""The same for conversations compared with single turns, where conversations may fail alone."""
CHOSEN, SELDOM, BY_ACCIDENT = 0.95, 0.1, 1e-6
"""A habit that is not always there: the share of differences inside, the least share of places inside with one, and
the chance that this number falls there by accident."""
MOST_ROWS = 1_000
"""Places of either kind, evenly chosen, in which a common feature is looked for."""
LEAST_OF_TWO, COVERED_BY_TWO, MOST_FIRST = 6, 0.95, 8
"""Two features together: differences, share of them inside, and first features that are tried."""
_PARTS = frozenset(
    (
        "first",
        "last",
        "nth",
        "optional",
        "required",
        "kind",
        "enum",
        "type",
        "beyond ASCII",
        "empty",
        "turn",
        "category",
        "group",
    )
)
_WORDS = {
    "category": "in the category {value}",
    "argument": "those named {value}",
    "functions": "where {value} is due",
    "modules": "where functions of {value} are due",
    "added tool": "where a tool is due that is added in that turn",
    "size": "numbers of {side} {value} digits",
    "parameters": "where functions of {side} {value} parameters are due",
    "arguments": "where calls of {side} {value} arguments are due",
    "name length": "where names {longer} {value} characters are due",
    "bare call": "where a call without arguments is due",
    "takes objects": "where functions that take objects are due",
    "takes lists": "where functions that take lists are due",
    "lists": "where lists are due",
    "objects": "where objects are due",
    "nested": "where lists or objects are due",
    "name signs": "where names {value} are due",
    "dotted": "where names with dots, sent with underscores, are due",
    "quotes asked": "where the question has quotes",
    "has enums": "where functions with enums are due",
    "turns": "in entries of {value}",
    "group": "in the group {value}",
    "script": "where the question is in the script {value}",
    "non-Latin letters": "where the question has non-Latin letters",
    "letters beyond ASCII": "where the question has letters beyond ASCII",
    "signs beyond ASCII": "where the question has signs beyond ASCII",
    "digits asked": "where the question has digits",
    "system": "where there is a system message",
    "tools": "with {side} {value} tools offered",
    "prompt": "where the prompt has {side} {value} tokens",
    "characters": "where question and tools are {longer} {value} characters",
    "question": "where the question is {longer} {value} characters",
    "order": "{when} the {value}. line of the run",
    "turn": "in turns {after} {value}",
    "last turn": "in the last turn of conversations",
    "nth turn": "in turn {value} of conversations",
    "turn number": "in turns of {value} numbers",
    "tool": "where {side} tool {value} is due",
    "call": "in calls {after} {value} of a reply",
    "step": "in steps {after} {value} of a turn",
    "last": "the last of a call",
    "first": "the first of a call",
    "optional": "those that are not required",
    "required": "those that are required",
    "kind": "those of the kind {value}",
    "position": "those {among} the first {value} of a call",
    "nth": "number {value} of a call",
    "numeric": "those that are numbers",
    "enum": "those with an enum",
    "empty": "those that are false, 0 or empty",
    "default": "those whose value is the default",
    "elements": "lists of {side} {value} elements",
    "signs": "texts with {value}",
    "signs of call": "in calls that have texts with {value}",
    "turns due": "in conversations of {side} {value} turns",
    "last tool": "where the last tool is due",
    "not the last tool": "where another than the last tool is due",
    "number": "numbers {above} {value}",
    "later half": "where the later half of the tools is due",
    "type": "those of type {value}",
    "word": "those whose names end in `{value}`",
    "capitals": "texts in capitals",
    "begins": "texts that begin with {value}",
    "words": "texts of {side} {value} words",
    "length": "texts {longer} {value} characters",
    "beyond ASCII": "texts with letters beyond ASCII",
    "digits": "values with digits",
    "one function": "where one function is due several times",
    "due": "where {side} {value} calls are due",
    "last call": "in the last call of a reply",
    "given": "in calls of {side} {value} arguments",
    "written": "in calls whose arguments are {longer} {value} characters",
    "inside": "those inside {value}",
    "file": "texts that are names of files",
    "words asked": "where the conversation has {value}",
    "mixed": "texts of letters and digits without blanks",
    "words of name": "those with {value} in their names",
    "served": "in replies of the version `{value}`",
    "nth of function": "in calls {after} {value} of one function",
}
_COUNTED = frozenset(
    (
        "tools",
        "prompt",
        "characters",
        "question",
        "order",
        "turn",
        "tool",
        "call",
        "step",
        "words",
        "length",
        "due",
        "position",
        "size",
        "number",
        "parameters",
        "arguments",
        "name length",
        "given",
        "written",
        "nth of function",
        "elements",
        "turns due",
    )
)


PROXY, UNTOLD = 0.03, 0.12
"""What a threshold that can always be found must be better by; and a line of the run, which helps a user little."""
_LENGTHS = frozenset(("prompt", "characters", "question", "words", "length", "turn", "order", "written", "position"))
"""Features with a threshold, which can always be found: a share (`BEYOND`) of all places must be beyond it."""


_SEVERAL = ("argument", "inside", "category")
MOST_NAMES, SEVERAL = 5, 0.01
"""Names of arguments that may be those of a cause together, and what another feature must be as good as less."""
_OF_WORDS = {
    "functions": range(1, 4),
    "modules": range(1, 4),
    "signs": range(1, 3),
    "signs of call": range(1, 3),
    "words of name": range(2, MOST_NAMES + 1),
    "words asked": range(1, 2),
}
"""Features with several values, and how many of them are named: what redaction and guards go by."""
MOST_ALIKE, FOR_A_WORD = 3, 4
"""Words that tell alike: of more of them none is named. Differences that each named word must explain."""


_FEW = {
    ("tools", 1, False): "with one tool offered",
    ("tools", 1, True): "with several tools offered",
    ("arguments", 0, False): "where calls without arguments are due",
    ("given", 0, False): "in calls without arguments",
    ("due", 1, False): "where one call is due",
    ("due", 1, True): "where several calls are due",
    ("turn", 0, False): "in first turns",
    ("turn", 0, True): "in turns after the first",
    ("call", 0, False): "in the first call of a reply",
    ("call", 0, True): "in calls after the first of a reply",
    ("step", 0, True): "in steps after the first of a turn",
    ("tool", 0, False): "where the first tool is due",
    ("tool", 0, True): "where another than the first tool is due",
    ("nth of function", 0, True): "in calls after the first of one function",
}
"""Feature, value and side of places that have special words."""


class Where(NamedTuple):
    """A feature that confines a cause: equal to ``value``, one of several, above it (``more``), or up to it."""

    feature: str
    value: Any
    more: bool = False

    @property
    def of_words(self) -> bool:
        """Whether it is a word or name, some of which fit by accident."""
        return self.feature in _OF_WORDS

    def holds(self, features: dict[str, Any]) -> bool:
        """Whether a place is inside."""
        told = features.get(self.feature)
        if self.feature in _OF_WORDS:
            return told is not None and not told.isdisjoint(self.value)
        if self.feature not in _COUNTED:
            return told in self.value if isinstance(self.value, tuple) else bool(told == self.value)
        return isinstance(told, int | float) and (told > self.value if self.more else told <= self.value)

    def __str__(self) -> str:
        zero_based = self.feature in ("turn", "tool", "call", "step", "position", "nth of function")
        if told := _FEW.get((self.feature, self.value, self.more)):
            return told
        value = self.value + 1 if zero_based else self.value
        if isinstance(value, tuple):
            value = " or ".join(f"`{each}`" if self.feature in _OF_WORDS else str(each) for each in value)
        return _WORDS[self.feature].format(
            value=f"{value:g}" if isinstance(value, float) else value,
            side="more than" if self.more else "up to", longer="longer than" if self.more else "up to",
            when="after" if self.more else "up to", after="after" if self.more else "up to",
            above="above" if self.more else "up to", among="after" if self.more else "among",
        )  # fmt: skip


class Both(NamedTuple):
    """Two features that confine a cause together."""

    first: Where
    second: Where

    def holds(self, features: dict[str, Any]) -> bool:
        """Whether a place is inside both."""
        return self.first.holds(features) and self.second.holds(features)

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


class Rows(NamedTuple):
    """Features of places with the difference (``hits``) and of others; each stands for as many as the numbers say."""

    hits: Sequence[dict[str, Any]]
    others: Sequence[dict[str, Any]]
    of_hits: int = 1
    of_others: int = 1

    @property
    def total(self) -> int:
        """Places with the difference."""
        return len(self.hits) * self.of_hits

    @property
    def size(self) -> int:
        """All places."""
        return self.total + len(self.others) * self.of_others

    def thinned(self) -> Rows:
        """At most about `MOST_ROWS` of either kind, evenly."""
        of_hits, of_others = (max(1, len(each) // MOST_ROWS) for each in self[:2])
        return Rows(self.hits[::of_hits], self.others[::of_others], of_hits, of_others)

    def inside(self, where: Where) -> Rows:
        """Those in one kind of place."""
        hits, others = ([features for features in each if where.holds(features)] for each in self[:2])
        return self._replace(hits=hits, others=others)


def confined(
    exposed: Sequence[tuple[Found, Place]], shown: set[int], *, chosen: bool = False, two: bool = False
) -> Where | Both | None:
    """The feature that all differences share and hardly another place; ``None`` where they are all over.

    ``chosen``: also a feature of parts of calls that differences keep to, though not every such place has one. ``two``:
    also two features together, where one is not enough.
    """
    every = Rows(
        [place.features for _, place in exposed if id(place) in shown],
        [place.features for _, place in exposed if id(place) not in shown],
    )
    rows = every.thinned()
    found = _best(rows, chosen)
    if found is not None and rows.size and len(rows.hits) + len(rows.others) < every.size:
        found = _best(every, chosen, features=(found.feature,))  # the limit that all of them show
    if found is not None and chosen and rows.total < INSIDE * rows.inside(found).size:
        second = _best(rows.inside(found), False, COVERED_BY_TWO)
        if second is None or second.feature in {found.feature, *_LENGTHS}:
            return found
        both = Both(found, second)
        return both if sum(both.holds(each) for each in rows.hits) >= COVERED * len(rows.hits) else None
    if found is not None or not two or rows.total < LEAST_OF_TWO:
        return found
    tried = sorted(_candidates(rows, COVERED_BY_TWO), key=lambda each: -each[0])[:MOST_FIRST]
    for _, first in tried:
        second = _best(rows.inside(first), False, COVERED_BY_TWO)
        if second is not None and second.feature != first.feature:
            return Both(first, second)
    return None


def _best(rows: Rows, chosen: bool, covered: float = COVERED, features: Iterable[str] = tuple(_WORDS)) -> Where | None:
    best: tuple[float, Where] | None = None
    for gain, where in _candidates(rows, covered, INSIDE, chosen, features):
        first_turns = where.feature == "turn" and not where.more  # as entries of one turn
        gain -= UNTOLD if where.feature == "order" or first_turns else PROXY if where.feature in _LENGTHS else 0.0
        if best is None or gain > best[0] + 1e-9:
            best = (gain, where)
    return best[1] if best is not None else None


def _candidates(
    rows: Rows,
    covered: float,
    least_inside: float = 0.0,
    chosen: bool = False,
    features: Iterable[str] = tuple(_WORDS),
) -> Iterator[tuple[float, Where]]:
    """Features that nearly all differences share, with the share inside beyond that outside."""
    total, size = rows.total, rows.size
    if total < LEAST_INSIDE or size - total < LEAST_OUTSIDE:
        return
    for feature in features:
        if not least_inside and feature in _LENGTHS:  # one of them fits nearly everything
            continue
        enough = max(LEAST_INSIDE, (MOSTLY if feature == "turns" else covered) * total)
        least = LEAST_OUTSIDE if feature not in _LENGTHS else max(LEAST_OUTSIDE, BEYOND * size)
        for where, inside, hits in _splits(feature, rows, enough):
            outside, misses = size - inside, total - hits
            if hits < enough or outside < least:
                continue
            within, beyond = hits / inside, misses / outside
            if feature == "order" and not (within >= SHARP and beyond <= 1 - SHARP):
                continue
            kept = chosen and feature in _PARTS and hits >= max(CHOSEN * total, SELDOM * inside)
            kept = kept and _chance(hits, total, inside / size) < BY_ACCIDENT
            if (kept or within >= least_inside) and beyond <= OUTSIDE:
                several = isinstance(where.value, tuple) and len(where.value) > 1
                yield within - beyond - (SEVERAL if several else 0.0), where


def _chance(hits: int, total: int, share: float) -> float:
    """The chance that at least ``hits`` of ``total`` fall into a ``share`` of places by accident."""
    if share >= 1:
        return 1.0
    ways = (math.lgamma(total + 1) - math.lgamma(n + 1) - math.lgamma(total - n + 1) for n in range(hits, total + 1))
    each = (math.exp(way + n * math.log(share) + (total - n) * math.log1p(-share)) for n, way in enumerate(ways, hits))
    return sum(each)


def _splits(feature: str, rows: Rows, enough: float) -> Iterable[tuple[Where, int, int]]:
    """The ways to split the rows by a feature: where, rows inside, differences inside.

    Values that fewer than ``enough`` differences have are not counted over all rows.
    """
    if feature in _OF_WORDS:
        yield from _with_words(feature, rows)
        return
    told = Counter([features.get(feature) for features in rows.hits])
    if feature not in _COUNTED:
        for value, count in told.items():
            hits = count * rows.of_hits
            if hits >= enough and value is not None and value is not False and value != "":
                others = sum([features.get(feature) == value for features in rows.others]) * rows.of_others
                yield Where(feature, value), hits + others, hits
        few = tuple(value for value, _ in told.most_common(MOST_NAMES)) if feature in _SEVERAL else ()
        hits = sum(told[each] for each in few) * rows.of_hits
        if len(few) > 1 and hits >= enough and min(told[each] for each in few) >= LEAST_INSIDE:
            others = sum([features.get(feature) in few for features in rows.others]) * rows.of_others
            yield Where(feature, few), hits + others, hits
        return
    del told[None]
    whole_hits = sum(told.values()) * rows.of_hits
    if whole_hits < enough:
        return
    beside = Counter([features.get(feature) for features in rows.others])
    del beside[None]
    whole = whole_hits + sum(beside.values()) * rows.of_others
    inside = hits = 0
    values: list[Any] = [*(told.keys() | beside.keys())]
    for value in sorted(values)[:-1]:
        hits += told[value] * rows.of_hits
        inside += told[value] * rows.of_hits + beside[value] * rows.of_others
        yield Where(feature, value), inside, hits
        yield Where(feature, value, True), whole - inside, whole_hits - hits


def _with_words(feature: str, rows: Rows) -> Iterator[tuple[Where, int, int]]:
    """The words that most places with a difference have, and few others; the most frequent first."""
    hits, others = ([told for each in some if (told := each.get(feature))] for some in rows[:2])
    beside = Counter(word for told in others for word in told)
    words: list[str] = []
    inside = found = 0
    while hits and len(words) < _OF_WORDS[feature][-1]:
        counted = Counter(word for told in hits for word in told)
        gain = {each: number * rows.of_hits - beside[each] * rows.of_others for each, number in counted.items()}
        most = max(gain.values())
        best = [each for each in counted if gain[each] == most]
        word = max(best, key=lambda each: (len(each), each))
        share = counted[word] * rows.of_hits / (counted[word] * rows.of_hits + beside[word] * rows.of_others)
        if share < INSIDE or (feature == "words asked" and len(best) > MOST_ALIKE):
            break
        words.append(word)
        found += counted[word] * rows.of_hits
        inside += counted[word] * rows.of_hits + beside[word] * rows.of_others
        hits = [told for told in hits if word not in told]
    if len(words) in _OF_WORDS[feature] and found >= FOR_A_WORD * len(words):
        yield Where(feature, tuple(words)), inside, found


# -- where it could be seen -----------------------------------------------------------------------------------------

_SEPARATED = re.compile(r"[_.\- ]|[a-z][A-Z]")
_DATE = re.compile(r"\d+[-/.]\d+[-/.]\d+")


def visible(why: tuple[str, str]) -> Callable[[Place], bool] | None:
    """Whether a place without this difference could have had it; ``None`` where every place could."""
    key, told = why
    rule = _VISIBLE.get(key)
    if rule is not None:
        return rule
    if key == "name_renamed":
        return lambda place: told.startswith(f"`{place.due}` is")
    if key.endswith("_style") and told in _JOINED:
        return lambda place: _SEPARATED.search(str(place.due)) is not None
    if key.endswith("cut") and (length := re.match(r"\d+", told)) is not None:
        return lambda place: len(str(place.due)) > int(length[0])
    pattern = _SHOWN.get(told, "") if key == "encoding" else ""
    known = re.compile(pattern)
    return (lambda place: known.search(str(place.due)) is not None) if pattern else None


def has_arguments(place: Place) -> bool:
    """Whether a text of arguments has any, so that a difference shows."""
    return place.level != "raw" or not place.features.get("bare")


_JOINED = frozenset((
    "camel case", "kebab case", "snake case", "lower case without separators", "words with spaces", "words with dots",
))  # fmt: skip
_SHOWN = {told: shown for told, shown, _ in ENCODINGS}


_SHORT = 2
"""Letters of a text that a mask may leave as they are."""


def _due_over(number: int) -> Callable[[Place], bool]:
    return lambda place: int(place.features.get("due", 1)) > number


def _absent(place: Place) -> bool:
    return "argument" in place.features and (place.level != "value" or "filled" in place.features)


_VISIBLE: Mapping[str, Callable[[Place], bool]] = {
    "defaults": _absent,
    "key_extra": lambda place: not _absent(place),
    "key_lost": lambda place: not place.features.get("omittable"),
    "digits": lambda place: bool(place.features.get("digits")),
    "date_order": lambda place: _DATE.search(str(place.due)) is not None,
    "date_format": lambda place: re.search(r"\d\D\d", str(place.due)) is not None,
    "elided": lambda place: bool(place.features.get("as before")),
    "unlisted": lambda place: place.features.get("elements") == 1,
    "enum_first": lambda place: place.features.get("enum") is True and not place.features.get("first of enum"),
    "zeros": lambda place: bool(place.features.get("digits")),
    "json_cut": has_arguments,
    "flattened": lambda place: bool(place.features.get("objects")),
    "spread": lambda place: bool(place.features.get("lists")),
    "name_of_other": lambda place: place.features.get("names", 1) > 1 or place.features.get("tools", 1) > 1,
    "masked": lambda place: len(str(place.due)) > _SHORT,
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
}
