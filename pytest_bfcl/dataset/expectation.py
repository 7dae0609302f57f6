"""Expectations after a turn of an entry on a user's MCP server: the text, the calls, the state.

This module has their shapes and values; `pytest_bfcl.checkers.expectations` compares them with a transcript.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pytest_bfcl.dataset.served_entry import check_path, portable_name
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.suggestions import did_you_mean, instead_of
from pytest_bfcl.tools.json_schema import fits_schema, unresolved_reference, value_schema_problem
from pytest_bfcl.tools.patterns import pattern_of

MOST_STEPS = 20
_CONDITIONS = frozenset(("equals", "contains", "matches", "schema", "exists"))
_BESIDE = frozenset(("optional", "tolerance"))
ABSENT = "(absent)"
"""The only key of the object that records a missing value."""
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d{1,6}|\*)\]|\[\"([^\"]{1,200})\"\]|\['([^']{1,200})'\]")

Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(ge=0, strict=True)]
Name = Annotated[str, Field(min_length=1)]
Names = Name | Annotated[list[Name], Field(min_length=1)]
Accepted = Annotated[str, Field(pattern=r"\S")] | Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Values(BaseModel):
    """The condition of a value: exactly one of ``equals``, ``contains``, ``matches``, ``schema``, ``exists``.

    In Python a function may stand for any value (`Tested`).
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    equals: Any = Field(default=None, description="What it must be: any JSON value.")
    contains: Any = Field(
        default=None,
        description="What it must contain: a text in the text; of an object these fields, each likewise; of a list "
        "these items, each likewise.",
    )
    matches: str | None = Field(
        default=None, description="A regular expression that must be found in its text (no look-around, no references)."
    )
    valid_by: Parsed | None = Field(default=None, alias="schema", description="A JSON Schema it must be valid by.")
    exists: Flag | None = Field(default=None, description="Whether there must be such a thing at all.")
    optional: Flag = Field(default=False, description="Of an argument: it may be left out.")
    tolerance: float | None = Field(
        default=None, ge=0, strict=True, allow_inf_nan=False,
        description="How far numbers may be from equals, contains or a number in answer.",
    )  # fmt: skip

    @field_validator("matches")
    @classmethod
    def _readable(cls, text: str | None) -> str | None:
        if text is not None:
            pattern_of(text)
        return text

    @field_validator("valid_by")
    @classmethod
    def _is_schema(cls, schema: Parsed | None) -> Parsed | None:
        if schema is not None and (problem := value_schema_problem(schema) or unresolved_reference(schema)):
            raise ValueError(problem)
        return schema

    @model_validator(mode="after")
    def _about_numbers(self) -> Values:
        if self.tolerance is not None and not any(map(_has_number, self._measured)):
            raise ValueError("tolerance is about numbers, in equals, contains or answer: there is none")
        if self.optional and self.exists is not None:
            raise ValueError("exists and optional contradict each other")
        return self

    @property
    def _measured(self) -> list[Any]:
        """The conditions that allow a tolerance."""
        return [getattr(self, name) for name in ("equals", "contains") if name in self.model_fields_set]

    @property
    def conditions(self) -> set[str]:
        """The one that is set."""
        return {"equals", "contains", "matches", "valid_by", "exists"} & self.model_fields_set

    @property
    def wanted(self) -> Any:
        """The condition in words."""
        name = next(iter(self.conditions), "equals")
        value = getattr(self, name)
        return value if name in ("equals", "contains") else {name.replace("valid_by", "schema"): value}

    def holds(self, told: Any, *, there: bool = True) -> bool:
        """Whether a value meets the condition; ``there``: whether a value exists."""
        if self.exists is not None:
            return there == self.exists
        if not there:
            return self.optional
        if self.valid_by is not None:
            return fits_schema(self.valid_by, told)
        if self.matches is not None:
            return pattern_of(self.matches).is_in(told if isinstance(told, str) else json_text(told))
        if "equals" in self.model_fields_set:
            return same(self.equals, told, self.tolerance or 0)
        return contained(self.contains, told, self.tolerance or 0)


