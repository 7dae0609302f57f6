"""No number beside another without the one question: deviations × doors, the cells written down by hand."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.boards.dated_runs import read_histories
from pytest_bfcl.extensions.boards.leaderboard_page import write_leaderboard
from pytest_bfcl.extensions.boards.published import refuse_other_test
from pytest_bfcl.extensions.boards.stability import refuse_mixed
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs import Fingerprint, RunDirectory
from pytest_bfcl.runs.comparability import Purpose, comparability, published_comparability
from pytest_bfcl.runs.merge import merge_runs
from pytest_bfcl.scoring.comparison import comparison_notes
from pytest_bfcl.scoring.measurements import Measurement
from tests.extensions.boards.test_export import line
from tests.runs.samples import SPEC, fingerprint

HASH = "e" * 64
BASE = fingerprint(
    conditions={"step_limit": 20, "simulators": "own", "search": "auto", "rest": "auto", "repeat": 1, "seed": 0},
    counted={SPEC: {"parallel": 1}},
    state="finished",
)


def model(**changes: Any) -> dict[str, Any]:
    return {"models": (replace(BASE.models[0], **changes),)}


def condition(**changes: Any) -> dict[str, Any]:
    return {"conditions": {**BASE.conditions, **changes}}


SPLIT = {"name": "half", "sha256": HASH, "part": "test", "entries": 3}
DEVIATIONS: dict[str, dict[str, Any]] = {
    "data": {"dataset": "own", "dataset_sha256": HASH},
    "version": {"dataset_version": "2027.1.1"},
    "verified": {"dataset": "verified", "dataset_sha256": HASH},
    "rules": {"rules": "corrected"},
    "rules version": {"rules_version": "2027"},
    "steps": condition(step_limit=3),
    "simulators": condition(simulators="reference"),
    "sample": {"selection": {"sample": 60}},
    "shard": {"selection": {"shard": "1/2"}},
    "ids": {"selection": {"ids": ["parallel_1"]}},
    "split": condition(split=SPLIT),
    "trained on": condition(trained_on=SPLIT),
    "temperature": model(parameters={"temperature": 0.7}),
    "parameter": model(parameters={"temperature": 0.001, "top_k": 5}),
    "decoder": model(decoder="hermes"),
    "template": model(template="qwen-fc"),
    "thinking": model(think="strip"),
    "system prompt": model(prompt_sha256=HASH),
    "base URL": model(base_url="http://elsewhere"),
    "release": {"plugin_version": "9.9"},
}
R, N, S = "refused", "noted", "same"
EXPECTED: dict[str, tuple[str, ...]] = {
    #                compare board history stability resume merge published
    "data":          (R,     R,    N,      R,        R,     R,    R),
    "version":       (R,     R,    N,      R,        R,     R,    S),
    "verified":      (R,     R,    N,      R,        R,     R,    R),
    "rules":         (N,     R,    N,      R,        R,     R,    R),
    "rules version": (R,     R,    N,      R,        R,     R,    S),
    "steps":         (R,     R,    N,      R,        R,     R,    R),
    "simulators":    (R,     R,    N,      R,        R,     R,    S),
    "sample":        (N,     R,    N,      R,        S,     R,    R),
    "shard":         (N,     R,    N,      R,        S,     R,    R),
    "ids":           (N,     R,    N,      R,        S,     R,    R),
    "split":         (N,     R,    N,      R,        R,     R,    R),
    "trained on":    (N,     N,    S,      R,        R,     R,    N),
    "temperature":   (N,     N,    S,      R,        R,     R,    S),
    "parameter":     (N,     N,    S,      R,        R,     R,    S),
    "decoder":       (N,     N,    S,      R,        R,     R,    S),
    "template":      (N,     N,    S,      R,        R,     R,    S),
    "thinking":      (N,     N,    S,      R,        R,     R,    S),
    "system prompt": (N,     N,    S,      R,        R,     R,    R),
    "base URL":      (N,     N,    S,      S,        R,     R,    S),
    "release":       (S,     S,    S,      S,        S,     S,    S),
}  # fmt: skip
"""What each door does with a run that differs from another in one thing alone."""

Door = Callable[[Fingerprint, Fingerprint, Path], str]


def stored(folder: Path, name: str, run: Fingerprint, number: int = 1) -> Path:
    with RunDirectory.create(folder / name, run) as made:
        made.append(line(f"parallel_{number}", "parallel", "passed"))
    return folder / name


def compared(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    first, second = (Measurement(name, lambda rules: {}, run) for name, run in (("a", one), ("b", other)))
    return N if comparison_notes(first, second) else S


def ranked(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    told: list[str] = []
    runs = [stored(folder, "a", one), stored(folder, "b", other)]
    write_leaderboard(runs, folder / "board", tell=told.append)
    return N if any("the same but for" in each for each in told) else S


def dated(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    later = replace(other, started_at="2099-01-01T00:00:00Z")
    found = read_histories([stored(folder, "a", one), stored(folder, "b", later)])
    return N if any("not comparable" in each for each in found.notes) else S


def repeated(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    refuse_mixed([("a", SPEC, one), ("b", SPEC, other)])
    return S


def resumed(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    RunDirectory.continue_(stored(folder, "a", one), other).close()
    return S


def merged(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    merge_runs([stored(folder, "a", one), stored(folder, "b", other, 2)], folder / "whole")
    return S


def published(one: Fingerprint, other: Fingerprint, folder: Path) -> str:
    refuse_other_test(other)
    return N if published_comparability(other).noted else S


DOORS: dict[str, Door] = {
    "compare": compared, "leaderboard": ranked, "history": dated, "stability": repeated, "resume": resumed,
    "merge": merged, "published": published,
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_no_cell_is_silent(door: str, deviation: str, tmp_path: Path) -> None:
    expected = EXPECTED[deviation][list(DOORS).index(door)]
    try:
        found = DOORS[door](BASE, replace(BASE, **DEVIATIONS[deviation]), tmp_path)
    except UsageError:
        found = R
    assert found == expected


def test_every_difference_says_what_it_may_do_to_the_number() -> None:
    for name, changes in DEVIATIONS.items():
        found = comparability(BASE, replace(BASE, **changes), Purpose.MODELS)
        assert all(each.effect for each in (*found.refused, *found.noted)), name


def test_samples_are_ranked_over_what_they_share(tmp_path: Path) -> None:
    runs = []
    for name, ids in (("a", (1, 2, 3)), ("b", (2, 3, 4))):
        run = replace(BASE, selection={"sample": 3}, conditions={**BASE.conditions, "seed": len(runs)})
        with RunDirectory.create(tmp_path / name, run) as made:
            for number in ids:
                made.append(line(f"parallel_{number}", "parallel", "passed" if number < 4 else "failed"))
        runs.append(tmp_path / name)
    with pytest.raises(UsageError, match=r"(?s)entries: sample of 3, seed 0 → sample of 3, seed 1.*--shared"):
        write_leaderboard(runs, tmp_path / "board")
    told: list[str] = []
    write_leaderboard(runs, tmp_path / "board", shared=True, tell=told.append)
    assert "ranked over the 2 entries that every run has a verdict on" in told


def test_nobody_else_compares_fingerprints() -> None:
    """A fingerprint's fields are held against another's in one module."""
    root = Path(__file__).resolve().parents[1] / "pytest_bfcl"
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "differences":
                holder = ast.unparse(node.value)
                assert not {"fingerprint", "measured"} & set(holder.split(".")), f"{path}:{node.lineno}"
