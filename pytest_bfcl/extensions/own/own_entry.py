"""The shape of a user's entry, one JSON object a line, and its exported JSON Schema.

The schema and `docs/own-entries.md` take the meaning of each field from these texts.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_bfcl.dataset.categories import CATEGORIES, Language
from pytest_bfcl.dataset.entry import Entry, FunctionDoc, ReturnFormat
from pytest_bfcl.dataset.expectation import Expectation
from pytest_bfcl.dataset.schemas import Finding
from pytest_bfcl.dataset.served_entry import RecordedResult, ServerCall, ServerFiles
from pytest_bfcl.failures import instead_of
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.adversaries import ADVERSARIES
from pytest_bfcl.tools.json_schema import Dialect


class OwnMessage(BaseModel):
    """One chat message."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "user", "assistant", "tool"]
    content: str = Field(min_length=1)


class OwnFunction(BaseModel):
    """A tool in the benchmark's words; OpenAI's, Anthropic's and MCP's shapes and plain JSON Schema are taken too."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.\-]*$", description="Letters, digits, dots and underscores.")
    description: str = Field(description="What it does; the only thing a model knows of it beside its parameters.")
    parameters: Parsed = Field(
        description='{"type": "dict", "properties": {name: {"type", "description", …}}, "required": [names]}; with '
        '"type": "object" it is read as JSON Schema.'
    )


class OwnTool(BaseModel):
    """A tool in a provider's shape: OpenAI's (nested or flat), Anthropic's, or MCP's."""

    model_config = ConfigDict(extra="allow")

    type: Literal["function"] | None = None
    function: Parsed | None = Field(default=None, description="OpenAI: name, description, parameters.")
    name: str | None = None
    description: str | None = None
    parameters: Parsed | None = Field(default=None, description="JSON Schema of the arguments (OpenAI, flat).")
    input_schema: Parsed | None = Field(default=None, description="JSON Schema of the arguments (Anthropic).")
    inputSchema: Parsed | None = Field(default=None, description="JSON Schema of the arguments (MCP).")


Tools = list[OwnFunction | OwnTool]
ExpectedCall = dict[str, dict[str, list[Any]]]


class OwnEntry(BaseModel):
    """One entry, one line of a `.jsonl` file."""

    model_config = ConfigDict(extra="allow", title="pytest-bfcl entry", use_attribute_docstrings=True)

    id: str = Field(min_length=1, description="Names the entry in results; unique in a run, no control characters.")
    category: str | None = Field(
        default=None,
        description="How it is judged. Default: what the id begins with, else simple_python.",
        json_schema_extra={"anyOf": [{"type": "string", "enum": list(CATEGORIES)}, {"type": "null"}]},
    )
    question: str | list[OwnMessage] | list[list[OwnMessage]]
    """Turns, each a list of messages; a bare text or one flat list of messages is one turn."""
    function: Tools | OwnFunction | OwnTool = Field(default_factory=list)
    """The tools offered. Needed by all entries but multi-turn and agentic ones."""
    possible_answer: list[ExpectedCall] | list[list[str]] | list[str] | str | None = Field(
        default=None,
        description='Single turn: one {function: {parameter: [acceptable values]}} a call, where "" among the values '
        "means that the parameter may be left out. Multi-turn: one list of call texts a turn. Agentic: accepted texts. "
        "Relevance and irrelevance: nothing.",
    )
    ground_truth: list[Any] | str | None = Field(default=None, description="Another name of possible_answer.")
    involved_classes: list[str] = Field(default_factory=list)
    """Multi-turn: the simulators whose tools are offered."""
    initial_config: Parsed = Field(default_factory=dict, description="Multi-turn: simulator → the state it begins in.")
    missed_function: dict[str, list[str | OwnFunction | OwnTool]] = Field(default_factory=dict)
    """Multi-turn: turn → the tools (by name, or whole) that only arrive there."""
    scenario: str | None = Field(default=None, description="Memory: which write-stage conversations come before.")
    language: Language | None = Field(default=None, description="How values are typed. Default: the category's.")
    return_format: ReturnFormat | None = None
    """Notation that prompting asks for. Default: the language's."""
    dialect: Dialect = Field(
        default="bfcl",
        description="json-schema: the tools are offered to the model byte for byte as they are written here, and "
        "arguments are valid by their JSON Schema; bfcl: as the benchmark's own documents are.",
    )
    mcp: str | None = None
    """Category mcp: the server's name, as --bfcl-mcp NAME=… says where it is."""
    setup: list[ServerCall] = Field(default_factory=list)
    """Category mcp: calls of the server before the conversation."""
    files: ServerFiles = Field(
        default_factory=dict,
        description='Category mcp: path in the trial\'s own directory → the text to write there, or {"copy": a file or '
        "folder beside this one}; commands say {workdir} for the directory, entries /workdir.",
    )
    results: list[RecordedResult] = Field(default_factory=list)
    """Category recorded: what the tools give, by call and arguments; for the same call again the next."""
    expect: list[Expectation] = Field(default_factory=list)
    """Categories mcp and recorded: what must be true of answers, calls and the server's state."""
    allows: list[str] | dict[str, str] = Field(
        default_factory=list,
        description='Adversaries that may pass the entry, best with the reason: {"parrot": "why"}. Known: '
        f"{', '.join(ADVERSARIES)}.",
    )
    checker: str | None = None
    """A checker of another package (entry point pytest_bfcl.checkers) that judges instead."""
    reviewed: bool = True
    """false: made by a program, and no person has read it yet; `validate` reports this."""
    note: str | None = Field(default=None, description="For people; nothing reads it.")


