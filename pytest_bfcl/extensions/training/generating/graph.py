"""A conversation as turns: plain ones, one that cannot be completed at once, or conditions in one of two worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from pytest_bfcl.extensions.training.generating.conditions import CONDITIONS, ConditionKind, conditioned
from pytest_bfcl.extensions.training.generating.domains import DOMAINS
from pytest_bfcl.extensions.training.generating.draft import Draft, Step
from pytest_bfcl.extensions.training.generating.language import after, among_asides, capital, clean, spoken, value_text
from pytest_bfcl.extensions.training.generating.moves import Domain, Move
from pytest_bfcl.extensions.training.generating.proof import Unproved
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import create_simulator

Shape = Literal["plain", "held_out", "missing_value"] | ConditionKind
CATEGORY: dict[str, str] = {
    **dict.fromkeys(("plain", *CONDITIONS), "multi_turn_base"), "held_out": "multi_turn_miss_func",
    "missing_value": "multi_turn_miss_param",
}  # fmt: skip
MOST_TURNS = 6


@dataclass(slots=True)
class Plan:
    """The turns of an entry."""

    question: list[list[Parsed]] = field(default_factory=list)
    truth: list[list[str]] = field(default_factory=list)
    conditions: list[Parsed] = field(default_factory=list)
    missing: Parsed | None = None
    missed: dict[str, list[str]] = field(default_factory=dict)
    told: int = 0
    """Moves that the draft has mentioned."""


def planned(seed: str, names: Sequence[str], shape: str, twin: int = 0) -> Parsed:
    """An unproved entry of this shape about these simulators. Raises `Unproved` if there is none.

    ``twin``: 0 or 1; the worlds of the two are opposite in every condition, and the requests are equal.
    """
    rng = Random(seed)
    draft, plan = _begun(rng, names, unlocked=shape in CONDITIONS), Plan()
    turns = rng.randint(4, MOST_TURNS)
    if shape in CONDITIONS:
        sides = rng.choice(((0, 1), (1, 0), (0, 1), (1, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0), (0, 0, 1)))
        spare = rng.randint(0, max(0, turns - len(sides)))
        order: list[int | None] = [*[None] * spare, *sides]  # plain turns come before the worlds part
        for number, side in enumerate(order):
            draft.rng = Random(f"{seed}/{number}")  # a turn does not hang on what other worlds drew before it
            if not (_plain(draft, plan) if side is None else _conditional(draft, plan, shape, side != twin)):
                raise Unproved("nothing came about")
        return _entry(draft, plan, shape, twin)
    special = rng.randrange(turns) if shape != "plain" else -1
    while len(plan.question) < turns + (special >= 0):
        if len(plan.question) == special:
            steps = draft.steps(1, chains=False)
            if not steps:
                break
            special += not (_forgotten if shape == "missing_value" else _held_out)(draft, plan, steps[0])
        elif not _plain(draft, plan):
            break
    if len(plan.truth) < 2 or (shape != "plain" and not (plan.missed or plan.missing)):
        raise Unproved("nothing came about")
    return _entry(draft, plan, shape)


def _entry(draft: Draft, plan: Plan, shape: str, twin: int = 0) -> Parsed:
    told: Parsed = {"kind": shape}
    if plan.conditions:
        told |= {"conditions": plan.conditions, "twin": twin}
    if plan.missing:
        told["missing"] = plan.missing
    entry: Parsed = {
        "question": plan.question, "initial_config": draft.configs, "involved_classes": list(draft.configs),
        "possible_answer": plan.truth, "generated": told,
    }  # fmt: skip
    return {**entry, "missed_function": plan.missed} if plan.missed else entry


def _plain(draft: Draft, plan: Plan) -> bool:
    steps = draft.steps(draft.rng.choices((1, 2, 3), (56, 32, 12))[0])
    if steps:
        _say(draft, plan, draft.words(steps))
        plan.truth.append([step.call for step in steps])
    return bool(steps)


def _conditional(draft: Draft, plan: Plan, kind: Any, holds: bool) -> bool:
    found = conditioned(draft, kind, holds)
    if found is None:
        return False
    calls = (call for part in ("first", "act", "other") for call in found.told[part])
    called = [call.partition("(")[0] for call in calls]
    owners = [name for name in draft.active if {*draft.simulators[name].tools_by_name()} & {*called}]
    # Reasons for either branch: those of the one that is due would tell which it is.
    moves = [move for name in owners for move in DOMAINS[name].moves if move.tool in called]
    _say(draft, plan, draft.with_facts(found.request, owners), moves)
    plan.conditions.append({"turn": len(plan.truth), **found.told})
    plan.truth.append(found.due)
    return True


def _forgotten(draft: Draft, plan: Plan, step: Step) -> bool:
    """A turn that lacks a value, and one that gives it; else a plain turn."""
    vague = _forgettable(draft, step)
    _say(draft, plan, draft.words([step], vague))
    if vague is not None:
        _say(draft, plan, _supplied(draft.rng, step, vague))
        plan.truth.append([])
        plan.missing = {"turn": len(plan.truth) - 1, "parameter": vague}
    plan.truth.append([step.call])
    return vague is not None


def _held_out(draft: Draft, plan: Plan, step: Step) -> bool:
    """A turn whose function is missing, and one that adds it; else a plain turn."""
    tool = step.move.tool
    used = any(call.partition("(")[0] == tool for turn in plan.truth for call in turn)
    _say(draft, plan, draft.words([step]))
    if not used:
        plan.question.append([])
        plan.truth.append([])
        plan.missed[str(len(plan.truth))] = [tool]
    plan.truth.append([step.call])
    return not used


def _begun(rng: Random, names: Sequence[str], *, unlocked: bool) -> Draft:
    able = [name for name in names if name != "MathAPI"] or list(names)
    active = rng.choices(able, [len(DOMAINS[name].moves) for name in able])
    if len(names) > 1 and rng.random() < 0.55:
        active.append(rng.choice([name for name in names if name not in active]))
    shown = list(active)
    if len(names) > len(active) and rng.random() < 0.4:  # tools that the task does not need
        shown.append(rng.choice([name for name in names if name not in active]))
    rng.shuffle(shown)
    configs = {name: _world(rng, DOMAINS[name], unlocked=unlocked) for name in shown}
    return Draft(rng, configs, {name: create_simulator(name, configs[name]) for name in active}, tuple(active))


def _world(rng: Random, domain: Domain, *, unlocked: bool) -> Parsed:
    """A world, without a required login if ``unlocked``."""
    for _ in range(30):
        config = domain.world(rng)
        if not unlocked or not domain.locked(create_simulator(domain.simulator, config)):
            break
    return config


def _say(draft: Draft, plan: Plan, said: str, moves: Sequence[Move] | None = None) -> None:
    """A user's turn among sentences without a request; ``moves``: its subject (default: the planned ones)."""
    about = draft.moves[plan.told :] if moves is None else moves
    reasons = list(dict.fromkeys(each for move in about for each in move.why))
    plan.told = len(draft.moves)
    said = among_asides(draft.rng, said, reasons)
    if plan.question:
        said = after(draft.rng, said)
    elif draft.rng.random() < 0.3:
        scenes = DOMAINS[draft.opened[0]].scenes
        said = f"{spoken(draft.rng, draft.rng.choice(scenes))} {said}" if scenes else said
    plan.question.append([{"role": "user", "content": said}])


def _forgettable(draft: Draft, step: Step) -> str | None:
    """A parameter whose value the user may omit: it was never mentioned before."""
    found = [
        name
        for name, (kind, value) in step.drawn.items()
        if kind.vague and draft.said[step.domain.simulator, step.move.takes[name]].count(value) == 1
    ]
    return draft.rng.choice(found) if found else None


def _supplied(rng: Random, step: Step, parameter: str) -> str:
    kind, value = step.drawn[parameter]
    pattern, phrase = spoken(rng, rng.choice(kind.told)), step.phrases[parameter]
    if pattern.startswith("{}") and phrase != value_text(value):
        phrase = capital(phrase)
    return clean(pattern.format(phrase))
