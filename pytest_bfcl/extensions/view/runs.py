"""The runs below the named folders: found, named for addresses, opened on access. Audits of data (``pytest-bfcl
validate audit -o``) are listed with them. Only files inside these folders are opened, after links are followed. Other
and damaged folders are named with the reason.

A run's figures for the table of all runs (score with its interval, cost, state, gate) are from ``summary.json`` if it
is not older than the results. Otherwise they are counted from the index, so that a run in progress also has them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pytest_bfcl.dataset.verified import known_issues
from pytest_bfcl.extensions.lab.pages import LINES_FILE as AUDIT_FILE
from pytest_bfcl.extensions.view.index import RunIndex, StaleIndexError, Stamp, open_index
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.rendering import safe_id
from pytest_bfcl.runs.directory import RESULTS_FILE, RUN_FILE, SUMMARY_FILE, RunDirectory, is_run
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.runs.paths import below, is_below
from pytest_bfcl.runs.summary_types import Summary
from pytest_bfcl.scoring.statistics import Interval
from pytest_bfcl.scoring.summary import Tallies

DEPTH = 3
"""Levels of folders that are searched."""
MOST = 5_000
"""Most searched folders; above that, name a narrower folder."""


OFFICIAL_RESULTS = "BFCL_*_result.json"
OFFICIAL_GROUPS = ("non_live", "live", "multi_turn", "agentic", "format_sensitivity")
"""Folders of official results, below a model's."""


class Refused(NamedTuple):
    """A folder that cannot be shown, and why."""

    path: str
    why: str


class ListedAudit(NamedTuple):
    """A folder with an audit."""

    name: str
    path: Path
    root: Path

    @property
    def lines(self) -> Path:
        """Its findings. Raises `UsageError` if they are in another place."""
        return below(self.root, self.path / AUDIT_FILE)


Made = TypeVar("Made")


class ListedRun:
    """One run directory. ``name`` is part of addresses, ``root`` is the folder where it was found."""

    def __init__(self, name: str, path: Path, root: Path, cache: Path | None) -> None:
        self.name = name
        self.path = path
        self.root = root
        self._cache = cache
        self._index: RunIndex | None = None
        self._run: tuple[Stamp | None, RunDirectory] | None = None
        self._kept: dict[Callable[[ListedRun], Any], tuple[tuple[Stamp | None, ...], Any]] = {}
        self._lock = threading.Lock()

    def kept(self, make: Callable[[ListedRun], Made]) -> Made:
        """What a function makes of this run, made again only after the run's files have changed."""
        stamps = tuple(Stamp.of(self.path / name) for name in (RUN_FILE, SUMMARY_FILE, RESULTS_FILE))
        found = self._kept.get(make)
        if found is None or found[0] != stamps:
            found = self._kept[make] = (stamps, make(self))
        made: Made = found[1]
        return made

    @property
    def run(self) -> RunDirectory:
        """The run by its present ``run.json``. Raises `UsageError` if that is unusable."""
        below(self.root, self.path)
        stamp = Stamp.of(self.path / RUN_FILE)
        with self._lock:
            if self._run is None or self._run[0] != stamp:
                self._run = (stamp, RunDirectory.open(self.path))
            return self._run[1]

    @property
    def index(self) -> RunIndex:
        """The present index of its results. Raises `UsageError`, `OSError`."""
        path = below(self.root, self.path / RESULTS_FILE)
        with self._lock:
            try:
                if self._index is not None:
                    self._index.catch_up()
                    return self._index
            except StaleIndexError:
                pass
            self._index = open_index(path, self._cache)
            return self._index

    @property
    def indexed(self) -> bool:
        """Whether its index is available without waiting."""
        return self._index is not None


