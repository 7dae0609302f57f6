"""Runs in the formats of others: what is in them, and that the others read it."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.extensions.out.tables import PUBLISHED
from pytest_bfcl.reporting.markdown import write_markdown
from pytest_bfcl.reporting.report import write_report
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.scoring.score_record import ScoreRecord
from pytest_bfcl.scoring.summary import summarise
from pytest_bfcl.session.evaluation import run
from tests.runs.samples import SPEC, fingerprint
from tests.scoring.samples import line as score_line
from tests.scoring.samples import lines as score_lines

FORMATS = ("every-eval-ever", "hf-eval-results", "lm-eval", "inspect", "otel", "badge")
CATEGORIES = ["simple_python", "parallel", "multi_turn_base", "irrelevance"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two models, with passed and failed entries of one and of several turns."""
    folder = tmp_path_factory.mktemp("run") / "run"
    run("bundled", ["oracle:@fc", "lexical:@prompt"], categories=CATEGORIES, out=folder)
    return folder


@pytest.fixture(scope="module")
def exported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in every format, a folder each."""
    folder = tmp_path_factory.mktemp("exported")
    for name in FORMATS:
        assert main(["export", str(finished), "--format", name, "-o", str(folder / name)]) == 0
    return folder


def summary_of(finished: Path) -> Any:
    return json.loads((finished / "summary.json").read_text())


def test_every_format_has_the_scores_of_the_summary(finished: Path, exported: Path) -> None:
    models = summary_of(finished)["models"]
    for model, summary in models.items():
        stem = file_name(model)
        wanted = {name: found["accuracy"] for name, found in summary["categories"].items()}
        harness = json.loads(next((exported / "lm-eval").glob(f"{stem}/*.json")).read_text())
        assert {name: harness["results"][f"bfcl_bundled_{name}"]["acc,none"] for name in wanted} == wanted
        hub = json.loads((exported / "hf-eval-results" / ".eval_results" / f"{stem}.yaml").read_text())
        told = {row["dataset"]["task_id"]: row["value"] for row in hub}
        assert {name: told[name] for name in wanted} == {name: round(100 * each, 4) for name, each in wanted.items()}
        assert {row["dataset"]["id"] for row in hub} == {"pytest-bfcl/bundled"}  # never called BFCL
        records = [json.loads(path.read_text()) for path in (exported / "every-eval-ever").rglob("*.json")]
        (record,) = [each for each in records if each["model_info"]["name"] == model]
        results = record["evaluation_results"]
        scores = {each["evaluation_name"].split()[-1]: each["score_details"]["score"] for each in results}
        assert {name: scores[name] for name in wanted} == wanted
        assert "BFCL v4" not in json.dumps(record)


def test_samples_and_spans_are_those_of_the_lines(finished: Path, exported: Path) -> None:
    lines = list(RunDirectory.open(finished).records())
    samples = [
        json.loads(line) for path in (exported / "every-eval-ever").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]  # fmt: skip
    assert len(samples) == len(lines)
    passed = sum(line["outcome"] == "passed" for line in lines)
    assert sum(each["evaluation"]["is_correct"] for each in samples) == passed
    assert {each["interaction_type"] for each in samples} == {"single_turn", "agentic"}
    spans = [
        span for path in (exported / "otel").glob("*.jsonl") for line in path.read_text().splitlines()
        for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    ]  # fmt: skip
    ids = {span["spanId"] for span in spans}
    assert len(ids) == len(spans)
    assert all(span.get("parentSpanId") in ids for span in spans if "parentSpanId" in span)
    roots = [span for span in spans if "parentSpanId" not in span]
    assert len(roots) == len(lines)
    assert all(each["events"][0]["name"] == "gen_ai.evaluation.result" for each in roots)
    assert {span["name"].split()[0] for span in spans} == {"evaluate", "chat", "execute_tool"}


def test_badges_are_pictures_and_say_an_interval(exported: Path) -> None:
    for path in (exported / "badge").glob("*.svg"):
        told = json.loads(path.with_suffix(".badge.json").read_text())
        assert ET.fromstring(path.read_text()).tag.endswith("svg")
        assert told["schemaVersion"] == 1
        assert "%" in told["message"]
    assert len(list((exported / "badge").iterdir())) == 4


def test_the_log_holds_every_sample_once(finished: Path, exported: Path) -> None:
    for path in (exported / "inspect").glob("*.eval"):
        with zipfile.ZipFile(path) as log:
            names = [name for name in log.namelist() if name.startswith("samples/")]
            assert len(names) == len(set(names)) == json.loads(log.read("header.json"))["results"]["total_samples"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "inspct", "-o", "x"], "inspect"),
        (["--format", "badge"], "-o DIR"),
        (["--format", "badge", "-o", "x", "--table", "y.csv"], "-o DIR"),
    ],
)
def test_mistakes_are_said(finished: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(finished), *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path), "--format", "badge", "-o", str(tmp_path / "x")]) == 2
    assert "is no run directory" in capsys.readouterr().err


def test_runs_in_folders_of_one_name_are_not_written_over_each_other(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    again = tmp_path / finished.name
    again.symlink_to(finished)
    monkeypatch.chdir(finished)
    assert main(["export", ".", str(again), "--format", "badge", "-o", str(tmp_path / "x")]) == 2
    assert "folders of one name" in capsys.readouterr().err


def test_the_hub_reads_its_rows(exported: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")
    yaml = pytest.importorskip("yaml", reason="needs the extra yaml")
    if not hasattr(hub, "parse_eval_result_entries"):
        pytest.skip("needs a huggingface_hub that knows .eval_results")
    for path in (exported / "hf-eval-results" / ".eval_results").iterdir():
        rows = hub.parse_eval_result_entries(yaml.safe_load(path.read_text()))
        assert rows
        assert all(0 <= row.value <= 100 for row in rows)


@pytest.mark.slow
def test_the_others_read_them(finished: Path, exported: Path) -> None:
    """`make slow` names a Python with the packages of the others, and the wheel with EvalEval's schema."""
    python, wheel = os.environ.get("BFCL_EXPORTS"), os.environ.get("BFCL_EVERY_EVAL_EVER")
    if not python or not wheel:
        pytest.skip("no packages of the others (name a Python with BFCL_EXPORTS, a wheel with BFCL_EVERY_EVAL_EVER)")
    script = Path(__file__).with_name("validate_elsewhere.py")
    told = subprocess.run([python, script, exported, wheel], capture_output=True, text=True, check=False, timeout=300)
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout.splitlines()[-1])
    lines = list(RunDirectory.open(finished).records())
    assert found["problems"] == []
    assert found["samples"] == len(lines)
    assert found["spans"] > len(lines)
    assert sum(log[1] for log in found["logs"]) == len(lines)
    assert sum(log[2] for log in found["logs"]) == sum(line["outcome"] == "passed" for line in lines)
    assert {log[0] for log in found["logs"]} == {"success"}
    assert found["viewed"] == ["success"] * len(found["logs"])
    models = summary_of(finished)["models"]
    assert {*found["harness"]} == {file_name(model) for model in models}
    rows = min(found["harness"].values())
    assert rows >= len(CATEGORIES)


