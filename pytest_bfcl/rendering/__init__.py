"""Messages and tools → the prompt a model reads, by its family's template or the model's own (formats spec §3)."""

from pytest_bfcl.rendering.family import DEFAULT_MAX_TOKENS, Family, open_family

__all__ = ["DEFAULT_MAX_TOKENS", "Family", "open_family"]
