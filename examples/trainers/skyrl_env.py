"""An entry as an environment of SkyRL-gym, played by a policy that writes texts.

python examples/trainers/skyrl_env.py
"""

import skyrl_gym

from pytest_bfcl.extensions.training import skyrl
from pytest_bfcl.training import tasks


def main() -> None:
    skyrl.register()
    (row, *_) = skyrl.rows(tasks("bundled", categories=["multi_turn_base"]))
    env = skyrl_gym.make(row["env_class"], env_config={"partial": True}, extras=row)
    messages, _ = env.init(row["prompt"])
    print(messages[-1]["content"])
    while not (found := env.step("[pwd()]" if env.turns == 0 else "That is done."))["done"]:
        print([message["content"] for message in found["observations"]])
    print("reward:", found["reward"], env.get_metrics())


if __name__ == "__main__":
    main()
