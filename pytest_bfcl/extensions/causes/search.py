"""Causes of a run's failures: recurring differences, each undone and judged again.

A cause is named if a difference recurs as its kind requires (`cause.KINDS`) and the entries are right after it is
undone. Entries that no undoing makes right stay unexplained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pytest_bfcl.extensions.causes.cases import COMPARED, Case
from pytest_bfcl.extensions.causes.cause import KINDS, LEAST, ONE_ANSWER, Cause
from pytest_bfcl.extensions.causes.confined import COVERED, INSIDE, OUTSIDE, Both, Where, confined
from pytest_bfcl.extensions.causes.differences import Elsewhere, places_of
from pytest_bfcl.extensions.causes.groups import Group, Why, common_parameter, groups_of, share_of_part
from pytest_bfcl.extensions.causes.learning import Rule, Turns, learn, settle
from pytest_bfcl.extensions.causes.places import NOTHING, Found, Place
from pytest_bfcl.extensions.causes.prompts import read_prompts, tools_lost
from pytest_bfcl.extensions.causes.proofs import MOSTLY, WORDS, of_data, of_prompts, proved
from pytest_bfcl.extensions.causes.relations import changing

_OF_OTHERS = ("name_of_other", "arguments_of_other")
_OF_ARGUMENTS = {"value", "key"}
"""Levels of which a run has so many places that a few are slips."""
_OF_ANY_MISTAKE = ("name_other", "undue_call", "other_function", "call_missing")
"""Loose kinds that are named if most places have them."""
_SAY_WHERE = ("key_renamed", "name_renamed", "defaults", "turns_missing", "turns_over", "forced")
"""Kinds whose names say where they are."""
_OF_WHOLES = ("raw_learned", "reply_learned", "text_learned")
OF_WHOLES = 0.15
"""Rules of whole calls and replies, and the share of their places that they must reach: few have all of their parts by
accident.
"""
RULE = 0.7
COMMON = 0.05
"""Shares of the places, or of all differences of the same part and of some places, that a habit must reach."""
SELDOM, OFTEN = 0.03, 15
"""Rare differences in fewer entries than these are slips of any form."""
_ENDINGS = ("length", "filtered", "overflow")
"""What replies are stopped by, however seldom."""
_SLIPS = ("doubled", "refused", "repeated_steps", "empty", "swapped")
_OF_TYPES = ("as a list of one", "as texts", "as a number", "as a whole number", "as decimals")
"""Rules of values that are slips where they are rare."""
OFTEN_SLIPS = 0.08
"""What models do now and then, and the least share of its places from which on it is no accident."""


def causes_of(cases: Iterable[Case]) -> tuple[list[Cause], list[Case]]:
    """The causes, largest loss first, and the failed cases that none of them explains."""
    known = list(cases)
    compared = [case for case in known if case.entry.row.checker in COMPARED]
    elsewhere = Elsewhere(compared)
    found = [each for case in compared for each in [places_of(case, elsewhere)] * case.times]
    prompts = read_prompts(known)
    arrived = prompts.arrived
    named = _named(found, {}, arrived)
    unread = _unread(named)
    settled = {
        id(place)
        for cause, group in named
        if not _is_vague(cause)
        for each, place in group.shown
        if (id(each), place.features.get("turn")) not in unread
    }
    rules = learn(found, settled, unread)
    if rules:
        settle(found, {group.why for _, group in _named(found, rules, arrived)})
        named = _named(found, rules, arrived)
    for cause, group in named:
        if not cause.told and "`{told}`" in cause.kind.title and cause.kind.told == "apart":
            cause.told = changing(
                [said for _, place in group.shown for key, said in place.candidates if key == cause.key]
            )
    causes = of_prompts(found, prompts, named)
    by_prompts = _explained(causes)
    causes += proved([each for each in found if id(each.case) not in by_prompts], named)
    explained = _explained(causes)
    causes += of_data([case for case in known if id(case) not in explained])
    _of_turns(causes)
    causes = [each for each in causes if each.entries or each.together]
    explained = _explained(causes)
    left = [case for case in known if not case.passed and id(case) not in explained]
    return sorted(_joined(causes), key=lambda each: (-len(each.entries), -len(each.together))), left


def _is_other(place: Place) -> bool:
    """Whether a whole is wrong in another way: it may have the rule's difference as well."""
    return place.said is not NOTHING and place.said != place.due


def _joined(causes: Iterable[Cause]) -> list[Cause]:
    """Causes of which no two say the same."""
    found: dict[tuple[str, str], Cause] = {}
    for each in causes:
        known = found.setdefault((each.key, each.title), each)
        if known is not each:
            mine = {id(case) for case in (*known.entries, *each.entries)}
            known.entries += each.entries
            known.together = [case for case in (*known.together, *each.together) if id(case) not in mine]
            known.shown += each.shown
    return [*found.values()]


def _explained(causes: Iterable[Cause]) -> set[int]:
    """The ids of the cases that causes have."""
    return {id(case) for cause in causes for case in cause.entries}


_ALSO_OF_TURNS = ("turn_late", "restarted", "earlier_again", "empty", "words")
"""What turns that have changed their places look like, one by one."""


