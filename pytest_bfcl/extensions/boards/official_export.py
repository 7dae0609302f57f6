"""A run in the reference's layout: ``result/`` and, where it has verdicts, ``score/`` (scoring spec §1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.boards.result_files import ResultFiles
from pytest_bfcl.extensions.boards.score_files import ScoreFiles
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.directory import is_run
from pytest_bfcl.runs.paths import below, write_below
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.runs.snapshots import damaged_snapshots, folder_name

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.lines import OnDamaged


def export_official(
    run: Path,
    out: Path,
    *,
    dataset: DataSet | None = None,
    names: Mapping[str, str] | None = None,
    lines: Iterable[Fields] | None = None,
    on_damaged: OnDamaged | None = None,
) -> list[Path]:
    """Write a run (or any source of replay lines) as ``out/result`` and, where it has verdicts, ``out/score``.

    ``dataset`` supplies questions and answers for the lines of failed entries; ``names``: model → the name it is
    registered under at the reference; ``lines`` replace those read from ``run``. Returns the files written. Repeats
    beyond the first and skipped entries have no place in the layout and are left out; so are damaged memory snapshots,
    which ``on_damaged`` receives.
    """
    names = names or {}
    results = ResultFiles(out / "result", dataset)
    scores = ScoreFiles(out / "score", dataset)
    models: dict[str, str] = {}
    for line in read_replay_lines(run) if lines is None else lines:
        if line.get("outcome") != "skipped" and (line.get("repeat") or 1) == 1:
            model = str(line.get("model") or "model")
            models[model] = names.get(model, model)
            renamed = {**line, "model": models[model]}
            results.add(renamed)
            scores.add(renamed)
    written = results.write() + scores.write()
    if is_run(run):
        folders = {model: results.folders[name] for model, name in models.items()}
        written += _copy_snapshots(run, out, folders, on_damaged)
    return written


def _copy_snapshots(run: Path, out: Path, folders: Mapping[str, Path], on_damaged: OnDamaged | None) -> list[Path]:
    """Memory snapshots go where the reference keeps them."""
    written = []
    for model, folder in folders.items():
        source = run / "snapshots" / folder_name(model)
        damaged = {each.path: each for each in damaged_snapshots(source)}
        for file in sorted(source.rglob("*.json")):
            if file in damaged:
                if on_damaged is not None:
                    on_damaged(damaged[file])
                continue
            backend, *rest = file.relative_to(source).parts
            target = folder.joinpath("agentic", "memory", backend, "memory_snapshot", *rest)
            content = below(run, file).read_bytes()
            written.append(write_below(out, target, content))
    return written
