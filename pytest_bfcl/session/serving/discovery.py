"""Servers that run on this machine already: which of the usual ports answer, and with which models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pytest_bfcl.failures import UsageError
from pytest_bfcl.session.serving.questions import get

USUAL_PORTS: Mapping[int, str] = {
    8000: "vLLM",
    30000: "SGLang",
    8080: "llama.cpp or TGI",
    11434: "Ollama",
    1234: "LM Studio",
    4000: "litellm proxy",
    3000: "TGI",
}
"""Port → the server that uses it by itself."""

PROBE_S = 2.0
MOST_BYTES = 1_000_000
MOST_MODELS = 200


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered ``GET /v1/models``: its base URL, what usually is there, and the models it names."""

    base_url: str
    usual: str
    models: tuple[str, ...]


def find_servers(ports: Mapping[int, str] = USUAL_PORTS, *, key: str | None = None) -> list[FoundServer]:
    """The servers of this machine that answer, in the order of the table; asks all of them at once."""
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as pool:
        found = list(pool.map(lambda port: ask_server(f"http://127.0.0.1:{port}/v1", ports[port], key), ports))
    return [server for server in found if server is not None]


def only_model(servers: Sequence[FoundServer], name: str = "") -> tuple[FoundServer, str]:
    """The one model that is served here, or the one whose name contains ``name``.

    Raises `UsageError` that lists what there is when it is none or several.
    """
    offers = [(server, model) for server in servers for model in server.models if name.lower() in model.lower()]
    exact = [offer for offer in offers if offer[1] == name]
    offers = exact or offers
    if len(offers) == 1:
        return offers[0]
    if not offers:
        ports = ", ".join(map(str, USUAL_PORTS))
        what = f"no model like {name!r}" if name and servers else "no server"
        raise UsageError(
            f"auto: found {what} on this machine (asked ports {ports}); start one, "
            "name it (--model vllm:NAME --bfcl-base-url URL), or start it with the run (--bfcl-serve)"
        )
    shown = [f"{model} at {server.base_url} ({server.usual})" for server, model in offers[:6]]
    more = f", and {len(offers) - 6} more" if len(offers) > 6 else ""
    raise UsageError("auto: found several models; write --model auto:NAME with one of\n  " + "\n  ".join(shown) + more)


def ask_server(base_url: str, usual: str, key: str | None = None) -> FoundServer | None:
    """The server at an address with its models, ``None`` when nothing there speaks the protocol."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = get(f"{base_url}/models", timeout_s=PROBE_S, most_bytes=MOST_BYTES, headers=headers)
    models = _names(body) if body is not None else ()
    return FoundServer(base_url, usual, models) if models else None


def _names(body: bytes) -> tuple[str, ...]:
    """The model names of a ``/v1/models`` answer."""
    import json

    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ()
    listed = data.get("data") if isinstance(data, dict) else None
    rows = listed if isinstance(listed, list) else []
    names = [row["id"] for row in rows[:MOST_MODELS] if isinstance(row, dict) and isinstance(row.get("id"), str)]
    return tuple(name for name in names if name.isprintable() and len(name) <= 300)