def _of_turns(causes: Sequence[Cause]) -> None:
    """Conversations whose turns have changed their places are of that cause; single turns may look like another."""
    changed = next((c for c in causes if c.key == "reply_learned" and c.told.startswith(("turns", "all calls"))), None)
    if changed is None:
        return
    for each in causes:
        if each.key in _ALSO_OF_TURNS:
            changed.entries += [case for case in each.entries if case.entry.row.multi_step]
            each.entries = [case for case in each.entries if not case.entry.row.multi_step]
            each.together = [case for case in each.together if not case.entry.row.multi_step]
    mine = _explained([changed])
    changed.together = [case for case in changed.together if id(case) not in mine]


_UNREAD = ("call_in_text", "no_arguments", "name_same")
"""What is found wrong with calls that were read of a text in an unknown notation."""


def _unread(named: Iterable[tuple[Cause, Group]]) -> Turns:
    """Conversations and turns whose texts are read as wholes, also where their calls have other faults."""
    shown = [each for cause, group in named if cause.key in _UNREAD for each in group.shown]
    return {(id(each), place.features.get("turn")) for each, place in shown if each.case.transcript.mode == "prompt"}


def _is_vague(cause: Cause) -> bool:
    """Whether a rule that foretells what is said may say more; a constant before or behind a text says all."""
    common = cause.where is not None or _is_common(cause, MOSTLY)
    if cause.kind.told == "apart" and not cause.told:
        return True
    return cause.kind.vague and not (cause.kind.told == "apart" and common)


def _named(found: Sequence[Found], rules: Mapping[Why, Rule], arrived: frozenset[str]) -> list[tuple[Cause, Group]]:
    """Differences that recur as their kinds demand."""
    named = []
    groups = _silent_together(groups_of(found, rules))
    for group in groups:
        cause = _regular(group)
        if cause is not None:
            named.append((_renamed(cause, group, arrived), group))
    for key, others in _ANSWERS_TO_OTHERS.items():
        cause, other = next(((cause, group) for cause, group in named if cause.key == key), (None, None))
        if cause is not None and other is not None:
            words = [group for group in groups if group.why[0] in others]
            words = [group for group in words if key != "first_tool_only" or _later(group)]
            other.shown.extend(each for group in words for each in group.shown)
            cause.shown = len(other.shown)
            named = [(cause, group) for cause, group in named if group not in words]
    if any(cause.key in WORDS and cause.where is None and _is_common(cause, MOSTLY) for cause, _ in named):
        named = [(cause, group) for cause, group in named if cause.key != "text_learned" or _is_common(cause, RULE)]
    return named


def _is_common(cause: Cause, share: float) -> bool:
    return cause.shown >= share * cause.exposed


def _later(group: Group) -> bool:
    """Whether the places need another than the first tool."""
    return sum(int(place.features.get("tool", 0) > 0) for _, place in group.shown) >= COVERED * len(group.shown)


def _silent_together(groups: list[Group]) -> list[Group]:
    """The groups; replies without a call as one where lost tools explain all of them, or their places do."""
    silent = [group for group in groups if group.why[0] in _SILENT]
    if len(silent) < 2:
        return groups
    shown = [each for group in silent for each in group.shown]
    most = max(silent, key=lambda group: len(group.shown))
    together = most._replace(shown=shown)
    cause = _regular(together)
    if cause is None:
        return groups
    lost = _renamed(cause, together, frozenset(["earlier turns"])).key not in _SILENT
    where = cause.where
    others = [place for group in silent if group is not most for _, place in group.shown]
    if not lost and (where is None or sum(where.holds(place.features) for place in others) < COVERED * len(others)):
        return groups
    return [*(group for group in groups if group not in silent), together._replace(why=(most.why[0], ""))]


_SILENT = ("words", "asked", "refused", "empty")
_OF_SOME_CALLS = ("call_missing", "first_only", "last_only", "first_lost", "last_lost")
_ANSWERS_TO_OTHERS = {
    "mixed_up": (*WORDS, "other_function", "reply_learned", *_OF_OTHERS),
    "turn_late": (*WORDS, "earlier_again"),
    "restarted": (*WORDS, "earlier_again"),
    "first_tool_only": _OF_SOME_CALLS,
}
"""Replies that belong elsewhere may be words, too, or look like a rule of turns."""


