"""A finished run for exporters: its summary, its lines, its transcripts; and the text of a pull request's comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.categories import is_write_stage
from pytest_bfcl.extensions.boards.changed import Changed
from pytest_bfcl.extensions.boards.comparison_text import comparison_markdown
from pytest_bfcl.extensions.causes.diagnosis import Diagnosis, answer, change_lines
from pytest_bfcl.extensions.causes.of_runs import of_run
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.reporting.markdown import cell, write_markdown
from pytest_bfcl.reporting.report import summary_of
from pytest_bfcl.runs.directory import RunDirectory, is_run
from pytest_bfcl.runs.results import read_results, record_key
from pytest_bfcl.scoring.comparison import compare_measurements
from pytest_bfcl.scoring.measurements import open_measurement
from pytest_bfcl.scoring.score_record import ScoreRecord, score_records
from pytest_bfcl.scoring.summary import plain_records


@dataclass
class Finished:
    """An opened run directory, and its summary.

    ``fingerprint`` as in ``run.json``, ``dataset`` its part about the data, ``models`` → their summaries. Only runs of
    the official set (``is_official``) are called BFCL. ``ended_at``: UTC, ISO 8601.
    """

    run: RunDirectory
    summary: Fields

    @classmethod
    def open(cls, path: Path) -> Finished:
        """Raises `UsageError` unless it is a run with a summary."""
        run = RunDirectory.open(path)
        summary = run.summary()
        if summary is None:
            raise UsageError(f"{path} has no summary.json: let the run finish (--bfcl-out {path} resumes it)")
        return cls(run, summary)

    def __post_init__(self) -> None:
        self.fingerprint: Fields = self.summary["fingerprint"]
        self.dataset: Fields = self.fingerprint["dataset"]
        self.models: Mapping[str, Fields] = self.summary["models"]
        self.is_official = self.dataset["name"] == "official"
        self.benchmark = "BFCL v4" if self.is_official else f"pytest-bfcl {self.dataset['name']}"
        times = (self.fingerprint.get(name) for name in ("ended_at", "started_at"))
        self.ended_at = str(next(filter(None, times), "1970-01-01T00:00:00Z"))

    def parameters(self, model: str) -> Fields:
        """Sampling parameters of a model."""
        for each in self.fingerprint.get("models") or ():
            if each["model"] == model:
                return dict(each.get("parameters") or {})
        return {}

    def scores(self, model: str) -> Iterator[ScoreRecord]:
        """The scores: categories, groups, the overall score if claimed."""
        return score_records(self.models[model], self.fingerprint)

    def lines(self, model: str) -> Iterator[Fields]:
        """The last line of each trial of a model, unchanged, without memory's write stages."""
        for record in plain_records(self.run):
            if record["model"] == model and not is_write_stage(str(record["category"])):
                yield record

    def messages(self, line: Fields) -> list[dict[str, Any]]:
        """The messages of a trial as sent and received; empty without a stored transcript."""
        found = self.run.transcripts.load(record_key(line), line.get("started_at"))  # type: ignore[arg-type]
        return [dict(message) for message in (found or {}).get("messages") or ()]


def file_name(text: str) -> str:
    """A name that is one part of a path on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._") or "model"


MOST_CHARACTERS = 60_000
"""Longest comment: GitHub accepts 65,536 characters, GitLab a million."""

MOST_IDS = 100
"""Entries that each list of a comment names, if they fit."""
CUT = "> Causes are in the run's artefact: with them this comment would be too long."
NO_BASELINE = "There is no run of the main branch to compare with yet; its next one becomes the baseline."
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,80}")


def marker(key: str) -> str:
    """The hidden first line that identifies a comment. Raises `UsageError` for a key that could end it."""
    if not _KEY.fullmatch(key):
        raise UsageError(f"--key {key!r}: letters, digits, dots, dashes, at most 80")
    return f"<!-- pytest-bfcl:{key} -->"


def body(run: Path, against: Path | None, *, key: str, link: str = "") -> str:
    """The comment. ``against``: the baseline, which may be missing (the first run has none). If it is too long, the
    lists of entries are removed first, then causes; scores and the table of groups stay.
    """
    opened = RunDirectory.open(run)
    found = _diagnoses(run)
    before = against if against is not None and is_run(against) else None
    changed, told = _changed(before, run) if before is not None else ([], "")
    known = _diagnoses(before) if before is not None and changed else []
    pairs = [(old, new) for new in found for old in known if old.model == new.model]
    if not pairs and len(found) == len(known) == 1:  # one model under two names, as `compare` takes it
        pairs = [(known[0], found[0])]
    head = [marker(key), *(f"**{cell(answer(old, new))}**" for old, new in pairs if set(old.keys) & set(new.keys))]
    head.append(write_markdown(summary_of(opened)).rstrip())
    causes = ["**Why**", _fenced(_causes(found, pairs))]
    tail = [f"[This job]({link})"] if re.fullmatch(r"https?://[^\s()<>]+", link) else []
    missing = f"> {NO_BASELINE}" if against is not None and before is None else told
    for ids in (MOST_IDS, 10, 0):
        compared = comparison_markdown(changed, most=ids).rstrip() if changed else missing
        whole = "\n\n".join(filter(None, [*head, *causes, compared, *tail])) + "\n"
        if len(whole) <= MOST_CHARACTERS:
            return whole
    return "\n\n".join(filter(None, [*head, compared, CUT, *tail]))[:MOST_CHARACTERS] + "\n"


def _diagnoses(run: Path) -> list[Diagnosis]:
    return of_run(RunDirectory.open(run), read_results(run / "results.jsonl"))


def _causes(found: list[Diagnosis], pairs: list[tuple[Diagnosis, Diagnosis]]) -> Iterator[str]:
    if not pairs:
        for each in found:
            yield from each.lines()
    for old, new in pairs:
        yield from change_lines(old, new)


def _fenced(lines: Iterator[str]) -> str:
    """Unchanged lines: the fence is longer than any run of backticks in them."""
    text = "\n".join(lines)
    fence = "`" * (2 + max([1, *map(len, re.findall("`+", text))]))
    return f"{fence}text\n{text}\n{fence}"


def _changed(before: Path, after: Path) -> tuple[list[Changed], str]:
    """The changes, or why the runs are not compared."""
    first, second = open_measurement(before), open_measurement(after)
    try:
        found = compare_measurements(first, second, "official", allow_missing=True)
        return [Changed.of(each, first, second, "official") for each in found], ""
    except UsageError as error:  # other data, other rules, another model
        return [], f"> Not compared with the main branch: {cell(str(error))}"
