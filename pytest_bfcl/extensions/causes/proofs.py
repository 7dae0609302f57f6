"""Proofs of causes: undone and judged again, shown by prompt tokens, or accepted by corrected data and rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from pytest_bfcl.extensions.causes.cases import Case
from pytest_bfcl.extensions.causes.cause import LEAST, Cause, least_entries
from pytest_bfcl.extensions.causes.groups import Group
from pytest_bfcl.extensions.causes.places import Found, Place
from pytest_bfcl.extensions.causes.prompts import LATER_TOOLS, SOME_TOOLS, Prompts

WORDS = ("words", "asked", "refused", "empty", "undue")
"""Kinds of whole replies that another cause may produce: they are named for entries of their own only."""
MOSTLY = 0.5
"""Share of the entries that needed a lost part of the prompt and failed."""
TOGETHER = 0.05
"""Least share of the failed entries that need a second cause before it is named for these alone."""


def proved(found: Sequence[Found], named: Sequence[tuple[Cause, Group]]) -> list[Cause]:
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
        if len(cause.entries) >= least_entries(cause.key)
        or (cause.key not in WORDS and len(cause.together) >= max(LEAST, TOGETHER * failed))
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


def of_prompts(found: Sequence[Found], prompts: Prompts, named: Sequence[tuple[Cause, Group]]) -> list[Cause]:
    """Causes that prompt tokens prove: failing entries that needed the lost part of the prompt."""
    causes = []
    taken: set[int] = set()
    sure = {
        id(p)
        for cause, group in named
        if cause.kind.strength == "sure" and cause.key not in _OF_LOST
        for _, p in group.shown
    }
    of_some = {"tools_dropped"} if {cause.key for cause, _ in named} & _OF_SOME_TOOLS else set()
    for key, parts in _OF_PROMPTS.items():
        if (
            key in of_some
            or not all(part in prompts.lost for part in parts)
            or (key == "window" and not prompts.window)
        ):
            continue
        cause = Cause(key, evidence=prompts.lost[parts[0]]) if parts else _of_window(prompts.window)
        needing = [each for each in found if _needed(key, each, each.places, prompts)]
        if key not in ("descriptions_lost", "tools_dropped") and sum(
            not each.case.passed for each in needing
        ) < MOSTLY * len(needing):
            continue
        for each in found:
            if each.case.passed or id(each.case) in taken or any(id(place) in sure for place in each.differences):
                continue
            if _needed(key, each, each.differences, prompts) and _passes(each, each.differences):
                cause.entries.append(each.case)
                taken.add(id(each.case))
        causes.append(cause)
    return causes


def _of_window(tokens: int) -> Cause:
    return Cause("window", str(tokens), evidence=f"{tokens} prompt tokens are the most")


_OF_LOST = {*WORDS, "thoughts", "repeated_steps", "history_lost", "first_tool_only", "tools_lost", "tools_dropped"}
"""Causes of replies that a lost part of the prompt explains better."""
_OF_SOME_TOOLS = {"first_tool_only", "tools_lost"}
"""Causes that say more than that some tools are lost."""
_OF_PROMPTS = {
    "window": (),
    "later_tools_lost": (LATER_TOOLS,),
    "system_lost": ("system prompt",),
    "tools_lost": ("first tool", "descriptions of the first tool", "descriptions of other tools"),
    "first_tool_only": ("other tools", "descriptions of other tools"),
    "descriptions_lost": ("descriptions of the first tool", "descriptions of other tools"),
    "history_lost": ("earlier turns",),
    "results_lost": ("results",),
    "tools_dropped": (SOME_TOOLS,),
}


def _needed(key: str, found: Found, places: Sequence[Place], prompts: Prompts) -> bool:
    """Whether an entry needed the lost part; ``places`` are the relevant ones (of a failed entry its differences)."""
    turns = [place.features.get("turn", 0) for place in places]
    if key == "first_tool_only":
        return any(place.features.get("tool", 0) > 0 for place in places)
    if key == "system_lost":
        return bool(found.features["system"]) or found.case.transcript.mode == "prompt"
    if key == "window":
        steps = (step for turn in found.case.transcript.turns for step in turn.steps)
        return any(step.reply.input_tokens == prompts.window for step in steps)
    if key in ("history_lost", "later_tools_lost"):
        return bool(turns) and (min(turns) > 0 if found.differences else max(turns) > 0)
    if key in ("tools_lost", "tools_dropped"):
        return any(place.level == "reply" for place in places)
    if key == "descriptions_lost":
        return any(place.level != "reply" for place in places)
    return found.case.entry.row.checker == "state"


def of_data(cases: Sequence[Case]) -> list[Cause]:
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
