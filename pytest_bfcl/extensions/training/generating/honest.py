"""The honest policy: it reads only the messages it gets (request, tools, results), and does what is requested.

It knows the language of requests (moves and conditions with their words), but neither ground truth nor state. A set has
only tasks that it solves, so every task can be solved by reading.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, product
from typing import Any, NamedTuple

from pytest_bfcl.checkers.entries import is_error
from pytest_bfcl.extensions.lab.literals import dates
from pytest_bfcl.extensions.training.generating.conditions import CHOSEN, FRAMES, LOWER, ConditionKind, suits
from pytest_bfcl.extensions.training.generating.domains import DOMAINS
from pytest_bfcl.extensions.training.generating.draft import Fact
from pytest_bfcl.extensions.training.generating.language import reading, value_text
from pytest_bfcl.extensions.training.generating.moves import NUMBER, TEXT, WORD, Domain, Gift, Kind, Move
from pytest_bfcl.extensions.training.generating.reach import value_of
from pytest_bfcl.simulators import simulator_class

Said = Generator[tuple[str, dict[str, Any]], str, None]
"""Calls one at a time; each result is sent back."""
_DATE = r"\d{4}-\d\d-\d\d|[A-Z][a-z]+ \d+, \d{4}|\d+ [A-Z][a-z]+ \d{4}"
_LIST = rf"{WORD}(?:, {WORD})*(?: and [@#A-Z\d]{WORD})?"
LONGEST_SUPPLY = 240
"""Most characters of the sentences with which a user gives a forgotten value."""
_END = r"(?:\.(?=\s|$)|(?<=[.!?]\")(?=\s|$))"
"""The end of a sentence, which may also be inside a quotation."""


class Clause(NamedTuple):
    """A requested move, with the words for its parameters, and its position in the text."""

    domain: Domain
    move: Move
    words: Mapping[str, str]
    begin: int
    end: int


class Asked(NamedTuple):
    """A condition as stated."""

    kind: ConditionKind
    first: Sequence[Clause]
    act: Clause | None
    other: Clause | None
    limit: float
    lower: bool
    state: str


def _slot(domain: Domain, move: Move, parameter: str) -> str:
    """Possible values of a parameter: words for earlier results, for a forgotten value, or a value."""
    name = move.takes[parameter]
    kind = domain.kinds.get(name)
    meant = [each for gift in _gifts(name) for each in (*gift.near, *gift.far) if each]
    found = [reading(each, _Anything(), named=False) for each in (*meant, *(kind.vague if kind else ()), *CHOSEN)]
    if kind is not None:
        word = _type(domain, move, parameter)
        found += [_value(kind, word, each) for each in sorted(kind.said, key=len, reverse=True)]
    return "|".join(dict.fromkeys(found))


class _Anything(dict[str, str]):
    def get(self, name: str, default: Any = None) -> Any:
        return r"[^;?!]+?"


@cache
def _gifts(kind: str) -> list[Gift]:
    """The parts of results that are of this kind, in every domain."""
    moves = (move for domain in DOMAINS.values() for move in domain.all_moves)
    return [move.gives[kind] for move in moves if kind in move.gives]


@cache
def _types(simulator: str) -> Mapping[str, Mapping[str, Any]]:
    documents = simulator_class(simulator).documents()
    return {str(each["name"]): each["parameters"]["properties"] for each in documents}


def _type(domain: Domain, move: Move, parameter: str) -> str:
    if parameter in move.shape:
        return "integer" if move.shape[parameter] == "priority" else "string"
    return str(_types(domain.simulator)[move.tool][parameter]["type"])


def _form(kind: Kind, word: str, said: str = "") -> str:
    if kind.form:
        return kind.form
    if kind.show:
        return _DATE
    return TEXT if '"' in said else {"integer": NUMBER, "float": NUMBER, "array": _LIST}.get(word, WORD)


def _value(kind: Kind, word: str, said: str, named: str = "") -> str:
    form = _form(kind, word, said)
    return reading(said, {"": f"(?P<{named}>{form})" if named else form}, named=False)


@cache
def _clauses(simulator: str) -> list[tuple[Move, re.Pattern[str]]]:
    domain = DOMAINS[simulator]
    found = []
    for move in domain.all_moves:
        slots = {name: _slot(domain, move, name) for name in move.takes}
        found += [(move, re.compile(r"(?<!\w)" + reading(text, slots) + r"(?!\w)")) for text in (*move.say, *move.ask)]
    return found


@cache
def _frames() -> list[tuple[ConditionKind, re.Pattern[str]]]:
    """The continuation after the first call of a condition."""
    slots = {"limit": r"-?\d+", "sense": r"\w+", **dict.fromkeys(("second", "act", "other", "state", "noun"), ".+?")}
    rests = [
        (kind, re.split(r"\{[Ff]irst\}", text)[1].removesuffix(".")) for kind, texts in FRAMES.items() for text in texts
    ]
    told = [(kind, reading(text, slots).replace(r"\.", _END).removesuffix("+?)") + "+)") for kind, text in rests]
    return [(kind, re.compile(text, re.DOTALL)) for kind, text in told]


def read_clauses(text: str, simulators: Sequence[str]) -> list[Clause]:
    """The requests of a text in order; of overlapping matches the longest."""
    found = [
        Clause(DOMAINS[name], move, match.groupdict(), match.start(), match.end())
        for name in simulators for move, pattern in _clauses(name) for match in pattern.finditer(text)
    ]  # fmt: skip
    kept: list[Clause] = []
    for clause in sorted(found, key=lambda each: (each.begin - each.end, each.begin)):
        if all(clause.end <= other.begin or clause.begin >= other.end for other in kept):
            kept.append(clause)
    return sorted(kept, key=lambda each: each.begin)


def read_condition(text: str, simulators: Sequence[str]) -> Asked | None:
    """The condition of a text, if any."""
    for first in read_clauses(text, simulators):
        for kind, pattern in _frames():
            match = pattern.match(text, first.end) if suits(first.move, kind) else None
            found = match and _asked(kind, first, match.groupdict(), simulators)
            if found:
                return found
    return None


_NEEDED: Mapping[ConditionKind, tuple[str, ...]] = {
    "if_fails": ("other",), "if_less": ("act", "other"), "unless": ("act",), "whichever": ("second", "act"),
}  # fmt: skip


def _asked(kind: ConditionKind, first: Clause, parts: Mapping[str, str], simulators: Sequence[str]) -> Asked | None:
    last = _NEEDED[kind][-1]
    read = {name: _whole(parts[name], simulators, last=name == last) for name in _NEEDED[kind]}
    if None in read.values():
        return None
    second = read.get("second")
    looks = [first, second] if second else [first]
    state, lower = parts.get("state") or "", parts.get("sense") in LOWER
    return Asked(kind, looks, read.get("act"), read.get("other"), float(parts.get("limit", 0)), lower, state)


def _whole(text: str, simulators: Sequence[str], *, last: bool) -> Clause | None:
    """The clause that a part of a sentence is; the first of what stands last, where asides follow."""
    text = text.strip()
    found = read_clauses(text, simulators)
    if not found or found[0].begin > 1 or (not last and found[0].end < len(text) - 1):
        return None
    return found[0]


@dataclass(slots=True)
class Honest:
    """One conversation: `calls` for the user's words, given the available tools."""

    facts: dict[str, Fact] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    waiting: Clause | None = None
    """Requests that could not be done yet."""

    def calls(self, text: str, tools: Sequence[str]) -> Said:
        """The calls for a user's message; its text is empty if functions arrived."""
        simulators = [name for name in DOMAINS if {*_types(name)} & {*tools}]
        self._hear(text, simulators)
        if self.waiting is not None:
            clause, self.waiting = self.waiting, None
            yield from self._do(clause, tools, text)
            return
        asked = read_condition(text, simulators)
        if asked is not None:
            yield from self._conditioned(asked, tools)
            return
        for clause in read_clauses(text, simulators):
            yield from self._do(clause, tools)
            if self._waits():
                return

    def _waits(self) -> bool:
        return self.waiting is not None

    def _hear(self, text: str, simulators: Sequence[str]) -> None:
        for name in simulators:
            for template in DOMAINS[name].told:
                match = re.search(reading(template, {"access_token": WORD}), text)
                if match is not None:
                    self.told[DOMAINS[name].tells] = match["access_token"]

    def _do(self, clause: Clause, tools: Sequence[str], supplied: str = "") -> Said:
        arguments = self._arguments(clause, supplied)
        if arguments is None or clause.move.tool not in tools:
            self.waiting = clause
            return
        self._note(clause, (yield clause.move.tool, arguments))

    def _conditioned(self, asked: Asked, tools: Sequence[str]) -> Said:
        results: list[tuple[dict[str, Any], str]] = []
        for clause in asked.first:
            arguments = self._arguments(clause)
            if arguments is None:
                return
            results.append((arguments, (yield clause.move.tool, arguments)))
        given, text = results[0]
        found, move = value_of(text), asked.first[0].move
        next_one: Clause | None
        chosen: object = None
        if asked.kind == "if_fails":
            next_one = asked.other if is_error(text) else None
        elif asked.kind == "if_less" and move.measure:
            next_one = asked.act if move.measure.path(found) < asked.limit else asked.other
        elif asked.kind == "unless" and move.state:
            next_one = None if self._holds(asked, given, found) else asked.act
        else:
            next_one, chosen = asked.act, self._chosen(asked, results)
        if next_one is not None and (arguments := self._arguments(next_one, chosen=chosen)) is not None:
            yield next_one.move.tool, arguments

    def _holds(self, asked: Asked, given: Mapping[str, Any], found: Any) -> bool:
        clause = asked.first[0]
        state = clause.move.state
        assert state is not None
        kind = clause.domain.kinds[state.kind] if state.kind else None
        match = re.fullmatch(reading(state.says, {"value": _form(kind, "string") if kind else ""}), asked.state)
        return state.holds(given, found, match["value"] if match and kind else "")

    def _chosen(self, asked: Asked, results: Sequence[tuple[dict[str, Any], str]]) -> object:
        measure = asked.first[0].move.measure
        assert measure is not None
        assert measure.subject is not None
        values = [measure.path(value_of(text)) for _, text in results]
        place = values.index(min(values) if asked.lower else max(values))
        return measure.subject[1](results[place][0], value_of(results[place][1]))

    def _arguments(self, clause: Clause, supplied: str = "", chosen: object = None) -> dict[str, Any] | None:
        move = clause.move
        found: dict[str, Any] = dict(move.fixed)
        for parameter, name in move.takes.items():
            words = clause.words.get(parameter)
            kind = clause.domain.kinds.get(name)
            value = chosen if words in CHOSEN and chosen is not None else self._meant(name, words)
            if value is None and kind is not None and words is not None:
                word = _type(clause.domain, move, parameter)
                value = None if words in kind.vague else _said(kind, word, words)
                if value is None and supplied:
                    value = _supplied(kind, word, supplied)
            if value is None:
                return None
            found[parameter] = move.given(parameter, value)
        return found

    def _meant(self, name: str, words: str | None) -> Any:
        """The earlier result, or the user's value, that words refer to."""
        fact = self.facts.get(name)
        if words is None:
            return fact.value if fact else self.told.get(name)
        if fact is None:
            return None
        near = any(re.fullmatch(reading(each, {}, named=False), words) for each in fact.gift.near)
        return fact.value if near or any(_refers(each, fact.said, words) for each in fact.gift.far) else None

    def _note(self, clause: Clause, result: str) -> None:
        if is_error(result):
            return
        move = clause.move
        said = {name: words for name, words in clause.words.items() if words} | {
            name: value_text(value) for name, value in move.fixed.items()
        }
        for kind, gift in move.gives.items():
            with suppress(KeyError, TypeError, IndexError, AttributeError):  # the result is another than was meant
                value = gift.path(value_of(result))
                if value is not None and value != []:
                    self.facts[kind] = Fact(value, gift, said)


