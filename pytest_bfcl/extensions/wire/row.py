"""Rules and their subjects: the cells of the matrix, answers in them, and every rule of ``rules.toml``.

Cells vary the choice, thinking, streaming, strictness and the number of expected calls. Cells of one task share their
words, so that they differ only in what their names say. A check sends its own requests and raises unless its rule is
met (`NotHeld`). A row is a plain function from one answer to its faults.
"""

from __future__ import annotations

import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from pytest_bfcl.extensions.wire.differences import Match, Wanted, compare
from pytest_bfcl.extensions.wire.probe import Probe
from pytest_bfcl.extensions.wire.replies import LENGTH, Reply
from pytest_bfcl.extensions.wire.requests import HELLO, NOTE, PING, Request, dictate, note, schema, write
from pytest_bfcl.json_types import Parsed

Choice = Literal["auto", "required", "named", "none"]
Task = Literal["one", "several", "none due"]
_BOTH = (False, True)


@dataclass(frozen=True, slots=True)
class Cell:
    """One form of a request; the plainest is the default."""

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
        """Whether the server must guarantee a call."""
        return self.choice in ("required", "named")

    @property
    def due(self) -> int:
        """Number of calls of a correct answer."""
        if self.choice == "none":
            return 0
        return {"one": 1, "several": 1 if self.choice == "named" else 2}.get(self.task, int(self.forced))

    @property
    def optional(self) -> bool:
        """Whether a server may refuse it with a 4xx: not all offer forced calls and strict."""
        return self.choice != "auto" or self.strict

    @property
    def special(self) -> bool:
        """Whether anything besides form and task is unusual."""
        return self.choice != "auto" or self.strict or self.thinking

    def plainer(self) -> Iterator[Cell]:
        """The cells that are one step plainer, with the same expectation: calls, or none."""
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


CELLS = tuple(Cell(*each) for each in product(get_args(Choice), _BOTH, _BOTH, _BOTH, get_args(Task)))


def request_for(cell: Cell, first: str, second: str) -> tuple[Request, tuple[Wanted, ...]]:
    """A cell's request about two fresh words, and the dictated and allowed calls."""
    both = (note(first), Wanted(PING.name, {"host": second}))
    dictated = {"one": both[:1], "several": both}.get(cell.task, ())
    tools = [NOTE, PING]
    if cell.strict:
        closed = {"additionalProperties": False}
        tools = [replace(tool, strict=True, parameters={**(tool.parameters or {}), **closed}) for tool in tools]
    if dictated:
        request = dictate(*dictated, tools=tools, think=cell.thinking)
    elif cell.forced:
        request = Request.of("Think about it first.\n" * cell.thinking + HELLO, *tools)
    else:
        request = write(f"The answer is {first}, and then {second}.", tools=tools, think=cell.thinking)
    named = f"={(dictated[0].name if dictated else PING.name)}"
    choice = {"auto": None, "named": named}.get(cell.choice, cell.choice)
    return replace(request, choice=choice, stream=cell.streamed), dictated[: cell.due]


@dataclass(frozen=True)
class Judged:
    """An answer to be judged. ``wanted``: the dictated calls; ``twin``: the unstreamed answer to the same request, for
    a streamed one; ``requested_model``: the requested name.
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
        """The answer's calls next to the dictated ones."""
        return compare(self.wanted, self.reply)

    @property
    def refused(self) -> bool:
        """Whether the server may and does refuse this with a 4xx (a gateway: with a 502)."""
        return self.cell.optional and self.reply.exchange.refuses

    def parameters(self, name: object) -> Parsed | None:
        """The sent schema of the function with this name; ``None`` without one."""
        return next((dict(tool.parameters or schema({})) for tool in self.request.tools if tool.name == name), None)


# -- rules -----------------------------------------------------------------------------------------------------------

