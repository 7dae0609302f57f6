"""Rows of a published leaderboard beside measured models: read, placed, with the noise of both."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.boards.published import (
    COLUMNS,
    NEEDED,
    compared,
    counts_of,
    kept,
    read_board,
)
from pytest_bfcl.extensions.boards.ranking import published_values
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.statistics import Tally
from tests.runs.samples import fingerprint

HEAD = ["Rank", "Overall Acc", "Model", "Model Link", "Organization", "License", *COLUMNS]


def write(path: Path, *rows: dict[str, Any]) -> Path:
    lines = [",".join(HEAD), *(",".join(str(row.get(name, "N/A")) for name in HEAD) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def row(name: str, accuracy: float, **more: Any) -> dict[str, Any]:
    return {"Rank": 1, "Model": name, "Overall Acc": f"{accuracy}%"} | dict.fromkeys(COLUMNS, f"{accuracy}%") | more


def tally(accuracy: float, total: int) -> Tally:
    found = Tally()
    for number in range(total):
        found.add(str(number), number < round(accuracy * total), str(number))
    return found


def whole(accuracy: float) -> dict[str, Tally]:
    return {name: tally(accuracy, CATEGORIES[name].official_size) for name in NEEDED}


@pytest.mark.parametrize(
    ("name", "version", "date"),
    [
        ("data_overall.csv", "columns of V4", "file of "),
        ("bfcl-2026.3.23_2026-04-01.csv", "2026.3.23", "2026-04-01"),
        ("board-v4-2025-12-16.csv", "v4", "2025-12-16"),
    ],
)
def test_version_and_date_are_those_of_the_name_or_of_columns_and_file(
    tmp_path: Path, name: str, version: str, date: str
) -> None:
    board = read_board(write(tmp_path / name, row("A", 50)))
    assert (board.version, board.date[: len(date)]) == (version, date)
    assert "1 models, not measured here" in board.description


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no data_overall.csv"),
        ("a,b\n1,2\n", "no data_overall.csv"),
        (f"{','.join(HEAD)}\n" + "1,high,A\n", ":2: Overall Acc: 'high' is no accuracy"),
        (f"{','.join(HEAD)}\n" + "1,nan%,A\n", "no accuracy"),
        (f"{','.join(HEAD)}\n" + "1,101%,A\n", "no accuracy"),
        (f"{','.join(HEAD)}\n" + "1,1%,A\n" * 2_001, "2,001 rows"),
        ("x" * 2_000_001, "larger than"),
        ("\udc80", "cannot read"),
    ],
)
def test_what_is_no_board_is_said_in_a_sentence(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "board.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=why):
        read_board(path)


def test_rows_are_texts_and_numbers(tmp_path: Path) -> None:
    odd = row("\x1b[31mred", 50) | {"Model Link": "javascript:x", "Rank": "first", "Memory KV": "N/A"}
    (found,) = read_board(write(tmp_path / "b.csv", odd)).rows
    assert (found.name, found.link, found.rank) == ("\\x1b[31mred", "", None)
    assert "Memory KV" not in found.columns
    assert found.score(["Memory KV"]) is None
    good = row("A", 50) | {"Model Link": "https://x.y", "Rank": "3"}
    (found,) = read_board(write(tmp_path / "b.csv", good)).rows
    assert (found.link, found.rank) == ("https://x.y", 3)


def test_a_model_stands_where_its_score_puts_it_and_ties_are_within_the_noise(tmp_path: Path) -> None:
    rows = [row("best", 80), row("near", 61), row("far", 20), row("gone", 5) | {"Memory KV": "N/A"}]
    board = read_board(write(tmp_path / "b.csv", *rows))
    found = compared(board, "mine", whole(0.6))
    assert found is not None
    assert found.complete
    assert math.isclose(found.score, 0.6, abs_tol=0.005)
    assert [(each.row.name, each.tie) for each in found.rows] == [("best", False), ("near", True), ("far", False)]
    assert "60.0" in found.sentence
    assert "below near 61.00" in found.sentence
    assert "above far 20.00" in found.sentence
    assert "1 of 3 rows are within the noise" in found.sentence


def test_only_columns_that_were_run_whole_are_compared(tmp_path: Path) -> None:
    board = read_board(write(tmp_path / "b.csv", row("A", 50) | {"Overall Acc": "10%", "Multi Turn Base": "90%"}))
    part = {"simple_python": tally(0.5, 400), "multi_turn_base": tally(0.5, 200)}
    found = compared(board, "mine", part)
    assert found is not None
    assert found.columns == ("Multi Turn Base",)
    assert math.isclose(found.rows[0].difference, -0.4)
    assert compared(board, "mine", {"simple_python": tally(0.5, 400)}) is None


@pytest.mark.slow
def test_the_promised_five_percent(tmp_path: Path) -> None:
    drawn, outside, times = random.Random(3), 0, 400
    size = CATEGORIES["multi_turn_base"].official_size
    for number in range(times):
        mine, theirs = (sum(drawn.random() < 0.4 for _ in range(size)) / size for _ in range(2))
        board = read_board(write(tmp_path / f"{number}.csv", row("A", 50) | {"Multi Turn Base": f"{100 * theirs}%"}))
        found = compared(board, "mine", {"multi_turn_base": tally(mine, size)})
        assert found is not None
        outside += not found.rows[0].tie
    assert 0.02 <= outside / times <= 0.08


def test_a_run_keeps_one_board(tmp_path: Path) -> None:
    assert kept(tmp_path) is None
    for name in ("one.csv", "two.csv"):
        read_board(write(tmp_path / name, row(name, 50))).keep(tmp_path)
    found = kept(tmp_path)
    assert found is not None
    assert found.path.name == "two.csv"


def test_lines_of_a_run_count_by_official_rules(tmp_path: Path) -> None:
    board = read_board(write(tmp_path / "b.csv", row("A", 50)))
    lines = [
        {"id": f"multiple_{n}", "category": "multiple", "model": "m", "outcome": "failed", "official_outcome": "passed"}
        for n in range(200)
    ]
    run = fingerprint()
    shown = board.beside([(run, counts_of(lines))])
    (found,) = shown.comparisons
    assert (found.model, found.score) == ("m", 1.0)
    ((basis, _),) = published_values(shown)["tables"]
    assert basis.startswith("Over 1 of ")
    few = board.beside([(run, counts_of(lines[:150]))])  # 50 of 200 lack a verdict
    assert not few.comparisons
    assert "no column was run whole" in next(few.lines())


def test_run_leaderboard_report_and_site_show_it(tmp_path: Path, official: Any, capsys: Any) -> None:
    board = str(write(tmp_path / "published-2026-01-02.csv", row("Theirs <b>", 50), row("Others", 90)))
    run, page = str(tmp_path / "run"), "published, not measured here"
    asked = ["run", "--model", "oracle:", "--data", "official", "--categories", "multiple", "--board", board]
    assert main([*asked, "-o", run]) == 0
    said = capsys.readouterr().out
    assert "beside published-2026-01-02.csv (columns of V4, 2026-01-02" in said
    assert "not shown beside" not in said
    report = Path(run, "index.html").read_text(encoding="utf-8")
    assert page in report
    assert "Theirs &lt;b&gt;" in report
    assert main(["leaderboard", run, "--board", board, "-o", str(tmp_path / "lb")]) == 0
    assert "would stand above Others 90.00" in capsys.readouterr().out
    assert page in (tmp_path / "lb/index.html").read_text(encoding="utf-8")
    assert main(["view", "site", run, "--board", board, "-o", str(tmp_path / "site")]) == 0
    for name in ("leaderboard.html", "run/run/index.html"):
        assert page in (tmp_path / "site" / name).read_text(encoding="utf-8")
    capsys.readouterr()
    for other in ([*asked, "--sample", "20"], ["run", "--model", "oracle:", "--data", "bundled", "--board", board]):
        assert main([*other, "-o", f"{run}2"]) == 2
        assert "cannot be compared with published-2026-01-02.csv" in capsys.readouterr().err
        assert not Path(f"{run}2").exists()  # refused before the first request


def test_a_table_that_is_gone_or_damaged_at_the_end_costs_nothing(tmp_path: Path, official: Any, capsys: Any) -> None:
    board, run = write(tmp_path / "b.csv", row("A", 50)), tmp_path / "run"
    asked = ["run", "--model", "oracle:", "--data", "official", "--categories", "multiple", "-o", str(run)]
    assert main([*asked, "--board", str(board)]) == 0
    assert "beside b.csv" in capsys.readouterr().out
    board.unlink()
    (run / "board/b.csv").write_text("no table")
    assert main(["export", "report", str(run)]) == 0
    assert "The section published is not shown" in (run / "index.html").read_text(encoding="utf-8")
    assert main(asked) == 0  # goes on with the run
    assert "the published table is not shown" in "".join(capsys.readouterr())
