"""A small server of our own on the loopback interface, started by the first request that needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LoopbackServer:
    """Serves from a thread until it is closed; safe to use from several threads, and again after closing.

    ``handler`` makes the class that answers requests; it is called when the server starts. ``name`` is the thread's.
    """

    def __init__(self, handler: Callable[[], type[BaseHTTPRequestHandler]], name: str) -> None:
        self._handler = handler
        self._name = name
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def port(self) -> int:
        """The port on 127.0.0.1; starts the server."""
        with self._lock:
            if self._server is None:
                self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
                self._server.daemon_threads = True
                serve = self._server.serve_forever
                threading.Thread(target=serve, args=(0.05,), daemon=True, name=self._name).start()
            return int(self._server.server_port)

    def close(self) -> None:
        """Stop the server."""
        with self._lock:
            if self._server is not None:
                self._server.shutdown()
                self._server.server_close()
                self._server = None
