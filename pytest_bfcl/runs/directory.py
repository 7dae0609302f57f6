"""The run directory (docs/contracts.md, "The run directory"): one folder, one writer, append-only files.

The process that reports outcomes opens it with `RunDirectory.start` and holds its lock; workers only add their own
files through `pytest_bfcl.runs.journal.Journal`; readers use `RunDirectory.open`.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.comparability import Purpose, comparability
from pytest_bfcl.runs.fields import is_whole
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.runs.lines import (
    LONGEST_LINE,
    DamagedLine,
    LeftOut,
    LineAppender,
    OnDamaged,
    open_regular,
    plain,
    unheard,
    write_atomically,
)
from pytest_bfcl.runs.paths import files_named, refuse_links_out
from pytest_bfcl.runs.result_line import ResultLine
from pytest_bfcl.runs.results import ResultsFile, StoredResults, written
from pytest_bfcl.runs.snapshots import NAMES, archive_digest, folder_name
from pytest_bfcl.runs.summary_types import Summary, problem_of_run, problem_of_summary
from pytest_bfcl.runs.transcripts import Transcripts
from pytest_bfcl.selection.sharding import MOST_SHARDS
from pytest_bfcl.spread_json import read_json
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from filelock import BaseFileLock

RUN_FILE = "run.json"
RESULTS_FILE = "results.jsonl"
FIRST_LINE = 1_000_000
SUMMARY_FILE = "summary.json"
LOCK_FILE = ".lock"
LAST_FAILED = "last_failed"
"""Value of a selection: only entries that failed before were run again (``--lf``)."""


def default_path(models: Iterable[str], root: Path = Path("reports")) -> Path:
    """``reports/<UTC time>-<model>``, with a number if that exists."""
    names = [folder_name(model) for model in models]
    label = names[0] if len(names) == 1 else f"{len(names)}-models"
    stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{label}"
    path, number = root / stem, 2
    while path.exists():
        path, number = root / f"{stem}-{number}", number + 1
    return path


def is_run(path: Path) -> bool:
    """Whether a folder is a run directory."""
    return (path / RUN_FILE).is_file()


_LINES = (".jsonl", ".gz")
_ARCHIVES = (".zip", ".tgz", ".tar", ".gz", ".7z")


def refuse_overwriting(path: Path, inputs: Iterable[str] = ()) -> None:
    """Raise `UsageError` if writing to ``path`` would destroy its source, or a file of a run."""
    read = [each for each in map(Path, inputs) if path.exists() and each.exists() and path.samefile(each)]
    of_a_run = path.name in (RESULTS_FILE, RUN_FILE) and path.parent.joinpath(RUN_FILE).is_file()
    if read or of_a_run:
        raise UsageError(
            f"{path} would overwrite {'what is read' if read else 'a file of a run'}: name another file to write"
        )


def no_run(path: Path, otherwise: str = f"name a run directory (it holds {RESULTS_FILE}) or such a file") -> str:
    """Advice for a path that is no run: how to make a run of the benchmark's own results there."""
    for ending, held in (("result", "replies"), ("score", "scores")):
        if next(files_named(path, f"BFCL_v*_{ending}.json"), None) is not None:
            folder = path if ending == "result" else "RESULT_FOLDER"
            command = f"pytest --model replay:{folder} --bfcl-data official --bfcl-out RUN"
            return f"it holds bfcl-eval's {held}; `{command}` makes a run of the replies"
    return otherwise


def refuse_other_file(path: Path) -> None:
    """Raise `UsageError` for a file that cannot hold results: another file of a run than ``results.jsonl``, or an
    archive. Accepted are files without an ending or with that of JSON lines.
    """
    if path.parent.joinpath(RUN_FILE).is_file() and path.name != RESULTS_FILE:
        raise UsageError(f"{path} is a file of a run: name its directory, {path.parent}")
    ending = path.suffix.lower()
    if ending in _ARCHIVES and not path.name.endswith(".jsonl.gz"):
        raise UsageError(f"{path} is an archive: unpack it and name the run directory in it")
    if ending and ending not in _LINES and not _begins_with_object(path):
        raise UsageError(f"{path} is no run: name a run directory (it holds {RESULTS_FILE}) or such a file")


LOOKED_AT = 1_000_000
"""Bytes of a file of another ending in which its first line begins."""


