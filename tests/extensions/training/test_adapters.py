"""What trainers' adapters do without their trainers: rows, rewards, environments, interactions."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pytest_bfcl.dataset.categories import resolve_categories
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.extensions.training.rewards import MOST_PARTIAL
from pytest_bfcl.extensions.training.splits import make_split
from pytest_bfcl.extensions.training.tasks import episode_of, key_of, reward_of
from pytest_bfcl.extensions.vector_memory.embedding import encoder_problem
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.models.oracle import QUESTION
from pytest_bfcl.session.evaluation import open_data
from pytest_bfcl.training import Episode, Tasks, tasks, trl, verl
from pytest_bfcl.transcript import Mode, Reply
from tests.extensions.training.policies import first_reply, hostile, message, oracle


@cache
def agentic() -> list[str]:
    """The categories of the group that can be played here: vectors need weights, which are fetched."""
    found = resolve_categories(["agentic"])
    return [name for name in found if name != "memory_vector" or encoder_problem() is None]


def ours(mode: Mode, *categories: str, **options: Any) -> Tasks:
    return tasks("bundled", mode=mode, categories=categories or None, **options)


def keys_as_columns(chosen: Tasks, entries: Iterable[Entry]) -> dict[str, list[Any]]:
    keys = [dict(chosen.key(entry)) for entry in entries]
    return {name: [key[name] for key in keys] for name in keys[0]}


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_rows_bring_back_their_episodes() -> None:
    chosen = ours("prompt")
    for row, entry in zip(chosen.rows(), chosen, strict=True):
        again = episode_of(json.loads(json.dumps(row)))
        assert again.entry.id == entry.id
        assert again.reset().messages == row["prompt"]
    assert {entry.row.checker for entry in chosen} == {"ast", "irrelevance", "relevance", "state"}
    assert key_of({"extra_info": dict(chosen.key(chosen.entries[0]))}) == chosen.key(chosen.entries[0])


@pytest.mark.parametrize(("options", "told"), [
    ({"modes": "fc"}, "did you mean 'mode'"), ({"part": "dev"}, "train or test"),
    ({"categories": ["sql"], "part": "test"}, "nothing to train on"),
])  # fmt: skip
def test_wrong_tasks_are_refused(options: dict[str, Any], told: str, tmp_path: Any) -> None:
    split = make_split(open_data("bundled"))
    only = {part: {"simple_java": split.parts[part]["simple_java"]} for part in split.parts}
    file = tmp_path / "b.json"
    replace(split, parts=only).write(file)
    with pytest.raises(UsageError, match=told):
        tasks("bundled", split=file, **options)


@pytest.mark.parametrize(("change", "told"), [
    ({"entry_id": 7}, "names no entry"), ({"data_sha256": "0" * 64}, "other data"),
    ({"entry_id": "nobody_1"}, "no entry 'nobody_1'"),
])  # fmt: skip
def test_wrong_rows_are_refused(change: dict[str, Any], told: str) -> None:
    chosen = ours("prompt", "simple_java")
    with pytest.raises(HarnessError, match=told):
        episode_of({**chosen.key(chosen.entries[0]), **change})


# -- rewards -----------------------------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[Reply], Any]] = {
    "message": message,
    "messages": lambda reply: [message(reply)],
    "texts": lambda reply: [message(reply, parsed=False)],
    "objects": lambda reply: [message(reply, objects=True)],
    "string": lambda reply: reply.text,
}


@pytest.mark.parametrize(
    ("mode", "shape"), [*(("prompt", shape) for shape in SHAPES), *(("fc", shape) for shape in [*SHAPES][:4])]
)
def test_an_oracle_earns_everything_in_every_shape(mode: Mode, shape: str) -> None:
    chosen = ours(mode, "single_turn")
    completions = [SHAPES[shape](first_reply(entry, mode)) for entry in chosen]
    columns = keys_as_columns(chosen, chosen)
    rewards = trl.reward_function(mode=mode)(completions=completions, trainer_state=object(), **columns)
    assert rewards == [1.0] * len(chosen)


def half_said(right: dict[str, Any]) -> dict[str, Any]:
    """A message whose calls lack their last argument."""
    for call in right.get("tool_calls", ()):
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = dict(list(arguments.items())[:-1])
    return {**right, "content": re.sub(r"(, )?\w+=[^=]*\)", ")", right["content"] or "", count=1) or None}


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_a_reply_is_rewarded_as_its_episode_is(mode: Mode, partial: bool) -> None:
    """Replies of other entries, half a reply, nothing, prose, empty lists."""
    chosen = ours(mode, "single_turn")
    entries, found = list(chosen)[::3], set()
    for number, entry in enumerate(entries):
        said = [
            half_said(message(first_reply(entry, mode))), message(first_reply(entries[number - 1], mode)),
            {"role": "assistant", "content": None}, {"role": "assistant", "content": "I would rather not."}, [],
        ][number % 5]  # fmt: skip
        episode = Episode(entry, mode=mode, partial=partial)
        got = reward_of(dict(chosen.key(entry)), said, {"mode": mode, "partial": partial})
        assert got == episode.step(said).reward, (entry.id, said)
        found.add(got)
    assert len(found) > (3 if partial else 1)


OWN: dict[str, Any] = {"mode": "fc", "decoder": "hermes", "think": "strip", "names": "dots"}


def test_rows_say_how_replies_are_read() -> None:
    """A reward reads as the rollout was played, whoever forgets to say so; what contradicts the row is refused."""
    chosen = tasks("bundled", categories=["simple_python"], **OWN)
    entry = next(entry for entry in chosen if "." in entry.function[0]["name"])
    ((name, allowed),) = (entry.possible_answer or [])[0].items()
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
            trl.reward_function(**{field: other})(completions=[text], **columns)
    bare = {field: value for field, value in row.items() if field not in OWN}
    for read in (lambda: reward_of(bare, text, {}), lambda: episode_of(bare)):
        with pytest.raises(UsageError, match="the mode of the replies is not known"):
            read()


def test_unknown_names_are_refused_at_every_door() -> None:
    chosen = ours("prompt", "simple_python")
    row = {**next(iter(chosen.rows())), "names": "spaces"}
    for use in (
        lambda: episode_of(row), lambda: reward_of(row, "x", {}), lambda: verl.compute_score("x", "x", "", row),
        lambda: verl.compute_score("x", "x", {"function": [], "possible_answer": []}, {"names": "spaces"}),
        lambda: list(tasks("bundled", categories=["simple_python"], names="spaces").rows()),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="names is 'underscores' or 'dots', not 'spaces'"):
            use()


def test_several_steps_are_no_completion() -> None:
    chosen = ours("prompt", "multi_turn_base")
    row = next(iter(verl.rows(chosen)))
    for use in (
        lambda: reward_of(row, "x", {}), lambda: trl.dataset(chosen),
        lambda: verl.compute_score("x", "x", "", row["extra_info"]),
    ):  # fmt: skip
        with pytest.raises(UsageError, match="several steps"):
            use()


# -- environments of TRL -----------------------------------------------------------------------------------------------


def tool_methods(environment: trl.EntryEnvironment) -> dict[str, Any]:
    """As TRL finds them."""
    found = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    return {name: getattr(environment, name) for name, _ in found if name != "reset" and not name.startswith("_")}


def play(environment: trl.EntryEnvironment, row: Any, *, answer: object = None) -> list[dict[str, Any]]:
    """An oracle over TRL's loop: calls as methods, a reply without calls ends the rollout; ``answer`` for its words."""
    environment.reset(**row)
    methods, said = tool_methods(environment), []
    episode = environment._playing
    while not episode.done:
        reply = oracle(episode)
        said.append(message(reply))
        for call in reply.tool_calls:
            methods[trl._method_name(call.name)](**json.loads(call.arguments))
        if not episode.entry.row.multi_step:
            if reply.tool_calls:
                said.append({"role": "assistant", "content": "Done."})
            break
        if not reply.tool_calls:
            if trl.END_OF_TURN not in methods or episode.user_turn == episode.user_turns - 1:
                break
            methods[trl.END_OF_TURN](answer=reply.text if answer is None else answer)
    return said


