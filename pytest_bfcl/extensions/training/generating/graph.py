"""A conversation as a graph of calls: each turn's calls are carried out, and what they return feeds later ones."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, get_args

from pytest_bfcl.checkers.response import is_error
from pytest_bfcl.extensions.training.generating import requests
from pytest_bfcl.extensions.training.generating.domains import DOMAINS
from pytest_bfcl.extensions.training.generating.moves import Domain, Gift, Kind, Move
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import Simulator, create_simulator, serialise
from pytest_bfcl.simulators.toolkit import error_text

Shape = Literal["plain", "held_out", "missing_value", "wrong_turn"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
CATEGORY: dict[Shape, str] = {
    "plain": "multi_turn_base", "wrong_turn": "multi_turn_base", "held_out": "multi_turn_miss_func",
    "missing_value": "multi_turn_miss_param",
}  # fmt: skip
MOST_TURNS = 5
TRIES = 14
"""Moves that are tried for one place of a turn."""
CHAINED = 14.0
"""How much rather a move is chosen that takes what the call before gave."""
_WANTED = 5.0
_GIVING = 1.7


@dataclass(slots=True)
class Fact:
    """A value in a result that a later call may take."""

    value: Any
    gift: Gift
    said: dict[str, str]
    call: int
    about: dict[str, Any]
    taken: bool = False


@dataclass(slots=True)
class Step:
    """A planned call: its words with the noun phrases for its parameters, and what was drawn for it."""

    domain: Domain
    move: Move
    call: str
    phrases: dict[str, str]
    drawn: dict[str, tuple[Kind, Any]]


@dataclass(slots=True)
class Draft:
    """The conversation so far."""

    rng: Random
    configs: dict[str, Parsed]
    simulators: dict[str, Simulator]
    active: tuple[str, ...]
    facts: dict[str, Fact] = field(default_factory=dict)
    referred: set[str] = field(default_factory=set)
    said: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    def steps(self, most: int) -> list[Step]:
        """The calls of one turn, at most so many; none where nothing fits."""
        found: list[Step] = []
        while len(found) < most and (step := self._step(found)) is not None:
            found.append(step)
        return found

    def _step(self, before: Sequence[Step]) -> Step | None:
        choices = list(self._choices(before))
        for _ in range(TRIES):
            if not choices:
                return None
            place = self.rng.choices(range(len(choices)), [weight for _, _, weight in choices])[0]
            domain, move, _ = choices.pop(place)
            if (step := self._tried(domain, move)) is not None:
                return step
        return None

    def _choices(self, before: Sequence[Step]) -> Iterator[tuple[Domain, Move, float]]:
        """What may come next, and how likely it is to."""
        for name in self.active:
            domain = DOMAINS[name]
            if domain.locked(self.simulators[name]):
                if domain.first is not None and domain.first not in self.moves:
                    yield domain, domain.first, 4.0
                continue
            for move in domain.moves:
                if (move.once and move in self.moves) or (before and before[-1].move is move):
                    continue
                if any(kind not in self.facts for kind in move.after):
                    continue
                weight = move.weight * (_GIVING if move.gives else 1.0)
                fresh = [fact for kind in move.takes.values() if (fact := self.facts.get(kind)) and not fact.taken]
                if before and any(fact.call == len(self.calls) - 1 for fact in fresh):
                    weight *= CHAINED
                elif fresh:
                    weight *= _WANTED
                yield domain, move, weight

    def _tried(self, domain: Domain, move: Move) -> Step | None:
        """The move carried out, ``None`` where it does not fit or fails."""
        simulator, rng = self.simulators[domain.simulator], self.rng
        arguments: dict[str, Any] = dict(move.fixed)
        phrases: dict[str, str] = {}
        drawn: dict[str, tuple[Kind, Any]] = {}
        meant = self._facts_for(move)
        goes_with = {kind: value for fact, _ in meant.values() for kind, value in fact.about.items()}
        for parameter, kind_name in move.takes.items():
            if parameter in meant:
                fact, phrase = meant[parameter]
                value = fact.value
            else:
                kind = domain.kinds.get(kind_name)
                value = goes_with.get(kind_name)
                if value is None and kind is not None:
                    value = self._value(domain, kind_name, kind, simulator)
                if kind is None or value is None:
                    return None
                written = kind.show(value, rng) if kind.show else requests.value_text(value)
                phrase = rng.choice(kind.said).format(written)
                drawn[parameter] = kind, value
            phrases[parameter] = phrase
            arguments[parameter] = {move.shape[parameter]: value} if parameter in move.shape else value
        if move.fits is not None and not move.fits(simulator, arguments):
            return None
        call = call_text(move.tool, arguments)
        if call in self.calls:
            return None
        result = self._carried_out(simulator, move.tool, arguments)
        if result is None:
            return None
        self.calls.append(call)
        self.moves.append(move)
        for fact, _ in meant.values():
            fact.taken = True
        for parameter, (_, value) in drawn.items():
            self.said.setdefault((domain.simulator, move.takes[parameter]), []).append(value)
        said = {name: phrase for name, phrase in phrases.items() if name in drawn}
        said |= {name: requests.value_text(value) for name, value in move.fixed.items()}
        self._note(move, result[0], said, arguments)
        return Step(domain, move, call, phrases, drawn)

    def _facts_for(self, move: Move) -> dict[str, tuple[Fact, str]]:
        """The parameters that an earlier result is meant for, with the words for it."""
        found: dict[str, tuple[Fact, str]] = {}
        for parameter, kind in move.takes.items():
            fact = self.facts.get(kind)
            if fact is not None and self.rng.random() < (0.4 if fact.taken else 0.9):
                phrase = self._phrase(fact)
                if phrase is not None and all(phrase != other for _, other in found.values()):
                    found[parameter] = fact, phrase
        return found

    def _value(self, domain: Domain, name: str, kind: Kind, simulator: Simulator) -> Any:
        known = self.said.get((domain.simulator, name), ())
        if kind.again and known and self.rng.random() < 0.4:
            return self.rng.choice(known)
        return kind.draw(simulator, self.rng)

    def _phrase(self, fact: Fact) -> str | None:
        """How the user means an earlier result; ``None`` where that would not be clear."""
        near = fact.call == len(self.calls) - 1
        pattern = self.rng.choice(fact.gift.near if near else fact.gift.far)
        try:
            return pattern.format(**fact.said)
        except (KeyError, IndexError):
            return None

    def _carried_out(self, simulator: Simulator, tool: str, arguments: Parsed) -> tuple[Any] | None:
        """The raw result in a tuple, ``None`` for an error."""
        try:
            result = simulator.invoke(tool, (), arguments)
            return None if is_error(serialise(result)) else (pickle.loads(pickle.dumps(result)),)
        except Exception:  # whatever a tool raises makes the move impossible here
            return None

    def _note(self, move: Move, result: Any, said: dict[str, str], arguments: Parsed) -> None:
        for kind, gift in move.gives.items():
            value = gift.path(result)
            if value is None or value == []:
                continue
            try:
                told = gift.far[0].format(**said)
            except KeyError:
                told = ""
            later = gift if told and told not in self.referred else Gift(gift.path, gift.near, ("{0}",))
            self.referred.add(told)
            self.facts[kind] = Fact(
                value, later, said if later is gift else {}, len(self.calls) - 1,
                {each: arguments[parameter] for each, parameter in gift.about.items()},
            )  # fmt: skip

    def detour(self) -> tuple[str, str, list[str]] | None:
        """Request, failing call and mended calls of a wrong turn that fits here."""
        makers = [(name, make) for name in self.active for make in DOMAINS[name].detours
                  if not DOMAINS[name].locked(self.simulators[name])]  # fmt: skip
        self.rng.shuffle(makers)
        for name, make in makers:
            simulator = self.simulators[name]
            found = make(simulator, self.rng)
            if found is None:
                continue
            tool, arguments = found.failing
            kept = pickle.dumps(simulator)
            text = _result_text(simulator, tool, dict(arguments))
            simulator = self.simulators[name] = pickle.loads(kept)
            calls = [call_text(each, given) for each, given in found.calls]
            if not is_error(text) or set(calls) & set(self.calls):
                continue
            if all(self._carried_out(simulator, each, dict(given)) is not None for each, given in found.calls):
                self.calls += calls
                return self._with_facts(found.request, [name]), call_text(tool, arguments), calls
            self.simulators[name] = pickle.loads(kept)
        return None

    def words(self, steps: Sequence[Step], vague: str | None = None) -> str:
        """What the user says for these calls; ``vague``: the parameter that is not said (of the only call)."""
        rng, first = self.rng, steps[0]
        spoken = [dict(step.phrases) for step in steps]
        if vague is not None:
            spoken[0][vague] = rng.choice(first.drawn[vague][0].vague)
        asked = first.move.ask and rng.random() < 0.55
        question = requests.capital(rng.choice(first.move.ask).format(**spoken[0])) if asked else None
        clauses = [rng.choice(step.move.say).format(**told) for step, told in zip(steps, spoken, strict=True)]
        said = requests.request(rng, clauses[1:] if asked else clauses, question)
        return self._with_facts(said, [step.domain.simulator for step in steps])

    def _with_facts(self, said: str, names: Sequence[str]) -> str:
        """With what has to be known before a simulator is used for the first time."""
        for name in dict.fromkeys(names):
            domain, config = DOMAINS[name], self.configs[name]
            if domain.told and name not in self.opened and not domain.locked(create_simulator(name, config)):
                said = f"{self.rng.choice(domain.told).format(**config)} {said}"
            self.opened.append(name)
        return said


def _result_text(simulator: Simulator, tool: str, arguments: Parsed) -> str:
    try:
        return serialise(simulator.invoke(tool, (), arguments))
    except Exception as error:
        return error_text(error)


def call_text(tool: str, arguments: Any) -> str:
    """A call as ground truths write it."""
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


def planned(rng: Random, names: Sequence[str], shape: Shape) -> Parsed | None:
    """An entry of this shape about these simulators, not proved yet; ``None`` where none came about."""
    draft = _begun(rng, names)
    question: list[list[Parsed]] = []
    truth: list[list[str]] = []
    told: Parsed = {"kind": shape}
    missed: dict[str, list[str]] = {}
    turns = rng.randint(2, MOST_TURNS)
    special = rng.randrange(turns) if shape != "plain" else -1
    for number in range(turns):
        if number == special and shape == "wrong_turn":
            found = draft.detour()
            if found is None:
                special += 1
            else:
                said, failing, calls = found
                told["wrong_turn"] = {"turn": len(truth), "call": failing}
                _say(draft, question, said)
                truth.append(calls)
                continue
        single = number == special
        steps = draft.steps(1 if single else rng.choices((1, 2, 3), (40, 42, 18))[0])
        if not steps:
            break
        vague = _forgettable(draft, steps[0]) if single and shape == "missing_value" else None
        if single and shape == "missing_value" and vague is None:
            special += 1
        _say(draft, question, draft.words(steps, vague))
        calls = [step.call for step in steps]
        if vague is not None:
            question.append([_user(_supplied(rng, steps[0], vague))])
            truth += [[], calls]
            told["missing"] = {"turn": len(truth) - 2, "parameter": vague}
        elif number == special and shape == "held_out":
            tool = steps[0].move.tool
            if any(call.partition("(")[0] == tool for turn in truth for call in turn):
                special += 1
                truth.append(calls)
                continue
            question.append([])
            truth += [[], calls]
            missed[str(len(truth) - 1)] = [tool]
        else:
            truth.append(calls)
    if len(truth) < 2 or (shape != "plain" and not (missed or {"wrong_turn", "missing"} & set(told))):
        return None
    entry: Parsed = {
        "question": question, "initial_config": draft.configs, "involved_classes": list(draft.configs),
        "possible_answer": truth, "generated": told,
    }  # fmt: skip
    return {**entry, "missed_function": missed} if missed else entry


def _begun(rng: Random, names: Sequence[str]) -> Draft:
    able = [name for name in names if name != "MathAPI"] or list(names)
    active = [rng.choice(able)]
    if len(names) > 1 and rng.random() < 0.55:
        active.append(rng.choice([name for name in names if name not in active]))
    shown = list(active)
    if len(names) > len(active) and rng.random() < 0.4:  # tools that the task does not need
        shown.append(rng.choice([name for name in names if name not in active]))
    rng.shuffle(shown)
    configs = {name: DOMAINS[name].world(rng) for name in shown}
    return Draft(rng, configs, {name: create_simulator(name, configs[name]) for name in active}, tuple(active))


def _say(draft: Draft, question: list[list[Parsed]], said: str) -> None:
    if question:
        said = requests.after(draft.rng, said)
    elif draft.rng.random() < 0.5:
        scenes = DOMAINS[draft.opened[0]].scenes
        said = f"{draft.rng.choice(scenes)} {said}" if scenes else said
    question.append([_user(said)])


def _user(said: str) -> Parsed:
    return {"role": "user", "content": said}


def _forgettable(draft: Draft, step: Step) -> str | None:
    """A parameter whose value the user may forget to say: it was never said before."""
    found = [
        name
        for name, (kind, value) in step.drawn.items()
        if kind.vague and draft.said[step.domain.simulator, step.move.takes[name]].count(value) == 1
    ]
    return draft.rng.choice(found) if found else None


def _supplied(rng: Random, step: Step, parameter: str) -> str:
    kind, value = step.drawn[parameter]
    pattern, phrase = rng.choice(kind.told), step.phrases[parameter]
    if pattern.startswith("{}") and phrase != requests.value_text(value):
        phrase = requests.capital(phrase)
    return requests.clean(pattern.format(phrase))
