"""What an earlier part of the run has done, when the run directory exists already: asked once, read once.

A run directory that measured something else is refused with the differences. Workers are told by the controller.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.failures import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_bfcl.plugin.collection import EntryItem
    from pytest_bfcl.plugin.session import BfclSession
    from pytest_bfcl.runs import Fingerprint
    from pytest_bfcl.runs.lines import DamagedLine
    from pytest_bfcl.transcript import Mode

Key = tuple[str, str, int]
"""Entry id, model without mode, repeat."""


class Continuation:
    """The earlier parts of one run; a new run has none."""

    def __init__(self, bfcl: BfclSession) -> None:
        self.bfcl = bfcl

    @cached_property
    def fingerprint(self) -> Fingerprint | None:
        """What the run has measured so far; ``None`` for a new run."""
        from pytest_bfcl.runs import RunDirectory, is_run

        path = self.bfcl.run_path
        return RunDirectory.open(path).fingerprint if is_run(path) else None

    @cached_property
    def decided(self) -> dict[str, Mode]:
        """Model without mode → the mode the run settled on (``auto`` is decided once)."""
        if self.bfcl.worker:
            return dict(self.bfcl.worker["decided"])
        if self.fingerprint is None:
            return {}
        return {_base(model.model): cast("Mode", model.mode) for model in self.fingerprint.models}

    @property
    def finished(self) -> set[Key]:
        """The entries with a verdict. Raises `UsageError` when the run measured something else."""
        return self._keys[0]

    @property
    def troubled(self) -> set[Key]:
        """The entries whose line is an error."""
        return self._keys[1]

    @cached_property
    def _keys(self) -> tuple[set[Key], set[Key]]:
        from pytest_bfcl.runs import RunDirectory, is_settled, record_key

        if worker := self.bfcl.worker:
            return _as_keys(worker["finished"]), _as_keys(worker["troubled"])
        finished: set[Key] = set()
        troubled: set[Key] = set()
        if self.fingerprint is not None:
            self._refuse_another_measurement(self.fingerprint)
            for record in RunDirectory.open(self.bfcl.run_path).records(self._say_damaged):
                model, _, entry_id, repeat = record_key(record)
                if is_settled(record):
                    finished.add((entry_id, _base(model), repeat))
                elif record.get("outcome") == "error":
                    troubled.add((entry_id, _base(model), repeat))
        return finished, troubled

    def _refuse_another_measurement(self, earlier: Fingerprint) -> None:
        if differences := earlier.differences(self.bfcl.fingerprint()):
            listed = "\n  ".join(differences)
            raise UsageError(f"cannot continue {self.bfcl.run_path}: it measured something else\n  {listed}")

    def is_done(self, item: EntryItem) -> bool:
        """Whether there is a verdict for this item."""
        return self._key(item, item.ref.id) in self.finished

    def needs_stage(self, question: EntryItem, stage_id: str) -> bool:
        """Whether a write stage must run for a question: the question will, or the stage ended in an error before."""
        return not self.is_done(question) or self._key(question, stage_id) in self.troubled

    def is_finished_line(self, line: dict[str, Any]) -> bool:
        """Whether a line of the journal belongs to an entry with a verdict."""
        return (line.get("id"), _base(str(line.get("model"))), line.get("repeat")) in self.finished

    def for_workers(self) -> dict[str, Any]:
        """What the controller tells its workers."""
        return {
            "finished": [list(key) for key in self.finished],
            "troubled": [list(key) for key in self.troubled],
            "decided": self.decided,
        }

    def _key(self, item: EntryItem, entry_id: str) -> Key:
        return entry_id, _base(self.bfcl.canonical(item.spec)), item.repeat

    def _say_damaged(self, line: DamagedLine) -> None:
        self.bfcl.outcomes.notes.append(f"damaged line: {line}; its entry runs again")


def _as_keys(listed: Iterable[list[Any]]) -> set[Key]:
    return {(str(entry_id), str(model), int(repeat)) for entry_id, model, repeat in listed}


def _base(model: str) -> str:
    from pytest_bfcl.models import parse_spec

    return parse_spec(model).base
