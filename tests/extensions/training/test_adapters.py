"""What trainers' adapters do without their trainers: rows, rewards, environments, interactions."""

from __future__ import annotations

import inspect
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.dataset.categories import resolve_categories
from pytest_bfcl.extensions.training.grades import MOST_PARTIAL
from pytest_bfcl.extensions.training.rewards import reward
from pytest_bfcl.extensions.training.splits import make_split
from pytest_bfcl.extensions.training.tasks import episode_of, key_of, reward_of
from pytest_bfcl.extensions.vector_memory.embedding import encoder_problem
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.models.oracle import QUESTION
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.training import Episode, Tasks, tasks, trl, verl
from pytest_bfcl.transcript import Reply
from tests.extensions.training.policies import first_reply, hostile, message, oracle

SINGLE = ["single_turn"]


@cache
def agentic() -> list[str]:
    """The categories of the group that can be played here: vectors need weights, which are fetched."""
    found = resolve_categories(["agentic"])
    return [name for name in found if name != "memory_vector" or encoder_problem() is None]


def ours(mode: str, *categories: str) -> Tasks:
    return tasks("bundled", mode=mode, categories=categories or None)


def columns(chosen: Tasks) -> dict[str, list[Any]]:
    rows = list(chosen.rows())
    return {name: [row[name] for row in rows] for name in rows[0]}  # type: ignore[literal-required]


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_rows_bring_back_their_episodes() -> None:
    chosen = ours("prompt")
    for row, entry in zip(chosen.rows(), chosen, strict=True):
        again = episode_of(json.loads(json.dumps(row)))
        assert again.entry.id == entry.id
        assert again.reset().messages == row["prompt"]
    assert {entry.row.checker for entry in chosen} == {"ast", "irrelevance", "relevance", "state"}
    assert key_of({"extra_info": dict(chosen.key(chosen.entries[0]))}) == chosen.key(chosen.entries[0])


@pytest.mark.slow
def test_the_official_set_needs_a_split(official_dir: Any, tmp_path: Any) -> None:
    with pytest.raises(UsageError, match="test set: split them first") as caught:
        tasks("official")
    assert str(caught.value).count("\n") < 5
    file = tmp_path / "official.split.json"
    assert main(["new", "split", "official", "--seed", "3", "-o", str(file)]) == 0
    parts = [
        tasks("official", split=file, part=part, categories=["simple_java"])  # type: ignore[arg-type]
        for part in ("train", "test")
    ]
    assert sorted(len(part) + len(part.unpassable) for part in parts) == [20, 80]
    assert sum(len(part.unpassable) for part in parts) == 13
    with pytest.raises(UsageError, match="made of official"):
        tasks("bundled", split=file)


def test_mistakes_are_said(tmp_path: Any) -> None:
    row = dict(next(iter(ours("prompt").rows())))
    for options, told in (({"modes": "fc"}, "did you mean 'mode'"), ({"part": "dev"}, "train or test")):
        with pytest.raises(UsageError, match=told):
            tasks("bundled", **options)
    for wrong, told in (
        ({"prompt": "x"}, "names no entry"),
        (row | {"data_sha256": "0" * 64}, "other data"),
        (row | {"entry_id": "nobody_1"}, "no entry 'nobody_1'"),
    ):
        with pytest.raises(HarnessError, match=told):
            episode_of(wrong)
    with pytest.raises(UsageError, match="nothing to train on"):
        tasks("bundled", categories=["format_sensitivity"], split=_split_without(tmp_path), part="test")


def _split_without(tmp_path: Any) -> Any:
    """A split of which the test part has one category only."""
    split = make_split(open_data("bundled"))
    everything = {name: [*split.parts["train"].get(name, ()), *split.parts["test"].get(name, ())] for name in SQL}
    replace(split, parts={"train": {"simple_java": split.parts["train"]["simple_java"]}, "test": everything}).write(
        tmp_path / "b.json"
    )
    return tmp_path / "b.json"


SQL = ("sql",)