class Runs:
    """The runs below some folders. ``cache`` is the folder of indexes, by default in the user's cache."""

    def __init__(self, folders: Iterable[Path], cache: Path | None = None) -> None:
        self.folders = [Path(folder).resolve() for folder in folders]
        self.refused: list[Refused] = []
        self.audits: list[ListedAudit] = []
        self._cache = cache
        self._runs: dict[str, ListedRun] = {}
        self._names: dict[Path, str] = {}
        self._lock = threading.Lock()

    def look(self) -> dict[str, ListedRun]:
        """Search again; name → run, in the order of the folders and of the names in them."""
        with self._lock:
            self.refused, self.audits = [], []
            found: dict[str, ListedRun] = {}
            for root, path in self._run_folders():
                name = self._name_of(root, path)
                kept = self._runs.get(name)
                found[name] = kept or ListedRun(name, path, root, self._cache)
            self._runs = found
            return dict(found)

    def get(self, name: str) -> ListedRun | None:
        """The run of a name; searches again if it is unknown."""
        return self._runs.get(name) or self.look().get(name)

    @property
    def listed(self) -> list[ListedRun]:
        """The runs of the last search."""
        return list(self._runs.values()) or list(self.look().values())

    def _name_of(self, root: Path, path: Path) -> str:
        name = self._names.get(path)
        if name is None:
            inside = path.relative_to(root).as_posix()
            plain = safe_id(path.name if inside == "." else inside) or "run"
            taken, name, number = set(self._names.values()), plain, 2
            while name in taken:
                name, number = f"{plain}-{number}", number + 1
            self._names[path] = name
        return name

    def _run_folders(self) -> Iterator[tuple[Path, Path]]:
        seen: set[Path] = set()
        looked = 0
        for root in self.folders:
            for path in self._below(root):
                looked += 1
                if looked > MOST:
                    self.refused.append(Refused(str(root), f"more than {MOST} folders: name a narrower one"))
                    return
                if path not in seen:
                    seen.add(path)
                    yield root, path

    def _below(self, root: Path) -> Iterator[Path]:
        """The run directories in a folder, that folder included; similar folders are refused with a reason."""
        if not root.is_dir():
            self.refused.append(Refused(str(root), "there is no such folder"))
            return
        pending = [(root, 0)]
        while pending:
            folder, depth = pending.pop()
            if is_run(folder):
                yield folder
                continue
            if (folder / AUDIT_FILE).is_file():
                self.audits.append(ListedAudit(self._name_of(root, folder), folder, root))
                continue
            children = self._children(root, folder)
            runs = [child for child in children if is_run(child)]
            deeper = [child for child in children if child not in runs]
            if (folder / RESULTS_FILE).exists():
                self.refused.append(Refused(str(folder), f"it has a {RESULTS_FILE} but no {RUN_FILE}"))
            elif official := _official_results(folder, children):
                self.refused.append(Refused(str(folder), official))
                continue
            elif depth and not children:
                self.refused.append(Refused(str(folder), f"not a run directory: it has no {RUN_FILE}"))
            if depth + 1 < DEPTH:
                pending += [(child, depth + 1) for child in reversed(deeper)]
            yield from runs

    def _children(self, root: Path, folder: Path) -> list[Path]:
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
        except OSError as error:
            self.refused.append(Refused(str(folder), error.strerror or str(error)))
            return []
        children = []
        for name in names:
            child = folder / name
            if is_below(root, child):
                children.append(child)
            else:
                self.refused.append(Refused(str(child), f"a link that leads out of {root}"))
        return children


def _official_results(folder: Path, children: Iterable[Path]) -> str:
    """How to make a run of a model's folder of official results; empty for other folders."""
    places = [child for child in children if child.name in OFFICIAL_GROUPS]
    if not any(next(place.glob(OFFICIAL_RESULTS), None) for place in places or [folder]):
        return ""
    return f"official results, no run: `pytest --model replay:{folder} --bfcl-data official` makes one of them"


def open_runs(folders: Iterable[Path], cache: Path | None = None) -> Runs:
    """The runs below folders. Raises `UsageError` if a folder is missing or has no run."""
    runs = Runs(folders, cache)
    for folder in runs.folders:
        if not folder.is_dir():
            what = "is a file: name its folder" if folder.exists() else "does not exist: name a folder of runs"
            raise UsageError(f"{folder} {what}")
    runs.look()
    return runs


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
