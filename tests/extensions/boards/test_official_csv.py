from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from pytest_bfcl.extensions.boards.official_csv import (
    SERVER_USD_PER_HOUR,
    ModelRow,
    csv_texts,
    number,
    percent,
    rounded,
    rounded_percentile,
    write_csvs,
)
from pytest_bfcl.scoring.aggregate import CategoryScore
from pytest_bfcl.scoring.model_info import (
    ModelInfo,
    Usage,
    cost_usd,
    deviation,
    mean,
    percentile95,
)
from pytest_bfcl.scoring.tally import CONFIGURATIONS, FormatScores
from tests.scoring.golden import CASES, Golden

FILES = [
    "data_overall.csv",
    "data_non_live.csv",
    "data_live.csv",
    "data_multi_turn.csv",
    "data_agentic.csv",
    "data_format_sensitivity.csv",
]


@pytest.mark.golden
@pytest.mark.parametrize("case", CASES)
def test_the_six_files_are_the_references_byte_for_byte(golden: Golden, case: str, tmp_path: Path) -> None:
    paths = write_csvs(golden.case(case), tmp_path, official=True)
    assert [path.name for path in paths] == FILES
    cells = 0
    for path in paths:
        recorded = (golden.folder / "csv" / case / path.name).read_bytes()
        cells += recorded.count(b",") + recorded.count(b"\n") + 1
        assert path.read_bytes() == recorded, path.name
    assert cells > 100


@pytest.mark.golden
def test_percent_cells(golden: Golden) -> None:
    cases = json.loads((golden.folder / "percent_cases.json").read_text())
    assert len(cases) == 143
    assert [percent(case["accuracy"]) for case in cases] == [case["cell"] for case in cases]


def row(name: str, scores: dict[str, float], **fields: object) -> ModelRow:
    info = ModelInfo(name, licence="MIT, or so", organisation='The "Lab"')
    found = {category: CategoryScore(accuracy, 4) for category, accuracy in scores.items()}
    return ModelRow(info, found, **fields)  # type: ignore[arg-type]


def table(texts: dict[str, str], name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(texts[name])))


WORKED = {"simple_python": 0.8, "live_simple": 0.5, "irrelevance": 2 / 3}


def test_the_worked_number_of_the_specification() -> None:
    (line,) = table(csv_texts([row("m", WORKED)], official=True), "data_overall.csv")
    assert line["Overall Acc"] == "4.02%"
    assert line["Live Acc"] == "0.18%"
    assert line["Non-Live AST Acc"] == "N/A"
    assert line["Total Cost ($)"] == "N/A"


def test_our_own_files_claim_nothing_that_was_not_run() -> None:
    texts = csv_texts([row("a, b", WORKED)])
    (line,) = table(texts, "data_overall.csv")
    assert line["Overall Acc"] == line["Live Acc"] == line["Multi Turn Acc"] == "N/A"
    assert line["Live Simple AST"] == "50.00%"
    assert (line["Model"], line["License"], line["Organization"]) == ("a, b", "MIT, or so", 'The "Lab"')
    assert all(text.endswith("\n") for text in texts.values())


def test_rows_are_ranked_and_ties_keep_their_order() -> None:
    rows = [row("none", {}), row("low", {"live_simple": 0.1}), row("b", {"live_simple": 0.9}), row("none2", {})]
    names = [line["Model"] for line in table(csv_texts(rows, official=True), "data_live.csv")]
    assert names == ["b", "low", "none", "none2"]
    complete = dict.fromkeys(("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"), 0.0)
    names = [line["Model"] for line in table(csv_texts([*rows, row("zero", complete)]), "data_live.csv")]
    assert names[0] == "zero"  # what is not available comes last, below zero


def test_format_sensitivity_shows_configurations_without_entries_as_not_available() -> None:
    formats = FormatScores()
    for passed in (True, False):
        formats.add(CONFIGURATIONS[5], passed)
    formats.add(CONFIGURATIONS[0], True)
    (line,) = table(csv_texts([row("m", {}, formats=formats)], official=True), "data_format_sensitivity.csv")
    assert line["Format Sensitivity Max Delta"] == "50.0"
    assert line["Format Sensitivity Standard Deviation"] == "35.36"
    assert line[f"Config {CONFIGURATIONS[5]}"] == "50.00%"
    assert line[f"Config {CONFIGURATIONS[1]}"] == "N/A"
    assert len(CONFIGURATIONS) == 26


@pytest.mark.golden
def test_the_recorded_cases(golden: Golden) -> None:
    cases = [json.loads(line) for line in (golden.folder / "cost_latency_cases.jsonl").read_text().splitlines()]
    assert len(cases) == 82
    for case in cases:
        usage = Usage()
        for line in case["lines"]:
            usage.add(
                {
                    "latency_s": line.get("latency"),
                    "input_tokens": line.get("input_token_count"),
                    "output_tokens": line.get("output_token_count"),
                }
            )
        prices = case["input_usd_per_million_tokens"], case["output_usd_per_million_tokens"]
        cells = {
            "cost": number(rounded(cost_usd(usage, *prices, SERVER_USD_PER_HOUR))),
            "latency_mean": number(rounded(mean(usage.latencies))),
            "latency_std": number(rounded(deviation(usage.latencies))),
            "latency_p95": number(rounded_percentile(percentile95(usage.latencies))),
        }
        assert cells == {name: case[name] for name in cells}, case["note"]
