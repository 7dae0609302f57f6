"""verl's own training steps on a processor: rows, agent loop, GRPO and the FSDP worker, without Ray and vLLM.

``python -m tests.extensions.training.libraries.run_verl_training FOLDER`` prints one JSON object. FOLDER is a model of
`tests/extensions/serving/tiny_model.py`. What is not verl's: the processor as a platform (verl has accelerators only),
and the sampling, which is transformers' instead of a server's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import torch
from hydra import compose, initialize_config_module
from omegaconf import DictConfig
from torch.distributed.tensor import DTensor
from transformers import AutoModelForCausalLM
from verl import DataProto
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.plugin.platform import platform_manager
from verl.plugin.platform.platform_base import PlatformBase
from verl.trainer.ppo.ray_trainer import RayPPOTrainer, compute_advantage
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
from verl.workers.engine_workers import ActorRolloutRefWorker

from pytest_bfcl.extensions.training import verl_loop
from pytest_bfcl.training import tasks, verl
from tests.extensions.training.policies import oracle

STEPS = 3
CATEGORIES = ["parallel", "multi_turn_base"]
"""The shortest prompt of each."""
PROMPT, RESPONSE = 12_000, 3_000
"""Tokens of one byte each."""
PLAYED: ContextVar[Any] = ContextVar("episode of the rollout that asks")
LOOPS = """\
- name: bfcl
  _target_: pytest_bfcl.extensions.training.verl_loop.BfclAgentLoop
  options: {mode: prompt, partial: true}
