"""SkyRL's own training loop on a processor: data set, generator, trainer, policy worker, without Ray and vLLM.

``python -m tests.extensions.training.libraries.run_skyrl_training FOLDER`` prints one JSON object. FOLDER is a model of
`tests/extensions/serving/tiny_model.py`. What is not SkyRL's: its worker runs in this process and not in a group of
Ray's actors, the processor is told to be the device, and transformers samples instead of a server.
"""

from __future__ import annotations

import asyncio
import importlib.machinery
import json
import sys
import types
import typing
from collections import Counter
from contextvars import ContextVar
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
import transformers
import typing_extensions
from transformers.utils import import_utils

typing.TypedDict = typing_extensions.TypedDict  # skyrl 0.3 declares Python 3.11, where pydantic refuses typing's
import_utils.is_flash_attn_2_available(), import_utils.is_flash_attn_4_available()  # remembered, before the next lines
for name in ("flash_attn", "flash_attn.bert_padding"):  # imported by its model, and used for packed batches alone
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)
sys.modules["flash_attn.bert_padding"].__dict__.update(pad_input=None, unpad_input=None)
torch.cuda.current_device = lambda: "cpu"  # type: ignore[assignment,return-value]

from skyrl.backends.skyrl_train.distributed.dispatch import MeshRank  # noqa: E402
from skyrl.backends.skyrl_train.distributed.fsdp_strategy import FSDPStrategy  # noqa: E402
from skyrl.backends.skyrl_train.workers.model_wrapper import HFModelWrapper  # noqa: E402
from skyrl.backends.skyrl_train.workers.worker import PolicyWorkerBase  # noqa: E402
from skyrl.train.config import SkyRLTrainConfig  # noqa: E402
from skyrl.train.dataset import PromptDataset  # noqa: E402
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator  # noqa: E402
from skyrl.train.trainer import RayPPOTrainer  # noqa: E402

from pytest_bfcl.extensions.training import skyrl  # noqa: E402
from pytest_bfcl.training import tasks  # noqa: E402
from tests.extensions.training.policies import oracle  # noqa: E402

STEPS = 2
CATEGORIES = ["parallel", "multi_turn_base"]
"""The shortest prompt of each."""
PLAYED: ContextVar[Any] = ContextVar("episode of the rollout that asks")


def config(folder: str) -> SkyRLTrainConfig:
    """SkyRL's own defaults with the smallest sizes."""
    told = SkyRLTrainConfig()
    trainer, generator = told.trainer, told.generator
    trainer.policy.model.path = folder
    trainer.policy.optimizer_config.lr = 0.003
    trainer.placement.colocate_all = trainer.enable_ray_gpu_monitor = trainer.remove_microbatch_padding = False
    trainer.placement.policy_num_gpus_per_node = 1
    trainer.train_batch_size = trainer.policy_mini_batch_size = len(CATEGORIES)
    trainer.epochs = trainer.max_training_steps = STEPS
    trainer.resume_mode, trainer.ckpt_interval, trainer.eval_interval = "none", -1, -1
    trainer.max_prompt_length = generator.max_input_length = 16_000
    trainer.algorithm.max_seq_len = 20_000
    trainer.algorithm.use_kl_loss = False
    generator.n_samples_per_prompt, generator.max_turns, generator.batched = 2, 100, False
    generator.sampling_params.max_generate_length = 1_000
    generator.sampling_params.logprobs = None
    generator.inference_engine.enable_ray_prometheus_stats = False
    told.data.dataloader.num_workers = 0
    told.environment.env_class = skyrl.NAME
    return told


class Sampler:
    """What the generator asks for tokens; of each pair of rollouts the first says what the oracle says."""

    model_name = "tiny"

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.begun: Counter[str] = Counter()
        begin = skyrl.episode_of

        def noted(*args: Any) -> Any:
            episode = begin(*args)
            self.begun[episode.entry.id] += 1
            PLAYED.set((episode, self.begun[episode.entry.id] % 2 == 1))
            return episode

        skyrl.episode_of = noted  # type: ignore[assignment]

    async def generate(self, request: Any, model: str | None = None) -> Any:
        episode, knows = PLAYED.get()
        (prompt,) = request["prompt_token_ids"]
        if knows:
            text = oracle(episode).text or ""
            ids = [*self.tokenizer.encode(text, add_special_tokens=False), self.tokenizer.eos_token_id]
        else:
            found = self.model.generate(torch.tensor([prompt]), max_new_tokens=12, do_sample=True)
            ids = found[0, len(prompt) :].tolist()
        said = self.tokenizer.decode(ids, skip_special_tokens=True)
        return {"responses": [said], "response_ids": [ids], "stop_reasons": ["stop"], "response_logprobs": None}

    async def finish_session(self, session_id: str) -> None:
        """Nothing is kept for a session."""


