"""Conversations: results in every allowed form, returned ids, twenty steps, roles, and parts that clients return.

A client returns the server's own message, text and reasoning next to calls, and messages in parts. With the Responses
API it also sends instructions, answers that follow another, and encrypted reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_bfcl.extensions.wire.checks.calls import called, forms, thoughts
from pytest_bfcl.extensions.wire.differences import EXACT, Match, Wanted, compare
from pytest_bfcl.extensions.wire.probe import Broke, NotCalled, Probe
from pytest_bfcl.extensions.wire.replies import Call, Reply, objects_in
from pytest_bfcl.extensions.wire.requests import (
    CODE_WORD,
    LOOK_UP,
    NOTE,
    Message,
    Request,
    Role,
    ToolCalls,
    ToolResult,
    Verbatim,
    dictate,
    note,
    order,
)
from pytest_bfcl.extensions.wire.row import Judge, Judges


def look_up(key: str) -> Wanted:
    """A dictated call of `LOOK_UP`."""
    return Wanted(LOOK_UP.name, {"key": key})


async def made(probe: Probe, *keys: str, **how: Any) -> tuple[Request, Reply]:
    """A conversation whose first answer has exactly the dictated calls."""
    wanted = [look_up(key) for key in keys]
    request = dictate(*wanted, tools=(LOOK_UP,), repeat_result=True, **how)
    reply = await probe.reply(request)
    if compare(wanted, reply).kind != "exact":
        raise NotCalled("the model did not make the calls", reply)
    return request, reply


async def begun(probe: Probe) -> tuple[Request, Reply, str]:
    """There is one call; a fresh word for its result."""
    request, reply = await made(probe, probe.word())
    return request, reply, probe.word()


def says(*words: str) -> Callable[[Reply], Match]:
    """The answer's text has these words in this order."""
    pattern = re.compile(".*".join(map(re.escape, words)), re.DOTALL)

    def judge(reply: Reply) -> Match:
        return EXACT if pattern.search(reply.text) else Match("other", f"the text is {ascii(reply.text)[:160]}")

    return judge


def returned(request: Request, reply: Reply, *contents: str | Sequence[str], reverse: bool = False) -> Request:
    """The conversation with the calls' results."""
    results = [ToolResult(str(call.id), content) for call, content in zip(reply.calls, contents, strict=True)]
    return request.then(ToolCalls.by(reply), *(reversed(results) if reverse else results))


def value(word: str) -> str:
    """A result that the model must repeat."""
    return f"the value is {word}"


# -- results ---------------------------------------------------------------------------------------------------------


async def _string(probe: Probe) -> None:
    request, reply, word = await begun(probe)
    await probe.alike(returned(request, reply, value(word)), says(word))


RECALL = "Write the result of the first call once more, word for word, and call nothing."


async def _kept(probe: Probe) -> None:
    request, reply, word = await begun(probe)
    answered = returned(request, reply, value(word))
    later = answered.then(Message("assistant", "I have it."), Message("user", RECALL))
    await probe.weighed([answered, *forms(later)], says(word))


async def _like_a_string(make: Callable[[str], str | Sequence[str]], probe: Probe) -> None:
    """A result in another form, compared with the same as one short text."""
    request, reply, word = await begun(probe)
    await probe.weighed([returned(request, reply, each) for each in (value(word), make(word))], says(word))


def _error(word: str) -> str:
    return f'{{"error": {{"code": 404, "message": "not found: {word}"}}}}'


def _large(word: str) -> str:
    return ("nothing of interest is in this line\n" * 2_800)[:100_000] + f"\n{value(word)}"


async def _empty(probe: Probe) -> None:
    request, reply, _ = await begun(probe)
    await probe.both(returned(request, reply, ""))  # an answer of any kind: what can a model say to nothing?


async def _reordered(probe: Probe) -> None:
    request, reply = await made(probe, probe.word(), probe.word())
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
    request, reply, word = await begun(probe)
    told = f"{word}{LETTERS}"

    def judge(answer: Reply) -> Match:
        if told in answer.text:
            return EXACT
        lost = word in answer.text and not set(LETTERS) & set(answer.text)
        return Match("damaged" if lost else "other", f"{told} was told, the text is {ascii(answer.text)[:160]}")

    await probe.alike(returned(request, reply, value(told)), judge)


