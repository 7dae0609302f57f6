"""Text completions: the object, its stream, its end, and further parameters of a prompt. Logprobs may be missing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from pytest_bfcl.extensions.wire.chat import choices_of
from pytest_bfcl.extensions.wire.checks.endings import error_object
from pytest_bfcl.extensions.wire.probe import Broke, LikelyBroke, NotCalled, Probe, together
from pytest_bfcl.extensions.wire.replies import LENGTH, STOP, Reply
from pytest_bfcl.extensions.wire.requests import Request
from pytest_bfcl.extensions.wire.row import Cell, Finding, Judged, Judges, RowJudge, wrong
from pytest_bfcl.extensions.wire.rules.messages import ends_with_done, event_stream, is_time, json_answer, odd_fields
from pytest_bfcl.extensions.wire.rules.streams import finish_last
from pytest_bfcl.json_types import Parsed

PROMPT = "The numbers in order: one, two, three, four, five,"


async def all_completed(
    probe: Probe, *, stream: bool = False, limit: int | None = None, **extra: Any
) -> tuple[Reply, ...]:
    """Every choice of the completion of a plain prompt."""
    replies = await probe.choices(Request.of(PROMPT, limit=limit, extra=extra), stream=stream)
    probe.called = True  # a text is all there is to be said
    return replies


async def completed(probe: Probe, **how: Any) -> Reply:
    """One completion of a plain prompt."""
    return (await all_completed(probe, **how))[0]


async def both(probe: Probe, **how: Any) -> AsyncIterator[Reply]:
    """It in both forms, one after the other."""
    for stream in (False, True):
        yield await completed(probe, stream=stream, **how)


async def _is_right(rule: RowJudge, probe: Probe, *, stream: bool = False) -> None:
    """An answer that a rule judges unchanged."""
    reply = await completed(probe, stream=stream)
    judged = Judged(Cell(streamed=stream), Request.of(PROMPT), (), reply, probe.api)
    for finding in rule(judged) or ():
        raise Broke(finding.why, reply, proof=finding.proof)


def _fields(body: Any) -> Iterator[str]:
    yield from odd_fields("", body, id=_is_str, model=_is_str, object="text_completion", created=is_time)
    for position, choice in enumerate(choices_of(body)):
        yield from odd_fields(f"choice {position}: ", choice, text=_is_str, index=position)
        if "message" in choice or "delta" in choice:
            yield f"choice {position} has a message or delta, as chat completions has them"


def _is_str(value: object) -> bool:
    return isinstance(value, str)


def _answer(judged: Judged) -> list[Finding]:
    exchange = judged.reply.exchange
    return json_answer(exchange) or wrong(next(_fields(exchange.body), None))


def _usage(judged: Judged) -> list[Finding]:
    usage = judged.reply.usage
    if usage is None or usage.input is None or usage.output is None or usage.total is None:
        return wrong(f"usage is missing or has a field that is no whole number: {usage}")
    right = usage.total == usage.input + usage.output and usage.input
    return wrong("" if right else f"{usage.input} prompt tokens and {usage.output} make {usage.total}")


def _stream(judged: Judged) -> list[Finding]:
    return event_stream(judged.reply.exchange) or ends_with_done(judged.reply.exchange)


def _chunks(judged: Judged) -> list[Finding]:
    found = list(judged.reply.exchange.objects())
    if len({str(chunk.get("id")) for chunk in found}) != 1:
        return wrong("chunks of one answer have different ids")
    said = (why for chunk in found for why in _fields({**chunk, "choices": chunk.get("choices") or []}))
    return wrong(next(said, None))


async def _finish(probe: Probe) -> None:
    async for reply in both(probe):
        if reply.finish not in (STOP, LENGTH):
            raise Broke(f"{reply.form}: finish_reason is {reply.finish!r:.80}, neither stop nor length", reply)


async def _limit(probe: Probe) -> None:
    plain = await completed(probe)
    async for reply in both(probe, limit=2):
        if reply.usage is not None and reply.usage.output is not None and reply.usage.output > 2:
            raise Broke(f"{reply.form}: max_tokens 2, and {reply.usage.output} tokens", reply)
        if len(reply.text) > 200:
            raise Broke(f"{reply.form}: max_tokens 2, and {len(reply.text)} characters", reply)
        if not (plain.text.startswith(reply.text) and len(reply.text) < len(plain.text)):
            raise NotCalled("the model writes something else where less is allowed", reply, plain)
        if reply.finish != LENGTH:
            raise LikelyBroke(f"{reply.form}: cut by max_tokens, and it ends with {reply.finish!r:.80}", reply)


async def _stream_usage(probe: Probe) -> None:
    whole, streamed = await together(completed(probe), completed(probe, stream=True))
    if streamed.usage is None:
        raise Broke("the stream tells no usage, though it was asked for", streamed)
    if whole.usage is not None and whole.usage.input != streamed.usage.input:
        said = f"{whole.usage.input} tokens unstreamed and {streamed.usage.input} streamed"
        raise Broke(f"the same prompt has {said}", whole, streamed)


async def _stream_text(probe: Probe) -> None:
    """The streamed text is equal, if the model repeats its unstreamed one every time."""
    wholes = await together(*(completed(probe) for _ in range(3)))
    if len({reply.text for reply in wholes}) > 1:
        raise NotCalled("the model answers now so, now otherwise", wholes[0])
    streams = await together(*(completed(probe, stream=True) for _ in range(3)))
    if all(reply.text != wholes[0].text for reply in streams):
        why = f"the text is {wholes[0].text!a:.120}, streamed {streams[0].text!a:.120}, three times of three"
        raise LikelyBroke(why, wholes[0], streams[0])


async def _stop(probe: Probe) -> None:
    plain = await completed(probe)
    words = plain.text.split()
    if len(words) < 3 or words[1] in words[0]:
        raise NotCalled("the text is too short to be stopped", plain)
    async for reply in both(probe, stop=[words[1]]):
        if words[1] in reply.text:
            raise Broke(f"{reply.form}: the stop sequence {words[1]!a:.40} stands in the text", reply)
        if reply.text and plain.text.startswith(reply.text) and reply.finish != STOP:
            raise LikelyBroke(f"{reply.form}: stopped, and it ends with {reply.finish!r:.80}", reply)


async def _echo(probe: Probe) -> None:
    async for reply in both(probe, echo=True):
        if not reply.text.startswith(PROMPT):
            raise Broke(f"{reply.form}: with echo the text begins with {reply.text!a:.80}", reply)


async def _several(probe: Probe) -> None:
    replies = await all_completed(probe, n=2)
    if sorted(reply.choice for reply in replies) != [0, 1]:
        raise Broke(f"n is 2, and the choices have the indexes {[reply.choice for reply in replies]}", replies[0])


async def _prompts(probe: Probe) -> None:
    replies = await all_completed(probe, prompt=[PROMPT, "One, two,"])
    if len(replies) != 2:
        raise Broke(f"two prompts, and {len(replies)} choices", replies[0])


async def _logprobs(probe: Probe) -> None:
    reply = await completed(probe, logprobs=1)
    choice: Parsed = choices_of(reply.exchange.body)[0]
    told = choice.get("logprobs")
    if told is None:
        return  # absent is fine
    tokens, values = (told.get(name) if isinstance(told, dict) else None for name in ("tokens", "token_logprobs"))
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        raise Broke("logprobs has no tokens and token_logprobs of one length", reply)
    if any(value is not None and (not isinstance(value, int | float) or value > 1e-6) for value in values):
        raise Broke("a logprob is no number up to 0", reply)
    if all(isinstance(token, str) and "\ufffd" not in token for token in tokens) and "".join(tokens) != reply.text:
        raise LikelyBroke(f"the tokens join to {''.join(tokens)!a:.120}, not to the text", reply)


async def _wrong(probe: Probe) -> None:
    exchange = await probe.send({"model": probe.line.model, "prompt": {"text": 7}, "max_tokens": "many"})
    probe.called = True
    if not 400 <= exchange.status < 500:
        raise Broke(f"a wrong request is answered with {exchange.status}", exchange)
    error_object(exchange)


JUDGES: Judges = {
    "text_answers": partial(_is_right, _answer),
    "text_finish": _finish,
    "text_usage": partial(_is_right, _usage),
    "text_stream": partial(_is_right, _stream, stream=True),
    "text_chunks": partial(_is_right, _chunks, stream=True),
    "text_finish_last": partial(_is_right, finish_last, stream=True),
    "text_stream_text": _stream_text,
    "text_stream_usage": _stream_usage,
    "text_limit": _limit,
    "text_stop": _stop,
    "text_echo": _echo,
    "text_n": _several,
    "text_prompts": _prompts,
    "text_logprobs": _logprobs,
    "text_errors": _wrong,
}
