"""Summaries, comparisons and gates over made-up runs that have everything a line can tell, as recorded."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.dataset.opening import open_dataset
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.scoring import aggregate, model_info
from pytest_bfcl.scoring.comparison import Comparison, compare, compare_measurements, compare_models, comparison_notes
from pytest_bfcl.scoring.comparison_rows import Row
from pytest_bfcl.scoring.conduct import ConductTally, Remarks, ServedTally, conduct_line, conduct_of
from pytest_bfcl.scoring.distributions import normal_tail, student_tail
from pytest_bfcl.scoring.expectations import Expectations, read_expected
from pytest_bfcl.scoring.gate_scope import (
    Extent,
    Scope,
    entries_needed,
    everything,
    expected_half_width,
    half_width,
    members_of,
    one_entry,
    smallest_loss,
)
from pytest_bfcl.scoring.gates import GateCheck, gate_checks, gate_summary, parse_gate, unreachable
from pytest_bfcl.scoring.gating import GateOptions, Gates, exit_code, gate_lines
from pytest_bfcl.scoring.measurements import (
    Judged,
    Measurement,
    by_model,
    is_score_folder,
    measurement_of_run,
    open_measurement,
    read_scores,
)
from pytest_bfcl.scoring.model_info import Usage, cost_usd, deviation, mean, percentile95
from pytest_bfcl.scoring.noninferiority import Margin, noninferior, parse_margin, too_few
from pytest_bfcl.scoring.score_record import ScoreRecord, headline_record, score_records
from pytest_bfcl.scoring.statistics import Tally, cluster_of, interval, spread_of, student_point, wilson
from pytest_bfcl.scoring.summary import full_sizes, sizes_of, summarise
from pytest_bfcl.settings import Price, Settings
from tests.recorded import counted, same_as_recorded, tried
from tests.runs.samples import fingerprint
from tests.scoring.samples import SPEC, entry_id, line, saved

HERE = Path(__file__).parent / "recorded"
DATA = open_dataset("bundled")
OTHER = "anthropic:other@prompt"
REASONS = ("value_error:string", "reply:length", "multi_turn:instance_state_mismatch")


class Issue:
    """One that the summary is told of."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.modes = ("fc",)


def told(category: str, number: int, chance: random.Random, skill: float, **fields: Any) -> dict[str, Any]:
    """A line with everything that may be told of an entry of its category."""
    row = CATEGORIES[category]
    outcome = chance.choices(("passed", "failed", "error", "skipped"), (skill, 1 - skill, 0.03, 0.02))[0]
    found = line(entry_id(category, number), category, outcome, **fields)
    if outcome == "failed":
        found["reason"] = chance.choice(REASONS)
        found["tag"] = "MALFORMED_OUTPUT" if found["reason"].startswith("reply") else "WRONG_ANSWER"
    if chance.random() < 0.15 and outcome in ("passed", "failed"):
        found |= {"corrected_outcome": "passed", "corrected_rules": [chance.choice(("X", f"C{chance.randint(1, 18)}"))]}
    if chance.random() < 0.1:
        found["verified_outcome"] = chance.choice(("passed", "excluded", "failed"))
    if chance.random() < 0.05:
        found |= {"official_outcome": "failed", "official_reason": "reply:length"}
    calls = [{"name": "f", "arguments": "{}"}] * chance.randint(0, 2)
    found["output"] = [[calls], ["", None]] if row.multi_step else chance.choice((calls, "text", "", None))
    found["calls"] = [[[{"f": {}}]]] if row.multi_step else [{"f": {}}] * len(calls)
    if calls and chance.random() < 0.5:
        found["call_form"] = {"calls": len(calls), chance.choice(("unknown", "broken", "invalid")): 1}
    figures = {
        "input_tokens": 100 + number,
        "output_tokens": number,
        "latency_s": number / 7,
        "attempts": 1 + number % 2,
    }
    found |= {key: [[value, None], [value]] if row.multi_step else value for key, value in figures.items()}
    found |= {"reasoning": chance.choice((None, "hm")), "finish_reasons": chance.choice(("stop", "length", None))}
    if number % 3 == 0:
        found |= {"reasoning_tokens": number, "first_token_s": number / 20}
    if number % 4:
        found["cost_usd"] = 0.001 * number
    if number % 5 == 0:
        found["served"] = {"model": chance.choice(("tiny", "tiny-2024-01-01", "big")), "id": f"r{number % 15}"}
    if number % 6 == 0:
        found |= {"unreviewed": True} | ({"trained_on": True} if fields.get("trained") else {})
    found["detail"] = {"lost_call": "hermes"} if number % 7 == 0 else {"ending": "abort"} if number % 11 == 0 else {}
    extra: dict[str, Any] = {}
    if row.checker == "state":
        quiet = number % 2
        extra = {"turn_credit": [1, quiet], "steps": [2, 1], "calls": [2, quiet], "ground_truth_calls": [2, 1 - quiet],
                 "quiet_turns": 1 - quiet, "quiet_turns_with_calls": number % 3 and 1 - quiet,
                 "calls_in_quiet_turns": quiet,
                 "classes": ["MathAPI", "TravelAPI"][: 1 + quiet]}  # fmt: skip
    else:
        extra = {"hops": 1 + number % 3, "classes": ["MathAPI"], "quiet_turns": number % 2}
    if number % 13 == 0 and outcome in ("passed", "failed"):
        found["other_reading"] = {"by": chance.choice(("leaderboard", "evidence")), "outcome": "passed"}
    return {
        **found,
        "extra": extra,
        **{key: value for key, value in fields.items() if key in ("model", "mode", "repeat")},
    }


