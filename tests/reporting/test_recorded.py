"""What a report shows of a few runs: scores, facts and lists of every kind, and an entry of every kind of mistake."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.checkers import judge_both
from pytest_bfcl.dataset.categories import GROUPS
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.reporting import report
from pytest_bfcl.reporting.markdown import write_markdown
from pytest_bfcl.reporting.report import summary_of, write_report
from pytest_bfcl.reporting.score_lines import run_lines
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import ModelFingerprint
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.runs.results import result_record
from pytest_bfcl.scoring.summary import summarise
from pytest_bfcl.session.evaluation import open_data
from tests.recorded import markup, same_as_recorded
from tests.reporting.samples import packed_pages, record
from tests.runs.samples import fingerprint
from tests.scoring.samples import entry_id

HERE = Path(__file__).parent / "recorded"
MODELS = ("openai:tiny@fc", "openai:tiny@prompt")
SAID = "Words, <b>no</b> call."


@pytest.fixture(autouse=True)
def _no_sections_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "sections_of", lambda run, lines: ())


@pytest.fixture(scope="module")
def bundled() -> DataSet:
    return open_data("bundled")


def counted(models: tuple[str, ...], categories: tuple[str, ...], repeats: int) -> Iterator[dict[str, Any]]:
    """Outcomes of all kinds with all that is counted of them."""
    reasons = (
        "value_error:others",
        "simple_function_checker:wrong_count",
        "ast_decoder:decoder_failed",
        "reply:length",
    )
    for model in models:
        for place, category in enumerate(categories):
            for number in range(6):
                for repeat in range(1, repeats + 1):
                    dice = (7 * number + 3 * place + 5 * repeat + len(model)) % 20
                    outcome = (
                        "error" if dice == 19 else "skipped" if dice == 18 else "passed" if dice < 11 else "failed"
                    )
                    known: dict[str, Any] = {
                        "corrected_outcome": "passed" if dice % 4 == 0 else outcome, "verified_outcome": outcome,
                        "repeat": repeat, "latency_s": 0.25 + dice / 8, "first_token_s": dice / 16,
                        "reasoning_tokens": 3 * dice, "attempts": 1 + (dice == 5), "cost_usd": dice / 1000,
                        "call_form": {"calls": 1, "broken": int(dice == 13), "unknown": int(dice == 14)},
                        "finish_reasons": "length" if dice == 15 else "stop", "output": SAID if dice == 16 else "",
                    }  # fmt: skip
                    if outcome == "failed":
                        known["reason"] = reasons[dice % 4]
                    elif outcome in ("error", "skipped"):
                        known |= {"reason": f"adapter:{'timeout' if outcome == 'error' else 'skipped'}",
                                  "detail": {"error": f"no answer after {dice % 3} s", "advice": "wait"}}  # fmt: skip
                    yield record(entry_id(category, number), category, model, outcome, **known)


def judged(data: DataSet) -> Iterator[Any]:
    """The first wrong answer of every reason that the bundled entries have, and conversations that go wrong."""
    seen = set()
    for category in GROUPS["single_turn"]:
        for row in map(json.loads, (data.root / f"{category}.jsonl").read_text(encoding="utf-8").splitlines()):
            for wrong in row["wrong"]:
                if wrong["reason"] not in seen:
                    seen.add(wrong["reason"])
                    said = {"mode": wrong["mode"], "output": wrong["output"], "underscore_names": wrong["mode"] == "fc"}
                    yield line_of(data, row["id"], **said)
    for name in ("multi_turn_base_0", "multi_turn_miss_func_1"):
        right = [[list(turn)] if turn else [] for turn in data.entry(name).possible_answer]
        for trajectory in (right, [*right[:1], [], *right[2:]], [right[0], [["cd('nowhere')"], ["ls()"]], *right[2:]]):
            yield line_of(data, name, trajectory=trajectory)


def line_of(data: DataSet, entry_id: str, **said: Any) -> Any:
    entry = data.entry(entry_id)
    transcript = transcript_from_line({"id": entry_id, "category": entry.category, "model": MODELS[0], **said})
    both = judge_both(entry, transcript)
    return result_record(entry, transcript, both.official, both.corrected, extra=both.extra)


def stored(folder: Path, records: Iterator[Any], data: DataSet, **facts: Any) -> Path:
    known = {"dataset": "bundled", "dataset_sha256": data.sha256, "plugin_version": "1.0", "started_at":
             "2026-03-01T02:00:00Z", "models": tuple(ModelFingerprint(each, each.partition("@")[2]) for each in MODELS),
             "selection": {"sample": 6}} | facts  # fmt: skip
    with RunDirectory.create(folder, fingerprint(**known)) as run:
        for each in records:
            run.append(each)
        run.state(facts.get("state", "finished"))
        run.write_summary(summarise(run.records(), fingerprint=run.fingerprint.to_dict()))
    return folder


COUNTED: dict[str, tuple[tuple[str, ...], tuple[str, ...], int, dict[str, Any]]] = {
    "one": (MODELS[:1], ("simple_python", "irrelevance", "sql"), 1, {"dataset": "official", "profile": "openai 1"}),
    "two": (MODELS, ("parallel", "live_simple", "multi_turn_base", "memory_kv", "format_sensitivity"), 1, {}),
    "whole": (MODELS[:1], GROUPS["all_scoring"], 1, {"selection": {}, "rules": "corrected"}),
    "repeated": (MODELS[1:], ("multiple", "live_relevance"), 3, {"state": "stopped:budget"}),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_scores_and_facts(name: str, bundled: DataSet, tmp_path: Path) -> None:
    *what, facts = COUNTED[name]
    run = stored(tmp_path / "run", counted(*what), bundled, **facts)
    page = write_report(run, data=bundled, level="index")
    summary = summary_of(RunDirectory.open(run))

    def rows() -> Iterator[Any]:
        shown = re.sub(r" – 20[-\d]+ [:\d]+ UTC", "", page.read_text(encoding="utf-8"))  # when it ended
        yield from (["page", line] for line in markup(shown))
        yield from (["markdown", line] for line in write_markdown(summary).splitlines())
        for verbosity in (-2, 0, 1):
            yield from ([verbosity, *line] for line in run_lines(summary, None, verbosity=verbosity))

    same_as_recorded(HERE / f"scores_{name}.jsonl", rows())


def test_entries(bundled: DataSet, tmp_path: Path) -> None:
    run = stored(tmp_path / "run", judged(bundled), bundled)
    write_report(run, data=bundled)

    def rows() -> Iterator[Any]:
        for path in sorted((run / "entries").glob("*.html")):
            yield from ([path.stem, line] for line in markup(path.read_text(encoding="utf-8")))
        yield from sorted(packed_pages(run).items())

    same_as_recorded(HERE / "entries.jsonl", rows())