# -- rewards of TRL ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fc", "prompt"])
@pytest.mark.parametrize("shape", ["message", "messages", "objects", "texts", "string"])
def test_an_oracle_earns_everything_in_every_shape(mode: str, shape: str) -> None:
    chosen = ours(mode, *SINGLE)
    said = [first_reply(entry, mode) for entry in chosen]  # type: ignore[arg-type]
    if shape == "string":
        if mode == "fc":
            pytest.skip("native calls are no strings")
        completions: list[Any] = [reply.text for reply in said]
    elif shape == "objects":
        completions = [[message(reply, objects=True)] for reply in said]
    else:
        made = [message(reply, parsed=shape != "texts") for reply in said]
        completions = made if shape == "message" else [[each] for each in made]
    function = trl.reward_function(mode=mode)
    rewards = function(prompts=None, completions=completions, trainer_state=object(), **columns(chosen))
    assert rewards == [1.0] * len(chosen)


def half_said(right: dict[str, Any]) -> dict[str, Any]:
    """A message whose calls lack their last argument."""
    for call in right.get("tool_calls", ()):
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = dict(list(arguments.items())[:-1])
    return {**right, "content": re.sub(r"(, )?\w+=[^=]*\)", ")", right["content"] or "", count=1) or None}


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_a_batch_is_rewarded_as_episodes_are(mode: str) -> None:
    """Replies of other entries, nothing, prose, empty lists: the same as `Episode` gives, graded and not."""
    chosen = ours(mode, *SINGLE)
    entries = list(chosen)[::3]
    said: list[Any] = [message(first_reply(entry, mode)) for entry in entries]  # type: ignore[arg-type]
    said = [*said[1:], said[0]]
    said[::7] = [{"role": "assistant", "content": None}] * len(said[::7])
    unwilling = "I would rather not."
    said[1::7] = [unwilling if mode == "prompt" else {"role": "assistant", "content": unwilling}] * len(said[1::7])
    said[2::7] = [[]] * len(said[2::7])
    said[3::7] = [half_said(message(first_reply(entry, mode))) for entry in entries[3::7]]  # type: ignore[arg-type]
    found = set()
    for partial in (False, True):
        for entry, completion in zip(entries, said, strict=True):
            episode = Episode(entry, mode=mode, partial=partial)  # type: ignore[arg-type]
            episode.reset()
            row = dict(chosen.key(entry))
            got = reward_of(row, completion, {"mode": mode, "partial": partial})  # type: ignore[typeddict-item]
            assert got == episode.step(completion).reward, (entry.id, completion)
            found.add(got)
    assert len(found) > 3


OWN = {"mode": "fc", "decoder": "hermes", "think": "strip", "names": "dots"}


def test_rows_say_how_replies_are_read() -> None:
    """A reward reads as the rollout was played, whoever forgets to say so; what contradicts the row is refused."""
    chosen = tasks("bundled", categories=["simple_python"], **OWN)
    entry = next(entry for entry in chosen if "." in entry.function[0]["name"])
    ((name, allowed),) = entry.possible_answer[0].items()
    arguments = {key: values[0] for key, values in allowed.items() if values[0] != ""}
    text = f"<think>Well.</think><tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"
    row: dict[str, Any] = json.loads(json.dumps(next(r for r in chosen.rows() if r["entry_id"] == entry.id)))
    assert {field: row[field] for field in OWN} == OWN
    verls = next(each for each in verl.rows(chosen) if each["extra_info"]["entry_id"] == entry.id)
    columns = {field: [value] for field, value in row.items()}
    assert reward_of(row, text, {}) == 1.0
    assert trl.reward_function()(completions=[text], **columns) == [1.0]
    assert verl.compute_score("x", text, "", verls["extra_info"]) == 1.0
    assert episode_of(row).mode == "fc"
    assert episode_of(verls).settings.decoder == "hermes"
    for field, other in (("mode", "prompt"), ("decoder", "qwen"), ("think", "keep"), ("names", "underscores")):
        with pytest.raises(UsageError, match=f"made with {field}="):
            reward_of(row, text, {field: other})  # type: ignore[misc]
        with pytest.raises(UsageError, match=f"made with {field}="):
            trl.reward_function(**{field: other})(completions=[text], **columns)
    bare = {field: value for field, value in row.items() if field not in OWN}
    with pytest.raises(UsageError, match="the mode of the replies is not known"):
        reward_of(bare, text, {})
    with pytest.raises(UsageError, match="the mode of the replies is not known"):
        episode_of(bare)


