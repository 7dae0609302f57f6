"""How many requests are in flight when nobody says so: more while the rate grows with them, fewer when it does not.

`Pace` is the control law: it is told of every finished request and has no clock, no sockets and no randomness of its
own. `Gate` lets requests through as the law says.

The law works in epochs, each about as many finished requests as are let through at a time (one round trip):

- **Start**: one more for every answer, which doubles the number in a round trip, while the rate of answers grows by at
  least a quarter an epoch. Then the rate times the shortest mean latency says how many the server works on.
- **Going on**: while the mean latency is within a tenth of the shortest (a little more where few answers tell), nobody
  waits at the server's, and a third more is let through, a tenth near where requests were refused. Else a tenth more
  is tried, and kept if the rate rises by 3 %; or, above all where the latency is a third above the shortest, fewer, and
  kept if the rate falls by less than 2 %. After trials that brought nothing the next one waits longer.
- **Refusals** (429, 503, no answer in time): a refusal keeps its place about as long as an answer would. Beyond a share
  of 15 % as many are let through as were answered at a time, below 3 % more are tried.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from types import TracebackType

from pytest_bfcl.failures import AdapterError, HarnessError

_REFUSED = frozenset(("rate_limit", "timeout"))
LEAST_ANSWERS = 20
"""Answers of an epoch at least: fewer say nothing about a rate."""
GROWTH = 1.12
GAIN, LOSS = 1.03, 0.98
FEW, MANY = 0.03, 0.15
"""Shares of refusals up to which more are tried, and beyond which fewer are let through. What is refused is asked again
after a pause, so a server that refuses a few is not waiting for us, and nobody is refused six times in a row."""
UNSTRETCHED, STRETCHED = 1.1, 1.33
NOISE = 1.0
"""A mean of ``n`` latencies may be beyond that by this over the root of ``n``: few of them say little."""
FLAT = 2
SPARE = 1.15
"""What is added to the number a server works on, so that it never waits for the next request."""
LONGEST_REST = 16
LONGEST_KEPT_S = 1.0
GOLDEN = 0.618034
"""Multiples of it fill an interval evenly, however many there are."""
UNKNOWN_S = 0.5
"""Latency that is assumed before the first answer."""


class Pace:
    """How many requests may be in flight, at most ``most``."""

    def __init__(self, most: int, start: int = 32) -> None:
        self.most = max(1, most)
        self.limit = self._first = max(1, min(start, self.most))
        self.refused = 0
        """Refusals so far."""
        self.usual_s = UNKNOWN_S
        """About the latency of an answer (s). See `kept_s`."""
        self._kept = 0.0
        self._starting = True
        self._flat = 0  # epochs of the start without growth
        self._first_answer: float | None = None
        self._firsts = 0
        self._first_latency = 0.0
        self._ceiling = math.inf  # about where requests were refused
        self._more = True  # what the next trial is of
        self._rate: float | None = None  # of the epoch before (starting), or to compare a trial with
        self._shortest: float | None = None
        self._before: int | None = None  # the limit before the trial that is going on
        self._rest = 0  # epochs until the next trial
        self._next_rest = 1
        self._begin(None)

    def _begin(self, now: float | None) -> None:
        self._since = now
        self._answers = self._refusals = self._idle = 0
        self._latency = 0.0

    def answered(self, now: float, latency_s: float, *, wanted: bool) -> None:
        """An answer that took ``latency_s``, at the time ``now`` (s); ``wanted``: more requests waited to be sent."""
        self._note_first(now, latency_s)
        self.usual_s += 0.1 * (latency_s - self.usual_s)
        if self._since is None:
            self._since = now - latency_s
        if now < self._since:
            return
        self._answers += 1
        self._latency += latency_s
        self._idle += not wanted
        if self._starting and wanted:
            self.limit = min(self.limit + 1, self.most)
        self._ended(now)

    def _note_first(self, now: float, latency_s: float) -> None:
        """The first requests, sent together, tell the latency without a bias to the short ones."""
        if self._first_answer is None:
            self._first_answer = now
        if now - latency_s <= self._first_answer and self._firsts < self._first:
            self._firsts += 1
            self._first_latency += latency_s

    def kept_s(self) -> float:
        """How long the place of a refusal stays taken (s): about as long as an answer takes, or a second.

        Hundreds would follow a refusal that freed its place at once. Spread evenly between half and one and a half of
        that: places that become free together are refused together.
        """
        self._kept = (self._kept + GOLDEN) % 1.0
        return min(self.usual_s, LONGEST_KEPT_S) * (0.5 + self._kept)

    def refused_at(self, now: float) -> None:
        """A request was refused for a limit of the server's, or not answered in time."""
        self.refused += 1
        if self._since is not None and now >= self._since:
            self._refusals += 1
            self._ended(now)

    def _ended(self, now: float) -> None:
        """Judge the epoch, when it is over."""
        # The number doubles while it is starting; a trial is told from noise by more answers.
        wanted = self.limit // 2 if self._starting else self.limit * (1 if self._rate is None else 2)
        if self._answers + self._refusals < max(LEAST_ANSWERS, wanted):
            return
        assert self._since is not None
        elapsed = now - self._since
        if elapsed <= 0:
            return
        rate, mean = self._answers / elapsed, self._latency / max(self._answers, 1)
        share = self._refusals / (self._answers + self._refusals)
        answers, idle = self._answers, self._idle > self._answers / 10
        self._begin(now)
        if share > MANY:
            self._fewer(rate * mean, now)
        elif share > FEW:
            self._starting, self._before = False, None
        elif not idle and self._starting:
            self._start(rate, now)
        elif not idle:
            self._shortest = mean if self._shortest is None else min(mean, 1.01 * self._shortest)
            self._go_on(rate, mean, answers, now)

    def _fewer(self, busy: float, now: float) -> None:
        """As many as were answered at a time, by Little's law: those refused took no place."""
        self._starting = False
        self._before = self._rate = None
        self._rest = 1
        self._ceiling = max(self.limit // 2, min(self.limit, math.ceil(busy)), 1)
        self._set(int(self._ceiling), now)

    def _start(self, rate: float, now: float) -> None:
        grown = self._rate is None or rate >= GROWTH * self._rate
        self._rate = rate if self._rate is None else max(rate, self._rate)
        self._flat = 0 if grown else self._flat + 1
        if self._flat < FLAT and self.limit < self.most:
            return
        self._starting = False
        self._shortest = self._first_latency / self._firsts if self._firsts > 0.9 * self._first else None
        if self._flat:
            busy = round(SPARE * self._rate * self._shortest) + 1 if self._shortest is not None else 0
            self._set(max(1, min(max(busy, self.limit // 3), self.limit)), now)
            self._more = False
        self._rate = None

    def _go_on(self, rate: float, mean: float, answers: int, now: float) -> None:
        if self._before is not None and self._rate is not None:
            more = self.limit > self._before
            if rate >= (GAIN if more else LOSS) * self._rate:
                self._next_rest = 1
                self._rate = rate if more else max(rate, 0.99 * self._rate)
                self._try(now, mean)
            else:
                self._set(self._before, now)
                self._before = self._rate = None
                self._more = not more
                self._rest, self._next_rest = self._next_rest, min(2 * self._next_rest, LONGEST_REST)
        elif self._rest > 0:
            self._rest -= 1
        elif self._shortest is None or mean <= (UNSTRETCHED + NOISE / math.sqrt(answers)) * self._shortest:
            # Nobody waits at the server's.
            step = max(1, self.limit // (3 if 1.2 * self.limit < self._ceiling else 10))
            self._ceiling *= 2
            self._set(min(self.limit + step, self.most), now)
        else:
            self._rate = rate
            self._try(now, mean)

    def _try(self, now: float, mean: float) -> None:
        """Change the limit, and see what becomes of the rate."""
        waited = self._shortest is not None and mean > STRETCHED * self._shortest
        step = max(1, self.limit // (4 if waited and not self._more else 8))
        changed = min(self.limit + step, self.most) if self._more else max(1, self.limit - step)
        if changed == self.limit:
            self._before = self._rate = None
            self._more = not self._more
            self._rest = LONGEST_REST
            return
        self._before = self.limit
        self._set(changed, now)

    def _set(self, limit: int, now: float) -> None:
        self.limit = limit
        self._begin(now + self.usual_s)  # what is answered until then was sent under another limit


class Gate:
    """Lets requests through in the order they come, as many at a time as a `Pace` says. For one event loop.

    ``stop_reason`` says why no more of them may be sent (a spent budget): whoever waits then gets a `HarnessError` of
    kind ``stopped``.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.stop_reason: Callable[[], str | None] | None = None
        self.inside = 0  # requests in flight, and places of those just refused
        self.highest = 0
        """The most requests that were in flight at once."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self.inside < self.pace.limit and not self._waiting:
            self._enter()
            self._check()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn  # whoever lets it through counts it
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise
        self._check()

    def _check(self) -> None:
        """Whoever was let through may have waited long: give the place back where nothing may be sent any more."""
        reason = self.stop_reason() if self.stop_reason is not None else None
        if reason is not None:
            self._leave()
            raise HarnessError("stopped", reason)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, AdapterError) and (error.kind in _REFUSED or error.status == 503):
            loop = asyncio.get_running_loop()
            self.pace.refused_at(loop.time())
            loop.call_later(self.pace.kept_s(), self._leave)
        else:
            self._leave()

    def answered(self, latency_s: float) -> None:
        """Tell the law of an answer, from inside."""
        self.pace.answered(asyncio.get_running_loop().time(), latency_s, wanted=bool(self._waiting))

    def _enter(self) -> None:
        self.inside += 1
        self.highest = max(self.highest, self.inside)

    def _leave(self) -> None:
        self.inside -= 1
        while self._waiting and self.inside < self.pace.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._enter()
                turn.set_result(None)
