"""What a run without pytest came to, and what one would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.runs.fingerprint import Fingerprint
    from pytest_bfcl.runs.result_line import ResultLine
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.session.estimate import Estimate


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run: its result lines, summary and place.

    Beyond 20,000 lines ``records`` reads each from the run directory when it is asked for. ``path`` is ``None`` for a
    run in memory, and where nothing was selected.
    ``stopped`` says why it ended early, if it did; ``notes`` what a person should know (a damaged line that was met, a
    switch to prompting). ``problems`` are places of the data that cannot be used, ``skips`` the reasons of skipped
    entries and how many this part of the run had. ``exit_code`` is that of the command line (docs/contracts.md).
    """

    records: Sequence[ResultLine]
    summary: Summary
    fingerprint: Fingerprint
    path: Path | None = None
    stopped: str | None = None
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    skips: Mapping[str, int] = field(default_factory=dict)
    exit_code: int = 0

    def __repr__(self) -> str:  # short: asyncio formats what the main task gave
        return f"<RunResult {len(self.records)} records{f' in {self.path}' if self.path else ''}>"

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Category → (passed, passed + failed); errors and skipped entries are in neither, write stages not at all."""
        found: dict[str, tuple[int, int]] = {}
        for record in self.records:
            if record["outcome"] in ("passed", "failed") and not record["category"].endswith("_prereq"):
                passed, total = found.get(record["category"], (0, 0))
                found[record["category"]] = (passed + (record["outcome"] == "passed"), total + 1)
        return found


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM ended the run; ``result`` is what it came to, stored as that of any run is."""

    def __init__(self, result: RunResult) -> None:
        super().__init__("the run was interrupted")
        self.result = result


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would ask and cost, by model; ``lines`` tell it, and what would be skipped and why.

    ``problems`` are places of the data that cannot be used, ``settled`` verdicts that earlier parts of the run have.
    """

    estimates: tuple[Estimate, ...]
    lines: tuple[str, ...]
    problems: tuple[str, ...] = ()
    settled: int = 0