def test_several_steps_are_no_completion() -> None:
    row = dict(ours("fc", "multi_turn").key(ours("fc", "multi_turn").entries[0]))
    with pytest.raises(UsageError, match="several steps"):
        reward_of(row, "x", {})
    with pytest.raises(UsageError, match="several steps"):
        trl.dataset(ours("prompt", "multi_turn_base"))


# -- environments of TRL -----------------------------------------------------------------------------------------------


def tool_methods(environment: trl.EntryEnvironment) -> dict[str, Any]:
    """As TRL finds them."""
    found = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    return {name: getattr(environment, name) for name, _ in found if name != "reset" and not name.startswith("_")}


def play(
    environment: trl.EntryEnvironment, row: Any, *, wrong: bool = False, answer: object = None
) -> list[dict[str, Any]]:
    """An oracle over TRL's loop: calls as methods, a reply without calls ends the rollout; ``answer`` for its words."""
    environment.reset(**row)
    methods, said = tool_methods(environment), []
    episode = environment._playing
    while not episode.done:
        reply = oracle(episode)
        said.append(message(reply))
        for call in reply.tool_calls:
            arguments = json.loads(call.arguments)
            methods[trl._method_name(call.name)](**({} if wrong else arguments))
        if not episode.entry.row.multi_step:
            if reply.tool_calls:
                said.append({"role": "assistant", "content": "Done."})
            break
        if not reply.tool_calls:
            if trl.END_OF_TURN not in methods or episode.user_turn == episode.user_turns - 1:
                break
            methods[trl.END_OF_TURN](answer=reply.text if answer is None else answer)
    return said


@pytest.mark.slow
def test_an_oracle_earns_everything_through_environments() -> None:
    """Instances are reused, as TRL reuses them."""
    for chosen in (ours("fc"), ours("fc", *agentic())):
        made = trl.environments(chosen)
        pool = {name: each() for name, each in made.items()}
        poor = []
        for row, entry in zip(chosen.rows(), chosen, strict=True):
            environment = pool[trl._toolset(entry)]
            completion = play(environment, row)
            rewards = trl.environment_reward([environment], [completion], prompts=None, trainer_state=None)
            assert trl.environment_reward([environment], [completion]) == rewards
            if rewards != [1.0]:
                poor.append(entry.id)
        assert poor == []


@pytest.mark.parametrize("category", ["multi_turn_miss_param", "multi_turn_miss_func"])
def test_a_policy_asks_in_the_argument_of_the_tool_that_ends_a_turn(category: str) -> None:
    """Without a question the turn in which something is missing earns nothing."""
    chosen = tasks("bundled", mode="fc", categories=[category], partial=True)
    made = trl.environments(chosen)
    for row, entry in zip(chosen.rows(), chosen, strict=True):
        environment = made[trl._toolset(entry)]()
        play(environment, row)
        assert trl.environment_reward([environment]) == [1.0]
        asked = [step.reply.text for turn in environment._playing.transcript.turns for step in turn.steps]
        assert QUESTION in asked
        for silent in ("That is done.", "", 7, {"tool_calls": [{"name": "ls"}]}):
            play(environment, row, answer=silent)
            assert 0.0 < trl.environment_reward([environment])[0] < 1.0


