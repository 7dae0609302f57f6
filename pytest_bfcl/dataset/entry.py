"""One benchmark entry, and its position in its file.

Shapes are those of the official files (data spec §4) after loading and expansion (§6), without language hints: prompts
add hints (`pytest_bfcl.conversation`), checkers never see them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from pytest_bfcl.dataset.categories import CATEGORIES, Category, Language, category_of
from pytest_bfcl.dataset.expectation import Expectation
from pytest_bfcl.dataset.served_entry import RecordedResult, ServerCall, ServerFacts, ServerFiles
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.tools.json_schema import Dialect
from pytest_bfcl.tools.json_schema import FunctionDoc as FunctionDoc
from pytest_bfcl.transcript import Message

ReturnFormat = Literal["python", "java", "javascript", "json", "verbose_xml", "concise_xml"]


class EntryRef(NamedTuple):
    """The position of one entry's line: enough to parse it later, small enough for hundreds of thousands.

    ``offset`` and ``length`` are bytes in ``path``; ``position`` is the zero-based line position among the file's
    entries (answers pair with questions by position); ``variant`` is the format-sensitivity configuration index or -1.
    """

    id: str
    category: str
    path: Path
    offset: int
    length: int
    position: int
    variant: int = -1
    line: int = 0
    """One-based number of the line in its file, for users."""
    transform: str = ""
    """The transform of the entry (`pytest_bfcl.dataset.transforms`); empty for the original."""

    @property
    def original_id(self) -> str:
        """Format sensitivity: the id of the original entry."""
        return self.id.rsplit(":", 1)[-1]


@dataclass(frozen=True)
class Renames:
    """Other names of tools and parameters: own name → name in the conversation.

    ``parameters`` are by the tool's own name; other tools and parameters keep their names.
    """

    tools: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def own_tools(self) -> dict[str, str]:
        """Name in the conversation → own name, for renamed tools."""
        return {said: own for own, said in self.tools.items()}

    @cached_property
    def _own_parameters(self) -> dict[str, dict[str, str]]:
        return {tool: {said: own for own, said in names.items()} for tool, names in self.parameters.items()}

    def own_tool(self, said: str) -> str | None:
        """The own name of a tool; ``None`` if the tool is known under another name."""
        return self.own_tools.get(said, None if said in self.tools else said)

    def own_arguments(self, tool: str, arguments: Parsed) -> Parsed:
        """Arguments of a tool (own name) under their own names. Raises `TypeError` for unknown names."""
        names, hidden = self._own_parameters.get(tool, {}), self.parameters.get(tool, {})
        for said in arguments:
            if said in hidden and said not in names:
                raise TypeError(f"{self.tools.get(tool, tool)}() got an unexpected keyword argument {said!r}")
        return {names.get(said, said): value for said, value in arguments.items()}

    def renamed_error(self, tool: str, error: TypeError) -> TypeError:
        """The error of a call's arguments, with the names of the conversation."""
        if not self.tools and not self.parameters:
            return error
        text = str(error).replace(f".{tool}()", f".{self.tools.get(tool, tool)}()")
        for own, said in self.parameters.get(tool, {}).items():
            text = text.replace(f"'{own}'", f"'{said}'")
        return TypeError(text)


