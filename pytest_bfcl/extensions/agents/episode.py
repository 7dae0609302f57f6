"""One entry for an agent's author: the user's turns, tools, and a place for the answers. Also the base of every agent
contender, and the exceptions by which libraries report the model's mistakes.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_bfcl.entry_points import named
from pytest_bfcl.extensions.agents.tools import Tool, async_tool, sync_tool
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.replies import UnknownShape, final_reply
from pytest_bfcl.replies.shapes import plain
from pytest_bfcl.transcript import Message, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.conversation.played import PlayedConversation
    from pytest_bfcl.extensions.agents.mcp_server import LoopbackServer
    from pytest_bfcl.models import Request
    from pytest_bfcl.transcript import Mode, Reply


class Agent:
    """A contender that plays entries (`pytest_bfcl.conversation.played.Player`); its tools are Python functions."""

    mode: Mode = "fc"
    underscore_names = True

    def __init__(self, spec: str) -> None:
        self.spec = spec

    async def generate(self, request: Request) -> Reply:
        """Agents do not answer single requests. Raises `AdapterError`."""
        raise AdapterError(
            AdapterTrouble.FIXTURE, f"{self.spec} is an agent: it plays whole entries and answers no single request"
        )


class NoFactory(LookupError):
    """A module has no such function."""


def factory_of(name: str) -> Any:
    """The function of ``module:factory``. Raises `NoFactory`, and any error of its import."""
    found = named(name)
    if not callable(found):
        module, _, path = name.rpartition(":")
        raise NoFactory(f"the module {module} has no function {path!r}; write agent:MODULE:FACTORY")
    return found


_RAISED = frozenset(
    {
        ("agents", "ModelBehaviorError"), ("agents", "MaxTurnsExceeded"),
        ("pydantic_ai", "UnexpectedModelBehavior"), ("pydantic_ai", "UsageLimitExceeded"),
        ("langgraph", "GraphRecursionError"), ("langchain_core", "OutputParserException"),
        ("smolagents", "AgentParsingError"), ("smolagents", "AgentMaxStepsError"),
        ("smolagents", "AgentToolCallError"), ("haystack", "ToolNotFoundException"),
        ("haystack", "ToolInvocationError"), ("llama_index", "MaxIterationsError"),
    }
)  # fmt: skip
"""Package and class of exceptions that common libraries raise for a model's mistake, by their documentation and
tests."""
_TEXTS = re.compile(r"(?i)max iterations of \d+ reached|tool\b.{0,80}\bnot found\b|unknown tool\b|no tool named")
"""Texts of exceptions of any kind that report a model's mistake."""
_NAMED = re.compile(
    r"(?i)\b(?:tool|function)(?: name)?:? ['\"`]?([A-Za-z_][\w.-]{0,63})['\"`]?(?= not found|$|[\s.,;:])"
)


def mistake_of(error: BaseException) -> str | None:
    """The model's mistake in the library's words; ``None`` for an error of the agent itself."""
    chain = list(_chain(error))
    # Broken JSON is the model's where a tool's arguments are read, not where the agent reads its own answer.
    in_a_tool = any(re.search(r"(?i)\btool\b", str(each)[:200]) for each in chain)
    for each in chain:
        package = type(each).__module__.partition(".")[0]
        known = any((package, kind.__name__) in _RAISED for kind in type(each).__mro__)
        if known or (in_a_tool and isinstance(each, json.JSONDecodeError)) or _TEXTS.search(str(each)[:1000]):
            return f"{type(each).__name__}: {str(each)[:300]}"
    return None


