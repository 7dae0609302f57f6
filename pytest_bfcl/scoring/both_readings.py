"""Scores of one model's stored replies read in two ways: as the leaderboard reads them, and as their calls prove."""

from __future__ import annotations

from pytest_bfcl.json_types import Fields


class BothReadings:
    """Counts of two readings of one model's replies, where its calls contradict the reference's table."""

    def __init__(self) -> None:
        self.entries = 0
        self._right: dict[str, int] = {"leaderboard": 0, "evidence": 0}
        self._followed: set[str] = set()

    def add(self, passed: bool, other: Fields | None, other_passed: bool) -> None:
        """Count one judged entry; ``other`` is its line's ``other_reading``."""
        if other is None or (by := other.get("by")) not in self._right:
            return
        self.entries += 1
        followed = "evidence" if by == "leaderboard" else "leaderboard"
        self._right[by] += other_passed
        self._right[followed] += passed
        self._followed.add(followed)

    def __str__(self) -> str:
        """Both scores and which one counts, in a sentence; empty where nothing is read in two ways."""
        if not self.entries:
            return ""
        says = [f"the {by} says {100 * right / self.entries:.1f} % ({right} of {self.entries})"
                for by, right in self._right.items()]  # fmt: skip
        return f"{', '.join(says)}; these verdicts follow the {' or the '.join(sorted(self._followed))}"
