"""verl itself over the entries: its parquet reader, its reward manager, its agent loop (or, older, its interaction).

``python -m tests.extensions.training.libraries.run_verl WHAT FOLDER`` (``loop``, ``reward``, ``interaction``) prints
one JSON object. FOLDER is where a tokenizer is (`tests/extensions/serving/tiny_model.py`).
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_bfcl.extensions.training.tasks import episode_of
from pytest_bfcl.training import tasks, verl
from tests.extensions.training.policies import hostile, oracle

SOME = ["simple_java", "irrelevance", "parallel", "multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param"]


def interaction() -> dict[str, Any]:
    """As verl makes it from its file, and as its tool agent loop calls it."""
    from omegaconf import OmegaConf
    from verl.interactions.base import BaseInteraction
    from verl.interactions.utils.interaction_registry import initialize_interactions_from_config

    config = {"interaction": [{
        "name": "bfcl", "class_name": "pytest_bfcl.extensions.training.verl_interaction.BfclInteraction",
        "config": {"partial": True},
    }]}  # fmt: skip
    path = Path("interaction.yaml").resolve()
    OmegaConf.save(OmegaConf.create(config), path)
    (made,) = initialize_interactions_from_config(str(path)).values()
    assert isinstance(made, BaseInteraction)
    chosen = tasks("bundled")

    async def play() -> list[str]:
        poor = []
        for row in verl.rows(chosen):
            kwargs = row["extra_info"]["interaction_kwargs"]
            name = await made.start_interaction(None, **kwargs)
            messages, done, earned = list(row["prompt"]), False, 0.0
            while not done:
                messages.append({"role": "assistant", "content": oracle(made.episodes[name]).text})
                done, text, score, _ = await made.generate_response(name, messages, **kwargs)
                earned += score
                messages.append({"role": "user", "content": text})
            if abs(earned - 1.0) > 1e-9 or abs(await made.calculate_score(name) - 1.0) > 1e-9:
                poor.append(kwargs["entry_id"])
            await made.finalize_interaction(name)
        return poor

    return {"entries": len(chosen), "poor": asyncio.run(play()), "left": len(made.episodes)}


def reward(folder: str) -> dict[str, Any]:
    """verl's reader of our parquet file and its naive reward manager with our function."""
    import numpy as np
    import torch
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from transformers import AutoTokenizer
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.utils.dataset.rl_dataset import RLHFDataset

    tokenizer = AutoTokenizer.from_pretrained(folder)
    chosen = tasks("bundled", categories=["simple_python", "live_multiple", "irrelevance"])
    path = Path("rows.parquet").resolve()
    written = verl.write_parquet(chosen, path)
    config = OmegaConf.create({"max_prompt_length": 100_000, "filter_overlong_prompts": False, "prompt_key": "prompt"})
    rows = RLHFDataset(data_files=str(path), tokenizer=tokenizer, config=config)
    manager = NaiveRewardManager(OmegaConf.create({}), tokenizer, verl.compute_score)
    manager.loop = asyncio.new_event_loop()

    def judged(row: Any, text: str) -> float:
        ids = torch.tensor([tokenizer.encode(text, add_special_tokens=False)])
        batch = TensorDict({"responses": ids, "attention_mask": torch.ones_like(ids)}, batch_size=[1])
        fields = {name: np.array([row[name]], dtype=object) for name in ("data_source", "reward_model", "extra_info")}
        found = manager.loop.run_until_complete(manager.run_single(DataProto(batch=batch, non_tensor_batch=fields)))
        return float(found["reward_score"])

    right = [judged(rows[n], oracle(_begun(rows[n])).text or "") for n in range(len(rows))]
    texts = hostile(3, 100)
    wrong = [judged(rows[n % len(rows)], text) for n, text in enumerate(texts)]
    return {"written": written, "read": len(rows), "right": right, "hostile": [min(wrong), max(wrong)]}


def _begun(row: Any) -> Any:
    episode = episode_of(dict(row["extra_info"]))
    episode.reset()
    return episode


def loop(folder: str) -> dict[str, Any]:
    """The agent loop with verl's own token bookkeeping, over a server that says what the oracle says."""
    from omegaconf import OmegaConf
    from transformers import AutoTokenizer
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap, _agent_loop_registry
    from verl.utils.dataset.rl_dataset import RLHFDataset

    from pytest_bfcl.extensions.training import verl_loop

    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert _agent_loop_registry["bfcl"]["_target_"].endswith("BfclAgentLoop")
    playing: dict[int, Any] = {}
    begin = verl_loop.episode_of

    def watched(row: Any, options: Any) -> Any:
        playing[0] = begin(row, options)
        return playing[0]

    verl_loop.episode_of = watched  # the server below must know what is asked

    class Server:
        async def generate(self, *, prompt_ids: list[int], **_: Any) -> Any:
            text = oracle(playing[0]).text or ""
            ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
            return SimpleNamespace(token_ids=ids, log_probs=[-0.5] * len(ids), extra_fields={}, num_preempted=None)

    async def play(limit: int) -> list[dict[str, Any]]:
        config = OmegaConf.create({
            "actor_rollout_ref": {"rollout": {"prompt_length": 200_000, "response_length": limit}}, "data": {},
        })  # fmt: skip
        made = verl_loop.BfclAgentLoop(
            DictConfigWrap(config), Server(), tokenizer, None, RLHFDataset, DictConfigWrap(config.data),
            options={"partial": True},
        )  # fmt: skip
        found = []
        for row in verl.rows(tasks("bundled", categories=SOME)):
            output = await made.run({}, raw_prompt=row["prompt"], extra_info=row["extra_info"])
            said = [each for each, own in zip(output.response_ids, output.response_mask, strict=True) if own]
            replies = [step.reply.text for turn in playing[0].transcript.turns for step in turn.steps]
            found.append({
                "id": row["extra_info"]["entry_id"], "reward": output.reward_score, "length": len(output.response_ids),
                "own": tokenizer.decode(said, skip_special_tokens=True) == "".join(replies),
                "logprobs": len(output.response_logprobs or []), "turns": output.num_turns,
            })  # fmt: skip
        return found

    return {"whole": asyncio.run(play(200_000)), "short": asyncio.run(play(40))}


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    print(json.dumps({"loop": loop, "reward": reward, "interaction": interaction}[what](*rest)))
