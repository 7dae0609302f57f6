"""The shape of a user's entry, one JSON object a line, and its exported JSON Schema.

The schema and `docs/own-entries.md` take the meaning of each field from these texts.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_bfcl.dataset.categories import CATEGORIES, Language
from pytest_bfcl.dataset.entry import ReturnFormat
from pytest_bfcl.dataset.expectation import Expectation
from pytest_bfcl.dataset.schemas import Finding
from pytest_bfcl.dataset.served_entry import RecordedResult, ServerCall, ServerFiles
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

    model_config = ConfigDict(extra="allow", title="pytest-bfcl entry")

    id: str = Field(min_length=1, description="Names the entry in results; unique in a run, no control characters.")
    category: str | None = Field(
        default=None,
        description="How it is judged. Default: what the id begins with, else simple_python.",
        json_schema_extra={"anyOf": [{"type": "string", "enum": list(CATEGORIES)}, {"type": "null"}]},
    )
    question: str | list[OwnMessage] | list[list[OwnMessage]] = Field(
        description="Turns, each a list of messages; a bare text or one flat list of messages is one turn."
    )
    function: Tools | OwnFunction | OwnTool = Field(
        default_factory=list, description="The tools offered. Needed by all entries but multi-turn and agentic ones."
    )
    possible_answer: list[ExpectedCall] | list[list[str]] | list[str] | str | None = Field(
        default=None,
        description='Single turn: one {function: {parameter: [acceptable values]}} a call, where "" among the values '
        "means that the parameter may be left out. Multi-turn: one list of call texts a turn. Agentic: accepted texts. "
        "Relevance and irrelevance: nothing.",
    )
    ground_truth: list[Any] | str | None = Field(default=None, description="Another name of possible_answer.")
    involved_classes: list[str] = Field(
        default_factory=list, description="Multi-turn: the simulators whose tools are offered."
    )
    initial_config: Parsed = Field(default_factory=dict, description="Multi-turn: simulator → the state it begins in.")
    missed_function: dict[str, list[str | OwnFunction | OwnTool]] = Field(
        default_factory=dict, description="Multi-turn: turn → the tools (by name, or whole) that only arrive there."
    )
    scenario: str | None = Field(default=None, description="Memory: which write-stage conversations come before.")
    language: Language | None = Field(default=None, description="How values are typed. Default: the category's.")
    return_format: ReturnFormat | None = Field(
        default=None, description="Notation that prompting asks for. Default: the language's."
    )
    dialect: Dialect = Field(
        default="bfcl",
        description="json-schema: the tools are offered to the model byte for byte as they are written here, and "
        "arguments are valid by their JSON Schema; bfcl: as the benchmark's own documents are.",
    )
    mcp: str | None = Field(
        default=None, description="Category mcp: the server's name, as --bfcl-mcp NAME=… says where it is."
    )
    setup: list[ServerCall] = Field(
        default_factory=list, description="Category mcp: calls of the server before the conversation."
    )
    files: ServerFiles = Field(
        default_factory=dict,
        description='Category mcp: path in the trial\'s own directory → the text to write there, or {"copy": a file or '
        "folder beside this one}; commands say {workdir} for the directory, entries /workdir.",
    )
    results: list[RecordedResult] = Field(
        default_factory=list,
        description="Category recorded: what the tools give, by call and arguments; for the same call again the next.",
    )
    expect: list[Expectation] = Field(
        default_factory=list,
        description="Categories mcp and recorded: what must hold of answers, calls and the server's state.",
    )
    allows: list[str] | dict[str, str] = Field(
        default_factory=list,
        description='Adversaries that may pass the entry, best with the reason: {"parrot": "why"}. Known: '
        f"{', '.join(ADVERSARIES)}.",
    )
    checker: str | None = Field(
        default=None, description="A checker of another package (entry point pytest_bfcl.checkers) that judges instead."
    )
    reviewed: bool = Field(
        default=True, description="false: made by a program, and nobody has read it yet; `validate` says so."
    )
    note: str | None = Field(default=None, description="For people; nothing reads it.")


def json_schema() -> Parsed:
    """The JSON Schema (2020-12) of one line of a file of own entries."""
    schema = OwnEntry.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def field_findings(raw: Fields) -> Iterator[Finding]:
    """Fields that look like a mistyped one, and unreviewed entries."""
    known = [
        *OwnEntry.model_fields,
        "ground_truth_call",
        "depends_on",
        "tool_call_tag",
        "doc_format",
        "prompt_format",
        "prompt_style",
    ]
    for name in raw:
        close = [] if name in known else difflib.get_close_matches(name, known, 1, 0.8)
        if close:
            yield Finding(f"unknown field: did you mean {close[0]!r}?", "warning", name)
    if raw.get("reviewed") is False:
        yield Finding(
            'nobody has read this entry: set "reviewed" to true when its answer is right', "warning", "reviewed"
        )
