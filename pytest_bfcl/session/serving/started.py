"""The engines that ``--bfcl-serve`` starts, as an extension offers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from pytest_bfcl import entry_points
from pytest_bfcl.models import ModelSpec


class Fleet(Protocol):
    """The engines of a run, made by the entry point ``serve`` of the group ``pytest_bfcl.engines``."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Spec (without mode) → base URL, once they run."""

    def start(self, folder: Path, *, arguments: str = "", said: Callable[[str], None] = print) -> None:
        """Start them and wait until all take requests, logs in the run's folder. Raises `UsageError`."""

    async def launch(self, folder: Path, *, arguments: str = "", said: Callable[[str], None] = print) -> None:
        """`start` for callers inside an event loop."""

    def trouble(self) -> str | None:
        """What happened to an engine that has ended by itself, ``None`` while all run."""

    def stop(self) -> None:
        """End every engine."""


def fleet_of(specs: Sequence[ModelSpec], base_url: str | None) -> Fleet:
    """Those that models name. Raises `UsageError` when none does, or an address is given as well."""
    return cast("Fleet", entry_points.require("engines", "serve", "--bfcl-serve")(specs, base_url))
