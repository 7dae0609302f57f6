"""Conversations: results given back in every allowed form, ids that are taken back, twenty steps, the roles."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from pytest_bfcl.extensions.wire.checks.calls import called, thoughts
from pytest_bfcl.extensions.wire.differences import EXACT, Match, Wanted, compare
from pytest_bfcl.extensions.wire.probe import Broke, NotCalled, Probe
from pytest_bfcl.extensions.wire.replies import Call, Reply
from pytest_bfcl.extensions.wire.requests import Message, Request, Role, ToolCalls, ToolResult
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import CODE_WORD, LOOK_UP, NOTE, dictate, note, told_directly

Judge = Callable[[Probe], Awaitable[None]]


def look_up(key: str) -> Wanted:
    """A dictated call of `LOOK_UP`."""
    return Wanted(LOOK_UP.name, {"key": key})


async def begun(probe: Probe, count: int = 1) -> tuple[Request, Reply]:
    """A conversation whose first answer made exactly the dictated calls."""
    wanted = [look_up(probe.word()) for _ in range(count)]
    request = dictate(*wanted, tools=(LOOK_UP,), repeat_result=True)
    reply = await probe.reply(request)
    if compare(wanted, reply).kind != "exact":
        raise NotCalled("the model did not make the calls", reply)
    return request, reply


def says(*words: str) -> Callable[[Reply], Match]:
    """The answer's text holds these words in this order."""
    pattern = re.compile(".*".join(map(re.escape, words)), re.DOTALL)

    def judge(reply: Reply) -> Match:
        return EXACT if pattern.search(reply.text) else Match("other", f"the text is {ascii(reply.text)[:160]}")

    return judge


def returned(request: Request, reply: Reply, *contents: str | Sequence[str], reverse: bool = False) -> Request:
    """The conversation with the calls' results."""
    results = [ToolResult(str(call.id), content) for call, content in zip(reply.calls, contents, strict=True)]
    return request.then(ToolCalls.by(reply), *(reversed(results) if reverse else results))


async def _string(probe: Probe) -> None:
    request, reply = await begun(probe)
    word = probe.word()
    request = returned(request, reply, f"the value is {word}")
    whole, streamed = await probe.both(request)
    await probe.weigh([(request, whole), (request.streamed(), streamed)], says(word))


RECALL = "Write the result of the first call once more, word for word, and call nothing."


async def _kept(probe: Probe) -> None:
    request, reply = await begun(probe)
    word = probe.word()
    answered = returned(request, reply, f"the value is {word}")
    later = answered.then(Message("assistant", "I have it."), Message("user", RECALL))
    await weighed(probe, [answered, later, later.streamed()], word)


async def weighed(probe: Probe, requests: Sequence[Request], word: str) -> None:
    """Each way of asking gets an answer that tells the word."""
    await probe.weighed(requests, says(word))


def like_a_string(make: Callable[[str], str | Sequence[str]]) -> Judge:
    """A result in another form, beside the same as one short text."""

    async def judge(probe: Probe) -> None:
        request, reply = await begun(probe)
        word = probe.word()
        await weighed(probe, [returned(request, reply, each) for each in (f"the value is {word}", make(word))], word)

    return judge


def _parts(word: str) -> list[str]:
    return ["the value is ", word]


def _error(word: str) -> str:
    return f'{{"error": {{"code": 404, "message": "not found: {word}"}}}}'


def _large(word: str) -> str:
    return ("nothing of interest is in this line\n" * 2_800)[:100_000] + f"\nthe value is {word}"


async def _empty(probe: Probe) -> None:
    request, reply = await begun(probe)
    await probe.both(returned(request, reply, ""))  # an answer of any kind: what can a model say to nothing?


async def _reordered(probe: Probe) -> None:
    request, reply = await begun(probe, 2)
    words = probe.word(), probe.word()
    alone = dictate(look_up(words[0]), tools=(LOOK_UP,), repeat_result=True)
    one = await probe.reply(alone)
    if len(one.calls) != 1:
        raise NotCalled("the model did not make the call", one)
    requests = [returned(request, reply, *words), returned(request, reply, *words, reverse=True)]
    requests.append(returned(alone, one, " and ".join(words)))
    await probe.weighed(requests, says(*words))


LETTERS = "é世ß"


