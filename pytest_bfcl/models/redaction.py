"""Keys never reach a log, an error text or a report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

TEXT_LIMIT = 500
"""Longest excerpt of a foreign text in an error message, in characters."""

_SCAN_LIMIT = 20_000
_HIDDEN = "[hidden]"
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|key|AIza|AKIA|ASIA)[-_]?[A-Za-z0-9_*\-]{12,}"
    r"|(?i:\bbearer\s+)[^\s\"',}]+"
    r"|(?i:\b(?:api[-_]?key|x-api-key|authorization|access[-_]?token|secret)\b[\"']?\s*[:=]\s*[\"']?)[^\s\"',}&]+"
)


def redact(text: str, secrets: Iterable[str] = (), *, limit: int = TEXT_LIMIT) -> str:
    """``text`` without the given secrets and without anything shaped like a key, cut to ``limit`` characters."""
    text = text[:_SCAN_LIMIT]
    for secret in sorted((s for s in secrets if s), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    text = _SHAPES.sub(_HIDDEN, text)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def public_url(url: str) -> str:
    """The URL without user, password, query and fragment: what may stand in a fingerprint."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    if parts.port:
        host += f":{parts.port}"
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
