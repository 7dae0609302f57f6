"""Causes of a run's failures: recurring differences, each undone and judged again.

A cause is named if a difference recurs as its kind requires (`catalog`) and the entries are right after it is undone.
Entries that no undoing makes right stay unexplained.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pytest_bfcl.extensions.causes.cases import COMPARED, Case
from pytest_bfcl.extensions.causes.catalog import KINDS, Kind
from pytest_bfcl.extensions.causes.confined import Both, Where, confined, has_arguments, visible
from pytest_bfcl.extensions.causes.differences import Elsewhere, places_of
from pytest_bfcl.extensions.causes.learning import Rule, learn, settle
from pytest_bfcl.extensions.causes.places import Found, Place
from pytest_bfcl.extensions.causes.prompts import LATER_TOOLS, lost_parts, tools_lost, window

_WORDS = ("words", "asked", "refused", "empty", "undue")
"""Kinds of whole replies that another cause may produce."""
_OTHER = ("value_other", "name_other")
_OF_OTHERS = ("name_of_other", "arguments_of_other")
_OF_ARGUMENTS = {"value", "key"}
"""Levels of which a run has so many places that a few are slips."""
_OF_ANY_MISTAKE = ("name_other", "undue_call", "other_function", "call_missing")
"""Loose kinds that are named if most places have them."""
_WEAK = dict.fromkeys(("digits", "enum"), 0.6)
"""Relations that hold by accident more often: others count first."""
_OF_WHOLES = ("raw_learned", "reply_learned", "text_learned")
OF_WHOLES = 0.15
"""Rules of whole calls and replies, and the share of their places that they must reach: few have all of their parts by
accident.
"""
_LEARNED = 1.5
"""Weight of what a rule foretells against what only says which part is wrong."""

Why = tuple[str, str]
"""Key of a kind and its parameter."""
Part = tuple[str, str]
"""Level and kind of places."""

LEAST_SURE, LEAST = 2, 3
"""Entries that must agree before a cause is named."""
MOSTLY = 0.5
RULE = 0.7
COMMON = 0.05
"""Shares of the places, or of all differences of the same part and of some places, that a habit must reach."""
ALIKE = 0.8
ALWAYS = 0.95
"""Share of its places in which a rule has no exceptions."""
TOGETHER = 0.05
"""Least share of the failed entries that need a second cause before it is named for these alone."""
SELDOM, OFTEN = 0.03, 15
"""Rare differences in fewer entries than these are slips of any form."""
MOST_TOLD = 3
"""Most parameters that are named together."""
LEAST_TEXTS = 5
"""Least number of differences for a share of one part of calls."""
ONE_ANSWER = 8
"""This number of replies with equal words is one answer to everything."""


@dataclass
class Cause:
    """A cause of a run's failures. ``entries``: failed cases that are right after it and other named causes are undone;
    ``together``: those counted under another cause that also need this one undone. ``shown`` and ``exposed`` count its
    places and its possible places. ``where``: a common feature of its places, if it is not everywhere. ``evidence``:
    further proof besides the judgement.
    """

    key: str
    told: str = ""
    entries: list[Case] = field(default_factory=list)
    together: list[Case] = field(default_factory=list)
    shown: int = 0
    exposed: int = 0
    where: Where | Both | None = None
    evidence: str = ""

    @property
    def kind(self) -> Kind:
        """Its row of the catalog."""
        return KINDS[self.key]

    @property
    def is_regular(self) -> bool:
        """Whether it is a rule without exceptions, which no model keeps to."""
        return self.key.endswith("_learned") and self.shown >= max(ALWAYS * self.exposed, LEAST_TEXTS)

    @property
    def whose(self) -> str:
        """Whose it is."""
        return "parser" if self.kind.whose == "model" and self.is_regular else self.kind.whose

    @property
    def next(self) -> str:
        """What to change, a key of `NEXT`."""
        return "parser" if self.kind.next == "again" and self.is_regular else self.kind.next

    @property
    def title(self) -> str:
        """What happened, in words."""
        title = self.kind.title
        if not self.told and self.key != "name_same":
            title = re.sub(r" \({told}\)| after {told} characters", "", title).replace("`{told}`", "a changing text")
        text = title.format(told=self.told or "changing ones")
        return f"{text}, only {self.where}" if self.where is not None else text

    @property
    def name(self) -> str:
        """The key that selects it: of the kind, with a number if two of a kind are named (set by `causes_of`)."""
        return self.key


class Group(NamedTuple):
    """Places of one cause, and all of its possible places."""

    why: Why
    shown: list[tuple[Found, Place]]
    exposed: list[tuple[Found, Place]]
    alike: int
    """Differences in the same parts of failed entries, of this cause or not."""


def causes_of(cases: Iterable[Case]) -> tuple[list[Cause], list[Case]]:
    """The causes, largest loss first, and the failed cases that none of them explains."""
    known = list(cases)
    compared = [case for case in known if case.entry.row.checker in COMPARED]
    elsewhere = Elsewhere(compared)
    found = [places_of(case, elsewhere) for case in compared]
    lost, arrived = lost_parts(known)
    if most := window(known):
        lost["window"] = str(most)
    named = _named(found, {}, arrived)
    settled = {id(place) for cause, group in named if not _is_vague(cause) for _, place in group.shown}
    rules = learn(found, settled)
    if rules:
        settle(found, {group.why for _, group in _named(found, rules, arrived)})
        named = _named(found, rules, arrived)
    causes = _of_prompts(found, lost, named)
    explained = {id(case) for cause in causes for case in cause.entries}
    causes += _proved([each for each in found if id(each.case) not in explained], named)
    explained |= {id(case) for cause in causes for case in cause.entries}
    causes += _of_data([case for case in known if id(case) not in explained])
    explained |= {id(case) for cause in causes for case in cause.entries}
    of_turns = any(each.key == "reply_learned" and each.told.startswith(("turns", "all calls")) for each in causes)
    causes = [
        each for each in causes if each.entries or (each.together and not (of_turns and each.key in _ALSO_OF_TURNS))
    ]
    left = [case for case in known if not case.passed and id(case) not in explained]
    return sorted(causes, key=lambda each: (-len(each.entries), -len(each.together))), left


_ALSO_OF_TURNS = ("turn_late", "restarted", "earlier_again", "empty", "words")
"""What turns that have changed their places look like, one by one."""


def _is_vague(cause: Cause) -> bool:
    """Whether a rule that foretells what is said may say more; a constant before or behind a text says all."""
    common = cause.where is not None or cause.shown >= MOSTLY * cause.exposed
    if cause.kind.told == "apart" and not cause.told:
        return True
    return cause.kind.vague and not (cause.kind.told == "apart" and common)


# -- what recurs ---------------------------------------------------------------------------------------------------


def _named(found: Sequence[Found], rules: Mapping[Why, Rule], arrived: frozenset[str]) -> list[tuple[Cause, Group]]:
    """Differences that recur as their kinds demand."""
    named = []
    groups = _groups(found, rules)
    for group in _silent_together(groups):
        cause = _regular(group)
        if cause is not None:
            named.append((_renamed(cause, group, arrived), group))
    for key, others in _ANSWERS_TO_OTHERS.items():
        other = next((group for cause, group in named if cause.key == key), None)
        if other is not None:
            words = [group for group in groups if group.why[0] in others]
            other.shown.extend(each for group in words for each in group.shown)
            named = [(cause, group) for cause, group in named if group not in words]
    return named


def _silent_together(groups: list[Group]) -> list[Group]:
    """The groups; replies without a call as one where lost tools explain all of them."""
    silent = [group for group in groups if group.why[0] in _SILENT]
    if len(silent) < 2:
        return groups
    shown = [each for group in silent for each in group.shown]
    most = max(silent, key=lambda group: len(group.shown))
    together = most._replace(shown=shown)
    cause = _regular(together)
    if cause is None or _renamed(cause, together, frozenset(["earlier turns"])).key in _SILENT:
        return groups
    return [*(group for group in groups if group not in silent), together]


_SILENT = ("words", "asked", "refused", "empty")
_ANSWERS_TO_OTHERS = {
    "mixed_up": (*_WORDS, "other_function", "reply_learned", *_OF_OTHERS),
    "turn_late": (*_WORDS, "earlier_again"),
}
"""Replies that belong elsewhere may be words, too, or look like a rule of turns."""


def _groups(found: Sequence[Found], rules: Mapping[Why, Rule]) -> list[Group]:
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
        if len({each.case.cluster for each, _ in shown if not each.case.passed}) >= _least(KINDS[why[0]], why[0]):
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
        apart = len(shown) >= max(2, 0.1 * keys[key]) or KINDS[key].told == "only one"
        other = "key_other" if key == "key_renamed" else key
        merged[(key, told) if apart else (other, "")] += shown
    return merged


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
        return [(each, place) for each, place in every if id(place) in mine or rule.would_show(place)]
    why = (why[0], why[1] or _common(why[0], shown))
    some = [pair for (level, kind), pairs in by_kind.items() if level in levels and kind in kinds for pair in pairs]
    if "raw" in levels:
        some = [(each, place) for each, place in some if id(place) in mine or has_arguments(place)]
    could = visible(why)
    return some if could is None else [(each, place) for each, place in some if id(place) in mine or could(place)]


def _regular(group: Group) -> Cause | None:
    """The cause, if a group recurs as its kind requires."""
    key, told = group.why
    kind = KINDS[key]
    failed = [(each, place) for each, place in group.shown if not each.case.passed]
    entries = {id(each.case) for each, _ in failed}
    share, habit = len(group.shown) / max(1, len(group.exposed)), kind.strength == "habit"
    mine = {id(place) for _, place in group.shown}
    two = kind.strength != "loose" and not kind.vague and share < MOSTLY and key != "raw_learned"
    where = confined(group.exposed, mine, chosen=key == "key_lost" or habit, two=two)
    if kind.strength == "sure" and where is None and share < SELDOM and len(entries) < OFTEN:  # slips
        return None
    if (
        kind.told != "only one"
        and key != "key_renamed"
        and where is None
        and share < COMMON
        and _parts_of(group) <= _OF_ARGUMENTS
    ):
        return None
    if told.startswith("one for another") and share < RULE:
        return None
    if key in _OF_WHOLES and where is None and share < OF_WHOLES:
        return None
    if key.endswith("_learned") and where is None and share < COMMON and _share_of_part(group) < RULE:
        return None
    if key == "key_extra" and where is None and share < COMMON:
        return None
    common = not kind.vague or bool(told or _common(key, failed))
    recurs = share >= MOSTLY or where is not None or (common and _share_of_part(group) >= RULE)
    if habit and not recurs and not (key in ("words", "asked") and share >= COMMON and _one_text(failed)):
        return None
    if key in _OF_ANY_MISTAKE and share >= MOSTLY:
        return Cause(key, shown=len(group.shown), exposed=len(group.exposed))
    if kind.strength == "loose" and where is None:
        return None
    where = None if key in ("key_renamed", "defaults") else where
    return Cause(key, told or _common(key, failed), shown=len(group.shown), exposed=len(group.exposed), where=where)


def _parts_of(group: Group) -> set[str]:
    return {place.level for _, place in group.shown}


def _least(kind: Kind, key: str) -> int:
    """Entries that must show a cause; rules were tested already in entries that they were not learned from."""
    return LEAST_SURE if kind.strength == "sure" or key.endswith("_learned") else LEAST


def _share_of_part(group: Group) -> float:
    """The group's share of all failed entries that differ in the same part."""
    levels = {place.level for _, place in group.shown}
    if levels & {"reply", "undue", "extra", "name"}:  # parts that have one kind only
        return 0.0
    shown = sum(not each.case.passed for each, _ in group.shown)
    least = LEAST_SURE if group.why[0].endswith("_learned") else LEAST_TEXTS
    return shown / max(1, group.alike) if shown >= least else 0.0