"""


def processor() -> PlatformBase:
    """The processor as verl's platform: what nobody asks a processor for is left to a mock."""
    answers: dict[str, Any] = {name: MagicMock() for name in PlatformBase.__abstractmethods__}
    figures = ("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
    module = SimpleNamespace(
        **{name: lambda: 0 for name in figures}, is_available=lambda: False, mem_get_info=lambda: (1, 1),
        get_device_name=lambda: "processor",
    )  # fmt: skip
    answers.update(
        device_name="cpu", vendor_name="cpu", is_available=lambda _: True, current_device=lambda _: torch.device("cpu"),
        device_count=lambda _: 1, communication_backend_name=lambda _: "gloo", ray_resource_name=lambda _: "CPU",
        visible_devices_envvar=lambda _: "NO_DEVICES", device_module=module,
    )  # fmt: skip
    made: PlatformBase = type("Processor", (PlatformBase,), answers)()
    return made


def config(folder: str) -> DictConfig:
    """verl's own defaults for PPO with what a user sets for us, and the smallest sizes."""
    loops = Path("agent_loops.yaml").resolve()
    loops.write_text(LOOPS)
    told = {
        "algorithm.adv_estimator": "grpo", "data.max_prompt_length": PROMPT, "data.max_response_length": RESPONSE,
        "actor_rollout_ref.model.path": folder, "actor_rollout_ref.model.use_remove_padding": False,
        "actor_rollout_ref.model.enable_gradient_checkpointing": False,
        "+actor_rollout_ref.model.override_config.attn_implementation": "sdpa",
        "actor_rollout_ref.actor.strategy": "fsdp2", "actor_rollout_ref.actor.optim.lr": 0.003,
        "actor_rollout_ref.actor.optim.total_training_steps": STEPS,
        "actor_rollout_ref.actor.ppo_mini_batch_size": 2, "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu": 1,
        "actor_rollout_ref.actor.fsdp_config.use_torch_compile": False,
        "+actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype": "fp32",
        "actor_rollout_ref.rollout.name": "vllm", "actor_rollout_ref.rollout.n": 2,
        "actor_rollout_ref.rollout.prompt_length": PROMPT, "actor_rollout_ref.rollout.response_length": RESPONSE,
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": 1,
        "actor_rollout_ref.rollout.agent.agent_loop_config_path": loops,
    }  # fmt: skip
    with initialize_config_module("verl.trainer.config", version_base=None):
        return compose("ppo_trainer", [f"{name}={value}" for name, value in told.items()])


class Sampler:
    """A client of a server as the agent loop asks one; of each pair of rollouts the first says what the oracle says."""

    def __init__(self, folder: str, tokenizer: Any) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(folder)
        self.tokenizer = tokenizer
        self.begun: Counter[str] = Counter()
        begin = verl_loop.episode_of

        def noted(row: Any, options: Any) -> Any:
            episode = begin(row, options)
            self.begun[episode.entry.id] += 1
            PLAYED.set((episode, self.begun[episode.entry.id] % 2 == 1))
            return episode

        verl_loop.episode_of = noted  # the server must know what is asked

    def take(self, weights: Any) -> None:
        """The weights of the worker, as verl gives them to its servers."""
        whole = {name: each.full_tensor() if isinstance(each, DTensor) else each for name, each in weights}
        self.model.load_state_dict(whole, strict=False)

    async def generate(self, *, prompt_ids: list[int], **_: Any) -> Any:
        episode, knows = PLAYED.get()
        if knows:
            text = oracle(episode).text or ""
            ids = [*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id]
        else:
            found = self.model.generate(torch.tensor([prompt_ids]), max_new_tokens=12, do_sample=True)
            ids = found[0, len(prompt_ids) :].tolist()
        return SimpleNamespace(token_ids=ids, log_probs=None, extra_fields={}, num_preempted=None)


class Steps(RayPPOTrainer):  # type: ignore[misc]
    """verl's trainer with one worker in this process: its own log probabilities and update."""

    def __init__(self, told: DictConfig, worker: ActorRolloutRefWorker) -> None:
        self.config = told
        self.actor_rollout_wg = worker
        self.distillation_config = None


def one_step(trainer: Steps, player: AgentLoopWorker, rows: list[Any]) -> dict[str, Any]:
    """Rollouts of a batch, rewards, advantages, an update."""
    batch = DataProto.from_single_dict(collate_fn(rows))
    batch.non_tensor_batch["uid"] = np.array([str(number) for number in range(len(rows))], dtype=object)
    batch.meta_info["temperature"] = 1.0
    batch = batch.repeat(repeat_times=2, interleave=True)
    batch = batch.union(asyncio.run(player.generate_sequences(batch)))
    batch.meta_info["global_token_num"] = batch.batch["attention_mask"].sum(-1).tolist()
    before, _ = trainer._compute_old_log_prob(batch)
    batch = batch.union(before)
    batch.batch["token_level_rewards"] = batch.batch["token_level_scores"] = batch.batch["rm_scores"]
    batch = compute_advantage(batch, "grpo")
    trainer._update_actor(batch)
    rewards, mask = batch.batch["rm_scores"].sum(-1), batch.batch["response_mask"].bool()
    likely = [batch.batch["old_log_probs"][some][mask[some]].mean().item() for some in (rewards == 1.0, rewards < 1.0)]
    turns = batch.non_tensor_batch["__num_turns__"].tolist()
    return {"rewards": rewards.tolist(), "likely": likely, "turns": turns}


def main(folder: str) -> dict[str, Any]:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29" + str(os.getpid())[-3:], RANK="0", WORLD_SIZE="1")
    platform_manager.set_platform(processor())
    EngineRegistry.register(model_type="language_model", backend=["fsdp2"], device="cpu")(FSDPEngineWithLMHead)
    torch.manual_seed(3)
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    told = config(folder)
    worker = ActorRolloutRefWorker(told.actor_rollout_ref, "actor")
    worker.init_model()
    tokenizer = worker.actor.model_config.tokenizer
    sampler = Sampler(folder, tokenizer)
    player = AgentLoopWorker(told, sampler)
    ours = tasks("bundled", categories=CATEGORIES)
    size = {row["entry_id"]: len(json.dumps(row["prompt"])) for row in ours.rows()}
    chosen = {min((each.id for each in ours if each.category == name), key=lambda id: size[id]) for name in CATEGORIES}
    ours = replace(ours, entries=[each for each in ours if each.id in chosen])
    verl.write_parquet(ours, "train.parquet")
    rows = list(RLHFDataset(data_files="train.parquet", tokenizer=tokenizer, config=told.data))
    trainer = Steps(told, worker)
    module = worker.actor.engine.module
    first = {name: each.detach().full_tensor().clone() for name, each in module.named_parameters()}
    found = []
    for _ in range(STEPS):
        sampler.take(worker.actor.engine.get_per_tensor_param()[0])
        found.append(one_step(trainer, player, rows))
    moved = [not torch.equal(first[name], each.detach().full_tensor()) for name, each in module.named_parameters()]
    return {"steps": found, "moved": all(moved)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("RESULT " + json.dumps(main(sys.argv[1])))
