"""Servers in virtual time: how they answer depends on how many requests they have, and on the time."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Latency = Callable[[random.Random], float]


@dataclass(frozen=True)
class Answer:
    """When it is there (s), whether it is one or a refusal, and how long a refusal asks to wait (s)."""

    at: float
    good: bool = True
    retry_after_s: float | None = None


class Server(Protocol):
    def ask(self, now: float, rng: random.Random) -> Answer: ...


def noisy(mean_s: float, spread: float) -> Latency:
    """Long-tailed latencies of this mean."""
    return lambda rng: mean_s * rng.lognormvariate(-spread * spread / 2, spread)


def constant(seconds: float) -> Latency:
    return lambda rng: seconds


def tokens(rng: random.Random) -> float:
    """5 to 60 tokens of 50 ms."""
    return 0.05 * rng.randint(5, 60)


class Queue:
    """Works on so many requests at a time; the others wait in line."""

    def __init__(self, slots: int, latency: Latency) -> None:
        self.free, self.latency = [0.0] * slots, latency

    def ask(self, now: float, rng: random.Random) -> Answer:
        end = max(now, heapq.heappop(self.free)) + self.latency(rng)
        heapq.heappush(self.free, end)
        return Answer(end)


class Shared:
    """Takes all there are, each slower by a number that depends on how many those are, and on the time."""

    def __init__(self, latency: Latency, slowed: Callable[[int, float], float] = lambda busy, now: 1.0) -> None:
        self.latency, self.slowed = latency, slowed
        self.ends: list[float] = []

    def busy(self, now: float) -> int:
        while self.ends and self.ends[0] <= now:
            heapq.heappop(self.ends)
        return len(self.ends)

    def ask(self, now: float, rng: random.Random) -> Answer:
        end = now + self.latency(rng) * self.slowed(self.busy(now) + 1, now)
        heapq.heappush(self.ends, end)
        return Answer(end)


class Slots(Shared):
    """Works on so many at a time, refuses the others (503)."""

    def __init__(self, slots: int, latency: Latency) -> None:
        super().__init__(latency)
        self.slots = slots

    def ask(self, now: float, rng: random.Random) -> Answer:
        return Answer(now + 0.005, False) if self.busy(now) >= self.slots else super().ask(now, rng)


class Bucket:
    """So many requests a second, a quarter of a second's worth at once; refuses the others (429)."""

    def __init__(self, rate: float, latency: Latency, retry_after_s: float | None = None) -> None:
        self.rate, self.latency, self.retry_after_s = rate, latency, retry_after_s
        self.left, self.at = rate / 4, 0.0

    def ask(self, now: float, rng: random.Random) -> Answer:
        self.left, self.at = min(self.rate / 4, self.left + (now - self.at) * self.rate), now
        if self.left < 1:
            return Answer(now + 0.01, False, self.retry_after_s)
        self.left -= 1
        return Answer(now + self.latency(rng))


class Window:
    """So many requests in each window of time; refuses the others with the time until the next (429, Retry-After)."""

    def __init__(self, most: int, seconds: float, latency: Latency) -> None:
        self.most, self.seconds, self.latency = most, seconds, latency
        self.number, self.used = -1, 0

    def ask(self, now: float, rng: random.Random) -> Answer:
        number = int(now // self.seconds)
        if number != self.number:
            self.number, self.used = number, 0
        if self.used >= self.most:
            return Answer(now + 0.01, False, float(math.ceil((number + 1) * self.seconds - now)))
        self.used += 1
        return Answer(now + self.latency(rng))


class Restarted:
    """Drops what it works on at a time, refuses everything for a while, goes on."""

    def __init__(self, inner: Server, at: float, down_s: float) -> None:
        self.inner, self.at, self.up = inner, at, at + down_s

    def ask(self, now: float, rng: random.Random) -> Answer:
        if self.at <= now < self.up:
            return Answer(now + 0.005, False)
        answer = self.inner.ask(now, rng)
        return Answer(self.at, False) if now < self.at < answer.at else answer


def beyond(capacity: float | Callable[[float], float], power: float) -> Callable[[int, float], float]:
    """Slower by a power of how many times the capacity is exceeded."""

    def slowed(busy: int, now: float) -> float:
        most = capacity(now) if callable(capacity) else capacity
        return max(1.0, busy / most) ** power

    return slowed


def in_a_batch(half: int) -> Callable[[int, float], float]:
    """Each slower by what the others take: the rate grows with ever less."""
    return lambda busy, now: 1 + busy / half