def _common(key: str, shown: Sequence[tuple[Found, Place]]) -> str:
    """The parameter of nearly all."""
    counted = Counter(told for _, place in shown for k, told in place.candidates if k == key)
    if not counted:
        return ""
    some: list[str] = []
    most = counted.most_common(MOST_TOLD if "`{told}`" in KINDS[key].title else 1)
    for told in [each for each, _ in most] if all(each for each, _ in most) else [most[0][0]]:
        some.append(told)
        if sum(counted[each] for each in some) >= ALIKE * len(shown):
            return "` or `".join(some)
    return ""


def _one_text(shown: Sequence[tuple[Found, Place]]) -> bool:
    """Whether the replies to many entries have equal words."""
    texts = {(text, id(each.case)) for each, place in shown if (text := _text(each, place))}
    most = max(Counter(text for text, _ in texts).values(), default=0)
    return most >= max(ONE_ANSWER, RULE * len({id(each.case) for each, _ in shown}))


def _text(found: Found, place: Place) -> str:
    turns, turn = found.case.transcript.turns, int(place.features.get("turn", 0))
    return " ".join(step.reply.text or "" for step in turns[turn].steps) if turn < len(turns) else ""


def _renamed(cause: Cause, group: Group, arrived: frozenset[str]) -> Cause:
    """A kind that its place describes better; ``arrived`` are parts of prompts that were not lost."""
    where = cause.where
    if where is None or isinstance(where, Both):
        return cause
    if cause.key in _SILENT and where.feature == "turn" and where.more and "earlier turns" not in arrived:
        return Cause("history_lost", "", shown=cause.shown, exposed=cause.exposed)
    if cause.key in _SILENT and where.feature == "added tool":
        return Cause("added_tools_lost", "", shown=cause.shown, exposed=cause.exposed)
    of_tools = where.feature == "later half" or (where.feature == "tool" and where.more)
    if cause.key in ("asked", "words", "refused", "empty", "other_function") and of_tools:
        return Cause("first_tool_only", "", shown=cause.shown, exposed=cause.exposed)
    if cause.key in _SILENT and (lost := _tools_lost(group)):
        return Cause("tools_lost", "", shown=cause.shown, exposed=cause.exposed, where=where, evidence=lost)
    if cause.key in ("asked", "words") and where.feature in _OF_FUNCTIONS:
        return Cause("tools_dropped", "", shown=cause.shown, exposed=cause.exposed, where=where)
    if where.feature == "system":
        return Cause("system_lost", "", shown=cause.shown, exposed=cause.exposed)
    if where.feature == "enum" and cause.key != "key_lost":
        return Cause("enum", "", shown=cause.shown, exposed=cause.exposed)
    return cause


