"""Text completions: the object, its stream, its end, and what else a prompt may ask for. Logprobs may be missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_bfcl.extensions.wire.chat import Json, choices_of
from pytest_bfcl.extensions.wire.exchange import DONE, loads
from pytest_bfcl.extensions.wire.probe import Broke, LikelyBroke, NotCalled, Probe, together
from pytest_bfcl.extensions.wire.replies import LENGTH, STOP, Reply
from pytest_bfcl.extensions.wire.requests import Request
from pytest_bfcl.extensions.wire.row import Judges

PROMPT = "The numbers in order: one, two, three, four, five,"


async def completed(probe: Probe, *, stream: bool = False, limit: int | None = None, **extra: Any) -> Reply:
    """One completion of a plain prompt."""
    (reply, *_) = await all_completed(probe, stream=stream, limit=limit, **extra)
    return reply


async def all_completed(
    probe: Probe, *, stream: bool = False, limit: int | None = None, **extra: Any
) -> tuple[Reply, ...]:
    """Every choice of the completion of a plain prompt."""
    replies = await probe.choices(Request.of(PROMPT, limit=limit, extra=extra), stream=stream)
    probe.called = True  # a text is all there is to be said
    return replies


def _first(said: Iterator[str], reply: Reply) -> None:
    if why := next(said, None):
        raise Broke(why, reply)


def _form(body: Any) -> Iterator[str]:
    if not isinstance(body.get("id"), str) or not isinstance(body.get("model"), str):
        yield f"id or model is missing: {body.get('id')!r:.80}, {body.get('model')!r:.80}"
    if body.get("object") != "text_completion":
        yield f"object is {body.get('object')!r:.80}, not 'text_completion'"
    if not isinstance(body.get("created"), int | float):
        yield f"created is {body.get('created')!r:.80}"
    for position, choice in enumerate(choices_of(body)):
        if not isinstance(choice.get("text"), str):
            yield f"choice {position} has the text {choice.get('text')!r:.80}"
        if "message" in choice or "delta" in choice:
            yield f"choice {position} has a message or delta, as chat completions has them"
        if choice.get("index") != position:
            yield f"choice {position} has the index {choice.get('index')!r:.80}"


async def _replies(probe: Probe) -> None:
    reply = await completed(probe)
    kind = reply.exchange.content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Broke(f"the content type is {kind!r:.80}", reply, proof=kind.encode())
    _first(_form(reply.exchange.body), reply)


async def _finish(probe: Probe) -> None:
    for stream in (False, True):
        reply = await completed(probe, stream=stream)
        if reply.finish not in (STOP, LENGTH):
            raise Broke(f"{reply.form}: finish_reason is {reply.finish!r:.80}, neither stop nor length", reply)


async def _limit(probe: Probe) -> None:
    plain = await completed(probe)
    for stream in (False, True):
        reply = await completed(probe, stream=stream, limit=2)
        if reply.usage is not None and reply.usage.output is not None and reply.usage.output > 2:
            raise Broke(f"{reply.form}: max_tokens 2, and {reply.usage.output} tokens", reply)
        if len(reply.text) > 200:
            raise Broke(f"{reply.form}: max_tokens 2, and {len(reply.text)} characters", reply)
        if not (plain.text.startswith(reply.text) and len(reply.text) < len(plain.text)):
            raise NotCalled("the model writes something else where less is allowed", reply, plain)
        if reply.finish != LENGTH:
            raise LikelyBroke(f"{reply.form}: cut by max_tokens, and it ends with {reply.finish!r:.80}", reply)


async def _usage(probe: Probe) -> None:
    reply = await completed(probe)
    usage = reply.usage
    if usage is None or None in (usage.input, usage.output, usage.total):
        raise Broke(f"usage is missing or has a field that is no whole number: {usage}", reply)
    if usage.total != (usage.input or 0) + (usage.output or 0) or not usage.input:
        raise Broke(f"{usage.input} prompt tokens and {usage.output} make {usage.total}", reply)


async def _stream(probe: Probe) -> None:
    reply = await completed(probe, stream=True)
    exchange = reply.exchange
    if not exchange.streamed:
        raise Broke(f"the content type is {exchange.content_type!r:.80}, not text/event-stream", reply)
    for event in exchange.events:
        if not event.ended:
            raise Broke("the last event has no empty line at its end", reply, proof=event.raw)
        if event.data.strip() != DONE and not isinstance(loads(event.data), dict):
            raise Broke("an event's data is no JSON object", reply, proof=event.raw)
    datas = [event.data.strip() for event in exchange.events]
    if datas.count(DONE) != 1 or datas[-1] != DONE:
        raise Broke(f"the stream does not end with data: {DONE}", reply, proof=exchange.received[-200:])


async def _chunks(probe: Probe) -> None:
    reply = await completed(probe, stream=True)
    found = list(reply.exchange.objects())
    if len({str(chunk.get("id")) for chunk in found}) != 1:
        raise Broke("chunks of one answer have different ids", reply)
    for chunk in found:
        _first(_form({**chunk, "choices": chunk.get("choices") or []}), reply)


async def _finish_last(probe: Probe) -> None:
    reply = await completed(probe, stream=True)
    finishes = 0
    for chunk in reply.exchange.objects():
        for choice in choices_of(chunk):
            if finishes and choice.get("text"):
                raise Broke("text comes after the finish reason", reply, proof=repr(chunk).encode())
            finishes += choice.get("finish_reason") is not None
    if finishes != 1:
        raise Broke(f"the stream has {finishes} finish reasons", reply)


async def _stream_usage(probe: Probe) -> None:
    whole, streamed = await together(completed(probe), completed(probe, stream=True))
    if streamed.usage is None:
        raise Broke("the stream tells no usage, though it was asked for", streamed)
    if whole.usage is not None and whole.usage.input != streamed.usage.input:
        said = f"{whole.usage.input} tokens unstreamed and {streamed.usage.input} streamed"
        raise Broke(f"the same prompt has {said}", whole, streamed)


async def _stream_text(probe: Probe) -> None:
    """The same text streamed, where the model says the same unstreamed every time."""
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
    for stream in (False, True):
        reply = await completed(probe, stream=stream, stop=[words[1]])
        if words[1] in reply.text:
            raise Broke(f"{reply.form}: the stop sequence {words[1]!a:.40} stands in the text", reply)
        if reply.text and plain.text.startswith(reply.text) and reply.finish != STOP:
            raise LikelyBroke(f"{reply.form}: stopped, and it ends with {reply.finish!r:.80}", reply)


async def _echo(probe: Probe) -> None:
    for stream in (False, True):
        reply = await completed(probe, stream=stream, echo=True)
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
    choice: Json = choices_of(reply.exchange.body)[0]
    told = choice.get("logprobs")
    if told is None:
        return  # absent is fine
    tokens = told.get("tokens") if isinstance(told, dict) else None
    values = told.get("token_logprobs") if isinstance(told, dict) else None
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        raise Broke("logprobs has no tokens and token_logprobs of one length", reply)
    if any(value is not None and (not isinstance(value, int | float) or value > 1e-6) for value in values):
        raise Broke("a logprob is no number up to 0", reply)
    if all(isinstance(token, str) and "\ufffd" not in token for token in tokens) and "".join(tokens) != reply.text:
        raise LikelyBroke(f"the tokens join to {''.join(tokens)!a:.120}, not to the text", reply)


async def _wrong(probe: Probe) -> None:
    exchange = await probe.wrong({"model": probe.line.model, "prompt": {"text": 7}, "max_tokens": "many"})
    probe.called = True
    if not 400 <= exchange.status < 500:
        raise Broke(f"a wrong request is answered with {exchange.status}", exchange)
    body = exchange.body
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        raise Broke("the error is no object with error.message", exchange, proof=exchange.received[:400])


JUDGES: Judges = {
    "text_answers": _replies,
    "text_finish": _finish,
    "text_usage": _usage,
    "text_stream": _stream,
    "text_chunks": _chunks,
    "text_finish_last": _finish_last,
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