def json_schema() -> Parsed:
    """The JSON Schema (2020-12) of one line of a file of own entries."""
    schema = OwnEntry.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def field_findings(raw: Fields) -> Iterator[Finding]:
    """Fields that look like a mistyped one, and unreviewed entries."""
    others = "ground_truth_call depends_on tool_call_tag doc_format prompt_format prompt_style"
    known = [*OwnEntry.model_fields, *others.split()]
    for name in raw:
        close = [] if name in known else difflib.get_close_matches(name, known, 1, 0.8)
        if close:
            yield Finding(f"unknown field: did you mean {close[0]!r}?", "warning", name)
    if raw.get("reviewed") is False:
        yield Finding(
            'nobody has read this entry: set "reviewed" to true when its answer is right', "warning", "reviewed"
        )


TODO = "TODO"
"""The text in drafts that a person must replace."""
_SAME = 0.8
"""Share of common words from which two descriptions count as equal."""
_STEM = 4
"""Two words with this number of equal first letters count as one, so that plural and tense do not matter."""
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "float": (int, float), "boolean": (bool,), "array": (list, tuple),
    "tuple": (list, tuple), "dict": (dict,),
}  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_NUMBERS = _WORD.findall(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_TIMES: Mapping[float, tuple[str, ...]] = {
    0.5: ("half",), 2: ("twice", "double", "both", "pair"), 3: ("thrice",), 12: ("dozen",),
}  # fmt: skip
_MONTHS = _WORD.findall("january february march april may june july august september october november december")
_FILLER = frozenset(
    _WORD.findall("a an and are as at be by for from if in is it its of on or that the this to was what which with")
)


def words(text: str) -> frozenset[str]:
    """The stems of a text's words, without filler; ``camelCase`` and ``snake_case`` are split."""
    return frozenset(word[:_STEM] for word in _whole_words(text))


def are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two descriptions count as equal, by their words."""
    return len(one & other) >= _SAME * max(len(one | other), 1)


def _whole_words(text: str) -> frozenset[str]:
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return frozenset(word for word in _WORD.findall(apart.lower()) if word not in _FILLER)


_VAGUE = words("value data input parameter argument string number text object thing stuff function tool call any some")
"""Words of descriptions without any information."""


def lint_entry(entry: Entry) -> list[Finding]:
    """The questions of a reviewer about an entry; its tools are checked only if they are its own."""
    findings = list(field_findings({**dict.fromkeys(entry.model_fields_set), **(entry.model_extra or {})}))
    findings += _draft_findings(entry)
    findings += _allowance_findings(entry)
    if not entry.involved_classes:
        findings += _description_findings(entry.function)
        findings += _twin_findings(entry.function)
    if entry.row.checker == "ast":
        findings += _answer_findings(entry)
    return findings


def _allowance_findings(entry: Entry) -> Iterator[Finding]:
    """Adversaries that an entry allows: the names must exist, and the reason should be given."""
    reasons = entry.allows if isinstance(entry.allows, dict) else dict.fromkeys(entry.allows, "")
    for name, why in reasons.items():
        if name not in ADVERSARIES:
            yield Finding(f"no adversary {name!r}; {instead_of(name, list(ADVERSARIES))}", field="allows")
        elif not why.strip():
            told = f'it lets the {name} through and does not say why: "allows": {{"{name}": "…"}}'
            yield Finding(told, "warning", "allows")


def _draft_findings(entry: Entry) -> Iterator[Finding]:
    """Parts that `pytest-bfcl new entry` left for a person."""
    for turn, messages in enumerate(entry.question):
        for number, message in enumerate(messages):
            if str(message.get("content", "")).startswith(f"{TODO}:"):
                yield Finding("the request is still to be written", "warning", f"question[{turn}][{number}].content")
    if f'"{TODO} ' in json.dumps(entry.possible_answer, default=str):
        yield Finding("a value of the answer is still to be written", "warning", "possible_answer")


def _description_findings(functions: list[FunctionDoc]) -> Iterator[Finding]:
    """Descriptions without information, or equal for two parameters."""
    for number, function in enumerate(functions):
        place = f"function[{number}]"
        name = str(function.get("name"))
        if not words(str(function.get("description", ""))) - _VAGUE:
            yield Finding(f"{name}: the description says nothing", "warning", f"{place}.description")
        told: dict[str, str] = {}
        for parameter, schema in _properties(function).items():
            field = f"{place}.parameters.properties.{parameter}.description"
            text = " ".join(str(schema.get("description", "")).split()).lower()
            if "description" in schema and not words(text) - _VAGUE and "enum" not in schema:
                yield Finding(f"{name}.{parameter}: the description says nothing", "warning", field)
            elif text and text in told:
                message = f"{name}.{parameter}: described word for word like {told[text]!r}: which is which?"
                yield Finding(message, "warning", field)
            told.setdefault(text, parameter)


def _twin_findings(functions: list[FunctionDoc]) -> Iterator[Finding]:
    """Pairs of tools that a model cannot distinguish."""
    for (_, first), (number, second) in combinations(enumerate(functions), 2):
        if set(_properties(first)) == set(_properties(second)) and are_alike(
            *(words(str(each.get("description", ""))) for each in (first, second))
        ):
            message = f"a model cannot tell {first.get('name')!r} and {second.get('name')!r} apart"
            message += ": same parameters, same description"
            yield Finding(message, "warning", f"function[{number}].description")


def _answer_findings(entry: Entry) -> Iterator[Finding]:
    documents = {str(doc.get("name")): doc for doc in entry.function}
    said = " ".join(str(message.get("content", "")) for turn in entry.question for message in turn)
    for number, call in enumerate(entry.possible_answer or ()):
        for name, answer in call.items():
            for parameter, values in answer.items():
                schema = _properties(documents.get(name, {})).get(parameter, {})
                field = f"possible_answer[{number}].{name}.{parameter}"
                given = [value for value in values if value != ""]
                impossible = list(_value_findings(schema, given, field, typed=entry.language == "python"))
                yield from impossible
                if given and not impossible and "" not in values and not _is_mentioned(given, schema, said):
                    yield Finding(_UNMENTIONED, "warning", field)


_UNMENTIONED = 'nothing in the request says this value: a model can only guess it (or accept "", or name a default)'


def _value_findings(schema: Fields, values: list[Any], field: str, *, typed: bool) -> Iterator[Finding]:
    """Values that the parameter's own schema forbids."""
    allowed = schema.get("enum")
    outside = [value for value in values if isinstance(allowed, list) and not _is_allowed(value, allowed)]
    if outside:
        yield Finding(f"{outside[0]!r} is not in the enum {str(allowed)[:120]}", "warning", field)
    kinds = _KINDS.get(str(schema.get("type"))) if typed else None
    odd = [value for value in values if kinds and not _is_a(value, kinds)]
    if odd and not outside:
        yield Finding(f"{odd[0]!r} is no {schema.get('type')}", "warning", field)


def _is_allowed(value: object, allowed: list[Any]) -> bool:
    return all(each in allowed for each in value) if isinstance(value, list) else value in allowed


def _is_a(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _is_mentioned(values: list[Any], schema: Fields, said: str) -> bool:
    """Whether the request has an acceptable value, or need not (a default, yes or no, a choice)."""
    if ("default" in schema and schema["default"] in values) or "enum" in schema:
        return True
    return any(_is_said(value, said) for value in values)


def _is_said(value: object, said: str) -> bool:
    if isinstance(value, bool) or value is None or isinstance(value, dict):
        return True
    if isinstance(value, list):
        return not value or any(_is_said(each, said) for each in value)
    text = said.lower()
    if isinstance(value, int | float):
        digits = {number.replace(",", "").rstrip(".") for number in re.findall(r"\d[\d.,]*", text)}
        spelled = (_NUMBERS[int(value)],) if value in range(len(_NUMBERS)) else ()
        month = (_MONTHS[int(value) - 1],) if value in range(1, 13) else ()
        said_as = (*_TIMES.get(value, ()), *spelled, *month)
        derived = len(digits) + sum(len(re.findall(rf"\b{each}\b", text)) for each in _NUMBERS) > 1
        return derived or _is_number_in(value, digits) or value in (0, 1) or any(word in text for word in said_as)
    mentioned, wanted = (set(map(_root, _whole_words(each))) for each in (text, str(value)))
    return not wanted or str(value).lower() in text or bool(wanted & mentioned)


_ENDINGS = ("ing", "ed", "es", "s", "ly")


def _root(word: str) -> str:
    """A word without the ending of a plural, a tense, an adverb: ``cities`` and ``city``, ``cancelled`` and
    ``cancelling``."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    ending = next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) >= 3), "")
    root = word.removesuffix(ending)
    if ending in ("ing", "ed") and root[-1] == root[-2]:
        root = root[:-1]
    return root.rstrip("e") if len(root) > 3 else root


def _is_number_in(value: float, digits: set[str]) -> bool:
    """The number unchanged, with the other sign, as a percentage, or in thousands and millions."""
    for factor in (1, 100, 1e-3, 1e-6):
        for text in digits:
            try:
                if abs(float(text) - abs(value) * factor) < 1e-9 * max(1.0, abs(value)):
                    return True
            except ValueError:
                continue
    return False


def _properties(function: Fields) -> dict[str, Parsed]:
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    found = properties.items() if isinstance(properties, Mapping) else ()
    return {str(name): schema for name, schema in found if isinstance(schema, dict)}
