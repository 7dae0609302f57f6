"""A session with a user's own MCP server: tools with writable names, calls, resources, errors.

A command runs for one session; an address gets a new connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

from pytest_bfcl.dataset.inputs import short_digest
from pytest_bfcl.dataset.served_entry import ServedTool, ServerFacts, portable_name
from pytest_bfcl.extensions.agents.mcp_tools import (
    document_of,
    listed_tools,
    public_address,
    runnable,
    said_by,
    server_at,
)
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.redaction import discreet, hide, process_secrets
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from mcp import Client

MOST_READ = 1_000_000
"""Characters of one answer about the state that are stored."""
_SENDABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_LOST = frozenset((-32000, -32001))
"""The SDK's codes of a closed connection and a timeout; all others are the server's own answers."""


@asynccontextmanager
async def mcp_session(
    subject: str, name: str, where: str, timeout_s: float, places: Mapping[str, str] | None = None
) -> AsyncIterator[McpSession]:
    """A new session with the server at ``where``, a command or an address.

    Messages name ``subject`` (an entry's id) and ``name``; ``places`` has the values of placeholders in the command.
    Raises `HarnessError` (kind ``mcp``) for a server that does not start or does not answer within ``timeout_s``, and
    later for one that is gone.
    """
    trouble: Exception | None = None
    stack = AsyncExitStack()
    try:
        yield await _connected(subject, name, where, timeout_s, places, stack)
    except Exception as error:  # past the SDK's task groups, which would wrap it
        trouble = error
    finally:
        with contextlib.suppress(Exception):  # a server that fails when it is ended has done its part
            await stack.aclose()
    if trouble is not None:
        raise trouble


class McpSession:
    """One connected server."""

    client: Client

    def __init__(self, subject: str, name: str, errors: IO[str] | None, secrets: Sequence[str] = ()) -> None:
        self._subject = subject
        self._secrets = secrets
        self._name = name
        self._errors = errors
        self._changed = False
        self._tools: list[Any] = []

    async def documents(self, *, as_listed: bool) -> tuple[list[Parsed], dict[str, str]]:
        """The tools' documents, and the names that every notation can write → the server's.

        ``as_listed``: they have the server's own names, where these can be sent, else the writable ones.
        """
        try:
            self._tools = [self._discreet(tool) for tool in await listed_tools(self.client)]
            listed = [document_of(tool) for tool in self._tools]
        except UsageError as error:
            raise self.trouble(str(error)) from None
        except Exception as error:
            raise self.trouble(f"it does not list its tools: {said_by(error)}") from None
        names: dict[str, str] = {}
        for document in listed:
            own = str(document["name"])
            said = portable_name(own)
            plain = said not in names and _SENDABLE.fullmatch(own)
            while said in names:
                said += "_"
            names[said] = own
            document["name"] = own if as_listed and plain else said
        return listed, names

    def facts(self, files: Sequence[str] = ()) -> ServerFacts:
        """The server's identity and its last list of tools; ``files`` are those in the trial's directory."""
        info = self.client.server_info
        title = hide(f"{info.name} {info.version}".strip(), self._secrets) if info is not None else "unnamed"
        return ServerFacts(title, tuple(map(_served_tool, self._tools)), tuple(files))

    @property
    def may_change(self) -> bool:
        """Whether the list of tools may have changed: the server has reported it, or may."""
        told, self._changed = self._changed, False
        tools = getattr(self.client.server_capabilities, "tools", None)
        return told or bool(getattr(tools, "list_changed", None))

    async def hear(self, message: Any) -> None:
        """Handle the server's notifications."""
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._changed = True

    async def call(self, name: str, arguments: Fields, purpose: str = "", *, refusable: bool = False) -> Any:
        """The SDK's result of a call; with a ``purpose`` a tool's error is an infrastructure error, unless
        ``refusable``."""
        from mcp.shared.exceptions import MCPError

        try:
            result = await self.client.call_tool(name, dict(arguments))
        except MCPError as error:
            if error.code in _LOST or purpose:
                raise self.trouble(
                    f"it did not answer {name}{f' ({purpose})' if purpose else ''}: {said_by(error)}"
                ) from None
            raise MCPError(error.code, hide(error.message, self._secrets)) from None
        except Exception as error:
            raise self.trouble(f"it did not answer {name}: {said_by(error)}") from None
        result = self._discreet(result)
        if purpose and result.is_error and not refusable:
            raise self.trouble(f"{name} ({purpose}) failed: {text_of(result)[:300]}")
        return result

    def _discreet(self, result: Any) -> Any:
        """A result, or a tool, without the credentials of the server's start, because it may print its environment."""
        if not self._secrets:
            return result
        return type(result).model_validate(discreet(result.model_dump(by_alias=True), self._secrets))

    async def values(self, name: str, arguments: Fields, purpose: str) -> list[Any]:
        """The result of a call as JSON: its structured content, if any, its text parsed as JSON, and unchanged.

        A tool's error also describes the state, for instance a missing file.
        """
        result = await self.call(name, arguments, purpose, refusable=True)
        value, plain = result.structured_content, text_of(result)
        text = _parsed(plain)
        texts = [text] if text == plain[:MOST_READ] else [text, plain]
        if value is None:
            return texts
        whole = json.dumps(value, default=str)
        if len(whole) > MOST_READ:
            return [whole[:MOST_READ], *texts]
        return [value["result"] if isinstance(value, dict) and set(value) == {"result"} else value, *texts]

    async def resource(self, address: str) -> Any:
        """The content of a resource, read if it is JSON."""
        try:
            found = await self.client.read_resource(address)
        except Exception as error:
            raise self.trouble(f"it did not give the resource {address}: {said_by(error)}") from None
        return _parsed(hide("\n".join(str(getattr(part, "text", "")) for part in found.contents), self._secrets))

    def trouble(self, what: str) -> HarnessError:
        """An error of the server, with its last line on standard error."""
        return _trouble(f"{self._subject}: MCP server {self._name!r}: {what}", self._errors, secrets=self._secrets)


def _served_tool(tool: Any) -> ServedTool:
    said = tool.annotations
    hints = {
        "annotated": said is not None and said.read_only_hint is not None,
        "reads_only": bool(said and said.read_only_hint),
        "destroys": said is None or said.destructive_hint is not False,
        "repeatable": bool(said and (said.read_only_hint or said.idempotent_hint)),
    }
    whole = tool.model_dump_json(by_alias=True, exclude_none=True)
    return ServedTool(portable_name(tool.name), dict(tool.input_schema), short_digest(whole), **hints)


async def _connected(
    subject: str, name: str, where: str, timeout_s: float, places: Mapping[str, str] | None, stack: AsyncExitStack
) -> McpSession:
    errors = None
    secrets = process_secrets(where)
    try:
        transport: Any = server_at(where, places)
        from mcp import Client

        if not isinstance(transport, str):
            from mcp.client.stdio import stdio_client

            errors = stack.enter_context(tempfile.TemporaryFile("w+", errors="replace"))  # noqa: SIM115
            transport = stdio_client(transport, errlog=errors)
        session = McpSession(subject, name, errors, secrets)
        session.client = Client(transport, read_timeout_seconds=timeout_s, cache=None, message_handler=session.hear)
        async with asyncio.timeout(timeout_s):
            await stack.enter_async_context(session.client)
    except TimeoutError:
        raise _trouble(
            f"{subject}: MCP server {name!r} did not answer within {timeout_s:g} s", errors, secrets=secrets
        ) from None
    except UsageError as error:
        raise HarnessError(HarnessTrouble.MCP, f"{subject}: MCP server {name!r}: {error}") from None
    except Exception as error:
        shown = public_address(where)
        raise _trouble(
            f"{subject}: MCP server {name!r} ({shown}) cannot be used: {said_by(error)}", errors,
            f"try it alone: pytest-bfcl new entry --from-mcp {runnable(where)}", secrets=secrets,
        ) from None  # fmt: skip
    return session


def text_of(result: Any) -> str:
    """The text of a call's result, or its structured content without text; other parts are named."""
    if not result.content and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(map(_part_text, result.content))


def _part_text(part: Any) -> str:
    inside = getattr(part, "resource", None)  # an embedded resource
    text = getattr(part, "text", None) or getattr(inside, "text", None)
    address = getattr(part, "uri", None) or getattr(inside, "uri", None)
    return str(text or (f"({part.type}: {address})" if address else f"({part.type})"))


def _parsed(text: str) -> Any:
    if len(text) > MOST_READ:
        return text[:MOST_READ]
    return json_or(text, text)


def _trouble(text: str, errors: IO[str] | None, advice: str = "", *, secrets: Sequence[str] = ()) -> HarnessError:
    said = _last_line(errors)
    told = hide(f"{text}\nit last said: {said}" if said else text, secrets)
    return HarnessError(HarnessTrouble.MCP, told, advice=advice) if advice else HarnessError(HarnessTrouble.MCP, told)


def _last_line(errors: IO[str] | None) -> str:
    if errors is None or errors.closed:
        return ""
    errors.seek(0, 2)
    errors.seek(max(0, errors.tell() - 4000))
    return next((line.strip()[:300] for line in reversed(errors.read().splitlines()) if line.strip()), "")
