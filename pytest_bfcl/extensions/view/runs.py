"""The runs below the named folders: found, named for addresses, opened on access. Audits of data (``pytest-bfcl
validate audit -o``) are listed with them. Only files inside these folders are opened, after links are followed. Other
and damaged folders are named with the reason.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pytest_bfcl.extensions.lab.pages import LINES_FILE as AUDIT_FILE
from pytest_bfcl.extensions.view.index import RunIndex, StaleIndexError, Stamp, open_index
from pytest_bfcl.failures import UsageError
from pytest_bfcl.reporting.links import safe_id
from pytest_bfcl.runs.directory import RESULTS_FILE, RUN_FILE, SUMMARY_FILE, RunDirectory, is_run
from pytest_bfcl.runs.paths import below, is_below

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
