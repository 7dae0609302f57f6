"""verifiers' own evaluation over the entries, against a server that answers rightly.

``python -m tests.extensions.training.libraries.run_verifiers URL CATEGORY…`` prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import verifiers.v1 as vf

from pytest_bfcl.extensions.training.verifiers import load_environment


async def evaluated(env: vf.Env, url: str) -> list[dict[str, Any]]:
    """Every task once, sixteen episodes at a time."""
    context = vf.ModelContext(model="oracle", client=vf.EvalClientConfig(base_url=url))
    gate, found = asyncio.Semaphore(16), []

    async def one(task: vf.Task) -> None:
        (slot,) = env.slots(task)
        episode = await env.run_slot(slot, context, gate)
        (trace,) = episode.traces
        found.append({
            "id": task.data.entry_id, "ok": episode.ok, "turns": trace.num_turns,
            "errors": list(map(repr, trace.errors)),
            "reward": {name: each.score for name, each in trace.rewards.items()}, "metrics": dict(trace.metrics),
        })  # fmt: skip

    async with env.serving():
        await asyncio.gather(*map(one, env.taskset))
    return found


def main(url: str, categories: list[str]) -> dict[str, Any]:
    whole = asyncio.run(evaluated(load_environment("bundled", categories=categories, partial=True), url))
    short = load_environment("bundled", categories=["multi_turn_base"], partial=True, agent={"max_turns": 2})
    cut = asyncio.run(evaluated(short, url))
    down = asyncio.run(evaluated(load_environment("bundled", categories=["simple_java"]), "http://127.0.0.1:9/v1"))
    return {"whole": whole, "cut": cut, "down": down}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2:])))