def a_run(
    seed: int, skill: float = 0.7, names: Sequence[str] = (), size: int = 6, **fields: Any
) -> list[dict[str, Any]]:
    """Lines of the categories."""
    chance = random.Random(seed)
    listed = names or [name for name, row in CATEGORIES.items() if row.scored]
    return [told(name, number, chance, skill, **fields) for name in listed for number in range(1, size + 1)]


def formats(seed: int) -> list[dict[str, Any]]:
    """Format-sensitivity lines, write stages, transformed entries, a second repeat and a second model."""
    chance = random.Random(seed)
    config = "ret_fmt={}&tool_call_tag=False&func_doc_fmt=json&prompt_fmt=plaintext&style=classic"
    found = [
        line(f"format_sensitivity_{n}:{config.format(kind)}:simple_python_{n}", "format_sensitivity",
             chance.choices(("passed", "failed"), (skill, 1))[0])
        for kind, skill in (("python", 9.0), ("json", 0.2), ("verbose_xml", 1.0)) for n in range(5)
    ]  # fmt: skip
    found += [line(f"memory_kv_prereq_{n}-student-0", "memory_kv_prereq", outcome, input_tokens=50, latency_s=2)
              for n, outcome in enumerate(("passed", "error", "skipped"))]  # fmt: skip
    for name in ("wording", "shuffled"):
        found += [line(f"{entry_id('parallel', n)}~{name}", "parallel", chance.choice(("passed", "failed", "error")))
                  for n in range(1, 7)]  # fmt: skip
    found += a_run(seed + 1, names=("parallel", "live_simple", "multi_turn_base"), repeat=2)
    return found + a_run(seed + 2, 0.4, names=("parallel", "irrelevance"), model=OTHER, mode="prompt")


WHOLE = {"dataset": {"name": "official"}, "models": [{"model": SPEC}, {"model": OTHER}], "state": "finished"}
BARE: list[tuple[str, str, dict[str, Any]]] = [
    ("parallel_1", "passed", {}), ("parallel_2", "failed", {"reason": "reply:length"}),
    ("x_1", "failed", {"category": "x"}), ("rest_1", "skipped", {}), ("irrelevance_3", "error", {}),
    ("multi_turn_miss_func_1", "failed", {"extra": {"quiet_turns": 2, "turn_credit": [1]}}),
    ("multi_turn_base_1", "error", {"tag": "ADAPTER_ERROR", "reason": "adapter:server"}),
    ("memory_kv_1-customer", "passed", {"category": "memory_kv"}),
    ("irrelevance_1", "failed", {"reason": "reply:length"}),
    ("memory_kv_2-student-1", "passed", {"category": "memory_kv"}),
    ("irrelevance_2", "failed", {"official_outcome": "passed"}),
    ("web_search_base_1", "passed", {"extra": {"hops": 2}}), ("web_search_base_2", "passed", {"extra": {}}),
    ("format_sensitivity_0", "passed", {"category": "format_sensitivity"}),
    ("parallel_3", "failed", {"official_outcome": "error", "corrected_outcome": "error", "mode": "fc"}),
    ("parallel_4", "passed", {"repeat": 2, "served": "odd", "detail": {"lost_call": "x"}, "unreviewed": True}),
]  # fmt: skip
"""Lines with hardly anything in them."""
UNANSWERED = [("failed", "reply:length"), ("error", "adapter:server"), ("skipped", None)]
RUNS: dict[str, tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]] = {
    "whole": (a_run(1), WHOLE, {}),
    "everything": (a_run(2) + formats(3),
    WHOLE | {"conditions": {"transforms": {"wording": "", "shuffled": ""}, "repeat": 2}},
                   {"known_issues": [Issue(entry_id("parallel", 1)), Issue(entry_id("live_simple", 2))]}),
    "sample": (a_run(4, size=3), WHOLE, {"sizes": dict.fromkeys(CATEGORIES, 3)}),
    "unfinished": (a_run(5, size=3), WHOLE, {"sizes": dict.fromkeys(CATEGORIES, 4)}),
    "stopped": (a_run(6, size=2), WHOLE | {"state": "stopped:budget"}, {}),
    "part": (a_run(7, names=("parallel", "multiple", "live_simple", "memory_kv")), WHOLE, {"max_errors_pct": 50.0}),
    "rerun": (a_run(8, size=2), WHOLE | {"selection": {"last_failed": True}}, {}),
    "bundled": (a_run(9, names=("parallel", "irrelevance", "mcp")), WHOLE | {"dataset": {"name": "bundled"}},
                {"sizes": {"parallel": 6}, "full_sizes": {"parallel": 13, "irrelevance": 13, "multiple": 14}}),
    "trained": (a_run(10, trained=True), WHOLE,
                {"max_errors_pct": 100.0, "infos": {SPEC.partition("@")[0]: model_info.ModelInfo("T", gpu_hour=20.0)}}),
    "by the hour": ([{k: v for k, v in each.items() if k != "cost_usd"} for each in a_run(11, size=2)], WHOLE,
                    {"infos": {SPEC.partition("@")[0]: model_info.ModelInfo("Tiny", gpu_hour=20.0)}}),
    "no seconds": ([line("parallel_1", "parallel", cost_usd=None, latency_s=None)], WHOLE,
                   {"infos": {SPEC.partition("@")[0]: model_info.ModelInfo("Tiny", gpu_hour=20.0)}}),
    "errors": ([line(entry_id("parallel", n), "parallel", "error") for n in range(3)],
    WHOLE | {"conditions": {"repeat": 0}}, {}),
    "nothing": ([], {}, {}),
    "bare lines": ([{"id": name, "category": name.rpartition("_")[0], "outcome": outcome, **more}
                    for name, outcome, more in BARE],
                   {"models": [{}], "conditions": {}, "selection": None, "dataset": None}, {}),
    "unanswered": ([line(f"parallel_{n}", "parallel", outcome, reason=reason, output="")
                    for n, (outcome, reason) in enumerate(UNANSWERED)], WHOLE, {}),
    "skipped alone": ([line("parallel_1", "parallel", "skipped")], WHOLE, {}),
    "one right": ([line("parallel_1", "parallel", "passed")], WHOLE | {"conditions": {"repeat": 0}},
                  {"sizes": {"parallel": 2}}),
    "sizes alone": (a_run(9, names=("parallel", "irrelevance")), WHOLE | {"dataset": {"name": "own"}},
                    {"sizes": {"parallel": 9}}),
    "no sizes": (a_run(9, names=("parallel", "irrelevance")), WHOLE | {"dataset": {"name": "own"}}, {}),
    "one answer": ([line("parallel_1", "parallel", "failed", reason="reply:length", output="x", cost_usd=None)], WHOLE,
                   {"infos": {SPEC.partition("@")[0]: model_info.ModelInfo("Tiny")}}),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_summaries(name: str) -> None:
    lines, facts, options = RUNS[name]
    summary = summarise(lines, fingerprint=facts, **options)  # type: ignore[arg-type]

    def rows() -> Iterator[Any]:
        for model, numbers in summary["models"].items():
            for field, value in numbers.items():
                parts = value.items() if field in ("categories", "groups", "breakdown") else [("", value)]
                yield from ([model, field, part, each] for part, each in parts)
            records = list(score_records(numbers, {**fingerprint().to_dict(), **facts}))
            yield from ([model, record.to_dict(), record.is_whole, record.note] for record in records[::3])
            yield [
                model,
                getattr(headline_record(records), "name", None),
                conduct_line(numbers.get("conduct") or {"calls": 0}),
            ]

    same_as_recorded(HERE / f"summary_{name.replace(' ', '_')}.jsonl", rows())


# -- comparisons and gates -------------------------------------------------------------------------------------------

SIZES = {name: row.official_size for name, row in CATEGORIES.items()}
PAIRS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "close": (a_run(1, 0.7), a_run(2, 0.65)),
    "worse": (a_run(1, 0.95, size=25), a_run(2, 0.45, size=25)),
    "better": (a_run(1, 0.3, size=12), a_run(2, 0.9, size=12)),
    "repeats": (a_run(1) + a_run(3, repeat=2), a_run(2) + a_run(4, repeat=2)),
    "part": (a_run(1), a_run(2, names=("parallel", "live_multiple", "multi_turn_base"))),
    "same": (a_run(1), a_run(1)),
    "apart": (a_run(1, size=4), [{**each, "id": f"{each['id']}9"} for each in a_run(2, size=4)]),
    "skipped": (
        a_run(1),
        [{**each, "outcome": "skipped"} if each["category"] == "parallel" else each for each in a_run(2)],
    ),
}