def environment_of(chosen: Tasks, entry: Entry) -> trl.EntryEnvironment:
    return trl.environments(replace(chosen, entries=[entry]))[trl._toolset(entry)]()


def poor_in_environments(chosen: Tasks) -> list[str]:
    """The entries for which an oracle does not earn everything. Instances are reused, as TRL reuses them."""
    pool = {name: each() for name, each in trl.environments(chosen).items()}
    poor = []
    for entry in chosen:
        environment = pool[trl._toolset(entry)]
        completion = play(environment, dict(chosen.key(entry)))
        rewards = trl.environment_reward([environment], [completion], prompts=None, trainer_state=None)
        assert trl.environment_reward([environment], [completion]) == rewards
        poor += [entry.id] if rewards != [1.0] else []
    return poor


@pytest.mark.slow
def test_an_oracle_earns_everything_through_environments() -> None:
    assert poor_in_environments(ours("fc")) == poor_in_environments(ours("fc", *agentic())) == []


@pytest.mark.parametrize("category", ["multi_turn_miss_param", "multi_turn_miss_func"])
def test_a_policy_asks_in_the_argument_of_the_tool_that_ends_a_turn(category: str) -> None:
    """Without a question the turn in which something is missing earns nothing."""
    chosen = ours("fc", category, partial=True)
    for entry in list(chosen)[::3]:
        environment, row = environment_of(chosen, entry), dict(chosen.key(entry))
        play(environment, row)
        assert trl.environment_reward([environment]) == [1.0]
        asked = [step.reply.text for turn in environment._playing.transcript.turns for step in turn.steps]
        assert QUESTION in asked
        for silent in ("That is done.", "", 7, {"tool_calls": [{"name": "ls"}]}):
            play(environment, row, answer=silent)
            assert 0.0 < trl.environment_reward([environment])[0] < 1.0


