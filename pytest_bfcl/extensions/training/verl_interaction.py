"""verl's interaction over an entry (verl 0.5 to 0.7): the user's turns and the results of calls as messages.

# interaction.yaml
interaction:
  - name: bfcl
    class_name: pytest_bfcl.extensions.training.verl_interaction.BfclInteraction
    config: {partial: true}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from pytest_bfcl.extensions.training.episode import Episode
from pytest_bfcl.extensions.training.tasks import episode_of, options_of
from pytest_bfcl.extensions.training.verl import answered
from pytest_bfcl.extras import naming
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed

with naming("the interaction of verl", 'pip install "verl<0.8"'):
    from verl.interactions.base import BaseInteraction


class BfclInteraction(BaseInteraction):  # type: ignore[misc]
    """Plays the entry in a row's ``interaction_kwargs``; ``config`` holds `Options` besides the name."""

    def __init__(self, config: Parsed) -> None:
        super().__init__(config)
        self.options = options_of({name: value for name, value in config.items() if name != "name"})
        self.episodes: dict[str, Episode] = {}

    async def start_interaction(self, instance_id: str | None = None, **kwargs: Any) -> str:
        """Begin an episode; returns its id."""
        name = instance_id if instance_id is not None else str(uuid4())
        self.episodes[name] = episode_of(kwargs, self.options)
        return name

    async def generate_response(
        self, instance_id: str, messages: Sequence[Fields], **kwargs: Any
    ) -> tuple[bool, str, float, Parsed]:
        """Whether to end, the user's next words, the turn's reward (ungraded: only the last one), facts."""
        return answered(self._episode(instance_id), messages)

    async def calculate_score(self, instance_id: str, **kwargs: Any) -> float:
        """The episode's reward so far."""
        return self._episode(instance_id).earned

    async def finalize_interaction(self, instance_id: str, **kwargs: Any) -> None:
        """Forget the episode."""
        self.episodes.pop(instance_id, None)

    def _episode(self, name: str) -> Episode:
        if name not in self.episodes:
            raise UsageError(f"no interaction {name!r} has begun: call start_interaction first")
        return self.episodes[name]