def compared(name: str, *, official: bool = True) -> Comparison:
    first, second = (by_model(lines)[SPEC] for lines in PAIRS[name])
    return compare(first, second, sizes=SIZES if official else None, official=official)


@pytest.mark.parametrize("name", PAIRS)
def test_comparisons(name: str) -> None:
    def rows() -> Iterator[Any]:
        for official in (True, False):
            found = compared(name, official=official)
            whole = found.to_dict()
            yield from ([official, "row", each, row] for each, row in whole.pop("rows").items())
            yield [official, {**whole, "improved": whole["improved"][:5], "regressed": whole["regressed"][:5]}]
            yield [official, found.gated, [each.text for each in found.regressed_worst_first[:5]], bool(found.losses())]
            yield [official, [row.name for row in found.worst]]
            yield from ([official, margin, [row.name for row in found.losses(margin)]] for margin in (0, 0.05, 0.3))
            for text in ("1", "5", "30", "97%", "50%", "live=20", "parallel=40", "parallel=10%"):
                margin = parse_margin(text)
                yield [official, text, noninferior(found, margin), too_few(compared("same", official=official), margin)]

    same_as_recorded(HERE / f"comparison_{name}.jsonl", rows())


GATES = [["overall=50"], ["overall=90", "overall_v3=50"], ["multi_turn=60", "live=60", "all=60"], ["parallel=60"],
["own=50"],
         ["entries=60"], ["entries:live=60", "entries:parallel=90"], ["memory=1"], ["retired=50"],
         ["relevance=50", "entries:relevance=50"],
         []]  # fmt: skip


@pytest.mark.parametrize("name", ["everything", "part", "bundled", "rerun", "errors", "nothing"])
def test_gates(name: str) -> None:
    lines, facts, options = RUNS[name]
    summary = summarise(lines, fingerprint=facts, **options)  # type: ignore[arg-type]

    def rows() -> Iterator[Any]:
        for texts in GATES:
            gates = list(map(parse_gate, texts))
            for more in ({}, {"allow_missing": True, "max_errors_pct": 5.0}, {"min_entries": 80, "full": SIZES}):
                found = gate_summary(gate_checks(summary, gates, **more) if gates or "min_entries" in more else ())  # type: ignore[arg-type]
                yield [
                    texts,
                    sorted(more),
                    found["verdict"],
                    [[each["why"], each["value"]] for each in found["checks"] if not each["ok"]],
                ]
        against = gate_checks(summary, comparisons=[compared("worse"), compared("skipped")], margin_pct=3.0)
        yield from ([each.name, each.ok, each.why, each.entries[:2]] for each in against)

    same_as_recorded(HERE / f"gates_{name}.jsonl", rows())


