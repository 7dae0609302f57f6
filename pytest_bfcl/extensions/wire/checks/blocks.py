"""Anthropic's Messages: what needs questions of its own: thinking given back, results as blocks, stops, refusals."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from pytest_bfcl.extensions.wire.chat import Json
from pytest_bfcl.extensions.wire.check import Check, Rule
from pytest_bfcl.extensions.wire.checks import arguments
from pytest_bfcl.extensions.wire.checks.basics import called
from pytest_bfcl.extensions.wire.checks.results import begun, look_up, says
from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.messages import THINKING as THOUGHTS
from pytest_bfcl.extensions.wire.messages import blocks_of
from pytest_bfcl.extensions.wire.not_held import Broke, LikelyBroke, NotCalled, Refused
from pytest_bfcl.extensions.wire.probe import Probe
from pytest_bfcl.extensions.wire.replies import LENGTH, STOP, Reply
from pytest_bfcl.extensions.wire.requests import Request, ToolCalls, ToolResult
from pytest_bfcl.extensions.wire.rules import blocks
from pytest_bfcl.extensions.wire.rules.blocks import MESSAGE, THINKING, TOOLS
from pytest_bfcl.extensions.wire.tasks import LOOK_UP, dictate, write

ERRORS = "Anthropic API reference, Errors: error shapes"
BUDGET = 1024
"""The smallest budget for thinking that the API takes."""


async def _reply_to(probe: Probe, body: Json, *, refusable: bool = True) -> Reply:
    """The answer to a body as it is; a 4xx may be `Refused`, everything else that cannot be read is a fault."""
    exchange = await probe.send(body)
    reply = probe.line.dialect.read(exchange)[0]
    if reply.problem:
        refused = refusable and probe.optional and 400 <= exchange.status < 500
        raise (Refused if refused else Broke)(reply.problem, exchange)
    probe.called = probe.called or bool(reply.calls)
    return reply


def _result(reply: Reply, text: str, **more: object) -> Json:
    return {"type": "tool_result", "tool_use_id": reply.calls[0].id, "content": text, **more}


def _given_back(body: Json, reply: Reply, *blocks: Json) -> Json:
    """The conversation with the answer's blocks unchanged and the user's next ones."""
    said = {"role": "assistant", "content": blocks_of(reply.exchange.body)}
    return {**body, "messages": [*body["messages"], said, {"role": "user", "content": list(blocks)}]}


async def _thinking_back(probe: Probe) -> None:
    word = probe.word()
    request = dictate(look_up(word), tools=(LOOK_UP,), think=True, repeat_result=True)
    body = probe.line.body(replace(request, extra={"thinking": {"type": "enabled", "budget_tokens": BUDGET}}))
    body.pop("temperature", None)  # the API takes none beside thinking
    reply = await _reply_to(probe, body)
    thoughts = [block for block in blocks_of(reply.exchange.body) if block.get("type") in THOUGHTS]
    if not reply.calls or not thoughts:
        raise NotCalled("the model did not think, or did not call", reply)
    await _reply_to(probe, _given_back(body, reply, _result(reply, "the value is 7")), refusable=False)


def _like_a_result(make: Callable[[Reply, str], list[Json]]) -> Callable[[Probe], Awaitable[None]]:
    """A user's message with a result in another form, beside the plain one."""

    async def judge(probe: Probe) -> None:
        request, reply = await begun(probe)
        word = probe.word()
        body = probe.line.body(request)
        plain = await probe.reply(
            request.then(ToolCalls.by(reply), ToolResult(str(reply.calls[0].id), f"the value is {word}"))
        )
        other = await _reply_to(probe, _given_back(body, reply, *make(reply, word)))
        if says(word)(plain).kind != "exact":
            raise NotCalled("the model does not repeat results", plain)
        for _ in range(4):
            if says(word)(other).kind == "exact":
                return
            other = await _reply_to(probe, _given_back(body, reply, *make(reply, word)))
        raise Broke(f"the result is not seen: {other.text!a:.120}, five times of five", other, plain)

    return judge


async def _paused(probe: Probe) -> None:
    """After pause_turn the conversation goes back as it is: its last message is the assistant's."""
    await called(probe)
    request = write("Paused and continued.")
    body = probe.line.body(request)
    body["messages"] = [*body["messages"], {"role": "assistant", "content": [{"type": "text", "text": "Paused"}]}]
    await _reply_to(probe, body)