async def _answered(probe: Probe) -> None:
    request, reply, word = await begun(probe)
    request = returned(request, reply, value(word))
    thinking = Request(
        (*dictate(look_up(word), think=True, repeat_result=True).turns, *request.turns[1:]), request.tools
    )

    def result_match(reply: Reply) -> Match:
        if reply.text or reply.calls:
            return EXACT
        if reply.reasoning or reply.thoughts:
            return Match("damaged", "the answer to a result is reasoning alone, the content is empty")
        return Match("other", "after a result the answer holds neither text nor a call")

    await probe.weighed([*forms(request), *forms(thinking)], result_match)


# -- ids and steps ---------------------------------------------------------------------------------------------------


async def _ids_accepted(probe: Probe) -> None:
    word = probe.word()
    for request in forms(dictate(look_up(word), tools=(LOOK_UP,), repeat_result=True)):
        reply = await probe.reply(request)
        if not reply.calls:
            raise NotCalled("the model did not call", reply)
        await probe.reply(returned(request, reply, *[value("7")] * len(reply.calls)))


async def _ids_foreign(probe: Probe) -> None:
    await called(probe)
    for odd in ("call_" + "a1B2" * 6, "toolu_01" + probe.word(), "7"):
        call = Call(odd, LOOK_UP.name, '{"key": "a"}')
        request = dictate(look_up("a"), tools=(LOOK_UP,), repeat_result=True)
        calls = ToolCalls((call,), thoughts=await thoughts(probe))
        await probe.reply(request.then(calls, ToolResult(odd, value("7"))))


STEPS = 20


async def _conversation(probe: Probe) -> None:
    request = Request((), (NOTE,))
    for step in range(STEPS):
        wanted = [note(probe.word())]
        alone = dictate(*wanted).streamed(step % 2 == 1)
        request = request.then(*alone.turns).streamed(alone.stream)
        reply = await probe.reply(request)
        match = compare(wanted, reply)
        if match.kind != "exact":
            answer = await probe.reply(alone)
            if match.kind == "damaged" and compare(wanted, answer).kind == "exact":
                raise Broke(f"step {step + 1}: {match.why}", reply)
            pairs = [(request, reply), (alone, answer)]
            await probe.weigh(pairs, lambda reply, wanted=wanted: compare(wanted, reply))  # type: ignore[misc]
            raise NotCalled(f"step {step + 1}: {match.why}", reply)
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
        request = returned(request, reply, *["kept"] * len(reply.calls))


# -- roles and parts -------------------------------------------------------------------------------------------------


async def _told_apart(apart: Callable[[str], Request], probe: Probe) -> None:
    """A code word in the form of ``apart``, compared with the same in the order itself."""
    word = probe.word()
    said = f"The code word is {word}."
    direct = Request.of(f"{said}\n{CODE_WORD}", NOTE)
    await probe.weighed([direct, *forms(apart(said))], lambda reply: compare([note(word)], reply))


def _word_from(role: Role, *between: Message) -> Judge:
    """Another message has the code word."""
    order = (*between, Message("user", CODE_WORD))
    return partial(_told_apart, lambda said: Request((Message(role, said), *order), (NOTE,)))


async def _user_parts(probe: Probe) -> None:
    wanted = [note(probe.word())]
    head, _, tail = order(wanted).partition("\n")
    whole, parts = (Request((Message("user", text),), (NOTE,)) for text in (f"{head}\n{tail}", [f"{head}\n", tail]))
    await probe.weighed([whole, *forms(parts)], lambda reply: compare(wanted, reply))


# -- what a client sends back ----------------------------------------------------------------------------------------