async def _unicode(probe: Probe) -> None:
    request, reply = await begun(probe)
    word = probe.word()

    def judge(answer: Reply) -> Match:
        if f"{word}{LETTERS}" in answer.text:
            return EXACT
        lost = word in answer.text and not set(LETTERS) & set(answer.text)
        return Match(
            "damaged" if lost else "other", f"{word}{LETTERS} was told, the text is {ascii(answer.text)[:160]}"
        )

    request = returned(request, reply, f"the value is {word}{LETTERS}")
    whole, streamed = await probe.both(request)
    await probe.weigh([(request, whole), (request.streamed(), streamed)], judge)


async def _ids_accepted(probe: Probe) -> None:
    word = probe.word()
    for stream in (False, True):
        request = dictate(look_up(word), tools=(LOOK_UP,), repeat_result=True)
        reply = await probe.reply(request, stream=stream)
        if not reply.calls:
            raise NotCalled("the model did not call", reply)
        await probe.reply(returned(request, reply, *["the value is 7"] * len(reply.calls)))


async def _ids_foreign(probe: Probe) -> None:
    await called(probe)
    for odd in ("call_" + "a1B2" * 6, "toolu_01" + probe.word(), "7"):
        call = Call(odd, LOOK_UP.name, '{"key": "a"}')
        request = dictate(look_up("a"), tools=(LOOK_UP,), repeat_result=True)
        made = ToolCalls((call,), thoughts=await thoughts(probe))
        await probe.reply(request.then(made, ToolResult(odd, "the value is 7")))


STEPS = 20


async def _conversation(probe: Probe) -> None:
    request = Request((), (NOTE,))
    ids: list[object] = []
    for step in range(STEPS):
        wanted = [note(probe.word())]
        request = request.then(*dictate(*wanted).turns)
        reply = await probe.reply(request, stream=step % 2 == 1)
        match = compare(wanted, reply)
        if match.kind != "exact":
            alone = dictate(*wanted).streamed(step % 2 == 1)
            answer = await probe.reply(alone)
            if match.kind == "damaged" and compare(wanted, answer).kind == "exact":
                raise Broke(f"step {step + 1}: {match.why}", reply)
            pairs = [(request.streamed(alone.stream), reply), (alone, answer)]
            await probe.weigh(pairs, lambda reply, wanted=wanted: compare(wanted, reply))  # type: ignore[misc]
            raise NotCalled(f"step {step + 1}: {match.why}", reply)
        ids.append(reply.calls[0].id)
        request = request.then(ToolCalls.by(reply), ToolResult(str(reply.calls[0].id), f"kept as {step}"))


async def _ids_unique(probe: Probe) -> None:
    request = Request((), (NOTE,))
    ids: list[object] = []
    for step in range(4):
        request = request.then(*dictate(note(probe.word())).turns)
        reply = await probe.reply(request, stream=step % 2 == 1)
        if not reply.calls:
            raise NotCalled(f"the model did not call in step {step + 1}", reply)
        if reply.calls[0].id in ids:
            raise Broke(f"step {step + 1} has the id {reply.calls[0].id!r} of an earlier step", reply)
        ids.append(reply.calls[0].id)
        request = request.then(ToolCalls.by(reply), *(ToolResult(str(call.id), "kept") for call in reply.calls))


async def told_apart(probe: Probe, apart: Callable[[str], Request]) -> None:
    """A code word told as ``apart`` tells it, beside the same told in the order itself."""
    word = probe.word()
    said = f"The code word is {word}."
    request = apart(said)
    requests = [told_directly(said), request, request.streamed()]
    await probe.weighed(requests, lambda reply: compare([note(word)], reply))


async def _roles_repeated(probe: Probe) -> None:
    await told_apart(probe, lambda said: Request((Message("user", said), Message("user", CODE_WORD)), (NOTE,)))


def word_from(role: Role) -> Judge:
    """Another message has the code word."""
    between = (Message("assistant", "I will remember it."),) if role == "user" else ()

    async def judge(probe: Probe) -> None:
        await told_apart(
            probe, lambda said: Request((Message(role, said), *between, Message("user", CODE_WORD)), (NOTE,))
        )

    return judge


JUDGES: Judges = {
    "ids_accepted": _ids_accepted,
    "ids_unique": _ids_unique,
    "ids_foreign": _ids_foreign,
    "result_string": _string,
    "result_parts": like_a_string(_parts),
    "results_kept": _kept,
    "result_empty": _empty,
    "result_large": like_a_string(_large),
    "result_unicode": _unicode,
    "result_error": like_a_string(_error),
    "results_reordered": _reordered,
    "conversation_20": _conversation,
    "role_system": word_from("system"),
    "role_developer": word_from("developer"),
    "roles_repeated": _roles_repeated,
    "role_user": word_from("user"),
}
