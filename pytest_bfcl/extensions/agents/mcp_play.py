"""An entry, or one simulator, as an MCP server for any MCP client, with its memory and pages."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from pytest_bfcl.checkers.judge import judge
from pytest_bfcl.conversation.played import PlayedConversation
from pytest_bfcl.conversation.services import skip_reason
from pytest_bfcl.conversation.world import WEB
from pytest_bfcl.extensions.agents.episode import Agent, AgentEntry
from pytest_bfcl.extensions.agents.mcp_server import LoopbackServer, tool_server
from pytest_bfcl.extensions.agents.mcp_tools import require_sdk
from pytest_bfcl.failures import UsageError, Verdict
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.snapshots import Snapshots
from pytest_bfcl.simulators import create_simulator, documents_of
from pytest_bfcl.tools.schemas import compile_tools, wire_names
from pytest_bfcl.transcript import Transcript

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from pytest_bfcl.conversation import journal
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.models import Model
    from pytest_bfcl.settings import Settings


NEXT = "next_user_message"
NO_MORE = "The user has nothing more to say; the conversation is over."
NEXT_TOOL: Parsed = {
    "type": "function",
    "function": {
        "name": NEXT,
        "description": "Ends your turn and returns the user's next message. The first call returns the first message.",
        "parameters": {
            "type": "object",
            "properties": {"answer": {"type": "string", "description": "What you say to the user."}},
            "required": [],
        },
    },
}


class EntryTable:
    """One entry to play over MCP: its tools, its user's turns, its verdict.

    ``snapshots`` have the first memory of a memory entry, and store that of a write stage; ``search`` is the provider
    of the web tools. Raises `HarnessError` if a needed one is missing.
    """

    def __init__(
        self,
        entry: Entry,
        data: DataSet,
        settings: Settings,
        *,
        snapshots: journal.Snapshots | None = None,
        search: Any = None,
    ) -> None:
        self.entry = entry
        guest = cast("Model", Agent("mcp:guest@fc"))  # the client that plays
        self._conversation = PlayedConversation(entry, guest, settings, data.texts, None, 1, None)
        self._conversation.open(snapshots, search)
        self._player = AgentEntry(self._conversation)
        self._message = self._player.next_turn()
        self._shown = False

    @property
    def over(self) -> asyncio.Event:
        """Set after the last turn has ended."""
        return self._conversation.over

    def server(self, *, turn_tool: bool = False) -> Server[Any]:
        """The server; the prompt `NEXT` gives the user's messages, and with ``turn_tool`` also a tool of that name."""
        require_sdk()
        from mcp import types

        more = [NEXT_TOOL] if turn_tool else []
        told = self._player.instructions or None
        server = tool_server(self.entry.id, lambda: [*self._player.tool_schemas, *more], self._call, instructions=told)

        async def list_prompts(context: Any, params: Any) -> types.ListPromptsResult:
            argument = types.PromptArgument(name="answer", description="What you say to the user.", required=False)
            text = NEXT_TOOL["function"]["description"]
            return types.ListPromptsResult(prompts=[types.Prompt(name=NEXT, description=text, arguments=[argument])])

        async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
            if params.name != NEXT:
                raise ValueError(f"there is no prompt {params.name[:100]!r}; there is {NEXT}")
            text = self.next_message((params.arguments or {}).get("answer", ""))
            content = types.TextContent(type="text", text=text)
            return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

        server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)
        return server

    def next_message(self, answer: str = "") -> str:
        """The user's first message, then each time the next one; ``answer`` ends the turn before."""
        if self._shown:
            self._player.answer(answer)
            self._message = self._player.next_turn()
        self._shown = True
        return NO_MORE if self._message is None else self._message

    def finish(self) -> Transcript:
        """The conversation so far: an open turn ends without words, later turns are left out."""
        self._player.answer()
        self.over.set()
        return self._conversation.transcript

    @property
    def is_complete(self) -> bool:
        """Whether all turns of the user have begun."""
        return len(self._conversation.transcript.turns) == self._conversation.all_turns

    def verdict(self, rules: str = "official") -> tuple[Verdict, str]:
        """Verdict and its text, with the differences of the state."""
        from pytest_bfcl.explaining.terminal import failure_text

        transcript = self.finish()
        found = judge(self.entry, transcript, rules)
        return found, "passed" if found.valid else failure_text(self.entry, transcript, found)

    async def _call(self, name: str, arguments: Fields) -> str:
        if name == NEXT:
            return self.next_message(str(arguments.get("answer") or ""))
        return await self._player.call(name, arguments)