def _begins_with_object(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline(LOOKED_AT).lstrip().startswith(b'{"')


class RunDirectory:
    """One run on disk. Writers use it as a context manager or call `close`."""

    def __init__(self, path: Path, fingerprint: Fingerprint, lock: BaseFileLock | None = None) -> None:
        self.path = path
        self.fingerprint = fingerprint
        self.left_out = LeftOut()
        self._lock = lock
        self._earlier: bytes | None = None
        self._results: LineAppender | None = None
        self._read: ResultsFile | None = None

    # Opening.

    @classmethod
    def create(cls, path: Path, fingerprint: Fingerprint) -> RunDirectory:
        """Start a run in a folder without one. Raises `UsageError` if the folder has a run or other files."""
        if is_run(path):
            raise UsageError(f"{path} already holds a run; name it to continue it, or name another folder")
        if path.exists() and (not path.is_dir() or any(child.name != LOCK_FILE for child in path.iterdir())):
            raise UsageError(f"{path} is not empty and not a run directory; name another folder")
        return cls._begin(path, fingerprint)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run, for reading. Raises `UsageError` if there is none or its ``run.json`` is broken."""
        return cls(path, _read_fingerprint(path))

    @classmethod
    def start(cls, path: Path, fingerprint: Fingerprint) -> RunDirectory:
        """Resume the run at ``path`` if there is one, else create it. Raises `UsageError` with the differences from the
        existing run, or if another process writes it.
        """
        if not is_run(path):
            return cls.create(path, fingerprint)
        earlier = _read_fingerprint(path)
        found = comparability(earlier, fingerprint, Purpose.PARTS)
        if found.refused:
            raise UsageError(
                f"cannot continue {path}: it measured something else\n{found.listed()}\n"
                "name another folder, or use the same settings as the existing run"
            )
        return cls._begin(path, _joined(earlier, fingerprint))

    @classmethod
    def _begin(cls, path: Path, fingerprint: Fingerprint) -> RunDirectory:
        from filelock import FileLock, Timeout

        try:
            lock = FileLock(path / LOCK_FILE)
            lock.acquire(blocking=False)
        except Timeout:
            raise UsageError(f"another process is writing to {path}; wait for it or name another folder") from None
        except OSError as error:
            raise UsageError(f"cannot create the run directory {path}: {error.strerror or error}") from error
        run = cls(path, fingerprint, lock)
        run._earlier = (path / RUN_FILE).read_bytes() if is_run(path) else None
        try:
            run._results = LineAppender(path / RESULTS_FILE)
            run._write_fingerprint()
        except HarnessError:
            run.close()
            raise
        return run

    # Writing.

    def append(self, record: ResultLine, text: str | None = None) -> None:
        """Add one result line, flushed to the operating system. Raises `HarnessError` when the disk is full.

        ``text`` is the record as one strict JSON line, if the caller has it.
        """
        if self._results is None:
            raise HarnessError(HarnessTrouble.STORAGE, f"{self.path} is open for reading only")
        self._results.append_bytes(written(record) if text is None else text.encode() + b"\n")

    def write_summary(self, summary: Summary) -> None:
        """Replace ``summary.json``, and record in ``run.json`` how many lines it covers."""
        self.fingerprint = replace(
            self.fingerprint, counted=_counted(summary), left_out=len(self.left_out), archives=self._archives()
        )
        self._write_fingerprint()
        self._write(SUMMARY_FILE, summary)

    def _archives(self) -> dict[str, str]:
        own = {name: archive_digest(self.path / name) for name in NAMES}
        return {**self.fingerprint.archives, **{name: digest for name, digest in own.items() if digest is not None}}

    def state(self, state: str) -> None:
        """Record the run's state: ``finished`` or ``stopped:<why>``, with the time."""
        self.fingerprint = self.fingerprint.ended(state)
        self._write_fingerprint()

    def update(self, fingerprint: Fingerprint) -> None:
        """Replace the fingerprint (the run changed to prompting, a model's parameters became known)."""
        self.fingerprint = fingerprint
        self._write_fingerprint()

    def withdraw(self) -> None:
        """Undo the start of a run that was refused before its first request: earlier files stay."""
        self.state("stopped:refused")
        if self._earlier is not None:
            write_atomically(self.path / RUN_FILE, self._earlier)
            self.close()
            return
        self.close()
        ours = (RUN_FILE, RESULTS_FILE, LOCK_FILE)
        if any(child.name not in ours for child in self.path.iterdir()):  # an engine's log: a run, if an odd one
            return
        with contextlib.suppress(OSError):
            for name in ours:
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()

    def close(self) -> None:
        """Sync everything to disk and release the lock; closing twice is fine."""
        try:
            if self._results is not None:
                self._results.close()
        finally:
            self._results = None
            if self._lock is not None:
                self._lock.release()
                self._lock = None

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading.

    def records(self, on_damaged: OnDamaged = unheard) -> Iterator[ResultLine]:
        """The results so far, the last line of each key. Damaged lines are skipped and collected in ``left_out``."""

        def leave_out(line: DamagedLine) -> None:
            self.left_out(line)
            on_damaged(line)

        path = self.results_path
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is no file: remove it, or restore the results")
        if not path.exists():
            return iter(())
        if self._read is None:
            self._read = ResultsFile(path)
        return self._read.records(leave_out)

    def stored_records(self) -> StoredResults:
        """The results so far as a sequence that reads each on access."""
        return StoredResults.of(self.results_path, self.left_out)

    def gaps(self) -> list[str]:
        """What the results lack: damaged lines, and lines that the last summary covered and that are gone.

        Reads the results. Empty if nothing is missing. Damage before the last summary does not count if its entries ran
        again.
        """
        found: dict[str, Counter[str]] = {}
        for record in self.records():
            found.setdefault(record["model"], Counter())[record["category"]] += 1
        told = list(self.left_out.sentences()) if len(self.left_out) > self.fingerprint.left_out else []
        for model, counts in self.fingerprint.counted.items():
            here = found.get(model, Counter[str]())
            for category, count in counts.items():
                if here[category] < count:
                    told.append(f"{self.results_path} has {here[category]} of {count} lines of {category} ({model})")
        return told

    def summary(self) -> Summary | None:
        """The stored ``summary.json``; ``None`` if there is none yet."""
        path = self.path / SUMMARY_FILE
        if not path.is_file():
            return None
        try:
            loaded = _read_json(path)
            problem = problem_of_summary(loaded)
        except ValueError as error:
            problem = str(error)
        if problem is not None:
            raise UsageError(
                f"{path} is damaged ({problem}); delete it: `pytest-bfcl export report` summarises the run again"
            )
        return cast(Summary, loaded)

    @property
    def results_path(self) -> Path:
        """The file of result lines."""
        return self.path / RESULTS_FILE

    @cached_property
    def transcripts(self) -> Transcripts:
        """This run's conversations, as complete as they are at the first access."""
        return Transcripts(self.path)

    def _write_fingerprint(self) -> None:
        self._write(RUN_FILE, self.fingerprint.to_dict())

    def _write(self, name: str, content: object) -> None:
        write_atomically(self.path / name, json.dumps(plain(content), indent=1, ensure_ascii=False) + "\n")


def _counted(summary: Summary) -> dict[str, dict[str, int]]:
    """Model → category → lines, over both modes of a model."""
    counted: dict[str, dict[str, int]] = {}
    for numbers in summary["models"].values():
        counts = counted.setdefault(numbers["model"], {})
        for category, found in numbers["categories"].items():
            counts[category] = counts.get(category, 0) + found["total"]
    return counted


def _read_fingerprint(path: Path) -> Fingerprint:
    file = path / RUN_FILE
    try:
        values = _read_json(file)
    except FileNotFoundError:
        raise UsageError(f"{path} is not a run directory: {no_run(path, f'it has no {RUN_FILE}')}") from None
    except NotADirectoryError:
        raise UsageError(f"{path} is a file: name the run's directory (it holds {RUN_FILE})") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} is damaged or unreadable: {error}") from error
    if problem := problem_of_run(values):
        raise UsageError(
            f"{file} does not describe a run: {problem}; name another folder, or restore the file"
        ) from None
    refuse_links_out(path)
    return Fingerprint.from_dict(values)


