"""The tools of a user's own MCP server as the world of one conversation, with a new session for every trial.

The expected parts of the server's state are read here and stored in the transcript, so that a verdict needs no server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation.world import MOST_CALLS, MOST_SHOWN, TOO_MUCH, World
from pytest_bfcl.dataset.entry_checks import unknown_names
from pytest_bfcl.dataset.expectation import ABSENT
from pytest_bfcl.dataset.inputs import short_digest
from pytest_bfcl.dataset.likeness import at_path
from pytest_bfcl.dataset.served_entry import ServerFacts, portable_name
from pytest_bfcl.dataset.untouched import MOST_TOLD, changed_files, changed_places, says_all, states_of
from pytest_bfcl.extensions.agents.mcp_tools import WORKDIR
from pytest_bfcl.extensions.agents.server_session import McpSession, mcp_session, text_of
from pytest_bfcl.extensions.agents.workdir import Workdir, opened_workdir
from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.simulators import CallExecutor, serialise
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.syntax.python_syntax import read_call
from pytest_bfcl.tools.json_schema import argument_problem
from pytest_bfcl.transcript import END_STATE, FAILED_CALLS, OBSERVED, SERVED_BY, TOUCHED, Transcript
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.expectation import Expectation, State
    from pytest_bfcl.settings import Settings


@asynccontextmanager
async def served_entry(
    entry: Entry, settings: Settings, *, as_listed: bool = False
) -> AsyncIterator[tuple[Entry, ServedWorld]]:
    """The entry with its server's documents, and the world of its calls.

    ``as_listed``: with the server's own names, which not every notation can write. Raises `HarnessError` (kind ``mcp``)
    for a server that is not named, does not start or does not answer.
    """
    name = str(entry.mcp)
    where = settings.mcp.get(name)
    if where is None:
        raise HarnessError(
            HarnessTrouble.MCP, f"{entry.id}: the MCP server {entry.mcp!r} has no address",
            advice=f'name it: --bfcl-mcp {entry.mcp}="COMMAND or URL"',
        )  # fmt: skip
    async with opened_workdir(entry.id) as workdir:
        workdir.fill(entry.files, entry.folder)
        async with _surrounded(workdir, name, settings):
            places = {WORKDIR: str(workdir.path)}
            async with mcp_session(entry.id, name, where, settings.timeout_s, places) as server:
                world = ServedWorld(entry, server, workdir, as_listed)
                documents = await world.listed()
                _refuse_unknown(entry, documents)
                for call in entry.setup:
                    await server.call(call.call, workdir.real(call.arguments), "the entry's setup")
                await world.begin()
                offered = {"function": _offered(entry, documents, server), "server_facts": world.facts}
                yield entry.model_copy(update=offered), world


def _refuse_unknown(entry: Entry, documents: list[Parsed]) -> None:
    """Raise `HarnessError` (kind ``data``) for an expectation about an unknown tool or parameter."""
    tools = {str(doc["name"]): doc["parameters"] for doc in documents}
    for number, each in enumerate(entry.expect):
        if told := next(unknown_names(each, tools), None):
            raise HarnessError(HarnessTrouble.DATA, f"{entry.id}: expect[{number}]: {told}")


@asynccontextmanager
async def _surrounded(workdir: Workdir, name: str, settings: Settings) -> AsyncIterator[None]:
    """The user's commands before and after each trial; without such commands nothing happens."""
    before, after = settings.mcp_setup.get(name), settings.mcp_teardown.get(name)
    try:
        if before is not None:
            await workdir.run(before, "setup", settings.timeout_s)
        yield
    finally:
        if after is not None:
            await workdir.run(after, "teardown", settings.timeout_s)


def _offered(entry: Entry, documents: list[Parsed], server: McpSession) -> list[Parsed]:
    """The server's tools; if the entry names some itself, those with its descriptions."""
    known = {portable_name(doc["name"]): doc["name"] for doc in documents}
    missing = next((doc["name"] for doc in entry.function if portable_name(str(doc["name"])) not in known), None)
    if missing is not None:
        raise server.trouble(f"it has no tool {missing!r}, which the entry offers")
    return [{**doc, "name": known[portable_name(str(doc["name"]))]} for doc in entry.function] or documents


