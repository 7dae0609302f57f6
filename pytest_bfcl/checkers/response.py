"""Results of calls: whether the expected ones have been obtained (multi_turn spec §4.2, point f), and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def missing_results(expected: Iterable[str], obtained: Iterable[str]) -> list[str]:
    """Expected results that are not among the obtained ones, each obtained one counting once (multiset inclusion)."""
    held = Counter(obtained)
    missing = []
    for result in expected:
        if held[result] > 0:
            held[result] -= 1
        else:
            missing.append(result)
    return missing


def calls_behind(missing: Sequence[str], calls: Sequence[str], results: Sequence[str]) -> list[str]:
    """The expected calls whose results are missing, in order."""
    wanted = Counter(missing)
    found = []
    for call, result in zip(calls, results, strict=True):
        if wanted[result] > 0:
            wanted[result] -= 1
            found.append(call)
    return found


def is_error(result: str) -> bool:
    """Whether a result text tells of a failed call: an exception, or an object (or list of one) with ``error``."""
    from pytest_bfcl.simulators import ERROR_PREFIX

    return result.startswith((ERROR_PREFIX, "[{'error'")) or (result.startswith("{") and '"error": ' in result[:60])
