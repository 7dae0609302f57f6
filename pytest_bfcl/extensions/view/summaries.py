"""A run in a few figures, for the table of all runs: score with its interval, cost, state, gate.

From ``summary.json`` if it is not older than the results; otherwise counted from the index, so that a run in progress
or killed also has figures.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.extensions.view.runs import ListedRun, Refused
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.runs.summary_types import Summary
from pytest_bfcl.scoring.statistics import Interval
from pytest_bfcl.scoring.summary import Tallies


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """One model of a run: its score (a fraction), the 95 % interval, the basis in words; ``why`` no overall score is
    claimed; entries by outcome; ``cost`` in USD.
    """

    model: str
    mode: str
    score: float | None
    interval: Interval | None
    over: str
    why: str
    passed: int
    failed: int
    errors: int
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

    run: ListedRun
    name: str
    label: str
    data: str
    measured: str
    started: str
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


def summarised(listed: ListedRun) -> RunSummary | Refused:
    """The summary of a run, or why there is none."""
    try:
        prints = listed.run.fingerprint
        summary, notes = summary_now(listed)
    except (UsageError, OSError) as error:
        return Refused(str(listed.path), str(error).splitlines()[0])
    return RunSummary(
        listed,
        listed.name,
        listed.path.name,
        f"{prints.dataset} {prints.dataset_version}".strip(),
        f"{data_of(prints)} · {prints.rules} rules {prints.rules_version}",
        prints.started_at,
        prints.state,
        str(summary["gate"].get("verdict", "none")),
        tuple(figures_of(model, running=prints.state == "running") for model in summary["models"].values()),
        tuple(note.partition(" (")[0].replace(f"{listed.path}{os.sep}", "") for note in notes),
    )


def data_of(prints: Fingerprint) -> str:
    """A data set in words, with the beginning of its digest, which differs for other data of the same name."""
    data = f"{prints.dataset} {prints.dataset_version}".strip() or "unknown data"
    return f"{data} ({prints.dataset_sha256[:8]})"


def summary_now(listed: ListedRun) -> tuple[Summary, list[str]]:
    """The stored summary of a run, and the errors of its files. Raises `UsageError`, `OSError`.

    Without one, and during a run, it comes from the index: scores, intervals, counts, cost; no tokens, no breakdowns.
    """
    run = listed.run
    facts, notes = run.fingerprint.to_dict(), []
    try:
        found = run.summary()
    except UsageError as error:
        found, notes = None, [str(error)]
    if found is None or run.fingerprint.state == "running":
        tallies = tallies_of(run)
        for row in listed.index.rows():
            tallies.add(row.as_line())
        found = tallies.summary(facts)
    return found, notes


def tallies_of(run: RunDirectory) -> Tallies:
    """The counter of a run's lines, at zero."""
    return Tallies(run.fingerprint.to_dict(), known_issues(run.fingerprint.dataset_version))


def figures_of(model: Fields, *, running: bool = False) -> ModelFigures:
    """The figures of one model of a summary; during a run its score is the share passed so far, because incomplete
    groups would weigh as much as complete ones.
    """
    categories = model["categories"].values()
    passed, failed, errors = (sum(found[name] for found in categories) for name in ("passed", "failed", "errors"))
    judged = passed + failed
    so_far = passed / judged if judged else None
    score: _Score = (so_far, None, f"so far, {judged:,} judged", "") if running else _score(model)
    return ModelFigures(str(model["model"]), str(model["mode"]), *score, passed, failed, errors, model["cost_usd"])


_Score = tuple[float | None, Interval | None, str, str]
"""Value, interval, basis in words, and why no overall score is claimed."""


def _score(model: Fields) -> _Score:
    """A model's score: overall if claimed, else the broadest there is."""
    overall, groups = model["overall"], model["groups"]
    if overall["value"] is not None:
        return overall["value"], _pair(overall), "overall", ""
    why = str(overall.get("why") or "")
    if partial := overall.get("partial"):
        return partial["value"], _pair(partial), f"{partial['categories']} of {partial['of']} categories", why
    known = (groups[name] for name in ("all_scoring", "all") if name in groups)
    found = next((each for each in known if each["accuracy"] is not None), None)
    return (None, None, "", why) if found is None else (found["accuracy"], _pair(found), "all entries", why)


def _pair(found: Fields) -> Interval | None:
    pair = found.get("interval95")
    return (pair[0], pair[1]) if pair else None
