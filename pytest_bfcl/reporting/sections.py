"""Parts of other packages in a finished run: sections of the first page, and listeners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields

if TYPE_CHECKING:
    from markupsafe import Markup

    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.summary_types import Summary


class Section(NamedTuple):
    """A part of the page. ``anchor`` is the id in ``body``; ``first`` puts it before the scores, otherwise it comes
    after them."""

    anchor: str
    title: str
    body: Markup
    first: bool = False


class MakeSection(Protocol):
    """The object of an entry point ``sections``."""

    def __call__(self, run: RunDirectory, lines: Sequence[Fields]) -> Section | None:
        """The section of a run with these lines; ``None`` without content."""


def sections_of(run: RunDirectory, lines: Sequence[Fields]) -> Iterator[Section | str]:
    """The sections of a run, or in words why one is not shown."""
    for name, point in entry_points.offered("sections").items():
        try:
            make: MakeSection = entry_points.load(point, "section")
            made = make(run, lines)
        except Exception as error:  # others' code: it must not cost the report
            told = error if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
            yield f"The section {name} is not shown: {told}."
        else:
            if made is not None:
                yield made


def tell_listeners(path: Path, summary: Summary) -> Iterator[str]:
    """Call each; a failure is reported in words and does not stop the others."""
    for point in entry_points.offered("listeners").values():
        try:
            entry_points.load(point, "listener")(path, summary)
        except Exception as error:
            told = error if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
            yield f"the listener {point.name} ({point.value}) failed: {told}"
