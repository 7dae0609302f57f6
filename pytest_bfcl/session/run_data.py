"""What a run must know of its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.selection.joint import JointData


class RunData(Protocol):
    """The data of a run, opened when it is asked for."""

    @property
    def dataset(self) -> DataSet:
        """Where entries are looked up first."""
        ...

    @property
    def measured(self) -> DataSet | JointData:
        """Everything the run is about: what its fingerprint hashes."""
        ...

    def category_of(self, entry_id: str) -> str | None:
        """The category of an entry that a line or an earlier part names."""
        ...

    def selection_facts(self) -> Fields:
        """What of it was asked for, as it stands in the fingerprint."""
        ...