def _refers(pattern: str, said: Mapping[str, str], words: str) -> bool:
    """Whether words refer to the result of a call with these phrases; they may be shortened."""
    match = re.fullmatch(reading(pattern, dict.fromkeys(said, ".+")), words)
    return match is not None and all(part in said[name] for name, part in match.groupdict().items())


def _said(kind: Kind, word: str, words: str) -> Any:
    for pattern in kind.said:
        if match := re.fullmatch(_value(kind, word, pattern, "v"), words):
            return _cast(kind, word, match["v"])
    return None


def _supplied(kind: Kind, word: str, text: str) -> Any:
    """The value that a user gave later, in some sentences of a message."""
    ends = [0, *(found.end() for found in re.finditer(r"[.!?]\"? ", text)), len(text)]
    runs = [text[begin:end].strip() for begin, end in combinations(ends, 2) if end - begin <= LONGEST_SUPPLY]
    for told, said in product(kind.told, kind.said):
        phrase = _value(kind, word, said, "v")
        pattern = re.compile(reading(told, {"": f"(?:{phrase})"}, named=False).replace(r"\.", r"\.?"))
        for run in runs:
            if match := pattern.fullmatch(run):
                return _cast(kind, word, match["v"])
    return None


def _cast(kind: Kind, word: str, text: str) -> Any:
    if kind.show:
        return next((f"{y:04}-{m:02}-{d:02}" for y, m, d in dates(text)), None)
    if word == "array":
        parts = [each for each in re.split(r", | and ", text) if each]
        return [float(each) for each in parts] if all(re.fullmatch(NUMBER, each) for each in parts) else parts
    if word in ("integer", "float"):
        return float(text.replace(",", "")) if "." in text else int(text.replace(",", ""))
    return text
