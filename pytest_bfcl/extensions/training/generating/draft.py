"""Plans a conversation: each call is executed, and later calls use its result."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from pytest_bfcl.checkers.entries import is_error
from pytest_bfcl.extensions.training.generating.domains import DOMAINS
from pytest_bfcl.extensions.training.generating.language import capital, clause, request, spoken, value_text
from pytest_bfcl.extensions.training.generating.moves import Domain, Edit, Gift, Kind, Move
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import Simulator, create_simulator, serialise
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.syntax.python_syntax import exact_text
from pytest_bfcl.transcript import Call

LONGEST, FINISHED = 3, 0.8
"""Calls of one turn, and the probability that a turn completes a chain of calls."""
TRIES = 14
"""Moves that are tried for one position of a turn."""
CHAINED = 20.0
"""Factor for a move that uses the result of the call before."""
FOLLOWING = 4.0
"""How much rather a move is chosen that people mostly want after the last one of an earlier turn."""
STRANGE = 0.2
"""How much less a move is chosen that is of another simulator than what the turn is about."""
_WANTED = 5.0
_GIVING = 1.7


@dataclass(slots=True)
class Fact:
    """A value in a result that a later call may use; ``call``: the number of the call that gave it."""

    value: Any
    gift: Gift
    said: Mapping[str, str]
    call: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)
    taken: bool = False


@dataclass(slots=True)
class Step:
    """A planned call: its words with the noun phrases for its parameters, and its drawn values."""

    domain: Domain
    move: Move
    phrases: dict[str, str]
    drawn: dict[str, tuple[Kind, Any]]
    arguments: dict[str, Any]

    @property
    def call(self) -> str:
        """In the form of ground truths."""
        return exact_text(Call(self.move.tool, self.arguments))

    def clause(self, rng: Random) -> str:
        """One way to ask for it."""
        return clause(rng, self.move.say, self.phrases)


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
    made: list[tuple[str, str, dict[str, Any], str]] = field(default_factory=list)
    """Simulator, tool, arguments and result text of every call so far."""
    moves: list[Move] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)

    def steps(self, most: int, *, chains: bool = True) -> list[Step]:
        """The calls of one turn, this number, or up to three of a chain; none where nothing fits."""
        found: list[Step] = []
        while len(found) < most or (chains and self._unfinished(found)):
            step = self._step(found)
            if step is None:
                break
            found.append(step)
        return found

    def _unfinished(self, steps: Sequence[Step]) -> bool:
        """Whether people mostly want one certain call after the last one."""
        return len(steps) < LONGEST and len(steps[-1].move.leads) == 1 and self.rng.random() < FINISHED

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
        """Possible next moves and their weights."""
        last = self.moves[-1] if self.moves else None
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
                if last is not None and move.tool in last.leads:
                    weight *= CHAINED if before else FOLLOWING
                if before and before[0].domain is not domain:
                    weight *= STRANGE
                yield domain, move, weight

    def _tried(self, domain: Domain, move: Move) -> Step | None:
        """The executed move, ``None`` if it does not fit or fails."""
        meant = self._facts_for(move)
        step = self.step(domain, move, meant)
        if step is None or step.call in self.calls:
            return None
        result = self._carried_out(step)
        if result is None:
            return None
        self._taken(step, result[0], meant)
        return step

    def step(self, domain: Domain, move: Move, meant: dict[str, tuple[Fact, str]] | None = None) -> Step | None:
        """A call of this move, not executed; ``meant``: the noun phrases for earlier results."""
        simulator, rng, meant = self.simulators[domain.simulator], self.rng, meant or {}
        arguments: dict[str, Any] = dict(move.fixed)
        phrases: dict[str, str] = {}
        drawn: dict[str, tuple[Kind, Any]] = {}
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
                written = kind.show(value, rng) if kind.show else value_text(value)
                phrase = spoken(rng, rng.choice(kind.said)).format(written)
                drawn[parameter] = kind, value
            phrases[parameter] = phrase
            arguments[parameter] = move.given(parameter, value)
        fits = move.fits is None or move.fits(simulator, arguments)
        return Step(domain, move, phrases, drawn, arguments) if fits else None

    def _taken(self, step: Step, result: Any, meant: dict[str, tuple[Fact, str]]) -> None:
        """The values of an executed call for later ones."""
        move, name = step.move, step.domain.simulator
        self.calls.append(step.call)
        self.moves.append(move)
        for fact, _ in meant.values():
            fact.taken = True
        for parameter, (_, value) in step.drawn.items():
            self.said.setdefault((name, move.takes[parameter]), []).append(value)
        said = {each: phrase for each, phrase in step.phrases.items() if each in step.drawn}
        said |= {each: value_text(value) for each, value in move.fixed.items()}
        for kind, gift in move.gives.items():
            value = gift.path(result)
            if value is None or value == []:
                continue
            try:
                told = gift.far[0].format(**said)
            except KeyError:
                told = ""
            later = gift if told and told not in self.referred else replace(gift, far=("{0}",), about={})
            self.referred.add(told)
            self.facts[kind] = Fact(
                value, later, said if later is gift else {}, len(self.calls) - 1,
                {each: step.arguments[parameter] for each, parameter in gift.about.items()},
            )  # fmt: skip

    def _facts_for(self, move: Move) -> dict[str, tuple[Fact, str]]:
        """The parameters that can take an earlier result, with the words for it."""
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
        """The user's words for an earlier result; ``None`` if they would be unclear."""
        near = fact.call == len(self.calls) - 1
        pattern = spoken(self.rng, self.rng.choice(fact.gift.near if near else fact.gift.far))
        try:
            return pattern.format(**fact.said)
        except (KeyError, IndexError):
            return None

    def _carried_out(self, step: Step) -> tuple[Any] | None:
        """The raw result in a tuple, ``None`` for an error; a list in place of an object is a refusal in words."""
        name, tool, arguments = step.domain.simulator, step.move.tool, step.arguments
        result: Any = None
        try:
            result = self.simulators[name].invoke(tool, (), arguments)
            text = serialise(result)
        except Exception as error:  # whatever a tool raises makes the move impossible here
            text = error_text(error)
        self.made.append((name, tool, dict(arguments), text))
        return None if is_error(text) or isinstance(result, list) else (pickle.loads(pickle.dumps(result)),)

    # -- conditions ----------------------------------------------------------------------------------------------

    def moves_of(self, suits: Callable[[Move], bool], only: Domain | None = None) -> Iterator[tuple[Domain, Move]]:
        """The possible moves now."""
        for name in self.active:
            domain = DOMAINS[name]
            if only in (None, domain) and not domain.locked(self.simulators[name]):
                yield from ((domain, move) for move in domain.moves
                            if suits(move) and not (move.once and move in self.moves))  # fmt: skip

    def kept(self) -> tuple[Any, ...]:
        """The whole state, for `restore`."""
        return (pickle.dumps(self.simulators), self.configs, list(self.calls), list(self.made), list(self.moves),
                dict(self.facts), set(self.referred), {key: list(each) for key, each in self.said.items()})  # fmt: skip

    def restore(self, kept: tuple[Any, ...]) -> None:
        """Restore a saved state."""
        self.simulators = pickle.loads(kept[0])
        self.configs, self.calls, self.made, self.moves, self.facts, self.referred, self.said = kept[1:]

    def edited(self, domain: Domain, edit: Edit, arguments: Parsed, value: Any, holds: bool = True) -> bool:
        """Change the world from the start; ``False`` without any change if earlier results would differ."""
        try:
            config = copy.deepcopy(self.configs[domain.simulator])
            edit(config, arguments, value, holds)
            configs = {**self.configs, domain.simulator: config}
            simulators = {name: create_simulator(name, configs[name]) for name in self.active}
        except Exception:  # the world does not bear it
            return False
        if any(simulators[name].call(tool, given) != text for name, tool, given, text in self.made):
            return False
        self.configs, self.simulators = configs, simulators
        return True

    def looked(self, step: Step) -> Any:
        """The result of a call now, ``None`` for an error; changes nothing."""
        kept = self.kept()
        result = self._carried_out(step)
        self.restore(kept)
        return None if result is None else result[0]

    def settle(self, steps: Sequence[Step]) -> None:
        """Execute a condition's calls; nothing later refers to their results."""
        for step in steps:
            self._carried_out(step)
            self.calls.append(step.call)
            self.moves.append(step.move)
        self.facts.clear()

    def alternatives(self, domain: Domain, move: Move, kind: str, things: Sequence[Any]) -> list[Step] | None:
        """The same call for each of these things, if it works for each."""
        step = self.step(domain, move)
        if step is None:
            return None
        parameter = next(name for name, each in move.takes.items() if each == kind)
        found: list[Step] = []
        for thing in things:
            given = {**step.arguments, parameter: move.given(parameter, thing)}
            made = Step(domain, move, dict(step.phrases), step.drawn, given)
            fits = move.fits is None or move.fits(self.simulators[domain.simulator], given)
            if not fits or made.call in self.calls or self.looked(made) is None:
                return None
            found.append(made)
        return found

    def words(self, steps: Sequence[Step], vague: str | None = None) -> str:
        """The user's words for these calls; ``vague``: the parameter whose value is missing (of the only call)."""
        rng, first = self.rng, steps[0]
        told = [dict(step.phrases) for step in steps]
        if vague is not None:
            told[0][vague] = spoken(rng, rng.choice(first.drawn[vague][0].vague))
        asked = first.move.ask and rng.random() < 0.4
        question = capital(spoken(rng, rng.choice(first.move.ask)).format(**told[0])) if asked else None
        clauses = [clause(rng, step.move.say, each) for step, each in zip(steps, told, strict=True)]
        said = request(rng, clauses[1:] if asked else clauses, question)
        return self.with_facts(said, [step.domain.simulator for step in steps])

    def with_facts(self, said: str, names: Sequence[str]) -> str:
        """The words with everything that must be known before a simulator's first use."""
        for name in dict.fromkeys(names):
            domain, config = DOMAINS[name], self.configs[name]
            if domain.told and name not in self.opened and not domain.locked(create_simulator(name, config)):
                said = f"{spoken(self.rng, self.rng.choice(domain.told)).format(**config)} {said}"
            self.opened.append(name)
        return said
