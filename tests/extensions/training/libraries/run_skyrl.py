"""SkyRL-gym itself over the entries: registered, made by name, stepped with an oracle's and with hostile texts.

``python -m tests.extensions.training.libraries.run_skyrl CATEGORY…`` prints one JSON object.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import skyrl_gym

from pytest_bfcl.extensions.training import skyrl
from pytest_bfcl.training import tasks
from tests.extensions.training.policies import hostile, oracle


def main(categories: list[str]) -> dict[str, Any]:
    skyrl.register()
    skyrl.register()
    skyrl.register("bfcl-graded", {"partial": True})
    chosen = tasks("bundled", categories=categories or None)
    rows = [json.loads(json.dumps(row)) for row in skyrl.rows(chosen)]
    poor = []
    for row in rows:
        env = skyrl_gym.make(row["env_class"], env_config={"partial": True}, extras=row)
        prompt, info = env.init(row["prompt"])
        assert prompt == row["prompt"], info
        found: Any = {"done": False}
        earned = 0.0
        while not found["done"]:
            found = env.step(oracle(env.episode).text)
            earned += found["reward"]
        metrics = env.get_metrics()
        if abs(earned - 1.0) > 1e-9 or metrics["verdict"] != 1.0 or env.turns > env.max_turns:
            poor.append(info["entry_id"])
    rng, texts, rewards = random.Random(0), hostile(5, 2_000), []
    for row in rng.sample(rows, 60):
        env = skyrl_gym.make("bfcl-graded", extras=row)
        env.init(row["prompt"])
        found = {"done": False}
        while not found["done"]:
            found = env.step(next(texts, "That is all."))
        rewards.append(found["reward"])
    told = skyrl.BfclEnv.aggregate_metrics([env.get_metrics()] * 2)
    return {"entries": len(rows), "poor": poor, "hostile": [min(rewards), max(rewards)], "metrics": sorted(told)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