def test_what_no_answer_can_reach() -> None:
    """Gates over selections that lack something, or of which something will be skipped."""
    everything = [each for each, row in CATEGORIES.items() if row.scored]

    def rows() -> Iterator[Any]:
        for texts, selected, official in product(GATES, (["parallel"], everything, ["rest"]), (True, False)):
            for missing, full in ((True, ()), (False, ("parallel", "multiple"))):
                gates, skipped = map(parse_gate, texts), {"parallel": "no reason"}
                found = unreachable(
                    gates, selected, official=official, full=full, allow_missing=missing, skipped=skipped
                )
                yield [texts, len(selected), official, missing, found]

    same_as_recorded(HERE / "unreachable.jsonl", rows())


def run_in(folder: Path, name: str, lines: list[dict[str, Any]], **changes: Any) -> str:
    return saved(folder / name, ({**each, "started_at": name} for each in lines), **changes)


PRINT = fingerprint()
OPTIONS: list[tuple[str, GateOptions]] = [
    ("nothing", GateOptions()),
    ("threshold", GateOptions(["overall=50", "live=99"])),
    ("baseline", GateOptions(baseline="before", baseline_margin=1.0)),
    ("one model of it", GateOptions(baseline=f"before#{SPEC}", noninferior=["40", "live=30"])),
    ("no such model", GateOptions(baseline="before#x")),
    ("itself", GateOptions(baseline="now")),
    ("not there", GateOptions(baseline="nowhere")),
    ("other rules", GateOptions(baseline="corrected")),
    ("other data", GateOptions(baseline="bundled")),
    ("other models", GateOptions(baseline="others")),
    ("one model in common", GateOptions(baseline="both")),
    ("unfinished", GateOptions(baseline="unfinished")),
    ("unfinished allowed", GateOptions(baseline="unfinished", allow_missing=True)),
    ("tight", GateOptions(baseline="before", noninferior=["0.1"])),
    ("no models", GateOptions(baseline="nothing")),
    ("wrong margin", GateOptions(baseline="before", noninferior=["x=1"])),
    ("margin alone", GateOptions(noninferior=["1"])),
    ("entries", GateOptions(min_entries=50)),
    ("too many entries", GateOptions(min_entries=5000)),
    ("errors", GateOptions(max_errors=0.0)),
    ("many errors", GateOptions(max_errors=50.0)),
    ("expected", GateOptions(expected={"dataset": PRINT.to_dict()["dataset"], "rules": "official", "failures": [
        {"model": SPEC, "mode": "fc",
        "id": each["id"]} for each in PAIRS["close"][1] if each["outcome"] == "failed"][:40]})),
    ("expected of other data", GateOptions(expected={"dataset": {}, "failures": []})),
    ("expected of other rules", GateOptions(expected={"rules": "corrected", "failures": []})),
    ("nothing expected", GateOptions(expected=[])),
    ("a reference", GateOptions(verify=["before"])),
    ("a reference and more",
     GateOptions(["live=1"], baseline="before", verify=["out of reach"], expected={"failures": []})),
]  # fmt: skip


class Verifier:
    """The gate of another package: one check for each of its texts."""

    notes = ("a difference", "a difference")

    def __init__(self, texts: list[str], run: Any, data: Any, directory: Path, out: Path | None) -> None:
        self.texts = [*texts, run.rules, data.name, str(directory), str(out)]

    def unreachable(self, ids: Collection[str]) -> str | None:
        return f"{len(ids)} entries" if "out of reach" in self.texts else None

    def checks(self, summary: Any, records: Iterable[Any]) -> Iterator[GateCheck]:
        yield GateCheck("verify", "", True, f"{self.texts}, {len(list(records))} lines", entries=tuple("abcdefghijklm"))
        yield GateCheck("verify", SPEC, False, "differs", entries=tuple("abcdefghijklm"))