def _tools_lost(group: Group) -> str:
    """The proof by prompt tokens that no tool reached the model where it did not call."""
    mine = {id(place) for _, place in group.shown}
    first = {
        id(each.case): (each.case, id(place) in mine) for each, place in group.exposed if not place.features["turn"]
    }
    lost = tools_lost(
        [case for case, here in first.values() if here], [case for case, here in first.values() if not here]
    )
    return str(lost) if lost is not None else ""


_OF_FUNCTIONS = ("parameters", "name length", "takes objects", "takes lists", "has enums")


# -- proofs --------------------------------------------------------------------------------------------------------


def _proved(found: Sequence[Found], named: Sequence[tuple[Cause, Group]]) -> list[Cause]:
    """Each cause with the failed cases that are right after it and other named ones are undone."""
    of_place = {id(place): number for number, (_, group) in enumerate(named) for _, place in group.shown}
    size = [len({id(each.case) for each, _ in group.shown if not each.case.passed}) for _, group in named]
    for each in found:
        if each.case.passed:
            continue
        mine = [place for place in each.differences if id(place) in of_place]
        if not mine:
            continue
        numbers = Counter(of_place[id(place)] for place in mine)
        follow = _follow(each)
        if _passes(each, [*mine, *follow]):
            first = max(numbers, key=lambda n: (size[n], numbers[n]))
            named[first][0].entries.append(each.case)
            for other in numbers.keys() - {first}:
                if not _passes(each, [*(place for place in mine if of_place[id(place)] != other), *follow]):
                    named[other][0].together.append(each.case)
    failed = sum(not each.case.passed for each in found)
    return [
        cause
        for cause, _ in named
        if len(cause.entries) >= _least(cause.kind, cause.key) or len(cause.together) >= max(LEAST, TOGETHER * failed)
    ]


