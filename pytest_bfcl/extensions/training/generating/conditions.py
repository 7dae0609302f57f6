"""Conditions that a request states, each in a world where it is met and in one where it is not.

A condition consists of moves: a first look or attempt, the action if the condition is met, and the other action. Its
words are fixed before the world, so that both worlds have the same request. If a call's result follows from its
arguments alone (sums, unit conversions), the words name the required one of two things instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal, NamedTuple, get_args

from pytest_bfcl.extensions.training.generating.draft import STRANGE, Draft, Step
from pytest_bfcl.extensions.training.generating.language import LANGUAGE, capital, clean, spoken, value_text
from pytest_bfcl.extensions.training.generating.moves import Domain, Move
from pytest_bfcl.json_types import Parsed

ConditionKind = Literal["if_fails", "if_less", "unless", "whichever"]
CONDITIONS: tuple[ConditionKind, ...] = get_args(ConditionKind)

FRAMES: Mapping[ConditionKind, Sequence[str]] = LANGUAGE["conditions"]
"""Sentences of a condition; slots are clauses of moves, except for nouns and numbers."""
LOWER, HIGHER = ("lower", "smaller"), ("higher", "larger")
CHOSEN = ("it", "that one")
"""References to the selected thing in the action."""
REDRAWN = 8
"""Attempts to draw a call with the result that the world needs."""
APART = 4
"""Least distance of a measure from its limit, in percent."""


class Condition(NamedTuple):
    """A condition in one world. ``due``: its expected calls there; ``told``: the entry's record of it, with the calls
    before it is known (``first``) and the branches (``act``, ``other``)."""

    request: str
    due: list[str]
    told: Parsed


def _settled(
    draft: Draft, kind: ConditionKind, holds: bool, request: str, looks: Sequence[Step], act: Step,
    other: Step | None = None,
) -> Condition:  # fmt: skip
    """The condition after its calls were made in this world."""
    branch = act if holds else other
    due = [*looks, *([] if branch is None else [branch])]
    draft.settle(due)
    told = {"first": [each.call for each in looks], "act": [act.call], "other": [] if other is None else [other.call]}
    return Condition(request, [each.call for each in due], {"kind": kind, "holds": holds, **told})


def conditioned(draft: Draft, kind: ConditionKind, holds: bool) -> Condition | None:
    """A condition of this kind in a world where it is met or not; ``None`` if there is none."""
    able = [(domain, move) for domain, move in draft.moves_of(lambda move: suits(move, kind))]
    able.sort(key=lambda each: draft.rng.random() ** (1 / each[1].weight), reverse=True)
    for domain, move in able[:6]:
        kept, numbers = draft.kept(), draft.rng.getstate()
        twin = _MAKERS[kind](draft, domain, move, not holds)
        draft.restore(kept)
        draft.rng.setstate(numbers)
        found = twin and _MAKERS[kind](draft, domain, move, holds)
        if found:
            draft.rng.seed(found.request)  # what follows is drawn alike in both worlds
            return found
        draft.restore(kept)
    return None


def suits(move: Move, kind: ConditionKind) -> bool:
    """Whether a condition of this kind can begin with this move."""
    if kind == "if_fails":
        return move.fails is not None
    if kind == "unless":
        return move.state is not None
    return move.measure is not None and (
        bool(move.measure.limits) if kind == "if_less" else move.measure.subject is not None
    )


def _if_fails(draft: Draft, domain: Domain, move: Move, holds: bool) -> Condition | None:
    fails = move.fails
    assert fails is not None
    other = _branch(draft, domain, avoid=move)
    for _ in range(REDRAWN):
        attempt = draft.step(domain, move)
        if attempt is None or other is None:
            return None
        fits = draft.edited(domain, fails, attempt.arguments, None, holds)
        if fits and (draft.looked(attempt) is None) is holds:
            words = _said(draft.rng, "if_fails", first=attempt, other=other)
            return _settled(draft, "if_fails", holds, words, [attempt], other)
    return None


def _if_less(draft: Draft, domain: Domain, move: Move, holds: bool) -> Condition | None:
    look, measure = draft.step(domain, move), move.measure
    assert measure is not None
    act = _branch(draft, domain, avoid=move)
    other = act and _branch(draft, domain, avoid=move, unlike=act)
    if look is None or act is None or other is None:
        return None
    limit = draft.rng.choice(measure.limits)
    away = draft.rng.choice((1, 1, 2, 3)) if limit < 8 else draft.rng.randint(APART, 25) * limit / 100
    value = limit - away if holds else limit + away
    edit, wanted = measure.edit, round(value) if measure.whole else value
    fits = edit is not None and draft.edited(domain, edit, look.arguments, wanted)
    result = draft.looked(look)
    found = None if result is None else measure.path(result)
    if not fits and found is not None:  # the world stays as it is: another limit
        limit = draft.rng.choice(
            [each for each in measure.limits if (found < each) is holds and found != each] or [limit]
        )
    if found is None or (found < limit) is not holds or found == limit:
        return None
    words = _said(draft.rng, "if_less", first=look, act=act, other=other, noun=measure.noun, limit=value_text(limit))
    return _settled(draft, "if_less", holds, words, [look], act, other)


def _unless(draft: Draft, domain: Domain, move: Move, holds: bool) -> Condition | None:
    """``holds``: the state is not as it should be, so that there is something to do."""
    state = move.state
    assert state is not None
    act, edit = _branch(draft, domain, avoid=move), state.edit
    value = domain.kinds[state.kind].draw(draft.simulators[domain.simulator], draft.rng) if state.kind else ""
    for _ in range(REDRAWN):
        look = draft.step(domain, move)
        if look is None or act is None or value is None:
            return None
        if edit is not None and not draft.edited(domain, edit, look.arguments, value, not holds):
            return None
        result = draft.looked(look)
        if result is not None and state.holds(look.arguments, result, value) is not holds:
            says = spoken(draft.rng, state.says).format(value=value)
            words = _said(draft.rng, "unless", first=look, state=says, act=act)
            return _settled(draft, "unless", holds, words, [look], act)
    return None


def _whichever(draft: Draft, domain: Domain, move: Move, holds: bool) -> Condition | None:
    """``holds``: it is the first of the two."""
    measure = move.measure
    assert measure is not None
    assert measure.subject is not None
    kind, subject = measure.subject
    one, two = draft.step(domain, move), draft.step(domain, move)
    able = [each for _, each in draft.moves_of(lambda other: list(other.takes.values()).count(kind) == 1, domain)
            if each is not move and not each.after and not each.fixed.get("unlock")]  # fmt: skip
    if one is None or two is None or one.call == two.call or not able:
        return None
    lower = draft.rng.random() < 0.5
    if measure.edit is not None:
        base = draft.rng.choice(measure.limits)
        away = max(1, round(base * draft.rng.randint(APART, 25) / 100))
        values = (base - away, base + away) if holds is lower else (base + away, base - away)
        for look, value in zip((one, two), values, strict=True):
            draft.edited(domain, measure.edit, look.arguments, value)  # where not: the other word is said
    results = [draft.looked(look) for look in (one, two)]
    if None in results or (a := measure.path(results[0])) == (b := measure.path(results[1])):
        return None
    lower = (a < b) is holds
    things = [subject(look.arguments, result) for look, result in zip((one, two), results, strict=True)]
    acts = draft.alternatives(domain, draft.rng.choice(able), kind, things)
    if acts is None:
        return None
    phrase = draft.rng.choice(CHOSEN)
    parameter = next(name for name, each in acts[0].move.takes.items() if each == kind)
    acts[0].phrases[parameter] = phrase
    sense = LOWER if lower else HIGHER
    words = _said(draft.rng, "whichever", first=one, second=two, act=acts[0], noun=measure.noun, sense=sense)
    return _settled(draft, "whichever", holds, words, [one, two], *acts)


_MAKERS = {"if_fails": _if_fails, "if_less": _if_less, "unless": _unless, "whichever": _whichever}


def _branch(draft: Draft, about: Domain, avoid: Move, unlike: Step | None = None) -> Step | None:
    """A call that works here with values that are all in the text; preferably one that changes something."""
    tools = {avoid.tool, "cd", *((unlike.move.tool,) if unlike else ())}
    fit = list(draft.moves_of(lambda move: move.tool not in tools and not move.after))
    able = [(domain, move) for domain, move in fit if draft.simulators[domain.simulator].writes(move.tool)]
    choices = able or fit
    for _ in range(8):
        if not choices:
            return None
        weights = [move.weight * (1.0 if domain is about else STRANGE) for domain, move in choices]
        domain, move = choices.pop(draft.rng.choices(range(len(choices)), weights)[0])
        kept = draft.kept()
        step = draft.step(domain, move)
        fine = step is not None and step.call not in draft.calls and draft.looked(step) is not None
        draft.restore(kept)
        if step is not None and fine:
            return step
    return None


def _said(rng: Random, kind: ConditionKind, **parts: Step | str | tuple[str, ...]) -> str:
    """The words of a condition; a step stands for one of its clauses, a tuple for one of its words."""
    said = {
        name: each.clause(rng) if isinstance(each, Step) else rng.choice(each) if isinstance(each, tuple) else each
        for name, each in parts.items()
    }
    frame = spoken(rng, rng.choice(FRAMES[kind]))
    return clean(frame.format(**said, First=capital(said["first"])))
