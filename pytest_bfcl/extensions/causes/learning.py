"""Rules that foretell what was said: learned on half of the failed entries, tested on the other half.

A program is a composition of `primitives` with parameters that pairs of a run show. It becomes a candidate of the
places that it foretells exactly. Nothing foretells noise, so noise gets no name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from pytest_bfcl.extensions.causes.forms import of_forms
from pytest_bfcl.extensions.causes.lenses import of_lenses
from pytest_bfcl.extensions.causes.places import NOTHING, Fix, Found, Place, restore, set_given
from pytest_bfcl.extensions.causes.programs import (
    MOST_COMPOSED,
    Program,
    Trained,
    equal,
    foretold,
    is_number,
    kind_of,
    of_changes,
    of_codes,
    of_constants,
    of_deep_changes,
    of_lines,
    of_offered,
    of_raw,
    of_split,
    of_tables,
    of_two,
    of_wrapped,
)
from pytest_bfcl.extensions.causes.text_programs import (
    of_dates,
    of_encodings,
    of_letters,
    of_pieces,
    of_spelled,
    of_words,
)
from pytest_bfcl.extensions.causes.turn_programs import LAST_TURN_ONLY, of_turns
from pytest_bfcl.extensions.causes.values import same
from pytest_bfcl.extensions.causes.written import of_bare_calls, of_notations

MOST_TRAINED, MOST_TRIED, MOST_LEARNED = 60, 24, 5
"""Places that programs are made from; programs tested; programs kept."""
MOST_SPARED = 200
"""Right places that a program is tried on."""
MOST_TESTED, NEARLY = 400, 0.8
MOSTLY = 0.99
"""Places, evenly chosen, that programs are compared on; those nearly as good as the best are tried on all places.
Where one foretells `MOSTLY` of what it was made from, none are composed."""
_EVENLY = 0.6180339887
"""Multiples of it, without their whole part, are spread evenly however many are taken: later searches take the same."""
SOME = 0.05
"""Least share of a kind of values in what a rule foretells."""
LEAST_OF_LITTLE = 5
"""Entries that one answer to all, or truth values the wrong way round, must explain."""
LEAST_SAID = 12
"""Characters of what was due in two entries from which on two are enough."""
Made = dict[tuple[int, int], list[Program]]
"""Programs of a place (its id) of one change, and of two."""
_OF_CALLS = ("value", "key", "name")
_LEVELS = (*_OF_CALLS, "text", "raw", "reply")


class Rule(NamedTuple):
    """A program with its level: what places of this level it foretells."""

    level: str
    program: Program
    kinds: frozenset[str]

    def would_show(self, place: Place) -> bool:
        """Whether it would change what is expected at a place, for kinds of values that it was seen with."""
        if kind_of(place) not in self.kinds:
            return False
        told = foretold(self.program, place)
        return told is not NOTHING and not same(told, place.due, exact=place.exact)

    def is_missed(self, place: Place) -> bool:
        """Whether it would change what is expected at a place, and something else was said there."""
        return self.would_show(place) and not (
            place.right is not NOTHING and equal(foretold(self.program, place), place.right)
        )


def _kinds(hits: Trained) -> frozenset[str]:
    """The kinds of values that a rule is about; what few of them are is an accident."""
    counted = Counter(kind_of(place) for _, place in hits)
    return frozenset(kind for kind, number in counted.items() if number >= SOME * len(hits))


Turns = set[tuple[int, Any]]
"""Conversations (ids of `Found`) and turns."""


def learn(found: Sequence[Found], settled: set[int], unread: Turns) -> dict[tuple[str, str], Rule]:
    """Candidates for places that are wrong and not in ``settled`` (ids of places); returns the rules by cause.

    ``unread``: turns whose calls may be misread, so that nothing of them settles the whole text.
    """
    rules: dict[tuple[str, str], Rule] = {}
    right: defaultdict[str, list[Place]] = defaultdict(list)
    for each in found:
        for place in each.places:
            if not place.differs:
                right[place.level].append(place)
    clusters = {name: number for number, name in enumerate(dict.fromkeys(each.case.cluster for each in found))}
    parts = {id(each): [p for p in each.places if id(p) in settled] for each in found}
    for level in _LEVELS:
        left = [
            (clusters[each.case.cluster], each, place)
            for each in found
            if not each.case.passed
            for place in each.places
            if place.level == level and place.said is not NOTHING and id(place) not in settled
            if not same(place.said, place.due, exact=True) and not _is_settled(place, parts[id(each)])
        ]
        made: Made = {}
        wrong = len(left)
        for _ in range(MOST_LEARNED):
            kept = _best([(number, place) for number, _, place in left], right[level], made)
            if kept is None:
                break
            program, hits = kept
            key = (f"{level}_learned", program.told)
            rules[key] = Rule(level, program, _kinds(hits))
            hits = _all_foretold(found, rules[key])
            silent = level == "reply" and sum(bool(place.said) for _, place in hits) < 2
            if silent and not (program.told == LAST_TURN_ONLY and _is_kept(rules[key], found)):
                del rules[key]  # that nothing was called has many causes
                break
            for _, place in hits:
                place.candidates = (key, *place.candidates)
                place.fix = place.fix or _whole_again(place)
            if level in _OF_CALLS and len(hits) >= NEARLY * wrong:
                for number, place in hits:  # what is changed in parts is not told of the whole once more
                    if (id(found[number]), place.features.get("turn")) not in unread:
                        parts[id(found[number])].append(place)
            mine = {id(place) for _, place in hits}
            left = [each for each in left if id(each[2]) not in mine]
    return rules


def _all_foretold(found: Sequence[Found], rule: Rule) -> Trained:
    """All places that a rule foretells: also those that something named explains, or that did no harm to an entry."""
    return [
        (number, place)
        for number, each in enumerate(found)
        for place in each.places
        if place.level == rule.level
        and place.said is not NOTHING
        and (place.differs or not each.case.passed or _is_turn(place))
        if rule.would_show(place) and equal(foretold(rule.program, place), place.said)
    ]


def _is_kept(rule: Rule, found: Sequence[Found]) -> bool:
    """Whether nearly all places are as a rule foretells, those that it leaves as they are too."""
    places = [p for each in found for p in each.places if p.level == rule.level and p.said is not NOTHING]
    told = [(foretold(rule.program, place), place.said) for place in places]
    told = [pair for pair in told if pair[0] is not NOTHING]
    return sum(equal(*pair) for pair in told) >= NEARLY * len(told)


def _is_turn(place: Place) -> bool:
    return place.level in ("reply", "text")


_WHOLES = ("count", "raw", "reply", "text")


def _is_settled(place: Place, known: list[Place]) -> bool:
    """Whether a named part of a call, or of a turn, says already what is wrong with the whole."""
    if place.level == "raw":
        kept = isinstance(place.said, dict) and all(same(place.said[key], place.due.get(key)) for key in place.said)
        parts = ("key", "extra", "value") if isinstance(place.said, dict) else ("key", "extra")
        return kept or any(each.level in parts and each.at == place.at for each in known)
    turn = place.features.get("turn")
    here = {p.level for p in known if p.features.get("turn") == turn}
    return bool(here) if place.level == "text" else place.level == "reply" and not here.isdisjoint(_WHOLES)


def _whole_again(place: Place) -> Fix | None:
    """How a place that nothing else found wrong is made right."""
    if place.of is None:
        return None
    if place.level in ("reply", "text"):
        return restore(place.of.number, place.of.turn.due)
    return set_given(place.at, dict(place.of.due.said), place.of.due.name)


def settle(found: Sequence[Found], named: set[tuple[str, str]]) -> None:
    """Drop rules that were not ``named``; what a named one foretells as a whole has no parts that are wrong."""
    for each in found:
        for place in list(each.places):
            rules = [why for why in place.candidates if why[0].endswith("_learned")]
            if not rules:
                continue
            if not named.issuperset(rules):
                place.candidates = tuple(why for why in place.candidates if why not in rules or why in named)
                place.fix = place.fix if place.candidates else None
            if place.level in ("raw", "reply", "text") and named.intersection(rules):
                place.fix = _whole_again(place)
                each.places[:] = [one for one in each.places if not _is_part(one, place)]


def _is_part(place: Place, whole: Place) -> bool:
    if place is whole:
        return False
    if whole.level == "raw":
        return place.level in ("value", "key", "extra") and place.at == whole.at
    return place.features.get("turn") == whole.features.get("turn")


def _best(places: Trained, right: Sequence[Place], made: Made) -> tuple[Program, Trained] | None:
    """The program that foretells most, where it does so in both halves of the entries.

    Of two that foretell alike the one counts more that would change less of what is ``right``.
    """
    numbers = sorted({number for number, _ in places})
    if len(numbers) < 2:
        return None
    first = set(numbers[::2])
    trained = [each for each in places if each[0] in first]
    votes: Counter[str] = Counter()
    programs: dict[str, Program] = {}
    level = places[0][1].level
    table = of_tables(places) if level not in ("raw", "reply") else ()
    codes = of_codes([place for _, place in places], right) if level == "value" else ()
    trained = sorted(trained, key=lambda each: each[0] * _EVENLY % 1)[:MOST_TRAINED]
    for program in chain(_programs(trained, made), table, codes, _composed(trained, votes, made)):
        known = programs.setdefault(program.told, program)
        votes[known.told] += 1
    tried = sorted(votes.items(), key=lambda each: (-each[1], programs[each[0]].cost))[:MOST_TRIED]
    spared = right[:: max(1, len(right) // MOST_SPARED)]
    some = places[:: max(1, len(places) // MOST_TESTED)]
    compared: list[tuple[float, Trained, Program]] = []
    most = 0.0
    for told, _ in tried:
        worth, hits = _worth(programs[told], some, spared, len(places) / len(some), len(right), most)
        compared.append((worth, hits, programs[told]))
        most = max(most, NEARLY * worth) if _holds(hits, first) else most
    best: tuple[float, Program, Trained] | None = None
    for worth, hits, program in compared:
        if len(some) < len(places):
            if not worth or worth < most:
                continue
            worth, hits = _worth(program, places, spared, 1, len(right))
        if _holds(hits, first) and (best is None or worth > best[0]):
            best = (worth, program, hits)
    return best[1:] if best is not None else None


def _composed(trained: Trained, votes: Mapping[str, int], made: Made) -> Iterator[Program]:
    """Two changes behind each other, where no simple program foretells most."""
    if max(votes.values(), default=0) < MOSTLY * len(trained):
        for place in [place for _, place in trained if place.level not in ("raw", "reply")][:MOST_COMPOSED]:
            if (id(place), 2) not in made:
                made[id(place), 2] = list(of_two(place))
            yield from made[id(place), 2]


def _worth(
    program: Program, places: Trained, spared: Sequence[Place], each_for: float, right: int, least: float = 0.0
) -> tuple[float, Trained]:
    """How much a program explains, and the places that it foretells; each of them stands for ``each_for``.

    Zero where it cannot reach ``least``.
    """
    hits = [each for each in places if equal(foretold(program, each[1]), each[1].said)]
    number = len(hits) * each_for
    worth = number * (1 - 0.02 * program.cost)
    if not hits or 2 * worth < least:
        return 0.0, []
    rule = Rule("", program, _kinds(hits))
    wrongly = sum(map(rule.would_show, spared)) * right / max(1, len(spared))
    return worth * (1 + number / (number + wrongly)), hits


_TRUTHS = {"True", "False"}


def _holds(hits: Trained, first: set[int]) -> bool:
    """Whether enough is foretold in the entries that it was not learned from."""
    entries = {number for number, _ in hits}
    tested = entries - first
    meant, said = {repr(place.due) for _, place in hits}, {repr(place.said) for _, place in hits}
    if not tested or not entries & first:
        return False
    if len(said) == 1 or said == meant == _TRUTHS:  # one answer to all, or two, tell little
        return len(entries) >= LEAST_OF_LITTLE and len(meant) > 1
    if len(entries) >= 3 and meant == _TRUTHS:  # there are no more of them
        return True
    if len(entries) >= 3 and len(meant) >= 3:
        return True
    return len(meant) >= 2 and sum(map(len, meant)) >= LEAST_SAID


def _programs(trained: Trained, made: Made) -> Iterator[Program]:
    """Programs that foretell one place or more, each once for every place that votes for it.

    ``made`` keeps those of single places.
    """
    places = [place for _, place in trained]
    if not places:
        return
    level = places[0].level
    if level == "reply":
        for place in places:
            yield from of_turns(place)
        return
    if level == "text":  # first: a notation of one name is kept as it was told first
        yield from of_bare_calls(places)
    for place in places:
        if (id(place), 1) not in made:
            families = [of_changes, of_raw, of_offered, of_forms, of_pieces, of_dates, of_notations, of_lenses]
            families += [of_encodings] if level == "text" else [of_deep_changes, of_wrapped]
            made[id(place), 1] = [each for family in families for each in family(place)]
        yield from made[id(place), 1]
    yield from of_lines([place for place in places if is_number(place.due) and is_number(place.said)])
    texts = [place for place in places if isinstance(place.due, str) and isinstance(place.said, str)]
    yield from of_letters(texts)
    yield from of_spelled(texts)
    if level == "raw":
        yield from of_split(places)
    elif level != "text":
        yield from of_words(texts)
        yield from of_constants(places)