def _follow(found: Found) -> list[Place]:
    """Turns that got no request because an earlier one had failed."""
    return [place for place in found.differences if any(key == "not_asked" for key, _ in place.candidates)]


def _passes(found: Found, undone: Sequence[Place]) -> bool:
    draft = found.case.draft()
    for place in sorted(undone, key=lambda each: each.rank):
        if place.fix is not None:
            try:
                place.fix(draft)
            except (KeyError, IndexError, TypeError):  # two differences at one place
                return False
    return found.case.passes(draft)


def _of_prompts(found: Sequence[Found], lost: dict[str, str], named: list[tuple[Cause, Group]]) -> list[Cause]:
    """Causes that prompt tokens prove: failing entries that needed the lost part of the prompt."""
    causes = []
    taken: set[int] = set()
    sure = {
        id(p)
        for cause, group in named
        if cause.kind.strength == "sure" and cause.key not in _OF_LOST
        for _, p in group.shown
    }
    for key, parts in _OF_PROMPTS.items():
        if not all(part in lost for part in parts):
            continue
        told = lost["window"] if key == "window" else ""
        cause = Cause(key, told, evidence=f"{told} prompt tokens are the most" if told else lost[parts[0]])
        needing = [each for each in found if _needed(key, each, each.places, lost)]
        if key != "descriptions_lost" and sum(not each.case.passed for each in needing) < MOSTLY * len(needing):
            continue
        for each in found:
            if each.case.passed or id(each.case) in taken or any(id(place) in sure for place in each.differences):
                continue
            if _needed(key, each, each.differences, lost) and _passes(each, each.differences):
                cause.entries.append(each.case)
                taken.add(id(each.case))
        causes.append(cause)
    return causes