def texts(folder: Path) -> str:
    """All files below a folder, archives opened."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as log:
                found += [log.read(name).decode() for name in log.namelist()]
        elif path.is_file():
            found.append(path.read_text(encoding="utf-8"))
    return "\n".join(found)


DOLLARS = r"""\$\s?\d|\d USD|cost(?:_usd|_per_1000)?["']?\s*[:=,]\s*["']?\d"""


@pytest.mark.parametrize("priced", [False, True])
def test_a_model_without_a_price_has_no_cost_anywhere(
    priced: bool, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder, out = tmp_path / "run", tmp_path / "out"
    given = {"latency_s": 0.5, "input_tokens": 9, "output_tokens": 2} | ({"cost_usd": 0.25} if priced else {})
    stored = RunDirectory.open(finished)
    with RunDirectory.create(run_folder, stored.fingerprint) as made:
        lines = [{**line, **given} for line in stored.records() if line["category"] != "multi_turn_base"][:12]
        for line in lines:
            made.append(line)
        made.write_summary(summarise(lines, fingerprint=stored.fingerprint.to_dict()))
        made.state("finished")
    for words in (
        *(["export", "--format", name, "-o", str(out / name)] for name in (*FORMATS, "latex", "markdown")),
        ["export", "-o", str(out / "csv")], ["export", "--official", "-o", str(out / "official")],
        ["export", "--table", str(out / "table.csv")], ["leaderboard", "-o", str(out / "board")],
        ["view", "site", "-o", str(out / "site")], ["explain"],
    ):  # fmt: skip
        assert main([*words, str(run_folder)] if words[0] != "view" else [*words[:2], str(run_folder), *words[2:]]) == 0
    page = write_report(RunDirectory.open(run_folder)).read_text(encoding="utf-8")
    summary = summary_of(run_folder)
    cells = {}
    for name in ("csv", "official"):
        overall = next((out / name).rglob("data_overall.csv")).read_text().splitlines()
        cells[name] = dict(zip(*csv.reader(overall[:2]), strict=True))["Total Cost ($)"]
    told = [page, write_markdown(summary), json.dumps(summary), texts(out), capsys.readouterr().out]
    assert [bool(re.search(DOLLARS, text)) for text in told[:3]] == [priced] * 3
    assert cells["csv"] == "N/A"
    assert cells["official"] != "N/A"  # scoring spec §7: the reference assumes a server's price where there is none
    if not priced:
        assert not [found.group() for text in told for found in re.finditer(DOLLARS, text)]


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a sample in which two entries ended in an error."""
    folder = tmp_path_factory.mktemp("part") / "run"
    conditions = {"repeat": 1, "seed": 0, "step_limit": 20, "search": "auto", "simulators": "own"}
    counted = {SPEC: {"parallel": 6, "live_simple": 3}}
    run_facts = fingerprint(selection={"sample": 9}, conditions=conditions, counted=counted, state="finished")
    lines = list(score_lines({"parallel": (2, 4), "live_simple": (1, 3)}))
    lines += [score_line(f"parallel_{n}", "parallel", "error") for n in (10, 11)]
    with RunDirectory.create(folder, run_facts) as made:
        for each in lines:
            made.append({**each, "output": ""})
        made.write_summary(summarise(made.records(), fingerprint=run_facts.to_dict()))
    return folder


def _of_evalever(folder: Path) -> Iterator[Any]:
    for path in folder.rglob("*.json"):
        for result in json.loads(path.read_text())["evaluation_results"]:
            details = result["source_data"]["additional_details"]
            yield json.loads(details["record"]), result["score_details"]["score"], details["basis"]


def _of_harness(folder: Path) -> Iterator[Any]:
    (path,) = folder.rglob("*.json")
    found = json.loads(path.read_text())
    for record in found["config"]["scores"]:
        name = f"bfcl_{record['name']}"
        assert found["n-samples"][name]["effective"] == record["judged"]
        note = found["configs"][name]["metadata"]["note"] if name in found["configs"] else None
        yield record, found["results"][name]["acc,none"], note


def _of_inspect(folder: Path) -> Iterator[Any]:
    (path,) = folder.rglob("*.eval")
    with zipfile.ZipFile(path) as log:
        scores = json.loads(log.read("header.json"))["results"]["scores"]
    for score in scores:
        yield score["metadata"]["record"], score["metrics"]["accuracy"]["value"], score["metadata"]["note"]


READERS = {"every-eval-ever": _of_evalever, "lm-eval": _of_harness, "inspect": _of_inspect}


@pytest.mark.parametrize("form", READERS)
def test_the_record_of_a_partial_run_comes_back_equal(form: str, part: Path, tmp_path: Path) -> None:
    assert main(["export", str(part), "--format", form, "-o", str(tmp_path)]) == 0
    opened = Finished.open(part)
    wanted = list(opened.scores(SPEC))
    assert wanted[0].errors or wanted[1].errors
    read = list(READERS[form](tmp_path))
    assert [ScoreRecord.from_dict(record) for record, _, _ in read] == wanted
    for record, (_, value, note) in zip(wanted, read, strict=True):
        assert value == record.value
        assert note in (None, record.note)


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_a_papers_table_has_every_record_that_is_published(form: str, part: Path, tmp_path: Path) -> None:
    assert main(["export", str(part), "--format", form, "-o", str(tmp_path)]) == 0
    rows = [line for line in texts(tmp_path).replace("\\_", "_").splitlines() if SPEC in line.replace("&#64;", "@")]
    scores = [each for each in Finished.open(part).scores(SPEC) if each.name in PUBLISHED]
    assert "python" not in {each.name for each in scores}
    assert len({re.split(" [|&] ", row)[1] for row in rows}) == len(rows)
    for record, row in zip(scores, rows, strict=True):
        told = f"{record.judged} of {record.planned}" if record.judged < record.planned else str(record.judged)
        for text in (record.name, f"{100 * record.value:.2f}", told):
            assert text in row
        assert "1" in re.findall(r"\d+", re.split(" [|&] ", row)[-1])
    assert texts(tmp_path).count("sample of 9") == 1


def test_what_cannot_say_that_it_is_a_part_refuses_it(
    part: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(part), "--format", "hf-eval-results", "-o", str(tmp_path)]) == 2
    assert "rows on the Hub cannot" in capsys.readouterr().err
    assert main(["export", str(part), "--format", "badge", "-o", str(tmp_path)]) == 0
    assert "n = 7 of 9" in texts(tmp_path)