class Worker(PolicyWorkerBase):  # type: ignore[misc]
    """SkyRL's policy worker with a plain model in the place of a sharded one."""

    def __init__(self, told: SkyRLTrainConfig, model: Any) -> None:
        super().__init__(
            cfg=told.trainer, world_size=1, rank=0, local_rank=0, master_addr="127.0.0.1", master_port=None,
            sequence_parallel_size=1,
        )  # fmt: skip
        torch.distributed.init_process_group("gloo")
        self.device_mesh = torch.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "sp"))
        self.mesh_rank = MeshRank(dp=0, sp=0, tp=0, pp=0, world_size=1, dp_size=1, pp_size=1)
        policy = told.trainer.policy
        self.strategy = FSDPStrategy(policy.fsdp_config, policy.optimizer_config, policy.model, seed=3)
        self.model = HFModelWrapper(model, bf16=False)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=policy.optimizer_config.lr)
        self.scheduler = torch.optim.lr_scheduler.ConstantLR(self.optimizer, factor=1.0)


class Dispatch:
    """The calls that SkyRL's trainer makes of its group of workers, for one worker in this process."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.likely: list[list[float]] = []

    def init_weight_sync_state(self, client: Any) -> None:
        """The sampler has the worker's own model."""

    async def save_weights_for_sampler(self) -> None:
        """As above."""

    def empty_cache(self, model: str | None = None) -> None:
        """Nothing is cached."""

    def get_lcm_dp_size(self) -> int:
        return 1

    def stage_data(self, model: str, data: Any, boundaries: Any) -> list[Any]:
        return [data[start:end] for start, end in boundaries]

    def forward_from_staged(self, model: str, chunk: Any) -> Any:
        return self.worker.forward(chunk)

    def forward_backward_from_staged(self, model: str, chunk: Any) -> Any:
        logprobs, mask = chunk["action_log_probs"], chunk["loss_mask"] > 0
        sides = [chunk["advantages"].sum(-1) > 0, chunk["advantages"].sum(-1) < 0]
        self.likely.append([logprobs[side][mask[side]].mean().item() for side in sides])
        return self.worker.forward_backward(chunk)

    def optim_step(self, model: str) -> float:
        return self.worker.optim_step()


def main(folder: str) -> dict[str, Any]:
    torch.manual_seed(3)
    told = config(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa")
    skyrl.register(env_config={"partial": True})
    ours = tasks("bundled", categories=CATEGORIES)
    size = {row["entry_id"]: len(json.dumps(row["prompt"])) for row in ours.rows()}
    chosen = {min((each.id for each in ours if each.category == name), key=lambda id: size[id]) for name in CATEGORIES}
    rows = skyrl.rows(replace(ours, entries=[each for each in ours if each.id in chosen]))
    with open("train.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    data = PromptDataset(["train.jsonl"], tokenizer, told.trainer.max_prompt_length, num_workers=1)
    sampler = Sampler(model, tokenizer)
    generator = SkyRLGymGenerator(told.generator, told.environment.skyrl_gym, sampler, tokenizer)
    logged: list[dict[str, Any]] = []
    tracker = SimpleNamespace(log=lambda figures, **_: logged.append(dict(figures)), finish=lambda: None)
    trainer = RayPPOTrainer(told, tracker, tokenizer, data, sampler, generator)
    trainer.dispatch = Dispatch(Worker(told, model))
    first = {name: each.detach().clone() for name, each in model.named_parameters()}
    asyncio.run(trainer.train())
    moved = [not torch.equal(first[name], each.detach()) for name, each in model.named_parameters()]
    return {
        "rewards": [each["reward/avg_raw_reward"] for each in logged], "moved": all(moved),
        "likely": trainer.dispatch.likely,
        "verdicts": [each["environment/verdict"] for each in logged],
    }  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("RESULT " + json.dumps(main(sys.argv[1])))
