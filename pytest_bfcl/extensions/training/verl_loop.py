"""verl's agent loop over an entry (verl 0.9): every step of an episode is one generation, the reward is its verdict.

    # agent_loops.yaml, named by actor_rollout_ref.rollout.agent.agent_loop_config_path
    - name: bfcl
      _target_: pytest_bfcl.extensions.training.verl_loop.BfclAgentLoop
      options: {mode: fc, decoder: hermes, partial: true}

Rows of `.verl.rows` name it (``agent_name``). With native calls the tools go through the model's own chat template, and
``decoder`` names its format of calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.extensions.training.rewards import refuse_unreadable
from pytest_bfcl.extensions.training.tasks import episode_of, options_of
from pytest_bfcl.extensions.training.verl import AGENT
from pytest_bfcl.extras import naming
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.transcript import Message

with naming("the agent loop of verl", "pip install verl"):
    from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register
    from verl.utils.profiler import simple_timer


class _Tokens:
    """The generated and inserted tokens: ids, a mask of the policy's, their log probabilities."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = list(ids)
        self.mask: list[int] = []
        self.logprobs: list[float] | None = []

    def take(self, merged: Any) -> None:
        """The result of one of verl's merges."""
        result, self.mask, logprobs = merged
        self.ids = list(result.token_ids)
        self.logprobs = logprobs if logprobs is not None else self.logprobs


@register(AGENT)
class BfclAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """Plays the entry of a row. A rollout without tokens left before the episode's end earns 0.0."""

    def __init__(self, *args: Any, options: Fields | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.options = options_of({str(name): value for name, value in (options or {}).items()})

    async def run(self, sampling_params: Parsed, **kwargs: Any) -> AgentLoopOutput:
        """One rollout; ``kwargs`` are the fields of the row. Raises `HarnessError` for rows of other data."""
        info = kwargs.get("extra_info")
        episode = episode_of(info if isinstance(info, Mapping) else kwargs, self.options)
        refuse_unreadable(episode.mode, episode.settings.decoder)
        episode.reset()
        tokens = _Tokens(await self.ct_build_initial_tokens(episode.messages, tools=episode.tools or None))
        metrics: Parsed = {}
        rewards: list[float] = []
        request, limit = uuid4().hex, int(self.rollout_config.response_length)
        while not episode.done and len(tokens.mask) < limit:
            said = episode.decoded(self.tokenizer, await self._generated(request, tokens, sampling_params, metrics))
            found = await self.loop.run_in_executor(None, episode.step, said)
            rewards.append(found.reward)
            if not found.done:
                tokens.take(await self._merged_observations(episode, found.observations, tokens))
        return self._output(episode, tokens, metrics, rewards)

    async def _generated(
        self, request: str, tokens: _Tokens, sampling_params: Parsed, metrics: Parsed
    ) -> Sequence[int]:
        """The tokens of the policy's next reply."""
        with simple_timer("generate_sequences", metrics):
            output = await self.server_manager.generate(
                request_id=request, prompt_ids=tokens.ids, sampling_params=sampling_params
            )
        metrics.setdefault("num_preempted", -1)
        logprobs = tokens.logprobs if tokens.logprobs or output.log_probs else None
        tokens.take(
            await self.ct_merge_assistant_token(
                tokens.ids, output.token_ids, tokens.mask, logprobs, assistant_logprobs=output.log_probs or None
            )
        )
        found: Sequence[int] = output.token_ids
        return found

    async def _merged_observations(self, episode: Episode, observations: list[Message], tokens: _Tokens) -> Any:
        messages = episode.messages
        return await self.ct_merge_context_msg(
            messages[: len(messages) - len(observations)],
            messages,
            tokens.ids,
            tokens.mask,
            tokens.logprobs or None,
            tools=episode.tools or None,
        )

    def _output(self, episode: Episode, tokens: _Tokens, metrics: Parsed, rewards: list[float]) -> AgentLoopOutput:
        limit, count = int(self.rollout_config.response_length), len(tokens.mask)
        whole = episode.done and count <= limit
        reward = episode.reward if whole else 0.0
        output = AgentLoopOutput(
            prompt_ids=tokens.ids[: len(tokens.ids) - count],
            response_ids=tokens.ids[len(tokens.ids) - count :][:limit],
            response_mask=tokens.mask[:limit],
            response_logprobs=tokens.logprobs[:limit] if tokens.logprobs else None,
            reward_score=reward,
            num_turns=len(rewards) + episode.user_turn + 1,
            metrics=metrics,
        )
        told = {"verdict": episode.verdict if whole else 0.0}
        output.extra_fields.update(
            {"turn_scores": rewards if whole else [0.0], "tool_rewards": [], "reward_extra_info": told}
        )
        return output
