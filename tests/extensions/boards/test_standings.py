from __future__ import annotations

from pytest_bfcl.extensions.boards.standings import Standings
from pytest_bfcl.scoring.model_info import ModelInfo
from tests.scoring.golden import rows_of
from tests.scoring.samples import SPEC, line

RECORDS = [
    line("parallel_1", "parallel", latency_s=1.0),
    line("parallel_2", "parallel", "error", latency_s=9.0),
    line("parallel_3", "parallel", "skipped"),
    line("irrelevance_1", "irrelevance", "error"),
    line("irrelevance_2", "irrelevance", "failed"),
    line("memory_kv_prereq_0-customer-0", "memory_kv_prereq", latency_s=5.0),
    line("sql_1", "sql"),
]


def test_errors_are_left_out_or_counted_as_the_reference_does() -> None:
    (ours,) = rows_of(RECORDS, official=False)
    assert {name: (score.accuracy, score.total) for name, score in ours.scores.items()} == {
        "parallel": (1.0, 1),
        "irrelevance": (0.0, 1),
    }
    (theirs,) = rows_of(RECORDS)
    assert {name: (score.accuracy, score.total) for name, score in theirs.scores.items()} == {
        "parallel": (0.5, 2),
        "irrelevance": (0.5, 2),
    }
    assert ours.usage is not None
    assert ours.usage.latencies == [1.0]
    assert ours.info == ModelInfo(SPEC)


def test_what_was_only_skipped_replaces_nothing_and_claims_no_score() -> None:
    standings = Standings()
    standings.add([line("multiple_0", "multiple", "passed")])
    standings.add([line("multiple_0", "multiple", "skipped")])
    (row,) = standings.rows()
    assert (row.scores["multiple"].accuracy, standings.replaced, row.unclaimed) == (1.0, [], "")
    standings.add([line("live_simple_0", "live_simple", "skipped")])
    assert standings.rows()[0].unclaimed == "entries were skipped in live_simple"
    standings.add([line("live_simple_0", "live_simple", "error")])
    assert standings.rows()[0].unclaimed == "more than 2 % of its entries ended in an error"
    standings.add([line("live_simple_0", "live_simple", "passed")], state="stopped:budget")
    assert standings.rows()[0].unclaimed == "the run did not come to its end"
