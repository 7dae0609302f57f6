"""Generated schemas: whatever a schema says, a call that was dictated and fits it arrives."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec

from pytest_bfcl.extensions.wire.differences import Wanted, compare
from pytest_bfcl.extensions.wire.fuzzing import Pair, drawn
from pytest_bfcl.extensions.wire.probe import Broke, LikelyBroke, NotCalled, Probe, Suspected
from pytest_bfcl.extensions.wire.requests import Request, Tool
from pytest_bfcl.extensions.wire.row import Judges
from pytest_bfcl.extensions.wire.tasks import dictate, schema

NAME = "set_up"
SUSPECTS = 3
"""Schemas that went wrong and are weighed, before the model is called weak."""
SHRINKING = 100
"""Most schemas that are asked for a smaller one that fails."""


async def _schemas(probe: Probe) -> None:
    if find_spec("hypothesis") is None:
        raise NotCalled("needs the package hypothesis: pip install 'pytest-bfcl[wire]'")
    count, seed = probe.conduct.schemas, f"{probe.conduct.seed}/{probe.attempt}"
    if not count:
        raise NotCalled("--bfcl-sample schemas=0")
    found: list[Pair] = []

    def keep(pair: Pair) -> bool:
        found.append(pair)
        return False

    await asyncio.to_thread(drawn, count, seed, keep)
    right = await asyncio.gather(*(_is_right(probe, pair) for pair in found))
    odd = [pair for pair, held in zip(found, right, strict=True) if not held]
    wavered: NotCalled | None = None
    for pair in odd[:SUSPECTS]:
        try:
            await _weigh(probe, pair)
        except NotCalled as end:
            wavered = end
        except Broke as end:
            raise await _smallest(probe, count, seed, pair, end) from None
    if wavered is not None and not any(right):
        raise wavered


def _asks(pair: Pair) -> tuple[Request, Request, Wanted]:
    """The call under its schema, the same under one that asks for nothing, and the call."""
    parameters, arguments = pair
    wanted = Wanted(NAME, arguments)
    plain = Tool(NAME, schema({key: {} for key in arguments}), "Sets something up.")
    tool = Tool(NAME, parameters, "Sets something up.")
    return dictate(wanted, tools=[tool]), dictate(wanted, tools=[plain]), wanted


async def _is_right(probe: Probe, pair: Pair) -> bool:
    """Whether both forms of the answer hold the call."""
    request, _, wanted = _asks(pair)
    found = await asyncio.gather(*map(probe.replies, (request, request.streamed())))
    replies = [each[0] for each in found]
    probe.called = probe.called or any(reply.calls for reply in replies)
    return all(not reply.problem and compare([wanted], reply).kind == "exact" for reply in replies)


async def _weigh(probe: Probe, pair: Pair) -> None:
    """Raises unless the call arrives; the server is blamed when it does under a schema that asks for nothing."""
    request, plain, wanted = _asks(pair)
    requests = [plain, request, request.streamed()]
    await probe.weighed(requests, lambda reply: compare([wanted], reply))


async def _smallest(probe: Probe, count: int, seed: str, first: Pair, end: Broke) -> Broke:
    """The fault at the smallest schema that shows it."""
    loop = asyncio.get_running_loop()
    known: dict[str, bool] = {}
    begun = False

    def fails(pair: Pair) -> bool:
        nonlocal begun
        begun = begun or pair == first  # whatever was drawn before it was right, or the model's
        text = json.dumps(pair)
        if text not in known and begun:
            asked = len(known) < SHRINKING and pair != first
            right = asyncio.run_coroutine_threadsafe(_is_right(probe, pair), loop).result() if asked else pair != first
            known[text] = not right
        return known.get(text, False)

    pair = await asyncio.to_thread(drawn, count, seed, fails) or first
    try:
        await _weigh(probe, pair)
    except Broke as smaller:
        first, end = pair, smaller
    except NotCalled:
        pass  # the smaller one was the model's mood
    why = (
        f"{end.why}; the smallest schema that shows it: {json.dumps(first[0], ensure_ascii=False)[:600]} (seed {seed})"
    )
    kind = Suspected if isinstance(end, Suspected) else LikelyBroke if isinstance(end, LikelyBroke) else Broke
    return kind(why, *end.exchanges, proof=end.proof)


JUDGES: Judges = {
    "schemas_generated": _schemas,
}
