"""What can be compared: a run directory, a file of result lines, or an official score folder."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import category_of, is_write_stage
from pytest_bfcl.failures import FailureTag, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.damage import LeftOut
from pytest_bfcl.runs.directory import RunDirectory, is_run
from pytest_bfcl.runs.paths import files_named
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.scoring.robustness import plain_records

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint

Key = tuple[str, int]
"""Entry id and repeat."""

VERIFIED = "verified_data"
"""The reason of a verdict that the corrected answer of the verified data decides; the line keeps no other."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What of a result line matters to a comparison."""

    id: str
    category: str
    outcome: str
    tag: str | None
    reason: str | None

    @classmethod
    def of(cls, record: Fields, rules: str = "official") -> Judged:
        """From a result line, or a verdict line of ``pytest-bfcl score``.

        ``rules``: ``official``, ``corrected``, or ``verified`` (official rules on the verified data). The tag is not
        kept apart from the headline's.
        """
        entry_id = str(record["id"])
        category = str(record.get("category") or category_of(entry_id))
        if "outcome" not in record and isinstance(record.get("valid"), bool):
            return cls._of_verdict(record, entry_id, category, rules)
        outcome, reason = record.get("outcome"), record.get("reason")
        if rules == "corrected":
            outcome, reason = record.get("corrected_outcome"), record.get("corrected_reason")
        elif "official_outcome" in record:
            outcome, reason = record["official_outcome"], record.get("official_reason")
        if rules == "verified" and "verified_outcome" in record:
            outcome, reason = record["verified_outcome"], VERIFIED
        return cls(entry_id, category, str(outcome), record.get("tag"), reason)

    @classmethod
    def _of_verdict(cls, line: Fields, entry_id: str, category: str, rules: str) -> Judged:
        corrected = rules == "corrected" and "corrected_valid" in line
        if line["corrected_valid"] if corrected else line["valid"]:
            return cls(entry_id, category, "passed", None, None)
        tag = line.get("tag")
        outcome = "failed" if tag is None or FailureTag(tag).counts else "error"
        return cls(entry_id, category, outcome, tag, line.get("reason"))


def by_model(records: Iterable[Fields], rules: str = "official") -> dict[str, dict[Key, Judged]]:
    """Model → (entry id, repeat) → verdict; memory write stages are left out."""
    models: dict[str, dict[Key, Judged]] = {}
    for record in records:
        judged = Judged.of(record, rules)
        if not is_write_stage(judged.category):
            key = (judged.id, int(record.get("repeat") or 1))
            models.setdefault(str(record.get("model") or ""), {})[key] = judged
    return models


def _no_lines(ids: Container[str]) -> Iterator[Fields]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a comparison is about: verdicts, and what is known of how they were made.

    ``fingerprint`` is ``None`` where nothing says what was measured. ``gaps`` reads it and says what its results lack:
    lines that cannot be read, lines that are gone, an end. ``notes`` are less: what a reader should know.
    ``lines`` reads the result lines of the entries named, of all models, as far as there are any; ``folder`` is the
    run directory, where there is one.
    """

    label: str
    read: Callable[[str], dict[str, dict[Key, Judged]]]
    fingerprint: Fingerprint | None = None
    gaps: Callable[[], list[str]] = list
    notes: Callable[[], list[str]] = list
    lines: Callable[[Container[str]], Iterator[Fields]] = _no_lines
    folder: Path | None = None

    def models(self, rules: str = "official") -> dict[str, dict[Key, Judged]]:
        """`by_model` of this measurement's verdicts; raises `UsageError` when no line knows those of these rules."""
        found = self.read(rules)
        if rules == "verified" and not any(j.reason == VERIFIED for judged in found.values() for j in judged.values()):
            raise UsageError(
                f"{self.label} has no verdicts by the verified data: only runs on official data with a reviewed entry "
                "have them; use --rules official"
            )
        return found


def measurement_of_run(run: RunDirectory) -> Measurement:
    """An open run directory."""

    def gaps() -> list[str]:
        state = run.fingerprint.state
        return [*run.gaps(), *([f"{run.path} is not finished ({state})"] if state != "finished" else [])]

    def read(rules: str) -> dict[str, dict[Key, Judged]]:
        return by_model(plain_records(run), rules)

    def lines(ids: Container[str]) -> Iterator[Fields]:
        return (record for record in plain_records(run) if record["id"] in ids)

    def notes() -> list[str]:
        if "trained_on" not in run.fingerprint.conditions:
            return []
        trained = len({record["id"] for record in plain_records(run) if record.get("trained_on")})
        return [f"{run.path}: the model was trained on {trained} of the entries"] if trained else []

    return Measurement(str(run.path), read, run.fingerprint, gaps, notes, lines=lines, folder=run.path)


def open_measurement(text: str | Path, dataset: DataSet | None = None) -> Measurement:
    """A measurement from ``PATH`` or ``PATH#MODEL`` (one model of several).

    ``dataset`` shows which entries of an official score folder passed: the folder lists failed ones only. Raises
    `UsageError` when there is nothing with verdicts.
    """
    path, model = _path_and_model(str(text))
    measurement = _open(path, dataset)
    return measurement if model is None else _only(measurement, model)


