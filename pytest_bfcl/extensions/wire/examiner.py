"""Runs checks concurrently and stores their results; `examiner_of` opens one over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from pytest_bfcl.extensions.wire.checks import checks_for
from pytest_bfcl.extensions.wire.client import Place, WireClient
from pytest_bfcl.extensions.wire.outcome import Outcome, summed
from pytest_bfcl.extensions.wire.probe import DIALECTS, Conduct, Line, NotCalled, NotHeld, Probe
from pytest_bfcl.extensions.wire.row import Check
from pytest_bfcl.failures import BenchmarkError, HarnessError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.settings import Settings
from pytest_bfcl.troubles import HarnessTrouble

CROSSTALK = "crosstalk"
"""The check that sends many requests at once."""


class Examiner:
    """The checks of one endpoint, each run once (``repeat`` attempts). Checks that must be alone wait until no other
    runs. A failed check is not judged if one that it depends on failed.
    """

    def __init__(self, line: Line, checks: Iterable[Check]) -> None:
        self.line = line
        self.checks: Mapping[str, Check] = {check.name: check for check in checks}
        self._running: dict[str, asyncio.Task[Outcome]] = {}
        self._rounds: dict[str, asyncio.Task[Outcome]] = {}
        self._floor = _Floor()

    async def outcomes(self, names: Iterable[str] | None = None) -> list[Outcome]:
        """Outcomes of the named checks (default: all), in order."""
        tasks = [self.start(name) for name in (self.checks if names is None else names)]
        await asyncio.gather(*tasks, return_exceptions=True)
        return [task.result() for task in tasks]

    def start(self, name: str) -> asyncio.Task[Outcome]:
        """Start a check, or return the running one."""
        if name not in self._running:
            self._running[name] = asyncio.create_task(self._examine(self.checks[name]), name=f"wire:{name}")
        return self._running[name]

    async def _examine(self, check: Check) -> Outcome:
        if check.alone and check.name != CROSSTALK:  # it may leave a server behind that answers nothing
            await asyncio.gather(*(self.start(name) for name in check.after if name in self.checks))
        outcome = await self._first(check)
        if outcome.state != "broke":
            return outcome
        roots = [await self.start(name) for name in check.after if name in self.checks]
        broken = [root for root in roots if root.state in ("broke", "blocked")]
        if not broken:
            return outcome if check.alone else await self._confirmed(check, outcome)
        root = broken[0]
        if not check.streamed and not check.alone and all(root.check.streamed for root in broken):
            whole = await self._attempts(check, unstreamed=True)  # a broken stream says nothing of what is not streamed
            if whole.state != "broke":
                return replace(whole, why=f"unstreamed; streamed it is not judged: {root.check.name} is broken")
            return await self._confirmed(check, whole)
        return outcome.blocked(root.blocked_by or root.check.name)

    async def _confirmed(self, check: Check, outcome: Outcome) -> Outcome:
        """A rule that is broken only during other requests concerns `CROSSTALK`."""
        again = await self._attempts(check, alone=True, again=True)
        if outcome.suspected and again.state != "broke":
            return outcome.unconfirmed()
        if again.state != "held":
            return outcome
        # Its attempts alone: its outcome may wait for this one.
        if CROSSTALK in self.checks and (await self._first(self.checks[CROSSTALK])).state == "broke":
            return outcome.blocked(CROSSTALK)
        return replace(outcome, why=f"{outcome.why} (while other requests ran; asked again alone, it held)")

    def _first(self, check: Check) -> asyncio.Task[Outcome]:
        """The check's first round of attempts, before its dependencies are examined."""
        if check.name not in self._rounds:
            self._rounds[check.name] = asyncio.create_task(self._attempts(check, alone=check.alone))
        return self._rounds[check.name]

    async def _attempts(
        self, check: Check, *, alone: bool = False, again: bool = False, unstreamed: bool = False
    ) -> Outcome:
        """``again``: a fault is checked a second time; ``unstreamed``: only in that form."""
        how: Parsed = {"optional": check.optional, "again": again, "unstreamed": unstreamed}
        probes = [Probe(self.line, check.name, number, **how) for number in range(self.line.conduct.repeat)]
        async with self._floor.place(alone=alone):
            if alone:
                attempts = [await _attempt(check, probe) for probe in probes]
            else:
                attempts = await asyncio.gather(*(_attempt(check, probe) for probe in probes))
        return summed(attempts)

    async def aclose(self) -> None:
        """Stop running checks and close the connections."""
        tasks = [*self._running.values(), *self._rounds.values(), *self.line.shared.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.line.client.aclose()


async def _attempt(check: Check, probe: Probe) -> Outcome:
    try:
        await check.judge(probe)
    except NotHeld as end:
        return Outcome.of(check, end, probe)
    except BenchmarkError as error:
        return Outcome(check, "error", {"error": 1}, error.message, error=error)
    except Exception as found:  # an answer that no check was written for must not end the others
        text = f"{check.name}: {type(found).__name__}: {found}"
        trouble = HarnessError(HarnessTrouble.WIRE, text)
        return Outcome(check, "error", {"error": 1}, text, tuple(probe.exchanges[-1:]), error=trouble)
    if not probe.called:
        return Outcome.of(check, NotCalled("no answer to this check held a call", *probe.exchanges[:1]), probe)
    return Outcome(check, "held", {"held": 1}, called=1, figures=probe.figures)


class _Floor:
    """Many at once, or one alone: a check that must be alone waits until no other runs, and blocks others."""

    def __init__(self) -> None:
        self._count = 0
        self._alone = asyncio.Lock()
        self._empty = asyncio.Condition()

    @asynccontextmanager
    async def place(self, *, alone: bool) -> AsyncIterator[None]:
        if alone:
            async with self._alone, self._empty:
                await self._empty.wait_for(lambda: self._count == 0)
                yield
            return
        async with self._empty:
            self._count += 1
        try:
            yield
        finally:
            async with self._empty:
                self._count -= 1
                self._empty.notify_all()


def examiner_of(place: Place, settings: Settings) -> Examiner:
    """The checks of the place's API over HTTP, with the settings' attempts, concurrency, limits and retries."""
    client = WireClient(
        place.server,
        concurrency=settings.first_concurrency,
        limit_s=min(settings.timeout_s, settings.request_limit_s),
    )
    conduct = Conduct(
        repeat=settings.repeat,
        seed=settings.seed,
        temperature=settings.temperature,
        retries=settings.retries,
        schemas=settings.wire_schemas,
    )
    line = Line(client, DIALECTS[place.api](), place.model, conduct, place.parameters)
    return Examiner(line, checks_for(place.api))
