"""Differences of a run in groups: each counted under the cause that most of them may be of, with all places where it
could be.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_bfcl.extensions.causes.cause import KINDS, LEAST, LEAST_PLACES, LEAST_SURE, least_entries
from pytest_bfcl.extensions.causes.confined import has_arguments, visible
from pytest_bfcl.extensions.causes.learning import Rule
from pytest_bfcl.extensions.causes.places import Found, Place

_OTHER = ("value_other", "name_other")
_WEAK = {"digits": 0.6, "enum": 0.6, "elided": 1.3}
"""Relations that hold by accident more often: others count first; and one that seldom does."""
_LEARNED = 1.5
"""Weight of what a rule foretells against what only says which part is wrong."""
ALIKE = 0.8
MOST_TOLD = 3
"""Most parameters that are named together."""

Why = tuple[str, str]
"""Key of a kind and its parameter."""
Part = tuple[str, str]
"""Level and kind of places."""


class Group(NamedTuple):
    """Places of one cause, and all of its possible places."""

    why: Why
    shown: list[tuple[Found, Place]]
    exposed: list[tuple[Found, Place]]
    alike: int
    """Differences in the same parts of failed entries, of this cause or not."""

    @property
    def share(self) -> float:
        """The share of its possible places."""
        return len(self.shown) / max(1, len(self.exposed))

    @property
    def is_simple(self) -> bool:
        """Whether only numbers, truth values, lists or objects differ, which have few forms to be wrong in."""
        return all(place.level == "value" and place.kind != "text" for _, place in self.shown)

    @property
    def levels(self) -> set[str]:
        """The parts of calls that have the difference."""
        return {place.level for _, place in self.shown}


def groups_of(found: Sequence[Found], rules: Mapping[Why, Rule]) -> list[Group]:
    """Differences counted under the cause that most of them may be of."""
    constant = _constants(found)
    counted: Counter[Why] = Counter()
    for each in found:
        if not each.case.passed:
            for place in each.differences:
                counted.update({_pooled(why, constant) for why in place.candidates})
    chosen: defaultdict[Why, list[tuple[Found, Place]]] = defaultdict(list)
    for each in found:
        for place in each.differences:
            telling = [_pooled(why, constant) for why in place.candidates if why[0] in KINDS]
            named = [why for why in telling if why[0] not in _OTHER and not _stands_alone(why, counted)] or telling
            if named:
                chosen[max(named, key=lambda why: (counted[why] * _weight(why), -telling.index(why)))].append(
                    (each, place)
                )
    merged = _merged(chosen)
    _with_bare_calls(merged)
    by_kind: defaultdict[Part, list[tuple[Found, Place]]] = defaultdict(list)
    for each in found:
        for place in each.places:
            by_kind[place.level, place.kind].append((each, place))
    differing = {part: sum(p.differs and not f.case.passed for f, p in pairs) for part, pairs in by_kind.items()}
    groups = []
    for why, shown in merged.items():
        if len({each.case.cluster for each, _ in shown if not each.case.passed}) >= least_entries(why[0]):
            parts = {(place.level, place.kind) for each, place in shown if not each.case.passed}
            alike = sum(differing[part] for part in parts)
            groups.append(Group(why, shown, _exposed(why, shown, by_kind, rules.get(why)), alike))
    return groups


def _with_bare_calls(chosen: dict[Why, list[tuple[Found, Place]]]) -> None:
    """A fault seen only with texts of no arguments belongs to the cause of most other argument texts."""
    raw = {why: shown for why, shown in chosen.items() if any(place.level == "raw" for _, place in shown)}
    bare = [why for why, shown in raw.items() if all(place.features.get("bare") for _, place in shown)]
    others = [why for why in raw if why not in bare]
    for why in bare if others else ():
        chosen[max(others, key=lambda each: len(raw[each]))] += chosen.pop(why)


def _weight(why: Why) -> float:
    return _LEARNED if why[0].endswith("_learned") else _WEAK.get(why[0], 1.0)


def _stands_alone(why: Why, counted: Counter[Why]) -> bool:
    """Whether a parameter is only significant if it recurs, and does not."""
    return KINDS[why[0]].told == "only one" and counted[why] < LEAST


def _merged(chosen: dict[Why, list[tuple[Found, Place]]]) -> dict[Why, list[tuple[Found, Place]]]:
    """Single parameters become one changing parameter."""
    keys = Counter[str]()
    for (key, _), shown in chosen.items():
        keys[key] += len(shown)
    merged: defaultdict[Why, list[tuple[Found, Place]]] = defaultdict(list)
    for (key, told), shown in chosen.items():
        some = len(shown) >= max(2, 0.1 * keys[key]) and not (key in _AFFIXES and _is_changing(key, chosen))
        apart = some or KINDS[key].told == "only one"
        other = key.replace("renamed", "other")
        merged[(key, told) if apart else (other, "")] += shown
    return merged


_AFFIXES = ("value_prefix", "value_suffix")


def _is_changing(key: str, chosen: Mapping[Why, list[tuple[Found, Place]]]) -> bool:
    """Whether a kind has many parameters, and none in half of its places."""
    numbers = [len(shown) for (other, _), shown in chosen.items() if other == key]
    return len(numbers) > 2 * MOST_TOLD and max(numbers) < sum(numbers) / 2


def _pooled(why: Why, constant: frozenset[str] = frozenset()) -> Why:
    """Without a parameter that makes no separate cause."""
    key, told = why
    if key == "name_other" and told in constant:
        return ("name_same", told)
    kind = KINDS.get(key)
    return why if kind is not None and kind.told != "if one" else (key, "")


def _constants(found: Sequence[Found]) -> frozenset[str]:
    """Names that replace many different ones."""
    meant: defaultdict[str, set[str]] = defaultdict(set)
    total = 0
    for each in found:
        for place in each.differences:
            if place.level == "name" and not each.case.passed:
                total += 1
                for key, told in place.candidates:
                    if key == "name_other":
                        meant[told].add(repr(place.due)[:80])
    return frozenset(told for told, due in meant.items() if len(due) >= max(4, 0.1 * total))


def _exposed(
    why: Why,
    shown: Sequence[tuple[Found, Place]],
    by_kind: Mapping[Part, Sequence[tuple[Found, Place]]],
    rule: Rule | None,
) -> list[tuple[Found, Place]]:
    levels = {place.level for _, place in shown}
    kinds = {place.kind for _, place in shown}
    mine = {id(place) for _, place in shown}
    if rule is not None:
        every = [pair for (level, _), pairs in by_kind.items() if level == rule.level for pair in pairs]
        return [(each, place) for each, place in every if id(place) in mine or rule.is_missed(place)]
    why = (why[0], why[1] or common_parameter(why[0], shown))
    some = [pair for (level, kind), pairs in by_kind.items() if level in levels and kind in kinds for pair in pairs]
    if "raw" in levels:
        some = [(each, place) for each, place in some if id(place) in mine or has_arguments(place)]
    if "reply" in levels and len(levels) > 1:  # a turn with the difference in a call is no turn without it
        here = {(id(each), place.features.get("turn")) for each, place in shown if place.level != "reply"}
        some = [
            (each, place) for each, place in some
            if place.level != "reply" or id(place) in mine or (id(each), place.features.get("turn")) not in here
        ]  # fmt: skip
    could = visible(why)
    if could is None or sum(could(place) for _, place in shown) < ALIKE * len(shown):  # of another kind than is known
        return some
    return [(each, place) for each, place in some if id(place) in mine or could(place)]


def share_of_part(group: Group) -> float:
    """The group's share of all failed entries that differ in the same part."""
    if group.levels & {"reply", "undue", "extra", "name"}:  # parts that have one kind only
        return 0.0
    shown = sum(not each.case.passed for each, _ in group.shown)
    least = LEAST_SURE if group.why[0].endswith("_learned") and not group.is_simple else LEAST_PLACES
    return shown / max(1, group.alike) if shown >= least else 0.0


def common_parameter(key: str, shown: Sequence[tuple[Found, Place]]) -> str:
    """The parameter of nearly all."""
    counted = Counter(told for _, place in shown for k, told in place.candidates if k == key)
    if not counted:
        return ""
    some: list[str] = []
    most = counted.most_common(MOST_TOLD if "`{told}`" in KINDS[key].title else 1)
    unclear = counted[""]
    for told in [each for each, _ in most if each]:
        some.append(told)
        if sum(counted[each] for each in some) >= ALIKE * (len(shown) - unclear) > ALIKE * unclear:
            return "` or `".join(some)
    return ""
