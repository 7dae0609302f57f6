"""An MCP server (official SDK, low-level ``Server``: schemas go out exactly as bare models get them), also over HTTP.

HTTP is streamable, on the loopback address; requests with another Host or Origin are refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.extensions.agents.mcp_tools import require_sdk
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.simulators import ERROR_PREFIX

if TYPE_CHECKING:
    import uvicorn
    from mcp.server.lowlevel import Server


HOST = "127.0.0.1"
STARTING_S = 20.0
STOPPING_S = 5.0


class LoopbackServer:
    """Serves one MCP server in the running event loop; ``port`` 0 takes a free one."""

    def __init__(self, server: Server[Any], port: int = 0) -> None:
        self._server = server
        self._port = port
        self._uvicorn: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"http://{HOST}:{self._port}/mcp"

    async def start(self) -> None:
        """Begin to listen; on return requests are answered. Raises `OSError` if the port is in use."""
        import uvicorn
        from mcp.server.transport_security import TransportSecuritySettings

        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, self._port))
        except OSError:
            self._socket.close()
            raise
        self._port = self._socket.getsockname()[1]
        names = [f"{host}:{self._port}" for host in (HOST, "localhost")]
        security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names])
        app = self._server.streamable_http_app(transport_security=security, host=HOST)
        self._uvicorn = _server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        self._task = asyncio.ensure_future(self._uvicorn.serve(sockets=[self._socket]))
        async with asyncio.timeout(STARTING_S):
            while not self._uvicorn.started and not self._task.done():
                await asyncio.sleep(0.005)
        if self._task.done():
            self._task.result()

    async def stop(self) -> None:
        """End it and all its sessions."""
        if self._uvicorn is not None and self._task is not None:
            self._uvicorn.should_exit = True
            done, _ = await asyncio.wait({self._task}, timeout=STOPPING_S)
            if not done:
                self._task.cancel()
        if self._socket is not None:
            self._socket.close()


def _server(config: uvicorn.Config) -> uvicorn.Server:
    """uvicorn without its signal handlers, which belong to the process."""
    import uvicorn

    class Quiet(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            yield

    return Quiet(config)


Schemas = Callable[[], Sequence[Fields]]
"""The offered tools, in OpenAI's shape."""
CallTool = Callable[[str, Fields], Awaitable[str]]


def tool_server(name: str, schemas: Schemas, call: CallTool, *, instructions: str | None = None) -> Server[Any]:
    """A server that lists the tools of ``schemas`` and executes calls with ``call``. Raises `UsageError` if the SDK is
    not installed.
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
