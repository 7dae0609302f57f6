"""Why an answer ended, what it cost, reasoning apart from content, and the parameters that change an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from pytest_bfcl.extensions.wire.answers import LENGTH, STOP
from pytest_bfcl.extensions.wire.check import Check, Rule
from pytest_bfcl.extensions.wire.checks.basics import BASICS, called
from pytest_bfcl.extensions.wire.differences import compare
from pytest_bfcl.extensions.wire.ends import Broke, NotCalled
from pytest_bfcl.extensions.wire.probe import Probe, together
from pytest_bfcl.extensions.wire.tasks import dictate, note, write

FINISH = "OpenAI API reference, Chat Completions, finish_reason; Responses, status and incomplete_details"
USAGE = "OpenAI API reference, Chat Completions / Responses, usage"
LIMIT = "OpenAI API reference, max_tokens / max_completion_tokens / max_output_tokens; finish_reason length"
REASONING = (
    "Responses, output: reasoning items; vLLM, SGLang and DeepSeek documentation, reasoning_content beside content"
)
Judge = Callable[[Probe], Awaitable[None]]


async def _usage_grows(probe: Probe) -> None:
    short, long = await together(
        probe.ask(dictate(note(probe.word()))), probe.ask(dictate(note(" ".join(probe.word() for _ in range(60)))))
    )
    if not (short.calls and long.calls):
        raise NotCalled("the model did not call", short)
    one, two = ((answer.usage and answer.usage.input) or 0 for answer in (short, long))
    if two <= one:
        raise Broke(f"a prompt with 60 more words has {two} tokens, the short one {one}", short, long)


CUT_AT = 24


def cut(*, stream: bool) -> Judge:
    """A call too long for the limit of tokens."""

    async def judge(probe: Probe) -> None:
        await called(probe, stream=stream)
        word = probe.word()
        wanted = [note(" ".join(f"{word} {number}" for number in range(200)))]
        answer = await probe.ask(dictate(*wanted, limit=CUT_AT, stream=stream))
        if answer.finish == LENGTH:
            return
        if compare(wanted, answer).kind == "exact":
            raise Broke(f"the limit of {CUT_AT} tokens was not kept: the whole call is there", answer)
        spent = answer.usage.output if answer.usage else None
        complete = bool(answer.calls) and all(call.values is not None for call in answer.calls)
        if (spent is None and complete) or (spent is not None and spent < CUT_AT):
            raise NotCalled("the model stopped by itself", answer)
        raise Broke(f"the answer was cut at {CUT_AT} tokens and ends with {answer.finish!r}, not as cut", answer)

    return judge


async def _stop(probe: Probe) -> None:
    wanted = [note(probe.word())]
    end = f"END{probe.word()}"
    await probe.dictated(dictate(*wanted, extra={"stop": [end]}), wanted)
    first, second = probe.word(), probe.word()
    ask = write(f"{first} {end} {second}", extra={"stop": [end]})
    for answer in await probe.both(ask):
        if end in answer.text or second in answer.text:
            raise Broke(f"{answer.form}: the text goes on after the stop sequence", answer, proof=end.encode())
        if first not in answer.text:
            raise NotCalled("the model wrote something else", answer)
        if answer.finish != STOP:
            raise Broke(f"{answer.form}: stopped by a stop sequence, it ends with {answer.finish!r}", answer)


async def _n(probe: Probe) -> None:
    wanted = [note(probe.word())]
    for stream in (False, True):
        answers = await probe.choices(dictate(*wanted, extra={"n": 2}), stream=stream)
        if sorted(answer.choice for answer in answers) != [0, 1]:
            found = [answer.choice for answer in answers]
            raise Broke(f"{answers[0].form}: n is 2, and the choices are {found}", answers[0])
        for answer in answers:
            match = compare(wanted, answer)
            if match.kind == "damaged":
                raise Broke(f"{answer.form}, choice {answer.choice}: {match.why}", answer)
            if match.kind != "exact":
                raise NotCalled(f"choice {answer.choice}: {match.why}", answer)


async def _logprobs(probe: Probe) -> None:
    wanted = [note(probe.word())]
    plain = dictate(*wanted)
    asks = [plain, *(replace(plain, extra={"logprobs": True, "top_logprobs": 2}, stream=s) for s in (False, True))]
    answers = await together(*map(probe.ask, asks))
    await probe.weigh(list(zip(asks, answers, strict=True)), lambda answer: compare(wanted, answer))


CHECKS = (
    Check(
        "usage_grows",
        Rule("Usage grows with the prompt.", USAGE),
        _usage_grows,
        ("answers", "call_recognised", "usage_present", "usage_plausible"),
    ),
    Check(
        "cut_in_call",
        Rule("An answer that max_tokens cuts inside a call ends with length, not as if it were complete.", LIMIT),
        cut(stream=False),
        ("answers", "call_recognised", "finish_calls"),
    ),
    Check(
        "cut_in_call_stream",
        Rule("A stream that max_tokens cuts inside a call ends with length, not as if it were complete.", LIMIT),
        cut(stream=True),
        (*BASICS, "cut_in_call", "stream_finish", "finish_last"),
    ),
    Check(
        "stop",
        Rule(
            "A stop sequence ends a text and is not part of it; it does no harm to calls.",
            "OpenAI API reference, Chat Completions, stop",
        ),
        _stop,
        (*BASICS, "stream_text", "finish_stop", "stream_finish"),
        ("chat",),
        optional=True,
    ),
    Check(
        "n",
        Rule(
            "With n = 2 there are two choices, 0 and 1, each with its call, in both forms.",
            "OpenAI API reference, Chat Completions, n",
        ),
        _n,
        BASICS,
        ("chat",),
        optional=True,
    ),
    Check(
        "logprobs",
        Rule("Asking for logprobs does no harm to calls.", "OpenAI API reference, Chat Completions, logprobs"),
        _logprobs,
        BASICS,
        ("chat",),
        optional=True,
    ),
)