def test_the_tool_that_ends_a_turn_has_an_argument() -> None:
    chosen = ours("fc", "multi_turn_miss_param")
    environment = trl.environments(chosen)[trl._toolset(chosen.entries[0])]()
    method = tool_methods(environment)[trl.END_OF_TURN]
    (answer,) = inspect.signature(method).parameters.values()
    assert (answer.name, answer.annotation, answer.default) == ("answer", str, answer.empty)
    assert method.__annotations__ == {"answer": str, "return": str}
    assert "Args:\n    answer: What you say to the user.\n" in method.__doc__


def test_wrong_calls_end_and_earn_little() -> None:
    chosen = ours("fc", "multi_turn_base", "simple_python")
    made = trl.environments(chosen)
    for row, entry in list(zip(chosen.rows(), chosen, strict=True))[::3]:
        environment = made[trl._toolset(entry)]()
        environment.reset(**row)
        for _ in range(60):
            for name, method in tool_methods(environment).items():
                if name != trl.END_OF_TURN:
                    assert isinstance(method(nonsense="[" * 5000), str)
        assert trl.environment_reward([environment], [None])[0] < 1.0
        assert environment._call("x", {}) in (trl.OVER, trl.NOTED)


def test_held_out_functions_wait_for_their_turn() -> None:
    chosen = ours("fc", "multi_turn_miss_func")
    entry = next(entry for entry in chosen if min(entry.missed_function) > 0)
    environment = trl.environments(chosen)[trl._toolset(entry)]()
    environment.reset(**chosen.key(entry))
    (turn, *_) = sorted(entry.missed_function)
    name = entry.missed_function[turn][0]["name"]
    assert tool_methods(environment)[name]() == trl.NOT_YET
    steps = len(environment._playing.transcript.turns[-1].steps)
    assert steps == 0


def test_tools_have_signature_and_docstring() -> None:
    chosen = ours("fc")
    for entry in list(chosen)[::9]:
        environment = trl.environments(tasks_of(chosen, entry))[trl._toolset(entry)]()
        for schema in Episode(entry).reset().tools:
            function = schema["function"]
            method = tool_methods(environment)[function["name"]]
            wanted = function["parameters"]
            assert set(method.__annotations__) - {"return"} == set(wanted.get("properties", {}))
            required = {
                name for name, each in inspect.signature(method).parameters.items() if each.default is each.empty
            }
            assert required == {each for each in wanted.get("required", ()) if each.isidentifier()} - {"from"}
            for name in wanted.get("properties", {}):
                assert f"    {name}: " in method.__doc__


def tasks_of(chosen: Tasks, entry: Any) -> Tasks:
    return replace(chosen, entries=[entry])


def test_names_that_trl_takes_for_its_own() -> None:
    assert [trl._method_name(name) for name in ("reset", "__list", "get_reward", "list")] == [
        "tool_reset", "tool_list", "tool_get_reward", "list",
    ]  # fmt: skip


# -- verl --------------------------------------------------------------------------------------------------------------


def test_an_oracle_earns_everything_through_verl() -> None:
    poor = []
    for chosen in (ours("prompt"), ours("prompt", *agentic())):
        played = verl.Interactions({"partial": True})
        for number, row in enumerate(verl.rows(chosen)):
            info = json.loads(json.dumps(row["extra_info"]))
            episode = played.start(str(number), info["interaction_kwargs"])
            messages, done, scores = list(row["prompt"]), False, []
            while not done:
                reply = oracle(episode)
                if not episode.entry.row.multi_step:
                    truth = row["reward_model"]["ground_truth"]
                    assert verl.compute_score(row["data_source"], reply.text or "", truth, info) == 1.0
                messages.append({"role": "assistant", "content": reply.text})
                done, text, earned, _ = played.answer(str(number), messages)
                scores.append(earned)
                messages.append({"role": "user", "content": text})
            score = verl.compute_score("bfcl", "whatever", "", info | {"turn_scores": scores})
            assert score == episode.earned == pytest.approx(episode.reward)
            played.end(str(number))
            if score != pytest.approx(1.0):
                poor.append(episode.entry.id)
        assert len(played) == 0
    assert poor == []