class CalledTool(BaseModel):
    """One expected call: a tool (or one of several), and conditions of some of its arguments."""

    model_config = ConfigDict(extra="forbid")

    called: Names = Field(description="A tool of the server, by either of its names; several: any of them.")
    arguments: Parsed = Field(
        default_factory=dict,
        description='Parameter → value, or {"equals" | "contains" | "matches" | "schema" | "exists": …, "tolerance", '
        '"optional"}; parameters that are not named may be anything.',
    )
    closed: Flag = Field(default=False, description="Whether no other argument may be given.")

    @field_validator("arguments")
    @classmethod
    def _readable(cls, arguments: Parsed) -> Parsed:
        for value in arguments.values():
            argument_rule(value)
        return arguments

    @property
    def names(self) -> list[str]:
        """The tools."""
        return [self.called] if isinstance(self.called, str) else self.called


Listed = list[str | CalledTool]
Steps = list[str | CalledTool | Listed]


@dataclass(frozen=True, slots=True, repr=False)
class Tested:
    """A function that tests a value in Python's expectations; ``name`` is for messages."""

    test: Callable[[Any], object]
    name: str

    def holds(self, told: Any) -> bool:
        """The function's result for a value; a value for which it raises a common error is not right.

        Raises `UsageError` for a function that returns nothing, or fails in another way.
        """
        try:
            found = self.test(told)
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
            return False
        except Exception as error:
            raise UsageError(f"{self.name} raised {type(error).__name__}: {str(error)[:200]}") from None
        if found is None or inspect.isawaitable(found):
            raise UsageError(f"{self.name} returned {type(found).__name__}: return whether the value is right")
        return bool(found)

    def __repr__(self) -> str:
        return self.name


class State(BaseModel):
    """A place in the state: a call or a resource of the server, a file of the trial's directory, its files, a
    database."""

    model_config = ConfigDict(extra="forbid")

    call: str | None = Field(default=None, description="A tool of the server that tells it.")
    arguments: Parsed = Field(default_factory=dict, description="Of that call.")
    resource: str | None = Field(default=None, description="The address of a resource of the server.")
    file: str | None = Field(default=None, description="A file in the trial's own directory; JSON is read as JSON.")
    files: str | None = Field(default=None, description="A pattern (**/*.txt): the paths of all files that it finds.")
    sql: str | None = Field(default=None, description="A SELECT on the SQLite database in file: a list of rows.")
    path: str | None = Field(default=None, description='Where in it: $.items[0].price, $.items[*].id, $["a b"].')

    @model_validator(mode="after")
    def _one_place(self) -> State:
        asked = [name for name in ("call", "resource", "file", "files") if getattr(self, name) is not None]
        if len(asked) != 1 or (self.sql is not None and self.file is None):
            raise ValueError("a state has one of call, resource, file, files; sql goes with file")
        if self.file is not None:
            check_path(self.file)
        if self.files is not None:
            check_path(self.files)
        if self.path is not None:
            steps_of(self.path)
        return self

    @property
    def subject_text(self) -> str:
        """The place in words."""
        where = f" at {self.path}" if self.path else ""
        if self.call is not None:
            given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
            return f"{self.call}({given}){where}"
        if self.sql is not None:
            return f"{self.sql} in {self.file}{where}"
        kind, name = next((kind, value) for kind in ("resource", "file", "files") if (value := getattr(self, kind)))
        return f"{kind} {name}{where}"


