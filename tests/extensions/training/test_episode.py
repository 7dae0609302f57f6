"""Episodes: the engine's messages, the checkers' verdicts, state of their own."""

from __future__ import annotations

import asyncio
import copy
import pickle
import random
from collections.abc import Iterable
from functools import cache

import pytest

from pytest_bfcl.conversation.engine import converse
from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.vector_memory.embedding import encoder_problem
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models.oracle import OracleModel, answer
from pytest_bfcl.models.spec import parse_spec
from pytest_bfcl.providers import open_search
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.settings import Settings
from pytest_bfcl.training import Episode, StepResult
from pytest_bfcl.transcript import Mode, Reply, ToolCall


@cache
def bundled() -> DataSet:
    return open_data("bundled")


@cache
def entries() -> tuple[Entry, ...]:
    """All bundled entries, the write stages of memories first."""
    data = bundled()
    asked = [data.load(ref) for name in data.categories() for ref in data.index(name)]
    stages = dict.fromkeys(stage for entry in asked for stage in entry.depends_on)
    return *map(data.entry, stages), *asked


def of_checker(*checkers: str) -> list[Entry]:
    return [entry for entry in entries() if entry.row.checker in checkers]


def multi_turn(number: int = 0) -> Entry:
    return of_checker("state")[number]


def oracle_reply(episode: Episode, mode: Mode) -> Reply:
    turn = episode.transcript.turns[-1]
    return answer(episode.entry, mode, episode.user_turn, len(turn.steps))


def play(episode: Episode, mode: Mode) -> StepResult:
    episode.reset()
    while True:
        result = episode.step(oracle_reply(episode, mode))
        if result.done:
            return result


@pytest.fixture(scope="module")
def search():
    return open_search(official=False, site=bundled().site)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_an_oracle_earns_everything_on_every_bundled_entry(mode, search):
    snapshots, poor = HeldSnapshots(), []
    for entry in entries():
        if mode == "fc" and entry.category == "format_sensitivity":
            continue
        if entry.row.backend == "vector" and encoder_problem() is not None:  # weights are fetched
            continue
        episode = Episode(entry, mode=mode, snapshots=snapshots, search=search)
        if play(episode, mode).reward != 1.0 or episode.grades.score != 1.0:
            poor.append(entry.id)
    assert poor == []


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_messages_are_those_of_the_engine(mode, search):
    snapshots, own = HeldSnapshots(), HeldSnapshots()
    chosen = of_checker("none")[:4] + of_checker("state")[::3] + of_checker("ast")[::20]
    model = OracleModel(parse_spec("oracle:"), mode)
    for entry in chosen:
        episode = Episode(entry, mode=mode, snapshots=own, search=search)
        messages, _ = episode.reset()
        while not episode.done:
            reply = oracle_reply(episode, mode)
            said = len(episode.transcript.messages)
            observations = episode.step(reply).observations
            messages += [episode.messages[said], *observations]
        held = asyncio.run(
            converse(
                entry, model, settings=Settings(), texts=bundled().texts, snapshots=snapshots, search=search
            )
        )  # fmt: skip
        assert messages == held.messages == episode.messages
        assert episode.transcript.turns == held.turns
        assert episode.transcript.functions == held.functions


def policy_replies(entry: Entry, rng: random.Random) -> Iterable[Reply]:
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


def test_interleaved_episodes_equal_those_run_apart():
    chosen = of_checker("state", "ast")[::4]
    plans = [(chosen[number % len(chosen)], number) for number in range(200)]

    def opened(entry: Entry, seed: int) -> tuple[Episode, Iterable[Reply]]:
        episode = Episode(entry, mode="prompt", partial=True)
        episode.reset()
        return episode, iter(policy_replies(entry, random.Random(seed)))

    apart = []
    for entry, seed in plans:
        episode, replies = opened(entry, seed)
        while not episode.step(next(replies)).done:
            pass
        apart.append(outcome(episode))
    together = [opened(entry, seed) for entry, seed in plans]
    going, rng = list(range(len(plans))), random.Random(0)
    while going:
        place = rng.randrange(len(going))
        episode, replies = together[going[place]]
        if episode.step(next(replies)).done:
            going[place] = going[-1]
            going.pop()
    assert [outcome(episode) for episode, _ in together] == apart
    assert len({reward for _, reward, _ in apart}) > 2


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda episode: pickle.loads(pickle.dumps(episode))])
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_copies_in_the_middle_go_on_apart(copied, mode):
    for entry in of_checker("state")[::8]:
        straight = Episode(entry, mode=mode)
        play(straight, mode)
        episode = Episode(entry, mode=mode)
        episode.reset()
        while not episode.done:
            twin = copied(episode)
            episode.step(Reply(text="[nonsense("))
            episode = twin
            episode.step(oracle_reply(episode, mode))
        assert outcome(episode) == outcome(straight)


