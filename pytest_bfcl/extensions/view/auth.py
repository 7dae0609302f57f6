"""Access control: the token in the address, Host and Origin, read-only methods, and headers that allow no scripts.

The token is the first part of every path, so that links stay relative and another page that guesses the port gets
nothing. Host must be a loopback name of this machine, so a page on the internet cannot use a name that resolves here.
Origin and the browser's own headers about a request's source must name this server.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def new_token() -> str:
    """A random token, in letters that need no escape in an address."""
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, slots=True)
class Auth:
    """The requirements for a request. ``hosts`` are the names, with the port, of this server."""

    token: str
    hosts: frozenset[str] = field(default_factory=frozenset)
    port: int = 0
    any_address: bool = False

    @classmethod
    def at(cls, host: str, port: int, token: str) -> Auth:
        """The requirements of a server that listens there; one that listens everywhere answers at any address, not
        name."""
        plain = host.strip("[]")
        everywhere = plain in ("0.0.0.0", "::")
        own = (socket.gethostname().lower(),) if everywhere else (plain.lower(), f"[{plain.lower()}]")
        names = {*LOOPBACK, *(() if plain in ("127.0.0.1", "::1", "localhost") else own)}
        ends = (f":{port}", "") if port == 80 else (f":{port}",)
        return cls(token, frozenset(f"{name}{end}" for name in names for end in ends), port, everywhere)

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server."""
        if host.lower() in self.hosts:
            return True
        name, _, port = host.rpartition(":")
        if not self.any_address or port != str(self.port):
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def refusal(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        """Why a request is refused, with the status; else ``None``."""
        if not self.knows(headers.get("host", "")):
            return 421, "asked under a name that is not this server's"
        origin = headers.get("origin")
        if origin is not None and not (origin.startswith("http://") and self.knows(origin.removeprefix("http://"))):
            return 403, "asked by a page of another place"
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return 403, "asked by a page of another place"
        if method not in ("GET", "HEAD"):
            return 405, "only for looking: GET and HEAD"
        given = path.removeprefix("/").partition("/")[0]
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return 403, "the address lacks its token: use the one that `pytest-bfcl view` printed"
        return None


class Guard:
    """ASGI middleware: refuses a request, or passes it on without the token in the path; adds the headers to every
    answer."""

    def __init__(self, app: ASGIApp, auth: Auth) -> None:
        self.app = app
        self.auth = auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        from starlette.responses import PlainTextResponse, RedirectResponse

        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self.auth.refusal(scope["method"], scope["path"], headers)

        async def guarded(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                given = [pair for pair in message.get("headers", []) if pair[0] not in dict(HEADERS)]  # type: ignore[attr-defined]
                message = {**message, "headers": [*given, *HEADERS]}
            await send(message)

        _, slash, rest = scope["path"].removeprefix("/").partition("/")
        answer: ASGIApp = self.app
        if refused is not None:
            status, why = refused
            answer = PlainTextResponse(f"refused: {why}\n", status)
        elif not slash:  # the token alone: relative links need the slash
            answer = RedirectResponse(f"/{self.auth.token}/")
        inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
        await answer(inner, receive, guarded)  # type: ignore[arg-type]
