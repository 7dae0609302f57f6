"""Measurements that can be compared: a run directory, a file of result lines, or an official score folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, category_of, is_write_stage, present_id
from pytest_bfcl.failures import FailureTag, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import counted
from pytest_bfcl.runs.directory import RESULTS_FILE, RunDirectory, is_run, refuse_other_file
from pytest_bfcl.runs.lines import DamagedLine, LeftOut, read_json_lines
from pytest_bfcl.runs.official_layout import model_folder
from pytest_bfcl.runs.paths import files_named
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.scoring.summary import plain_records
from pytest_bfcl.scoring.tally import VERDICTS

if TYPE_CHECKING:
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.fingerprint import Fingerprint


Key = tuple[str, int]
"""Entry id and repeat."""

VERIFIED = "verified_data"
"""The reason of a verdict by the verified data's corrected answer; the line has no other."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The parts of a result line that a comparison needs."""

    id: str
    category: str
    outcome: str
    tag: str | None
    reason: str | None

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.outcome == "passed"

    @property
    def is_verdict(self) -> bool:
        """Whether there is one: errors and skipped entries have none."""
        return self.outcome in VERDICTS

    @classmethod
    def of(cls, record: Fields, rules: str = "official") -> Judged:
        """From a result line, or a verdict line of ``pytest-bfcl score``.

        ``rules``: ``official``, ``corrected``, or ``verified`` (official rules on the verified data). The tag is the
        headline's.
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


@dataclass(frozen=True, slots=True)
class Measurement:
    """One side of a comparison: verdicts, and how they were made. ``fingerprint`` is ``None`` if the measurement is
    unknown. ``gaps`` reads the results and names what they lack: damaged lines, missing lines, an end. ``notes`` are
    less serious. ``lines`` reads the result lines of the named entries for all models, if any; ``folder`` is the run
    directory, if any.
    """

    label: str
    read: Callable[[str], dict[str, dict[Key, Judged]]]
    fingerprint: Fingerprint | None = None
    gaps: Callable[[], list[str]] = list
    notes: Callable[[], list[str]] = list
    lines: Callable[[Container[str]], Iterator[Fields]] = lambda ids: iter(())
    folder: Path | None = None

    def models(self, rules: str = "official") -> dict[str, dict[Key, Judged]]:
        """`by_model` of this measurement's verdicts. Raises `UsageError` if no line has verdicts of these rules."""
        found = self.read(rules)
        if rules == "verified" and not any(j.reason == VERIFIED for judged in found.values() for j in judged.values()):
            raise UsageError(
                f"{self.label} has no verdicts by the verified data: only runs on official data with a reviewed entry "
                "have them; use --rules official"
            )
        return found

    def only_model(self, rules: str = "official") -> tuple[str, dict[Key, Judged]]:
        """The one model and its verdicts. Raises `UsageError` for several, or none."""
        models = self.models(rules)
        if len(models) != 1:
            raise UsageError(f"{self.label} has {', '.join(models) or 'no results'}: name one model as PATH#MODEL")
        return next(iter(models.items()))


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
    `UsageError` if it has no verdicts.
    """
    path = Path(text).expanduser()
    if path.exists():
        return _open(path, dataset)
    head, _, model = str(path).partition("#")
    if not Path(head).exists():
        raise UsageError(f"{text} does not exist: name the directory of a run (what --bfcl-out was)")
    return _only(_open(Path(head), dataset), model)


def _open(path: Path, dataset: DataSet | None) -> Measurement:
    if path.is_dir() and is_run(path):
        return measurement_of_run(RunDirectory.open(path))
    if path.is_file():
        refuse_other_file(path)
    if path.is_file() or (path / RESULTS_FILE).is_file():
        return _measurement_of_file(path)
    if next(files_named(path, "BFCL_v*_score.json"), None) is not None:
        return Measurement(str(path), lambda rules: _of_scores(path, dataset, rules))
    if next(files_named(path, "BFCL_v*_result.json"), None) is not None:
        raise UsageError(f"{path} holds answers without verdicts: `pytest-bfcl score {path} -o FILE` judges them")
    raise UsageError(f"{path} is neither a run directory, a results.jsonl, nor an official score folder")


def _measurement_of_file(path: Path) -> Measurement:
    """A file of result lines, or of verdict lines of ``pytest-bfcl score``."""

    def gaps() -> list[str]:
        left_out = LeftOut()
        for _ in read_replay_lines(path, left_out):
            pass
        return list(left_out.sentences())

    def read(rules: str) -> dict[str, dict[Key, Judged]]:
        return by_model((line for line in read_replay_lines(path, LeftOut()) if _judged(line, path)), rules)

    def lines(ids: Container[str]) -> Iterator[Fields]:
        return (line for line in read_replay_lines(path, LeftOut()) if line["id"] in ids and not _is_error(line))

    def notes() -> list[str]:
        errors = [line.get("id") for line in read_replay_lines(path, LeftOut()) if _is_error(line)]
        return (
            [f"{counted(len(errors), 'line')} of {path} could not be judged, the first is {errors[0]}"]
            if errors
            else []
        )

    return Measurement(str(path), read, gaps=gaps, notes=notes, lines=lines)


def _is_error(line: Fields) -> bool:
    """Whether a line of ``pytest-bfcl score`` gives the reason for no verdict."""
    return "error" in line and "valid" not in line and "outcome" not in line


def _judged(line: Fields, path: Path) -> bool:
    if _is_error(line):
        return False
    if "outcome" not in line and "valid" not in line:
        raise UsageError(f"{path}: {line.get('id')} has no verdict: `pytest-bfcl score {path} -o FILE` judges it")
    return True


def _of_scores(root: Path, dataset: DataSet | None, rules: str) -> dict[str, dict[Key, Judged]]:
    if rules != "official":
        raise UsageError(f"{root}: an official score folder has verdicts under official rules only")
    if dataset is None:
        raise UsageError(f"{root}: name the data with --data official: score files list failures only")

    def verdicts(file: ScoreFile, category: str) -> Iterator[Judged]:
        ids = [ref.id for ref in dataset.index(category)]
        if len(ids) != file.total or not file.failed.keys() <= set(ids):
            raise UsageError(
                f"{file.path}: {file.total} entries were evaluated, the {dataset.name} data has {len(ids)}: "
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
    """The tag of a failed entry in an official score folder, where an inference error is a failure like others."""
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


_SCORE_NAME = re.compile(r"(?:BFCL_v(?P<release>\d+)_|gorilla_openfunctions_v\d+_test_)?(?P<category>.+)_score\.json")
"""Of all releases: the first ones had the second name, or none."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """One official score file: its header, and the failed entries' lines by id."""

    path: Path
    header: Fields
    failed: Mapping[str, Fields]
    release: int = 4
    """The release that scored, by the file's name."""

    @property
    def accuracy(self) -> float:
        """Fraction right."""
        return float(self.header["accuracy"])

    @property
    def total(self) -> int:
        """Entries evaluated."""
        return int(self.header["total_count"])

    @property
    def counted_failures(self) -> int | None:
        """Entries that failed, by the header; ``None`` where it does not say how many passed."""
        right = self.header.get("correct_count")
        return self.total - right if isinstance(right, int) else None