async def _text_beside(probe: Probe) -> None:
    request, reply, word = await begun(probe)
    call = reply.calls[0]
    result = ToolResult(str(call.id), value(word))
    beside = ToolCalls((call,), "I will look it up.", reply.thoughts)
    without = request.then(replace(beside, text=""), result)
    await probe.weighed([without, *forms(request.then(beside, result))], says(word))


async def _message_back(probe: Probe) -> None:
    request, reply = await made(probe, probe.word(), think=True, before="I will look it up.")
    word = probe.word()
    plain = returned(request, reply, value(word))
    whole = request.then(Verbatim(given_items(reply)), plain.turns[-1])
    await probe.weighed([plain, *forms(whole)], says(word))


def given_items(reply: Reply) -> tuple[dict[str, Any], ...]:
    """The message (chat) or the output items (Responses) of an unstreamed answer, unchanged."""
    body = reply.exchange.body
    return tuple(body["output"]) if "output" in body else (body["choices"][0]["message"],)


async def _content(probe: Probe) -> None:
    request, reply, word = await begun(probe)
    plain = returned(request, reply, value(word))
    message = {key: value for key, value in given_items(reply)[0].items() if key != "content"}
    shapes = [{**message, "content": None}, {**message, "content": ""}, message]
    told = [request.then(Verbatim((shape,)), plain.turns[-1]) for shape in shapes]
    await probe.weighed([plain, *told], says(word))


async def _previous(probe: Probe) -> None:
    request, reply, word = await begun(probe)
    result = ToolResult(str(reply.calls[0].id), value(word))
    following = Request((result,), request.tools, extra={"previous_response_id": reply.exchange.body.get("id")})
    await probe.weighed([returned(request, reply, value(word)), *forms(following)], says(word))


async def _encrypted(probe: Probe) -> None:
    extra = {"include": ["reasoning.encrypted_content"], "store": False}
    request = dictate(note(probe.word()), think=True, extra=extra)
    whole, streamed = await probe.both(request)
    if not (whole.reasoning or _reasoning(whole)):
        raise NotCalled("the model showed no reasoning", whole)
    for reply in (whole, streamed):
        for item in _reasoning(reply):
            sealed = item.get("encrypted_content")
            if not isinstance(sealed, str) or not sealed:
                raise Broke(f"{reply.form}: encrypted reasoning was asked for, the item has {sealed!r:.40}", reply)
    if whole.calls:
        back = (*request.turns, Verbatim(given_items(whole)), ToolResult(str(whole.calls[0].id), "kept"))
        (reply, *_) = await probe.replies(replace(request, turns=back))
        if reply.problem:  # what was asked for and given has to be taken back
            raise Broke(f"encrypted reasoning is not taken back: {reply.problem}", reply)


def _reasoning(reply: Reply) -> list[dict[str, Any]]:
    """The finished reasoning items of an answer."""
    events = reply.exchange.objects(typed=True)
    done = [each.get("item") for each in events if each["type"] == "response.output_item.done"]
    items = objects_in(done if reply.form == "streamed" else list(given_items(reply)))
    return [item for item in items if item.get("type") == "reasoning"]


JUDGES: Judges = {
    "ids_accepted": _ids_accepted,
    "ids_unique": _ids_unique,
    "ids_foreign": _ids_foreign,
    "result_string": _string,
    "result_parts": partial(_like_a_string, lambda word: ["the value is ", word]),
    "results_kept": _kept,
    "result_empty": _empty,
    "result_large": partial(_like_a_string, _large),
    "result_unicode": _unicode,
    "result_error": partial(_like_a_string, _error),
    "results_reordered": _reordered,
    "conversation_20": _conversation,
    "role_system": _word_from("system"),
    "role_developer": _word_from("developer"),
    "roles_repeated": _word_from("user"),
    "role_user": _word_from("user", Message("assistant", "I will remember it.")),
    "user_parts": _user_parts,
    "history_text": _text_beside,
    "history_content": _content,
    "message_back": _message_back,
    "result_answered": _answered,
    "instructions": partial(_told_apart, lambda said: Request.of(CODE_WORD, NOTE, extra={"instructions": said})),
    "previous_response": _previous,
    "encrypted_reasoning": _encrypted,
}