_OF_LOST = {*_WORDS, "thoughts", "repeated_steps", "history_lost", "first_tool_only", "tools_lost", "tools_dropped"}
_OF_PROMPTS = {
    "window": ("window",),
    "later_tools_lost": (LATER_TOOLS,),
    "system_lost": ("system prompt",),
    "tools_lost": ("first tool", "descriptions of the first tool", "descriptions of other tools"),
    "first_tool_only": ("other tools", "descriptions of other tools"),
    "descriptions_lost": ("descriptions of the first tool", "descriptions of other tools"),
    "history_lost": ("earlier turns",),
    "results_lost": ("results",),
}


def _needed(key: str, found: Found, places: Sequence[Place], lost: Mapping[str, str]) -> bool:
    """Whether an entry needed the lost part; ``places`` are the relevant ones (of a failed entry its differences)."""
    turns = [place.features.get("turn", 0) for place in places]
    if key == "first_tool_only":
        return any(place.features.get("tool", 0) > 0 for place in places)
    if key == "system_lost":
        return bool(found.features["system"]) or found.case.transcript.mode == "prompt"
    if key == "window":
        most = {step.reply.input_tokens for turn in found.case.transcript.turns for step in turn.steps}
        return any(str(tokens) == lost["window"] for tokens in most)
    if key in ("history_lost", "later_tools_lost"):
        return bool(turns) and (min(turns) > 0 if found.differences else max(turns) > 0)
    if key == "tools_lost":
        return any(place.level == "reply" for place in places)
    if key == "descriptions_lost":
        return any(place.level != "reply" for place in places)
    return found.case.entry.row.checker == "state"


def _of_data(cases: Sequence[Case]) -> list[Cause]:
    """Entries whose expected answer or rule is known to be wrong: the corrected one accepts the reply."""
    answers, rules = Cause("answer_wrong"), defaultdict[str, list[Case]](list)
    for case in cases:
        if case.passed:
            continue
        if case.line.get("verified_outcome") == "passed":
            answers.entries.append(case)
        elif case.line.get("corrected_outcome") == "passed":
            names = case.line.get("corrected_rules")
            rules[", ".join(map(str, names)) if isinstance(names, list) else ""].append(case)
    found = [answers, *(Cause("rule_wrong", told, entries) for told, entries in rules.items())]
    return [each for each in found if len(each.entries) >= LEAST]
