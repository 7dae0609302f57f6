"""The official multi-turn entries as episodes, and how fast episodes are."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest

from pytest_bfcl.dataset import DataSet, Entry
from pytest_bfcl.extensions.training.rewards import reward
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.training import Episode
from pytest_bfcl.transcript import Mode

MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")


@pytest.fixture(scope="module")
def official() -> DataSet:
    try:
        return open_data("official")
    except UsageError as error:
        pytest.skip(str(error))


def entries_of(data: DataSet, categories: Iterable[str]) -> list[Entry]:
    return [data.load(ref) for name in categories for ref in data.index(name)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_an_oracle_earns_everything_on_the_official_multi_turn_entries(official: DataSet, mode: Mode) -> None:
    entries = entries_of(official, MULTI_TURN)
    assert len(entries) == 800
    poor: list[str] = []
    start = time.process_time()
    for entry in entries:
        episode = Episode(entry, mode=mode, texts=official.texts)
        episode.reset()
        while not episode.done:
            step = len(episode.transcript.turns[-1].steps)
            result = episode.step(answer(entry, mode, episode.user_turn, step))
        if result.reward != 1.0:
            poor.append(entry.id)
    spent = time.process_time() - start
    print(f"{mode}: {len(entries) / spent:.0f} multi-turn episodes a second of CPU, oracle included")
    assert poor == []
    assert len(entries) / spent > 100  # far below what is measured, for busy machines


@pytest.mark.slow
def test_verdicts_a_second(official: DataSet) -> None:
    entries = entries_of(official, ("simple_python", "multiple", "parallel", "parallel_multiple"))
    replies = [answer(entry, "fc") for entry in entries]
    start = time.process_time()
    for _ in range(5):
        for entry, reply in zip(entries, replies, strict=True):
            assert reward(entry, reply, underscore_names=True) == 1.0
    rate = 5 * len(entries) / (time.process_time() - start)
    print(f"{rate:.0f} reward verdicts a second of CPU")
    assert rate > 3_000  # far below what is measured, for busy machines
