"""Judges official folders again: each line of ``result/`` is compared with its ``score/`` file.

A score file has a line of counts, then the failed entries with their error types; all others passed. Every difference
gets a cause; one without a cause is a wrong verdict, ours or the reference's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.checkers.entries import ran_away
from pytest_bfcl.checkers.reasons import FORCED_END
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.boards.official_files import find_entry, official_reason, official_valid
from pytest_bfcl.extensions.lab.proof import (
    EARLIER_RELEASE,
    FAILED_REQUEST,
    HEADER,
    NAMES,
    NETWORK,
    NO_RESULT,
    NOT_JUDGED,
    OTHER_DATA,
    PARTLY_SCORED,
    TOO_MANY_CALLS,
    UNANSWERED,
    UNKNOWN,
    Cause,
    Difference,
    Part,
)
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.table import registered_format
from pytest_bfcl.json_types import Fields
from pytest_bfcl.rescoring import rejudged, score_lines
from pytest_bfcl.runs.lines import LeftOut
from pytest_bfcl.runs.official_layout import has_calls, results_of
from pytest_bfcl.runs.replay_lines import read_replay_lines, transcript_from_line
from pytest_bfcl.scoring.conduct import BothReadings
from pytest_bfcl.scoring.measurements import ScoreFile, read_scores, reason_of_score

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.result_line import ReplayLine
    from pytest_bfcl.runs.wire_names import Names

PASSED = "passed"
COMPARED = "verdict and error type"
NOW = 4
"""The release with the same checker as ours."""


def prove_folder(root: Path, dataset: DataSet, names: Names = "auto", left_out: LeftOut | None = None) -> list[Part]:
    """One part for each model and category that has results and scores.

    ``root`` holds ``result/`` and ``score/``, or is one of the two or one result file, next to the other; ``left_out``
    collects damaged result lines. Raises `UsageError` unless there are both.
    """
    scores = _scores(root)
    folder = results_of(root)
    if folder is None:
        raise UsageError(f"{root} has scores, but no result files: verdicts need the answers they were given for")
    left_out = LeftOut() if left_out is None else left_out
    lines = read_replay_lines(folder, left_out, names=names, dataset=dataset)
    files: dict[tuple[str, str], _File] = {}
    unscored: dict[tuple[str, str], int] = {}
    readings: dict[str, _Read] = {}
    for line, verdict in rejudged(lines, dataset):
        key = (line["model"], line["category"])
        readings.setdefault(key[0], _Read(key[0])).add(line, verdict)
        score = scores.get(key[0], {}).get(key[1])
        if score is not None:
            files.setdefault(key, _File(key, score, dataset)).add(line, verdict)
        elif CATEGORIES[key[1]].group != "memory_prereq":
            unscored[key] = unscored.get(key, 0) + 1
    parts = [file.part() for file in files.values()]
    if root.is_dir():  # of one file nothing else is missing
        parts += [
            _without_results(model, name) for model, of in scores.items() for name in of if (model, name) not in files
        ]
    for (model, name), count in unscored.items():
        _note(parts, model, f"{count:,} results of {model}, {name} have no score file")
    for model, read in readings.items():
        if told := str(read):
            _note(parts, model, told)
    known = {model for model, _ in (*files, *unscored)}
    for damaged in left_out.lines:
        model = next((part for part in reversed(damaged.path.parts) if part in known), "")
        _note(parts, model, f"left out: {damaged}")
    return parts


MOST_NOTES = 12


def _note(parts: list[Part], model: str, note: str) -> None:
    """Put a note under the first part of its model; for a model without one, under the first part."""
    about = next((part for part in parts if part.name.startswith(f"{model}, ")), parts[0] if parts else None)
    if about is not None and len(about.notes) < MOST_NOTES and note not in about.notes:
        about.notes.append(note)


class _Read:
    """How one model's results were read, if that had to be found out, and the result of the other reading."""

    def __init__(self, model: str) -> None:
        self._both = BothReadings()
        self._model = model
        self._mode = ""
        self._native = False
        self._proof = ""

    def add(self, line: ReplayLine, verdict: Fields) -> None:
        """One judged line."""
        other = verdict.get("other_reading")
        self._both.add(verdict.get("valid") is True, other, other is not None and bool(other.get("valid")))
        self._mode = line["mode"]
        self._native = self._native or has_calls(line["output"])
        self._proof = self._proof or str(line.get("proved") or "")

    def __str__(self) -> str:
        if registered_format(self._model) is not None:
            return ": ".join(filter(None, (self._proof, str(self._both))))
        native = "native calls" if self._mode == "fc" else "text"
        why = "its results hold native calls" if self._native else "they hold no native call"
        if self._mode == "fc" and not self._native:
            why = "by its name alone"
        told = f"not on the leaderboard; the evidence says {native} ({why})"
        return "; ".join(filter(None, (told, self._proof)))


