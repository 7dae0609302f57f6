"""Pages that are packed while a run goes on: the report is that of the run's files, whatever came between."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.reporting.pages import PageContext
from pytest_bfcl.reporting.report import AT_ONCE, PagesAhead, write_report
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.session.evaluation import open_data
from tests.reporting.samples import booking, entry, make_run, write_data

COUNT = 3 * AT_ONCE + 5
WRONG = booking(film="Heat", seats=3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[DataSet, Path, list[Fields]]:
    """A run with failed entries and an error among right ones, and its lines in order."""
    folder = tmp_path_factory.mktemp("ahead")
    data = write_data(folder / "bench", {"simple_python": [entry(f"simple_python_{n}") for n in range(COUNT)]})
    others = {f"simple_python_{n}": WRONG for n in (3, 20, COUNT - 1)}
    run = make_run(folder / "run", data, {**others, "simple_python_7": AdapterError("server", "no room")})
    return data, run, list(RunDirectory.open(run).records())


def taken(run: Path, data: DataSet, lines: list[Fields], asked: str | None = None) -> PagesAhead:
    """The pages of a run whose first lines are stored when these are taken."""
    results = run / "results.jsonl"
    stored = results.read_bytes()
    results.write_bytes(b"".join(stored.splitlines(keepends=True)[:AT_ONCE]))
    ahead = PagesAhead(run, data, asked)
    for number, line in enumerate(lines):
        if number == AT_ONCE:
            results.write_bytes(stored)
        ahead.take(line)
    return ahead


def written(run: Path, data: DataSet, ahead: PagesAhead | None = None) -> dict[str, bytes]:
    """Every file of the report."""
    index = write_report(run, data=data, ahead=ahead)
    return {path.name: path.read_bytes() for path in (index, *(run / "entries").iterdir())}


def _all(run: Path, lines: list[Fields]) -> list[Fields]:
    return lines


def _twice(run: Path, lines: list[Fields]) -> list[Fields]:
    return [*lines, lines[0], *lines[1:AT_ONCE]]


def _other_order(run: Path, lines: list[Fields]) -> list[Fields]:
    return [*lines[AT_ONCE:], *lines[:AT_ONCE]]


def _other_model(run: Path, lines: list[Fields]) -> list[Fields]:
    return [{**line, "model": "replay:other"} for line in lines]


def _one_is_elsewhere(run: Path, lines: list[Fields]) -> list[Fields]:
    journal = next((run / "journal").glob("*.jsonl"))
    kept = [line for line in journal.read_text().splitlines(keepends=True) if '"simple_python_18"' not in line]
    journal.write_text("".join(kept))
    return lines


def _cannot_be_shown(run: Path, lines: list[Fields]) -> list[Fields]:
    return [*lines[:2], {**lines[2], "id": None}, *lines[3:]]


@pytest.mark.parametrize(
    ("change", "packed"),
    [
        (_all, 3 * AT_ONCE - 3),
        (_one_is_elsewhere, 16),
        (_twice, 0),
        (_other_order, None),
        (_other_model, None),
        (_cannot_be_shown, 2),
    ],
)
def test_a_report_with_pages_packed_ahead_is_that_of_the_files(
    change: Callable[[Path, list[Fields]], list[Fields]],
    packed: int | None,
    made: tuple[DataSet, Path, list[Fields]],
    tmp_path: Path,
) -> None:
    data, source, lines = made
    run = tmp_path / "run"
    shutil.copytree(source, run)
    ahead = taken(run, data, change(run, lines))
    found = written(run, data, ahead)
    if packed is not None:
        assert len(ahead.requests) == packed
    assert found == written(run, data)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_nothing_half_packed(
    error: type[BaseException],
    made: tuple[DataSet, Path, list[Fields]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, source, lines = made
    run = tmp_path / "run"
    shutil.copytree(source, run)
    ahead = taken(run, data, lines[: 2 * AT_ONCE])
    with monkeypatch.context() as patched:
        patched.setattr("pytest_bfcl.reporting.report.beginning", raising(error))
        with contextlib.suppress(KeyboardInterrupt):
            for line in lines[2 * AT_ONCE :]:
                ahead.take(line)
    assert written(run, data, ahead) == written(run, data)


def raising(error: type[BaseException]) -> Callable[[str], str]:
    def beginning(request: str) -> str:
        raise error

    return beginning


@pytest.mark.parametrize("asked", ["index", "none"])
def test_a_run_without_pages_packs_none(asked: str, made: tuple[DataSet, Path, list[Fields]], tmp_path: Path) -> None:
    data, source, lines = made
    run = tmp_path / "run"
    shutil.copytree(source, run)
    shutil.rmtree(run / "entries", ignore_errors=True)
    assert not taken(run, data, lines, asked).requests
    assert not (run / "entries").exists()


def test_a_resumed_run_packs_none(made: tuple[DataSet, Path, list[Fields]], tmp_path: Path) -> None:
    data, run, lines = made
    ahead = PagesAhead(run, data, None)
    for line in lines[AT_ONCE:]:
        ahead.take(line)
    assert not ahead.requests


def test_models_that_changed_meanwhile_are_shown_as_they_came_to(
    made: tuple[DataSet, Path, list[Fields]], tmp_path: Path
) -> None:
    data, source, lines = made
    run = tmp_path / "run"
    shutil.copytree(source, run)
    ahead = taken(run, data, lines)
    opened = RunDirectory.open(run)
    models = tuple(replace(each, base_url="http://127.0.0.1:1/v1") for each in opened.fingerprint.models)
    opened.update(replace(opened.fingerprint, models=models))
    assert written(run, data, ahead) == written(run, data)


SINGLE = "simple_python,irrelevance"


@pytest.mark.parametrize(
    ("door", "chosen"),
    [
        ("plugin", f"{SINGLE},multi_turn_base,memory_kv"),
        ("verb", SINGLE),
        ("elsewhere", SINGLE),
        pytest.param("workers", f"{SINGLE},multi_turn_base,memory_kv", marks=pytest.mark.slow),
    ],
)
def test_both_doors_pack_ahead_unless_conversations_arrive_later(
    door: str, chosen: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[PagesAhead] = []
    held_for = PagesAhead.held_for

    def seen(ahead: PagesAhead, names: Sequence[str], context: PageContext) -> Mapping[str, str]:
        given.append(ahead)
        return held_for(ahead, names, context)

    monkeypatch.setattr(PagesAhead, "held_for", seen)
    if door == "elsewhere":
        monkeypatch.setattr(pytest_internals, "remote_workers", lambda config: ["ssh=other"])
    asked = ("--model", "lexical:@prompt", "--bfcl-data", "bundled", "--bfcl-categories", chosen, "--bfcl-out", "run")
    if door == "verb":
        main(["run", *asked])
    else:
        pytester.runpytest_inprocess(*asked, *(("-n", "2") if door == "workers" else ()))
    run = pytester.path / "run"
    if door == "elsewhere":
        assert not given
        return
    (ahead,) = given
    assert len(ahead.requests) >= AT_ONCE
    found = {path.name: path.read_bytes() for path in (run / "index.html", *(run / "entries").iterdir())}
    assert found == written(run, open_data("bundled"))