def test_verl_takes_what_else_it_passes_and_older_rows() -> None:
    row = next(iter(verl.rows(ours("prompt", "simple_python"))))
    entry = open_data("bundled").entry(row["extra_info"]["entry_id"])
    said = first_reply(entry, "prompt").text or ""
    info = row["extra_info"] | {"num_turns": None, "rollout_reward_scores": {}}
    assert verl.compute_score("x", said, "", info, reward_router_address="y", partial=True) == 1.0
    truth = json.dumps({"function": entry.function, "possible_answer": entry.possible_answer})
    assert verl.compute_score("x", said, truth, None) == 1.0
    several = next(iter(verl.rows(ours("prompt", "multi_turn_base"))))
    with pytest.raises(UsageError, match="several steps"):
        verl.compute_score("x", said, "", several["extra_info"])
    with pytest.raises(UsageError, match="has begun"):
        verl.Interactions().answer("nobody", [])


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.slow)])
def test_interactions_side_by_side_equal_those_run_apart(count: int) -> None:
    chosen = ours("prompt", "multi_turn")
    rng = random.Random(3)
    plans = [(dict(chosen.key(rng.choice(chosen.entries))), number) for number in range(count)]

    def texts(seed: int) -> Iterator[str]:
        said = random.Random(seed)
        while True:
            yield said.choice(["[ls()]", "[pwd(), ls(a=True)]", "Done.", "", "[f(", "That is all."])

    def step(played: verl.Interactions, name: str, source: Iterator[str]) -> tuple[bool, str, float, Any]:
        return played.answer(name, [{"role": "assistant", "content": next(source)}])

    def apart(row: Any, seed: int) -> list[Any]:
        played, source, found = verl.Interactions({"partial": True}), texts(seed), []
        played.start("x", row)
        while not found or not found[-1][0]:
            found.append(step(played, "x", source))
        return found

    alone = [apart(row, seed) for row, seed in plans]
    together, sources = verl.Interactions({"partial": True}), [texts(seed) for _, seed in plans]
    for number, (row, _) in enumerate(plans):
        together.start(str(number), row)
    found: list[list[Any]] = [[] for _ in plans]
    going = list(range(len(plans)))
    while going:
        number = rng.choice(going)
        found[number].append(step(together, str(number), sources[number]))
        if found[number][-1][0]:
            going.remove(number)
    assert found == alone
    assert len({sum(step[2] for step in each) for each in alone}) > 1


# -- all of them -------------------------------------------------------------------------------------------------------


def test_hostile_texts_never_raise() -> None:
    single, several = ours("prompt", *SINGLE), ours("prompt", "multi_turn")
    texts = iter(hostile(0, 600))
    function, keys = trl.reward_function(partial=True), [dict(single.key(entry)) for entry in single]
    for key in keys[:150]:
        (got,) = function(completions=[next(texts)], **{name: [value] for name, value in key.items()})
        assert 0.0 <= got <= 1.0
        assert 0.0 <= verl.compute_score("x", next(texts), "", key) <= 1.0
    played = verl.Interactions({"partial": True})
    for number, entry in enumerate(several):
        played.start(str(number), dict(several.key(entry)))
        done = False
        while not done:
            said = next(texts, "That is all.")
            done, _, got, _ = played.answer(str(number), [{"role": "assistant", "content": said}])
            assert 0.0 <= got <= MOST_PARTIAL


def test_a_wrong_conversation_is_graded_by_reward_too() -> None:
    """One grading: of a transcript as of an episode."""
    different = 0
    for entry in ours("fc", "multi_turn_base"):
        episode = Episode(entry, partial=True)
        episode.reset()
        while not episode.done:
            last = episode.user_turn == episode.user_turns - 1
            episode.step(Reply(text="no") if last else oracle(episode))
        graded = reward(entry, episode.transcript, partial=True)
        assert graded == episode.reward
        assert reward(entry, episode.transcript) == 0.0
        different += 0 < graded < 1
    assert different > 5
