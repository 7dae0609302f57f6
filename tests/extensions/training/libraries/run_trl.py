"""TRL's GRPO itself, two steps on the processor with a tiny random model, and its own loop over environments.

``python -m tests.extensions.training.libraries.run_trl WHAT FOLDER`` (``reward``, ``native``, ``environment``,
``rollout``) prints one JSON object. FOLDER is a model of `tests/extensions/serving/tiny_model.py`.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
import trl as library
from transformers import AutoModelForCausalLM, AutoTokenizer

from pytest_bfcl.extensions.training import trl_rollout
from pytest_bfcl.extensions.training.tasks import KEY_COLUMNS
from pytest_bfcl.training import Tasks, tasks, trl
from pytest_bfcl.transcript import ToolCall
from tests.extensions.training.policies import oracle

END = "<|im_end|>"
LONG = 120_000
"""Tokens of one byte each that prompts with tools may take."""


def loaded(folder: str) -> tuple[Any, Any]:
    """Model and tokenizer, with a chat template that TRL knows the calls of."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    template = Path(library.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    model = AutoModelForCausalLM.from_pretrained(folder, max_position_embeddings=LONG)
    return model, tokenizer


def config(**fields: Any) -> Any:
    return library.GRPOConfig(
        output_dir="out", max_steps=2, per_device_train_batch_size=2, num_generations=2, use_cpu=True, bf16=False,
        report_to="none", logging_steps=1, save_strategy="no", learning_rate=1e-3, disable_tqdm=True, seed=1, **fields,
    )  # fmt: skip


def shortest(chosen: Tasks, count: int) -> Tasks:
    """The entries with the shortest prompts and tools: a token is a byte here."""
    size = {entry.id: len(json.dumps(entry.all_functions)) + len(json.dumps(entry.question)) for entry in chosen}
    kept = sorted(chosen, key=lambda entry: size[entry.id])[:count]
    return replace(chosen, entries=kept)


def trained(trainer: Any) -> dict[str, Any]:
    """Two steps: what was logged, and whether weights moved."""
    before = {name: each.detach().clone() for name, each in trainer.model.named_parameters()}
    trainer.train()
    moved = any(not torch.equal(before[name], each.detach()) for name, each in trainer.model.named_parameters())
    logged = [each for each in trainer.state.log_history if "reward" in each]
    return {"steps": trainer.state.global_step, "rewards": [each["reward"] for each in logged], "moved": moved}


def reward(folder: str) -> dict[str, Any]:
    model, tokenizer = loaded(folder)
    ours = shortest(tasks("bundled", categories=["simple_python", "parallel"]), 6)
    rows = trl.dataset(ours)

    def shown(messages: Any) -> str:
        return str(tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False))

    def of_prompt(ids: list[int]) -> str:
        """What the oracle says to the entry whose prompt this is."""
        prompts = [shown(row["prompt"]) for row in rows]
        number = prompts.index(tokenizer.decode(ids))
        episode = ours.episode(ours.entries[number])
        episode.reset()
        return oracle(episode).text or ""

    class Half(library.GRPOTrainer):  # type: ignore[misc]
        """The first completion of each pair is the oracle's, so that there is something to learn."""

        def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
            ids, logprobs = super()._generate_single_turn(prompt_ids, *args, **kwargs)
            for place in range(0, len(ids), 2):
                ids[place] = tokenizer.encode(of_prompt(list(prompt_ids[place])) + END, add_special_tokens=False)
            return ids, logprobs

    trainer = Half(
        model, reward_funcs=trl.reward_function(partial=True), train_dataset=rows, processing_class=tokenizer,
        args=config(max_completion_length=400, generation_kwargs={"max_new_tokens": 8}),
    )  # fmt: skip
    return trained(trainer)


def native(folder: str) -> dict[str, Any]:
    """Prompts with each entry's own tools through the model's template, calls read in its format."""
    model, tokenizer = loaded(folder)
    ours = shortest(tasks("bundled", categories=["simple_python"], mode="fc", decoder="hermes"), 6)
    rows = trl.dataset(ours, tokenizer)
    assert all(row["prompt"].count('"type": "function"') == 1 for row in rows)
    function = trl.reward_function(mode="fc", decoder="hermes")
    episodes = [ours.episode(entry) for entry in ours]
    for episode in episodes:
        episode.reset()
    said = [written(oracle(episode).tool_calls) for episode in episodes]
    right = function(completions=said, **{name: rows[name] for name in KEY_COLUMNS})
    trainer = library.GRPOTrainer(
        model, reward_funcs=function, train_dataset=rows, processing_class=tokenizer,
        args=config(max_completion_length=16),
    )  # fmt: skip
    return {**trained(trainer), "right": right}


def written(calls: Sequence[Any]) -> str:
    texts = [f'<tool_call>\n{{"name": "{call.name}", "arguments": {call.arguments}}}\n</tool_call>' for call in calls]
    return "\n".join(texts)


