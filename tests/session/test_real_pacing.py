"""`auto` against servers with real sockets, beside the best fixed number known for each kind (slow)."""

from __future__ import annotations

import pytest

from benchmarks.concurrency import SERVERS, measured

BEST = {"slots": 24, "bucket": 8, "window": 24, "linear": 48, "square": 48, "batch": 256, "drift": 128, "restart": 128}
"""As `python benchmarks/concurrency.py` finds it among its numbers; those that lose no request."""
REQUESTS = 3_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVERS)
def test_auto_reaches_the_best_fixed_number(kind: str) -> None:
    """Less than in virtual time: this machine is part of what is measured, and the ramp of fewer requests."""
    fixed, auto = measured(kind, BEST[kind], False, REQUESTS), measured(kind, 256, True, REQUESTS)
    assert not auto["errors"]
    assert auto["rate"] >= 0.8 * fixed["rate"], (auto, fixed)