class Expectation(Values):
    """One assertion about the text, the calls, or the state."""

    turn: Count | None = Field(default=None, description="After which turn, from 0; default: the last one.")
    answer: Accepted | Annotated[list[Accepted], Field(min_length=1)] | None = Field(
        default=None,
        description="Texts, one of which the turn's last message must contain as words of its own, or numbers, one of "
        "which it must name within tolerance.",
    )
    said: Flag | None = Field(default=None, description="With matches or contains: true, of the turn's last message.")
    call: str | None = Field(default=None, description="A tool of the server that tells the state to look at.")
    arguments: Parsed = Field(default_factory=dict, description="Of that call, or of the call that is looked for.")
    resource: str | None = Field(default=None, description="Or the address of a resource of the server.")
    state: State | None = Field(default=None, description="Or any other place: files, databases, a path into JSON.")
    called: Names | None = Field(
        default=None, description="A tool of which a call was carried out by then: sent, and answered without an error."
    )
    attempted: Names | None = Field(
        default=None, description="A tool that the model called by then, whatever came of it."
    )
    not_called: Names | None = Field(
        default=None,
        description='A tool that the model must not have called by then, whatever came of it; "*": none at all.',
    )
    closed: Flag | None = Field(default=None, description="With arguments: whether no others may be given.")
    count: Count | None = Field(default=None, description="With called or attempted: exactly so many such calls.")
    exact: Steps | None = Field(
        default=None,
        description="These calls were carried out and no others, in this order; a list among them is one step, in "
        "which the order does not matter.",
    )
    unordered: Listed | None = Field(
        default=None, description="These calls were carried out and no others, in any order."
    )
    superset: Listed | None = Field(
        default=None, min_length=1, description="These calls were carried out in any order, others too."
    )
    subset: Listed | None = Field(default=None, description="No calls but some of these were carried out.")
    in_order: Listed | None = Field(
        default=None, min_length=1, description="Calls carried out in this order, others between them."
    )
    at_least: int | None = Field(
        default=None, ge=1, strict=True, description="With superset or in_order: so many of the calls are enough."
    )
    max_calls: Count | None = Field(default=None, description="At most so many calls carried out by then, of any tool.")
    any_of: list[Expectation] | None = Field(default=None, min_length=1, description="One of these must hold.")
    only: list[str] | None = Field(
        default=None,
        description="With a look at the state: what else of the state may change, as paths (notes/*, shop.db#orders, "
        "$.items[0]). Without it nothing else may.",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Expectation:
        asked = [name for name in _KINDS if getattr(self, name) is not None]
        if len(asked) != 1:
            raise ValueError(f"an expectation has one of {', '.join(_KINDS)}")
        (kind,) = asked
        about_values = kind in ("call", "resource", "state", "said")
        if about_values != bool(self.conditions) or len(self.conditions) > 1:
            raise ValueError(
                "call, resource, state and said have one of equals, contains, matches, schema, exists; "
                "the others have none"
            )
        if self.optional:
            raise ValueError("optional belongs to the rule for an argument")
        if self.count is not None and kind not in ("called", "attempted"):
            raise ValueError("count belongs to called or attempted")
        if self.arguments and kind not in ("call", "called", "attempted", "not_called"):
            raise ValueError("arguments belong to call, called, attempted or not_called")
        if self.closed is not None and kind not in ("called", "attempted", "not_called"):
            raise ValueError("closed belongs to called, attempted, not_called, or to a call in a list")
        if kind in ("called", "attempted", "not_called"):
            for value in self.arguments.values():
                argument_rule(value)
        if self.at_least is not None and (kind not in ("superset", "in_order") or self.at_least > len(self.listed)):
            raise ValueError("at_least belongs to superset or in_order, and is at most the number of their calls")
        if self.only is not None and kind not in ("call", "resource", "state"):
            raise ValueError("only belongs to a look at the state: call, resource or state")
        if any(each.any_of is not None for each in self.any_of or ()):
            raise ValueError("any_of cannot contain any_of")
        return self

    @property
    def kind(self) -> str:
        """Its kind."""
        return next(name for name in _KINDS if getattr(self, name) is not None)

    @property
    def looked_at(self) -> State | None:
        """Its place in the state; ``None`` for assertions about the conversation."""
        if self.call is not None:
            return State(call=self.call, arguments=self.arguments)
        return State(resource=self.resource) if self.resource is not None else self.state

    @property
    def alternatives(self) -> list[Expectation]:
        """The assertions of ``any_of``, by default with the turn of the whole; else the assertion itself."""
        if self.any_of is None:
            return [self]
        return [e if e.turn is not None else e.model_copy(update={"turn": self.turn}) for e in self.any_of]

    @property
    def _measured(self) -> list[Any]:
        return [*super()._measured, *self.answers]

    @property
    def is_restraint(self) -> bool:
        """Whether it forbids something."""
        bounded = self.kind == "subset" or self.exact == [] or self.unordered == []
        return bounded or self.kind in ("not_called", "max_calls", "answer", "said") or self.count == 0

    @property
    def answers(self) -> list[str | float]:
        """The accepted texts and numbers."""
        return self.answer if isinstance(self.answer, list) else [] if self.answer is None else [self.answer]

    @property
    def wanted_call(self) -> CalledTool:
        """The expected calls of ``called``, ``attempted`` and ``not_called``."""
        named = self.called or self.attempted or self.not_called or []
        return CalledTool(called=named, arguments=self.arguments, closed=bool(self.closed))

    @property
    def steps(self) -> list[list[CalledTool]]:
        """The calls of ``exact``, ``unordered``, ``superset``, ``subset`` and ``in_order``: a list a step, else one
        list each."""
        given: list[Any] = [found for name in LISTS if (found := getattr(self, name)) is not None]
        listed: Steps = given[0] if given else []
        return [list(map(_as_call, each)) if isinstance(each, list) else [_as_call(each)] for each in listed]

    @property
    def listed(self) -> list[CalledTool]:
        """The same calls without their steps."""
        return [call for step in self.steps for call in step]

    @property
    def tools(self) -> list[CalledTool]:
        """Every call in it, those of alternatives too; ``*`` is no tool."""
        if self.any_of is not None:
            return [call for each in self.any_of for call in each.tools]
        named = self.called or self.attempted or self.not_called
        return [each for each in (*([self.wanted_call] if named else ()), *self.listed) if "*" not in each.names]

    def names_a_number(self, message: str) -> bool:
        """Whether the message has an accepted number, within the tolerance."""
        wanted = [each for each in self.answers if not isinstance(each, str)]
        if not wanted:
            return False
        said = [float(text.replace(",", "")) for text in _NUMBER.findall(message[:100_000])]
        return any(near(each, number, self.tolerance or 0) for each in wanted for number in said)


_KINDS = (
    "answer",
    "said",
    "call",
    "resource",
    "state",
    "called",
    "attempted",
    "not_called",
    "exact",
    "unordered",
    "superset",
    "subset",
    "in_order",
    "max_calls",
    "any_of",
)
LISTS = ("exact", "unordered", "superset", "subset", "in_order")
"""The kinds that compare the conversation's calls with a list of calls."""
_NUMBER = re.compile(
    r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?)(?!\w)"
)


