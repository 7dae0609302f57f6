"""The end of a run: settled modes, the summary, the published table, and the results that gates compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.failures import UsageError
from pytest_bfcl.session.earlier import base_of
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.json_types import Fields
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.scoring.measurements import Measurement
    from pytest_bfcl.scoring.summary import Tallies
    from pytest_bfcl.session.estimate import Estimate
    from pytest_bfcl.settings import Settings


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run: its result lines, summary and place.

    Beyond 20,000 lines ``records`` reads each line from the run directory on access. ``path`` is ``None`` for a run in
    memory, and if nothing was selected. ``stopped`` says why it ended early, if it did; ``notes`` are for the user (a
    damaged line, a switch to prompting). ``problems`` are places of the data that cannot be used, ``skips`` the reasons
    of skipped entries and how many this part of the run had. ``exit_code`` is that of the command line
    (docs/contracts.md).
    """

    records: Sequence[ResultLine]
    summary: Summary
    fingerprint: Fingerprint
    path: Path | None
    stopped: str | None
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    skips: Mapping[str, int]
    exit_code: int

    def __repr__(self) -> str:  # short: asyncio formats what the main task gave
        return f"<RunResult {len(self.records)} records{f' in {self.path}' if self.path else ''}>"

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Category → (passed, passed + failed); without errors, skipped entries and write stages."""
        found: dict[str, tuple[int, int]] = {}
        for record in self.records:
            if record["outcome"] in ("passed", "failed") and not record["category"].endswith("_prereq"):
                passed, total = found.get(record["category"], (0, 0))
                found[record["category"]] = (passed + (record["outcome"] == "passed"), total + 1)
        return found


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM ended the run; ``result`` is the result so far, stored like any run's."""

    def __init__(self, result: RunResult) -> None:
        super().__init__("the run was interrupted")
        self.result = result


@dataclass(frozen=True, slots=True)
class DryRun:
    """Expected requests and cost of a run, by model; ``lines`` has them in words, with what would be skipped and why.

    ``problems`` are places of the data that cannot be used, ``settled`` verdicts that earlier parts of the run have.
    """

    estimates: tuple[Estimate, ...]
    lines: tuple[str, ...]
    problems: tuple[str, ...] = ()
    settled: int = 0


HELD_RECORDS = 20_000
"""Lines of a run directory as a list; beyond a limit each is read on access."""


def settled_models(
    models: Iterable[ModelFingerprint], asked: Collection[tuple[str, str]], settings: Settings
) -> tuple[tuple[ModelFingerprint, ...], list[str]]:
    """The models of a run in the modes that ``auto`` chose, and in words which have changed.

    ``asked``: model and mode of the lines.
    """
    from pytest_bfcl.runs.fingerprint import ModelFingerprint

    seen = {base_of(spec): (spec, mode) for spec, mode in asked}
    settled, notes = [], []
    for model in models:
        found = seen.get(base_of(model.model)) if settings.mode == "auto" else None
        if found is not None and (model.model, model.mode) not in asked:  # m@fc beside m@prompt are two models
            spec, mode = found
            model = ModelFingerprint.of(spec, mode, settings)
            notes.append(f"mode auto came to {mode}: results are {spec}")
        settled.append(model)
    return tuple(settled), notes


def tallies_of(fingerprint: Fingerprint, data: DataSet) -> Tallies:
    """The counter of a run's lines over this data."""
    from pytest_bfcl.dataset.verified import known_issues
    from pytest_bfcl.scoring.summary import Tallies

    return Tallies(fingerprint.to_dict(), known_issues(data.version))


def with_facts(summary: Summary, model_info: Fields | None, settings: Settings, seconds: float) -> Summary:
    """The summary with notes about models and the machine's cost for this time."""
    from pytest_bfcl.scoring.model_info import described

    if model_info:
        summary["model_info"] = described(model_info)
    if settings.gpu_hour_usd is not None:
        summary["machine_cost_usd"] = round(seconds / 3600 * settings.gpu_hour_usd, 6)
        for model in summary.get("models", {}).values():
            if model["cost_usd"] is None and (latency := model["latency"]["mean"]) is not None:
                model["cost_per_1000_usd"] = round(1000 * latency / 3600 * settings.gpu_hour_usd, 6)
    return summary


def measurement_of(
    directory: RunDirectory | None, lines: Sequence[ResultLine], fingerprint: Fingerprint, transforms: Sequence[str]
) -> Measurement:
    """The results that gates compare: the run's directory, or its lines in memory without transformed entries."""
    from pytest_bfcl.scoring.measurements import Measurement, by_model, measurement_of_run

    if directory is not None:
        return measurement_of_run(directory)
    plain = [each for each in lines if not is_transformed(each["id"], transforms)]
    return Measurement(
        "this run",
        lambda rules: by_model(plain, rules),
        fingerprint,
        lines=lambda ids: (each for each in plain if each["id"] in ids),
    )


def sizes_by_category(entries: Iterable[tuple[str, str]], transforms: Sequence[str]) -> dict[str, int]:
    """Number of scored entries in each category; ``entries``: id and category."""
    return Counter(
        [
            category
            for entry_id, category in entries
            if CATEGORIES[category].checker != "none" and not (transforms and is_transformed(entry_id, transforms))
        ]
    )


_UNUSABLE = f"harness:{HarnessTrouble.DATA}"


def got_an_answer(line: ResultLine) -> bool:
    """Whether a line has an answer or needed none: a skipped entry, an unusable line."""
    from pytest_bfcl.scoring.tally import is_answered

    return is_answered(line) or line["outcome"] == "skipped" or line["reason"] == _UNUSABLE


FOLDER = "board"
"""Folder of a run that stores the table."""


class Board(Protocol):
    """A published table."""

    def keep(self, run: Path) -> None:
        """Copy it to a run's directory. Raises `OSError`."""

    def tell(self, summary: Summary, lines: Iterable[ResultLine]) -> None:
        """Add each model's place in the table to the summary."""


def named_board(path: str, run: Fingerprint) -> Board:
    """The table that an option names. Raises `UsageError` if it cannot be compared with this run."""
    found: Board = entry_points.require("boards", "published", "--bfcl-board").named(Path(path), run)
    return found


def run_board(board: Board | None, run: Path, notes: list[str]) -> Board | None:
    """Store the named table with the run. Without a name, use the one of an earlier part; a damaged one gives a
    note."""
    try:
        if board is not None:
            board.keep(run)
        elif (run / FOLDER).is_dir():
            board = entry_points.require("boards", "published", "a published table").kept(run)
    except (UsageError, OSError) as error:
        notes.append(f"the published table is not shown: {error}")
    return board