class ServedWorld(World):
    """The world of a conversation on one server."""

    facts: ServerFacts

    def __init__(self, entry: Entry, server: McpSession, workdir: Workdir, as_listed: bool) -> None:
        super().__init__(entry, {}, CallExecutor({}))
        self._server = server
        self._workdir = workdir
        self._as_listed = as_listed
        self._names: dict[str, str] = {}
        self._schemas: dict[str, Parsed] = {}
        self._transcript = Transcript(entry.id, entry.category)
        self._observed: dict[tuple[int, int], Any] = {}
        self._looks = states_of(entry.expect)
        self._last = len(entry.question) - 1
        self._before: dict[str, str] = {}
        self._told_before: dict[str, Any] = {}

    async def begin(self) -> None:
        """Store the state at the start of the conversation, to compare it at the end."""
        self._before = await self._snapshot()
        self.facts = self._server.facts(tuple(self._before))
        for each, look in self._looks:
            if look.sql is None and look.files is None and not says_all(each, self._last):
                with contextlib.suppress(HarnessError):  # what nobody can tell yet cannot be compared
                    self._told_before[_subject(look)] = (await self._tellings(look))[0]

    async def _snapshot(self) -> dict[str, str]:
        return await asyncio.to_thread(self._workdir.snapshot, [look for _, look in self._looks])

    async def listed(self) -> list[Parsed]:
        """The present documents of the server's tools."""
        documents, self._names = await self._server.documents(as_listed=self._as_listed)
        documents = [self._workdir.with_short_paths(each) for each in documents]
        self._schemas = {said: doc["parameters"] for said, doc in zip(self._names, documents, strict=True)}
        return documents

    async def new_functions(self) -> list[Parsed] | None:
        """The server's tools if they may have changed; the entry's own selection stays."""
        return await self.listed() if self._server.may_change and not self.entry.function else None

    def keep_in(self, transcript: Transcript) -> None:
        """Where to store the server's reported state."""
        self._transcript = transcript
        transcript.extra[SERVED_BY] = {"server": str(self.entry.mcp), **self.facts.summary()}

    async def execute(self, call_text: str) -> str:
        """The result of one call as the model sees it. Raises `HarnessError` if the server is gone."""
        await self._observe_before(len(self._transcript.turns) - 1)
        self._calls += 1
        if self._calls > MOST_CALLS or self._shown > MOST_SHOWN:
            return TOO_MUCH
        try:
            name, arguments = read_call(call_text)
            if name not in self._names:  # one that was added in silence
                await self.listed()
            if name not in self._names:
                raise NameError(f"there is no tool {name[:100]!r}")
            if problem := argument_problem(self._schemas[name], arguments):
                raise ValueError(f"invalid arguments: {problem[1]}")
            told = await self._server.call(self._names[name], self._workdir.real(arguments))
            result = serialise(self._workdir.with_short_paths(text_of(told)))
            if getattr(told, "is_error", False):
                self._transcript.extra.setdefault(FAILED_CALLS, []).append(call_text)
        except (HarnessError, AdapterError):
            raise
        except Exception as error:  # what was written is no call, or the answer is too large
            result = error_text(error)
        self._shown += len(result)
        return result

    def execute_now(self, call_text: str) -> str:
        """Raises: a request to a server needs waiting."""
        raise AdapterError(
            AdapterTrouble.FIXTURE,
            "a tool of an MCP server was called in the event loop's own thread, which cannot wait for it",
            advice="use episode.tools (async), or call sync_tools from a thread",
        )

    async def finish(self) -> None:
        """Read every expected part of the state, and store the answers in the transcript."""
        await self._observe_before(len(self.entry.question) + 1)
        observed: list[Any] = []
        for number, each in enumerate(self.entry.expect):
            told = [self._observed.get((number, place)) for place in range(len(each.alternatives))]
            observed.append(told if each.any_of is not None else told[0])
        self._transcript.extra[OBSERVED] = observed
        if self._looks:
            await self._compare()

    async def _compare(self) -> None:
        """Store the changed places of the state that no expectation names, and a digest of the whole."""
        looks = [look for _, look in self._looks]
        files = await self._snapshot()
        told = {subject: (await self._tellings(self._about(subject)[0][1]))[0] for subject in self._told_before}
        places = changed_files(self._before, files, looks, self.entry.files)
        looked_at = {str(look.file): files.get(str(look.file)) for look in looks if look.file is not None}
        end = [looked_at, places, told]
        self._transcript.extra[END_STATE] = short_digest(json.dumps(end, sort_keys=True, default=str))
        for subject, before in self._told_before.items():
            about, after = self._about(subject), told[subject]
            places += [f"{subject}: {place}" if len(self._told_before) > 1 else place
                       for place in changed_places(before, after, [each for each, _ in about], self._last)]  # fmt: skip
        if places:
            self._transcript.extra[TOUCHED] = places[:MOST_TOLD]

    def _about(self, subject: str) -> list[tuple[Expectation, State]]:
        return [(each, look) for each, look in self._looks if _subject(look) == subject]

    async def _observe_before(self, turn: int) -> None:
        """For turns before this one: nothing was called since they ended."""
        for number, each in enumerate(self.entry.expect):
            for place, one in enumerate(each.alternatives):
                due = len(self.entry.question) - 1 if one.turn is None else one.turn
                if one.looked_at is not None and (number, place) not in self._observed and due < turn:
                    self._observed[number, place] = await self._state_at(one, one.looked_at)

    async def _state_at(self, each: Expectation, state: State) -> Any:
        """The value of the state at a place, as JSON: structured content or text, whichever the expectation means. A
        missing value is an object with `ABSENT` alone.
        """
        told = await self._tellings(state)
        found = [at_path(value, state.path) if value != {ABSENT: True} else (None, False) for value in told]
        value, there = next((one for one in found if each.holds(one[0], there=one[1])), found[0])
        return value if there else {ABSENT: True}

    async def _tellings(self, state: State) -> list[Any]:
        """The state at a place, in each of its forms."""
        workdir = self._workdir
        if state.call is not None:
            asked = state.call, workdir.real(state.arguments), "asked by an expectation"
            values: list[Any] = workdir.with_short_paths(await self._server.values(*asked))
            return values
        if state.resource is not None:
            return [workdir.with_short_paths(await self._server.resource(workdir.real(state.resource)))]
        return [workdir.with_short_paths(await asyncio.to_thread(workdir.read, state))]


def _subject(look: State) -> str:
    """The request, without the place in its answer."""
    return look.model_copy(update={"path": None}).subject_text
