"""Sources of a report besides the result lines: data, simulators, and sections and listeners of other packages.

Questions come from the data set, if it is available and the measured one. Simulators compute results of calls again; a
question's memory comes from its snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.selection.selection import JointData

if TYPE_CHECKING:
    from markupsafe import Markup

    from pytest_bfcl.checkers.state import StateRecord
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.summary_types import Summary
    from pytest_bfcl.transcript import Transcript


Data = DataSet | JointData


@dataclass(frozen=True, slots=True)
class Questions:
    """Entries by id, ``None`` for unknown ones; ``missing`` says why there are none.

    ``data`` is the data set in the form of ``--bfcl-data``.
    """

    dataset: Data | None
    data: str
    missing: str = ""

    def __call__(self, entry_id: str) -> Entry | None:
        """The entry, or ``None``."""
        if self.dataset is None:
            return None
        try:
            return self.dataset.entry(entry_id)
        except (KeyError, UsageError, BenchmarkError):
            return None

    @property
    def notices(self) -> list[str]:
        """What a page says of missing questions."""
        return [f"Questions are not shown: {self.missing}."] if self.missing else []


def questions(data: Data | None, measured: Fields) -> Questions:
    """The questions of a run; ``measured`` is the ``dataset`` part of its fingerprint.

    Without ``data`` the bundled or the fetched official set is opened. Another version than the measured one is not
    used, because its questions may differ.
    """
    name = str(measured.get("name") or "")
    dataset = data if data is not None else _opened(name)
    if isinstance(dataset, str):
        return Questions(None, name or "PATH", dataset)
    if measured.get("sha256") and dataset.sha256 != measured["sha256"]:
        here = f"{dataset.name} {dataset.version}"
        return Questions(None, name, f"the data here ({here}) is not what was measured")
    return Questions(dataset, _choice(dataset))


def _opened(name: str) -> DataSet | str:
    """The data set of that name, or the reason why it is missing."""
    from pytest_bfcl.dataset.opening import open_dataset
    from pytest_bfcl.simulators import documents_of

    if name not in ("bundled", "official"):
        return f"the data set {name!r} is not known here"
    try:
        return open_dataset(name, documents=documents_of)
    except UsageError as error:
        return str(error)


def _choice(dataset: Data) -> str:
    if dataset.name in ("bundled", "official"):
        return dataset.name
    try:
        return str(Path(dataset.root).resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(dataset.root)


Results = list[list[list[str]]]
"""Turns → steps → result texts."""


def results_again(record: Fields, entry: Entry | None) -> Results | None:
    """The results of a multi-turn line that has calls but no results (official result folders), from our simulators.

    ``None`` if results were recorded, there are no calls, or the line cannot be replayed.
    """
    row = CATEGORIES.get(str(record.get("category")))
    if entry is None or row is None or row.checker != "state" or _any_text(record.get("tool_results")):
        return None
    if (transcript := transcript_of(record)) is None or (played := replayed(entry, transcript)) is None:
        return None
    found = [list(_by_step(transcript, n, turn.results)) for n, turn in enumerate(played.turns)]
    return found if _any_text(found) else None


def transcript_of(record: Fields) -> Transcript | None:
    """The conversation that a line has; ``None`` without an answer, or for a line that cannot be replayed."""
    from pytest_bfcl.runs.replay_lines import transcript_from_line

    if record.get("output") is None:
        return None
    try:
        return transcript_from_line(record)
    except UsageError:
        return None


def replayed(entry: Entry, transcript: Transcript) -> StateRecord | None:
    """A multi-turn conversation on new simulators; ``None`` if it or the data cannot be used."""
    from pytest_bfcl.checkers.state import replay

    try:
        return replay(entry, transcript)
    except (UsageError, BenchmarkError):
        return None


def _by_step(transcript: Transcript, number: int, results: list[str]) -> Iterator[list[str]]:
    """The results of one turn, divided among its steps."""
    from pytest_bfcl.checkers.entries import step_calls

    left = iter(results)
    for step in transcript.turns[number].steps:
        calls = step_calls(step, transcript) or ()
        yield [result for _, result in zip(calls, left, strict=False)]


def _any_text(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_any_text, value))
    return isinstance(value, str)


def stored_memory(run: Path | None, record: Fields, entry: Entry | None) -> str | None:
    """The memory of a failed memory question as JSON, if it was stored."""
    row = CATEGORIES.get(str(record.get("category")))
    if run is None or entry is None or row is None or not row.backend or not entry.scenario:
        return None
    if row.checker == "none" or record.get("outcome") != "failed":
        return None
    from pytest_bfcl.runs.snapshots import snapshots_of

    try:
        snapshots = snapshots_of(run, str(record.get("model") or ""), record.get("repeat") or 1)
        held = snapshots.load(row.backend, entry.scenario)
    except BenchmarkError:  # damaged: the page has everything else
        return None
    return None if held is None else json.dumps(held, indent=2, ensure_ascii=False)


class Section(NamedTuple):
    """A part of the page. ``anchor`` is the id in ``body``; ``first`` puts it before the scores, otherwise it comes
    after them."""

    anchor: str
    title: str
    body: Markup
    first: bool = False


class MakeSection(Protocol):
    """The object of an entry point ``sections``."""

    def __call__(self, run: RunDirectory, lines: Sequence[Fields]) -> Section | None:
        """The section of a run with these lines; ``None`` without content."""


def sections_of(run: RunDirectory, lines: Sequence[Fields]) -> Iterator[Section | str]:
    """The sections of a run, or in words why one is not shown."""
    for name, point in entry_points.offered("sections").items():
        try:
            make: MakeSection = entry_points.load(point, "section")
            made = make(run, lines)
        except Exception as error:  # others' code: it must not cost the report
            told = error if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
            yield f"The section {name} is not shown: {told}."
        else:
            if made is not None:
                yield made


def tell_listeners(path: Path, summary: Summary) -> Iterator[str]:
    """Call each; a failure is reported in words and does not stop the others."""
    for point in entry_points.offered("listeners").values():
        try:
            entry_points.load(point, "listener")(path, summary)
        except Exception as error:
            told = error if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
            yield f"the listener {point.name} ({point.value}) failed: {told}"
