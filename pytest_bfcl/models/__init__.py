"""Models under test: one adapter per kind of API, named by ``provider:name[@fc|@prompt]``."""

from __future__ import annotations

from pytest_bfcl.endpoints.breaker import stop_reason
from pytest_bfcl.models.base import Model, Request, ToolsRefused
from pytest_bfcl.models.callable import as_model
from pytest_bfcl.models.registry import ProviderInfo, create_model, list_providers
from pytest_bfcl.models.spec import ModelSpec, parse_spec

__all__ = [
    "Model",
    "ModelSpec",
    "ProviderInfo",
    "Request",
    "ToolsRefused",
    "as_model",
    "create_model",
    "list_providers",
    "parse_spec",
    "stop_reason",
]