def _regular(group: Group) -> Cause | None:
    """The cause, if a group recurs as its kind requires."""
    key, told = group.why
    kind = KINDS[key]
    failed = [(each, place) for each, place in group.shown if not each.case.passed]
    share, habit = group.share, kind.strength == "habit"
    mine = {id(place) for _, place in group.shown}
    two = key == "key_lost" or (kind.strength != "loose" and not kind.vague and share < MOSTLY and key != "raw_learned")
    exposed = group.exposed
    if key in _OF_WHOLES and share >= RULE:
        exposed = [(each, place) for each, place in exposed if id(place) in mine or not _is_other(place)]
    where = confined(exposed, mine, chosen=key == "key_lost" or habit, two=two)
    entries = len({id(each.case) for each, _ in failed})
    of_words = isinstance(where, Where) and where.of_words
    where = None if of_words and entries < LEAST else where
    if told.startswith("one for another") and share < RULE:
        return None
    if key in _OF_WHOLES and share < OF_WHOLES and (where is None or (of_words and key != "raw_learned")):
        return None
    if where is None and _is_accident(group, entries):
        return None
    common = not kind.vague or bool(told or common_parameter(key, failed))
    recurs = share >= MOSTLY or where is not None or (common and share_of_part(group) >= RULE)
    if habit and not recurs and not (key in ("words", "asked") and share >= COMMON and _one_text(failed)):
        return None
    if key in _OF_ANY_MISTAKE and share >= MOSTLY:
        return Cause(key, shown=len(group.shown), exposed=len(group.exposed))
    if kind.strength == "loose" and where is None:
        return None
    where = None if key in _SAY_WHERE else where
    told = told or common_parameter(key, failed)
    inside = sum(where.holds(place.features) for _, place in exposed) if where is not None else 0
    level = min(group.levels) if len(group.levels) == 1 else ""
    return Cause(key, told, shown=len(group.shown), exposed=len(group.exposed), where=where, inside=inside, level=level)


def _is_accident(group: Group, entries: int) -> bool:
    """Whether differences that are not of one kind of place are so few that they may be slips; ``entries`` failed."""
    key, told = group.why
    if KINDS[key].strength == "sure" and key not in _ENDINGS and group.share < SELDOM and entries < OFTEN:
        return True
    if key in _SLIPS:
        return group.share < OFTEN_SLIPS
    if group.share >= COMMON:
        return False
    if key == "value_learned" and (told.endswith(_OF_TYPES) or group.is_simple):
        return True
    if key.endswith("_learned"):
        return share_of_part(group) < RULE
    of_arguments = KINDS[key].told != "only one" and key != "key_renamed" and group.levels <= _OF_ARGUMENTS
    return of_arguments or key == "key_extra"


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
    if cause.key in _SILENT and (fall := _fall(group)):
        return Cause("history_lost", shown=cause.shown, exposed=cause.exposed, where=_after(group), evidence=fall)
    if where is None or isinstance(where, Both):
        return cause
    turns = {place.features.get("turn") for _, place in group.shown}
    alternate = where == Where("turn number", "even") and len(turns) > 1
    later = alternate or (where == Where("turn", 0, more=True) and cause.shown >= INSIDE * cause.inside)
    if cause.key in ("words", "asked", "refused") and later and "earlier turns" not in arrived:
        kept = where if alternate else None
        return Cause("history_lost", "", shown=cause.shown, exposed=cause.exposed, where=kept)
    if cause.key in (*_SILENT, *_OF_SOME_CALLS) and where.feature == "added tool":
        return Cause("added_tools_lost", "", shown=cause.shown, exposed=cause.exposed)
    of_tools = where.feature in ("later half", "not the last tool") or (where.feature == "tool" and where.more)
    if cause.key in ("asked", "words", "refused", "empty", "other_function") and of_tools:
        told = "last tool reaches" if where.feature == "not the last tool" else "first tools reach"
        if where.feature == "tool" and where.value:
            told = f"first {where.value + 1} tools reach"
        return Cause("first_tool_only", told, shown=cause.shown, exposed=cause.exposed)
    if cause.key in _SILENT and (lost := _tools_lost(group)):
        return Cause("tools_lost", "", shown=cause.shown, exposed=cause.exposed, where=where, evidence=lost)
    if cause.key in ("asked", "words") and where.feature in _OF_FUNCTIONS:
        return Cause("tools_dropped", "", shown=cause.shown, exposed=cause.exposed, where=where)
    if where.feature == "system":
        return Cause("system_lost", "", shown=cause.shown, exposed=cause.exposed)
    if where.feature == "enum" and cause.key != "key_lost" and not cause.key.endswith("_learned"):
        return Cause("enum", "", shown=cause.shown, exposed=cause.exposed)
    return cause


def _after(group: Group) -> Where | None:
    """The turns after which all places are, unless that is the first."""
    first = min(place.features["turn"] for _, place in group.shown)
    return Where("turn", first - 1, more=True) if first > 1 else None


def _fall(group: Group) -> str:
    """The proof by prompt tokens that turns without a call, and no others, lack the turns before; empty without."""
    mine = {id(place) for _, place in group.shown}
    fallen: dict[bool, list[bool]] = {True: [], False: []}
    example = ""
    for each, place in group.exposed:
        turns = each.case.transcript.turns[: place.features["turn"] + 1]
        *before, tokens = [turn.steps[0].reply.input_tokens or 0 if turn.steps else 0 for turn in turns] or [0]
        if before and tokens:
            fallen[id(place) in mine].append(tokens < max(before))
            example = f", as from {max(before)} to {tokens}" if id(place) in mine else example
    here, others = fallen[True], fallen[False]
    if len(here) < max(LEAST, INSIDE * len(group.shown)) or sum(here) < INSIDE * len(here):
        return ""
    return f"prompt tokens fall at these turns{example}" if sum(others) <= OUTSIDE * len(others) else ""


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