def test_the_tool_that_ends_a_turn_has_an_argument() -> None:
    chosen = ours("fc", "multi_turn_miss_param")
    method = tool_methods(environment_of(chosen, chosen.entries[0]))[trl.END_OF_TURN]
    (answer,) = inspect.signature(method).parameters.values()
    assert (answer.name, answer.annotation, answer.default) == ("answer", str, answer.empty)
    assert method.__annotations__ == {"answer": str, "return": str}
    assert "Args:\n    answer: What you say to the user.\n" in method.__doc__


def test_wrong_calls_end_and_earn_little() -> None:
    chosen = ours("fc", "multi_turn_base", "simple_python")
    for entry in list(chosen)[::9]:
        environment = environment_of(chosen, entry)
        environment.reset(**chosen.key(entry))
        for _ in range(60):
            for name, method in tool_methods(environment).items():
                if name != trl.END_OF_TURN:
                    assert isinstance(method(nonsense="[" * 5000), str)
        assert trl.environment_reward([environment], [None])[0] < 1.0
        assert environment._call("x", {}) in (trl.OVER, trl.NOTED)


def test_held_out_functions_wait_for_their_turn() -> None:
    chosen = ours("fc", "multi_turn_miss_func")
    entry = next(entry for entry in chosen if min(entry.missed_function) > 0)
    environment = environment_of(chosen, entry)
    environment.reset(**chosen.key(entry))
    name = entry.missed_function[min(entry.missed_function)][0]["name"]
    assert tool_methods(environment)[name]() == trl.NOT_YET
    assert not environment._playing.transcript.turns[-1].steps


def test_tools_have_signature_and_docstring() -> None:
    chosen = ours("fc")
    for entry in list(chosen)[::9]:
        methods = tool_methods(environment_of(chosen, entry))
        for schema in Episode(entry).reset().tools:
            function = schema["function"]
            method, wanted = methods[function["name"]], function["parameters"]
            assert set(method.__annotations__) - {"return"} == set(wanted.get("properties", {}))
            required = {
                name for name, each in inspect.signature(method).parameters.items() if each.default is each.empty
            }
            assert required == {each for each in wanted.get("required", ()) if each.isidentifier()} - {"from"}
            assert all(f"    {name}: " in method.__doc__ for name in wanted.get("properties", {}))


def test_names_that_trl_takes_for_its_own() -> None:
    assert [trl._method_name(name) for name in ("reset", "__list", "get_reward", "list")] == [
        "tool_reset", "tool_list", "tool_get_reward", "list",
    ]  # fmt: skip