def test_gates_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each before the run and after it, in the words that a user reads."""
    monkeypatch.chdir(tmp_path)
    before, now = PAIRS["close"]
    run_in(Path(), "before", before)
    run_in(Path(), "now", now)
    run_in(Path(), "corrected", before, rules="corrected")
    run_in(Path(), "nothing", [])
    run_in(Path(), "bundled", before, dataset="bundled")
    run_in(Path(), "both", [{**each, "model": name} for each in before for name in (SPEC, OTHER)])
    run_in(Path(), "others", [{**each, "model": name} for each in before for name in (OTHER, "openai:third@fc")])
    RunDirectory.open(Path(run_in(Path(), "unfinished", before))).state("stopped:budget")
    summary = summarise(now, fingerprint=PRINT.to_dict())  # type: ignore[arg-type]
    entries = {each["id"]: each["category"] for each in now}
    nothing = summarise([], fingerprint=PRINT.to_dict())  # type: ignore[arg-type]
    run = measurement_of_run(RunDirectory.open(Path("now")))
    monkeypatch.setattr(entry_points, "find", lambda kind, name: name if kind == "gates" else None)
    monkeypatch.setattr(entry_points, "load", lambda point, kind: Verifier)

    def asked(options: GateOptions) -> Any:
        gates = Gates(options, max_errors_pct=5.0)
        gates.check_conditions(PRINT, DATA, [SPEC], Path(), Path("now"))
        Gates(options, max_errors_pct=5.0).check_conditions(PRINT, DATA, [SPEC], Path(), None)
        yield tried(gates.refuse_guessed_data)
        for chosen, why in ((entries, None), ({}, None), ({"x": "memory_kv_prereq"}, None), (entries, "no key"),
                            ({"x": "parallel"}, None)):  # fmt: skip
            yield tried(gates.refuse_unreachable, chosen, DATA, lambda category, why=why: why)
            yield tried(gates.refuse_unreachable, chosen, DATA, others=True)
        rerun = summary | {"fingerprint": summary["fingerprint"] | {"selection": {"last_failed": True}}}
        for odd, measured in ((rerun, run), (summary, Measurement("now", lambda rules: {}))):
            gate = gates.evaluate(odd, iter(now), measured)  # type: ignore[arg-type]
            yield [gate["verdict"], [each for each in gate["checks"] if "baseline" in each["name"]], gate.get("notes")]
        yield list(gate_lines(gates.evaluate(nothing, [], run), options, unjudged="no entry"))
        gate = gates.evaluate(summary, iter(now), run, SIZES)
        yield from gate_lines(
            gate, options, unjudged="none", troubles=["trouble"] if options.min_entries else (), wrong=3
        )
        yield [exit_code(gate, options, 7), exit_code(gate, options, 0, ["x"])]

    def rows() -> Iterator[Any]:
        for name, options in OPTIONS:
            yield [name, tried(asked, options)]

    same_as_recorded(HERE / "gating.jsonl", rows())


# -- the parts -------------------------------------------------------------------------------------------------------


def test_formulas_and_bounds() -> None:
    """Groups over what there is of them; tails, quantiles, intervals and sizes of samples."""
    scores = {name: aggregate.CategoryScore((n * 37 % 100) / 100, 10 + n) for n, name in enumerate(CATEGORIES)}
    parts = [list(scores), list(scores)[::2], list(scores)[:5], ["memory_kv"], []]

    def rows() -> Iterator[Any]:
        for group in (*aggregate.FORMULAS, "single_turn", "all", "own", "python"):
            term = aggregate.formula(group)
            yield [group, aggregate.name_of(term), list(aggregate.categories_in(term)), *(
                [aggregate.value(term, {name: scores[name] for name in part}),
                aggregate.missing(term, dict.fromkeys(part)),
                 aggregate.category_weights(term,
                 {name: scores[name].total for name in part})] for part in parts)]  # fmt: skip
        for term in (aggregate.OVERALL, aggregate.OVERALL_V3):
            yield [[aggregate.value(term, {name: scores[name] for name in part}),
                    aggregate.category_weights(term, dict.fromkeys(part, 1))] for part in parts]  # fmt: skip
        for freedom in (0.5, 1, 2.5, 14, 15, 31, 1000, float("inf")):
            yield [freedom, *(student_point(freedom, tail) for tail in (0.4, 0.025, 0.001))]
            if freedom < 1e6:
                yield [freedom, *(student_tail(distance, freedom) for distance in (0, 0.01, 1, 3, 50, 1e8))]
        yield [normal_tail(distance) for distance in (-2, 0, 1.96, 9)]
        yield [
            [wilson(right, total) for right in range(0, total + 1, max(total // 3, 1))] for total in (0, 1, 3, 10, 400)
        ]
        yield [
            tried(parse_margin, text)
            for text in ("0.5%", "1%", "100%", "0%", "0", "100", "101", "x", "%", "live=1", "y=1", "=1")
        ]
        yield [
            tried(parse_gate, text)
            for text in (
                "live = 5 %",
                "entries=1",
                "entries:live=99.5",
                "entries:x=1",
                "x=1",
                "live",
                "live=0",
                "live=0.5",
                "live=101",
                "live=nan",
                "live=1=2",
                "overall=60",
                "entries:overall=1",
                "simple=50",
                "overall=abc",
                "overall=",
                "overall=.999%",
                "entries:=1",
                "entry=1",
                "live:live=1",
            )
        ]
        yield [[percentile95(range(size)), deviation(range(size)), mean(range(size))] for size in (0, 1, 2, 5, 12, 21)]
        yield [
            cost_usd(usage, *prices)
            for usage in (Usage(), Usage([1.0], [5], [7]), Usage([0.5]))
            for prices in ((1.0, 2.0), (None, 2.0), (1.0, None), (None, None, 9.0))
        ]
        yield [[entries_needed(half, people) for half in (0.01, 0.05, 0.2)] for people in (0, 1, 2, 50, 1000)]
        yield [expected_half_width(sizes) for sizes in ([], [1], [1] * 50, [4] * 50, [31] * 5, [100, 1, 1])]

    same_as_recorded(HERE / "formulas.jsonl", rows())


def test_scopes_and_conduct() -> None:
    """How much of a set was measured, what it can show, and what servers did."""
    groups = ["overall", "overall_v3", *aggregate.FORMULAS, *GROUPS, *CATEGORIES, "memory detection", "x"]

    def rows() -> Iterator[Any]:
        for scope in (Scope(*each) for each in product((0, 5), (0, 5, 9), (False, True))):
            yield [scope, one_entry(scope), *(scope.text(loss) for loss in (None, 0.0, 2.5, 100.0, 100.5))]
        yield [[name, members_of(name)] for name in groups]
        yield [half_width(value, bounds) for value in (0.0, 0.4, 1.0) for bounds in (None, (0.1, 0.5), [0.0, 1.0])]
        yield [smallest_loss(-0.1, (-0.3, 0.1), looked_at) for looked_at in (0, 1, 2, 9)]
        for name, (records, facts, options) in RUNS.items():
            models = summarise(records, fingerprint=facts, **options)["models"]  # type: ignore[arg-type]
            for full, repeat in product(({}, SIZES), (0, 1, 3)):
                extents = [Extent(each, full, repeat) for each in models.values()]
                yield [name, bool(full), repeat, everything(extents), [each.names for each in extents]]
                for each, members in product(extents, map(members_of, ("live", "agentic", "parallel", "own"))):
                    scopes = each.scope(members), each.scope(members, 2)
                    yield [*scopes, each.entries(members), each.answerable(members), each.plain_share(members)]
            counted, remarks, served = ConductTally(), Remarks(), ServedTally()
            for record in records:
                found = conduct_of(record, {"calls": 3, "broken": 1})  # type: ignore[arg-type]
                counted.add(found)
                remarks.add(record, record["category"])  # type: ignore[arg-type]
                served.add(record)  # type: ignore[arg-type]
                yield [found.has(fault) for fault in ("unknown", "broken", "invalid")]
            numbers = [sorted(each.items()) for each in (counted.entries, counted.calls, counted.finish)]
            yield [numbers, counted.to_dict(), list(remarks.sentences("m")), list(served.sentences())]
        for outputs in (
            [],
            [["", "x"]],
            [["x", ""]],
            [[]],
            [[[]]],
            None,
            "",
            [[None, "x"]],
            [[[{"name": "f", "arguments": "{}"}]]],
        ):
            for calls in (None, [], [[]], [[[]]], [[[{"f": {}}]]], ["f()"], "odd"):
                record: Any = {"id": "a", "category": "x", "outcome": "failed", "output": outputs, "calls": calls}
                yield conduct_of(
                    record
                    | {
                        "reasoning": [["hm", None]],
                        "attempts": [[1, 2]],
                        "latency_s": [[None, 2]],
                        "finish_reasons": [["stop", "", None, 5]],
                        "output_tokens": "odd",
                    }
                )

    same_as_recorded(HERE / "scopes.jsonl", counted(rows()))


def test_samples_without_common_entries() -> None:
    """Groups with two categories or more in both samples, and categories in both."""
    before = {("parallel_1", 1): Judged("parallel_1", "parallel", "passed", None, None),
              ("multiple_1", 1): Judged("multiple_1", "multiple", "failed", "WRONG_ANSWER", "x"),
              ("live_simple_1-1-1", 1): Judged("live_simple_1-1-1", "live_simple", "passed", None, None),
              ("memory_kv_1-x-1", 1): Judged("memory_kv_1-x-1", "memory_kv", "error", None, None)}  # fmt: skip
    after = {(f"{entry_id}9", 1): replace(judged, id=f"{entry_id}9") for (entry_id, _), judged in before.items()}
    after.pop(("live_simple_1-1-19", 1))
    found = compare(before, after, sizes=SIZES)
    assert (found.rows, list(found.apart)) == ({}, ["non_live", "multiple", "parallel"])
    assert [(row.entries, row.before, row.after) for row in found.apart.values()][1:] == [(2, 0.0, 0.0), (2, 1.0, 1.0)]
    assert found.to_dict()["paired"] is False


def test_a_margin_must_be_more_than_ruled_out() -> None:
    """A loss of exactly the margin at worst is not ruled out; without a margin there is none to lose."""
    row = Row("all", 10, 0.5, 0.5, 0.0, (-0.015, 0.015), 0, 0)
    for margin, met in ((Margin(points=1.5), False), (Margin(points=1.6), True), (Margin(), False)):
        assert noninferior(Comparison("a", "b", rows={"all": row}), margin).ok is met
    assert too_few(Comparison("a", "b", rows={"all": row}), Margin(points=1.5)) is not None
    assert too_few(Comparison("a", "b", rows={"all": row}), Margin(points=1.6)) is None
    assert too_few(Comparison("a", "b"), Margin(1.0)) == "the baseline has a verdict on no selected entry of the data"


def test_scores_with_all_that_a_reader_needs() -> None:
    """What a score is based on, in words, and the same from its copy; sizes of data sets."""

    class Official:
        official = True

    def rows() -> Iterator[Any]:
        for judged, errors, planned, full in product((0, 12), (0, 1), (12, 20), (None, 0, 12, 20)):
            for chosen, why in (("all", ""), ("sample of 9", "no reason")):
                found = ScoreRecord("parallel", 0.5, (0.4, 0.6), judged, 3, errors, planned, full, chosen, why)
                assert ScoreRecord.from_dict(found.to_dict()) == found
                yield [found.basis, found.note, found.is_whole]
        bare = ScoreRecord("parallel", 0.5, None, 1, 1, 0, 1, 1, "all", "")
        assert ScoreRecord.from_dict(json.loads(json.dumps(bare.to_dict()))) == bare
        yield [headline_record([replace(bare, name=name) for name in names]) for names in
               (["overall", "all"], ["live", "all", "all_scoring"], ["all_scoring"], ["live"])]  # fmt: skip
        yield [full_sizes(Official), sizes_of(Official), full_sizes(DATA), sizes_of(DATA)]  # type: ignore[arg-type]

    same_as_recorded(HERE / "scores.jsonl", rows())


CLUSTERED = ("parallel", "live_simple", "multi_turn_base", "memory_kv", "web_search_base", "format_sensitivity", "x")


@pytest.mark.parametrize("repeats", [1, 3])
def test_spreads(repeats: int) -> None:
    """Clusters of every kind, even and uneven, with few and many right answers."""

    def tally(category: str, share: float, size: int) -> Tally:
        found, chance = Tally(), random.Random(f"{category} {share} {size}")
        for number in range(size):
            name = entry_id(category, number) if category in CATEGORIES else f"x_{number}"
            for _ in range(repeats):
                found.add(cluster_of(name, category), chance.random() < share, name)
        return found

    def rows() -> Iterator[Any]:
        for category in CLUSTERED:
            for share in (0.0, 0.1, 0.5, 1.0):
                for size in (1, 4, 40):
                    found = tally(category, share, size)
                    spread = spread_of({category: 1.0}, {category: found})
                    sampled = spread_of({category: 0.5}, {category: found}, {category: 50})
                    yield [category, share, size, spread, sampled, interval(found.accuracy or 0, spread)]
        both = {name: tally(name, 0.6, 20) for name in ("multi_turn_base", "live_simple", "memory_kv", "memory_vector")}
        yield spread_of(dict.fromkeys(both, 0.25), both)

    same_as_recorded(HERE / f"spreads_{repeats}.jsonl", rows())


TABLES: list[Any] = [
    {}, {"models": {}}, {"models": []}, {"models": [1]}, {"model": {}}, {"models": {SPEC: 1}}, {"models": {SPEC: {}}},
    {"models": {SPEC: {"name": "N", "link": "l", "organisation": "o", "licence": "c", "input_price": 1,
    "output_price": 2.5}}},
    {"models": {"openai:tiny": {"name": "N", "input_price": 1.0, "output_price": 0}}}, {"models": {SPEC: {"nam": "x"}}},
    {"models": {SPEC: {"name": 1}}}, {"models": {SPEC: {"input_price": "1"}}}, {"models": {SPEC: {"gpu_hour": True}}},
    {"models": {SPEC: {"api": "chat", "stream": True, "headers": {"X-Team": "a"}, "parameters": {"top_p": 1}}}},
    {"models": {SPEC: {"api": "fax"}}}, {"models": {SPEC: {"stream": "yes"}}},
    {"models": {SPEC: {"headers": {"X": 1}}}},
    {"models": {SPEC: {"headers": {"X": "a\nb"}}}},
    {"models": {SPEC: {"headers": {"bad name": "a"}}}}, {"models": {SPEC: {"parameters": {"messages": 1}}}},
    {"models": {SPEC: {"reasoning": "keep", "think": "strip", "decoder": "hermes", "template": "auto"}}},
    {"models": {SPEC: {"reasoning": "x"}}}, {"models": {SPEC: {"think": "x"}}}, {"models": {SPEC: {"parameters": 1}}},
]  # fmt: skip


def test_what_is_told_of_models(tmp_path: Path) -> None:
    def rows() -> Iterator[Any]:
        for values in TABLES:
            infos = tried(model_info.parse_model_info, values)
            yield [values, infos, tried(model_info.settings_by_model, values), tried(model_info.described, values)]
            if isinstance(infos, dict):
                yield [model_info.find_info(infos, name) for name in (SPEC, "openai:tiny@prompt", "openai:tiny@x", "y")]
                yield [model_info.own_price(infos, each, SPEC, "openai:tiny")
                       for each in (Settings(), Settings(price=Price(9, 9)))]  # fmt: skip
        for text in ("[models.x]\nname = 'N'", "[models", ""):
            (tmp_path / "m.toml").write_text(text)
            yield str(tried(model_info.read_model_info, tmp_path / "m.toml")).replace(str(tmp_path), "")
        yield str(tried(model_info.read_model_info, tmp_path / "none")).replace(str(tmp_path), "")

    same_as_recorded(HERE / "model_info.jsonl", rows())


def score_file(header: Any, *lines: Any) -> str:
    return "\n".join(json.dumps(each) for each in (header, *lines))


PARALLEL_SCORES = "m/BFCL_v4_parallel_score.json"
FAILED = {"id": "parallel_1", "error_type": "value_error:string", "valid": False}
FILES: dict[str, dict[str, str]] = {
    "lines": {"results.jsonl": "\n".join(json.dumps(each) for each in PAIRS["close"][0][:4])},
    "verdicts": {"v.jsonl": '{"id": "parallel_1", "valid": true, "corrected_valid": false}\n'
                            '{"id": "parallel_2", "valid": false, "tag": "WRONG_ANSWER", "reason": "x"}\n'
                            '{"id": "parallel_3", "valid": false, "tag": "ADAPTER_ERROR"}\n{"id": "p", "error": "no"}\n'
                            "x"},
    "an error alone": {"v.jsonl": '{"id": "parallel_1", "error": "no"}\n{"id": "parallel_2", "valid": true}\n'
                                  '{"id": "parallel_3", "error": "e", "outcome": "failed"}\n'
                                  '{"id": "parallel_4", "error": "e", "valid": true}\n'
                                  '{"id": "parallel_5", "outcome": "failed", "valid": true, "reason": "r"}'},
    "without verdicts": {"v.jsonl": '{"id": "parallel_1", "output": ""}'},
    "scores": {"score/m/non_live/BFCL_v4_parallel_score.json": score_file(
        {"accuracy": 0.9, "total_count": 13, "correct_count": 12}, FAILED)},
    "nested error": {"m/BFCL_v3_parallel_score.json": score_file(
        {"accuracy": 0.9, "total_count": 13},
        {"id": "parallel_1", "error": {"error_type": "multi_turn:inference_error"}})},
    "counted by number": {"m/gorilla_openfunctions_v1_test_parallel_function_score.json": score_file(
        {"accuracy": 1, "total_count": 13}, {"id": 2, "prompt": {"id": "parallel_function_4"}}, {"id": 3})},
    "other size": {PARALLEL_SCORES: score_file({"accuracy": 0.5, "total_count": 2}, FAILED)},
    "other id": {PARALLEL_SCORES: score_file({"accuracy": 0.9, "total_count": 13}, {**FAILED, "id": "parallel_99"})},
    "true header": {PARALLEL_SCORES: score_file({"accuracy": True, "total_count": 13})},
    "true count": {PARALLEL_SCORES: score_file({"accuracy": 1, "total_count": True})},
    "text count": {PARALLEL_SCORES: score_file({"accuracy": 1, "total_count": 13.0})},
    "other count": {PARALLEL_SCORES: score_file({"accuracy": 0.5, "total_count": 13,
    "correct_count": 1}, FAILED)},
    "of nothing": {PARALLEL_SCORES: score_file({"accuracy": 0, "total_count": 0})},
    "no line": {PARALLEL_SCORES: ""},
    "no header": {PARALLEL_SCORES: score_file(FAILED)},
    "bad header": {PARALLEL_SCORES: score_file({"accuracy": 2, "total_count": 13})},
    "bad count": {PARALLEL_SCORES: score_file({"accuracy": 1, "total_count": -1})},
    "damaged": {PARALLEL_SCORES: score_file({"accuracy": 1, "total_count": 13}) + "\n{"},
    "unknown reasons": {PARALLEL_SCORES: score_file({"accuracy": 0.8, "total_count": 13}, {"id": "parallel_1"},
    {**FAILED, "id": "parallel_2", "error_type": "no:such"})},
    "no id": {PARALLEL_SCORES: score_file({"accuracy": 1, "total_count": 13}, {})},
    "other category": {"m/BFCL_v4_parallels_score.json": "{}"},
    "results": {"m/BFCL_v4_parallel_result.json": "{}"},
    "nothing": {"a.txt": "x"},
}  # fmt: skip


def test_what_can_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, files of lines and score folders: their verdicts, gaps and notes."""
    monkeypatch.chdir(tmp_path)

    def read(place: str, rules: str) -> Any:
        found = open_measurement(place, DATA)
        verdicts = {model: list(judged.values())[:5] for model, judged in found.models(rules).items()}
        return [
            found.label,
            verdicts,
            found.gaps(),
            found.notes(),
            [each["id"] for each in found.lines({"parallel_1"})],
        ]

    def rows() -> Iterator[Any]:
        for name, files in FILES.items():
            for file, text in files.items():
                path = tmp_path / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            places = [name, *(f"{name}/{file}" for file in files if "/" not in file), f"{name}#x", f"{name}#{SPEC}"]
            for place in places:
                yield [place, *(tried(read, place, rules) for rules in ("official", "corrected", "verified"))]
        transforms = {**PRINT.conditions, "transforms": {"wording": ""}, "trained_on": {"name": "s"}}
        run_in(Path(), "a run", a_run(10, trained=True)[::5] + formats(3)[:18:3], conditions=transforms)
        yield [tried(read, "a run", rules) for rules in ("official", "corrected", "verified")]
        run_in(Path(), "untrained", a_run(10)[:3], conditions=transforms)
        yield read("untrained", "official")
        (tmp_path / "a run" / "m").mkdir()
        (tmp_path / "a run" / "m" / "BFCL_v4_parallel_score.json").write_text(FILES["other size"][PARALLEL_SCORES])
        assert not is_score_folder(tmp_path / "a run")
        (tmp_path / "a run" / "results.jsonl").unlink()
        assert not is_score_folder(tmp_path / "a run")
        assert not is_score_folder(tmp_path / "nothing" / "a.txt")
        assert is_score_folder(tmp_path / "other size")
        yield tried(read, "none", "official")
        yield [
            [found.release, *found.failed]
            for name in ("scores/score", "nested error", "counted by number")
            for found in read_scores(Path(name))["m"].values()
        ]

    same_as_recorded(HERE / "measurements.jsonl", rows())


