"""Servers of a run: which one a spec without a name means, which ones run already, which ones the run starts.

``auto:`` tries the usual ports, ``vllm:`` the engine's own; ``--bfcl-serve`` starts engines of an extension.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import urlsplit

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.table import family_of
from pytest_bfcl.models import ModelSpec, parse_spec
from pytest_bfcl.models.registry import LOCAL_SERVERS
from pytest_bfcl.settings import Settings
from pytest_bfcl.spread_json import read_json

if TYPE_CHECKING:
    import httpx


def get(url: str, *, timeout_s: float, most_bytes: int, headers: Mapping[str, str] | None = None) -> bytes | None:
    """The body of a 200 answer; ``None`` for any other, for a longer body, and after a timeout.

    Bytes count as they travel: a compressed body stays compressed.
    """
    import httpx

    deadline = time.monotonic() + timeout_s
    body = bytearray()
    sent = {"Accept-Encoding": "identity", **(headers or {})}
    try:
        with _client().stream("GET", url, headers=sent, timeout=timeout_s) as answer:
            if answer.status_code != 200:
                return None
            for part in answer.iter_raw():
                body += part
                if len(body) > most_bytes or time.monotonic() > deadline:
                    return None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return bytes(body)


@cache
def _client() -> httpx.Client:
    """One client for all requests, because each reads the certificates. It keeps no connection, as servers start and
    stop."""
    import httpx

    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))


USUAL_PORTS: Mapping[int, str] = {
    8000: "vLLM",
    30000: "SGLang",
    8080: "llama.cpp or TGI",
    11434: "Ollama",
    1234: "LM Studio",
    4000: "litellm proxy",
    3000: "TGI",
}
"""Port → the server that uses it by default."""

PROBE_S = 2.0
MOST_BYTES = 1_000_000
MOST_MODELS = 200


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered ``GET /v1/models``: its base URL, the usual server at its port, and its models."""

    base_url: str
    usual: str
    models: tuple[str, ...]


def find_servers(ports: Mapping[int, str] = USUAL_PORTS, *, key: str | None = None) -> list[FoundServer]:
    """The servers of this machine that answer, in the order of the table; all are tried at once."""
    with ThreadPoolExecutor(len(USUAL_PORTS)) as pool:
        found = list(pool.map(lambda port: ask_server(f"http://127.0.0.1:{port}/v1", ports[port], key), ports))
    return [server for server in found if server is not None]


def only_model(servers: Sequence[FoundServer], name: str = "") -> tuple[FoundServer, str]:
    """The only model that is served here, or the only one whose name contains ``name``."""
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
    """The server at an address with its models, ``None`` if it does not speak the protocol."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = get(f"{base_url}/models", timeout_s=PROBE_S, most_bytes=MOST_BYTES, headers=headers)
    models = _names(body) if body is not None else ()
    return FoundServer(base_url, usual, models) if models else None


def _names(body: bytes) -> tuple[str, ...]:
    """The model names in a ``/v1/models`` answer."""
    try:
        data = read_json(body)
    except ValueError:
        return ()
    listed = data.get("data") if isinstance(data, dict) else None
    rows = listed if isinstance(listed, list) else []
    names = [row["id"] for row in rows[:MOST_MODELS] if isinstance(row, dict) and isinstance(row.get("id"), str)]
    return tuple(name for name in names if name.isprintable() and len(name) <= 300)


AUTO = "auto"


def needs_a_name(spec: ModelSpec) -> bool:
    """Whether the spec's model is only known to its server."""
    return spec.provider == AUTO or (spec.provider in LOCAL_SERVERS and not spec.name)


def name_models(models: Sequence[str], settings: Settings) -> tuple[list[str], Settings]:
    """Models with a name each, and settings with the addresses of their servers. Raises `UsageError`. No request is
    sent if every model has a name, or if the run starts the engine.
    """
    if settings.serve is not None:
        return list(models), settings
    found = [named_spec(parse_spec(model), settings.base_url) for model in models]
    served = {spec.base: url for spec, url in found if url}
    return [spec.text for spec, _ in found], replace(settings, served={**settings.served, **served})


def named_spec(
    spec: ModelSpec, base_url: str | None = None, ports: Mapping[int, str] = USUAL_PORTS
) -> tuple[ModelSpec, str | None]:
    """A spec with a model's name, and the address of its server (``None``: the provider's). Only a spec without a name
    causes requests. ``base_url`` is the user's address, if any. Raises `UsageError`.
    """
    if not needs_a_name(spec):
        return spec, None
    if spec.provider == AUTO:
        given = [("", base_url)] if base_url is not None else _named_by_variables()
        asked = (ask_server(url, name or "named", _key(name or _provider(url))) for name, url in given)
        server, model = only_model(list(filter(None, asked)) if given else find_servers(ports), spec.name)
        provider = next((name for name, url in given if name and url == server.base_url), _provider(server.base_url))
        return replace(spec, provider=provider, name=model), server.base_url
    url = base_url or os.environ.get(f"{spec.provider.upper()}_BASE_URL") or LOCAL_SERVERS[spec.provider][0]
    found = ask_server(url, LOCAL_SERVERS[spec.provider][1], _key(spec.provider))
    if found is None:
        raise UsageError(
            f"{spec.provider}: no server answers at {url}/models; start it, give --bfcl-base-url, "
            f"or let it be started: --model {spec.provider}:PATH_OR_NAME --bfcl-serve"
        )
    _, model = only_model([found])
    return replace(spec, name=model), base_url


def _named_by_variables() -> list[tuple[str, str]]:
    """Variables that name a provider and address: with one set, no port is guessed."""
    urls = ((name, os.environ.get(f"{name.upper()}_BASE_URL", "")) for name in (*LOCAL_SERVERS, "openai"))
    return [(name, url.rstrip("/")) for name, url in urls if url.strip()]


def _key(provider: str) -> str | None:
    return os.environ.get(f"{provider.upper()}_API_KEY", "").strip() or None


def _provider(base_url: str) -> str:
    """The provider whose usual port the address has, else ``openai``."""
    port = urlsplit(base_url).port
    return next((name for name, (url, _) in LOCAL_SERVERS.items() if urlsplit(url).port == port), "openai")


def suggested_parser(engine: str, model: str) -> str | None:
    """The engine's parser for a model, ``None`` if none is known or needed."""
    row = family_of(model)
    return row.parser(engine) or None if row is not None else None


class Fleet(Protocol):
    """The engines of a run, made by the entry point ``serve`` of the group ``pytest_bfcl.engines``."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Spec (without mode) → base URL of the running engines."""

    def start(self, folder: Path, *, arguments: str = "", said: Callable[[str], None] = print) -> None:
        """Start them and wait until all accept requests; logs go to the run's folder. Raises `UsageError`."""

    async def launch(self, folder: Path, *, arguments: str = "", said: Callable[[str], None] = print) -> None:
        """`start` for callers inside an event loop."""

    def trouble(self) -> str | None:
        """Why an engine ended by itself, ``None`` while all run."""

    def stop(self) -> None:
        """End every engine."""


def fleet_of(specs: Sequence[ModelSpec], base_url: str | None) -> Fleet:
    """The engines that models name. Raises `UsageError` if there are none, or if an address is given as well."""
    return cast("Fleet", entry_points.require("engines", "serve", "--bfcl-serve")(specs, base_url))
