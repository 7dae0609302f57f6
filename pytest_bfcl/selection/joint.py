"""The chosen set and files named beside it, as one run measures both."""

from __future__ import annotations

from functools import cached_property

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet, joint_digest


class JointData:
    """The chosen set and files beside it: what both are, as a fingerprint and a report need it."""

    def __init__(self, chosen: DataSet, files: DataSet) -> None:
        self._sets = (chosen, files)
        self.name = f"{chosen.name}+{files.name}"
        self.version = chosen.version
        self.root = files.root

    def unread(self) -> JointData:
        """Both with nothing read of them yet: little to send to another process."""
        chosen, files = self._sets
        return JointData(chosen.unread(), files.unread())

    @cached_property
    def file_digests(self) -> dict[str, str]:
        """Digest of the chosen set and of each file, by name."""
        chosen, files = self._sets
        return {chosen.name: chosen.sha256, **(files.file_digests or {files.name: files.sha256})}

    @property
    def templates(self) -> dict[str, str]:
        """Digests of what own entries have copied into their trials."""
        return {**self._sets[0].templates, **self._sets[1].templates}

    @cached_property
    def sha256(self) -> str:
        """Digest of all data files, for the run's fingerprint."""
        return joint_digest(self.file_digests)

    def entry(self, entry_id: str) -> Entry:
        """The entry of this id; raises `pytest_bfcl.dataset.UnknownEntry`."""
        chosen, files = self._sets
        return (chosen if chosen.find(entry_id) is not None else files).entry(entry_id)

    def clash(self) -> str | None:
        """The first id that both have, with both places."""
        chosen, files = self._sets
        for ref in (ref for name in files.categories() for ref in files.index(name)):
            other = chosen.find(ref.id)
            if other is not None:
                places = f"{other.path}:{other.line} and in {ref.path}:{ref.line}"
                return f"the id {ref.id!r} occurs in {places}: results are stored by id, so change one of the two"
        return None
