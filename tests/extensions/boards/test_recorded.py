"""What every verb of this room says and writes of a few runs: on the terminal, in Markdown, CSV, JSON and on pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import ModelFingerprint
from pytest_bfcl.scoring.summary import summarise
from tests.recorded import of_command, same_as_recorded
from tests.reporting.samples import record
from tests.runs.samples import SPEC, fingerprint
from tests.scoring.samples import entry_id

HERE = Path(__file__).parent / "recorded"
PART = ("simple_python", "parallel", "live_simple", "irrelevance", "multi_turn_base", "memory_kv")
CALL = [{"name": "cinema_book", "arguments": '{"film": "Heat", "seats": 3}'}]
PROMPT, OTHER = "openai:tiny@prompt", "openai:big@fc"


def lines(skill: int, seed: int, model: str, categories: tuple[str, ...], repeat: int) -> Iterator[dict[str, Any]]:
    """Outcomes of all kinds, in numbers that differ by skill; by seed some are other ones."""
    for place, category in enumerate(categories):
        for number in range(9):
            dice = (7 * number + 3 * place + 5 * repeat + number * number + 9 * ((number + seed) % 8 == 0)) % 20
            outcome = "error" if dice == 19 - skill else "passed" if dice < 6 + 3 * skill else "failed"
            other = "passed" if dice % 4 == 0 else outcome
            form = {"calls": 1 + dice % 2, "broken": int(dice == 7), "unknown": int(dice == 8)}
            yield record(
                entry_id(category, number), category, model, outcome, corrected_outcome=other, verified_outcome=other,
                repeat=repeat, call_form=form, finish_reasons="length" if dice == 3 else "stop",
                latency_s=0.25 + dice / 8, attempts=1 + (dice == 5), duration_s=seed + dice / 8,
                output="Words." if dice == 12 else CALL,
            )  # fmt: skip


RUNS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...], int, dict[str, Any]]] = {
    # name: skill, models, categories, repeats, what else is said of it
    "day-1": (2, (SPEC,), PART, 1, {"started_at": "2026-03-01T02:00:00Z"}),
    "day-2": (2, (SPEC,), PART, 1, {"started_at": "2026-03-02T02:00:00Z", "plugin_version": "0.1"}),
    "day-3": (0, (SPEC,), PART, 1, {"started_at": "2026-03-03T02:00:00Z", "rules": "corrected"}),
    "both": (1, (SPEC, PROMPT), PART[:3], 2, {"started_at": "2026-03-04T02:00:00Z"}),
    "other": (3, (OTHER,), PART, 1, {"started_at": "2026-03-05T02:00:00Z"}),
    "whole": (1, (OTHER,), GROUPS["all_scoring"], 1, {"started_at": "2026-03-06T02:00:00Z"}),
    "halted": (2, (SPEC,), PART[:2], 1, {"state": "stopped:budget", "started_at": "2026-03-08T02:00:00Z"}),
    "empty": (0, (SPEC,), (), 1, {}),
    "own": (0, (SPEC,), PART[:2], 1, {"started_at": "2026-03-07T02:00:00Z", "dataset_version": "2027.1"}),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs in the working directory."""
    sha256 = open_dataset("bundled").sha256
    for seed, (name, (skill, models, categories, repeats, facts)) in enumerate(RUNS.items()):
        asked = tuple(ModelFingerprint(each, each.partition("@")[2]) for each in models)
        known = {"dataset": "bundled", "dataset_sha256": sha256, "plugin_version": "1.0", "models": asked}
        with RunDirectory.create(tmp_path / name, fingerprint(**known | facts)) as run:
            for model in models:
                for repeat in range(1, repeats + 1):
                    for line in lines(skill + (model == PROMPT), seed, model, categories, repeat):
                        run.append(line)  # type: ignore[arg-type]
            run.state(facts.get("state", "finished"))
            summary: Any = summarise(run.records(), fingerprint=run.fingerprint.to_dict())
            known = {"model_info": {OTHER: {"name": "Big", "licence": "MIT"}}, "machine_cost_usd": 1.5}
            run.write_summary(summary | known if name == "other" else summary)
    (tmp_path / "info.toml").write_text(f'[models."{SPEC}"]\nname = "Tiny"\nlicence = "MIT"\ninput_price = 2\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


FILES = "--markdown c.md --html c.html --json c.json"
COMMANDS = {
    "compared": f"compare day-1 day-3 {FILES}",
    "several compared": "compare day-1 day-2 other --fail --json c.json",
    "compared by corrected rules": f"compare day-1 other --rules corrected --fail --margin 5 {FILES}",
    "compared by the verified data": "compare day-1 other --rules verified --html c.html",
    "compared within": f"compare both {FILES}",
    "compared with nothing": "compare empty",
    "compared on what is shared": f"compare day-1 own --shared {FILES}",
    "many runs": "compare stability day-1 day-2 both#openai:tiny@fc --never n --smoke 9 --smoke-out s "
                 "--html s.html --json s.json",
    "ranked": "leaderboard day-1 day-2 other both whole -o lb --model-info info.toml",
    "ranked officially": "leaderboard day-1 other whole -o lb --official",
    "over time": "leaderboard day-3 own day-1 other day-2 --history -o lb",
    "over one night": "leaderboard day-1 --history -o lb",
    "over nights with one that stopped": "leaderboard day-1 day-2 halted --history --allow-missing -o lb",
    "ranked on what is shared": "leaderboard day-1 other halted --shared -o lb",
    "smoke without a number": "compare stability day-1 day-2 --smoke-out x",
    "stability of two models": "compare stability day-1 other",
    "verified": "verify day-3 --reference day-1 --reference day-2 --html v.html --json v.json",
    "verified the other way": "verify day-1 --reference day-3/results.jsonl --json v.json",
    "ranked without a verdict": "leaderboard empty -o lb --shared",
    "verified by one": "verify day-2 --reference day-1 --margin 90",
    "providers": "verify --table day-3 day-2 other --reference day-1 --html v.html --json v.json",
    "exported": "export day-1 -o e --as lab/tiny-FC",
    "exported with questions": "export halted -o e --data bundled",
    "exported twice": "export day-1 day-2 -o e --layout csv",
    "exported as another": "export day-1 -o e --as x=y",
    "exported as no name": ["export", "day-1", "-o", "e", "--as", "a b"],
    "two exported as one": "export both -o e --as tiny",
    "exported to a file": "export day-1 -o e.csv",
    "tables": "export day-1 other -o e --layout csv",
    "exported officially": "export day-1 whole -o e --layout csv --official --model-info info.toml",
    "flat": "export both --table t.csv",
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_verbs(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = COMMANDS[name]
    rows = of_command(words.split() if isinstance(words, str) else words, folder, capsys)
    same_as_recorded(HERE / f"{name.replace(' ', '_')}.jsonl", rows)
