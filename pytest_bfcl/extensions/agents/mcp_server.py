"""An MCP server (official SDK, low-level ``Server``: schemas go out exactly as bare models get them)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extras import install_command
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.simulators import ERROR_PREFIX

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

Schemas = Callable[[], Sequence[Fields]]
"""The tools offered now, in OpenAI's shape."""
CallTool = Callable[[str, Fields], Awaitable[str]]
MISSING = f"this needs the SDK of MCP, version 2: {install_command('mcp')}"


def require_sdk() -> None:
    """Raise `UsageError` unless the SDK can be imported; version 1 has another API."""
    try:
        from mcp.server.lowlevel import Server  # noqa: F401
        from mcp.types import PaginatedRequestParams  # noqa: F401
    except ImportError:
        raise UsageError(MISSING) from None


def tool_server(name: str, schemas: Schemas, call: CallTool, *, instructions: str | None = None) -> Server[Any]:
    """A server that lists the tools of ``schemas`` and carries calls out with ``call``.

    Raises `UsageError` when the SDK is not installed.
    """
    require_sdk()
    from mcp import types
    from mcp.server.lowlevel import Server

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(_listed(each)) for each in schemas()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        # A tool that is not offered yet is called all the same: bare models can do that too.
        known = {str(each["function"]["name"]) for each in schemas()}
        text = await call(params.name, params.arguments or {})
        wrong = params.name not in known and text.startswith(ERROR_PREFIX)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=wrong)

    return Server(name, instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool)


def _listed(schema: Fields) -> Parsed:
    function = schema["function"]
    return {
        "name": function["name"],
        "description": function.get("description") or "",
        "inputSchema": function.get("parameters") or {"type": "object", "properties": {}},
    }
