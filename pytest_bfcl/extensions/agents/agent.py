"""What every agent is to a run: asked natively, one whole entry at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.models import Request
    from pytest_bfcl.transcript import Mode, Reply


class Agent:
    """A contender that plays entries (`pytest_bfcl.conversation.played.Player`); its tools are Python functions."""

    mode: Mode = "fc"
    underscore_names = True

    def __init__(self, spec: str) -> None:
        self.spec = spec

    async def generate(self, request: Request) -> Reply:
        """Agents answer no single requests. Raises `AdapterError`."""
        raise AdapterError(
            AdapterTrouble.FIXTURE, f"{self.spec} is an agent: it plays whole entries and answers no single request"
        )
