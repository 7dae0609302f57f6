"""One task: what a model is asked, without the way to ask it. Plain, frozen, JSON in and out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.expected import function_documents, plain_answers, possible_answers
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet, Texts
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.judging.conversation import Conversation
    from pytest_bfcl.transcript import Message, Mode

SETS = ("bundled", "official", "verified")
"""Data sets that every installation opens by name: their tasks travel as a reference, all others whole."""
SEARCH, SERVER, WRITE_STAGE = "search", "MCP server", "write stage"


@dataclass(frozen=True)
class Task:
    """What a model is asked. Make one with `Data.task`, `Task.of` or `Task.from_json`.

    ``data`` and ``data_sha256`` name the data set it belongs to; both are empty for tasks of your own.
    """

    entry: Entry
    data: str = ""
    data_sha256: str = ""

    @classmethod
    def of(
        cls,
        tools: object,
        expected: object = None,
        *,
        possible_answer: object = None,
        question: str | Sequence[Message] = "",
        id: str | None = None,
        category: str | None = None,
    ) -> Task:
        """A single-turn task of your own.

        Args:
            tools: Function documents: ``{name, description, parameters}`` with JSON Schema or the benchmark's types,
                or the same wrapped as OpenAI's tools.
            expected: Plain calls, ``{"get_weather": {"city": "Oslo"}}`` or a list of them. Neither this nor
                ``possible_answer``: no call is right.
            possible_answer: The same with lists of accepted values, ``{"get_weather": {"city": ["Oslo", "oslo"]}}``.
            question: The user's words, or chat messages.
            category: Decides how calls are paired; default: by the number of tools and calls.

        Raises `UsageError` where these have no usable shape.
        """
        if expected is not None and possible_answer is not None:
            raise UsageError("give expected (plain calls) or possible_answer (lists of accepted values), not both")
        answers = possible_answers(possible_answer) if possible_answer is not None else None
        answers = plain_answers(expected) if expected is not None else answers
        messages = [{"role": "user", "content": question}] if isinstance(question, str) else [*question]
        fields = {"question": [messages], "function": function_documents(tools), "possible_answer": answers}
        named = {name: value for name, value in (("id", id), ("category", category)) if value is not None}
        return cls(entry_of(fields | named))

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.entry.id

    @property
    def category(self) -> str:
        """The entry's category."""
        return self.entry.category

    @property
    def turns(self) -> list[list[Message]]:
        """The user's messages, turn by turn. A conversation may add to them: prompts, functions that come later."""
        return [[dict(message) for message in turn] for turn in self.entry.question]

    @property
    def needs(self) -> tuple[str, ...]:
        """What judging it takes beside replies: ``search``, ``write stage ID``, ``memory BACKEND``, ``MCP server``."""
        row, found = CATEGORIES[self.category], []
        if row.group == "web_search":
            found.append(SEARCH)
        if row.backend:
            found.append(f"memory {row.backend}")
        if self.entry.mcp is not None:
            found.append(SERVER)
        return (*found, *(f"{WRITE_STAGE} {each}" for each in self.entry.depends_on))

    # -- playing -------------------------------------------------------------------------------------------------

    def open(self, mode: Mode = "fc", names: str | None = None, **options: Any) -> Conversation:
        """Begin a conversation; the arguments are those of `Conversation`."""
        from pytest_bfcl.judging.conversation import Conversation

        return Conversation(self, mode, names, **options)

    # -- travelling ----------------------------------------------------------------------------------------------

    def to_json(self) -> Parsed:
        """JSON-able fields from which `from_json` makes the task again.

        Tasks of the named data sets are a reference (id, data set, digest), so the texts of the official set stay
        where they are. Others are whole.
        """
        if self.data in SETS:
            return {"id": self.id, "category": self.category, "data": self.data, "data_sha256": self.data_sha256}
        return self.entry.model_dump(mode="json", exclude_defaults=True) | {"id": self.id, "category": self.category}

    @classmethod
    def from_json(cls, fields: Fields | str) -> Task:
        """The task again. Raises `HarnessError` where the data set here is another one, or the fields are no task."""
        given = json.loads(fields) if isinstance(fields, str) else fields
        if not isinstance(given, Mapping):
            raise HarnessError(HarnessTrouble.DATA, f"a task is a JSON object, not {type(given).__name__}")
        word = given.get("data")
        if word not in SETS:
            return cls(entry_of(given))
        data = opened(word)
        if given.get("data_sha256") not in (None, "", data.sha256):
            raise HarnessError(
                HarnessTrouble.DATA,
                f"{given.get('id')} was made from another version of the {word} data than is installed here "
                f"({str(given.get('data_sha256'))[:8]}, here {data.sha256[:8]})",
            )
        return cls(data.entry(str(given.get("id"))), word, data.sha256)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Task.from_json, (self.to_json(),)) if self.data in SETS else (Task, (self.entry,))

    def __repr__(self) -> str:
        return f"<Task {self.id}>"

    @cached_property
    def texts(self) -> Texts:
        """The wording of prompts and long contexts that belongs to it."""
        return opened(self.data).texts if self.data in SETS else texts_of_the_set(self.entry.official)


@cache
def opened(word: str) -> DataSet:
    """A named data set, opened once a process. Raises `UsageError` where it is not installed."""
    from pytest_bfcl.dataset import open_dataset
    from pytest_bfcl.simulators import documents_of

    return open_dataset(word, documents=documents_of)


@cache
def texts_of_the_set(official: bool) -> Texts:
    """The wording that the package brings, or that of the fetched official set. Raises `UsageError` without one."""
    from pytest_bfcl.dataset import Texts

    return opened("official").texts if official else Texts.own()


def refuse_servers(tasks: Iterable[Task]) -> None:
    """Raise `UsageError` for a task that is played on a user's MCP server: only a run starts one."""
    for task in tasks:
        if task.entry.mcp is not None:
            server = task.entry.mcp
            raise UsageError(
                f"{task.id} needs your MCP server {server!r}, which only a run starts\n"
                f'  pytest FILE --model MODEL --bfcl-mcp {server}="COMMAND or URL"'
            )


def entry_of(entry: Entry | Fields) -> Entry:
    """An entry, built from its fields if need be: ``id`` and ``category`` default to those of a Python entry.

    Fields may be JSON texts, as table formats keep them. Raises `HarnessError` where they are no entry.
    """
    from pydantic import ValidationError

    from pytest_bfcl.dataset.entry import Entry

    if isinstance(entry, Entry):
        return entry
    fields: Parsed = {name: _unpacked(value) for name, value in entry.items() if value is not None}
    if "category" not in fields:
        fields["category"] = _python_category(fields.get("function") or [], fields.get("possible_answer"))
    fields = {"id": f"{fields['category']}_0", "question": [], **fields}
    row = CATEGORIES.get(fields["category"]) if isinstance(fields["category"], str) else None
    if row is None:
        raise HarnessError(HarnessTrouble.DATA, f"{fields['id']}: unknown category {fields['category']!r}")
    try:
        return Entry.model_validate({"language": row.language, "return_format": row.language, **fields})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise HarnessError(
            HarnessTrouble.DATA, f"{fields['id']} is no usable entry: {where}: {first['msg']}"
        ) from error


def _python_category(functions: Sequence[object], answer: Sequence[object] | None) -> str:
    if answer is None:
        return "irrelevance"
    if len(answer) > 1:
        return "parallel_multiple" if len(functions) > 1 else "parallel"
    return "multiple" if len(functions) > 1 else "simple_python"


def _unpacked(value: object) -> object:
    """A field's value: JSON text of an object or list is parsed (table formats cannot hold mixed types)."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