class Entry(BaseModel):
    """A benchmark entry, ready to run and judge.

    ``question``: list of turns, each a list of chat messages (a hand-over turn is empty). ``possible_answer``: single
    turn: list of one-key ``{function: {parameter: [acceptable values]}}`` objects; multi-turn: list of turns of call
    texts; memory and web search: list of texts; ``None`` when the category has none. ``missed_function``: turn index →
    full documents of the functions held out until that turn; they are not in ``function``. ``depends_on``: ids of
    entries that must run first (memory write stages).
    """

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)

    id: str = Field(min_length=1)
    category: str
    question: list[list[Message]]
    function: list[FunctionDoc] = Field(default_factory=list)
    possible_answer: list[Any] | None = None
    initial_config: Parsed = Field(default_factory=dict)
    involved_classes: list[str] = Field(default_factory=list)
    missed_function: dict[int, list[FunctionDoc]] = Field(default_factory=dict)
    scenario: str | None = None
    depends_on: list[str] = Field(default_factory=list)
    language: Language = "python"
    return_format: ReturnFormat = "python"
    tool_call_tag: bool = False
    doc_format: Literal["python", "json", "xml"] = "json"
    prompt_format: Literal["plaintext", "markdown"] = "plaintext"
    prompt_style: Literal["classic", "experimental"] = "classic"
    execution_result_type: list[str] | str | None = None
    """Executable entries: how the result of each expected call is compared (docs/retired.md)."""
    ground_truth_call: str | None = None
    """REST entries: the request that gave the recorded response."""
    tables: Parsed | None = None
    """SQL entries with their own tables: ``{table: {"columns": […], "rows": […]}}``."""
    ordered: bool = False
    """SQL entries with tables: whether the order of rows counts."""
    num_hops: int | None = None
    """Web search: number of searches for the question."""
    dialect: Dialect = "bfcl"
    """How the tools are written: in the benchmark's words, or in JSON Schema, which is sent unchanged."""
    mcp: str | None = None
    """Entries on a user's own MCP server: the server's name in this run."""
    setup: list[ServerCall] = Field(default_factory=list)
    """Calls of that server before the conversation."""
    files: ServerFiles = Field(default_factory=dict)
    """The content of a trial's directory when its server starts."""
    folder: Path | None = Field(default=None, exclude=True, repr=False)
    """The folder of the entry's file, for its templates."""
    results: list[RecordedResult] = Field(default_factory=list)
    """The results of the tools of a recorded conversation."""
    expect: list[Expectation] = Field(default_factory=list)
    """Expectations of such an entry: its answers and the server's state."""
    allows: list[str] | dict[str, str] = Field(default_factory=list)
    """Adversaries that may pass the entry (`pytest_bfcl.models.adversaries`), by name, preferably with the reason."""
    server_facts: ServerFacts | None = Field(default=None, exclude=True, repr=False)
    """While it is played: its server."""
    config: str | None = None
    """Format sensitivity only: the configuration string inside the id."""
    official: bool = False
    """Whether the entry is from the fetched official set (then prompts and hints are the official ones)."""
    verified: Any = Field(default=None, exclude=True, repr=False)
    """Official entries with a correction: the `Entry` with its corrected answer, or ``"excluded"``."""
    source: str | None = None
    """File and line of the entry, for users."""
    long_context_texts: Any = Field(default=None, exclude=True, repr=False)
    """Long-context entries only: the data set's constants by name, for the simulators; ``None`` means our own."""
    renames: Renames | None = Field(default=None, exclude=True, repr=False)
    """Names of its tools and parameters in the conversation, if simulators use others."""
    sentences: Any = Field(default=None, exclude=True, repr=False)
    """The data set's texts of the simulators, by class and key; ``None`` means our own words."""

    @cached_property
    def row(self) -> Category:
        """The entry's line in the table of categories."""
        return CATEGORIES[self.category]

    @property
    def is_reviewed(self) -> bool:
        """Whether a person has reviewed the entry: one that a program made has ``"reviewed": false`` until then."""
        return (self.model_extra or {}).get("reviewed") is not False

    @cached_property
    def rule(self) -> str:
        """The pairing rule: the category's, or for format sensitivity that of the original entry."""
        if self.config is None:
            return self.row.rule
        original = CATEGORIES.get(category_of(self.id.rsplit(":", 1)[-1]))
        return original.rule if original else "simple"

    @property
    def all_functions(self) -> list[FunctionDoc]:
        """Every function that the entry offers, held-out ones included."""
        return [*self.function, *chain.from_iterable(self.missed_function.values())]