def is_score_folder(path: Path) -> bool:
    """Whether a folder holds official score files, and is not a run directory that happens to have some."""
    if is_run(path) or (path / RESULTS_FILE).is_file():
        return False
    return next(files_named(path, "BFCL_v*_score.json"), None) is not None


def read_scores(root: Path) -> dict[str, dict[str, ScoreFile]]:
    """Model folder → category → score file, for every score file below ``root``, of any release.

    Categories and ids are those of now; the first releases counted entries from 1 instead of naming them.

    Raises `UsageError` for a file whose first line is not a header, and for a line that cannot be read. It is of an
    entry that failed, and without it the entry would count as passed.
    """
    found: dict[str, dict[str, ScoreFile]] = {}
    for path in sorted(files_named(root, "*_score.json")):
        match = _SCORE_NAME.fullmatch(path.name)
        if match is None or (category := EARLIER.get(match["category"], match["category"])) not in CATEGORIES:
            continue
        lines = _lines(path)
        failed = {_present(line, match["category"]): line for line in lines[1:]}
        release = int(match["release"] or 1)
        found.setdefault(model_folder(root, path), {})[category] = ScoreFile(path, lines[0], failed, release)
    return found


def _present(line: Fields, said: str) -> str:
    """The id now of a failed entry; of a number, the entry's own where the line shows its question."""
    given, prompt = line["id"], line.get("prompt")
    if isinstance(given, int):
        told = prompt.get("id") if isinstance(prompt, Mapping) else None
        given = told if isinstance(told, str) else f"{said}_{given - 1}"
    return present_id(str(given), said)


def _lines(path: Path) -> list[Parsed]:
    """The header and the failed entries' lines, each checked."""

    def refuse(damaged: DamagedLine) -> None:
        raise UsageError(f"{damaged}: a failed entry without its line would count as passed")

    lines = list(read_json_lines(path, refuse))
    header = lines[0].value if lines else {}
    if not _is_share(header.get("accuracy")) or not _is_count(header.get("total_count")):
        raise UsageError(f"{path}:1: not the header of a score file")
    for line in lines[1:]:
        if not isinstance(line.value.get("id"), str | int):
            refuse(DamagedLine(path, line.number, "no id"))
    return [line.value for line in lines]


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def reason_of_score(line: Fields) -> str:
    """The error type of a score file's failed line."""
    error = line.get("error")
    nested = error.get("error_type") if isinstance(error, Mapping) else None
    return str(nested or line.get("error_type") or "unknown")