def test_a_deep_copy_shares_what_never_changes():
    episode = Episode(multi_turn())
    episode.reset()
    twin = copy.deepcopy(episode)
    assert twin.entry is episode.entry
    assert twin.texts is episode.texts
    assert twin.transcript is not episode.transcript


def test_held_out_functions_arrive_with_their_turn():
    entry = next(entry for entry in of_checker("state") if entry.missed_function)
    episode = Episode(entry)
    _, tools = episode.reset()
    (turn,) = list(entry.missed_function)[:1]
    assert len(tools) == len(entry.function)
    while episode.user_turn < turn:
        result = episode.step(oracle_reply(episode, "fc"))
    assert result.observations[-1]["role"] == "user"
    assert len(episode.tools) == len(tools) + len(entry.missed_function[turn])


def test_wrong_conversations_are_graded_turn_by_turn():
    entry = next(e for e in of_checker("state") if len(e.question) > 2 and all(e.possible_answer or []))
    episode = Episode(entry, partial=True)
    episode.reset()
    while not episode.done:
        reply = oracle_reply(episode, "fc")
        result = episode.step(Reply(text="no") if episode.user_turn == len(entry.question) - 1 else reply)
    assert episode.verdict == 0.0
    assert result.reward == 0.0  # of the last turn alone
    assert episode.earned == episode.grades.score == pytest.approx(min(0.9, 1 - 1 / len(entry.question)))
    assert [turn.score for turn in episode.grades.turns] == [1.0] * (len(entry.question) - 1) + [0.0]


def test_single_turn_is_one_step_and_graded_as_rewards_are():
    entry = next(entry for entry in of_checker("ast") if entry.category == "parallel")
    episode = Episode(entry, partial=True)
    messages, tools = episode.reset()
    assert messages
    assert tools
    right = answer(entry, "fc")
    result = episode.step(Reply(tool_calls=right.tool_calls[:1]))
    assert result.done
    assert result.observations == []
    assert 0 < result.reward < 1
    assert Episode(entry, mode="prompt").reset().tools == []


def test_documented_names_are_taken_as_wire_names():
    function = {
        "name": "water.plant", "description": "Water.",
        "parameters": {
            "type": "dict", "properties": {"ml": {"type": "integer", "description": "x"}}, "required": ["ml"],
        },
    }  # fmt: skip
    entry = {
        "question": [[{"role": "user", "content": "5"}]], "function": [function],
        "possible_answer": [{"water.plant": {"ml": [5]}}],
    }  # fmt: skip
    for name in ("water.plant", "water_plant"):
        episode = Episode(entry)
        assert episode.reset().tools[0]["function"]["name"] == "water_plant"
        assert episode.step(Reply(tool_calls=(ToolCall(name, '{"ml": 5}'),))).reward == 1.0


def test_decoder_and_thoughts():
    entry = next(entry for entry in of_checker("ast") if entry.category == "simple_python")
    (call,) = answer(entry, "fc").tool_calls
    text = f'<think>Well.</think><tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>'
    episode = Episode(entry, decoder="hermes", think="strip")
    episode.reset()
    assert episode.step(text).reward == 1.0
    plain = Episode(entry)
    plain.reset()
    assert plain.step(text).reward == 0.0


def test_misuse_is_said():
    episode = Episode(multi_turn())
    with pytest.raises(UsageError, match="mode"):
        Episode(multi_turn(), mode="chat")
    with pytest.raises(UsageError, match="rules"):
        Episode(multi_turn(), rules="mine")
    play(episode, "fc")
    with pytest.raises(UsageError, match="ended"):
        episode.step("x")
    episode.reset()
    with pytest.raises(UsageError, match="not ended"):
        _ = episode.grades
    with pytest.raises(UsageError):
        episode.step(object())
