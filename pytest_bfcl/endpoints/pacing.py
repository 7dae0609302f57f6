"""The default number of requests in flight: more while the rate grows with them, fewer otherwise.

`Pace` is the control law: it receives every finished request and has no clock, no sockets and no randomness. `Gate`
admits requests by the law. The law judges epochs, each of about as many finished requests as may be in flight (one
round trip). Requests sent under another limit are left out: an epoch begins when as many requests have finished as were
in flight before.

- **Start**: nearly one more for every answer, fewer the longer answers take than the first did, while the rate of
  answers grows from epoch to epoch. A start that overshoots ends early, by time, and falls back to the number that the
  best rate needs at the latency of an idle server (Little's law).
- **Afterwards**: a step up or down is a trial, kept if the rate follows it at least by `ELASTICITY` (a smaller effect
  only makes requests wait at the server). A step up is also kept while answers take no longer than before. A limit at
  which the rate fell is a ceiling that is approached in small steps. After trials without effect the next one waits
  longer. If the rate falls far below the recent best one, the limit falls back as at the start.
- **Refusals** (429, 503, no answer in time): a refusal keeps its place about as long as an answer would. Above a share
  of 15 % the limit becomes the number answered at a time, below 3 % more are tried. Several in a row with a waiting
  time close the gate for that time. A server that only refuses (it restarts) gets a quarter of the requests; when it
  answers, the start is repeated up to the earlier limit."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from pytest_bfcl.failures import AdapterError, HarnessError
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

_REFUSED = frozenset((AdapterTrouble.RATE_LIMIT, AdapterTrouble.TIMEOUT))
LEAST_ANSWERS = 16
"""Least answers of an epoch: fewer do not show a rate."""
GROWTH = 1.08
"""Growth of the rate in an epoch at which the start continues."""
EAGERNESS = 0.85
"""How many more are admitted for an answer of the start that took no longer than the first ones."""
SLOW, FAST = 1.8, 1.2
"""Latencies, as multiples of the shortest mean, of answers that add nothing and of those that add the full step."""
OVERSHOT = 0.7
"""A rate below this share of the best one is not noise."""
OVERSHOT_S = 2.5
"""Multiples of the shortest mean latency after which an epoch of the start is judged, with any number of answers."""
ELASTICITY = 0.15
CALM, NOISE = 1.1, 0.5
"""The mean latency of a server without a queue, in multiples of the shortest; a mean of ``n`` may be higher by the
second value over the root of ``n``."""
STRETCHED = 1.33
STEPS = (0.33, 0.16, 0.12)
"""Shares of the limit by which it changes: less after a failed trial, more after a successful one."""
CAREFUL = 0.14
"""The largest step near the ceiling, and downwards."""
FORGETTING = 1.015
"""Growth of the ceiling an epoch, because servers change."""
FEW, MANY = 0.03, 0.15
"""Shares of refusals up to which more are tried, and above which fewer are admitted."""
LONGEST_REST = 16
LONGEST_KEPT_S = 1.0
LONGEST_CLOSED_S = 120.0
"""A longer waiting time is that of a quota, which the breaker handles."""
GOLDEN = 0.618034
"""Its multiples fill an interval evenly, for any number of them."""
UNKNOWN_S = 0.5
"""Assumed latency before the first answer."""


@dataclass
class Epoch:
    """Requests finished since `since` (s), without the first ``unsettled``, which were sent under another limit."""

    since: float
    unsettled: int = 0
    patience_s: float = math.inf
    """After this time it begins, with any number of unsettled ones."""
    answers: int = 0
    refusals: int = 0
    idle: int = 0
    """Answers after which no request waited."""
    latency_s: float = 0.0
    """Sum of the latencies of all answers."""

    def began(self, now: float) -> bool:
        """Whether requests that finish now count."""
        if self.unsettled <= 0:
            return True
        self.unsettled -= 1
        if self.unsettled <= 0 or now - self.since > self.patience_s:
            self.since, self.unsettled = now, 0
        return False

    @property
    def finished(self) -> int:
        """Answers and refusals."""
        return self.answers + self.refusals

    @property
    def refused_share(self) -> float:
        """Share of refusals."""
        return self.refusals / self.finished

    @property
    def mean_s(self) -> float:
        """Mean latency of the answers."""
        return self.latency_s / max(self.answers, 1)


class Pace:
    """How many requests may be in flight, at most ``most``."""

    def __init__(self, most: int, start: int = 32) -> None:
        self.most = max(1, most)
        self.limit = self._first = max(1, min(start, self.most))
        self.refused = 0
        """Refusals so far."""
        self.closed_until = -math.inf
        """No request may be sent before this time (s)."""
        self.usual_s = UNKNOWN_S
        """The approximate latency of an answer (s). See `hold_s`."""
        self._kept = 0.0
        self._answered = 0
        self._epoch: Epoch | None = None
        # Refusals one after the other, and when the first of them came.
        self._row, self._row_since = 0, -math.inf
        # The first requests, sent together, tell the latency without a bias to the short ones.
        self._first_answer: float | None = None
        self._firsts, self._first_latency = 0, 0.0
        self._shortest: float | None = None
        self._best = 0.0  # rate lately
        self._ceiling = math.inf
        # A trial: the limit and the rate before it; what the next one is of; epochs until then.
        self._before: int | None = None
        self._rate = 0.0
        self._more, self._step = True, 0
        self._rest, self._next_rest = 0, 1
        self._down: int | None = None  # the limit before a server did nothing but refuse
        self._start_up_to(self.most)

    def _start_up_to(self, goal: int) -> None:
        self._starting, self._goal = True, goal
        self._grown, self._flat = 0.0, 0  # parts of a request; epochs without growth
        self._doubled = 2 * self.limit
        self._best, self._before = 0.0, None

    def answered(self, now: float, latency_s: float, *, wanted: bool) -> None:
        """An answer after ``latency_s`` at the time ``now`` (s); ``wanted``: more requests waited to be sent."""
        self._note_latency(now, latency_s)
        if now - latency_s > self._row_since:
            self._row = 0
        if self._down is not None:
            self._start_up_to(self._down)
            self._down, self._epoch = None, Epoch(now)
        epoch = self._epoch = self._epoch or Epoch(now - latency_s)
        if self._starting and wanted:
            self._grow(latency_s)
        if epoch.began(now):
            epoch.answers += 1
            epoch.latency_s += latency_s
            epoch.idle += not wanted
            self._judge(epoch, now)

    def _note_latency(self, now: float, latency_s: float) -> None:
        self._answered += 1
        self.usual_s += max(0.1, 1 / self._answered) * (latency_s - self.usual_s)
        if self._first_answer is None:
            self._first_answer = now
        if now - latency_s <= self._first_answer and self._firsts < self._first:
            self._firsts += 1
            self._first_latency += latency_s
            if self._shortest is None and self._firsts >= 0.9 * self._first:
                self._shortest = self._first_latency / self._firsts

    def _grow(self, latency_s: float) -> None:
        """One more, or a part of it, while the last epoch grew and the limit has not doubled since."""
        if self._flat or self.limit >= min(self._goal, self._doubled):
            return
        shortest = self._shortest or self._first_latency / max(self._firsts, 1) or latency_s
        self._grown += EAGERNESS * min(1.0, max(0.0, (SLOW - latency_s / max(shortest, 1e-9)) / (SLOW - FAST)))
        if self._grown >= 1:
            self._grown -= 1
            self.limit += 1

    def hold_s(self) -> float:
        """How long a refusal keeps its place (s): about as long as an answer takes, or a second.

        If it freed its place at once, hundreds would follow. The times are spread evenly between half and one and a
        half of that, because places that become free together are refused together.
        """
        self._kept = (self._kept + GOLDEN) % 1.0
        return min(self.usual_s, LONGEST_KEPT_S) * (0.5 + self._kept)

    def refused_at(self, now: float, retry_after_s: float | None = None) -> None:
        """A request was refused for a limit of the server, perhaps with a waiting time, or timed out.

        One waiting time applies to that request, several in a row to all.
        """
        self.refused += 1
        if not self._row:
            self._row_since = now
        self._row += 1
        if retry_after_s and retry_after_s <= LONGEST_CLOSED_S and self._row >= max(3, self.limit // 4):
            self.closed_until, self._row = max(self.closed_until, now + retry_after_s), 0
        epoch = self._epoch
        if epoch is not None and epoch.began(now):
            epoch.refusals += 1
            self._judge(epoch, now)

    def _judge(self, epoch: Epoch, now: float) -> None:
        """The effect of a finished epoch."""
        elapsed = now - epoch.since
        if elapsed <= 0 or not self._over(epoch, elapsed):
            return
        self._epoch = Epoch(now)
        rate = epoch.answers / elapsed
        if not epoch.answers:
            if self._down is None and epoch.finished >= self.limit // 2:
                self._down = self.limit
                self._set(max(1, self.limit // 4), now)
        elif epoch.refused_share > MANY:
            self._fewer(rate * epoch.mean_s, now)
        elif epoch.refused_share > FEW:
            self._starting, self._before = False, None
        elif epoch.idle > epoch.answers / 10:
            pass  # nobody waited: it says nothing
        elif self._starting:
            self._started(rate, epoch.mean_s, now)
        else:
            self._shortest = min(epoch.mean_s, 1.01 * (self._shortest or epoch.mean_s))
            self._go_on(rate, epoch, now)

    def _over(self, epoch: Epoch, elapsed: float) -> bool:
        if epoch.finished < LEAST_ANSWERS:
            return epoch.finished >= LEAST_ANSWERS // 2 and elapsed >= 4 * self.usual_s
        if self._starting and elapsed >= OVERSHOT_S * (self._shortest or self.usual_s):
            return True
        return epoch.finished >= self.limit * (1.5 if self._before is not None else 1) or elapsed >= 4 * self.usual_s

    def _fewer(self, busy: float, now: float) -> None:
        """The number answered at a time, by Little's law: refused ones took no place."""
        self._starting, self._before = False, None
        self._rest = self._step = 1
        self._best, self._ceiling = 0.0, 1.2 * self.limit
        self._set(max(self.limit // 2, min(self.limit, math.ceil(busy)), 1), now)

    def _started(self, rate: float, mean_s: float, now: float) -> None:
        """After an epoch of the start: continue, or end it."""
        self._flat = 0 if rate >= GROWTH * self._best else self._flat + 1
        self._best = max(rate, self._best)
        self._doubled = 2 * self.limit
        if (self._flat < 2 and self.limit < self._goal and rate > OVERSHOT * self._best) or self._shortest is None:
            return
        self._starting = False
        if mean_s > STRETCHED * self._shortest and rate < 0.9 * self._best:
            self._fall_back(now)
        else:
            self._set(self.limit, now)

    def _fall_back(self, now: float) -> None:
        """Change to the number that gives the best rate without waiting."""
        aim = max(1, round(self._best * (self._shortest or self.usual_s)))
        self._best, self._ceiling, self._before = 0.0, 1.3 * aim, None
        self._more, self._step, self._rest = True, 1, 0
        if aim < 0.9 * self.limit:
            self._set(aim, now)

    def _go_on(self, rate: float, epoch: Epoch, now: float) -> None:
        assert self._shortest is not None
        mean, shortest = epoch.mean_s, self._shortest
        self._best = max(rate, 0.98 * self._best)
        self._ceiling *= FORGETTING
        calm = mean <= (CALM + NOISE / math.sqrt(epoch.answers)) * shortest
        roomy = calm and 1.25 * self.limit < self._ceiling
        if self._before is not None:
            self._end_trial(self._before, rate, now, calm=calm)
        elif mean > STRETCHED * shortest and rate < 0.75 * self._best:
            self._fall_back(now)
        elif self._rest > 0 and not roomy:
            self._rest -= 1
        else:
            self._more = self._more or roomy
            self._try(rate, now)

    def _end_trial(self, before: int, rate: float, now: float, *, calm: bool) -> None:
        """Keep the trial and start another, or undo it."""
        more = self.limit > before
        if rate >= self._rate * (self.limit / before) ** ELASTICITY or (more and calm and rate > 0.97 * self._rate):
            self._next_rest = 1
            self._step = max(0, self._step - 1)
            self._try(rate, now)
            return
        if more:
            self._ceiling = self.limit
        self._set(before, now)
        self._before = None
        self._more, self._step = not more, min(self._step + 1, len(STEPS) - 1)
        self._rest, self._next_rest = self._next_rest, min(2 * self._next_rest, LONGEST_REST)

    def _try(self, rate: float, now: float) -> None:
        """Change the limit and observe the rate."""
        share = STEPS[self._step]
        if not self._more or 1.4 * self.limit >= self._ceiling:
            share = min(share, CAREFUL)
        step = max(1, round(self.limit * share))
        changed = min(self.limit + step, self.most) if self._more else max(1, self.limit - step)
        if changed == self.limit:
            self._before, self._more, self._rest = None, not self._more, LONGEST_REST
            return
        self._before, self._rate = self.limit, rate
        self._set(changed, now)

    def _set(self, limit: int, now: float) -> None:
        self._epoch = Epoch(now, max(self.limit, limit), 4 * self.usual_s)
        self.limit = limit


class Gate:
    """Admits requests in order, as many at a time as a `Pace` allows. For one event loop.

    ``stop_reason`` returns why no more may be sent (a spent budget); then waiting callers get a `HarnessError` of kind
    ``stopped``.
    """

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.stop_reason: Callable[[], str | None] | None = None
        self.inside = 0  # requests in flight, and places of those just refused
        self.highest = 0
        """The largest number of requests that were in flight at once."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._opening: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        if self._has_room() and not self._waiting:
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
        """The request may have waited long: release its place if nothing may be sent any more."""
        reason = self.stop_reason() if self.stop_reason is not None else None
        if reason is not None:
            self._leave()
            raise HarnessError(HarnessTrouble.STOPPED, reason)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, AdapterError) and (error.kind in _REFUSED or error.status == 503):
            loop = asyncio.get_running_loop()
            self.pace.refused_at(loop.time(), error.retry_after_s)
            loop.call_later(self.pace.hold_s(), self._leave)
        else:
            self._leave()

    def answered(self, latency_s: float) -> None:
        """Report an answer to the law, from inside."""
        self.pace.answered(asyncio.get_running_loop().time(), latency_s, wanted=bool(self._waiting))

    def _has_room(self) -> bool:
        """Whether one more may enter; a closed gate opens by itself."""
        loop = asyncio.get_running_loop()
        if loop.time() < self.pace.closed_until:
            if self._opening is None or self._opening.cancelled():
                self._opening = loop.call_at(self.pace.closed_until, self._opened)
            return False
        return self.inside < self.pace.limit

    def _opened(self) -> None:
        self._opening = None
        self._let_in()

    def _enter(self) -> None:
        self.inside += 1
        self.highest = max(self.highest, self.inside)

    def _leave(self) -> None:
        self.inside -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._has_room():
            turn = self._waiting.popleft()
            if not turn.done():
                self._enter()
                turn.set_result(None)