def test_which_runs_may_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prints: dict[str, dict[str, Any]] = {
        "a": {}, "rules": {"rules": "corrected"}, "data": {"dataset": "bundled"}, "version": {"dataset_version": "1"},
        "prompt": {"models": (replace(PRINT.models[0], prompt_sha256="0" * 64),)},
        "sample": {"selection": {"sample": 3}},
    }  # fmt: skip
    opened = {name: measurement_of_run(RunDirectory.open(Path(run_in(Path(), name, a_run(n, size=2), **changes))))
              for n, (name, changes) in enumerate(prints.items())}  # fmt: skip
    opened["lines"] = open_measurement("a/results.jsonl")
    two = [{**each, "model": name} for each in a_run(1, size=1) for name in (SPEC, OTHER)]
    both = measurement_of_run(RunDirectory.open(Path(run_in(Path(), "two", two, **prints["prompt"]))))

    def rows() -> Iterator[Any]:
        for name, other in opened.items():
            for shared in (False, True):
                for one, two in ((opened["a"], other), (other, opened["a"])):
                    yield [name, shared, tried(comparison_notes, one, two, shared=shared)]
                    found = tried(compare_measurements, one, two, shared=shared)
                    yield found if isinstance(found, str) else [each.notes for each in found]
        yield [each.notes for each in compare_models(both)]
        for one, two in product((opened["a"], opened["lines"], opened["data"]), repeat=2):
            found = tried(compare_measurements, one, two, shared=True)
            yield found if isinstance(found, str) else [[*each.rows, each.rows["live"].before] for each in found]

    same_as_recorded(HERE / "comparable.jsonl", rows())


def test_expected_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    now = PAIRS["close"][1]

    def rows() -> Iterator[Any]:
        for text in ("null", "[]", "{", "{}", '{"failures": []}', '{"failures": [1]}', "\ud800"):
            Path("f.json").write_text(text, encoding="utf-8", errors="surrogatepass")
            content = tried(read_expected, "f.json")
            yield [text.isascii() and text, content, tried(lambda content=content: len(Expectations(content).failures))]
        yield tried(read_expected, "none.json")
        yield Expectations().write("written.json", now, PRINT)
        written = read_expected("written.json")
        yield [len(written["failures"]), written["rules"], written["failures"][0]]
        known = Expectations(written)
        for records in (now, now[:9], PAIRS["close"][0], [], [each for each in now if each["outcome"] == "passed"]):
            check = known.check(records)
            yield check and [check.ok, check.why, check.entries[:4]]
        yield known.write("again.json", PAIRS["close"][0][:20], PRINT)
        yield len(read_expected("again.json")["failures"])
        yield known.write("no/folder/f.json", now, PRINT, Path("f.json"))

    same_as_recorded(HERE / "expected.jsonl", rows())