def unknown_names(each: Expectation, tools: Mapping[str, Fields]) -> Iterator[str]:
    """Errors of an assertion: tools that are not offered, and parameters that they do not have.

    ``tools``: name → schema of its arguments, in either dialect.
    """
    known = {portable_name(name): (name, schema) for name, schema in tools.items()}
    for wanted in each.tools:
        for name in wanted.names:
            found = known.get(portable_name(name))
            if found is None:
                yield f"there is no tool {name!r}; {instead_of(name, list(tools))}"
                continue
            compared = {key: next(iter(argument_rule(rule)._measured), None) for key, rule in wanted.arguments.items()}
            yield from _unknown_parts(name, compared, found[1])


def _unknown_parts(place: str, given: Any, schema: Any) -> Iterator[str]:
    """Fields of expected arguments that their schema does not have, at every documented depth."""
    if not isinstance(schema, Mapping):
        return
    if isinstance(given, dict):
        parts = schema.get("properties")
        if not isinstance(parts, Mapping):
            if given and schema.get("type") in _SCALARS:
                told = did_you_mean(next(iter(given)), _CONDITIONS) or 'write {"equals": …} for a value'
                yield f"{place} is of type {schema['type']}, and {next(iter(given))!r} is no rule; {told}"
            return
        for name, value in given.items():
            if name in parts:
                yield from _unknown_parts(f"{place}.{name}", value, parts[name])
            elif schema.get("additionalProperties") in (None, False) and "patternProperties" not in schema:
                kind = "field" if "." in place else "parameter"
                yield f"{place} has no {kind} {name!r}; {instead_of(str(name), list(parts))}"
    elif isinstance(given, list):
        for each in given:
            yield from _unknown_parts(place, each, schema.get("items"))


