"""Official runs tell what the verified data makes of them: workers, repeats, several models, continued, replayed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from pytest_bfcl.cli import main

pytestmark = pytest.mark.golden

IDS = ("multi_turn_base_0", "multi_turn_base_4", "multi_turn_base_187", "live_multiple_552-153-1", "parallel_0")
COMMON = ("-q", "--tb=no", "-p", "no:cacheprovider", "--bfcl-data", "official", "--bfcl-report", "index", "--bfcl-ids",
          "ids.txt")  # fmt: skip
WANTED = {
    "multi_turn_base_0": None, "multi_turn_base_4": "failed", "multi_turn_base_187": "excluded",
    "live_multiple_552-153-1": "failed", "parallel_0": None,
}  # fmt: skip
"""By the official answers everything passes; by the corrected ones two of them do not."""


def lines(run: Path) -> list[dict[str, object]]:
    return [json.loads(text) for text in (run / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def told(run: Path) -> Counter[tuple[object, ...]]:
    return Counter((each["model"], each["id"], each.get("verified_outcome")) for each in lines(run))


@pytest.fixture
def folder(pytester: pytest.Pytester, official_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_BFCL_CACHE", str(official_dir.parents[1]))  # a pytester has another home
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    (pytester.path / "ids.txt").write_text("\n".join(IDS))
    return pytester.path


@pytest.mark.slow  # workers of two models on the official data
def test_workers_repeats_and_several_models_say_the_same(pytester: pytest.Pytester, folder: Path) -> None:
    models = ("--model", "oracle:@fc", "--model", "oracle:@prompt")
    done = pytester.runpytest_subprocess(*COMMON, *models, "--bfcl-repeat", "2", "-n", "2", "--bfcl-out", "run")
    assert done.ret == 0, done.stdout.str()
    wanted = {(model, name, WANTED[name]): 2 for model in ("oracle:@fc", "oracle:@prompt") for name in IDS}
    assert {(str(model), *rest): count for (model, *rest), count in told(folder / "run").items()} == wanted
    summary = json.loads((folder / "run" / "summary.json").read_text())
    for model in summary["models"].values():
        found = model["categories"]["multi_turn_base"]
        assert (found["accuracy"], found["verified_accuracy"], found["reviewed"]) == (1.0, 0.5, 4)
    page = (folder / "run" / "index.html").read_text(encoding="utf-8")
    assert "· verified 50.0" in page
    assert main(["compare", "run", "--rules", "verified"]) == 0


def test_continued_and_replayed_runs_keep_it(pytester: pytest.Pytester, folder: Path) -> None:
    assert pytester.runpytest_inprocess(*COMMON, "--model", "oracle:@fc", "--bfcl-out", "run").ret == 0
    whole = told(folder / "run")
    assert {(name, outcome) for _, name, outcome in whole} == set(WANTED.items())
    results = folder / "run" / "results.jsonl"
    kept = [text for text in results.read_text().splitlines() if "multi_turn_base_4" not in text]
    results.write_text("".join(text + "\n" for text in kept))
    assert pytester.runpytest_inprocess(*COMMON, "--model", "oracle:@fc", "--bfcl-out", "run").ret == 0
    assert told(folder / "run") == whole
    replayed = pytester.runpytest_inprocess(*COMMON, "--model", "replay:run", "--bfcl-out", "again")
    assert replayed.ret == 0
    assert {(name, outcome) for _, name, outcome in told(folder / "again")} == set(WANTED.items())
