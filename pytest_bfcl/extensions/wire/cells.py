"""The matrix's cells: who chooses, thinking or not, streamed or not, strict or not, how many calls are expected.

Cells of one task share their words, so that any two of them differ in nothing but what their names say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Literal

from pytest_bfcl.extensions.wire.differences import Match, Wanted, compare
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Request, Tool
from pytest_bfcl.extensions.wire.tasks import HELLO, NOTE, PING, dictate, note, schema, write
from pytest_bfcl.json_types import Parsed

Choice = Literal["auto", "required", "named", "none"]
Task = Literal["one", "several", "none due"]
CHOICES: tuple[Choice, ...] = ("auto", "required", "named", "none")
TASKS: tuple[Task, ...] = ("one", "several", "none due")


@dataclass(frozen=True, slots=True)
class Cell:
    """One way of asking; the plainest is the default."""

    choice: Choice = "auto"
    thinking: bool = False
    streamed: bool = False
    strict: bool = False
    task: Task = "one"

    def __str__(self) -> str:
        said = [f"tool_choice {self.choice}"] if self.choice != "auto" else []
        said += [name for name in ("thinking", "streamed", "strict") if getattr(self, name)]
        return ", ".join([*said, {"one": "one call", "several": "two calls"}.get(self.task, "no call due")])

    @property
    def forced(self) -> bool:
        """Whether the server has to see to it that there is a call."""
        return self.choice in ("required", "named")

    @property
    def due(self) -> int:
        """Calls a correct answer holds."""
        if self.choice == "none":
            return 0
        return {"one": 1, "several": 1 if self.choice == "named" else 2}.get(self.task, int(self.forced))

    @property
    def optional(self) -> bool:
        """Whether a server may refuse it with a 4xx: forced calls and strict are not offered by all."""
        return self.choice != "auto" or self.strict

    @property
    def special(self) -> bool:
        """Whether anything but the form and the task is unusual."""
        return self.choice != "auto" or self.strict or self.thinking

    def plainer(self) -> Iterator[Cell]:
        """The cells that are one step plainer, and whose answers hold as much: calls, or none."""
        if self.choice != "auto":
            yield replace(self, choice="auto")
        if self.thinking:
            yield replace(self, thinking=False)
        if self.streamed:
            yield replace(self, streamed=False)
        if self.strict:
            yield replace(self, strict=False)
        if self.choice == "none":
            if self.task != "none due":
                yield replace(self, task="none due")
        elif self.task == "several" or (self.forced and self.task == "none due"):
            yield replace(self, task="one")


CELLS = tuple(Cell(*each) for each in product(CHOICES, (False, True), (False, True), (False, True), TASKS))


def request_for(cell: Cell, first: str, second: str) -> tuple[Request, tuple[Wanted, ...]]:
    """A cell's question about two fresh words, and the calls that are dictated and allowed."""
    both = (note(first), Wanted(PING.name, {"host": second}))
    dictated = {"one": both[:1], "several": both}.get(cell.task, ())
    tools = tuple(_strict(tool) if cell.strict else tool for tool in (NOTE, PING))
    if dictated:
        request = dictate(*dictated, tools=tools, think=cell.thinking)
    elif cell.forced:
        request = Request.of("Think about it first.\n" * cell.thinking + HELLO, *tools)
    else:
        request = write(f"The answer is {first}, and then {second}.", tools=tools, think=cell.thinking)
    named = f"={(dictated[0].name if dictated else PING.name)}"
    choice = {"auto": None, "named": named}.get(cell.choice, cell.choice)
    return replace(request, choice=choice, stream=cell.streamed), dictated[: cell.due]


def _strict(tool: Tool) -> Tool:
    return replace(tool, strict=True, parameters={**(tool.parameters or {}), "additionalProperties": False})


@dataclass(frozen=True)
class Judged:
    """An answer to be judged. ``wanted``: the calls that were dictated; ``twin``: the unstreamed answer to the same
    question, of a streamed one; ``requested_model``: the name that was asked for.
    """

    cell: Cell
    request: Request
    wanted: tuple[Wanted, ...]
    reply: Reply
    api: str
    requested_model: str = ""
    twin: Reply | None = None

    @cached_property
    def match(self) -> Match:
        """The answer's calls beside the dictated ones."""
        return compare(self.wanted, self.reply)

    @property
    def refused(self) -> bool:
        """Whether the server says with a 4xx (a gateway: with a 502) that it does not offer this, where it may."""
        exchange = self.reply.exchange
        return self.cell.optional and (400 <= exchange.status < 500 or exchange.says_wrong)

    def parameters(self, name: object) -> Parsed | None:
        """The schema that was sent with the function of this name; ``None`` when there is no such function."""
        tool = next((tool for tool in self.request.tools if tool.name == name), None)
        return None if tool is None else dict(tool.parameters or schema({}))