class EntryResult(library.GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer whose first rollout of each pair says what the oracle says; everything else is its own."""

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        ids, logprobs = super()._generate_single_turn(prompt_ids, *args, **kwargs)
        if kwargs.get("num_generations") != 1 or len(prompt_ids) == len(self.environments):
            self.began = [list(each) for each in prompt_ids]
        taken: set[int] = set()
        for place, prompt in enumerate(prompt_ids):
            number = next(
                n for n, first in enumerate(self.began) if n not in taken and list(prompt)[: len(first)] == first
            )
            taken.add(number)
            if number % 2 == 0:
                text = said(self.environments[number])
                ids[place] = self._tokenizer.encode(text + END, add_special_tokens=False)
        return ids, logprobs


def said(environment: trl.EntryEnvironment) -> str:
    """What an oracle says to the state of an environment, in Qwen's format."""
    episode = environment._playing
    if episode.done or environment._noted:
        return "Done."
    reply = oracle(episode)
    if reply.tool_calls:
        return written(reply.tool_calls)
    last = episode.user_turn == episode.user_turns - 1
    if last or not episode.entry.row.multi_step:
        return reply.text or ""
    return written([ToolCall(trl.END_OF_TURN, json.dumps({"answer": reply.text}))])


def environment(folder: str) -> dict[str, Any]:
    model, tokenizer = loaded(folder)
    several = shortest(tasks("bundled", categories=["multi_turn_miss_param"], mode="fc", partial=True), 1)
    single = shortest(tasks("bundled", categories=["parallel"], mode="fc"), 1)
    ours = replace(several, entries=[*several.entries, *single.entries])
    rewards: list[list[float]] = []

    def watched(environments: Any, completions: Any, **columns: Any) -> list[float]:
        rewards.append(trl.environment_reward(environments, completions, **columns))
        return rewards[-1]

    trainer = EntryResult(
        model, reward_funcs=watched, train_dataset=trl.environment_dataset(ours), processing_class=tokenizer,
        environment_factory=trl.environments(ours),
        args=config(max_completion_length=60_000, generation_kwargs={"max_new_tokens": 8}),
    )  # fmt: skip
    found = trained(trainer)
    failed = [each["tools/failure_frequency"] for each in trainer.state.log_history if "reward" in each]
    return {**found, "pairs": rewards, "failed_calls": failed}


def rollout(folder: str) -> dict[str, Any]:
    """The measured protocol; the first rollout of each pair is the oracle's, and what it could see is told."""
    model, tokenizer = loaded(folder)
    chosen = [
        shortest(tasks("bundled", categories=[name], mode="fc", decoder="hermes", partial=True), 1)
        for name in ("multi_turn_base", "multi_turn_miss_func")
    ]
    ours = replace(chosen[0], entries=[*chosen[0].entries, *chosen[1].entries])
    made: list[Any] = []
    shown: list[list[bool]] = []
    rewards: list[list[float]] = []
    episode_of = trl_rollout.episode_of

    def noted(*args: Any) -> Any:
        made.append(episode_of(*args))
        return made[-1]

    trl_rollout.episode_of = noted  # type: ignore[assignment]

    class Half(library.GRPOTrainer):  # type: ignore[misc]
        def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
            ids, logprobs = super()._generate_single_turn(prompt_ids, *args, **kwargs)
            going = [each for each in made[-2:] if not each.done]
            for place, episode in enumerate(going):
                for arrival, documents in episode.entry.missed_function.items():
                    named = f'"name": "{documents[0]["name"]}"' in tokenizer.decode(prompt_ids[place])
                    shown.append([named, episode.user_turn >= arrival])
                if episode is made[-2]:
                    reply = oracle(episode)
                    text = written(reply.tool_calls) if reply.tool_calls else reply.text
                    ids[place] = tokenizer.encode(text + END, add_special_tokens=False)
            return ids, logprobs

    def watched(completions: Any, **columns: Any) -> list[float]:
        rewards.append(trl_rollout.rollout_reward(completions, **columns))
        return rewards[-1]

    trainer = Half(
        model, reward_funcs=watched, train_dataset=trl_rollout.rollout_dataset(ours), processing_class=tokenizer,
        rollout_func=trl_rollout.rollout(ours),
        args=config(max_completion_length=60_000, generation_kwargs={"max_new_tokens": 8}),
    )  # fmt: skip
    found = trained(trainer)
    turns = [[each.user_turn + 1, each.user_turns] for each in made]
    return {**found, "pairs": rewards, "shown": shown, "turns": turns}


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    logging.disable(logging.WARNING)
    what, folder = sys.argv[1:]
    torch.set_num_threads(1)
    told = {"reward": reward, "native": native, "environment": environment, "rollout": rollout}[what](folder)
    print("RESULT " + json.dumps(told))
