"""Where a report finds the questions of a run: the data set, if it is here and the one that was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.json_types import Fields

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet

EntrySource = Any
"""A `DataSet`, or a function from an entry id to an `Entry`."""


class Questions:
    """Entries by id, ``None`` where there is none; ``notice`` tells a reader what is missing.

    ``data`` is the data set as ``--bfcl-data`` takes it.
    """

    def __init__(self, find: Callable[[str], Entry] | None, data: str, notice: str = "") -> None:
        self._find = find
        self.data = data
        self.notice = notice

    def __call__(self, entry_id: str) -> Entry | None:
        """The entry, or ``None``."""
        if self._find is None:
            return None
        try:
            return self._find(entry_id)
        except (KeyError, UsageError, BenchmarkError):
            return None


def questions(source: EntrySource | None, measured: Fields) -> Questions:
    """The questions of a run; ``measured`` is the ``dataset`` part of its fingerprint.

    Without a source the bundled or the fetched official set is opened; another version than the one measured is not
    used, since its questions may differ.
    """
    name = str(measured.get("name") or "")
    if source is not None and not hasattr(source, "entry"):
        return Questions(source, name or "PATH")
    dataset = source if source is not None else _opened(name)
    if isinstance(dataset, str):
        return Questions(None, name or "PATH", dataset)
    if measured.get("sha256") and dataset.sha256 != measured["sha256"]:
        here = f"{dataset.name} {dataset.version}"
        return Questions(None, name, f"questions are not shown: the data here ({here}) is not what was measured")
    return Questions(dataset.entry, _choice(dataset))


def _opened(name: str) -> DataSet | str:
    """The data set of that name, or why there is none."""
    from pytest_bfcl.dataset.opening import open_dataset
    from pytest_bfcl.simulators import documents_of

    if name not in ("bundled", "official"):
        return f"questions are not shown: the data set {name!r} is not known here"
    try:
        return open_dataset(name, documents=documents_of)
    except UsageError as error:
        return f"questions are not shown: {error}"


def _choice(dataset: DataSet) -> str:
    if dataset.name in ("bundled", "official"):
        return dataset.name
    try:
        return str(Path(dataset.root).resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(dataset.root)
