"""The tools of a user's own MCP server as the world of one conversation: a session of its own for every trial.

A command is started for each conversation and ended with it; an address is connected to anew. What must hold of the
server's state is asked for here, and kept in the transcript, so that a verdict needs no server.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import json
import re
import shlex
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

from pytest_bfcl.conversation.world import MOST_CALLS, MOST_SHOWN, TOO_MUCH, World
from pytest_bfcl.failures import AdapterError, HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.python_text import parse_expression
from pytest_bfcl.simulators import CallExecutor, serialise
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.transcript import OBSERVED, Transcript

if TYPE_CHECKING:
    from mcp import Client

    from pytest_bfcl.dataset import Entry
    from pytest_bfcl.dataset.served_entry import Expectation
    from pytest_bfcl.settings import Settings

MOST_OBSERVED = 1_000_000
"""Characters of one answer about the state that are kept."""
_LOST = frozenset((-32000, -32001))
"""Codes the SDK gives a closed connection and a timeout; all others are the server's own answers."""


@asynccontextmanager
async def served_entry(entry: Entry, settings: Settings) -> AsyncIterator[tuple[Entry, ServedWorld]]:
    """The entry with the documents its server lists, and the world its calls act on.

    Raises `HarnessError` (kind ``mcp``) for a server that is not named, does not start, does not answer.
    """
    where = settings.mcp.get(entry.mcp or "")
    if where is None:
        raise HarnessError(
            "mcp", f"{entry.id}: nobody says where the MCP server {entry.mcp!r} is",
            advice=f'name it: --bfcl-mcp {entry.mcp}="COMMAND or URL"',
        )  # fmt: skip
    trouble: Exception | None = None
    stack = AsyncExitStack()
    try:
        server = await _connected(entry, where, settings, stack)
        documents, names = await server.documents()
        world = ServedWorld(entry, server, names)
        for call in entry.setup:
            await server.call(call.call, call.arguments, "the entry's setup")
        yield entry.model_copy(update={"function": _offered(entry, documents, server)}), world
    except Exception as error:  # past the SDK's task groups, which would wrap it
        trouble = error
    finally:
        with contextlib.suppress(Exception):  # a server that fails when it is ended has done its part
            await stack.aclose()
    if trouble is not None:
        raise trouble


def _offered(entry: Entry, documents: list[Parsed], server: _Server) -> list[Parsed]:
    """The server's tools; where the entry names some itself, those, as it describes them."""
    known = {doc["name"] for doc in documents}
    given = [{**doc, "name": _identifier(str(doc["name"]))} for doc in entry.function]
    missing = next((doc["name"] for doc in given if doc["name"] not in known), None)
    if missing is not None:
        raise server.trouble(f"it has no tool {missing!r}, which the entry offers")
    return given or documents


class ServedWorld(World):
    """The world of a conversation on one server."""

    def __init__(self, entry: Entry, server: _Server, names: Mapping[str, str]) -> None:
        super().__init__(entry, {}, CallExecutor({}))
        self._server = server
        self._names = names
        self._transcript: Transcript | None = None
        self._observed: dict[int, Any] = {}

    def keep_in(self, transcript: Transcript) -> None:
        """Where to keep what the server tells of its state."""
        self._transcript = transcript

    async def execute(self, call_text: str) -> str:
        """The result of one call as the model sees it. Raises `HarnessError` when the server is gone."""
        await self._observe_before(self._turn)
        self._calls += 1
        if self._calls > MOST_CALLS or self._shown > MOST_SHOWN:
            return TOO_MUCH
        try:
            name, arguments = read_call(call_text)
            if name not in self._names:
                raise NameError(f"there is no tool {name[:100]!r}")
            result = serialise(_text_of(await self._server.call(self._names[name], arguments)))
        except (HarnessError, AdapterError):
            raise
        except Exception as error:  # what was written is no call, or the answer is too large
            result = error_text(error)
        self._shown += len(result)
        return result

    def execute_now(self, call_text: str) -> str:
        """A server cannot be asked without waiting."""
        raise AdapterError(
            "fixture", "a tool of an MCP server was called in the event loop's own thread, which cannot wait for it",
            advice="use episode.tools (async), or call sync_tools from a thread",
        )  # fmt: skip

    async def finish(self) -> None:
        """Ask for all that must hold of the state, and keep what was told in the transcript."""
        await self._observe_before(len(self.entry.question) + 1)
        if self._transcript is not None:
            self._transcript.extra[OBSERVED] = [self._observed.get(n) for n in range(len(self.entry.expect))]

    @property
    def _turn(self) -> int:
        return len(self._transcript.turns) - 1 if self._transcript is not None else 0

    async def _observe_before(self, turn: int) -> None:
        """Of turns before this one: nothing has been called since they ended."""
        for number, each in enumerate(self.entry.expect):
            due = len(self.entry.question) - 1 if each.turn is None else each.turn
            if each.is_state and number not in self._observed and due < turn:
                self._observed[number] = await self._server.told(each)


