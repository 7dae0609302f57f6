"""The material of tasks: kinds of values, moves (one call with words for it), and domains (a simulator's moves).

A move's words are clauses ("cancel {order_id}") and questions ("What does {symbol} cost?"), with choices (`.language`);
each parameter in braces is replaced by a noun phrase for its value or for an earlier result. Domains are tables, one
file each in `domains/`. What a table cannot say is a rule of `domains.rules`, named by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from random import Random
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, TypeAdapter, ValidationInfo
from pydantic.dataclasses import dataclass

from pytest_bfcl.extensions.training.generating import language
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import Simulator
from pytest_bfcl.simulators.toolkit import copied

Draw = Callable[[Any, Random], object]
"""Simulator and random numbers → a value that a user may name, ``None`` if the world has none."""
Edit = Callable[[Parsed, Mapping[str, Any], Any, bool], object]
"""Changes a configuration, given a call's arguments, a value, and whether it holds.

A measure gets this value; a state (of this value) holds or not; the call fails or not."""

Rules = Mapping[str, Callable[..., Any]]
"""The functions that a table names."""
_NO_NAME = r"(?!(?:the|a|an|my|its|that|this|those|it|and|with|what)\b)"
WORD = _NO_NAME + r'[^\s",;?:]*[^\s",;?:.!]'
NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?"
NAME = r"[A-Z][\w'.]*\w(?:\s[A-Z][\w'.]*\w)*"
TEXT = r'[^"]+'
"""The form of a value in text: a word, a number, a name, the inside of a quotation."""
_FORMS = {"NAME": NAME, "TEXT": TEXT}
_ROUGH = (0.25, 0.4, 0.5, 0.75, 0.9)

# -- what a table says in words ----------------------------------------------------------------------------------------


def _rule(told: str, info: ValidationInfo) -> Callable[..., Any]:
    """The function that a table names."""
    rules: Rules = info.context or {}
    return rules[told]


def _draw(told: Any, info: ValidationInfo) -> Draw:
    """A rule by name, or a usual one: ``one_of``, ``among``, ``whole``, ``amount``, ``attribute``, ``words``."""
    match told:
        case str():
            return _rule(told, info)
        case {"one_of": values}:
            return lambda simulator, rng: rng.choice(values)
        case {"among": name}:
            return lambda simulator, rng: rng.choice(sorted(getattr(simulator, name)))
        case {"whole": [low, high, *step], **rest}:
            written = rest.get("written", "")

            def whole(simulator: object, rng: Random) -> object:
                found = rng.randrange(low, high + 1, *step)
                return str(written).format(found) if written else found

            return whole
        case {"amount": [low, high]}:  # never whole: `5` and `5.0` are other texts in results
            return lambda simulator, rng: rng.randrange(low, high) + rng.choice(_ROUGH)
        case {"attribute": name}:
            return lambda simulator, rng: getattr(simulator, name)
        case {"words": name}:
            return lambda simulator, rng: getattr(language, name)(rng, language.topic(rng))
    raise ValueError(f"no way to draw: {told}")


def _edit(told: Any, info: ValidationInfo) -> Edit:
    """A rule by name; ``listed``: a value in a list or not; or what is ``at`` a place of the configuration.

    That is ``yes`` or ``no``, or the value and ``plus`` (a fraction, so that it equals no limit). A place is keys with
    arguments in braces, and ids in lists.
    """
    if isinstance(told, str):
        return _rule(told, info)
    if name := told.get("listed"):

        def listed(config: Parsed, given: Mapping[str, Any], value: Any, holds: bool) -> None:
            config[name] = [each for each in config[name] if each != value] + [value] * holds

        return listed
    *steps, last = told["at"].split(".")

    def edit(config: Any, given: Mapping[str, Any], value: Any, holds: bool) -> None:
        for step in steps:
            key = step.format(**given)
            config = next(e for e in config if str(e["id"]) == key) if isinstance(config, list) else config[key]
        if "yes" in told:
            config[last] = copied(told["yes" if holds else "no"])
        else:
            config[last] = round(value + told["plus"], 2) if "plus" in told else int(value)

    return edit


def _fits(told: Any, info: ValidationInfo) -> Callable[[Any, Any], bool]:
    """A rule by name, or attributes of the simulator with their values."""
    if isinstance(told, str):
        return _rule(told, info)
    return lambda simulator, given: all(getattr(simulator, name) == value for name, value in told.items())


def _path(told: Any, info: ValidationInfo) -> Callable[[Any], Any]:
    """A rule by name, or the place of a value in a result: keys and positions separated by dots."""
    if callable(told) or told in (info.context or {}):
        return told if callable(told) else _rule(told, info)
    steps = [int(each) if each.isdigit() else each for each in told.split(".")]

    def path(result: Any) -> Any:
        for step in steps:
            result = result[step]
        return result

    return path


def _subject(told: str) -> Callable[[Mapping[str, Any], Any], object]:
    """``arguments.NAME`` or ``result.NAME``."""
    source, _, place = told.partition(".")
    return lambda given, result: (given if source == "arguments" else result)[place]


Change = Annotated[Edit, BeforeValidator(_edit)]
_TABLE = ConfigDict(extra="forbid")
Path = Annotated[Callable[[Any], Any], BeforeValidator(_path)]

# -- what a domain consists of -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, config=_TABLE)
class Kind:
    """A kind of value that users name.

    ``said``: noun phrases with ``{}`` for the value. ``vague``: the words of a user who forgets the value; ``told``:
    those that give it later, with ``{}`` for a noun phrase. ``again``: an earlier value is likely to be used again
    (subjects of a conversation). ``form``: an expression for the written value, if it is not a usual one.
    """

    draw: Annotated[Draw, BeforeValidator(_draw)] = lambda simulator, rng: None
    said: tuple[str, ...] = ("{}",)
    vague: tuple[str, ...] = ()
    told: tuple[str, ...] = (
        "[Sorry|Right|Ah|Oh], [I mean|I meant|that is|it is] {}.", "[It's|That's|It would be] {}.", "{}, please.",
        "I forgot to [say|mention]: {}.",
    )  # fmt: skip
    again: bool = False
    show: Annotated[Callable[[Any, Random], str], BeforeValidator(_rule)] | None = None
    """The written form of the value, if it differs (dates)."""
    form: Annotated[str, AfterValidator(lambda form: _FORMS.get(form, form))] | None = None


@dataclass(frozen=True, slots=True, config=_TABLE)
class Gift:
    """A value in a result: its place, and the user's words for it soon after (``near``) and later (``far``).

    Phrases may name the arguments of the call that gave it. ``about``: further subjects of a call that uses it (kind →
    parameter of the call that gave it): a stock's price belongs to that stock.
    """

    path: Path
    near: tuple[str, ...]
    far: tuple[str, ...]
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, config=_TABLE)
class Measure:
    """A number that a call finds, for conditions (less than …, whichever is lower).

    ``noun``: its name; ``limits``: numbers to compare it with; ``edit``: sets it in a world, ``None`` if it follows
    from the arguments; ``subject``: the kind of the measured thing, and the place of its value, from arguments and
    result.
    """

    noun: str
    path: Path
    limits: tuple[int | float, ...] = ()
    edit: Change | None = None
    subject: tuple[str, Annotated[Callable[[Any, Any], object], BeforeValidator(_subject)]] | None = None
    whole: bool = True


@dataclass(frozen=True, slots=True, config=_TABLE)
class State:
    """A fact that is true or not in a call's result: ``says``, with ``{value}`` of a kind (``kind``) if any.

    It is true by a ``rule``, or if what is at ``path`` has the value, ``equals`` this, or exists. ``edit``: makes it
    true or false, given the value.
    """

    says: str
    path: Path | None = None
    equals: Any = None
    rule: Annotated[Callable[[Any, Any, Any], bool], BeforeValidator(_rule)] | None = None
    edit: Change | None = None
    kind: str | None = None

    def holds(self, given: Mapping[str, Any], result: Any, value: Any) -> bool:
        """Whether it is true, from arguments, result and value."""
        if self.path is None:
            return self.rule is not None and self.rule(given, result, value)
        there = self.path(result)
        return bool(value in there if self.kind else there if self.equals is None else there == self.equals)


@dataclass(frozen=True, slots=True, config=_TABLE)
class Move:
    """One call with words for it.

    ``takes``: parameter → kind. ``fixed``: parameters whose value the words imply. ``gives``: kind → its part of the
    result. ``once``: not twice in one conversation. ``weight``: its frequency. ``after``: kinds that must come from an
    earlier result. ``fits``: whether the arguments make sense in the simulator's state. ``measure``, ``state`` and
    ``fails`` (makes the call fail in a world, or work) are the parts of conditions.
    """

    tool: str
    say: tuple[str, ...]
    why: tuple[str, ...] = ()
    """Reasons for the request: sentences next to it."""
    takes: Mapping[str, str] = field(default_factory=dict)
    ask: tuple[str, ...] = ()
    fixed: Mapping[str, object] = field(default_factory=dict)
    gives: Mapping[str, Gift] = field(default_factory=dict)
    once: bool = False
    weight: float = 1.0
    after: tuple[str, ...] = ()
    fits: Annotated[Callable[[Any, Mapping[str, Any]], bool], BeforeValidator(_fits)] | None = None
    shape: Mapping[str, str] = field(default_factory=dict)
    """Parameters that are objects: parameter → the only key, which holds the value."""
    leads: tuple[str, ...] = ()
    """Tools that usually come next."""
    measure: Measure | None = None
    state: State | None = None
    fails: Change | None = None

    def given(self, parameter: str, value: Any) -> Any:
        """The value as the parameter takes it."""
        return {self.shape[parameter]: value} if parameter in self.shape else value


@dataclass(frozen=True, slots=True, config=_TABLE)
class Domain:
    """A simulator as a source of tasks.

    ``world``: its starting configuration. ``scenes``: sentences before the first request. ``told``: sentences required
    before the first call, with fields of the configuration, unless the world is locked. Then the move ``first`` (a
    login) must come before all others.
    """

    simulator: str
    world: Callable[[Random], Parsed]
    kinds: Mapping[str, Kind]
    moves: tuple[Move, ...]
    scenes: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    first: Move | None = None
    open_once: str = ""
    """The attribute of a simulator that is empty before the login; none without a login."""
    tells: str = ""
    """The kind of the value in ``told``."""

    def locked(self, simulator: Simulator) -> bool:
        """Whether the login has not happened yet."""
        return bool(self.open_once) and not getattr(simulator, self.open_once)

    @property
    def all_moves(self) -> tuple[Move, ...]:
        """Moves including the login."""
        return (*self.moves, self.first) if self.first else self.moves


def domain_of(table: str, simulator: str, world: Callable[[Random], Parsed], rules: Rules) -> Domain:
    """The domain of ``domains/TABLE.toml``."""
    told = language.with_synonyms(language.table(f"domains/{table}"))
    first = next((each for each in told["moves"] if each.pop("first", False)), None)
    moves = [each for each in told["moves"] if each is not first]
    told |= {"simulator": simulator, "world": world, "moves": moves, "first": first}
    return TypeAdapter(Domain).validate_python(told, context=rules)
