"""Keys never reach a log, an error text or a report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pytest_bfcl.transcript import ProviderState, Reply, ToolCall

TEXT_LIMIT = 500
"""Longest excerpt of a foreign text in an error message, in characters."""

_SCAN_LIMIT = 20_000
_SHORTEST = 4
_SHORTEST_IN_REPLY = 8
_TELLING = re.compile(r"key|token|secret|sig|auth|pass|code", re.IGNORECASE)
_HIDDEN = "[hidden]"
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key|AIza|AKIA|ASIA)[-_]?[A-Za-z0-9_*\-]{12,}"
    r"|(?i:\bbearer\s+)[^\s\"',}]+"
    r"|(?i:\b(?:api[-_]?key|x-api-key|authorization|access[-_]?token|secret)\b[\"']?\s*[:=]\s*[\"']?)[^\s\"',}&]+"
)


def redact(text: str, secrets: Iterable[str] = (), *, limit: int = TEXT_LIMIT) -> str:
    """``text`` without the given secrets and without anything shaped like a key, on one line of ``limit`` characters.

    What a terminal or an XML file cannot take (control, bidirectional and unpaired surrogate characters) becomes
    ``\N{REPLACEMENT CHARACTER}``.
    """
    text = _SHAPES.sub(_HIDDEN, hide(text[:_SCAN_LIMIT], secrets))
    text = " ".join(text.split())
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def hide(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every occurrence of the secrets hidden; a secret of a few characters would hide ordinary words."""
    for secret in sorted((s for s in secrets if len(s) >= _SHORTEST), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text


def discreet(reply: Reply, secrets: Iterable[str]) -> Reply:
    """The reply without the secrets the request was sent with: some proxies and debug servers echo their headers.

    Secrets of fewer than 8 characters stay: they may well be words of the answer.
    """
    known = [secret for secret in secrets if len(secret) >= _SHORTEST_IN_REPLY]
    if not known:
        return reply
    said = (reply.text, reply.reasoning, reply.finish_reason, *(p for c in reply.tool_calls for p in _parts(c)))
    state = reply.state and reply.state.to_dict()
    if not any(secret in text for text in (*said, repr(state) if state else "") if text for secret in known):
        return reply
    return replace(
        reply,
        text=reply.text and hide(reply.text, known),
        reasoning=reply.reasoning and hide(reply.reasoning, known),
        finish_reason=reply.finish_reason and hide(reply.finish_reason, known),
        tool_calls=tuple(ToolCall(*(part and hide(part, known) for part in _parts(c))) for c in reply.tool_calls),
        state=ProviderState.from_dict(_hidden(state, known)) if state else None,
    )


def _hidden(value: Any, secrets: Iterable[str]) -> Any:
    """A parsed value with the secrets hidden in all its texts."""
    if isinstance(value, str):
        return hide(value, secrets)
    if isinstance(value, dict):
        return {_hidden(name, secrets): _hidden(each, secrets) for name, each in value.items()}
    return [_hidden(each, secrets) for each in value] if isinstance(value, list) else value


def _parts(call: ToolCall) -> tuple[str, str, str]:
    return call.name, call.arguments, call.id or ""


def url_secrets(url: str) -> tuple[str, ...]:
    """What a URL carries that must not be shown: password (or the user, if alone) and keys in its query."""
    parts = urlsplit(url)
    raw = [parts.password or parts.username or ""]
    raw += [value for name, value in parse_qsl(parts.query) if _TELLING.search(name)]
    return tuple(dict.fromkeys(text for part in raw for text in (part, unquote(part)) if text))


def public_url(url: str) -> str:
    """The URL without user, password, query and fragment: what may stand in a fingerprint."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    if parts.port:
        host += f":{parts.port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
