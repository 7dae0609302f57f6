"""Runs the checks against a reference server, in process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from pytest_bfcl.wire import Api, Examiner, Outcome, checks_for
from pytest_bfcl.wire.chat import Chat
from pytest_bfcl.wire.client import WireClient
from pytest_bfcl.wire.probe import Conduct, Line
from pytest_bfcl.wire.responses import Responses
from tests.wire.reference import Direct, Reference


def examine(
    server: Reference, api: Api = "chat", names: Iterable[str] | None = None, *, repeat: int = 1
) -> dict[str, Outcome]:
    """Name → outcome."""

    async def work() -> list[Outcome]:
        client = WireClient(Direct(server), concurrency=64, limit_s=20.0)
        line = Line(
            client, Chat() if api == "chat" else Responses(), "m", Conduct(repeat=repeat, slack_s=0.1, wait_s=0.0)
        )
        examiner = Examiner(line, checks_for(api))
        try:
            return await examiner.outcomes(names)
        finally:
            await examiner.aclose()

    return {outcome.check.name: outcome for outcome in asyncio.run(work())}


def states(outcomes: dict[str, Outcome], state: str) -> set[str]:
    """The names of the checks in a state."""
    return {name for name, outcome in outcomes.items() if outcome.state == state}
