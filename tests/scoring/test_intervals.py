"""Coverage of the printed intervals: 93 to 97 of 100 hold the truth, with repeats, samples and clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pytest_bfcl.dataset.categories import CATEGORIES, GROUPS
from pytest_bfcl.scoring import aggregate
from pytest_bfcl.scoring.comparison import Judged, compare
from pytest_bfcl.scoring.statistics import category_interval, interval, spread_of
from pytest_bfcl.scoring.summary import summarise
from tests.scoring.samples import OFFICIAL, SCENARIOS, SPEC
from tests.scoring.worlds import Share, World, beta, tally

LOW, HIGH = 93, 97.5
"""Percent; the upper end leaves half a point for chance and for the steps of small counts."""


WORLDS = {
    "independent": ("parallel", World(0.7, 100)),
    "repeats that agree": ("parallel", World(0.7, 100, own=0, repeats=4)),
    "repeats by chance": ("parallel", World(0.7, 100, repeats=4)),
    "repeats between": ("parallel", World(0.7, 100, own=2, repeats=4)),
    "rarely right, repeats": ("parallel", World(0.05, 100, own=2, repeats=4)),
    "few questions, repeats": ("parallel", World(0.5, 20, own=2, repeats=4)),
    "documents": ("live_simple", World(0.7, 80, 3, 4)),
    "documents, repeats": ("live_simple", World(0.7, 80, 3, 4, 2, 4)),
    "scenarios": ("memory_kv", World(0.5, 5, 31, 12)),
    "scenarios, rarely right": ("memory_kv", World(0.05, 5, 31, 12)),
    "scenarios, rarely wrong": ("memory_kv", World(0.9, 5, 31, 12)),
    "scenarios, repeats": ("memory_kv", World(0.05, 5, 31, 12, 2, 4)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "independent")) for name in WORLDS]
)
def test_a_categorys_interval_holds_the_truth(name: str) -> None:
    category, world = WORLDS[name]
    source, share = np.random.default_rng(5), Share()
    for _ in range(2000):
        share.add(category_interval(category, tally(world.draw(source), world.repeats)), world.mean)
    assert LOW <= share.percent <= HIGH


SAMPLES = {
    "a third": (World(0.6, 300), 100),
    "a third, repeats that agree": (World(0.6, 300, own=0, repeats=4), 100),
    "a third, repeats by chance": (World(0.6, 300, repeats=4), 100),
    "two thirds, repeats": (World(0.6, 300, own=2, repeats=4), 200),
    "clusters": (World(0.6, 60, 5, 4), 100),
    "clusters, repeats": (World(0.6, 60, 5, 4, 2, 3), 150),
    "rarely right": (World(0.1, 300), 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_a_samples_interval_holds_the_full_sets_score(name: str) -> None:
    world, size = SAMPLES[name]
    source, share = np.random.default_rng(6), Share()
    for _ in range(1500):
        passed = world.draw(source)
        chosen = np.zeros(passed.size, bool)
        chosen[source.choice(passed.size, size, replace=False)] = True
        found = tally(passed, world.repeats, chosen.reshape(passed.shape))
        spread = spread_of({"x": 1.0}, {"x": found}, {"x": passed.size})
        share.add(interval(found.accuracy or 0.0, spread), passed.sum() / world.repeats / passed.size)
    assert LOW <= share.percent <= HIGH


# Whole runs: what a summary and a comparison print.

MEANS = {"multi_turn": 0.5, "web_search": 0.45, "memory": 0.4}
SHARED = {"multi_turn": (60, 2.0), "web_search": (50, 3.0), "memory": (5, 12.0)}
"""Group → clusters shared by its categories, and how alike their entries are."""
REPEATS = 2
FULL = {"multi_turn": 60, "web_search": 50, "memory": 60, "live": 90}
SAMPLE = 0.6


def whole_run(source: np.random.Generator) -> Iterator[tuple[str, str, int, float, bool]]:
    """Category, id, repeat, the entry's pass rate, verdict: of the whole data set."""
    shared = {group: beta(source, np.full(count, MEANS[group]), alike) for group, (count, alike) in SHARED.items()}
    for category in GROUPS["all_scoring"]:
        group = CATEGORIES[category].group
        if category == "format_sensitivity":
            continue
        mean, entries = MEANS.get(group, 0.7), FULL.get(group, 60)
        documents = beta(source, np.full(30, mean), 6)
        for number in range(entries):
            if group == "memory":
                entry_id, rate = f"{category}_{number}-{SCENARIOS[number % 5]}-{number}", shared[group][number % 5]
            elif group == "live":
                entry_id, rate = f"{category}_{number}-{number // 3}-{number % 3}", documents[number // 3]
            else:
                entry_id = f"{category}_{number}"
                rate = shared[group][number] if group in shared else mean
            rate = float(beta(source, np.array([rate]), 4)[0])
            for repeat in range(1, REPEATS + 1):
                yield category, entry_id, repeat, rate, bool(source.random() < rate)


def record(category: str, entry_id: str, repeat: int, passed: bool) -> Any:
    return {
        "id": entry_id, "category": category, "model": SPEC, "mode": "fc", "repeat": repeat,
        "outcome": "passed" if passed else "failed", "tag": None if passed else "WRONG_ANSWER",
    }  # fmt: skip


def true_value(term: Any, sizes: dict[str, int], of: dict[str, float]) -> float:
    return sum(weight * of[name] for name, weight in aggregate.category_weights(term, sizes).items())


@pytest.mark.slow
def test_every_interval_of_a_summary_holds_the_truth() -> None:
    source = np.random.default_rng(8)
    shares: dict[str, Share] = {}
    fingerprint: Any = {**OFFICIAL, "state": "finished", "conditions": {"repeat": REPEATS}}
    for _ in range(500):
        everything = list(whole_run(source))
        sizes: dict[str, int] = {}
        for category, _, repeat, _, _ in everything:
            sizes[category] = sizes.get(category, 0) + (repeat == 1)
        ids = {entry_id: source.random() < SAMPLE for _, entry_id, *_ in everything}
        records = [record(c, i, repeat, passed) for c, i, repeat, _, passed in everything if ids[i]]
        found = summarise(records, fingerprint=fingerprint, full_sizes=sizes)["models"][SPEC]
        means = {name: MEANS.get(CATEGORIES[name].group, 0.7) for name in sizes}
        measured = {
            name: sum(passed for c, *_, passed in everything if c == name) / sizes[name] / REPEATS for name in sizes
        }
        for name, category in found["categories"].items():
            shares.setdefault(CATEGORIES[name].group, Share()).add(category["interval95"], means[name])
        for name, group in found["groups"].items():
            if not group["missing"]:
                truth = true_value(aggregate.formula(name), sizes, means)
                shares.setdefault(f"group {name}", Share()).add(group["interval95"], truth)
        for name, term in (("overall", aggregate.OVERALL), ("overall_v3", aggregate.OVERALL_V3)):
            numbers = found["overall"] if name == "overall" else found["overall_v3"]
            shares.setdefault(name, Share()).add(numbers["interval95"], true_value(term, sizes, means))
        full = found["overall"].get("interval95_full_set")
        shares.setdefault("full set", Share()).add(full, true_value(aggregate.OVERALL, sizes, measured))
    told = {name: round(share.percent, 1) for name, share in shares.items()}
    assert len(told) > 15
    # 500 runs: two standard errors are two points.
    assert all(91.5 <= percent <= 98.7 for percent in told.values()), told
    assert 93 <= told["overall"] <= 97.5, told


@pytest.mark.slow
def test_every_interval_of_a_comparison_holds_the_truth() -> None:
    """Two equally good models over the same entries, repeats and clusters included."""
    source = np.random.default_rng(9)
    shares: dict[str, Share] = {}
    for _ in range(400):
        sides: list[dict[tuple[str, int], Judged]] = [{}, {}]
        for category, entry_id, repeat, rate, _ in whole_run(source):
            for side in sides:
                outcome = "passed" if source.random() < rate else "failed"
                side[entry_id, repeat] = Judged(entry_id, category, outcome, None, None)
        for name, row in compare(*sides, official=True).rows.items():
            shares.setdefault(name, Share()).add(row.interval95, 0.0)
    told = {name: round(share.percent, 1) for name, share in shares.items()}
    assert "overall" in told
    assert all(91 <= percent <= 99 for percent in told.values()), told
    assert 92.5 <= told["overall"] <= 97.5, told
