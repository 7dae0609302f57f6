"""Model specs: ``provider:name[@fc|@prompt]`` (contract §1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from pytest_bfcl.failures import UsageError
from pytest_bfcl.redaction import public_url, redact
from pytest_bfcl.transcript import Mode

MODES: tuple[Mode, ...] = ("fc", "prompt")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A parsed model spec. ``mode`` is ``None`` without a suffix: then settings decide.

    ``name`` may contain colons, slashes and ``@`` (``llama3:8b``, ``meta/llama``, ``claude@20240620``); it is empty for
    models that need none (``oracle:``).
    """

    provider: str
    name: str
    mode: Mode | None = None

    @property
    def base(self) -> str:
        """The spec without its mode; of an address only the public parts."""
        return f"{self.provider}:{public_url(self.name) if '://' in self.name[:9] else self.name}"

    @property
    def text(self) -> str:
        """The canonical spelling, with the mode if there is one."""
        return f"{self.base}@{self.mode}" if self.mode else self.base

    def with_mode(self, mode: Mode) -> ModelSpec:
        """The same model in the given mode."""
        return replace(self, mode=mode)


_OTHER_WORDS: Mapping[str, Mode] = {
    **dict.fromkeys(("native", "tool", "tools", "function", "functions", "function_calling", "function-calling"), "fc"),
    **dict.fromkeys(("text", "prompting", "prompted"), "prompt"),
}


def _nearly_a_mode(suffix: str) -> str | None:
    """The mode that a misspelt suffix means; other words behind an ``@`` are a part of the name."""
    from difflib import get_close_matches  # a spec without a mistake pays nothing for it

    if found := _OTHER_WORDS.get(suffix.strip().lower()):
        return found
    return next(iter(get_close_matches(suffix.strip().lower(), MODES, cutoff=0.75)), None)


def parse_spec(text: str) -> ModelSpec:
    """Parse a spec: the provider ends at the first colon, and only ``@fc`` and ``@prompt`` at the end are modes. Raises
    `UsageError` without a provider or name.
    """
    text = text.strip()
    body, at, suffix = text.rpartition("@")
    mode: Mode | None = None
    if at and suffix.lower() in MODES:
        mode = cast(Mode, suffix.lower())
    else:
        body = text
        if at and ":" in body.partition("@")[0] and (meant := _nearly_a_mode(suffix)):
            raise UsageError(f"cannot read model {text!r}: did you mean @{meant}? Modes are @fc and @prompt")
    provider, colon, name = body.partition(":")
    if mode is not None and name.rpartition("@")[2].lower() in MODES:
        raise UsageError(f"cannot read model {text!r}: it names two modes; a model has one")
    if re.search(r"[,;\s][A-Za-z_]+:", name):
        raise UsageError(f"cannot read model {text!r}: write --model once for each model")
    provider = provider.strip().lower().replace("-", "_")
    if provider in ("http", "https", "localhost") or (name.partition("/")[0].isdecimal() and "." in provider):
        url = text if provider.startswith("http") else f"http://{text}"
        raise UsageError(
            f"{text!r} is an address: the server's model is written --model vllm:NAME --bfcl-base-url {redact(url)}"
        )
    if not provider or (not colon and "/" in provider):
        first, slash, rest = body.partition("/")
        meant = f"{first}:{rest}" if slash and first in ("openai", "anthropic") else "openai:gpt-4o or oracle:"
        raise UsageError(f"cannot read model {text!r}: write provider:name, for instance {meant}")
    return ModelSpec(provider, name.strip(), mode)