def unknown_tool_in(mistake: str) -> str | None:
    """The missing tool that was called, if that is the library's error."""
    if not re.search(r"(?i)not found|unknown tool|no tool named|unknown function", mistake):
        return None
    found = _NAMED.search(mistake)
    return found[1] if found else "unknown_tool"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error with its causes and, for groups, all errors inside."""
    seen: set[int] = set()
    left = [error]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left += [one for one in (each.__cause__, each.__context__) if one is not None]
        left += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


class AgentEntry:
    """The argument of an agent's factory. It belongs to the event loop that made it; sync tools may be called from any
    thread. The factory returns a function from the user's message to the agent's answer, or is an ``async def`` that
    loops over `turns`.
    """

    def __init__(self, conversation: PlayedConversation) -> None:
        self._conversation = conversation
        self._loop = asyncio.get_running_loop()
        self._server: LoopbackServer | None = None
        self._told: list[tuple[int | None, int | None]] = []
        self._opening: list[Message] | None = None
        self.is_begun = False
        """Whether the agent took a turn."""

    # -- what is asked -------------------------------------------------------------------------------------------

    @property
    def entry_id(self) -> str:
        """The entry's id."""
        return self._conversation.entry.id

    @property
    def category(self) -> str:
        """The entry's category."""
        return self._conversation.entry.category

    @property
    def instructions(self) -> str:
        """The entry's system message; empty without one."""
        told = self._conversation.messages or self._first()
        return "\n\n".join(str(each.get("content") or "") for each in told if each["role"] == "system")

    def _first(self) -> list[Message]:
        self._opening = self._opening or self._conversation.opening()
        return self._opening

    @property
    def messages(self) -> list[Message]:
        """The conversation so far in OpenAI's shape: turns, calls, results, answers. For agents with plain messages."""
        return self._conversation.messages

    async def turns(self) -> AsyncIterator[str]:
        """The user's messages, one a turn, each after the turn before has ended."""
        while (text := self.next_turn()) is not None:
            yield text

    def next_turn(self) -> str | None:
        """The user's next message; ``None`` after the last one. A turn still open ends without words."""
        self.is_begun = True
        messages = self._conversation.begin_turn()
        if messages is None:
            return None
        spoken = [each for each in messages if each["role"] != "system"]
        if len(spoken) == 1:
            return str(spoken[0].get("content") or "")
        alone = all(each["role"] == "user" for each in spoken)
        told = (f"{'' if alone else each['role'] + ': '}{each.get('content') or ''}" for each in spoken)
        return "\n\n".join(told)

    # -- tools ---------------------------------------------------------------------------------------------------

    @property
    def tools(self) -> list[Tool]:
        """The offered tools, as ``async def`` functions; some entries add more in a later turn."""
        return [async_tool(schema, self.call) for schema in self._conversation.tools]

    @property
    def sync_tools(self) -> list[Tool]:
        """The same as plain functions."""
        return [sync_tool(schema, self.call_sync) for schema in self._conversation.tools]

    @property
    def tool_schemas(self) -> list[Parsed]:
        """The same in OpenAI's shape."""
        return self._conversation.tools

    async def call(self, name: str, arguments: Fields) -> str:
        """The result of one call as text; concurrent calls form one step."""
        checked = _checked(arguments)
        if asyncio.get_running_loop() is self._loop:
            return await self._conversation.call(name, checked)
        there = asyncio.run_coroutine_threadsafe(self._conversation.call(name, checked), self._loop)
        return await asyncio.wrap_future(there)

    def call_sync(self, name: str, arguments: Fields) -> str:
        """The same for code that cannot wait."""
        checked = _checked(arguments)
        try:
            running: object = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self._loop:
            return self._conversation.call_now(name, checked)
        return asyncio.run_coroutine_threadsafe(self._conversation.call(name, checked), self._loop).result()

    async def mcp_url(self) -> str:
        """The address of an MCP server (streamable HTTP, loopback only) with the same tools; it ends with the entry."""
        if self._server is None:
            from pytest_bfcl.extensions.agents.mcp_server import LoopbackServer, tool_server

            self._server = LoopbackServer(tool_server(self.entry_id, lambda: self.tool_schemas, self.call))
            await self._server.start()
        return self._server.url

    # -- what came of it -----------------------------------------------------------------------------------------

    def tell(self, *, input_tokens: int | None = None, output_tokens: int | None = None) -> None:
        """Tokens of one request, for agents whose results do not report them; summed over the turn."""
        self._told.append((input_tokens, output_tokens))

    def answer(self, result: object = "") -> None:
        """End the turn with the agent's answer: text, or the result of its library's run."""
        try:
            reply = final_reply(result)
        except UnknownShape as error:
            raise AdapterError(
                AdapterTrouble.FIXTURE, f"the agent returned {type(result).__name__}, which is not an answer: {error}",
                advice="return text, or what your library's run gave",
            ) from None  # fmt: skip
        self._conversation.end_turn(self._with_tokens(reply))

    async def mistake(self, text: str) -> None:
        """End the turn with a mistake of the model, in the words of the library's exception. A call of a missing tool
        counts as a call, as for a bare model; other mistakes become the turn's last message.
        """
        if (name := unknown_tool_in(text)) is not None:
            await self.call(name, {})
        self._conversation.end_turn(self._with_tokens(Reply(text=text)))

    def _with_tokens(self, reply: Reply) -> Reply:
        if not self._told:
            return reply
        told, self._told = self._told, []
        sums = [sum(each[side] or 0 for each in told) for side in (0, 1)]
        return replace(reply, input_tokens=sums[0] or None, output_tokens=sums[1] or None)

    async def aclose(self) -> None:
        """End the MCP server, if there is one."""
        if self._server is not None:
            await self._server.stop()
            self._server = None


def _checked(arguments: Fields) -> Parsed:
    """Arguments as JSON values, from a library's objects of any kind."""
    found: Parsed = plain(arguments)
    return found
