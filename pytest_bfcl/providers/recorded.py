"""A run's search provider, selected by `open_search` (agentic spec §5, contract "Selecting"), and recordings of its
calls: stored in the run directory and replayed from it.

A line of ``<run>/web/<process>.jsonl`` is ``{"call": call, "result": result}``; a call is ``["search", keywords,
max_results, region]`` or ``["fetch", url, mode]`` (REST: `recorded_rest`). The first result of a call counts for all
processes of the run, so a replay sees the run's results.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, cast, runtime_checkable

from pytest_bfcl import entry_points, extras
from pytest_bfcl.failures import AdapterError, HarnessError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

Query = tuple[Any, ...]
"""A call: ``("search", …)``, ``("fetch", …)``, ``("get", …)`` or ``("call", …)``."""


@runtime_checkable
class SearchProvider(Protocol):
    """A source of searches and pages; called from several threads at once.

    Errors for the model (no results, page not found) are results with the single key ``error``. Infrastructure errors
    (no key, quota used up, nothing recorded) raise `pytest_bfcl.failures.BenchmarkError`.
    """

    def search(self, keywords: str, max_results: int, region: str) -> list[Parsed] | Parsed:
        """Results, best first: objects with ``title``, ``href``, ``body``; keys that the engine omits are missing.

        ``max_results`` is a hint, and the caller cuts; ``region`` is country-language, ``wt-wt`` for all.
        """
        ...

    def fetch(self, url: str, mode: str) -> Parsed:
        """A page as ``{"content": text}``; ``mode`` is ``raw``, ``markdown`` or ``truncate``."""
        ...

    def close(self) -> None:
        """Release connections and threads."""
        ...


class Recording:
    """Results by call, in a folder of files that any number of processes append to.

    ``what`` names the kind of calls in messages (``web``).
    """

    what = "web"

    def __init__(self, folder: Path, process: str = "main") -> None:
        self.folder = folder
        self._path = folder / f"{process}.jsonl"
        self._results: Parsed = {}
        self._read: dict[Path, int] = {}
        self._lock = threading.Lock()

    def find(self, call: Query) -> tuple[Any] | None:
        """The recorded result in a tuple, ``None`` without one."""
        key = self._key(call)
        with self._lock:
            if key not in self._results:
                self._refresh()
            return (json.loads(self._results[key]),) if key in self._results else None

    def _result(self, call: Query, ask: Callable[[], Any] | None) -> Any:
        known = self.find(call)
        if known is not None:
            return known[0]
        if ask is None:
            raise AdapterError(
                AdapterTrouble.NOT_RECORDED,
                f"{self.what} {call[0]}: {str(call[1])[:200]!r} is not in the recording {self.folder}",
                advice="replay with the model and parameters of the recorded run, or use a live provider",
            )
        return self._keep(self._key(call), call, ask())

    def _key(self, call: Query) -> str:
        """The text by which a call is found."""
        return json.dumps(call, default=repr)

    def _keep(self, key: str, call: Query, result: object) -> Any:
        """Append the result, unless another process was faster: then that one counts."""
        from filelock import FileLock

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._lock, FileLock(self.folder / ".lock"):
                self._refresh()
                if key not in self._results:
                    self._append({"call": list(call), "result": result})
                    self._results[key] = json.dumps(result)
                return json.loads(self._results[key])
        except OSError as error:
            raise HarnessError(
                HarnessTrouble.STORAGE, f"cannot record a {self.what} {call[0]} in {self.folder}: {error}"
            ) from error

    def _append(self, line: Parsed) -> None:
        if self._path.exists() and not self._path.is_file():  # a pipe or a device would be waited for
            raise OSError(errno.EINVAL, "not a regular file", str(self._path))
        torn = self._path.exists() and not _ends_whole(self._path)
        with self._path.open("ab") as file:
            file.write((b"\n" if torn else b"") + json.dumps(line, default=repr).encode() + b"\n")

    def _refresh(self) -> None:
        """Read the lines that any process appended since the last time; only complete lines count."""
        for path in sorted(each for each in self.folder.glob("*.jsonl") if each.is_file()):
            start = self._read.get(path, 0)
            with path.open("rb") as file:
                file.seek(start)
                whole = file.read().rpartition(b"\n")
            self._read[path] = start + len(whole[0]) + len(whole[1])
            for line in whole[0].splitlines():
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            value = json.loads(line)
            key = self._key(tuple(value["call"]))
            self._results.setdefault(key, json.dumps(value["result"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            return  # torn by a killed process


class RecordedSearch(Recording):
    """Recorded results first; other calls go to ``provider`` and are recorded.

    Without a provider (a replay) it raises `AdapterError` of kind ``not_recorded``, which is not the model's failure.
    """

    def __init__(self, folder: Path, provider: SearchProvider | None = None, process: str = "main") -> None:
        super().__init__(folder, process)
        self._provider = provider

    def search(self, keywords: str, max_results: int, region: str) -> Any:
        """See `SearchProvider.search`."""
        asked = self._provider
        return self._result(
            ("search", keywords, max_results, region),
            (lambda: asked.search(keywords, max_results, region)) if asked else None,
        )

    def fetch(self, url: str, mode: str) -> Any:
        """See `SearchProvider.fetch`."""
        asked = self._provider
        return self._result(("fetch", url, mode), (lambda: asked.fetch(url, mode)) if asked else None)

    def close(self) -> None:
        """Close the provider; files are closed after every line."""
        if self._provider is not None:
            self._provider.close()


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return True
        file.seek(-1, 2)
        return file.read(1) == b"\n"


KEY_VARIABLE = "SERPAPI_API_KEY"
"""Environment variable with the key of the live search."""


Kind = Literal["local", "serpapi", "replay"]

WORDS = ("auto", "local", "serpapi", "record", "replay")


def replay_source(choice: str) -> str | None:
    """The run or folder in ``replay:PATH``, ``None`` for every other choice."""
    word, colon, path = choice.partition(":")
    return path if word == "replay" and colon else None


def check_choice(choice: str, words: Sequence[str] = WORDS) -> str:
    """The choice itself. Raises `ValueError` for an unknown word that names no recording."""
    if choice not in words and not replay_source(choice):
        raise ValueError(f"one of {', '.join(words)}, or replay:RUN")
    return choice


def search_problem(choice: str, *, official: bool, site: Path | None = None, archive: Path | None = None) -> str | None:
    """Why a run has no search provider; else ``None``. Arguments as for `open_search`. Opens nothing."""
    kind = _kind(choice, official, site)
    if kind != "replay" and (lacking := extras.problem("web", "the web search")):
        return lacking
    if kind == "local" and site is None:
        return "this data has no pages of its own (a folder web/): choose --bfcl-search serpapi or replay:RUN"
    if kind == "serpapi" and not os.environ.get(KEY_VARIABLE):
        return f"no search provider: set {KEY_VARIABLE}, or choose --bfcl-search replay:RUN"
    if kind == "replay":
        folder = replayed_folder(choice, archive)
        if folder is None or not any(folder.glob("*.jsonl")):
            return f"nothing to replay: {folder or 'no run'} holds no recorded searches (name a run: replay:RUN)"
    return None


def open_search(
    choice: str = "auto",
    *,
    official: bool,
    site: Path | None = None,
    archive: Path | None = None,
    process: str = "main",
) -> SearchProvider:
    """The provider of a run.

    Args:
        choice: ``auto``, ``local``, ``serpapi``, ``record``, ``replay`` (of this run) or ``replay:RUN``.
        official: Whether the data is the official set, which needs the real web.
        site: Folder of the data's own pages.
        archive: The run's folder for searches and pages (``<run>/web``). Live ones are always recorded there, local
            ones with ``record``; recorded calls are not sent again.
        process: Name of the archive's file this process writes.

    Raises `UsageError` if there is none (`search_problem` gives the reason without raising).
    """
    problem = search_problem(choice, official=official, site=site, archive=archive)
    if problem is not None:
        raise UsageError(problem)
    kind = _kind(choice, official, site)
    if kind == "replay":
        folder = replayed_folder(choice, archive)
        assert folder is not None
        return RecordedSearch(folder)
    provider = _live(kind, site)
    if archive is not None and (kind == "serpapi" or choice == "record"):
        return RecordedSearch(archive, provider, process)
    return provider


def _live(kind: Kind, site: Path | None) -> SearchProvider:
    if kind == "local":
        from pytest_bfcl.providers.local_site import LocalSite

        assert site is not None
        return LocalSite(site)
    return cast("SearchProvider", entry_points.require("searches", kind, f"--bfcl-search {kind}")())


def _kind(choice: str, official: bool, site: Path | None) -> Kind:
    word = choice.partition(":")[0]
    if word in ("local", "serpapi", "replay"):
        return word  # type: ignore[return-value]
    return "serpapi" if official or site is None else "local"


def replayed_folder(choice: str, archive: Path | None, part: str = "web") -> Path | None:
    """The archive of ``replay:RUN`` (a run directory, or the folder ``part`` in it), or the run's own."""
    named = replay_source(choice)
    if named is None:
        return archive
    folder = Path(named).expanduser()
    return folder / part if (folder / part).is_dir() else folder
