"""The leaderboard of many runs: ranking, honesty about what was run, files, the command."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.extensions.boards.leaderboard_page import boards, write_leaderboard
from pytest_bfcl.extensions.boards.standings import contestants
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.scoring.model_info import ModelInfo
from tests.reporting.samples import record, stored_run

GOOD, BAD = "openai:good@fc", "openai:bad@prompt"


def make(path: Path, model: str, passed: int, categories: tuple[str, ...] = ("multiple", "irrelevance")) -> Path:
    """Four entries per category, so many of them passed."""
    records = [
        record(f"{category}_{n}", category, model, "passed" if n < passed else "failed")
        for category in categories
        for n in range(4)
    ]
    return stored_run(path, records)


def text(page: Path) -> str:
    return " ".join(
        html.unescape(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8").replace("<wbr>", ""))).split()
    )


ORACLE, PART, FORMATS, HALTED = "openai:oracle@fc", "openai:part@fc", "openai:formats@prompt", "openai:halted@fc"


def unequal(folder: Path) -> list[Path]:
    """A complete run, two of the same part, one of format sensitivity alone, one that was stopped."""
    config = "ret_fmt=python&tool_call_tag=False&func_doc_fmt=python&prompt_fmt=plaintext&style=classic"
    formats = [
        record(f"format_sensitivity_{n}:{config}:simple_python_{n}", "format_sensitivity", FORMATS) for n in (0, 1)
    ]
    halted = make(folder / "halted", HALTED, 4, GROUPS["all_scoring"])
    RunDirectory.open(halted).state("stopped:budget")
    return [
        make(folder / "part", PART, 4),
        stored_run(folder / "formats", formats),
        make(folder / "oracle", ORACLE, 3, GROUPS["all_scoring"]),
        halted,
        make(folder / "other", BAD, 2),
    ]


def test_unequal_runs_stand_in_tables_of_their_own(tmp_path: Path) -> None:
    found = [each for run in unequal(tmp_path) for each in contestants(RunDirectory.open(run), {})]
    made = boards(found)
    assert [(board.title, [(place.rank, place.name) for place in board.places]) for board in made] == [
        ("21 of 21 categories", [(1, ORACLE)]),
        ("2 of 21 categories", [(1, PART), (2, BAD)]),
        ("Not ranked", [(None, FORMATS), (None, HALTED)]),
    ]
    assert "it has format_sensitivity" in made[2].places[0].notes[0]
    assert "did not come to its end" in made[2].places[1].notes[0]


@pytest.mark.parametrize("official", [False, True])
def test_cells_are_no_formulas(tmp_path: Path, official: bool) -> None:
    infos = {GOOD: ModelInfo('=HYPERLINK("x")', "https://good.example/", "@SUM(1+1)", "a\n=1")}
    run = make(tmp_path / "a", GOOD, 4)
    overall = write_leaderboard([run], tmp_path / "board", infos=infos, official=official)[1].read_text("utf-8")
    assert "'@SUM(1+1)" in overall
    assert "'=HYPERLINK" in overall
    assert len(overall.splitlines()) == 2


def test_information_about_models(tmp_path: Path) -> None:
    runs = [make(tmp_path / "a", GOOD, 4), make(tmp_path / "b", BAD, 4)]
    infos = {
        GOOD: ModelInfo("Good <b>", "https://good.example/", "Makers", "MIT"),
        BAD: ModelInfo("Bad", "javascript:alert(1)"),
    }
    page = write_leaderboard(runs, tmp_path / "board", infos=infos)[0].read_text(encoding="utf-8")
    assert '<a href="https://good.example/" rel="noopener noreferrer">Good &lt;b&gt;</a>' in page
    assert "javascript:" not in page
    assert "Makers" in page
    both = {GOOD.removesuffix("@fc"): ModelInfo("Good")}
    assert "1 1–2 Good (FC) FC" in text(write_leaderboard(runs, tmp_path / "board", infos=both)[0])
