"""How long the way of one entry is: calls and changes of room, as ``benchmarks/calls.py`` counts them."""

from __future__ import annotations

import runpy
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "calls.py"
MOST = {"run": (150, 28), "plugin": (208, 42)}
"""Calls of ours and changes of room for one more single-turn entry. Whoever makes the way shorter lowers them. In
the plugin some turns of the event loop more or less are the clock's: items that follow quickly share one."""


def test_one_more_entry_takes_no_more_calls_than_it_did() -> None:
    found = runpy.run_path(str(BENCHMARK))["measured"]()
    ways = {how: (round(calls), round(rooms)) for how, (calls, rooms, _) in found.items()}
    assert {how: tuple(map(max, ways[how], MOST[how])) for how in ways} == MOST