def _scores(root: Path) -> Mapping[str, Mapping[str, ScoreFile]]:
    beside = [folder.with_name("score") for folder in (root, *root.parents) if folder.name == "result"]
    for folder in (root, *beside):
        if folder.is_dir() and (found := read_scores(folder)):
            return found
    raise UsageError(f"{root} holds no score files (BFCL_v*_score.json): there are no verdicts to compare with")


def _without_results(model: str, category: str) -> Part:
    part = Part(f"{model}, {category}", COMPARED)
    part.differences.append(Difference("the whole file", "scores", "no results", NO_RESULT))
    return part


class _File:
    """One score file with its results."""

    def __init__(self, key: tuple[str, str], score: ScoreFile, dataset: DataSet) -> None:
        self._score = score
        self._dataset = dataset
        self._part = Part(f"{key[0]}, {key[1]}", COMPARED)
        self._seen: set[str] = set()
        self._passed: list[Difference] = []
        """Differences of lines that the score file does not list."""

    def add(self, line: ReplayLine, verdict: Fields) -> None:
        """One result with our verdict."""
        entry_id = line["id"]
        self._seen.add(entry_id)
        self._part.lines += 1
        failed = self._score.failed.get(entry_id)
        recorded = PASSED if failed is None else reason_of_score(failed)
        here = _here(line, verdict)
        if here == recorded:
            return
        cause = _network(line, verdict) or _own_cause(line, here, recorded) or self._cause(line, failed, recorded)
        found = Difference(entry_id, recorded, here, cause)
        (self._part.differences if failed is not None else self._passed).append(found)

    def part(self) -> Part:
        """The result."""
        part, score = self._part, self._score
        part.differences += [
            Difference(entry_id, reason_of_score(line), "no result", NO_RESULT)
            for entry_id, line in score.failed.items()
            if entry_id not in self._seen
        ]
        right = score.header.get("correct_count")
        counted = f"{score.total - len(score.failed)} of {score.total} passed"
        told = f"{right} of {score.total} passed"
        rounded = abs(score.accuracy - (score.total - len(score.failed)) / score.total) if score.total else 0.0
        if told != counted or rounded > 1e-9:
            part.differences.append(Difference("first line", f"{told} ({score.accuracy})", counted, HEADER))
        if score.total == len(self._seen):
            part.differences += self._passed
        else:
            part.lines -= len(self._seen) - len(self._seen & score.failed.keys())
            sizes = (f"{score.total} entries scored", f"{len(self._seen)} results")
            part.differences.append(Difference("the whole file", *sizes, PARTLY_SCORED))
        return part

    def _cause(self, line: ReplayLine, failed: Fields | None, recorded: str) -> Cause:
        """Possible causes of another verdict."""
        if line.get("mode") == "fc":
            other: ReplayLine = {**line, "underscore_names": not line.get("underscore_names")}
            (verdict,) = score_lines([other], self._dataset)
            if _here(other, verdict) == recorded:
                return NAMES
        if failed is not None and self._other_data(line["id"], failed):
            return OTHER_DATA
        return UNKNOWN if self._score.release >= NOW else EARLIER_RELEASE

    def _other_data(self, entry_id: str, failed: Fields) -> bool:
        """Whether the line was scored with another question or answer than ours."""
        entry = find_entry(self._dataset, entry_id)
        if entry is None:
            return True
        prompt = failed.get("prompt")
        asked = prompt.get("question") if isinstance(prompt, Mapping) else None
        sides = ((failed.get("possible_answer"), entry.possible_answer), (asked, entry.question))
        return any(bool(theirs) and not _same(theirs, ours) for theirs, ours in sides)


def _same(theirs: object, ours: object) -> bool:
    one, other = (json.dumps(each, sort_keys=True, default=str) for each in (theirs, ours))
    return one == other


def _here(line: ReplayLine, verdict: Fields) -> str:
    """Our verdict: passed, or the reason."""
    if not isinstance(verdict.get("valid"), bool):
        return f"not judged: {verdict.get('error') or verdict.get('skipped')}"
    return PASSED if verdict["valid"] else str(verdict.get("reason"))


def _network(line: ReplayLine, verdict: Fields) -> Cause | None:
    """The cause for a call that cannot be executed here."""
    row = CATEGORIES.get(str(line.get("category")))
    asks = row is not None and row.checker in ("executable", "rest")
    return NETWORK if asks and verdict.get("skipped") else None


def _own_cause(line: ReplayLine, here: str, recorded: str) -> Cause | None:
    """The cause of a difference if our verdict alone shows it."""
    if here.startswith("not judged"):
        return NOT_JUDGED
    if here.endswith(":inference_error"):
        counted = {**line, "outcome": "error"}
        as_answer = PASSED if official_valid(counted) else official_reason(counted)
        return FAILED_REQUEST if recorded == as_answer else None
    if here.startswith("reply:"):
        return UNANSWERED
    return TOO_MANY_CALLS if here == FORCED_END.name and _runs_away(line) else None


def _runs_away(line: ReplayLine) -> bool:
    try:
        return ran_away(transcript_from_line(line))
    except UsageError:
        return False
