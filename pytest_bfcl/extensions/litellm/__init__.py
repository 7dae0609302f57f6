"""Providers through litellm: ``litellm:PROVIDER/NAME``, or by their own names (``gemini:NAME``)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_bfcl import extras
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models.prices import litellm_providers

if TYPE_CHECKING:
    from pytest_bfcl.models import Model, ModelSpec
    from pytest_bfcl.settings import Settings
    from pytest_bfcl.transcript import Mode

NEEDS: Mapping[str, tuple[str, ...]] = {
    "azure": ("AZURE_API_KEY", "AZURE_API_BASE", "AZURE_API_VERSION"),
    "azure_ai": ("AZURE_AI_API_KEY", "AZURE_AI_API_BASE"),
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION_NAME"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY",),
    "cohere_chat": ("COHERE_API_KEY",),
    "databricks": ("DATABRICKS_API_KEY", "DATABRICKS_API_BASE"),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_AI_API_KEY",),
    "gemini": ("GEMINI_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "ollama_chat": (),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY",),
    "replicate": ("REPLICATE_API_KEY",),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY",),
    "vertex_ai": ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_PROJECT", "VERTEXAI_LOCATION"),
    "watsonx": ("WATSONX_API_KEY", "WATSONX_URL", "WATSONX_PROJECT_ID"),
    "xai": ("XAI_API_KEY",),
}
"""Listed providers with their environment variables."""


def missing_key(provider: str) -> str | None:
    """The variable of a provider with one key, if no variable of the provider is set.

    Providers with several variables are left out: their libraries also find credentials elsewhere.
    """
    needed = NEEDS.get(provider, ())
    if len(needed) != 1 or not needed[0].endswith("_API_KEY"):
        return None
    own = (needed[0][:5], "GOOGLE") if provider == "gemini" else (needed[0][:5],)
    held = (name for name, value in os.environ.items() if value and name.startswith(own))
    return None if any("KEY" in name or "TOKEN" in name for name in held) else needed[0]


class LitellmProvider:
    """The entry point ``litellm`` of the group ``pytest_bfcl.models``, which also accepts other providers' specs."""

    needs = NEEDS

    def takes(self, provider: str) -> bool:
        """Whether litellm has a provider of this name."""
        return provider in NEEDS or provider in litellm_providers()

    def check(self, spec: ModelSpec, settings: Settings) -> None:
        """Raise `UsageError` if litellm is not installed."""
        extras.require("litellm", f"{spec.text}, which uses litellm,")

    def __call__(self, spec: ModelSpec, settings: Settings, mode: Mode) -> Model:
        """The adapter. Raises `UsageError` if litellm is not installed or another API is requested."""
        from pytest_bfcl.extensions.litellm.model import LitellmModel

        self.check(spec, settings)
        if settings.api not in (None, "chat"):
            raise UsageError(
                f"{spec.text} uses litellm, which has chat completions only; for the API {settings.api} "
                "write openai:NAME with --bfcl-base-url"
            )
        return LitellmModel(spec, settings, mode)


provider = LitellmProvider()
