"""Which environment variables go to actors: keys and addresses of the providers that the run asks, and no others."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_bfcl import entry_points
from pytest_bfcl.models.registry import list_providers
from pytest_bfcl.providers.search_provider import KEY_VARIABLE

if TYPE_CHECKING:
    from pytest_bfcl.models import ModelSpec


def variables_of(specs: Iterable[ModelSpec]) -> list[str]:
    """The names of the variables that these models, the web search and retired categories may need."""
    groups = (entry_points.load(point, "group of categories") for point in entry_points.offered("categories").values())
    names = {KEY_VARIABLE, *(name for group in groups for name in group.key_variables())}
    needed = {info.name: info.needs for info in list_providers()}
    for spec in specs:
        hosted = spec.name.partition("/")[0].replace("-", "_") if spec.provider == "litellm" else ""
        for provider in filter(None, (spec.provider, hosted)):
            prefix = provider.upper()
            names |= {f"{prefix}_API_KEY", f"{prefix}_BASE_URL", f"{prefix}_API_BASE"}
            names |= {name for name in needed.get(provider, ()) if "_" in name}
    return sorted(names)


def environment_of(specs: Iterable[ModelSpec]) -> dict[str, str]:
    """Those of them that are set here, with their values."""
    return {name: os.environ[name] for name in variables_of(specs) if os.environ.get(name)}
