"""An MCP server over streamable HTTP on the loopback address; requests with another Host or Origin are refused."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

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
        """Where clients connect."""
        return f"http://{HOST}:{self._port}/mcp"

    async def start(self) -> None:
        """Begin to listen; on return requests are answered. Raises `OSError` when the port is taken."""
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
    """uvicorn without its handlers of signals: those belong to the process's owner."""
    import contextlib

    import uvicorn

    class Quiet(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Any:
            yield

    return Quiet(config)
