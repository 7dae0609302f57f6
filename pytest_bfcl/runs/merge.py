"""Merge: several runs of one measurement (shards, machines) become one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.comparability import Purpose, comparability
from pytest_bfcl.runs.directory import RunDirectory, is_run, join_selections, missing_shards, no_run, shards_of
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.runs.lines import OnDamaged, unheard
from pytest_bfcl.runs.paths import below
from pytest_bfcl.runs.result_line import EntryKey
from pytest_bfcl.runs.results import is_settled, record_key
from pytest_bfcl.runs.snapshots import NAMES, damaged_snapshots
from pytest_bfcl.runs.transcripts import Transcripts


class UnfitError(UsageError):
    """Runs that do not belong together; nothing is merged."""


def merge_runs(runs: Sequence[Path], out: Path, on_damaged: OnDamaged = unheard) -> RunDirectory:
    """Merge run directories into a new one at ``out``, returned open for reading. They must be parts of one whole:
    equal data, models, parameters, rules, repeats, seed and selection, with different shards. For an entry in several
    runs a verdict replaces an error, and of several verdicts the last run's counts. Journals, recordings and snapshots
    are copied, summaries are not: summarise the result. If parts lack something (a shard, results, an end), the
    result's state names it and is not ``finished``. Raises `UnfitError` when the runs measured different things,
    `UsageError` when there is nothing to do.
    """
    if not runs:
        raise UsageError("nothing to merge: name at least one run directory")
    if any(path.resolve() == out.resolve() for path in runs):
        raise UsageError(f"{out} is one of the runs to merge; name another folder")
    first, *others = opened = [RunDirectory.open(path) for path in runs]
    for run in others:
        found = comparability(first.fingerprint, run.fingerprint, Purpose.SHARDS)
        if found.refused:
            raise UnfitError(
                f"{first.path} and {run.path} are not parts of one run, nothing was merged:\n{found.listed()}"
            )
    chosen = _chosen(opened, on_damaged)
    whole = RunDirectory.create(out, _joined(opened))
    try:
        with whole:
            for number, run in enumerate(opened, 1):
                for record in run.records():
                    if chosen[record_key(record)][0] == number:
                        whole.append(record)
                _copy_files(run.path, out, number, on_damaged)
    except BaseException:  # no half of a run is left, which would look whole
        shutil.rmtree(out, ignore_errors=True)
        raise
    return RunDirectory.open(out)


def _joined(runs: Sequence[RunDirectory]) -> Fingerprint:
    """The fingerprint of the whole; its state names what is missing."""
    first = runs[0].fingerprint
    selection = first.selection
    for run in runs[1:]:
        selection = join_selections(selection, run.fingerprint.selection)
    lacking = [*_unfinished(runs), *(f"lines are missing in {run.path}" for run in runs if run.gaps())]
    if missing := missing_shards(selection):
        lacking.append(f"parts are missing: {', '.join(missing)}")
    ends = [run.fingerprint.ended_at for run in runs if run.fingerprint.ended_at]
    return replace(
        first,
        selection=selection,
        started_at=min(run.fingerprint.started_at for run in runs),
        planned=sum(run.fingerprint.planned for run in runs),
        ended_at=max(ends) if ends else None,
        state=f"stopped:{'; '.join(lacking)}" if lacking else "finished",
        counted={},
        left_out=0,
    )


def _unfinished(runs: Sequence[RunDirectory]) -> Iterator[str]:
    """Runs without an end or without results that no other run of the same part replaces."""
    ended: set[str] = set()
    found: list[tuple[str, str]] = []
    for run in runs:
        part, state = str(shards_of(run.fingerprint.selection.get("shard"))), run.fingerprint.state
        if state != "finished":
            found.append((part, f"{run.path} is not finished ({state.removeprefix('stopped:')})"))
        elif next(iter(run.records()), None) is None:
            found.append((part, f"{run.path} has no results"))
        else:
            ended.add(part)
    return (text for part, text in found if part not in ended)


def _chosen(runs: Sequence[RunDirectory], on_damaged: OnDamaged) -> dict[EntryKey, tuple[int, bool]]:
    """For each key the number of the run whose line counts, and whether that line is a verdict."""
    chosen: dict[EntryKey, tuple[int, bool]] = {}
    for number, run in enumerate(runs, 1):
        for record in run.records(on_damaged):
            key, settled = record_key(record), is_settled(record)
            if settled or not chosen.get(key, (0, False))[1]:
                chosen[key] = (number, settled)
    return chosen


def _copy_files(source: Path, out: Path, number: int, on_damaged: OnDamaged) -> None:
    """Lines under numbered names, readable snapshots next to each other."""
    for folder in ("journal", *NAMES):
        for file in sorted((source / folder).glob("*.jsonl")):
            _copy(source, file, out / folder / f"{number:02d}-{file.name}")
    damaged = {each.path: each for each in damaged_snapshots(source / "snapshots")}
    for each in (*Transcripts(source).damaged(), *damaged.values()):
        on_damaged(each)
    for file in sorted(set((source / "snapshots").rglob("*.json")) - set(damaged)):
        _copy(source, file, out / file.relative_to(source))


def _copy(source: Path, file: Path, target: Path) -> None:
    """One file of a run; links out of the run and other kinds are skipped."""
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
                raise UsageError(f"{path} is not a run directory: {no_run(path, 'it holds none')}")
            yield from below
        else:
            what = "is a file: name the run's directory" if path.exists() else "does not exist"
            raise UsageError(f"there is no run at {path}: it {what}")