_SCALARS = ("string", "integer", "number", "float", "boolean", "null")


def _as_call(each: str | CalledTool) -> CalledTool:
    return CalledTool(called=each) if isinstance(each, str) else each


def argument_rule(value: Any) -> Values:
    """The condition of an argument: a plain value must be equal. Raises `ValueError`."""
    if not isinstance(value, dict) or not value.keys() & (_CONDITIONS | _BESIDE):
        return Values(equals=value)
    known = _CONDITIONS | _BESIDE
    meant = '(an object that is meant as it stands: {"equals": {…}})'
    for name in value.keys() - known:
        if told := did_you_mean(str(name), known):
            raise ValueError(f"{name!r} is in no rule for a value; {told} {meant}")
    if value.keys() - known:
        return Values(equals=value)
    rule = Values.model_validate(value)
    if len(rule.conditions) != 1:
        raise ValueError(f"a rule for a value has one of equals, contains, matches, schema, exists {meant}")
    return rule


def steps_of(path: str) -> list[str | int]:
    """The steps of a path into JSON, ``*`` for every item. Raises `ValueError`."""
    steps: list[str | int] = []
    rest = path.removeprefix("$")
    while rest:
        found = _STEP.match(rest)
        if found is None or len(steps) >= MOST_STEPS:
            raise ValueError(f"{path[:80]!r} is no path: write it like $.items[0].price")
        name, index, double, single = found.groups()
        steps.append(name or double or single or ("*" if index == "*" else int(index)))
        rest = rest[found.end() :]
    return steps


def at_path(value: Any, path: str | None) -> tuple[Any, bool]:
    """The value at a path, and whether it exists; with ``*`` the list of all values."""
    return _at(value, steps_of(path)) if path else (value, True)


def _at(value: Any, steps: list[str | int]) -> tuple[Any, bool]:
    for number, step in enumerate(steps):
        if step == "*":
            items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
            found = [_at(item, steps[number + 1 :]) for item in items]
            return [item for item, there in found if there], True
        if isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None, False
    return value, True


def near(wanted: float, told: float, tolerance: float) -> bool:
    """Whether two numbers are within the tolerance; the last digit of a sum of floats does not count."""
    return abs(wanted - told) <= tolerance + 1e-9 * max(1.0, abs(wanted)) if tolerance else wanted == told


def same(wanted: Any, told: Any, tolerance: float = 0) -> bool:
    """Equal as JSON: numbers by value, true and 1 differ; a function in place of a value decides itself."""
    if isinstance(wanted, Tested):
        return wanted.holds(told)
    if isinstance(wanted, bool) or isinstance(told, bool):
        return wanted is told
    if isinstance(wanted, dict) and isinstance(told, dict):
        return wanted.keys() == told.keys() and all(same(each, told[name], tolerance) for name, each in wanted.items())
    if isinstance(wanted, list) and isinstance(told, list):
        pairs = zip(wanted, told, strict=False)
        return len(wanted) == len(told) and all(same(one, two, tolerance) for one, two in pairs)
    if isinstance(wanted, int | float) and isinstance(told, int | float):
        return near(wanted, told, tolerance) if math.isfinite(told) else False
    return bool(wanted == told)


def contained(wanted: Any, told: Any, tolerance: float = 0) -> bool:
    """Whether ``told`` contains all of ``wanted``."""
    if isinstance(wanted, str) and isinstance(told, str):
        return wanted in told
    if isinstance(wanted, dict) and isinstance(told, dict):
        return all(name in told and contained(each, told[name], tolerance) for name, each in wanted.items())
    if isinstance(told, list):
        listed = wanted if isinstance(wanted, list) else [wanted]
        return all(any(contained(each, item, tolerance) for item in told) for each in listed)
    return same(wanted, told, tolerance)


def _has_number(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def json_text(value: Any) -> str:
    """A value as the JSON text in which patterns are searched."""
    import json

    return json.dumps(value, ensure_ascii=False, default=str)