def simulator_server(name: str, config: Fields | None = None) -> tuple[Server[Any], Any]:
    """A server with the tools of one simulator, and the simulator. Raises `UsageError` for an unknown name."""
    simulator = create_simulator(name, config)
    documents = documents_of(name)
    names = wire_names(documents)

    async def call(tool: str, arguments: Fields) -> str:
        return str(simulator.call(names.get(tool, tool), arguments))

    return tool_server(name, lambda: compile_tools(documents), call), simulator


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output until it disconnects."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def serve_http(server: Server[Any], port: int, over: asyncio.Event, say: Any) -> None:
    """Serve over HTTP until ``over`` is set, or the process gets a signal to end; ``say`` gets the address."""
    http, loop = LoopbackServer(server, port), asyncio.get_running_loop()
    await http.start()
    say(http.url)
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, ValueError):
            loop.add_signal_handler(number, over.set)
    try:
        await over.wait()
        await asyncio.sleep(0.2)  # the last answer is on its way
    finally:
        await http.stop()


SNAPSHOTS = "snapshots"


class EntryWorld:
    """Snapshots and search provider of one entry; close it, or use it as a context.

    ``memory`` is a user's folder, or a run with the write stages. Raises `UsageError` if the entry cannot be played
    with them.
    """

    def __init__(self, entry: Entry, data: DataSet, settings: Settings, memory: str | None = None) -> None:
        if entry.row.checker == "served":
            raise UsageError(
                f"{entry.id} is played on an MCP server of your own ({entry.mcp!r}): connect the client to that one.\n"
                f'a run plays and judges it: pytest FILE --model … --bfcl-mcp {entry.mcp}="COMMAND or URL"'
            )
        problem = skip_reason(entry.category, data, settings, ["fc"])
        if problem is None and WEB in entry.involved_classes:
            from pytest_bfcl.providers import search_problem

            problem = search_problem(settings.search, official=data.official, site=data.site)
        if problem is not None:
            raise UsageError(f"{entry.id} cannot be played: {problem}")
        self.snapshots = self._snapshots(entry, memory) if entry.row.backend else None
        self.search: Any = None
        if WEB in entry.involved_classes:
            from pytest_bfcl.providers import open_search

            self.search = open_search(settings.search, official=data.official, site=data.site)

    def _snapshots(self, entry: Entry, memory: str | None) -> Snapshots:
        if memory is None:
            raise UsageError(
                f"{entry.id} needs a memory: --memory DIR, the folder its write stages keep it in, or a run"
            )
        found = Snapshots(_folder(Path(memory)))
        missing = [each for each in entry.depends_on if found.checkpoint(entry.row.backend, each) is None]
        if missing:
            stages = f"{missing[0]} and {len(missing) - 1} more" if len(missing) > 1 else missing[0]
            raise UsageError(
                f"{entry.id}: {memory} has no memory of {stages}\n"
                f"play them first, in order: pytest-bfcl mcp --entry {missing[0]} --memory {memory}"
            )
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.search is not None:
            self.search.close()


def _folder(memory: Path) -> Path:
    """A folder of snapshots; for a run that of its only model. Raises `UsageError` for a run of several models."""
    kept = memory / SNAPSHOTS
    if not kept.is_dir():
        return memory
    models = sorted(each for each in kept.iterdir() if each.is_dir())
    if len(models) != 1:
        names = ", ".join(str(each) for each in models[:5])
        raise UsageError(f"{memory} has the memories of {len(models)} models, name one: --memory {names}")
    return models[0]
