"""Several runs of one measurement (shards, machines) made one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.directory import RunDirectory, is_run, join_selections, missing_shards
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.runs.lines import OnDamaged
from pytest_bfcl.runs.paths import below
from pytest_bfcl.runs.results import is_settled, record_key
from pytest_bfcl.runs.snapshots import damaged_snapshots
from pytest_bfcl.runs.transcripts import INDEX_SUFFIX, EntryKey, TranscriptStore


def merge_runs(runs: Sequence[Path], out: Path, on_damaged: OnDamaged | None = None) -> RunDirectory:
    """Merge run directories into a new one at ``out``; the result is closed and open for reading.

    Their fingerprints must agree (same data, models, parameters, rules); selections are united. Where runs overlap, a
    verdict beats an error, and among verdicts the run named last wins. Journals, recordings, transcripts and
    snapshots are copied. Summaries are not: summarise the result. Raises `UsageError` when the runs measured different
    things.
    """
    if not runs:
        raise UsageError("nothing to merge: name at least one run directory")
    if out.exists() and any(path.resolve() == out.resolve() for path in runs):
        raise UsageError(f"{out} is one of the runs to merge; choose another folder")
    opened = [RunDirectory.open(path) for path in runs]
    fingerprint = _joined(opened)
    chosen = _chosen(opened, on_damaged)
    with RunDirectory.create(out, fingerprint) as merged:
        for number, run in enumerate(opened, 1):
            for record in run.records():
                if chosen[record_key(record)][0] == number:
                    merged.append(record)
            _copy_files(run.path, out, number, on_damaged)
        merged.update(fingerprint)
    return RunDirectory.open(out)


def _joined(runs: Sequence[RunDirectory]) -> Fingerprint:
    first = runs[0].fingerprint
    selection = first.selection
    for run in runs[1:]:
        differences = first.differences(run.fingerprint)
        if differences:
            listed = "\n".join(f"  {difference}" for difference in differences)
            raise UsageError(f"{runs[0].path} and {run.path} measured different things\n{listed}")
        selection = join_selections(selection, run.fingerprint.selection)
    stopped = [run.fingerprint.state for run in runs if run.fingerprint.state != "finished"]
    # A merged run must not look whole where a part is not.
    stopped += [f"stopped:lines are missing in {run.path.name}" for run in runs if run.gaps()]
    if missing := missing_shards(selection):
        stopped.append(f"stopped:parts are missing: {', '.join(missing)}")
    ends = [run.fingerprint.ended_at for run in runs if run.fingerprint.ended_at]
    return replace(
        first,
        selection=selection,
        started_at=min(run.fingerprint.started_at for run in runs),
        planned=sum(run.fingerprint.planned for run in runs),
        ended_at=max(ends) if ends else None,
        state=stopped[0] if stopped else "finished",
        counted={},
        left_out=0,
    )


def _chosen(runs: Sequence[RunDirectory], on_damaged: OnDamaged | None) -> dict[EntryKey, tuple[int, bool]]:
    """For each key the number of the run whose line counts, and whether that line is a verdict."""
    chosen: dict[EntryKey, tuple[int, bool]] = {}
    for number, run in enumerate(runs, 1):
        for record in run.records(on_damaged):
            key, settled = record_key(record), is_settled(record)
            if settled or not chosen.get(key, (0, False))[1]:
                chosen[key] = (number, settled)
    return chosen


def _copy_files(source: Path, out: Path, number: int, on_damaged: OnDamaged | None) -> None:
    """Lines under numbered names (an index names its data file), readable snapshots side by side."""
    parts = (
        ("journal", "*.jsonl"), ("web", "*.jsonl"), ("transcripts", "*.jsonl.gz"), ("transcripts", f"*{INDEX_SUFFIX}"),
    )  # fmt: skip
    for folder, pattern in parts:
        for file in sorted((source / folder).glob(pattern)):
            _copy(source, file, out / folder / f"{number:02d}-{file.name}")
    damaged = {each.path: each for each in damaged_snapshots(source / "snapshots")}
    transcripts = TranscriptStore(source / "transcripts")
    transcripts.find_cut()
    if on_damaged is not None:
        for each in (*transcripts.damaged(), *damaged.values()):
            on_damaged(each)
    for file in sorted(set((source / "snapshots").rglob("*.json")) - set(damaged)):
        _copy(source, file, out / file.relative_to(source))


def _copy(source: Path, file: Path, target: Path) -> None:
    """One file of a run; what is no file, or lies elsewhere, is not taken."""
    if below(source, file).is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def find_runs(paths: Sequence[Path]) -> Iterator[Path]:
    """The run directories among ``paths`` and directly below them, in order."""
    for path in paths:
        if is_run(path):
            yield path
        elif path.is_dir():
            below = [child for child in sorted(path.iterdir()) if is_run(child)]
            if not below:
                raise UsageError(f"{path} is not a run directory and holds none")
            yield from below
        else:
            raise UsageError(f"there is no run at {path}")
