"""Which tool-call parser an engine needs for a model, by the one table of families.

Without the right parser a server answers in text and every native call is lost. An engine that does not know one says
so at its start and lists its own.
"""

from __future__ import annotations

from pytest_bfcl.formats.families import family_of


def suggested_parser(engine: str, model: str) -> str | None:
    """The engine's parser for a model, ``None`` where none is known or the engine needs none."""
    row = family_of(model)
    return row.parser(engine) or None if row is not None else None
