"""What a client sends back: the server's own message, text and reasoning beside calls, messages in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_bfcl.extensions.wire.answers import Answer
from pytest_bfcl.extensions.wire.asks import Ask, Made, Returned, Said, Verbatim
from pytest_bfcl.extensions.wire.check import Check, Rule
from pytest_bfcl.extensions.wire.checks.basics import BASICS
from pytest_bfcl.extensions.wire.checks.results import TOOL_MESSAGE, begun, look_up, returned, says
from pytest_bfcl.extensions.wire.differences import EXACT, Match, compare
from pytest_bfcl.extensions.wire.ends import NotCalled
from pytest_bfcl.extensions.wire.probe import Probe, together
from pytest_bfcl.extensions.wire.tasks import LOOK_UP, NOTE, dictate, note, order

ASSISTANT = "OpenAI API reference, Chat Completions, messages, Assistant message; Responses, input, Item"


async def weighed(probe: Probe, asks: Sequence[Ask], word: str) -> None:
    """Each way of asking gets an answer that tells the word."""
    answers = await together(*map(probe.ask, asks))
    await probe.weigh(list(zip(asks, answers, strict=True)), says(word))


async def _user_parts(probe: Probe) -> None:
    wanted = [note(probe.word())]
    head, _, tail = order(wanted).partition("\n")
    asks = [Ask((Said("user", text),), (NOTE,)) for text in (f"{head}\n{tail}", [f"{head}\n", tail])]
    asks.append(asks[1].streamed())
    answers = await together(*map(probe.ask, asks))
    await probe.weigh(list(zip(asks, answers, strict=True)), lambda answer: compare(wanted, answer))


async def _text_beside(probe: Probe) -> None:
    ask, answer = await begun(probe)
    word, (call, *_) = probe.word(), answer.calls
    result = Returned(str(call.id), f"the value is {word}")
    beside = Made((call,), "I will look it up.")
    with_text = ask.then(beside, result)
    await weighed(probe, [ask.then(replace(beside, text=""), result), with_text, with_text.streamed()], word)


async def _message_back(probe: Probe) -> None:
    wanted, word = [look_up(probe.word())], probe.word()
    ask = dictate(*wanted, tools=(LOOK_UP,), think=True, before="I will look it up.", repeat_result=True)
    answer = await probe.ask(ask)
    if compare(wanted, answer).kind != "exact":
        raise NotCalled("the model did not make the call", answer)
    plain = returned(ask, answer, f"the value is {word}")
    whole = ask.then(Verbatim(given(answer)), plain.turns[-1])
    await weighed(probe, [plain, whole, whole.streamed()], word)


def given(answer: Answer) -> tuple[dict[str, Any], ...]:
    """The message (chat) or the output items (Responses) of an unstreamed answer, as they stand."""
    body = answer.exchange.body
    return tuple(body["output"]) if "output" in body else (body["choices"][0]["message"],)


async def _answered(probe: Probe) -> None:
    ask, answer = await begun(probe)
    word = probe.word()
    ask = returned(ask, answer, f"the value is {word}")
    thinking = Ask((*dictate(look_up(word), think=True, repeat_result=True).turns, *ask.turns[1:]), ask.tools)
    asks = [ask, ask.streamed(), thinking, thinking.streamed()]
    answers = await together(*map(probe.ask, asks))

    def told(answer: Answer) -> Match:
        if answer.text or answer.calls:
            return EXACT
        if word in answer.reasoning:
            return Match("damaged", "the answer to a result stands in the reasoning, the content is empty")
        return Match("other", "after a result the answer holds neither text nor a call")

    await probe.weigh(list(zip(asks, answers, strict=True)), told)


_GIVEN = (*BASICS, "stream_text", "result_string", "ids_accepted")
CHECKS = (
    Check(
        "user_parts",
        Rule("A user message given as a list of text parts reaches the model, every part.", f"{ASSISTANT}: content"),
        _user_parts,
        (*BASICS, "result_parts"),
    ),
    Check(
        "history_text",
        Rule("Calls in the history may stand beside text.", f"{ASSISTANT}: content, tool_calls"),
        _text_beside,
        _GIVEN,
    ),
    Check(
        "message_back",
        Rule(
            "The server's own message, with its text and its reasoning, is taken back as it stands, and its result "
            "reaches the model.",
            ASSISTANT,
        ),
        _message_back,
        (*_GIVEN, "message_form", "history_text"),
    ),
    Check(
        "result_answered",
        Rule("After a result the answer has text or a call: not reasoning alone, not nothing.", TOOL_MESSAGE),
        _answered,
        (*BASICS, "stream_text", "events_text", "ids_accepted"),
    ),
)
