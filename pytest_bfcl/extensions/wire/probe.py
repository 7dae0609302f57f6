"""Tools of a check: fresh words, both forms of an answer, the decision whether model or server was at fault. `NotHeld`
and its kinds are the ends of a check whose rule was not met.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_bfcl.extensions.wire.chat import Chat, Completions
from pytest_bfcl.extensions.wire.client import WireClient
from pytest_bfcl.extensions.wire.differences import Match, Wanted, compare
from pytest_bfcl.extensions.wire.messages import Messages
from pytest_bfcl.extensions.wire.replies import Exchange, Reply
from pytest_bfcl.extensions.wire.requests import Request
from pytest_bfcl.extensions.wire.responses import Responses
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.troubles import AdapterTrouble

Dialect = Chat | Responses | Messages | Completions
DIALECTS: Mapping[str, Callable[[], Dialect]] = {
    dialect.name: dialect for dialect in (Chat, Responses, Messages, Completions)
}
"""Name of an API (``--bfcl-api``) → how requests are written and answers read."""


class NotHeld(Exception):
    """The end of a check whose rule was not met. ``exchanges`` prove it; ``proof`` is the relevant part of the bytes;
    ``cells`` names the matrix cells.
    """

    state: str

    def __init__(self, why: str, *shown: Reply | Exchange, proof: bytes = b"", cells: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.why = why
        self.cells = cells
        self.exchanges = tuple(each if isinstance(each, Exchange) else each.exchange for each in shown)
        self.proof = proof


class Broke(NotHeld):
    """The server broke the rule. ``certain`` is false if a strange model could have done the same."""

    state = "broke"
    certain = True


class LikelyBroke(Broke):
    """The rule is broken in a way that a model could cause, but none is known to."""

    certain = False


class Suspected(LikelyBroke):
    """The same request has a right answer in one form and a wrong one in another: counts if it recurs."""


class NotCalled(NotHeld):
    """The model did not follow a plain order: the server is not blamed."""

    state = "not_called"


class Refused(NotHeld):
    """The server reports with a 4xx that it does not offer this."""

    state = "refused"


class Blocked(NotHeld):
    """Not judged: the rule named ``by`` explains the findings."""

    state = "blocked"

    def __init__(self, by: str) -> None:
        super().__init__(f"not judged: {by} is broken")
        self.by = by


T = TypeVar("T")
_LETTERS = "bcdfghjkmnpqrstvwxz"
_RETRIED = (429, 502, 503, 504)
_ADAPTED = ("temperature", "max_tokens")


@dataclass(frozen=True, slots=True)
class Conduct:
    """Settings of checks. ``slack_s``: additional time for a busy server; ``wait_s``: between retries; ``schemas``:
    number of generated ones.
    """

    repeat: int = 1
    seed: int = 0
    temperature: float | None = 0.0
    retries: int = 3
    wait_s: float = 1.0
    slack_s: float = 2.0
    schemas: int = 40


class Line:
    """The connection to one model: client, dialect, and the learnt parameters of the endpoint."""

    def __init__(
        self,
        client: WireClient,
        dialect: Dialect,
        model: str,
        conduct: Conduct,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.client = client
        self.dialect = dialect
        self.model = model
        self.conduct = conduct
        self.parameters = dict(parameters or {})
        self.renamed: dict[str, str | None] = {}
        self.shared: dict[tuple[str, int], asyncio.Task[Any]] = {}

    def body(self, request: Request) -> Parsed:
        """The request with the parameters that the endpoint accepts."""
        body = self.dialect.body(request, self.model)
        if self.conduct.temperature is not None:
            body["temperature"] = self.conduct.temperature
        body |= self.parameters
        return {
            name: value
            for key, value in body.items()
            if (name := self.renamed.get(key, key)) is not None and value is not None
        }

    def learn(self, exchange: Exchange, body: Parsed) -> bool:
        """Whether the refusal shows the right parameters: reasoning models accept no temperature, and have another
        limit.
        """
        if exchange.status not in (400, 422):
            return False
        for name in _ADAPTED:
            if name in body and name in exchange.message:
                self.renamed[name] = "max_completion_tokens" if "max_completion_tokens" in exchange.message else None
                return True
        return False


class Probe:
    """One attempt of the check ``name``. ``called``: some answer had a call, without which no rule can be met.
    ``optional``: a 4xx is `Refused`. ``again``: a fault is checked a second time, alone. ``unstreamed``: streams are
    broken, no request is streamed.
    """

    def __init__(
        self, line: Line, name: str, attempt: int, *, optional: bool = False, again: bool = False,
        unstreamed: bool = False,
    ) -> None:  # fmt: skip
        self.line = line
        self.attempt = attempt
        self.optional = optional
        self.again = again
        self.unstreamed = unstreamed
        self.api = line.dialect.name
        self.conduct = line.conduct
        self.called = False
        self.figures: dict[str, float | None] = {}
        self.exchanges: list[Exchange] = []
        self._random = random.Random(f"{line.conduct.seed}/{name}/{attempt}")

    def with_name(self, name: str) -> Probe:
        """The same attempt with the words of another name."""
        return Probe(self.line, name, self.attempt, optional=self.optional)

    async def shared(self, name: str, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """A value that several checks of one attempt share, made once."""
        key = name, self.attempt
        if key not in self.line.shared:
            self.line.shared[key] = asyncio.create_task(make(), name=f"wire:{name}")
        found: T = await asyncio.shield(self.line.shared[key])
        return found

    def word(self) -> str:
        """A fresh word that occurs nowhere else."""
        return "".join(self._random.choices(_LETTERS, k=4)) + str(int(900 * self._random.random()) + 100)

    async def send(self, body: object, *, leave_after: int | None = None) -> Exchange:
        """The unread answer to a body, retried if the server is busy. Raises `AdapterError` for errors that show
        nothing about the server's rules: no server, no key, no quota.
        """
        for attempt in range(self.conduct.retries + 1):
            exchange = await self.line.client.post(self.line.dialect.path, body, leave_after=leave_after)
            if exchange.says_wrong or (exchange.status not in _RETRIED and exchange.trouble != "unreachable"):
                break
            if attempt < self.conduct.retries:
                await asyncio.sleep(min(exchange.retry_after_s or self.conduct.wait_s * 2**attempt, 30.0))
        _reached(exchange)
        self.exchanges.append(exchange)
        return exchange

    async def reply(self, request: Request, *, stream: bool | None = None) -> Reply:
        """One answer (the first of ``n``)."""
        return (await self.choices(request, stream=stream))[0]

    async def replies(self, request: Request) -> tuple[Reply, ...]:
        """Every choice of an answer, readable or not."""
        if self.unstreamed:
            request = request.streamed(False)
        exchange = await self.send(body := self.line.body(request))
        while self.line.learn(exchange, body):
            exchange = await self.send(body := self.line.body(request))
        if exchange.status in (400, 422) and request.thoughtless is not request:  # the rule `message_back` says so
            exchange = await self.send(self.line.body(request.thoughtless))
        return self.line.dialect.join(exchange) if request.stream else self.line.dialect.read(exchange)

    async def choices(self, request: Request, *, stream: bool | None = None) -> tuple[Reply, ...]:
        """Every choice of an answer. Raises `Refused` or `Broke` if none can be read."""
        replies = await self.replies(request if stream is None else request.streamed(stream))
        problem = next((reply.problem for reply in replies if reply.problem), "")
        if problem:
            exchange = replies[0].exchange
            if exchange.refuses and self.optional:
                raise Refused(problem, exchange)
            raise Broke(problem, exchange)
        self.called = self.called or any(reply.calls for reply in replies)
        return replies

    async def both(self, request: Request) -> tuple[Reply, Reply]:
        """The same request unstreamed and streamed, at the same time."""
        if self.unstreamed:
            return (whole := await self.reply(request)), whole
        whole, streamed = await together(self.reply(request, stream=False), self.reply(request, stream=True))
        return whole, streamed

    async def dictated(self, request: Request, wanted: Sequence[Wanted]) -> Reply:
        """Both forms of an answer to dictated calls, which must be exactly those; the streamed one."""
        _, streamed = await self.alike(request, lambda reply: compare(wanted, reply))
        return streamed

    async def alike(self, request: Request, judge: Callable[[Reply], Match]) -> tuple[Reply, Reply]:
        """Both forms of an answer, which are then compared with `weigh`."""
        whole, streamed = await self.both(request)
        await self.weigh([(request, whole), (request.streamed(), streamed)], judge)
        return whole, streamed

    async def weighed(self, requests: Sequence[Request], judge: Callable[[Reply], Match]) -> None:
        """Send each form of the same order, and `weigh` the answers."""
        replies = await together(*map(self.reply, requests))
        await self.weigh(list(zip(requests, replies, strict=True)), judge)

    async def weigh(self, pairs: Sequence[tuple[Request, Reply]], judge: Callable[[Reply], Match]) -> None:
        """Decide whose fault a difference is; returns if every answer is exact. Damage is the server's. If one form
        gives the exact answer and another does not, both are sent again. If one is never right and the other always,
        the server is suspected. Everything else is the model's.
        """
        found = [(request, reply, judge(reply)) for request, reply in pairs]
        for _, reply, match in found:
            if match.kind == "damaged":
                raise LikelyBroke(f"{reply.form}: {match.why}", reply)
        odd = [(request, reply, match) for request, reply, match in found if match.kind != "exact"]
        if odd and len(odd) == len(found):
            raise NotCalled(odd[0][2].why, *(reply for _, reply, _ in odd))
        for request, reply, match in odd:
            right = next(pair for pair in found if pair[2].kind == "exact")
            await self._suspect(request, right[0], judge, match.why)
            raise Suspected(
                f"{reply.form}: {match.why}, {AGAIN + 1} times of {AGAIN + 1}; asked the other way it is right as "
                f"often",
                reply, right[1],
            )  # fmt: skip

    async def _suspect(self, odd: Request, right: Request, judge: Callable[[Reply], Match], why: str) -> None:
        """Sends both forms again. Raises `NotCalled` as soon as the model varies."""
        for request, same in ((odd, False), (right, True)):
            for _ in range(AGAIN):
                if (judge(await self.reply(request)).kind == "exact") != same:
                    raise NotCalled(f"the model answers now so, now otherwise: {why}")


AGAIN = 4
"""How often an unusual and a right form are repeated before the server is suspected."""


async def together(*coroutines: Coroutine[Any, Any, T]) -> tuple[T, ...]:
    """All at once; if one fails, the others are still awaited (their connections close in order)."""
    done: list[Any] = await asyncio.gather(*coroutines, return_exceptions=True)
    errors = [each for each in done if isinstance(each, BaseException)]
    # What says most about the server goes first.
    for kind in (AdapterError, Broke, Refused, NotCalled, BaseException):
        for error in errors:
            if isinstance(error, kind):
                raise error
    return tuple(done)


def _reached(exchange: Exchange) -> None:
    """An error that shows nothing about the server's rules: no server, no key, no quota."""
    if exchange.trouble == "unreachable":
        raise AdapterError(
            AdapterTrouble.CONNECTION, f"cannot reach the endpoint: {exchange.said}", advice="is the server running?"
        )
    if exchange.status in (401, 403):
        raise AdapterError(
            AdapterTrouble.AUTH, f"HTTP {exchange.status}: {exchange.message[:300]}", status=exchange.status
        )
    if exchange.status in _RETRIED and not exchange.says_wrong:
        kind = AdapterTrouble.RATE_LIMIT if exchange.status == 429 else AdapterTrouble.SERVER
        raise AdapterError(kind, f"HTTP {exchange.status}: {exchange.message[:300]}", status=exchange.status)