def _path_and_model(text: str) -> tuple[Path, str | None]:
    path = Path(text).expanduser()
    head, mark, model = text.partition("#")
    if not path.exists() and mark and Path(head).expanduser().exists():
        return Path(head).expanduser(), model
    if not path.exists():
        raise UsageError(f"{text} does not exist: name the directory of a run (what --bfcl-out was)")
    return path, None


def _open(path: Path, dataset: DataSet | None) -> Measurement:
    from pytest_bfcl.runs.directory import RESULTS_FILE, refuse_other_file

    if path.is_dir() and is_run(path):
        return measurement_of_run(RunDirectory.open(path))
    if path.is_file():
        refuse_other_file(path)
    if path.is_file() or (path / RESULTS_FILE).is_file():
        return Measurement(
            str(path),
            lambda rules: _of_file(path, rules),
            gaps=lambda: _gaps_of_file(path),
            notes=lambda: _notes_of_file(path),
            lines=lambda ids: _lines_of_file(path, ids),
        )
    if next(files_named(path, "BFCL_v*_score.json"), None) is not None:
        return Measurement(str(path), lambda rules: _of_scores(path, dataset, rules))
    if next(files_named(path, "BFCL_v*_result.json"), None) is not None:
        raise UsageError(f"{path} holds answers without verdicts: `pytest-bfcl score {path} -o FILE` judges them")
    raise UsageError(f"{path} is neither a run directory, a results.jsonl, nor an official score folder")


def _of_file(path: Path, rules: str) -> dict[str, dict[Key, Judged]]:
    # Damaged lines are told by `_gaps_of_file`.
    return by_model((line for line in read_replay_lines(path, LeftOut()) if _judged(line, path)), rules)


def _lines_of_file(path: Path, ids: Container[str]) -> Iterator[Fields]:
    return (line for line in read_replay_lines(path, LeftOut()) if line["id"] in ids and not _is_error(line))


def _gaps_of_file(path: Path) -> list[str]:
    left_out = LeftOut()
    for _ in read_replay_lines(path, left_out):
        pass
    return list(left_out.sentences())


def _notes_of_file(path: Path) -> list[str]:
    errors = [line.get("id") for line in read_replay_lines(path, LeftOut()) if _is_error(line)]
    return [f"{len(errors)} lines of {path} could not be judged, the first is {errors[0]}"] if errors else []


def _is_error(line: Fields) -> bool:
    """Whether a line of ``pytest-bfcl score`` says why there is no verdict."""
    return "error" in line and "valid" not in line and "outcome" not in line


def _judged(line: Fields, path: Path) -> bool:
    if _is_error(line):
        return False
    if "outcome" not in line and "valid" not in line:
        raise UsageError(f"{path}: {line.get('id')} has no verdict: `pytest-bfcl score {path} -o FILE` judges it")
    return True


def _of_scores(root: Path, dataset: DataSet | None, rules: str) -> dict[str, dict[Key, Judged]]:
    from pytest_bfcl.scoring.official_scores import ScoreFile, read_scores, reason_of_score

    if rules != "official":
        raise UsageError(f"{root}: an official score folder has verdicts under official rules only")
    if dataset is None:
        raise UsageError(f"{root}: name the data with --data official: score files list failures only")
    data = dataset

    def verdicts(file: ScoreFile, category: str) -> Iterator[Judged]:
        ids = [ref.id for ref in data.index(category)]
        if len(ids) != file.total or not file.failed.keys() <= set(ids):
            raise UsageError(
                f"{file.path}: {file.total} entries were evaluated, the {data.name} data has {len(ids)}: "
                "it is not known which of them passed"
            )
        if file.counted_failures not in (None, len(file.failed)):
            raise UsageError(
                f"{file.path}:1: {file.counted_failures} of {file.total} failed, the file has lines of "
                f"{len(file.failed)}: it is not known which of them passed"
            )
        for entry_id in ids:
            failed = file.failed.get(entry_id)
            reason = None if failed is None else reason_of_score(failed)
            yield Judged(entry_id, category, "passed" if failed is None else "failed", _tag_of(reason), reason)

    return {
        model: {(judged.id, 1): judged for name, file in files.items() for judged in verdicts(file, name)}
        for model, files in read_scores(root).items()
    }


def _tag_of(reason: str | None) -> str | None:
    """The tag of a failed entry of an official score folder; there an inference error is a failure like others."""
    from pytest_bfcl.checkers.reasons import reason_named

    if reason is None:
        return None
    known = reason_named(reason)
    return str(known.tag if known is not None and known.tag.counts else FailureTag.WRONG_ANSWER)


def _only(measurement: Measurement, model: str) -> Measurement:
    def read(rules: str) -> dict[str, dict[Key, Judged]]:
        found = measurement.read(rules)
        kept = {name: verdicts for name, verdicts in found.items() if name.rpartition("@")[0] == model or name == model}
        if not kept:
            raise UsageError(f"{measurement.label} has no model {model!r}; it has: {', '.join(found) or 'none'}")
        return kept

    return replace(measurement, label=f"{measurement.label}#{model}", read=read)
