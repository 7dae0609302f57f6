"""verifiers' evaluation of a model behind an OpenAI-compatible address.

python examples/trainers/verifiers_evaluation.py http://localhost:8000/v1 simple_python multi_turn_base
"""

import asyncio
import sys

import verifiers.v1 as vf

from pytest_bfcl.extensions.training.verifiers import load_environment


async def main(url: str, *categories: str) -> None:
    config = vf.resolve_env_config(
        {"taskset": {"id": "bfcl-environment", "categories": categories}, "agent": {"runtime": {"type": "subprocess"}}}
    )
    env = vf.load_environment(config)  # the module beside this file; in one process load_environment(...) does as well
    assert type(env.taskset) is type(load_environment("bundled", categories=list(categories)).taskset)
    context = vf.ModelContext(model="mine", client=vf.EvalClientConfig(base_url=url))
    rewards = []
    async with env.serving():
        for task in env.taskset:
            (slot,) = env.slots(task)
            episode = await env.run_slot(slot, context)
            rewards.append(episode.traces[0].rewards["bfcl"].score)
    print("reward:", sum(rewards) / len(rewards), "over", len(rewards))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *sys.argv[2:]))