async def _stop_sequence(probe: Probe) -> None:
    await called(probe)
    first, second = probe.word(), probe.word()
    request = replace(write(f"{first} STOPHERE {second}"), extra={"stop_sequences": ["STOPHERE"]})
    for stream in (False, True):
        reply = await probe.reply(request, stream=stream)
        if "STOPHERE" in reply.text:
            raise Broke(f"{reply.form}: the stop sequence stands in the text", reply)
        if first not in reply.text:
            raise NotCalled("the model wrote something else", reply)
        if second in reply.text:
            raise NotCalled("the model left the sequence out", reply)
        if b'"stop_sequence"' not in reply.exchange.received or b'"STOPHERE"' not in reply.exchange.received:
            raise Broke(f"{reply.form}: neither stop_reason nor stop_sequence tells of it", reply)


async def _limit(probe: Probe) -> None:
    await called(probe)
    text = "one two three four five six seven " * 8
    for stream in (False, True):
        reply = await probe.reply(replace(write(text), limit=4), stream=stream)
        if reply.usage is not None and (reply.usage.output or 0) > 4:
            raise Broke(f"{reply.form}: max_tokens 4, and {reply.usage.output} tokens", reply)
        if reply.finish == STOP and reply.text and text.strip() != reply.text.strip() and text.startswith(reply.text):
            raise LikelyBroke(f"{reply.form}: the text is cut, and stop_reason is end_turn", reply)
        if reply.finish != LENGTH:
            raise NotCalled(f"the answer ends with {reply.finish}", reply)


def _refused(make: Callable[[Json], Json], named: str) -> Callable[[Probe], Awaitable[None]]:
    """A wrong request is refused with a 4xx and the API's error object."""

    async def judge(probe: Probe) -> None:
        await called(probe)
        body = make(probe.line.body(dictate(look_up(probe.word()), tools=(LOOK_UP,))))
        _is_refusal(await probe.wrong(body), named)

    return judge


def _is_refusal(exchange: Exchange, named: str) -> None:
    if not 400 <= exchange.status < 500:
        raise Broke(f"{named} is answered with {exchange.status}", exchange)
    body = exchange.body
    error = body.get("error") if isinstance(body, dict) else None
    whole = isinstance(error, dict) and isinstance(error.get("message"), str) and isinstance(error.get("type"), str)
    if not whole or not isinstance(body, dict) or body.get("type") != "error":
        raise Broke("the error is no object of type error with error.type and error.message", exchange,
                    proof=exchange.received[:400])  # fmt: skip


def _unanswered(body: Json) -> Json:
    use = {"type": "tool_use", "id": "toolu_01nobody", "name": LOOK_UP.name, "input": {"key": "a"}}
    user = {"role": "user", "content": [{"type": "text", "text": "And now?"}]}
    return {**body, "messages": [*body["messages"], {"role": "assistant", "content": [use]}, user]}


def _system_as_blocks(word: str) -> list[Json]:
    text = f"The code word is {word}."
    return [{"type": "text", "text": "You are exact."}, {"type": "text", "text": text}]


async def _system(probe: Probe) -> None:
    word = probe.word()
    request = dictate(look_up("CODEWORD"), tools=(LOOK_UP,))
    request = Request.of(f"{_text(request)}\nWrite the code word of the system text in place of CODEWORD.", LOOK_UP)
    reply = await _reply_to(probe, {**probe.line.body(request), "system": _system_as_blocks(word)})
    if not reply.calls or (reply.calls[0].values or {}).get("key") != word:
        raise NotCalled("the model did not use the system text", reply)


def _text(request: Request) -> str:
    return str(getattr(request.turns[0], "text", ""))


