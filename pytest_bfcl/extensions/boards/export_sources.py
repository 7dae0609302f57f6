"""What can be exported: runs, result lines, folders of replies, folders of scores; lines without a verdict judged."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.transforms import is_transformed
from pytest_bfcl.extensions.boards.official_files import export_official
from pytest_bfcl.extensions.boards.standings import Standings
from pytest_bfcl.failures import FailureTag, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import say
from pytest_bfcl.reporting.sources import questions
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.runs.comparability import published_comparability
from pytest_bfcl.runs.directory import RunDirectory, is_run
from pytest_bfcl.runs.fingerprint import Fingerprint
from pytest_bfcl.runs.lines import LeftOut
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.runs.wire_names import Names
from pytest_bfcl.scoring.measurements import is_score_folder, read_scores
from pytest_bfcl.session.evaluation import open_data

Line = Fields


class Source:
    """One source to export; ``run`` is its run directory, if it is one."""

    def __init__(self, path: Path, data: str | None, names: Names = "auto", decoder: str | None = None) -> None:
        if not path.exists():
            raise UsageError(f"{path} does not exist")
        self.path = path
        self.is_scores = is_score_folder(path)
        self.run = RunDirectory.open(path) if is_run(path) else None
        self.unjudged: list[str] = []
        self.left_out = LeftOut()
        self._data = data
        self._names = names
        self._decoder = decoder

    @property
    def fingerprint(self) -> Fingerprint | None:
        """What a run measured."""
        return self.run.fingerprint if self.run is not None else None

    @property
    def models(self) -> list[str]:
        """Models in order of appearance."""
        if self.is_scores:
            return list(read_scores(self.path))
        return list(dict.fromkeys(str(line.get("model") or "model") for line in self._read()))

    def _read(self) -> Iterator[Line]:
        found = read_replay_lines(
            self.path, self.left_out, self._decoder, names=self._names, dataset=self._official_entries()
        )
        conditions = self.fingerprint.conditions if self.fingerprint is not None else {}
        transforms = conditions.get("transforms") or ()
        return (line for line in found if not transforms or not is_transformed(str(line.get("id")), transforms))

    def _official_entries(self) -> DataSet | None:
        """The data that shows the spelling of names, for folders in the official layout only."""
        if self.run is not None or not self.path.is_dir():
            return None
        try:
            return self._judging_data()
        except UsageError:
            return None

    def lines(self) -> Iterator[Line]:
        """Result lines, those without a verdict judged."""
        self.unjudged.clear()  # they may be read a second time
        return judged_lines(self._read(), self._judging_data, self.unjudged)

    def _judging_data(self) -> DataSet:
        return self.dataset or open_data(self._data or "official")

    @cached_property
    def dataset(self) -> DataSet | None:
        """The data with these answers' entries; ``None`` if it is not found."""
        if self._data is not None:
            return open_data(self._data)
        known = self.fingerprint
        found = questions(None, {"name": "official"} if known is None else known.to_dict()["dataset"]).dataset
        if found is None and known is not None:
            told = f"the {known.dataset} data of {self.path} is not at hand"
            say(f"note: {told}: score/ is written without questions (--data PATH names it)", file=sys.stderr)
        return cast("DataSet | None", found)

    def export(self, out: Path, names: Mapping[str, str]) -> list[Path]:
        """``result/`` and ``score/``."""
        return export_official(
            self.path, out, dataset=self.dataset, names=names, lines=self.lines(), on_damaged=self.left_out
        )

    def add_to(self, standings: Standings, names: Mapping[str, str]) -> None:
        """Count for the CSV files; ``names``: model → registered name."""
        if self.is_scores:
            standings.add_scores({names.get(name, name): files for name, files in read_scores(self.path).items()})
            return
        state = self.fingerprint.state if self.fingerprint is not None else "finished"  # others have no end
        standings.add(_renamed(self.lines(), names), state=state)

    def part(self) -> str:
        """Why a run's CSV files are no leaderboard scores, in words; else empty."""
        found = published_comparability(self.fingerprint) if self.fingerprint is not None else None
        if found is None or not found.refused:
            return ""
        told = "percentages are of what was asked, categories without any entry count as zero"
        return f"{self.path}: no leaderboard scores, {found.sentence}; {told}"


def _renamed(lines: Iterable[Line], names: Mapping[str, str]) -> Iterator[Any]:
    for line in lines:
        model = str(line.get("model") or "model")
        yield {**line, "model": names.get(model, model)}


def judged_lines(lines: Iterable[Line], dataset: Callable[[], DataSet], unjudged: list[str]) -> Iterator[Line]:
    """Lines with an outcome unchanged, all others with the verdict of the official rules.

    ``dataset`` is called when the first line needs it. Lines that cannot be judged are left out and listed in
    ``unjudged``; write stages are never judged.
    """
    waiting: deque[Line] = deque()
    verdicts: Iterator[Parsed] | None = None
    for line in lines:
        row = CATEGORIES.get(str(line.get("category")))
        if "outcome" in line or (row is not None and row.checker == "none"):
            yield line
            continue
        waiting.append(line)
        if verdicts is None:
            verdicts = score_lines(iter(waiting.popleft, None), dataset())
        verdict = next(verdicts)
        if "error" in verdict:
            unjudged.append(f"{line.get('id')}: {verdict['error']}")
        else:
            yield _with_verdict(line, verdict)


def _with_verdict(line: Line, verdict: Fields) -> Line:
    tag = verdict["tag"]
    outcome = "passed" if verdict["valid"] else "failed" if tag is None or FailureTag(tag).counts else "error"
    return {**line, "outcome": outcome, **{name: verdict[name] for name in ("tag", "reason", "detail")}}