def _read_json(path: Path) -> Any:
    """A small JSON file. Raises `OSError` and `ValueError`."""
    with open_regular(path) as file:
        raw = file.read(LONGEST_LINE)
    value = read_json(raw)
    if b"\\ud" in raw.lower() and not is_whole(json.dumps(value, ensure_ascii=False)):
        raise ValueError("it holds half a character (an unpaired surrogate)")
    return value


def _joined(earlier: Fingerprint, now: Fingerprint) -> Fingerprint:
    """The fingerprint of a resumed run: the first part's start, and both parts' selections."""
    return replace(
        now,
        started_at=earlier.started_at,
        selection=join_selections(earlier.selection, now.selection),
        counted=earlier.counted,
        left_out=earlier.left_out,
        archives={**now.archives, **earlier.archives},
    )


def join_selections(a: Fields, b: Fields) -> Parsed:
    """Both selections in one: lists are united in order, different single values become lists."""
    joined = dict(a)
    if not (a.get(LAST_FAILED) and b.get(LAST_FAILED)):  # one part was more than a rerun of failures
        joined.pop(LAST_FAILED, None)
        b = {name: value for name, value in b.items() if name != LAST_FAILED}
    for name, value in b.items():
        if name not in joined or joined[name] == value:
            joined[name] = value
            continue
        old = joined[name] if isinstance(joined[name], list) else [joined[name]]
        new = value if isinstance(value, list) else [value]
        joined[name] = old + [item for item in new if item not in old]
    if not missing_shards(joined):
        joined.pop("shard", None)
    return joined


def missing_shards(selection: Fields) -> list[str]:
    """The shards (``"1/3"`` …) that a selection lacks; empty if it has all, or was not sharded."""
    parts = shards_of(selection.get("shard"))
    counts = {part.partition("/")[2] for part in parts}
    wanted = [f"{index}/{count}" for count in sorted(counts) for index in range(1, min(int(count), MOST_SHARDS) + 1)]
    return [part for part in wanted if part not in parts]


def same_results(one: Path, other: Path) -> bool:
    """Whether two paths (run directories or result lines) hold the results of one run: the same file, or a copy."""
    mine, theirs = (path if path.is_file() else path / RESULTS_FILE for path in (one, other))
    if not (mine.is_file() and theirs.is_file()):
        return False
    if mine.samefile(theirs):
        return True
    with mine.open("rb") as file, theirs.open("rb") as another:
        first = file.readline(FIRST_LINE)
        return bool(first.strip()) and first == another.readline(FIRST_LINE)  # its times are those of no other run


def shards_of(fact: object) -> list[str]:
    """The shards that a selection names: none, one (``"1/3"``) or several."""
    return [str(part) for part in (fact if isinstance(fact, list) else [fact] if fact else [])]
