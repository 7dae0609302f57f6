"""Many requests at once, clients that disconnect, and measures besides the checks.

Measures: do arguments satisfy the schema, and is there a call exactly when expected? The same requests are sent
unstreamed and streamed, so that a difference is the server's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from math import comb

from pytest_bfcl.extensions.wire.differences import Wanted, compare
from pytest_bfcl.extensions.wire.probe import Broke, LikelyBroke, NotCalled, NotHeld, Probe, together
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import NOTE, PING, TEXT, Request, Tool, dictate, note, schema
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.tools.json_schema import is_valid

AT_ONCE = 32
LEAVERS = 8


async def _crosstalk(probe: Probe) -> None:
    many: list[tuple[Request, list[Wanted]]] = []
    for number in range(AT_ONCE):
        wanted = [note(f"{probe.word()} {probe.word()}"), Wanted(PING.name, {"host": probe.word()})]
        wanted = wanted[: 1 + number // 2 % 2]
        many.append((dictate(*wanted, tools=(NOTE, PING), stream=number % 2 == 1), wanted))
    replies = await asyncio.gather(*(probe.reply(request) for request, _ in many))
    words = [_words(wanted) for _, wanted in many]
    for number, reply in enumerate(replies):
        heard = _all_text(reply)
        strange = [word for other, said in enumerate(words) if other != number for word in said if word in heard]
        if strange:
            raise Broke(
                f"an answer holds {strange[0]!r}, which another request asked for", reply, proof=strange[0].encode()
            )
    odd = [n for n, reply in enumerate(replies) if compare(many[n][1], reply).kind != "exact"]
    if len(odd) == AT_ONCE:
        raise NotCalled("the model did not do what was asked", replies[0])
    if odd:
        await _under_load(probe, many, odd, replies[odd[0]])


async def _under_load(
    probe: Probe, many: Sequence[tuple[Request, list[Wanted]]], odd: Sequence[int], shown: Reply
) -> None:
    """Are unusual answers the server's, or does the model vary? Sends all at once again, and the unusual ones one by
    one."""
    alone = [compare(many[n][1], await probe.reply(many[n][0])).kind for n in [*odd[:8]] * 3]
    if set(alone) != {"exact"}:
        raise NotCalled("the model answers now so, now otherwise", shown)
    again = await asyncio.gather(*(probe.reply(request) for request, _ in many))
    failures = len(odd) + sum(compare(many[n][1], reply).kind != "exact" for n, reply in enumerate(again))
    if by_chance(failures, 2 * AT_ONCE, len(alone)) > CHANCE:
        raise NotCalled(f"{failures} odd answers among {2 * AT_ONCE} may be chance", shown)
    raise LikelyBroke(
        f"{failures} of {2 * AT_ONCE} answers are odd when {AT_ONCE} are asked at once, none of {len(alone)} alone",
        shown,
    )


CHANCE = 0.01


def by_chance(failures: int, at_once: int, alone: int) -> float:
    """Probability that all failures are among concurrent requests if concurrency has no effect (Fisher's exact
    test)."""
    return comb(at_once, failures) / comb(at_once + alone, failures)


def _words(wanted: Sequence[Wanted]) -> list[str]:
    return [word for each in wanted for value in each.arguments.values() for word in str(value).split()]


def _all_text(reply: Reply) -> str:
    return " ".join([reply.text, reply.reasoning, *(f"{call.name} {call.arguments}" for call in reply.calls)])


async def _disconnect(probe: Probe) -> None:
    patience, late = await _after_leaving(probe)
    if late is None:
        return
    # Others may have kept the server busy for a moment: then it is quick again soon, and the same is tried once more.
    try:
        async with asyncio.timeout(LEAVERS * patience):
            await _short(probe)
    except (TimeoutError, NotHeld):
        raise late from None
    if (await _after_leaving(probe))[1] is not None:
        raise late


async def _short(probe: Probe) -> tuple[Reply, float]:
    """A short answer and its seconds."""
    began = time.perf_counter()
    reply = await probe.reply(dictate(note(probe.word())))
    return reply, time.perf_counter() - began


async def _after_leaving(probe: Probe) -> tuple[float, LikelyBroke | None]:
    """How many seconds a short answer may take after clients left long streams; the finding if it takes longer."""
    _, idle = await _short(probe)
    patience = 5 * idle + probe.conduct.slack_s
    word = probe.word()
    long = " ".join(f"Line {number} is about {word}." for number in range(900))
    body = probe.line.body(dictate(note(long), stream=True))
    count = min(LEAVERS, probe.line.client.concurrency)
    leavers = [asyncio.create_task(probe.send(body, leave_after=1)) for _ in range(count)]
    _, late = await asyncio.wait(leavers, timeout=LEAVERS * patience)
    for each in late:
        each.cancel()
    left = [each.result() for each in leavers if each.done() and not each.cancelled() and not each.exception()]
    began = time.perf_counter()
    try:
        async with asyncio.timeout(patience):
            await _short(probe)
    except TimeoutError:
        waited = time.perf_counter() - began
        return patience, LikelyBroke(
            f"after {len(left)} clients left long streams, a short answer took more than {waited:.1f} s; before, "
            f"{idle:.2f} s",
            *left[:1],
        )
    if any(len(exchange.received) > len(long) for exchange in left):
        raise NotCalled("the answers were complete before anybody could leave", *left[:1])
    return patience, None


# -- figures ---------------------------------------------------------------------------------------------------------

_UNIT: Parsed = {"type": "string", "enum": ["celsius", "fahrenheit"]}
_DAYS: Parsed = {"type": "integer", "minimum": 1, "maximum": 14}
_GUESTS: Parsed = {"type": "array", "items": schema({"name": TEXT, "vegetarian": {"type": "boolean"}})}
TOOLS = (
    Tool(
        "get_weather", schema({"city": TEXT, "unit": _UNIT, "days": _DAYS}), "The weather of a city on the coming days."
    ),
    Tool("book_table", schema({"guests": _GUESTS, "hour": {"type": "integer"}}), "Books a table in our restaurant."),
    Tool("convert_currency", schema({"amount": {"type": "number"}, "source": TEXT, "target": TEXT}), "Converts money."),
    Tool("set_alarm", schema({"hour": {"type": "integer"}, "minute": {"type": "integer"}}), "Sets an alarm clock."),
)
DUE = (
    "What will the weather be in Oslo for the next 3 days, in celsius?",
    "Tell me the weather of Lima for 5 days, in fahrenheit please.",
    "I need the weather in Nairobi for one day, in celsius.",
    "Book a table at 19 hours for Ana, who is vegetarian, and Bo, who is not.",
    "Please book a table for Kim (not vegetarian) at 12 hours.",
    "Convert 250.5 in the currency EUR to NOK.",
    "Which amount is 1000 of the currency JPY in USD? Convert it.",
    "Set an alarm for 6:45 in the morning.",
)
"""Requests that need a call, with all its values."""
NOT_DUE = (
    "Name three colours.",
    "Who wrote the play Hamlet?",
    "Write one sentence about the sea.",
    "What is the opposite of small?",
    "Say thank you in French.",
    "How many legs does a spider have?",
    "Is a whale a fish?",
    "Spell the word rhythm backwards.",
)
"""Requests for which no tool helps."""


async def _measures(probe: Probe) -> None:
    for form, stream in (("unstreamed", False), ("streamed", True)):
        due = await together(*(probe.reply(Request.of(text, *TOOLS), stream=stream) for text in DUE))
        idle = await together(*(probe.reply(Request.of(text, *TOOLS), stream=stream) for text in NOT_DUE))
        probe.figures.update({f"{name}_{form}": value for name, value in calling(due, idle).items()})
        probe.figures[f"schema_{form}"] = fitting([*due, *idle])


def calling(due: Sequence[Reply], idle: Sequence[Reply]) -> dict[str, float | None]:
    """Precision, recall and F1 of the decision to call; ``None`` for shares of nothing, and their mean."""
    hits = sum(bool(reply.calls) for reply in due)
    wrong = sum(bool(reply.calls) for reply in idle)
    precision = hits / (hits + wrong) if hits + wrong else None
    recall = hits / len(due) if due else None
    whole = precision is not None and recall is not None
    return {"precision": precision, "recall": recall, "f1": 2 * hits / (hits + wrong + len(due)) if whole else None}


def fitting(replies: Sequence[Reply]) -> float | None:
    """Share of calls whose arguments satisfy their tool's schema; ``None`` without calls."""
    calls = [call for reply in replies for call in reply.calls]
    return sum(fits(call.name, call.values) for call in calls) / len(calls) if calls else None


def fits(name: object, values: object) -> bool:
    """Whether arguments satisfy the tool's JSON Schema."""
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    return tool is not None and isinstance(values, dict) and is_valid(tool.parameters or {}, values)


JUDGES: Judges = {
    "crosstalk": _crosstalk,
    "disconnect": _disconnect,
    "measures": _measures,
}