# -- verl --------------------------------------------------------------------------------------------------------------


def poor_in_interactions(chosen: Tasks) -> list[str]:
    """The entries for which an oracle does not earn everything, in verl's rows and interactions."""
    poor = []
    for row in verl.rows(chosen):
        info = json.loads(json.dumps(row["extra_info"]))
        episode = episode_of(info["interaction_kwargs"], {"partial": True})
        messages, done, scores = list(row["prompt"]), False, []
        while not done:
            reply = oracle(episode)
            messages.append({"role": "assistant", "content": reply.text})
            done, text, earned, _ = verl.answered(episode, messages)
            scores.append(earned)
            if not episode.entry.row.multi_step:
                truth = row["reward_model"]["ground_truth"]
                score = verl.compute_score(row["data_source"], reply.text or "", truth, info)
                assert (score == 1.0) == (earned == 1.0)
            messages.append({"role": "user", "content": text})
        score = verl.compute_score("bfcl", "whatever", "", info | {"turn_scores": scores})
        assert score == episode.earned == pytest.approx(episode.reward)
        poor += [episode.entry.id] if score != pytest.approx(1.0) else []
    return poor


def test_an_oracle_earns_everything_through_verl() -> None:
    for chosen in (ours("prompt"), ours("prompt", *agentic())):
        assert poor_in_interactions(replace(chosen, entries=chosen.entries[::3])) == []


def in_parts(text: str) -> list[Any]:
    return [{"type": "text", "text": text[:7]}, {"type": "image"}, "x", 7, {"type": "text", "text": text[7:]}]


@pytest.mark.parametrize(
    ("content", "earned"),
    [(str, 1.0), (in_parts, 1.0), (lambda text: None, 0.0), (lambda text: 7, 0.0), (lambda text: {"text": text}, 0.0)],
)
def test_verl_reads_the_texts_of_the_last_message(content: Callable[[str], Any], earned: float) -> None:
    row = next(iter(verl.rows(ours("prompt", "simple_python"))))
    episode = episode_of(row["extra_info"]["interaction_kwargs"])
    said = oracle(episode).text or ""
    messages = [{"role": "assistant", "content": "no"}, {"role": "assistant", "content": content(said)}, {}]
    assert verl.answered(episode, messages)[2] == earned


def test_verl_reads_native_calls() -> None:
    row = next(iter(verl.rows(ours("fc", "simple_python"))))
    episode = episode_of(row["extra_info"]["interaction_kwargs"])
    assert verl.answered(episode, [message(oracle(episode))])[2] == 1.0


def test_verl_takes_what_else_it_passes_and_older_rows() -> None:
    row = next(iter(verl.rows(ours("prompt", "simple_python"))))
    entry = open_data("bundled").entry(row["extra_info"]["entry_id"])
    said = first_reply(entry, "prompt").text or ""
    info = row["extra_info"] | {"num_turns": None, "rollout_reward_scores": {}}
    assert verl.compute_score("x", said, "", info, reward_router_address="y", partial=True) == 1.0
    truth = json.dumps({"function": entry.function, "possible_answer": entry.possible_answer})
    assert verl.compute_score("x", said, truth, None) == 1.0


# -- all of them -------------------------------------------------------------------------------------------------------


def test_hostile_texts_never_raise() -> None:
    single, several = ours("prompt", "single_turn"), ours("prompt", "multi_turn")
    texts = iter(hostile(0, 600))
    function, keys = trl.reward_function(partial=True), [dict(single.key(entry)) for entry in single]
    for key in keys[:150]:
        (got,) = function(completions=[next(texts)], **{name: [value] for name, value in key.items()})
        assert 0.0 <= got <= 1.0
        assert 0.0 <= verl.compute_score("x", next(texts), "", key) <= 1.0
    for entry in several:
        episode, done = episode_of(several.key(entry), {"partial": True}), False
        while not done:
            said = next(texts, "That is all.")
            done, _, got, _ = verl.answered(episode, [{"role": "assistant", "content": said}])
            assert 0.0 <= got <= MOST_PARTIAL