Api = Literal["chat", "responses", "anthropic", "completions"]
APIS: tuple[Api, ...] = get_args(Api)
OPENAI: tuple[Api, ...] = ("chat", "responses")
"""The two APIs that share one set of checks."""
Form = Literal["unstreamed", "streamed", "both"]
Judge = Callable[[Probe], Awaitable[None]]
Judges = Mapping[str, Judge]
"""The function that judges a rule, by its name in ``rules.toml``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A requirement in one or two sentences, and its source (a section's name, never an invented link). ``messages``:
    the source for Anthropic's Messages, if other APIs have the rule, too.

    ``after``: rules that must be met first, otherwise this one is not judged. ``optional``: a server may refuse the
    request with a clean 4xx.
    """

    name: str
    text: str
    where: str
    messages: str = ""
    after: tuple[str, ...] = ()
    apis: tuple[Api, ...] = OPENAI
    optional: bool = False
    group: str = ""

    def source(self, api: str) -> str:
        """The source for an API."""
        return self.messages or self.where if api == "anthropic" else self.where


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Rule):
    """A rule and ``judge``, which sends requests and raises unless the rule is met.

    ``alone``: no other check runs at the same time. ``streamed``: it is only about streams.
    """

    judge: Judge
    alone: bool = False
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of one answer; ``proof``: the bytes that show it. ``certain``: no model could cause it. ``weighed``: a
    model could, so it counts only if every plainer form is right and it recurs.
    """

    why: str
    proof: bytes = b""
    certain: bool = True
    weighed: bool = False


Found = Sequence[Finding] | None
"""A rule's result for an answer: faults, none (it was met), or ``None``: nothing to judge."""
RowJudge = Callable[[Judged], Found]
RowJudges = Mapping[str, RowJudge]
"""The functions that judge answers, by the rule's name in ``rules.toml``."""


def wrong(why: str | None, proof: bytes = b"", *, certain: bool = True, weighed: bool = False) -> list[Finding]:
    """One finding, none without words."""
    return [Finding(why, proof, certain and not weighed, weighed)] if why else []


def readable(judge: RowJudge) -> RowJudge:
    """A rule about answers that can be read."""
    return lambda judged: None if judged.reply.problem else judge(judged)


def whole(judge: RowJudge) -> RowJudge:
    """A rule about answers that can be read and were not cut."""
    return readable(lambda judged: None if judged.reply.finish == LENGTH else judge(judged))


def of_calls(judge: RowJudge) -> RowJudge:
    """A rule about answers with calls."""
    return lambda judged: judge(judged) if judged.reply.calls else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Rule):
    """A rule over every answer of the matrix that it applies to.

    ``after``: rules whose findings in the same answer, or in its unstreamed twin, explain this one's. ``optional``:
    only cells that a server may refuse. ``gate``: in unusual cells the fault belongs to the cell.
    """

    judge: RowJudge
    form: Form = "unstreamed"
    gate: bool = False

    def applies(self, judged: Judged) -> bool:
        """Whether it applies to answers of this API and form."""
        return judged.api in self.apis and self.form in ("both", "streamed" if judged.cell.streamed else "unstreamed")

    def check(self, judge: Judge) -> Check:
        """The check of this rule; the matrix regards ``after`` answer by answer."""
        stated = {each.name: getattr(self, each.name) for each in fields(Rule)} | {"after": ()}
        return Check(judge=judge, streamed=self.form == "streamed", **stated)


_ROOTS = ("blocks_message", "blocks_fields", "blocks_input")
_EVENTS = ("blocks_stream", "blocks_order", "blocks_indexes", "blocks_deltas", "blocks_inputs")


def checks_of(judges: Judges) -> Iterator[Check]:
    """The checks. Those that Messages shares with other APIs also depend on its streams."""
    for said in _stated("checks"):
        if "messages" in said and "stream_events" in said["after"]:
            said["after"] += ("blocks_stream",)
        yield Check(judge=judges[said["name"]], **said)


def rows_of(judges: RowJudges) -> Iterator[Row]:
    """The rows, likewise."""
    for said in _stated("rows"):
        if "messages" in said:
            said["after"] += (*_ROOTS, *(_EVENTS if "form" in said else ()))
        yield Row(judge=judges[said["name"]], **said)


def _stated(kind: str) -> Iterator[Parsed]:
    """The fields of every rule of a kind in ``rules.toml``, with its lists of names written out."""
    book = _book()
    for group, rules in book[kind].items():
        default = rules.get("default", {})
        for name, said in ((name, {**default, **said}) for name, said in rules.items() if name != "default"):
            after = [each for name in said.get("after", ()) for each in book["lists"].get(name, (name,))]
            apis = (*said.get("apis", OPENAI), *(("anthropic",) if "messages" in said else ()))
            yield {**said, "name": name, "group": group, "after": tuple(after), "apis": apis}


@cache
def _book() -> Parsed:
    return tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
