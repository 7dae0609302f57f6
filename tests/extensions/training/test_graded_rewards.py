"""Graded rewards: given turn by turn, and not to be had without doing the work."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data
from tests.extensions.training.cheap_policies import POLICIES, bound, due_entries, means, of_change, rewards_of

OURS = open_data("bundled")


def oracle(episode: Episode, step: int) -> object:
    return answer(episode.entry, "fc", episode.user_turn, step)


@pytest.mark.parametrize("rules", ["official", "corrected"])
@pytest.mark.parametrize("partial", [False, True])
def test_the_rewards_of_the_steps_add_up_to_that_of_the_episode(partial: bool, rules: str) -> None:
    for entry in list(due_entries(OURS, "state"))[::40]:
        for policy in (oracle, *list(POLICIES.values())[::6]):
            episode = Episode(entry, partial=partial, rules=rules)  # type: ignore[arg-type]
            earned = rewards_of(episode, policy)  # type: ignore[arg-type]
            assert sum(earned) == pytest.approx(episode.reward)
            assert partial or not any(earned[:-1])


def test_a_turn_earns_when_it_ends_and_only_then() -> None:
    entry = OURS.entry("multi_turn_base_0")
    episode = Episode(entry, partial=True)
    episode.reset()
    turns, earned, steps = [0], [], []
    while not episode.done:
        found = episode.step(oracle(episode, len(episode.transcript.turns[-1].steps)))
        turns.append(found.user_turn)
        earned.append(found.reward)
        steps.append(found.done)
    due = [bool(calls) for calls in entry.possible_answer or ()]
    assert [
        reward > 0 for (before, after), reward, done in zip(pairwise(turns), earned, steps, strict=True)
        if after > before or done
    ] == due  # fmt: skip
    assert all(
        reward == 0 for (before, after), reward, done in zip(pairwise(turns), earned, steps, strict=True)
        if after == before and not done
    )  # fmt: skip
    assert sum(earned) == pytest.approx(1.0)


def test_calls_beyond_need_cost_unless_told_otherwise() -> None:
    """Three times the ground truth may pass; it is worth a ninth."""
    passed = 0
    for entry in list(due_entries(OURS, "state"))[::3]:
        episode = Episode(entry, partial=True)
        rewards_of(episode, POLICIES["repeat"])
        if episode.verdict == 1.0 and any(entry.possible_answer or ()):
            assert episode.reward == pytest.approx(1 / 9)
            free = Episode(entry, partial=True, call_cost=0)
            rewards_of(free, POLICIES["repeat"])
            assert free.reward == 1.0
            passed += 1
    assert passed > 2


@pytest.mark.parametrize("entry_id", ["multi_turn_base_0", "multi_turn_base_7", "multi_turn_miss_param_3"])
def test_a_default_that_is_spelled_out_costs_nothing_and_another_value_does(entry_id: str) -> None:
    spelled = of_change(lambda known, given, text: [
        {**{name: each["default"] for name, each in known.items() if "default" in each}, **given}
    ])  # fmt: skip
    for policy, earned in ((spelled, True), (POLICIES["fills-options"], False)):
        assert (sum(rewards_of(Episode(OURS.entry(entry_id), partial=True), policy)) == pytest.approx(1.0)) is earned


def over(data: DataSet, checker: str, stride: int = 1, names: Iterable[str] = POLICIES) -> dict[str, float]:
    """The policies that earn more than their bound, and how much."""
    found, place = means(data, checker, stride=stride, names=names), ("ast", "state").index(checker)
    return {name: mean for name, mean in found.items() if mean > bound(name, place) + 1e-9}


def test_no_cheap_policy_earns_more_than_its_bound() -> None:
    assert over(OURS, "ast", 6) == over(OURS, "state", 6, [*POLICIES][::5]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["ast", "state"])
def test_nor_on_all_entries(checker: str) -> None:
    assert over(OURS, checker) == {}


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["ast", "state"])
def test_nor_on_the_official_entries(official: DataSet, checker: str) -> None:
    assert over(official, checker) == {}
