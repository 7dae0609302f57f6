"""Many runs of one model: states, flips, the noise floor by simulation, smoke sets, and three real runs."""

from __future__ import annotations

import json
import random
import tarfile
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.boards.stability import smoke_set, stability
from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.measurements import Judged, Key

CATEGORY = "simple_python"
RECORDED = Path(__file__).resolve().parents[4] / "shared" / "golden" / "v4_runs"


def a_run(outcomes: str, repeat: int = 1) -> dict[Key, Judged]:
    words = {"1": "passed", "0": "failed", "e": "error"}
    return {
        (f"{CATEGORY}_{number}", repeat): Judged(f"{CATEGORY}_{number}", CATEGORY, words[mark], None, None)
        for number, mark in enumerate(outcomes)
    }


def test_repeats_of_one_run_are_runs_and_one_says_nothing() -> None:
    found = stability({"a": {**a_run("11"), **a_run("10", 2)}})
    assert found.runs == ("a (repeat 1)", "a (repeat 2)")
    assert found.ids("flaky") == [f"{CATEGORY}_1"]
    with pytest.raises(UsageError, match="needs two runs"):
        stability({"a": a_run("11")})


def test_a_smoke_set_predicts_runs_it_has_not_seen() -> None:
    dice = random.Random(3)
    skill = [dice.random() for _ in range(300)]
    runs = {str(n): a_run("".join("01"[dice.random() < p**0.3] for p in skill)) for n in range(4)}
    found = stability(runs)
    small, large = smoke_set(found, 40), smoke_set(found, 150)
    assert len(set(small.ids)) == 40
    assert small.held_out == 4 * 40
    assert large.error < small.error < 0.12
    assert smoke_set(found, 300).error == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(UsageError, match="from 1 to 300"):
        smoke_set(found, 301)


def recorded(name: str, folder: Path) -> str:
    path = RECORDED / f"{name}.tar.gz"
    if not path.is_file():
        pytest.skip("no recorded runs here")
    with tarfile.open(path) as packed:
        packed.extractall(folder / name, filter="data")
    return str(folder / name / "score")


@pytest.mark.golden
@pytest.mark.slow
def test_recorded_runs_of_one_model_under_three_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, fixed, same = (recorded(name, tmp_path) for name in ("server-0.11", "server-fixed-1", "server-fixed-2"))
    out = tmp_path / "stability.json"
    if main(["compare", "stability", fixed, same, "--json", str(out)]) == 2:
        pytest.skip("no official data: run `pytest-bfcl fetch`")
    row = json.loads(out.read_text(encoding="utf-8"))["categories"]["multi_turn_base"]
    assert (row["entries"], row["flaky"], row["accuracies"]) == (200, 30, [0.62, 0.62])
    compared = tmp_path / "compared.json"
    assert main(["compare", old, fixed, "--json", str(compared), "--fail"]) == 0
    (found,) = json.loads(compared.read_text(encoding="utf-8"))
    moved = found["rows"]["multi_turn"]
    assert round(100 * moved["difference"], 1) == 15.8
    assert [round(100 * bound, 1) for bound in moved["interval95"]] == [10.5, 21.2]
    assert "better beyond chance: multi_turn +15.83, all +2.55 points" in capsys.readouterr().out