class _Server:
    """One connected server."""

    def __init__(self, entry_id: str, name: str, client: Client, errors: IO[str] | None) -> None:
        self._entry_id = entry_id
        self._name = name
        self._client = client
        self._errors = errors

    async def documents(self) -> tuple[list[Parsed], dict[str, str]]:
        """The tools' documents under names that every notation can write, and those names → the server's."""
        from pytest_bfcl.dataset.mcp_tools import documents_of_client

        try:
            listed = await documents_of_client(self._client)
        except UsageError as error:
            raise self.trouble(str(error)) from None
        except Exception as error:
            raise self.trouble(f"it does not list its tools: {_first(error)}") from None
        names: dict[str, str] = {}
        for document in listed:
            own = str(document["name"])
            said = _identifier(own)
            while said in names:
                said += "_"
            names[said] = own
        return [{**doc, "name": said} for said, doc in zip(names, listed, strict=True)], names

    async def call(self, name: str, arguments: Fields, purpose: str = "") -> Any:
        """The SDK's result of a call; with a ``purpose`` an error of the tool is trouble, else the caller's answer."""
        from mcp.shared.exceptions import MCPError

        try:
            result = await self._client.call_tool(name, dict(arguments))
        except MCPError as error:
            if error.code in _LOST or purpose:
                raise self.trouble(
                    f"it did not answer {name}{f' ({purpose})' if purpose else ''}: {_first(error)}"
                ) from None
            raise
        except Exception as error:
            raise self.trouble(f"it did not answer {name}: {_first(error)}") from None
        if purpose and result.is_error:
            raise self.trouble(f"{name} ({purpose}) failed: {_text_of(result)[:300]}")
        return result

    async def told(self, each: Expectation) -> Any:
        """What the server tells about its state, as JSON."""
        if each.resource is None:
            return _value_of(await self.call(str(each.call), each.arguments, "asked by an expectation"))
        try:
            found = await self._client.read_resource(each.resource)
        except Exception as error:
            raise self.trouble(f"it did not give the resource {each.resource}: {_first(error)}") from None
        return _parsed("\n".join(str(getattr(part, "text", "")) for part in found.contents))

    def trouble(self, what: str) -> HarnessError:
        """Trouble of the server, with the last thing it said on standard error."""
        said = _last_line(self._errors)
        text = f"{self._entry_id}: MCP server {self._name!r}: {what}"
        return HarnessError("mcp", f"{text}\nit last said: {said}" if said else text)


async def _connected(entry: Entry, where: str, settings: Settings, stack: AsyncExitStack) -> _Server:
    """A session of its own; the server of a command is a process of its own."""
    from mcp import Client

    from pytest_bfcl.dataset.mcp_tools import server_at, shown_server

    name, errors = entry.mcp or "", None
    try:
        transport: Any = server_at(where)
        if not isinstance(transport, str):
            from mcp.client.stdio import stdio_client

            errors = stack.enter_context(tempfile.TemporaryFile("w+", errors="replace"))  # noqa: SIM115
            transport = stdio_client(transport, errlog=errors)
        client = Client(transport, read_timeout_seconds=settings.timeout_s, cache=None)
        async with asyncio.timeout(settings.timeout_s):
            await stack.enter_async_context(client)
    except TimeoutError:
        said = _last_line(errors)
        told = f"{entry.id}: MCP server {name!r} did not answer within {settings.timeout_s:g} s"
        raise HarnessError("mcp", f"{told}\nit last said: {said}" if said else told) from None
    except UsageError as error:
        raise HarnessError("mcp", f"{entry.id}: MCP server {name!r}: {error}") from None
    except Exception as error:
        said = _last_line(errors)
        told = f"{entry.id}: MCP server {name!r} ({shown_server(where)}) cannot be used: {_first(error)}"
        raise HarnessError(
            "mcp", f"{told}\nit last said: {said}" if said else told,
            advice=f"try it alone: pytest-bfcl new entry --from-mcp {shlex.quote(shown_server(where))}",
        ) from None  # fmt: skip
    return _Server(entry.id, name, client, errors)


def read_call(text: str) -> tuple[str, Parsed]:
    """Name and arguments of a call text of literals; raises `ValueError` for any other text."""
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError("not one call of a tool")
        if node.args:
            raise ValueError("arguments are given by name")
        arguments: Parsed = {}
        for item in node.keywords:
            value = ast.literal_eval(item.value)
            arguments |= {item.arg: value} if item.arg is not None else {str(key): each for key, each in value.items()}
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        raise
    except (SyntaxError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise ValueError(f"this is no call that can be carried out: {type(error).__name__}") from None
    return node.func.id, arguments


def _identifier(name: str) -> str:
    """A tool's name as every notation can write it."""
    said = re.sub(r"\W", "_", name, flags=re.ASCII)[:64] or "tool"
    return f"_{said}" if said[0].isdigit() else said


def _text_of(result: Any) -> str:
    return "\n".join(str(getattr(part, "text", None) or f"({part.type})") for part in result.content)


def _value_of(result: Any) -> Any:
    """What a call told as JSON: its structured content, else its text, read if it is JSON."""
    value = result.structured_content
    if value is None:
        return _parsed(_text_of(result))
    whole = json.dumps(value, default=str)
    if len(whole) > MOST_OBSERVED:
        return whole[:MOST_OBSERVED]
    return value["result"] if isinstance(value, dict) and set(value) == {"result"} else value


def _parsed(text: str) -> Any:
    if len(text) > MOST_OBSERVED:
        return text[:MOST_OBSERVED]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _last_line(errors: IO[str] | None) -> str:
    if errors is None or errors.closed:
        return ""
    errors.seek(0, 2)
    errors.seek(max(0, errors.tell() - 4000))
    return next((line.strip()[:300] for line in reversed(errors.read().splitlines()) if line.strip()), "")


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (str(error) or type(error).__name__).partition("\n")[0][:300]
