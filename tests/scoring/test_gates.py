from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_bfcl.runs.summary_types import GateSummary
from pytest_bfcl.scoring.comparison import compare
from pytest_bfcl.scoring.gates import Gate, gate_checks, gate_summary, parse_gate
from pytest_bfcl.scoring.gating import SHOWN, GateOptions, exit_code, gate_lines
from pytest_bfcl.scoring.measurements import by_model
from pytest_bfcl.scoring.summary import summarise
from tests.scoring.samples import OFFICIAL, SPEC, all_categories, line, lines


def summary(counts: dict[str, tuple[int, int]], **options: Any) -> dict[str, Any]:
    return summarise(lines(counts), fingerprint=OFFICIAL, **options)


def judged(found: Any, gates: Sequence[Gate] = (), **options: Any) -> GateSummary:
    return gate_summary(gate_checks(found, gates, **options))


@pytest.mark.parametrize(("limit", "verdict"), [(74.9, "passed"), (75, "passed"), (75.01, "failed")])
@pytest.mark.parametrize("group", ["overall", "multi_turn", "parallel", "irrelevance", "all_scoring"])
def test_a_threshold_is_met_or_missed(group: str, limit: float, verdict: str) -> None:
    result = judged(summary(all_categories(3, 4)), [Gate(group, limit)])
    assert result["verdict"] == verdict
    check = result["checks"][-1]
    assert (check["model"], check["value"], check["limit"]) == (SPEC, pytest.approx(75), limit)
    assert f"{group} is 75.00 %" in check["why"]
    assert f"{'met' if limit <= 75 else 'missed'} by {abs(75 - limit):.2f} points" in check["why"]


def test_a_value_that_only_the_last_bit_separates_meets_the_limit() -> None:
    assert judged(summary({"parallel": (57, 100)}), [Gate("parallel", 57)])["verdict"] == "passed"


def test_too_many_errors_fail_every_gate() -> None:
    records = [*lines({"parallel": (95, 95)}), *(line(f"parallel_{n}", "parallel", "error") for n in range(95, 100))]
    found = summarise(records, fingerprint=OFFICIAL)
    result = judged(found, [Gate("parallel", 50)])
    assert result["verdict"] == "failed"
    assert [check["ok"] for check in result["checks"]] == [False, True]
    assert "5 of 100 entries ended in an error (5.0 %, allowed 2 %) [n = 100, " in result["checks"][0]["why"]
    assert judged(found, [Gate("parallel", 50)], max_errors_pct=5)["verdict"] == "passed"


def test_where_every_entry_was_skipped_nothing_was_measured() -> None:
    check, *_ = judged(summarise([line("parallel_1", "parallel", "skipped")]), [Gate("parallel", 1)])["checks"]
    assert (check["name"], check["ok"]) == ("errors", False)
    assert "nothing was measured" in check["why"]


def comparison(before: int, after: int, total: int = 200) -> Any:
    first = by_model(lines({"parallel": (before, total)}))[SPEC]
    second = by_model(lines({"parallel": (after, total)}))[SPEC]
    return compare(first, second, names=("old", "new"))


def test_the_plain_share_counts_every_entry_once() -> None:
    """MLPerf's edge accuracy check: 995 entries, 990 right. The formula of `all` weighs by the full set's sizes."""
    counts = {
        "simple_python": (198, 200),
        "multiple": (197, 200),
        "irrelevance": (240, 240),
        "live_multiple": (355, 355),
    }
    result = judged(summary(counts), [parse_gate("entries=99.5"), parse_gate("all=1")], allow_missing=True)
    plain, weighted = result["checks"][1:]
    assert plain["value"] == pytest.approx(100 * 990 / 995)
    assert plain["why"].startswith("entries is 99.50 %, at least 99.5 % asked for: missed by 0.0025 points")
    assert weighted["value"] != pytest.approx(plain["value"])
    assert "[n = 995, " in plain["why"]


def told(found: Any, gate: str, **options: Any) -> str:
    """What the one threshold says of itself in brackets."""
    return judged(found, [parse_gate(gate)], **options)["checks"][-1]["why"].partition(" [")[2].removesuffix("]")


def test_only_a_gate_on_failures_excuses_them() -> None:
    met: GateSummary = {"verdict": "passed", "checks": []}
    missed: GateSummary = {"verdict": "failed", "checks": []}
    condition, threshold = GateOptions(max_errors=5), GateOptions(fail_under=["all=1"])
    assert [exit_code(met, options, 1) for options in (condition, threshold)] == [1, 0]
    (good, _), *others = gate_lines(met, condition, unjudged="no entry", wrong=1)
    assert (good, others) == ("gates: no verdict: no entry", [])
    check: Any = {"name": "a", "model": SPEC, "ok": True, "why": "b"}
    for options, last in (
        (condition, ("1 entry did not pass, which no gate allows", False)),
        (threshold, ("met", True)),
    ):
        *_, (text, ok) = gate_lines({"verdict": "passed", "checks": [check]}, options, unjudged="", wrong=1)
        assert (text.endswith(last[0]), ok) == (True, last[1]), text
    assert [*gate_lines({"verdict": "passed", "checks": [check]}, condition, unjudged="")][-1][0].endswith("met")
    listed: Any = check | {"ok": False, "entries": ["e"] * SHOWN}
    shown = [text for text, _ in gate_lines({"verdict": "failed", "checks": [listed]}, threshold, unjudged="")]
    assert (shown.count("    e"), len(shown)) == (SHOWN, SHOWN + 2), "none is left out, so none is counted"
    several: Any = {"verdict": "passed", "checks": [check | {"model": name} for name in ("m", "n", "")]}
    shown = [text for text, _ in gate_lines(several, threshold, unjudged="")]
    assert shown[:3] == ["gate met: m: b", "gate met: n: b", "gate met: b"]
    assert [exit_code(missed, options, 0) for options in (condition, threshold)] == [1, 1]
    assert exit_code(met, threshold, 0, ["1 other tests failed"]) == 1
    assert exit_code({"verdict": "none", "checks": []}, threshold, 5) == 5
