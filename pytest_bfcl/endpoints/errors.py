"""Two errors of endpoints that more follows from than from others."""

from __future__ import annotations

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.troubles import AdapterTrouble


class EndpointUnreachable(AdapterError):
    """No connection could be made at all: unknown host, no route, no server.

    ``refused``: this machine says that no server listens, or no host has the name: waiting helps little.
    """

    def __init__(self, message: str, *, advice: str = "", refused: bool = False) -> None:
        super().__init__(AdapterTrouble.CONNECTION, message, advice=advice, retryable=True)
        self.refused = refused


class ToolsRefused(AdapterError):
    """The endpoint does not take ``tools``: with ``--bfcl-mode auto`` the run is switched to prompting, once."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(
            AdapterTrouble.BAD_REQUEST,
            message,
            advice="use --bfcl-mode prompt, add @prompt to the model, or start the server with a tool-call parser",
            status=status,
        )
