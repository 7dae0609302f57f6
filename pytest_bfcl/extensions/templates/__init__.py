"""Messages and tools → the prompt a model reads, by its family's template or the model's own (formats spec §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.late_names import late_names

if TYPE_CHECKING:
    from pytest_bfcl.extensions.templates.family import DEFAULT_MAX_TOKENS as DEFAULT_MAX_TOKENS
    from pytest_bfcl.extensions.templates.family import Family as Family
    from pytest_bfcl.extensions.templates.family import open_family as open_family

__all__ = ["DEFAULT_MAX_TOKENS", "Family", "open_family"]

if not TYPE_CHECKING:  # the process that renders hostile templates loads nothing else of this room
    __getattr__ = late_names(__name__, dict.fromkeys(__all__, "family"))
