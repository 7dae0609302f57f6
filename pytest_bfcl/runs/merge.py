"""Several runs of one measurement (shards, machines) made one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_bfcl.runs.directory import RunDirectory


def merge_runs(runs: Sequence[Path], out: Path) -> RunDirectory:
    """Placeholder until the merge follows."""
    raise NotImplementedError
