"""Function documents of an MCP server's tools, through the official SDK (extra ``mcp``, version 2)."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from pytest_bfcl.extras import install_command
from pytest_bfcl.failures import UsageError
from pytest_bfcl.redaction import hide, process_secrets
from pytest_bfcl.tools.documents import native_document
from pytest_bfcl.tools.json_schema import FunctionDoc

TIMEOUT_S = 60.0
MAX_PAGES = 100
WORKDIR = "{workdir}"
"""The placeholder of a trial's directory in commands."""
_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL | re.ASCII)
MISSING = f"this needs the SDK of MCP, version 2: {install_command('mcp')}"


def require_sdk() -> None:
    """Raise `UsageError` unless the SDK can be imported; version 1 has another API."""
    try:
        from mcp.server.lowlevel import Server  # noqa: F401
        from mcp.types import PaginatedRequestParams  # noqa: F401
    except ImportError:
        raise UsageError(MISSING) from None


def documents_of_server(where: str, *, timeout_s: float = TIMEOUT_S) -> list[FunctionDoc]:
    """Documents of the tools a server lists.

    ``where`` is the URL of a streamable-HTTP server, or the command of a stdio server (split as a shell would, but
    started without one). Raises `UsageError` if the SDK is missing, the server does not answer in time, or lists
    nothing.
    """
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            server = server_at(where, {WORKDIR: folder})
            return asyncio.run(asyncio.wait_for(list_tools(server), timeout_s))
    except TimeoutError:
        raise UsageError(f"the MCP server {public_address(where)} did not answer within {timeout_s:g} s") from None
    except UsageError:
        raise
    except Exception as error:
        said = hide(said_by(error), process_secrets(where))
        raise UsageError(f"the MCP server {public_address(where)} cannot be used: {said}") from None


async def list_tools(server: Any) -> list[FunctionDoc]:
    """Documents of the tools of anything that the SDK's client can connect to (a URL, a command, a server in this
    process)."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    if isinstance(server, StdioServerParameters):
        # The process needs a real stream; sys.stderr is none in notebooks and under tests that capture it.
        errors: Any = sys.__stderr__ or subprocess.DEVNULL
        server = stdio_client(server, errlog=errors)
    async with Client(server) as client:
        return [document_of(tool) for tool in await listed_tools(client)]


async def listed_tools(client: Any) -> list[Any]:
    """The tools of a server, as the SDK returns them. Raises `UsageError` without any."""
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    if not tools:
        raise UsageError("the MCP server lists no tools")
    return tools


def document_of(tool: Any) -> FunctionDoc:
    """Name, description and schema as the server lists them, ``null`` inside the schema included."""
    try:
        return native_document({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema})
    except ValueError as error:
        raise UsageError(f"the MCP server lists a tool that cannot be used: {error}") from None


def server_at(where: str, places: Mapping[str, str] | None = None) -> Any:
    """The connection target of the SDK's client for a URL or a command (see `command_words`). Raises `UsageError`."""
    require_sdk()
    from mcp import StdioServerParameters

    if where.startswith(("http://", "https://")):
        return where
    words, variables = command_words(where, places or {})
    return StdioServerParameters(command=words[0], args=words[1:], env=variables or None)


def command_words(text: str, places: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The words of a command, and the variables before it as in a shell: ``NAME=VALUE command …``.

    ``places``: placeholder → its value in every word, with any characters. Raises `UsageError`.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"not a command or URL ({error})") from None
    for mark, place in places.items():
        words = [word.replace(mark, place) for word in words]
    variables: dict[str, str] = {}
    while words and (found := _VARIABLE.fullmatch(words[0])):
        variables[found[1]] = found[2]
        words = words[1:]
    if not words:
        raise UsageError("name the MCP server: its URL, or the command that starts it")
    return words, variables


def public_address(where: str) -> str:
    """The server without passwords and queries of its address."""
    if not where.startswith(("http://", "https://")):
        return repr(_program(where))
    scheme, _, rest = where.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path.partition('?')[0]}"


def _program(where: str) -> str:
    """The first word of a command that is no variable, as variables may contain keys."""
    try:
        return command_words(where, {})[0][0]
    except UsageError:
        return ""


def runnable(where: str) -> str:
    """The server as one word of a command line that a user can run; possible keys become variables.

    The program, flags, paths (words with a slash or a dot) and words that are no value of a flag stay.
    """
    if where.startswith(("http://", "https://")):
        return shlex.quote(public_address(where))
    words, variables = command_words(where, {})
    told = [f"{name}=${name}" for name in variables]
    for number, word in enumerate(words):
        flag, equals, _ = word.partition("=")
        if equals:
            told.append(f"{flag}={_variable(flag)}")
        elif number and words[number - 1].startswith("-") and not word.startswith("-") and not set("/\\.") & set(word):
            told.append(_variable(words[number - 1]))
        else:
            told.append(shlex.quote(word).replace("$", "\\$"))
    return '"' + " ".join(told).replace('"', '\\"').replace("`", "\\`") + '"'


def _variable(flag: str) -> str:
    return "$" + (re.sub(r"\W+", "_", flag).strip("_").upper() or "VALUE")


def said_by(error: BaseException) -> str:
    """The text of an error; for a group that of the first one."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error) or type(error).__name__).partition("\n")[0][:300]
