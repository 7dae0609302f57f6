"""How an answer ended and what it cost."""

from __future__ import annotations

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.replies import CALLS, LENGTH, STOP
from pytest_bfcl.extensions.wire.row import Found, RowJudges, wrong


def _calls(judged: Judged) -> Found:
    reply = judged.reply
    if not reply.calls or reply.finish == LENGTH:
        return None
    # A call that was forced may end with stop: the guide to structured outputs says so.
    right = (CALLS, STOP) if judged.cell.forced else (CALLS,)
    return wrong("" if reply.finish in right else f"the answer has a call and ends with {reply.finish!r}")


def _stop(judged: Judged) -> Found:
    reply = judged.reply
    if reply.problem or reply.calls or reply.finish == LENGTH or judged.wanted:
        return None
    return wrong("" if reply.finish == STOP else f"the answer is a text and ends with {reply.finish!r}")


def _streamed(judged: Judged) -> Found:
    if judged.reply.problem:
        return None
    return _calls(judged) if judged.reply.calls else _stop(judged)


def _present(judged: Judged) -> Found:
    if judged.reply.problem:
        return None
    usage = judged.reply.usage
    told = usage is not None and None not in (usage.input, usage.output, usage.total)
    return wrong("" if told else f"usage is missing or has a field that is no whole number: {usage}")


def _sums(judged: Judged) -> Found:
    usage = judged.reply.usage
    if usage is None or usage.input is None or usage.output is None:
        return None
    said = bool(judged.reply.calls or judged.reply.text)
    if usage.input <= 0 or (said and usage.output <= 0):
        return wrong(f"the answer cost {usage.input} tokens in and {usage.output} out")
    added = usage.input + usage.output
    return wrong("" if usage.total == added else f"{usage.input} + {usage.output} tokens are not {usage.total}")


def _stream_usage(judged: Judged) -> Found:
    reply, twin = judged.reply, judged.twin
    if reply.problem:
        return None
    if reply.usage is None:
        return wrong("the stream tells no usage, though it was asked for")
    if odd := _sums(judged):
        return odd
    asked = bool(judged.wanted) and judged.match.kind == "exact"  # the same question had the same answer
    if twin is None or twin.usage is None or not asked:
        return ()
    one, two = twin.usage, reply.usage
    if one.input != two.input:
        return wrong(f"the same prompt has {one.input} tokens unstreamed and {two.input} streamed")
    same = (twin.reasoning, twin.text, _pairs(twin.calls)) == (reply.reasoning, reply.text, _pairs(reply.calls))
    apart = abs((one.output or 0) - (two.output or 0)) > max(2, (one.output or 0) // 5)
    return wrong(
        f"the same answer has {one.output} tokens unstreamed and {two.output} streamed" if same and apart else ""
    )


def _pairs(calls: object) -> object:
    return [(call.name, call.arguments) for call in calls]  # type: ignore[attr-defined]


JUDGES: RowJudges = {
    "finish_calls": _calls,
    "finish_stop": _stop,
    "stream_finish": _streamed,
    "usage_present": _present,
    "usage_plausible": _sums,
    "stream_usage": _stream_usage,
}
