"""Diagnoses of files: run directories, result lines, replies without verdicts; and a report's section of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.extensions.causes.diagnosis import Diagnosis, Find, diagnose
from pytest_bfcl.failures import BenchmarkError, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import counted, say
from pytest_bfcl.reporting.rendering import render
from pytest_bfcl.reporting.sources import Section
from pytest_bfcl.rescoring import data_of_run, open_data

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint


SOME = 0.1
"""Share of strange replies from which on the lines of a file may be of other data."""


def of_run(run: RunDirectory, lines: Iterable[Fields], data: str = "auto") -> list[Diagnosis]:
    """The diagnoses of an open run with these lines; ``data`` is their data, unless the run names it."""
    find, why_not = finder(run.fingerprint, data)
    found = diagnose(lines, find, why_not=why_not, asked=run.fingerprint.models)
    for each in found:
        each.unfinished = _unfinished(run.fingerprint, each.judged + each.not_judged.total())
    return found


def _unfinished(run: Fingerprint, here: int) -> str:
    """Why a run ended early, and how many of its trials have a line; empty for a finished one."""
    state, _, why = run.state.partition(":")
    if state == "finished":
        return ""
    counted = f", {here} of {run.planned} planned have a line" if run.planned and len(run.models) == 1 else ""
    return f"{why or state}{counted}"


def of_path(text: str, data: str = "auto", mode: str = "") -> list[Diagnosis]:
    """The diagnoses of ``PATH`` or ``PATH#MODEL``: a run directory, result lines, or recorded replies, judged here.

    ``data`` names the set of lines without a run, ``mode`` that of replies without one. Raises `UsageError` without
    judged lines.
    """
    from pytest_bfcl.runs.directory import RunDirectory, is_run, no_run
    from pytest_bfcl.runs.results import read_results

    name, _, model = text.partition("#")
    path = Path(name)
    if path.is_dir() and is_run(path):
        run = RunDirectory.open(path)
        found = of_run(run, read_results(path / "results.jsonl"), data)
    elif path.exists():
        found = _of_file(path, data, mode)
    else:
        raise UsageError(f"{name} is no run: {no_run(path)}")
    found = [each for each in found if model in ("", each.model)]
    if not found:
        of = f" of {model}" if model else ""
        raise UsageError(f"{text} has no judged entry{of}: name a run, or a file of replies (id and output)")
    return found


def only_one(found: list[Diagnosis], text: str) -> Diagnosis:
    """The only diagnosis of ``text``. Raises `UsageError` for several models."""
    if len(found) > 1:
        known = ", ".join(each.model for each in found)
        raise UsageError(f"{text} has several models: name one as PATH#MODEL ({known})")
    return found[0]


def _of_file(path: Path, data: str, mode: str) -> list[Diagnosis]:
    """Lines of a file: those with an outcome unchanged, others judged."""
    from pytest_bfcl.rescoring import score_lines
    from pytest_bfcl.runs.directory import refuse_other_file
    from pytest_bfcl.runs.readings import Readings
    from pytest_bfcl.runs.replay_lines import read_replay_lines
    from pytest_bfcl.runs.results import read_results

    refuse_other_file(path)
    beside = path.with_name("run.json")
    lines: Sequence[Fields] = [dict(line) for line in read_replay_lines(path)]
    if lines and all("outcome" in line for line in lines):
        lines = [dict(line) for line in read_results(path)]
    elif any("valid" in line and "output" not in line for line in lines):
        raise UsageError(f"{path} holds verdicts without replies: explain the file that was scored")
    dataset = _data_beside(beside) if beside.is_file() and data == "auto" else open_data(data)
    if any("outcome" not in line for line in lines):
        lines = [{"mode": mode, **line} if mode else line for line in lines]
        readings = Readings()
        judged = list(score_lines(lines, dataset, ahead=lines, readings=readings))
        if data == "auto" and not beside.is_file() and _strange(judged) > SOME * len(judged):
            other = open_data("bundled")  # its ids are the same
            others = Readings()
            again = list(score_lines(lines, other, ahead=lines, readings=others))
            if _strange(again) < _strange(judged):
                dataset, judged, readings = other, again, others
        _say_what_was_judged(path, dataset, judged)
        pairs = [pair for pair in zip(lines, judged, strict=True) if "error" not in pair[1]]
        lines = [{"model": path.name, **readings.complete(_line(line, verdict))} for line, verdict in pairs]
    return diagnose(lines, _find_in(dataset))


def _say_what_was_judged(path: Path, dataset: DataSet, judged: Sequence[Fields]) -> None:
    """The data, which may not be those of the file, and the lines that are left out. Raises `UsageError` for all."""
    errors = [str(each["error"]) for each in judged if "error" in each]
    if errors and len(errors) == len(judged):
        raise UsageError(f"no line of {path} can be judged, the first: {errors[0]}")
    say(f"judged with the {dataset.name} data; --data names others", file=sys.stderr)
    if errors:
        say(f"{counted(len(errors), 'line')} of {path} not judged, the first: {errors[0]}", file=sys.stderr)
    strange = sum(bool(_facts(each).get("unknown")) for each in judged)
    if 2 * strange > len(judged):
        say(f"{strange} of {len(judged)} replies call functions that these entries do not offer", file=sys.stderr)


def _strange(judged: Sequence[Fields]) -> int:
    """Replies of no entry of the data, or that call functions that theirs do not offer."""
    return sum("error" in each or bool(_facts(each).get("unknown")) for each in judged)


def _facts(verdict: Fields) -> Fields:
    """The facts of a verdict; empty without any."""
    facts = verdict.get("facts")
    return facts if isinstance(facts, dict) else {}


def _data_beside(path: Path) -> DataSet:
    from pytest_bfcl.runs.directory import RunDirectory

    return data_of_run(RunDirectory.open(path.parent).fingerprint, str(path.parent))


def _line(line: Fields, verdict: Fields) -> Fields:
    """A replay line with its verdict, as a result line has it."""
    valid = verdict.get("valid")
    outcome = "error" if not isinstance(valid, bool) else "passed" if valid else "failed"
    told = {name: verdict.get(name) for name in ("tag", "reason", "detail", "facts") if name in verdict}
    mode = {} if "mode" in line else {"mode": "fc" if not isinstance(line.get("output"), str) else "prompt"}
    return {
        **line,
        **mode,
        **told,
        "outcome": outcome,
        "category": line.get("category") or _category(line),
    }


def _category(line: Fields) -> str:
    from pytest_bfcl.dataset.categories import category_of

    return category_of(str(line.get("id")))


def finder(measured: Fingerprint, data: str = "auto") -> tuple[Find | None, str]:
    """The entries of a run, in ``data`` if they are named; or why they are not found."""
    try:
        if data == "auto":
            return _find_in(data_of_run(measured, "the run")), ""
        named = open_data(data)
        if named.sha256 == measured.dataset_sha256:
            return _find_in(named), ""
        used = f"{measured.dataset!r} ({measured.dataset_sha256[:8]})"
        return None, f"the run used the data {used}, and {data} has others ({named.sha256[:8]})"
    except (UsageError, OSError) as error:
        return None, str(error)


def _find_in(dataset: DataSet) -> Find:
    held: dict[str, Entry | None] = {}

    def find(entry_id: str) -> Entry | None:
        if entry_id not in held:
            ref = dataset.find(entry_id)
            try:
                held[entry_id] = dataset.load(ref) if ref is not None else None
            except BenchmarkError:
                held[entry_id] = None
        return held[entry_id]

    return find


TEMPLATES = Path(__file__).with_name("templates")


def causes(run: RunDirectory, lines: Sequence[Fields]) -> Section | None:
    """The causes of each model's failures."""
    from markupsafe import Markup

    found = [each for each in of_run(run, lines) if each.failed]
    body = Markup(render("causes.html.jinja", TEMPLATES, causes=found, run=_shown(run.path)))
    return Section("causes", "Causes", body, first=True) if found else None


def _shown(path: Path) -> str:
    """The path to type from here; its name if it is elsewhere."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return path.name
