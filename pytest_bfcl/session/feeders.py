"""Other places that hold a run's conversations and judge lines: entry points ``pytest_bfcl.feeders``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_bfcl import entry_points
from pytest_bfcl.failures import UsageError, instead_of

if TYPE_CHECKING:
    import argparse

    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.run_options import Option
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.session.contender import Contender
    from pytest_bfcl.session.earlier import EarlierParts
    from pytest_bfcl.session.sinks import Answered
    from pytest_bfcl.session.trial import Trial
    from pytest_bfcl.settings import Settings


class RemoteRunner(Protocol):
    """The parts of `pytest_bfcl.session.runner.Runner` that a run needs, on any machine; sinks listen through
    ``on_answer``."""

    on_answer: Callable[[Answered], None] | None

    def records(self, trials: Iterable[Trial]) -> AsyncIterator[ResultLine]:
        """The lines of all these trials, each as soon as it exists."""
        ...

    async def ready(self, concurrency: int) -> None:
        """Connect, for at most this number of concurrent conversations. Raises `UsageError`."""
        ...

    def in_order(self, records: list[ResultLine]) -> list[ResultLine]:
        """The last line of each trial, in the order of the trials."""
        ...

    async def aclose(self, *, interrupted: bool = False) -> None:
        """Release its resources."""
        ...


class Place(Protocol):
    """A place that can hold conversations."""

    def runner(
        self, data: DataSet, contenders: Sequence[Contender], settings: Settings, earlier: EarlierParts,
        path: Path | None, *, note: Callable[[str], None], on_switch: Callable[[Contender], None],
    ) -> RemoteRunner:  # fmt: skip
        """The holder of one run's conversations there; ``path`` is the run directory."""
        ...


class Feeder(Protocol):
    """The module of an entry point. Options of the verbs begin with the entry point's name."""

    def add_arguments(self, parser: argparse.ArgumentParser, kind: Callable[[Option], Callable[[str], Any]]) -> None:
        """Add its options to those of the verb ``run``; ``kind`` makes an argparse type for one of our options."""
        ...

    def place_of(self, args: argparse.Namespace) -> Place | None:
        """The place that these options select."""
        ...

    def place_at(self, address: str) -> Place:
        """The place at an address."""
        ...

    def judged(self, pieces: Sequence[Any], how: Any, address: str) -> Iterator[Any]:
        """Tallies of parts of files (`pytest_bfcl.rescoring`), judged at an address."""
        ...


def feeders() -> dict[str, Feeder]:
    """Name → module of every installed feeder."""
    return {name: entry_points.load(point, "feeder") for name, point in entry_points.offered("feeders").items()}


def find_feeder(name: str) -> Feeder:
    """One of them. Raises `UsageError`."""
    point = entry_points.find("feeders", name)
    if point is None:
        raise UsageError(f"nothing installed holds conversations on {name!r}; "
                         f"{instead_of(name, entry_points.offered('feeders'))}")  # fmt: skip
    feeder: Feeder = entry_points.load(point, "feeder")
    return feeder
