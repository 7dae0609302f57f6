"""The reference's ``score/`` folder, read (scoring spec §3): a header line, then the failed entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, present_id
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.lines import DamagedLine, read_json_lines
from pytest_bfcl.runs.official_layout import (
    model_folder,
)
from pytest_bfcl.runs.paths import files_named

if TYPE_CHECKING:
    pass

_SCORE_NAME = re.compile(r"(?:BFCL_v(?P<release>\d+)_|gorilla_openfunctions_v\d+_test_)?(?P<category>.+)_score\.json")
"""Of all releases: the first ones had the second name, or none."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """One official score file: its header, and the failed entries' lines by id."""

    path: Path
    header: Fields
    failed: Mapping[str, Fields]
    release: int = 4
    """The release that scored, by the file's name."""

    @property
    def accuracy(self) -> float:
        """Fraction right."""
        return float(self.header["accuracy"])

    @property
    def total(self) -> int:
        """Entries evaluated."""
        return int(self.header["total_count"])

    @property
    def counted_failures(self) -> int | None:
        """Entries that failed, by the header; ``None`` where it does not say how many passed."""
        right = self.header.get("correct_count")
        return self.total - right if isinstance(right, int) else None


def is_score_folder(path: Path) -> bool:
    """Whether a folder holds official score files, and is not a run directory that happens to have some."""
    from pytest_bfcl.runs.directory import RESULTS_FILE, is_run

    if not path.is_dir() or is_run(path) or (path / RESULTS_FILE).is_file():
        return False
    return next(files_named(path, "BFCL_v*_score.json"), None) is not None


def read_scores(root: Path) -> dict[str, dict[str, ScoreFile]]:
    """Model folder → category → score file, for every score file below ``root``, of any release.

    Categories and ids are those of now; the first releases counted entries from 1 instead of naming them.

    Raises `UsageError` for a file whose first line is not a header, and for a line that cannot be read. It is of an
    entry that failed, and without it the entry would count as passed.
    """
    found: dict[str, dict[str, ScoreFile]] = {}
    for path in sorted(files_named(root, "*_score.json")):
        match = _SCORE_NAME.fullmatch(path.name)
        if match is None or (category := EARLIER.get(match["category"], match["category"])) not in CATEGORIES:
            continue
        lines = _lines(path)
        failed = {_present(line, match["category"]): line for line in lines[1:]}
        release = int(match["release"] or 1)
        found.setdefault(model_folder(root, path), {})[category] = ScoreFile(path, lines[0], failed, release)
    return found


def _present(line: Fields, said: str) -> str:
    """The id now of a failed entry; of a number, the entry's own where the line shows its question."""
    given, prompt = line["id"], line.get("prompt")
    if isinstance(given, int):
        told = prompt.get("id") if isinstance(prompt, Mapping) else None
        given = told if isinstance(told, str) else f"{said}_{given - 1}"
    return present_id(str(given), said)


def _lines(path: Path) -> list[Parsed]:
    """The header and the failed entries' lines, each checked."""

    def refuse(damaged: DamagedLine) -> None:
        raise UsageError(f"{damaged}: a failed entry without its line would count as passed")

    lines = list(read_json_lines(path, refuse))
    header = lines[0].value if lines else {}
    if not _is_share(header.get("accuracy")) or not _is_count(header.get("total_count")):
        raise UsageError(f"{path}:1: not the header of a score file")
    for line in lines[1:]:
        if not isinstance(line.value.get("id"), str | int):
            refuse(DamagedLine(path, line.number, "no id"))
    return [line.value for line in lines]


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def reason_of_score(line: Fields) -> str:
    """The error type of a score file's failed line."""
    error = line.get("error")
    nested = error.get("error_type") if isinstance(error, Mapping) else None
    return str(nested or line.get("error_type") or "unknown")
