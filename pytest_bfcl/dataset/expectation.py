"""Expectations after a turn of an entry on a user's MCP server: the text, the calls, the state.

This module has their shapes and values; `pytest_bfcl.checkers.expectations` compares them with a transcript.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from pytest_bfcl.dataset.likeness import contained, has_number, json_text, near, same, steps_of
from pytest_bfcl.dataset.served_entry import check_path
from pytest_bfcl.failures import did_you_mean
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.tools.json_schema import fits_schema, unresolved_reference, value_schema_problem
from pytest_bfcl.tools.patterns import pattern_of

CONDITIONS = frozenset(("equals", "contains", "matches", "schema", "exists"))
BESIDE = frozenset(("optional", "tolerance"))
ABSENT = "(absent)"
"""The only key of the object that records a missing value."""

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
        if self.tolerance is not None and not any(map(has_number, self.measured)):
            raise ValueError("tolerance is about numbers, in equals, contains or answer: there is none")
        if self.optional and self.exists is not None:
            raise ValueError("exists and optional contradict each other")
        return self

    @property
    def measured(self) -> list[Any]:
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
    def measured(self) -> list[Any]:
        """The answers, too."""
        return [*super().measured, *self.answers]

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


def _as_call(each: str | CalledTool) -> CalledTool:
    return CalledTool(called=each) if isinstance(each, str) else each


def argument_rule(value: Any) -> Values:
    """The condition of an argument: a plain value must be equal. Raises `ValueError`."""
    if not isinstance(value, dict) or not value.keys() & (CONDITIONS | BESIDE):
        return Values(equals=value)
    known = CONDITIONS | BESIDE
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
