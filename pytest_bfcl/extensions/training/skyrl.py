"""SkyRL-gym: an entry as a `BaseTextEnv`, text in and messages out (``pip install skyrl-gym``).

    from pytest_bfcl.extensions.training import skyrl
    from pytest_bfcl.training import tasks
    skyrl.register()                                     # in every process that makes environments
    rows = skyrl.rows(tasks("bundled"))                  # prompt, env_class, reward_spec, extra_info
    skyrl_gym.make("bfcl", env_config={"decoder": "hermes"}, extras=rows[0])

The policy writes its calls as text: by the benchmark's system prompt, or in a model's own format (``decoder``).
"""

from __future__ import annotations

from pytest_bfcl.extensions.training.rewards import refuse_unreadable
from pytest_bfcl.extensions.training.tasks import Tasks, episode_of, options_of
from pytest_bfcl.extras import naming
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.transcript import Message

with naming("the environment of SkyRL", "pip install skyrl-gym"):
    from skyrl_gym import register as register_env
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
    from skyrl_gym.envs.registration import registry

NAME = "bfcl"


class BfclEnv(BaseTextEnv):  # type: ignore[misc]
    """One entry, played by a policy that writes text.

    ``env_config`` holds `pytest_bfcl.extensions.training.tasks.Options`, ``extras`` the row. A step's reward is the
    verdict at the last one, or graded (``partial``) a share at each step that ends a user turn. Raises `HarnessError`
    for rows of other data, never for a policy's text.
    """

    def __init__(self, env_config: Fields | None = None, extras: Fields | None = None) -> None:
        super().__init__()
        given = {} if env_config is None else {str(name): env_config[name] for name in env_config}
        self.episode = episode_of(dict(extras or {}), options_of(given))
        refuse_unreadable(self.episode.mode, self.episode.settings.decoder)
        self.max_turns = self.episode.user_turns * (self.episode.settings.step_limit + 1)

    def init(self, prompt: list[Message]) -> tuple[list[Message], Parsed]:
        """The first messages of the episode: those of the row, with any ``prompt``."""
        return self.episode.reset().messages, {"entry_id": self.episode.entry.id}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take a reply's text: the new messages, the reward, whether the episode has ended."""
        self.turns += 1
        found = self.episode.step(action)
        return BaseTextEnvStepOutput(
            observations=found.observations,
            reward=found.reward,
            done=found.done,
            metadata={"user_turn": found.user_turn},
        )

    def get_metrics(self) -> Parsed:
        """The verdict and the graded reward (one of them is the reward), and the number of steps."""
        done = self.episode.done
        graded = self.episode.grades.score if done else 0.0
        return {"verdict": self.episode.verdict, "graded": graded, "steps": self.turns, "done": float(done)}


def register(name: str = NAME, env_config: Fields | None = None) -> None:
    """Make the environment known to `skyrl_gym.make`; a second time is no mistake."""
    if name not in registry:
        kwargs = {} if env_config is None else {"env_config": dict(env_config)}
        register_env(id=name, entry_point="pytest_bfcl.extensions.training.skyrl:BfclEnv", kwargs=kwargs)


def rows(tasks: Tasks, name: str = NAME) -> list[Parsed]:
    """Rows of SkyRL's data set, as plain values that a parquet file can hold."""
    return [
        {
            "data_source": f"bfcl/{row['data']}",
            "prompt": row["prompt"],
            "env_class": name,
            "reward_spec": {"method": "rule", "ground_truth": row["entry_id"]},
            "extra_info": {key: value for key, value in row.items() if key != "prompt"},
        }
        for row in tasks.rows()
    ]
