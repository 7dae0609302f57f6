"""A finished run for exporters: its summary, its lines, its transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.categories import is_write_stage
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.results import record_key
from pytest_bfcl.scoring.score_record import ScoreRecord, score_records
from pytest_bfcl.scoring.summary import plain_records


@dataclass(frozen=True)
class Finished:
    """An opened run directory, and its summary."""

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

    @property
    def fingerprint(self) -> Fields:
        """The fingerprint, as in ``run.json``."""
        found: Fields = self.summary["fingerprint"]
        return found

    @property
    def dataset(self) -> Fields:
        """Name, version and digest of the data."""
        found: Fields = self.fingerprint["dataset"]
        return found

    @property
    def is_official(self) -> bool:
        """Whether the run used the official set: other scores are never called BFCL."""
        return bool(self.dataset["name"] == "official")

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return "BFCL v4" if self.is_official else f"pytest-bfcl {self.dataset['name']}"

    @property
    def ended_at(self) -> str:
        """UTC, ISO 8601."""
        return str(self.fingerprint.get("ended_at") or self.fingerprint.get("started_at") or "1970-01-01T00:00:00Z")

    @property
    def models(self) -> Mapping[str, Fields]:
        """Model → its summary."""
        found: Mapping[str, Fields] = self.summary["models"]
        return found

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
