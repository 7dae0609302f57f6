"""A run in a few figures, for the table of all runs: score with its interval, cost, state, gate.

From ``summary.json`` if it is not older than the results; otherwise counted from the index, so that a run in progress
or killed also has figures.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.extensions.view.index import RunIndex
from pytest_bfcl.extensions.view.runs import ListedRun, Refused
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.runs.summary_types import Summary
from pytest_bfcl.scoring.summary import Tallies

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a model: a fraction, its 95 % interval, and its basis in words; ``why`` no score is claimed."""

    value: float | None
    interval: Interval | None
    over: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """One model of a run; ``cost`` in USD."""

    model: str
    mode: str
    score: Score
    passed: int
    failed: int
    errors: int
    skipped: int
    cost: float | None

    @property
    def judged(self) -> int:
        """Entries with a verdict."""
        return self.passed + self.failed


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run: its measurement, time, state and models. ``gate`` is a verdict or ``none``. Runs with the same
    ``measured`` (data and rules) may share a table.
    """

    name: str
    label: str
    path: str
    data: str
    measured: str
    version: str
    started: str
    ended: str
    state: str
    gate: str
    models: tuple[ModelFigures, ...]
    notes: tuple[str, ...] = ()

    def measures(self, data: str) -> bool:
        """Whether this is a run of the data in `data_of`, or in another summary's ``measured``."""
        return self.measured.partition(" · ")[0] == data.partition(" · ")[0]

    @property
    def has_scores(self) -> bool:
        """Whether some entry has a verdict: a run of server checks alone has none, and no score to compare."""
        return any(figures.judged for figures in self.models)

    @property
    def running(self) -> bool:
        """Whether the run is marked as in progress."""
        return self.state == "running"


class Summaries:
    """The summaries of `Runs`; one is made again only after its files have changed."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[object, RunSummary | Refused]] = {}

    def of(self, listed: ListedRun) -> RunSummary | Refused:
        """The summary of a run, or why there is none."""
        stamps = listed.stamps
        kept = self._kept.get(listed.name)
        if kept is not None and kept[0] == stamps:
            return kept[1]
        made = _summary(listed)
        self._kept[listed.name] = (stamps, made)
        return made


def _summary(listed: ListedRun) -> RunSummary | Refused:
    try:
        run = listed.run
        summary, notes = summary_now(listed)
    except (UsageError, OSError) as error:
        return Refused(str(listed.path), str(error).splitlines()[0])
    prints = run.fingerprint
    return RunSummary(
        name=listed.name,
        label=listed.path.name,
        path=str(listed.path),
        data=f"{prints.dataset} {prints.dataset_version}".strip(),
        measured=_measured(prints),
        version=prints.plugin_version,
        started=prints.started_at,
        ended=prints.ended_at or "",
        state=prints.state,
        gate=str(summary["gate"].get("verdict", "none")),
        models=tuple(figures_of(model, running=prints.state == "running") for model in summary["models"].values()),
        notes=tuple(note.partition(" (")[0].replace(f"{listed.path}{os.sep}", "") for note in notes),
    )


def data_of(prints: Fingerprint) -> str:
    """A data set in words, with the beginning of its digest, which differs for other data of the same name."""
    data = f"{prints.dataset} {prints.dataset_version}".strip() or "unknown data"
    return f"{data} ({prints.dataset_sha256[:8]})"


def _measured(prints: Fingerprint) -> str:
    """Data and rules in words; equal for runs that may share a table."""
    return f"{data_of(prints)} · {prints.rules} rules {prints.rules_version}"


def summary_now(listed: ListedRun) -> tuple[Summary, list[str]]:
    """The stored summary of a run, and the errors of its files. Raises `UsageError`, `OSError`."""
    run, notes = listed.run, []
    try:
        found = run.summary()
    except UsageError as error:
        found, notes = None, [str(error)]
    if found is None or run.fingerprint.state == "running":
        found = counted(run, listed.index)
    return found, notes


def counted(run: RunDirectory, index: RunIndex) -> Summary:
    """A summary from the index alone: scores, intervals, counts and cost; no tokens, no breakdowns."""
    tallies = tallies_of(run)
    for row in index.rows():
        tallies.add(row.as_line())
    return tallies.summary(run.fingerprint.to_dict())


def tallies_of(run: RunDirectory) -> Tallies:
    """The counter of a run's lines, at zero."""
    return Tallies(run.fingerprint.to_dict(), known_issues(run.fingerprint.dataset_version))


def figures_of(model: Fields, *, running: bool = False) -> ModelFigures:
    """The figures of one model of a summary; during a run its score is the share passed so far, because incomplete
    groups would weigh as much as complete ones.
    """
    categories = model["categories"].values()
    passed, failed, errors, skipped = (
        sum(found[name] for found in categories) for name in ("passed", "failed", "errors", "skipped")
    )
    judged = passed + failed
    so_far = Score(passed / judged if judged else None, None, f"so far, {judged:,} judged")
    return ModelFigures(
        str(model["model"]), str(model["mode"]), so_far if running else score_of(model), passed, failed, errors,
        skipped, model["cost_usd"],
    )  # fmt: skip


def score_of(model: Fields) -> Score:
    """A model's figure in a table: overall if claimed, else the broadest available score, with its name."""
    overall = model["overall"]
    if overall["value"] is not None:
        return Score(overall["value"], _pair(overall["interval95"]), "overall")
    why = str(overall.get("why") or "")
    partial = overall.get("partial")
    if partial:
        over = f"{partial['categories']} of {partial['of']} categories"
        return Score(partial["value"], _pair(partial["interval95"]), over, why)
    for name, words in (("all_scoring", "all entries"), ("all", "all entries")):
        group = model["groups"].get(name)
        if group is not None and group["accuracy"] is not None:
            return Score(group["accuracy"], _pair(group["interval95"]), words, why)
    return Score(None, None, "", why)


def _pair(found: object) -> Interval | None:
    return (float(found[0]), float(found[1])) if isinstance(found, list | tuple) and len(found) == 2 else None
