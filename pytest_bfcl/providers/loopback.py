"""A small server of our own on the loopback interface and its client; the first request starts it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 20.0


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

    def get(self, target: str, headers: Mapping[str, str]) -> httpx.Response:
        """The answer to a path with its query. Raises `OSError` where nothing of use is answered."""
        import httpx

        try:
            with httpx.Client(trust_env=False, verify=False, timeout=TIMEOUT_S) as client:
                return client.get(f"http://127.0.0.1:{self.port()}{target}", headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise OSError(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Stop the server."""
        with self._lock:
            if self._server is not None:
                self._server.shutdown()
                self._server.server_close()
                self._server = None
