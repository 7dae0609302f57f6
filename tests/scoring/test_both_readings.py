from __future__ import annotations

from pytest_bfcl.scoring.remarks import BothReadings


def test_both_readings_are_counted() -> None:
    both = BothReadings()
    assert str(both) == ""
    for passed, by, other in (
        (True, "leaderboard", False),
        (False, "evidence", True),
        (True, "evidence", True),
        (True, "x", True),
    ):
        both.add(passed, {"by": by}, other)
    both.add(True, None, True)
    assert both.entries == 3
    assert str(both) == (
        "the leaderboard says 33.3 % (1 of 3), the evidence says 100.0 % (3 of 3); "
        "these verdicts follow the evidence or the leaderboard"
    )
