"""One, two and five calls in an answer, and who decides whether there is one: ``tool_choice``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from pytest_bfcl.extensions.wire.differences import EXACT, Match, Wanted, compare
from pytest_bfcl.extensions.wire.probe import Broke, NotCalled, Probe
from pytest_bfcl.extensions.wire.replies import Reply
from pytest_bfcl.extensions.wire.requests import Tool
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import LOOK_UP, NOTE, NOTHING, PING, TEXT, dictate, note, schema
from pytest_bfcl.json_types import Fields

Judge = Callable[[Probe], Awaitable[None]]

FIVE = (NOTE, PING, LOOK_UP, Tool("set_name", schema({"name": TEXT}), "Sets a name."),
        Tool("open_door", schema({"door": TEXT}), "Opens a door."))  # fmt: skip


def parallel(count: int) -> Judge:
    """As many calls of different functions in one answer."""

    async def judge(probe: Probe) -> None:
        wanted = [Wanted(tool.name, {next(iter((tool.parameters or {})["properties"])): probe.word()}) for tool in FIVE]
        await probe.dictated(dictate(*wanted[:count], tools=FIVE), wanted[:count])

    return judge


async def _same_twice(probe: Probe) -> None:
    wanted = [note(probe.word()), note(probe.word())]
    await probe.dictated(dictate(*wanted), wanted)


async def _after_empty(probe: Probe) -> None:
    full, empty = note(probe.word()), Wanted(NOTHING.name, {})

    def ordered(reply: Reply) -> Match:
        names = [call.name for call in reply.calls]
        return compare([empty, full] if names[:1] == [empty.name] else [full, empty], reply)

    after = dictate(empty, full, tools=(NOTE, NOTHING))
    requests = [dictate(full, empty, tools=(NOTE, NOTHING)), after, after.streamed()]
    await probe.weighed(requests, ordered)


async def _text_before(probe: Probe) -> None:
    await _text(probe, before=f"I will note this now, {probe.word()}.")


async def _text_after(probe: Probe) -> None:
    await _text(probe, after=f"That was everything, {probe.word()}.")


async def _text(probe: Probe, *, before: str = "", after: str = "") -> None:
    request = dictate(note(probe.word()), before=before, after=after)
    whole, streamed = await probe.both(request)
    text = before or after

    def text_match(reply: Reply) -> Match:
        if not reply.calls:
            return Match("none", "no call")
        return EXACT if text in reply.text else Match("other", f"the text is {ascii(reply.text)[:120]}")

    await probe.weigh([(request, whole), (request.streamed(), streamed)], text_match)


async def _auto(probe: Probe) -> None:
    wanted = [note(probe.word())]
    request = dictate(*wanted)
    requests = [
        request,
        request.streamed(),
        replace(request, choice="auto"),
        replace(request, choice="auto", stream=True),
    ]
    await probe.weighed(requests, lambda reply: compare(wanted, reply))


async def _parallel_off(probe: Probe) -> None:
    request = dictate(note(probe.word()), Wanted(PING.name, {"host": probe.word()}), tools=(NOTE, PING))
    if len((await probe.reply(request)).calls) < 2:
        raise NotCalled("the model does not make two calls when it may either")
    for reply in await probe.both(replace(request, parallel=False)):
        if len(reply.calls) > 1:
            raise Broke(f"{reply.form}: parallel_tool_calls is false, and there are {len(reply.calls)} calls", reply)
        if not reply.calls:
            raise NotCalled(f"{reply.form}: no call at all", reply)


_TAGS, _SIZES = ({"type": "array", "items": {"type": kind}} for kind in ("string", "integer"))
LISTS = Tool("set_tags", schema({"tags": _TAGS, "sizes": _SIZES}), "Sets tags and sizes.")


async def _required_lists(probe: Probe) -> None:
    wanted = [Wanted(LISTS.name, {"tags": [probe.word(), "b"], "sizes": [1, 2]})]
    plain = dictate(*wanted, tools=[LISTS])
    requests = [plain, *(replace(plain, choice="required", stream=stream) for stream in (False, True))]
    await probe.weighed(requests, lambda reply: compare(wanted, reply))


JUDGES: Judges = {
    "calls_one": parallel(1),
    "calls_five": parallel(5),
    "calls_same_twice": _same_twice,
    "calls_after_empty": _after_empty,
    "text_before": _text_before,
    "text_after": _text_after,
    "choice_auto": _auto,
    "choice_required_lists": _required_lists,
    "parallel_off": _parallel_off,
}


async def thoughts(probe: Probe) -> tuple[Fields, ...]:
    """The reasoning of a call, asked once: an endpoint may refuse calls in a history that have none."""

    async def ask() -> tuple[Fields, ...]:
        (reply, *_) = await probe.replies(dictate(note(probe.word())))
        return reply.thoughts

    return await probe.shared("thoughts", ask)


async def called(probe: Probe, *, stream: bool = False) -> Reply:
    """An answer to one dictated call that holds at least one call."""
    reply = await probe.reply(dictate(note(probe.word())), stream=stream)
    if not reply.calls:
        raise NotCalled("the model did not call", reply)
    return reply
