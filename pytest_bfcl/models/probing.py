"""Test requests to an endpoint: a harmless request, the models it offers, the address that was meant."""

from __future__ import annotations

import asyncio
import difflib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.redaction import public_url

if TYPE_CHECKING:
    from pytest_bfcl.models.endpoint import Endpoint
    from pytest_bfcl.transcript import Message

_MEND_S = 6.0  # for all its questions together
_SHOWN = 5  # names of models that a message lists
_TAILS = ("/chat/completions", "/completions", "/responses", "/messages", "/models")


def probe_request(parameters: Parsed | None = None) -> Request:
    """A harmless request with one tool, to see whether an endpoint works and accepts tools."""
    return _request([{"role": "user", "content": "Please echo the word hello."}], parameters)


def tool_request(parameters: Parsed | None = None) -> Request:
    """A request that needs the tool, with a system message as chat clients send one."""
    system = "You are a careful assistant. When a tool fits the request, call it instead of answering yourself."
    question = "Say the word hello back to me with the tool echo. Use the tool; do not answer in text."
    return _request([{"role": "system", "content": system}, {"role": "user", "content": question}], parameters)


def _request(messages: list[Message], parameters: Parsed | None) -> Request:
    from pytest_bfcl.dataset.entry import Entry

    echo = {
        "name": "echo",
        "description": "Says a word back.",
        "parameters": {
            "type": "dict",
            "properties": {"word": {"type": "string", "description": "The word."}},
            "required": ["word"],
        },
    }
    entry = Entry(id="probe_0", category="simple_python", question=[messages], function=[echo])
    return Request(entry, list(messages), [echo], parameters=dict(parameters or {}))


async def likely_mend(server: Endpoint, model: str) -> str:
    """Advice for a refused address or model name: reads ``GET models`` here and at the usual path.

    Empty without a finding.
    """
    try:
        async with asyncio.timeout(_MEND_S):
            return await _mend(server, model)
    except TimeoutError:
        return ""


async def _mend(server: Endpoint, model: str) -> str:
    names = _names(await server.get("models"))
    if names is not None:
        return _advice_on_names(names, model)
    for base in _other_bases(server.url):
        names = _names(await server.get("models", base=base))
        if names is not None:
            offered = f" (it offers {_listed(names)})" if names else ""
            return f"write --bfcl-base-url {public_url(base)}: models are listed there{offered}"
    return ""


def _advice_on_names(names: list[str], model: str) -> str:
    if model in names:
        return ""
    close = difflib.get_close_matches(model, names, 3, 0.5)
    if close:
        return f"there is no model {model!r}; did you mean {_listed(close)}?"
    return f"there is no model {model!r}; GET models offers {_listed(names)}" if names else ""


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(name[:80] for name in names[:_SHOWN]) + more


def _names(body: object) -> list[str] | None:
    """The ids of a list of models; ``None`` for anything else."""
    listed = body.get("data", body.get("models")) if isinstance(body, dict) else None
    if not isinstance(listed, list):
        return None
    found = (each.get("id") or each.get("name") for each in listed if isinstance(each, dict))
    return [name for name in found if isinstance(name, str) and name.isprintable()]


def _other_bases(url: str) -> list[str]:
    """The same host with the usual path of servers."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    for tail in _TAILS:
        path = path.removesuffix(tail)
    paths = [path, f"{path}/v1", "/v1", "/api/v1", "/openai/v1"]
    wanted = [each for each in dict.fromkeys(paths) if each != parts.path.rstrip("/")]
    host = parts.netloc.rpartition("@")[2]
    return [urlunsplit((parts.scheme, host, each, "", "")) for each in wanted]
