"""Episodes: the engine's messages, the checkers' verdicts, state of their own, also as bytes."""

from __future__ import annotations

import asyncio
import copy
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.vector_memory.embedding import encoder_problem
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.judging.conversation import Task
from pytest_bfcl.models.oracle import OracleModel, answer
from pytest_bfcl.models.spec import parse_spec
from pytest_bfcl.providers import open_search
from pytest_bfcl.rewards import reward
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
from pytest_bfcl.training import Episode, StepResult
from pytest_bfcl.transcript import Mode, Reply
from tests.extensions.training.policies import oracle

BUNDLED = open_data("bundled")


@cache
def entries() -> tuple[Entry, ...]:
    """All bundled entries, the write stages of memories first."""
    asked = [BUNDLED.load(ref) for name in BUNDLED.categories() for ref in BUNDLED.index(name)]
    stages = dict.fromkeys(stage for entry in asked for stage in entry.depends_on)
    return *map(BUNDLED.entry, stages), *asked


def of_checker(*checkers: str) -> list[Entry]:
    return [entry for entry in entries() if entry.row.checker in checkers]


def play(episode: Episode) -> StepResult:
    episode.reset()
    while True:
        result = episode.step(oracle(episode))
        if result.done:
            return result


@pytest.fixture(scope="module")
def search() -> Any:
    return open_search(official=False, site=BUNDLED.site)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_an_oracle_earns_everything_on_every_bundled_entry(mode: Mode, search: Any) -> None:
    snapshots, poor = HeldSnapshots(), []
    for entry in entries():
        if mode == "fc" and entry.category == "format_sensitivity":
            continue
        if entry.row.backend == "vector" and encoder_problem() is not None:  # weights are fetched
            continue
        episode = Episode(entry, mode=mode, snapshots=snapshots, search=search)
        if play(episode).reward != 1.0 or episode.grades.score != 1.0:
            poor.append(entry.id)
    assert poor == []


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_messages_are_those_of_the_engine(mode: Mode, search: Any) -> None:
    snapshots, own = HeldSnapshots(), HeldSnapshots()
    chosen = of_checker("none")[:4] + of_checker("state")[::6] + of_checker("ast")[::40]
    model = OracleModel(parse_spec("oracle:"), mode)
    for entry in chosen:
        episode = Episode(entry, mode=mode, snapshots=own, search=search)
        messages, _ = episode.reset()
        while not episode.done:
            said = len(episode.transcript.messages)
            observations = episode.step(oracle(episode)).observations
            messages += [episode.messages[said], *observations]
        held = asyncio.run(
            converse(
                entry, model, settings=Settings(), texts=BUNDLED.texts, snapshots=snapshots, search=search
            )
        )  # fmt: skip
        assert messages == held.messages == episode.messages
        assert episode.transcript.turns == held.turns
        assert episode.transcript.functions == held.functions


def policy_replies(entry: Entry, rng: random.Random) -> Iterator[Reply]:
    """An oracle that now and then says something else."""
    for turn in range(len(entry.question)):
        for step in range(2):
            if rng.random() < 0.2:
                yield rng.choice([Reply(text="[ls()]"), Reply(text=""), Reply(text="no idea")])
            yield answer(entry, "prompt", turn, step)
    while True:
        yield Reply(text="done")


def outcome(episode: Episode) -> tuple[object, ...]:
    return episode.messages, episode.reward, episode.grades


def test_interleaved_episodes_equal_those_run_apart() -> None:
    chosen = of_checker("state", "ast")[::4]
    plans = [(chosen[number % len(chosen)], number) for number in range(100)]

    def opened(entry: Entry, seed: int) -> tuple[Episode, Iterator[Reply]]:
        return Episode(entry, mode="prompt", partial=True), policy_replies(entry, random.Random(seed))

    apart = []
    for episode, replies in (opened(*plan) for plan in plans):
        while not episode.step(next(replies)).done:
            pass
        apart.append(outcome(episode))
    together = [opened(*plan) for plan in plans]
    going, rng = list(range(len(plans))), random.Random(0)
    while going:
        place = rng.randrange(len(going))
        episode, replies = together[going[place]]
        if episode.step(next(replies)).done:
            going.pop(place)
    assert [outcome(episode) for episode, _ in together] == apart
    assert len({reward for _, reward, _ in apart}) > 2


