"""One score record: counts of what was judged, and the same in every exporter."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.causes.of_runs import of_path
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.scoring.score_record import records_by_name
from pytest_bfcl.scoring.summary import summarise
from tests.runs.samples import fingerprint
from tests.scoring.samples import line


def run_of(folder: Path, outcomes: list[str], stages: int = 0) -> tuple[Path, Any]:
    """A run of 22 planned entries, and memory's write stages."""
    facts = fingerprint(selection={"sample": 22}, state="finished")
    with RunDirectory.create(folder, facts) as made:
        for number, outcome in enumerate(outcomes):
            made.append({**line(f"parallel_{number}", "parallel", outcome), "output": ""})
        for number in range(stages):
            entry_id = f"memory_kv_prereq_{number}-customer-{number}"
            made.append({**line(entry_id, "memory_kv_prereq", "passed"), "output": ""})
        summary = summarise(made.records(), fingerprint=facts.to_dict(), sizes={"parallel": 22}, max_errors_pct=50)
        made.write_summary(summary)
    return folder, summary


def test_n_is_what_was_judged_everywhere(tmp_path: Path) -> None:
    folder, summary = run_of(tmp_path / "run", ["passed"] * 12 + ["failed"] * 8 + ["error"] * 2, stages=3)
    (model,) = summary["models"].values()
    records = records_by_name(model, summary["fingerprint"])
    for name in ("parallel", "non_live", "all_scoring"):
        found = records[name]
        assert (found.judged, found.passed, found.errors, found.planned) == (20, 12, 2, 22), name
        assert found.chosen == "sample of 22, seed 0"
        assert not found.is_whole
    (explained,) = of_path(str(folder))
    assert (explained.judged, explained.passed) == (20, 12)
    assert records["parallel"].basis == "n = 20 of 22, 2 errors left out, sample of 22, seed 0, 200 in the data set"
    for form in ("every-eval-ever", "lm-eval", "inspect", "markdown"):
        assert main(["export", str(folder), "--format", form, "-o", str(tmp_path / form)]) == 0
    (path,) = (tmp_path / "every-eval-ever").rglob("*.json")
    for result in json.loads(path.read_text())["evaluation_results"]:
        assert result["score_details"]["uncertainty"]["num_samples"] == 20
    (path,) = (tmp_path / "lm-eval").rglob("*.json")
    assert {each["effective"] for each in json.loads(path.read_text())["n-samples"].values()} == {20}
    (path,) = (tmp_path / "inspect").glob("*.eval")
    with zipfile.ZipFile(path) as log:
        assert sum(name.startswith("samples/") for name in log.namelist()) == 20  # no write stage among them
        assert json.loads(log.read("header.json"))["results"]["total_samples"] == 20
    assert "| 20 of 22 | 2 | 1 |" in (tmp_path / "markdown" / "scores.md").read_text()


def test_a_comment_fits_however_much_was_lost(tmp_path: Path, capsys: Any) -> None:
    """The table of groups and the causes stay; ids are capped."""
    for name, outcome in (("main", "passed"), ("pr", "failed")):
        with RunDirectory.create(tmp_path / name, fingerprint(state="finished")) as made:
            for number in range(1406):
                made.append({**line(f"live_multiple_{number}-{number}-0", "live_multiple", outcome), "output": ""})
            made.write_summary(summarise(made.records(), fingerprint=made.fingerprint.to_dict()))
    assert main(["comment", str(tmp_path / "pr"), "--against", str(tmp_path / "main")]) == 0
    told = capsys.readouterr().out
    assert len(told) <= 60_001
    assert "| group | entries | before | after | difference | 95 % interval |" in told
    assert "more are not named here" in told
    assert "**Why**" in told
