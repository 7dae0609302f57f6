"""Which server a spec means that names none: ``auto:`` asks the usual ports, ``vllm:`` the engine's own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlsplit

from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import ModelSpec, parse_spec
from pytest_bfcl.models.registry import LOCAL_SERVERS
from pytest_bfcl.session.serving.discovery import USUAL_PORTS, ask_server, find_servers, only_model
from pytest_bfcl.settings import Settings

AUTO = "auto"


class Addressed(NamedTuple):
    """A spec with a model's name, and the address of the server it was found at (``None``: as the provider says)."""

    spec: ModelSpec
    base_url: str | None


def needs_a_name(spec: ModelSpec) -> bool:
    """Whether a server has to be asked which model a spec means."""
    return spec.provider == AUTO or (spec.provider in LOCAL_SERVERS and not spec.name)


def named_specs(
    specs: Sequence[ModelSpec], base_url: str | None = None, ports: Mapping[int, str] = USUAL_PORTS
) -> list[Addressed]:
    """Every spec with a name; servers are asked only for those that have none.

    ``base_url`` is the address the user gave, if any. Raises `UsageError` listing what was found when that is not one
    model.
    """
    return [_named_spec(spec, base_url, ports) if needs_a_name(spec) else Addressed(spec, None) for spec in specs]


def name_models(models: Sequence[str], settings: Settings) -> tuple[list[str], Settings]:
    """Models with a name each, and settings with the addresses that were found. Raises `UsageError`.

    Nothing is asked where every model has a name, or where the engine is to be started.
    """
    specs = list(map(parse_spec, models))
    if settings.serve is not None or not any(map(needs_a_name, specs)):
        return list(models), settings
    found = named_specs(specs, settings.base_url)
    served = {each.spec.base: each.base_url for each in found if each.base_url}
    return [each.spec.text for each in found], replace(settings, served={**settings.served, **served})


def _named_spec(spec: ModelSpec, base_url: str | None, ports: Mapping[int, str]) -> Addressed:
    if spec.provider == AUTO:
        given = [("", base_url)] if base_url is not None else _named_by_variables()
        asked = (ask_server(url, name or "named", _key(name or _provider(url))) for name, url in given)
        server, model = only_model(list(filter(None, asked)) if given else find_servers(ports), spec.name)
        provider = next((name for name, url in given if name and url == server.base_url), _provider(server.base_url))
        return Addressed(replace(spec, provider=provider, name=model), server.base_url)
    url = base_url or os.environ.get(f"{spec.provider.upper()}_BASE_URL") or LOCAL_SERVERS[spec.provider][0]
    found = ask_server(url, LOCAL_SERVERS[spec.provider][1], _key(spec.provider))
    if found is None:
        raise UsageError(
            f"{spec.provider}: no server answers at {url}/models; start it, give --bfcl-base-url, "
            f"or let it be started: --model {spec.provider}:PATH_OR_NAME --bfcl-serve"
        )
    server, model = only_model([found])
    return Addressed(replace(spec, name=model), base_url and server.base_url)


def _named_by_variables() -> list[tuple[str, str]]:
    """Providers and addresses that variables name: where one does, no port is guessed."""
    urls = ((name, os.environ.get(f"{name.upper()}_BASE_URL", "")) for name in (*LOCAL_SERVERS, "openai"))
    return [(name, url.rstrip("/")) for name, url in urls if url.strip()]


def _key(provider: str) -> str | None:
    return os.environ.get(f"{provider.upper()}_API_KEY", "").strip() or None


def _provider(base_url: str) -> str:
    """The provider whose usual port an address has; plain ``openai`` for others."""
    port = urlsplit(base_url).port
    return next((name for name, (url, _) in LOCAL_SERVERS.items() if urlsplit(url).port == port), "openai")
