from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.scoring.comparison import Comparison, compare, compare_measurements
from pytest_bfcl.scoring.measurements import Judged, Key, by_model, open_measurement
from tests.scoring.samples import SPEC, line, lines, saved


def pair(before: list[dict[str, Any]], after: list[dict[str, Any]], **options: Any) -> Comparison:
    return compare(by_model(before)[SPEC], by_model(after)[SPEC], **options)


BEFORE = [
    line("parallel_1", "parallel"),
    line("parallel_2", "parallel", "failed"),
    line("parallel_3", "parallel", "failed", tag="MALFORMED_OUTPUT", reason="ast_decoder:decoder_failed"),
    line("parallel_4", "parallel"),
    line("simple_java_1", "simple_java"),
    line("parallel_5", "parallel", "error"),
    line("parallel_6", "parallel"),
]
AFTER = [
    line("parallel_1", "parallel"),
    line("parallel_2", "parallel"),
    line("parallel_3", "parallel", "failed"),
    line("parallel_4", "parallel", "failed", reason="simple_function_checker:missing_required"),
    line("simple_java_1", "simple_java", "failed"),
    line("parallel_5", "parallel"),
    line("parallel_7", "parallel"),
]


def test_an_entry_that_changed_shows_its_earliest_pair() -> None:
    """Whatever pair came first, because workers finish in any order."""

    def verdicts(*reasons: str | None) -> dict[Key, Judged]:
        return {("parallel_1", repeat): Judged("parallel_1", "parallel", "failed" if reason else "passed", None, reason)
                for repeat, reason in reversed(list(enumerate(reasons, 1)))}  # fmt: skip

    (change,) = compare(verdicts(None, None, None), verdicts("a", "b", None)).regressed
    assert change.text == "parallel_1: 3 of 3 passed → 1 of 3 passed (a)"
    assert change.tallies == ("3 of 3 passed", "1 of 3 passed")
    assert change.to_dict()["repeat"] == 1
    (change,) = compare(verdicts("a", None), verdicts(None, None)).improved
    assert (change.text, change.improved) == ("parallel_1: 1 of 2 passed → 2 of 2 passed (a)", True)
    (change,) = compare(verdicts("a"), verdicts(None)).improved
    assert (change.text, change.tallies) == ("parallel_1: a → passed", ("", ""))


def compare_runs(before: str, after: str, rules: str = "official") -> list[Comparison]:
    return compare_measurements(open_measurement(before), open_measurement(after), rules)


def test_runs_of_different_tests_are_refused(tmp_path: Path) -> None:
    before = saved(tmp_path / "before", BEFORE)
    with pytest.raises(UsageError, match="they differ in\n  data SHA-256"):
        compare_runs(before, saved(tmp_path / "data", AFTER, dataset_sha256="0" * 64))
    with pytest.raises(UsageError, match="no model in common"):
        compare_runs(before, saved(tmp_path / "empty", []))
    assert compare_runs(before, saved(tmp_path / "rules", AFTER, rules="corrected"), "corrected")


def test_chance_is_ruled_out_for_all_groups_together() -> None:
    """A loss that would be significant if it were the only thing looked at is not among four."""
    counts = {"parallel": (35, 40), "live_simple": (35, 40), "multi_turn_base": (20, 40), "web_search_base": (20, 40)}
    before = list(lines(counts))
    after = list(lines(counts | {"parallel": (29, 40)}))
    alone = pair([each for each in before if each["category"] == "parallel"], after[:40])
    assert [row.name for row in alone.losses()] == ["non_live"]
    assert pair(before, after).rows["non_live"].chance == alone.rows["non_live"].chance < 0.05
    assert not [row for row in pair(before, after).losses() if row.name == "non_live"]
