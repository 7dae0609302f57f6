"""The standard form in which texts are compared (ast_checker spec §6.4)."""

from __future__ import annotations

_IGNORED = str.maketrans("", "", " ,./-_*^")


def standardise(text: str) -> str:
    """Without spaces and ``, . / - _ * ^``, lower-case, single quotes as double ones."""
    return text.translate(_IGNORED).lower().replace("'", '"')
