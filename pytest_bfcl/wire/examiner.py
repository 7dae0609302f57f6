"""Runs checks side by side and keeps what came of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from pytest_bfcl.failures import BenchmarkError, HarnessError
from pytest_bfcl.wire.check import Check
from pytest_bfcl.wire.ends import Broke, Ending, NotCalled, Refused
from pytest_bfcl.wire.outcome import Attempt, Outcome, summed
from pytest_bfcl.wire.probe import Line, Probe

CROSSTALK = "crosstalk"
"""The check that asks many things at once."""


class Examiner:
    """The checks of one endpoint, each run once (``repeat`` attempts) however often it is wanted.

    Checks that must be alone wait until no other runs. A check that broke is not judged when one it builds on broke.
    """

    def __init__(self, line: Line, checks: Iterable[Check]) -> None:
        self.line = line
        self.checks: Mapping[str, Check] = {check.name: check for check in checks}
        self._running: dict[str, asyncio.Task[Outcome]] = {}
        self._floor = _Floor()

    async def outcomes(self, names: Iterable[str] | None = None) -> list[Outcome]:
        """Outcomes of the named checks (default: all), in order; raises `AdapterError` when the endpoint is not
        there.
        """
        tasks = [self.start(name) for name in (self.checks if names is None else names)]
        await asyncio.gather(*tasks, return_exceptions=True)
        return [task.result() for task in tasks]

    def start(self, name: str) -> asyncio.Task[Outcome]:
        """Begin with a check, or find it begun."""
        if name not in self._running:
            self._running[name] = asyncio.create_task(self._examine(self.checks[name]), name=f"wire:{name}")
        return self._running[name]

    async def _examine(self, check: Check) -> Outcome:
        outcome = await self._attempts(check, alone=check.alone)
        if outcome.state != "broke":
            return outcome
        for name in check.after:
            if name in self.checks and (root := await self.start(name)).state in ("broke", "blocked"):
                return outcome.blocked(root.blocked_by or name)
        return outcome if check.alone else await self._confirmed(check, outcome)

    async def _confirmed(self, check: Check, outcome: Outcome) -> Outcome:
        """A rule that is broken only while other requests run is a matter of `CROSSTALK`."""
        if (await self._attempts(check, alone=True)).state != "held":
            return outcome
        if CROSSTALK in self.checks and (await self.start(CROSSTALK)).state == "broke":
            return outcome.blocked(CROSSTALK)
        return replace(outcome, why=f"{outcome.why} (while other requests ran; asked again alone, it held)")

    async def _attempts(self, check: Check, *, alone: bool) -> Outcome:
        async with self._floor.taken(alone=alone):
            attempts = await asyncio.gather(*(self._attempt(check, n) for n in range(self.line.conduct.repeat)))
        return summed(check, attempts)

    async def _attempt(self, check: Check, number: int) -> Attempt:
        probe = Probe(self.line, check.name, number, optional=check.optional)
        try:
            await check.judge(probe)
        except Broke as end:
            return _ended("broke", end, probe)
        except Refused as end:
            return _ended("refused" if check.optional else "broke", end, probe)
        except NotCalled as end:
            return _ended("not_called", end, probe)
        except BenchmarkError as error:
            return Attempt("error", error.message, error=error)
        except Exception as error:  # an answer that no check was written for must not end the others
            text = f"{check.name}: {type(error).__name__}: {error}"
            return Attempt("error", text, tuple(probe.exchanges[-1:]), error=HarnessError("wire", text))
        if not probe.called:
            return _ended("not_called", NotCalled("no answer to this check held a call", *probe.exchanges[:1]), probe)
        return Attempt("held", figures=probe.figures)

    async def aclose(self) -> None:
        """Give up what still runs and close the connections."""
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)
        await self.line.client.transport.aclose()

    @property
    def trigger_rate(self) -> float | None:
        """Share of finished attempts in which the model called where it plainly should; ``None`` before any."""
        done = [task.result() for task in self._running.values() if task.done() and not task.cancelled()]
        return trigger_rate(done)


def trigger_rate(outcomes: Iterable[Outcome]) -> float | None:
    """Share of attempts in which the model called as it was plainly asked; ``None`` when nothing was asked."""
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts.update(outcome.counts)
    asked = counts["held"] + counts["broke"] + counts["not_called"]
    return (counts["held"] + counts["broke"]) / asked if asked else None


def _ended(state: str, end: Ending, probe: Probe) -> Attempt:
    return Attempt(state, end.why, end.exchanges[:3], end.proof, getattr(end, "certain", True), figures=probe.figures)


class _Floor:
    """Many at once, or one alone: who wants to be alone waits until the floor is empty and keeps it so."""

    def __init__(self) -> None:
        self._count = 0
        self._alone = asyncio.Lock()
        self._empty = asyncio.Condition()

    @asynccontextmanager
    async def taken(self, *, alone: bool) -> AsyncIterator[None]:
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
