"""The gate ``--bfcl-verify``: whether every model of a run is served as in the references."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_bfcl.extensions.boards.served_runs import ServedRun, conducts_of, open_served
from pytest_bfcl.extensions.boards.verification import by_entry, verify
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.directory import same_results
from pytest_bfcl.scoring.comparison import comparison_notes
from pytest_bfcl.scoring.gates import GateCheck
from pytest_bfcl.scoring.measurements import Measurement

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary


class ServedGate:
    """References opened before the run (`pytest_bfcl.scoring.gating.OthersGate`).

    Raises `UsageError` for one that is this run, or measured something else.
    """

    def __init__(
        self, texts: Sequence[str], run: Fingerprint, data: DataSet, directory: Path, out: Path | None
    ) -> None:
        self.notes: list[str] = []
        self.references = [self._open(text, run, data, directory, out) for text in texts]

    def _open(self, text: str, run: Fingerprint, data: DataSet, directory: Path, out: Path | None) -> ServedRun:
        found = open_served(str(directory / text), lambda measurement: data.entry)
        if out is not None and same_results(out, directory / text.partition("#")[0]):
            raise UsageError(f"--bfcl-verify {text} is the run itself: name a run of the model elsewhere")
        try:
            self.notes += comparison_notes(found.measurement, Measurement("this run", lambda rules: {}, run))
        except UsageError as error:
            told = str(error).replace("cannot be compared", "measured something else")
            raise UsageError(f"--bfcl-verify {text}: {told}") from None
        return found

    def unreachable(self, ids: Collection[str]) -> str | None:
        """Why a server that does all the same could not be called so over these entries."""
        runs = [{name: done for name, done in each.run.items() if name in ids} for each in self.references]
        if not any(runs):
            return f"{self.references[0].label} has answers to none of the {len(ids):,} selected entries"
        found = verify(max(runs, key=len), runs)
        needed = max((row.least for row in found.rows if not row.is_same), default=0)
        if not needed:
            return None
        return f"{found.entries:,} entries cannot show that two servers are alike, even when they are: {needed:,} can"

    def checks(self, summary: Summary, records: Iterable[Fields]) -> Iterator[GateCheck]:
        """A check for each model."""
        lines = list(records)
        label = " and ".join(reference.label for reference in self.references)
        for told in summary["models"].values():
            model, mode = told["model"], told["mode"]
            mine = (record for record in lines if (record.get("model"), record.get("mode")) == (model, mode))
            run = by_entry(conducts_of(cast("Iterable[ResultLine]", mine)))
            try:
                found = verify(run, [reference.run for reference in self.references], labels=("this run", label))
            except UsageError as error:
                yield GateCheck("verify", model, False, str(error))
                continue
            why = f"{found.sentence} ({label}, {found.entries:,} entries; {found.noise})"
            yield GateCheck("verify", model, found.verdict == "same", why)  # too few requests to tell are no yes
