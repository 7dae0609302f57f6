"""What runs say: counted by families of models; a fit of difficulty and discrimination finds what is planted."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.lab.rules import ItemFit, fit_items
from pytest_bfcl.extensions.lab.run_rules import (
    Attempt,
    Attempts,
    read_attempts,
    run_defects,
    too_few,
)
from pytest_bfcl.rescoring import open_data
from pytest_bfcl.runs.lines import LeftOut

WRONG = [{"scale_recipe": {"portions": 7}}]


def runs_of(*models: str, calls: object = WRONG) -> list[Attempts]:
    return [
        Attempts(f"run {number}", {"simple_python_0": [Attempt(False, "value_error:others", calls, model)]})
        for number, model in enumerate(models)
    ]


def found(runs: list[Attempts]) -> list[tuple[str, str]]:
    return [(defect.rule_name, defect.message) for defect in run_defects(runs, {"simple_python_0"})]


def test_what_independent_families_fail_alike() -> None:
    rules = dict(found(runs_of("gpt-4o", "claude-4", "qwen3")))
    assert rules["never_passed"] == "failed in all 3 attempts of 3 families, 3 times by value_error:others"
    assert rules["consensus"].startswith("3 of 3 families gave")


def test_one_that_passed_ends_it() -> None:
    runs = runs_of("gpt-4o", "claude-4", "qwen3")
    runs.append(Attempts("d", {"simple_python_0": [Attempt(True, None, WRONG, "grok-4")]}))
    assert found(runs) == []


def test_too_few_families_are_said() -> None:
    said = too_few(runs_of("gpt-4o", "gpt-4.1", "gpt-5"))
    assert said is not None
    assert said.startswith("3 runs of 1 family of models (gpt) prove nothing")
    assert too_few(runs_of("gpt-4o", "claude-4", "qwen3")) is None
    assert too_few([]) is None


def test_the_verb_says_that_runs_of_one_model_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = {"id": "simple_python_0", "category": "simple_python", "model": "gpt-4o", "mode": "fc", "output": "no"}
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    runs = [str(tmp_path / f"{name}.jsonl") for name in "abc"]
    assert main(["validate", "audit", "bundled", "--categories", "simple_python", "--runs", *runs]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "3 runs of 1 family of models (gpt) prove nothing about an entry" in printed
    assert "0 defects, 0 to read" in printed


def test_lines_that_cannot_be_judged_are_counted_and_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    lines = [{"id": "simple_python_0", "output": "[f()]", "mode": "prompt"}, {"id": "no_such_entry", "output": "x"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    left_out = LeftOut()
    assert len(read_attempts(path, open_data("bundled"), left_out).by_id) == 1
    (told,) = left_out.sentences()
    assert "line 2" in told
    assert "no_such_entry" in told


def simulated(seed: int, *, runs: int = 33, families: int = 17, items: int = 200, turned: int = 6) -> list[ItemFit]:
    """Fits of a simulated benchmark whose first ``turned`` entries better models pass less often."""
    chance = random.Random(seed)
    family = {f"r{number}": f"f{number % families}" for number in range(runs)}
    house = {name: chance.gauss(0, 1) for name in dict.fromkeys(family.values())}
    able = {run: house[name] + chance.gauss(0, 0.5) for run, name in family.items()}
    steep = [-1.5 if number < turned else chance.lognormvariate(0, 0.35) for number in range(items)]
    hard = [0.0 if number < turned else chance.gauss(-1.2, 1.3) for number in range(items)]
    outcomes = {
        run: {
            f"e{number:03}": chance.random() < 1 / (1 + math.exp(-steep[number] * (at - hard[number])))
            for number in range(items)
        }
        for run, at in able.items()
    }
    fits = fit_items(outcomes, family)
    told = [(fit.difficulty, hard[int(fit.id[1:])]) for fit in fits[turned:]]
    assert _correlation(told) > 0.75
    return fits


def _correlation(pairs: list[tuple[float, float]]) -> float:
    count = len(pairs)
    a, b = (sum(values) / count for values in zip(*pairs, strict=True))
    top = sum((x - a) * (y - b) for x, y in pairs)
    return top / math.sqrt(sum((x - a) ** 2 for x, _ in pairs) * sum((y - b) ** 2 for _, y in pairs))


def test_negative_discriminations_are_found_and_hardly_any_other() -> None:
    fits = simulated(2)
    planted = [fit for fit in fits if int(fit.id[1:]) < 6]
    others = [fit for fit in fits if int(fit.id[1:]) >= 6]
    assert sum(fit.is_negative for fit in planted) >= 0.7 * len(planted)
    assert sum(fit.is_negative for fit in others) <= 0.01 * len(others)
