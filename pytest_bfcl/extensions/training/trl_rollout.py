"""TRL's `rollout_func` over entries of several turns: the conversation as a run holds it.

    ours = tasks("bundled", categories=["multi_turn"], mode="fc", decoder="hermes", partial=True)
    GRPOTrainer(
        model, reward_funcs=rollout_reward, train_dataset=rollout_dataset(ours), rollout_func=rollout(ours))

TRL's own loop over environments ends a rollout at the first reply without a call and shows all functions from the start
(`pytest_bfcl.extensions.training.trl`). Here a reply without a call ends the user's turn, and the next one follows.
Held-out functions are shown when they are added. Their documents are in that message, because rendered text cannot
change. All calls of a reply are one step. ``decoder`` reads them, also in prompting mode.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.extensions.training.rewards import refuse_unreadable
from pytest_bfcl.extensions.training.tasks import Tasks, episode_of, options_of
from pytest_bfcl.extensions.training.trl import data_set
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.transcript import Message

KEY = "bfcl"
"""The field of a prompt's last message that names the entry, because TRL gives a rollout function only prompts."""
REWARD = "bfcl_reward"
HANDED_OVER = "These functions are available from now on:\n"
_REPLY = "This stands for a reply."
_BEFORE: list[Message] = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": _REPLY}]


def rollout_dataset(tasks: Tasks) -> Any:
    """A `datasets.Dataset` of prompts for `rollout`."""
    rows = zip(tasks.rows(), tasks, strict=True)
    return data_set(
        {"prompt": [*row["prompt"][:-1], {**row["prompt"][-1], KEY: json.dumps(tasks.key(entry))}]}
        for row, entry in rows
    )


def rollout(tasks: Tasks) -> Callable[[list[list[Message]], Any], Parsed]:
    """The function for ``rollout_func``. Raises `UsageError` if the reading of calls is not set."""
    options = options_of(dict(tasks.options))
    refuse_unreadable(options.get("mode", "prompt"), options.get("decoder"))

    def bfcl_rollout(prompts: list[list[Message]], trainer: Any) -> Parsed:
        tokenizer, limit = trainer.processing_class, int(trainer.args.max_completion_length)
        played = [Rollout(episode_of(_key(prompt), options), tokenizer, limit) for prompt in prompts]
        while going := [each for each in played if each.is_going]:
            ids, logprobs = trainer._generate_single_turn([each.context for each in going], None, {}, num_generations=1)
            for number, each in enumerate(going):
                each.hear(ids[number], None if logprobs is None else logprobs[number])
        told = [each.logprobs for each in played]
        return {
            "prompt_ids": [each.prompt for each in played],
            "completion_ids": [each.ids[:limit] for each in played],
            "env_mask": [each.mask[:limit] for each in played],
            "logprobs": None if any(each is None for each in told) else [each[:limit] for each in told if each],
            REWARD: [each.reward for each in played],
        }

    return bfcl_rollout


def rollout_reward(completions: Sequence[Any] = (), **columns: Any) -> list[float]:
    """The function for ``reward_funcs`` with `rollout`: the rewards of the episodes."""
    return [float(each) for each in columns[REWARD]]


def _key(prompt: Sequence[Mapping[str, Any]]) -> Fields:
    try:
        found: Parsed = json.loads(prompt[-1][KEY])
    except (LookupError, TypeError, ValueError):
        raise UsageError("a prompt names no entry: make the data set with rollout_dataset") from None
    return found


@dataclass(slots=True)
class Rollout:
    """One episode as tokens: ``mask`` is 1 for the policy's."""

    episode: Episode
    tokenizer: Any
    limit: int
    prompt: list[int] = field(init=False)
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] | None = field(default_factory=list)
    _shown: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        messages, tools = self.episode.reset()
        self._shown = {tool["function"]["name"] for tool in tools}
        self.prompt = self._ids(self._rendered(messages, tools))

    @property
    def context(self) -> list[int]:
        """The prompt of the policy."""
        return self.prompt + self.ids

    @property
    def is_going(self) -> bool:
        """Whether another reply is needed and fits."""
        return not self.episode.done and len(self.ids) < self.limit

    @property
    def reward(self) -> float:
        """The reward of the episode; 0.0 if the tokens were not enough."""
        return self.episode.reward if self.episode.done and len(self.ids) <= self.limit else 0.0

    def hear(self, ids: Sequence[int], logprobs: Sequence[float] | None) -> None:
        """Take a reply of the policy and append its observations."""
        self._append(list(ids), 1, logprobs)
        found = self.episode.step(self.episode.decoded(self.tokenizer, ids))
        if not found.done:
            ended = bool(ids) and ids[-1] in (self.tokenizer.eos_token_id, self.tokenizer.pad_token_id)
            self._append(self._ids(self._observation_text(found.observations, ended)), 0, None)

    def _append(self, ids: list[int], whose: int, logprobs: Sequence[float] | None) -> None:
        self.ids += ids
        self.mask += [whose] * len(ids)
        if whose and logprobs is None:
            self.logprobs = None
        elif self.logprobs is not None:
            self.logprobs += list(logprobs) if logprobs is not None else [0.0] * len(ids)

    def _observation_text(self, observations: Sequence[Message], ended: bool) -> str:
        """Observations after a reply, rendered by the template."""
        messages = [dict(each) for each in observations]
        fresh = [tool for tool in self.episode.tools if tool["function"]["name"] not in self._shown]
        if fresh:
            self._shown.update(tool["function"]["name"] for tool in fresh)
            documents = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in fresh)
            messages[-1]["content"] = f"{messages[-1]['content']}\n{HANDED_OVER}{documents}"
        _, mark, behind = self._rendered([*_BEFORE, *messages], []).rpartition(_REPLY)
        if not mark:
            raise UsageError("the chat template leaves replies out: a rollout cannot continue after a reply")
        end = str(self.tokenizer.eos_token or "")
        return behind.removeprefix(end) if ended else behind

    def _rendered(self, messages: Sequence[Message], tools: Sequence[Parsed]) -> str:
        return str(
            self.tokenizer.apply_chat_template(
                [{name: each for name, each in message.items() if each is not None} for message in messages],
                tools=list(tools) or None, add_generation_prompt=True, tokenize=False,
            )
        )  # fmt: skip

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))
