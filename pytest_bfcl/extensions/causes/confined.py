"""What places with a difference have in common that the others lack: one category, one length, one script, one call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.places import Found, Place

INSIDE, OUTSIDE, COVERED = 0.8, 0.1, 0.9
"""Share of places with the difference within, share outside, and share of all differences that lie within."""
LEAST_INSIDE, LEAST_OUTSIDE, BEYOND = 3, 5, 0.15
MOSTLY = 0.7
"""Of conversations against single turns: a share that lets conversations go wrong in such a way by themselves."""
CHOSEN, SELDOM, BY_ACCIDENT = 0.95, 0.1, 1e-6
"""A habit that is not always there: the share of differences inside, the least share of places inside with one, and
the chance that this number falls there by accident."""
_PARTS = frozenset(("first", "last", "nth", "optional", "required", "kind", "enum", "type", "beyond ASCII", "empty"))
_WORDS = {
    "category": "in the category {value}",
    "size": "numbers of {side} {value} digits",
    "parameters": "where functions of {side} {value} parameters are due",
    "name length": "where names {longer} {value} characters are due",
    "takes objects": "where functions that take objects are due",
    "takes lists": "where functions that take lists are due",
    "has enums": "where functions with enums are due",
    "turns": "in entries of {value}",
    "script": "where the question is in the script {value}",
    "non-Latin letters": "where the question has non-Latin letters",
    "letters beyond ASCII": "where the question has letters beyond ASCII",
    "signs beyond ASCII": "where the question has signs beyond ASCII",
    "system": "where there is a system message",
    "tools": "with {side} {value} tools offered",
    "characters": "where question and tools are {longer} {value} characters",
    "question": "where the question is {longer} {value} characters",
    "order": "{when} the {value}. line of the run",
    "turn": "in turns {after} {value}",
    "tool": "where {side} tool {value} is due",
    "call": "in calls {after} {value} of a reply",
    "step": "in steps {after} {value} of a turn",
    "last": "the last of a call",
    "first": "the first of a call",
    "optional": "those that are not required",
    "required": "those that are required",
    "kind": "those of the kind {value}",
    "position": "those after the first {value} of a call",
    "nth": "number {value} of a call",
    "enum": "those with an enum",
    "empty": "those that are false, 0 or empty",
    "later half": "where the later half of the tools is due",
    "type": "those of type {value}",
    "argument": "those named {value}",
    "words": "texts of {side} {value} words",
    "length": "texts {longer} {value} characters",
    "beyond ASCII": "texts with letters beyond ASCII",
    "digits": "values with digits",
    "one function": "where one function is due several times",
    "due": "where {side} {value} calls are due",
}
_COUNTED = frozenset(
    (
        "tools",
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
        "parameters",
        "name length",
    )
)


_LENGTHS = frozenset(("characters", "question", "words", "length", "turn", "order"))
"""A threshold on these can always be found: enough must lie beyond it (`BEYOND` of all places)."""


class Where(NamedTuple):
    """A feature that confines a cause: equal to ``value``, or above it (``more``), or up to it."""

    feature: str
    value: Any
    more: bool = False

    def holds(self, features: dict[str, Any]) -> bool:
        """Whether a place is inside."""
        told = features.get(self.feature)
        if self.feature not in _COUNTED:
            return bool(told == self.value)
        return isinstance(told, int) and (told > self.value if self.more else told <= self.value)

    def __str__(self) -> str:
        zero_based = self.feature in ("turn", "tool", "call", "step", "position")
        value = self.value + 1 if zero_based else self.value
        return _WORDS[self.feature].format(
            value=value, side="more than" if self.more else "up to", longer="longer than" if self.more else "up to",
            when="after" if self.more else "up to", after="after" if self.more else "up to",
        )  # fmt: skip


def confined(exposed: Sequence[tuple[Found, Place]], shown: set[int], *, chosen: bool = False) -> Where | None:
    """The feature that all differences share and hardly another place; ``None`` where they are all over.

    ``chosen``: also a feature of parts of calls that differences keep to, though not every such place has one.
    """
    rows = [(place.features, id(place) in shown) for _, place in exposed]
    total = sum(hit for _, hit in rows)
    if total < LEAST_INSIDE or len(rows) - total < LEAST_OUTSIDE:
        return None
    best: tuple[float, Where] | None = None
    for feature in _WORDS:
        for where, inside, hits in _splits(feature, rows):
            outside, misses = len(rows) - inside, total - hits
            least = LEAST_OUTSIDE if feature not in _LENGTHS else max(LEAST_OUTSIDE, BEYOND * len(rows))
            if hits < LEAST_INSIDE or outside < least or hits < (MOSTLY if feature == "turns" else COVERED) * total:
                continue
            within, beyond = hits / inside, misses / outside
            kept = chosen and feature in _PARTS and hits >= max(CHOSEN * total, SELDOM * inside)
            kept = kept and (inside / len(rows)) ** hits < BY_ACCIDENT
            if (kept or within >= INSIDE) and beyond <= OUTSIDE and (best is None or within - beyond > best[0] + 1e-9):
                best = (within - beyond, where)
    return best[1] if best is not None else None


def _splits(feature: str, rows: Sequence[tuple[dict[str, Any], bool]]) -> Iterable[tuple[Where, int, int]]:
    """Every way to split the rows by a feature: where, rows inside, differences inside."""
    counted: defaultdict[Any, list[int]] = defaultdict(lambda: [0, 0])
    for features, hit in rows:
        value = features.get(feature)
        if value is not None:
            counted[value][0] += 1
            counted[value][1] += hit
    if len(counted) < 2 and not any(feature not in features for features, _ in rows):
        return
    if feature not in _COUNTED:
        for value, (inside, hits) in counted.items():
            if value is False or value == "":
                continue
            yield Where(feature, value), inside, hits
        return
    inside = hits = 0
    whole, all_hits = (sum(each[n] for each in counted.values()) for n in (0, 1))
    for value in sorted(counted)[:-1]:
        inside, hits = inside + counted[value][0], hits + counted[value][1]
        yield Where(feature, value), inside, hits
        yield Where(feature, value, True), whole - inside, all_hits - hits
