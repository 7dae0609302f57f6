"""Stored runs for a verification: the conducts of one model, and refused comparisons.

`ServedGate` is the gate ``--bfcl-verify``: whether every model of a run is served as in the references.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_bfcl.dataset.categories import is_write_stage
from pytest_bfcl.extensions.boards.verification import MARGIN, Run, Verification, by_entry, verify
from pytest_bfcl.extensions.boards.verification_text import noise, sentence
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.directory import same_results
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.scoring.comparison import comparison_notes
from pytest_bfcl.scoring.conduct import Conduct, conduct_of, is_same_model, name_of
from pytest_bfcl.scoring.gates import GateCheck
from pytest_bfcl.scoring.measurements import Measurement, open_measurement

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary

Find = Callable[[str], "Entry | None"]
"""The entry of an id, ``None`` if the data is not found."""


@dataclass(frozen=True, slots=True)
class ServedRun:
    """One model of a stored run."""

    measurement: Measurement
    model: str
    run: Run

    @property
    def label(self) -> str:
        """The run as named."""
        return self.measurement.label


def conducts_of(records: Iterable[ResultLine], find: Find | None = None) -> Iterator[Conduct]:
    """The conducts of lines with a request; the write stages of memory entries are left out.

    ``find`` gives the tools for lines without a stored form of calls, whose calls are not checked without it.
    """
    from pytest_bfcl.checkers.json_calls import call_form, native_calls

    for record in records:
        if record.get("outcome") == "skipped" or is_write_stage(str(record.get("category"))):
            continue
        form = None
        if find is not None and "call_form" not in record and native_calls(record.get("output")):
            entry = find(str(record["id"]))
            if entry is not None and entry.mcp is None:  # what a server listed is not told
                form = call_form(entry.all_functions, record.get("output"), entry.language)
        yield conduct_of(record, form)


def open_served(text: str, find_in: Callable[[Measurement], Find]) -> ServedRun:
    """One model of ``PATH`` or ``PATH#MODEL``: a run directory or a file of result lines.

    ``find_in`` finds the entries of a measurement. Raises `UsageError` for several models, or none.
    """
    measurement = open_measurement(text)
    model, verdicts = measurement.only_model()
    ids = {entry_id for entry_id, _ in verdicts}
    lines = [line for line in measurement.lines(ids) if str(line.get("model") or "") == model]
    if not lines or not any("output" in line for line in lines):
        raise UsageError(f"{text} holds verdicts without answers: a verification needs a run, or its results.jsonl")
    records: list[ResultLine] = lines  # type: ignore[assignment]
    return ServedRun(measurement, model, by_entry(conducts_of(records, find_in(measurement))))


def verify_runs(served: ServedRun, references: Sequence[ServedRun], margin: float = MARGIN) -> Verification:
    """`verify` of opened runs. Raises `UsageError` for runs that are not comparable: other data, or the run itself."""
    notes: list[str] = []
    for reference in references:
        one, other = served.measurement.folder, reference.measurement.folder
        if one is not None and other is not None and served.model == reference.model and same_results(one, other):
            raise UsageError(f"{reference.label} is the same run: name a reference run of the model on another server")
        notes += comparison_notes(reference.measurement, served.measurement)
        modes = [each.model.rpartition("@")[2] for each in (reference, served)]
        if modes[0] != modes[1]:
            notes.append(f"{reference.label} was asked in mode {modes[0]}, {served.label} in {modes[1]}")
        if not is_same_model(name_of(reference.model), name_of(served.model)):
            notes.append(f"{reference.label} names its model {reference.model}, {served.label} {served.model}")
    conducts = (each for run in (served, *references) for many in run.run.values() for each in many)
    if any(each.form is None and each.passed is not None for each in conducts):
        notes.append("calls of lines that do not tell their form, and whose data is not here, are not looked at")
    label = " and ".join(reference.label for reference in references)
    return verify(
        served.run,
        [reference.run for reference in references],
        labels=(served.label, label),
        margin=margin,
        notes=list(dict.fromkeys(notes)),
    )


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
            raise UsageError(f"--bfcl-verify {text} is the same run: name a run of the model on another server")
        try:
            self.notes += comparison_notes(found.measurement, Measurement("this run", lambda rules: {}, run))
        except UsageError as error:
            told = str(error).replace("cannot be compared", "measured something else")
            raise UsageError(f"--bfcl-verify {text}: {told}") from None
        return found

    def unreachable(self, ids: Collection[str]) -> str | None:
        """Why these entries cannot show that an equal server is equal."""
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
            why = f"{sentence(found)} ({label}, {found.entries:,} entries; {noise(found)})"
            yield GateCheck("verify", model, found.verdict == "same", why)  # too few requests to tell are no yes