# -- copies and bytes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda episode: pickle.loads(pickle.dumps(episode))])
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_copies_in_the_middle_go_on_apart(copied: Callable[[Episode], Episode], mode: Mode) -> None:
    for entry in of_checker("state")[::16]:
        straight = Episode(entry, mode=mode)
        play(straight)
        episode = Episode(entry, mode=mode)
        while not episode.done:
            twin = copied(episode)
            episode.step(Reply(text="[nonsense("))
            episode = twin
            episode.step(oracle(episode))
        assert outcome(episode) == outcome(straight)


def in_the_middle(data: DataSet, entry_id: str, **options: Any) -> Episode:
    episode = Episode(data.entry(entry_id), partial=True, **options)
    while not episode.user_turn:
        episode.step(oracle(episode))
    return episode


def test_a_deep_copy_shares_what_never_changes() -> None:
    episode = in_the_middle(BUNDLED, "multi_turn_base_0")
    twin = copy.deepcopy(episode)
    assert twin.entry is episode.entry
    assert twin.texts is episode.texts
    assert twin.transcript is not episode.transcript


@pytest.mark.parametrize("own_texts", [True, False], ids=["texts of the data set", "texts found"])
@pytest.mark.parametrize("entry_id", ["multi_turn_base_0", "multi_turn_long_context_3", "multi_turn_miss_func_7"])
def test_official_texts_do_not_travel(official: DataSet, entry_id: str, own_texts: bool) -> None:
    data = open_data("official")
    episode = in_the_middle(data, entry_id, texts=data.texts if own_texts else None)
    carried = pickle.dumps(episode)
    assert len(carried) < 48_000
    again = pickle.loads(carried)
    assert (again.texts, again.messages, again.entry) == (episode.texts, episode.messages, episode.entry)
    assert again.entry.long_context_texts == episode.entry.long_context_texts
    assert again.entry.sentences == episode.entry.sentences
    reply = answer(episode.entry, "fc", 1, 0)
    assert again.step(reply) == episode.step(reply)


def test_texts_of_another_make_travel_whole() -> None:
    theirs = replace(BUNDLED.texts, agentic_answer="Answer in Latin.")
    episode = in_the_middle(BUNDLED, "multi_turn_base_0", texts=theirs)
    assert pickle.loads(pickle.dumps(episode)).texts == theirs


def test_a_task_of_other_data_than_is_here_is_refused(official: DataSet) -> None:
    stored = Task(official.entry("multi_turn_base_0"), "official", official.sha256).to_json()
    assert Task.from_json(stored).id == "multi_turn_base_0"
    with pytest.raises(HarnessError, match="another version of the official data"):
        Task.from_json(stored | {"data_sha256": "0" * 64})


# -- what a step gives -------------------------------------------------------------------------------------------------


def test_wrong_conversations_are_graded_turn_by_turn() -> None:
    entry = next(e for e in of_checker("state") if len(e.question) > 2 and all(e.possible_answer or []))
    episode, last = Episode(entry, partial=True), len(entry.question) - 1
    while not episode.done:
        result = episode.step(Reply(text="no") if episode.user_turn == last else oracle(episode))
    assert episode.verdict == 0.0
    assert result.reward == 0.0  # of the last turn alone
    assert episode.earned == episode.grades.score == pytest.approx(min(0.9, last / (last + 1)))
    assert [turn.score for turn in episode.grades.turns] == [1.0] * last + [0.0]
    assert reward(entry, episode.transcript, partial=True) == episode.reward  # a transcript is graded as its episode
    assert reward(entry, episode.transcript) == 0.0


@pytest.mark.parametrize("option", [{"mode": "chat"}, {"rules": "mine"}])
def test_unknown_options_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(option))):
        Episode(of_checker("state")[0], **option)


def test_misuse_is_said() -> None:
    episode = Episode(of_checker("state")[0])
    play(episode)
    with pytest.raises(UsageError, match="ended"):
        episode.step("x")
    episode.reset()
    with pytest.raises(UsageError, match="not ended"):
        _ = episode.grades
    with pytest.raises(UsageError):
        episode.step(object())