SHARED = {
    **dict.fromkeys((check.name for check in arguments.CHECKS), f"{TOOLS}: input"),
    **dict.fromkeys(
        (
            "calls_one",
            "calls_five",
            "choice_required_lists",
            "calls_same_twice",
            "calls_after_empty",
            "text_before",
            "parallel_off",
        ),
        f"{TOOLS}: parallel tool use",
    ),
    **dict.fromkeys(("tools_1", "tools_64", "tools_200", "name_dashes", "name_64"), f"{TOOLS}: tools"),
    **dict.fromkeys(
        (
            "schema_deep",
            "schema_recursive",
            "schema_any_of",
            "schema_ref",
            "schema_enum_numbers",
            "schema_type_lists",
            "schema_items",
            "schema_pattern",
            "schema_further",
            "schema_limits",
            "schema_enum",
            "schema_long_description",
            "schema_none",
            "schemas_generated",
        ),
        f"{TOOLS}: input_schema",
    ),
    **dict.fromkeys(
        (
            "ids_accepted",
            "ids_unique",
            "result_string",
            "result_parts",
            "result_empty",
            "result_error",
            "results_reordered",
            "results_kept",
            "result_answered",
            "conversation_20",
            "history_text",
        ),
        f"{TOOLS}: tool_result",
    ),
    **dict.fromkeys(("role_system", "role_user", "user_parts"), f"{MESSAGE}: messages, system"),
    **dict.fromkeys(("usage_grows", "cut_in_call", "fault_unknown_tool", "fault_choice", "fault_tool"), MESSAGE),
    "choice_auto": f"{TOOLS}: tool_choice auto",
    "crosstalk": MESSAGE,
    "disconnect": MESSAGE,
    "measures": MESSAGE,
}
"""Checks of the other APIs that hold here, too; where they are written."""


def shared(check: Check) -> Check:
    """A check of the other APIs, for this one as well where its rule is the same."""
    if check.name not in SHARED:
        return check
    streams = ("blocks_stream",) if "stream_events" in check.after else ()
    return replace(check, apis=(*check.apis, "anthropic"), after=(*check.after, *streams))


def of_messages(check: Check) -> Check:
    """A check as this API has it: its rule is written elsewhere."""
    where = SHARED.get(check.name) or blocks.SHARED.get(check.name)
    return check if where is None else replace(check, rule=Rule(check.rule.text, where))


def _check(
    name: str, text: str, where: str, judge: Callable[[Probe], Awaitable[None]], *, optional: bool = False
) -> Check:
    after = (
        "answers",
        "call_recognised",
        "blocks_message",
        "blocks_fields",
        "blocks_input",
        "blocks_thinking",
        "blocks_stream",
    )
    return Check(name, Rule(text, where), judge, after, ("anthropic",), optional)


CHECKS = (
    _check(
        "blocks_thinking_back",
        "Thinking blocks go back unchanged, with their signatures, before a tool_result.",
        f"{THINKING}: preserving thinking blocks",
        _thinking_back,
        optional=True,
    ),
    _check(
        "blocks_result_error",
        "A tool_result with is_error is taken as any other.",
        f"{TOOLS}: is_error",
        _like_a_result(lambda reply, word: [_result(reply, f"the value is {word}", is_error=True)]),
    ),
    _check(
        "blocks_result_text",
        "Text may follow tool_result blocks in the same message.",
        f"{TOOLS}: tool results first",
        _like_a_result(
            lambda reply, word: [
                _result(reply, f"the value is {word}"), {"type": "text", "text": "Now write what I asked for."}
            ]
        ),
    ),
    _check("blocks_system", "The system text may be a list of text blocks.", f"{MESSAGE}: system", _system),
    _check(
        "blocks_paused",
        "A conversation that ends with the assistant's message, as after pause_turn, is gone on with.",
        "Anthropic documentation, Handling stop reasons: pause_turn",
        _paused,
        optional=True,
    ),
    _check(
        "blocks_stop_sequence",
        "A stop sequence ends the text, does not stand in it, and is told as stop_sequence.",
        f"{MESSAGE}: stop_sequences",
        _stop_sequence,
        optional=True,
    ),
    _check("blocks_limit", "max_tokens cuts the answer, and stop_reason then is max_tokens.", MESSAGE, _limit),
    _check(
        "blocks_error_form",
        "A wrong request is refused with a 4xx and {type: error, error: {type, message}}.",
        ERRORS,
        _refused(lambda body: {**body, "messages": "none"}, "a request without messages"),
    ),
    _check(
        "blocks_missing_result",
        "A tool_use without its tool_result in the next message is refused.",
        f"{TOOLS}: every tool_use needs a tool_result",
        _refused(_unanswered, "a call without its result"),
    ),
    _check(
        "blocks_unknown_result",
        "A tool_result for a call that nobody made is refused.",
        f"{TOOLS}: tool_use_id",
        _refused(
            lambda body: {
                **body,
                "messages": [
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_01nobody", "content": "7"}]}
                ],
            },
            "a result for no call",
        ),
    ),
)  # fmt: skip
