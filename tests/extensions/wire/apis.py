"""How the reference server hears requests and writes answers: chat completions, Responses, Messages, texts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.extensions.wire import model
from tests.extensions.wire.model import Heard, Json, Message, Refusal, Turn, pieces


def need(right: object, said: str) -> None:
    if not right:
        raise Refusal(said)


def text_of(content: Any) -> str:
    need(isinstance(content, str | list | None), "content must be a text or a list of parts")
    return "".join(part.get("text", "") for part in content) if isinstance(content, list) else content or ""


def check_history(turns: list[Turn]) -> None:
    waiting: set[str] = set()
    made: set[str] = set()
    for turn in [*turns, Turn("end")]:
        if turn.role == "tool":
            need(turn.call_id in made, f"tool_call_id {turn.call_id} belongs to no call")
            waiting.discard(turn.call_id)
            continue
        need(not waiting, f"tool call {min(waiting, default='')} has no result")
        for call_id, _, arguments in turn.calls:
            try:
                json.loads(arguments)
            except (ValueError, TypeError):
                raise Refusal(f"the arguments of {call_id} are no JSON") from None
            waiting.add(call_id)
            made.add(call_id)


# -- chat completions and Responses ----------------------------------------------------------------------------------


def hear(api: str, body: Json) -> Heard:
    turns = _chat_turns(body) if api == "chat" else _response_turns(body)
    functions = [tool.get("function") if api == "chat" else tool for tool in body.get("tools") or []]
    need(all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in functions),
         "tools[0]: a function with a name is missing")  # fmt: skip
    tools = {each["name"]: each.get("parameters") or {"type": "object", "properties": {}} for each in functions}
    choice = body.get("tool_choice", "auto")
    if not isinstance(choice, str):
        choice = "=" + (choice.get("function") or choice)["name"]
        need(choice[1:] in tools, f"tool_choice names {choice[1:]}, which is not among the tools")
    check_history(turns)
    return Heard(
        api, turns, list(tools.items()), bool(body.get("stream")), choice=choice,
        usage=bool((body.get("stream_options") or {}).get("include_usage")),
        parallel=body.get("parallel_tool_calls", True),
        limit=body.get("max_tokens") or body.get("max_completion_tokens") or body.get("max_output_tokens"),
        stop=list(body.get("stop") or []), n=body.get("n") or 1, logprobs=bool(body.get("logprobs")),
        size=len(json.dumps([body.get(name) for name in ("messages", "input", "tools")])), model=body.get("model", "m"),
        sealed="reasoning.encrypted_content" in (body.get("include") or ()),
        strict=any(each.get("strict") for each in functions),
    )  # fmt: skip


def _chat_turns(body: Json) -> list[Turn]:
    turns = []
    for message in body.get("messages") or []:
        functions = [(call["id"], call["function"]) for call in message.get("tool_calls") or []]
        calls = [(call_id, each["name"], each["arguments"]) for call_id, each in functions]
        turns.append(Turn(message["role"], text_of(message.get("content")), calls, message.get("tool_call_id", "")))
    return turns


def _response_turns(body: Json) -> list[Turn]:
    turns = [Turn("instructions", body["instructions"])] if body.get("instructions") else []
    for item in body.get("input") or []:
        kind = item.get("type", "message")
        if kind == "function_call":
            if not turns or turns[-1].role != "assistant":
                turns.append(Turn("assistant"))
            turns[-1].calls.append((item["call_id"], item["name"], item["arguments"]))
        elif kind == "function_call_output":
            turns.append(Turn("tool", text_of(item["output"]), call_id=item["call_id"]))
        elif kind != "reasoning":
            turns.append(Turn(item["role"], text_of(item.get("content"))))
    return turns


FINISH = {"calls": "tool_calls", "stop": "stop", "length": "length"}


def chat_whole(saids: list[Message], heard: Heard) -> Json:
    choices = []
    for index, said in enumerate(saids):
        message: Json = {"role": "assistant", "content": said.text or None}
        if said.reasoning:
            message["reasoning_content"] = said.reasoning
        if said.calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, (name, arguments) in zip(said.ids, said.calls, strict=False)
            ]
        told = logprobs(said.text) if heard.logprobs and said.text else None
        choices.append(
            {"index": index, "message": message, "finish_reason": FINISH[said.finish], "logprobs": told}
        )  # fmt: skip
    return {"id": f"chatcmpl-{saids[0].ids[-1]}", "object": "chat.completion", "created": 1, "model": heard.model,
            "choices": choices, "usage": usage(saids, heard)}  # fmt: skip


def logprobs(text: str) -> Json:
    return {"content": [{"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": []}]}


def usage(saids: list[Message], heard: Heard) -> Json:
    size, tokens = heard.size // 4, sum(said.tokens for said in saids)
    return {"prompt_tokens": size, "completion_tokens": tokens, "total_tokens": size + tokens}


def chat_chunks(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    whole = chat_whole(saids, heard)
    head = {**whole, "object": "chat.completion.chunk", "usage": None}

    def chunk(index: int, delta: Json, finish: str | None = None, **more: Any) -> Json:
        return {**head, "choices": [{"index": index, "delta": delta, "finish_reason": finish, **more}]}

    for index, (said, choice) in enumerate(zip(saids, whole["choices"], strict=True)):
        yield chunk(index, {"role": "assistant", "content": ""})
        for piece in pieces(said.reasoning, size):
            yield chunk(index, {"reasoning_content": piece})
        for piece in pieces(said.before, size):
            yield chunk(index, {"content": piece}, **({"logprobs": logprobs(piece)} if heard.logprobs else {}))
        for number, call in enumerate(choice["message"].get("tool_calls", ())):
            begun = {"index": number, **call, "function": {**call["function"], "arguments": ""}}
            yield chunk(index, {"tool_calls": [begun]})
            for piece in pieces(call["function"]["arguments"], size):
                yield chunk(index, {"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
        for piece in pieces(said.text[len(said.before) :], size):
            yield chunk(index, {"content": piece})
        yield chunk(index, {}, choice["finish_reason"])
    if heard.usage:
        yield {**head, "choices": [], "usage": whole["usage"]}


def response_items(said: Message, *, sealed: bool = False) -> Iterator[Json]:
    own = said.ids[-1]
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        more = {"encrypted_content": said.reasoning.encode().hex()} if sealed else {}
        yield {"type": "reasoning", "id": f"rs_{own}", "summary": summary, **more}
    for name, text in (("a", said.before), ("b", said.after)):
        if text:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            yield {"type": "message", "id": f"msg_{name}{own}", "role": "assistant", "status": "completed",
                   "content": content}  # fmt: skip
        for n, (call_id, (function, arguments)) in enumerate(zip(said.ids, said.calls, strict=False)):
            if name == "a":
                yield {"type": "function_call", "id": f"fc_{n}{own}", "call_id": call_id, "name": function,
                       "arguments": arguments, "status": "completed"}  # fmt: skip


def response_whole(saids: list[Message], heard: Heard) -> Json:
    said, size = saids[0], heard.size // 4
    cut_short = said.finish == "length"
    return {
        "id": f"resp_{said.ids[-1]}", "object": "response", "created_at": 1, "model": heard.model,
        "status": "incomplete" if cut_short else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut_short else None,
        "output": list(response_items(said, sealed=heard.sealed)),
        "usage": {"input_tokens": size, "output_tokens": said.tokens, "total_tokens": size + said.tokens},
    }  # fmt: skip


_EMPTY = {
    "function_call": {"arguments": "", "status": "in_progress"},
    "message": {"content": []},
    "reasoning": {"summary": []},
}


def response_events(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    whole = response_whole(saids, heard)
    counter = itertools.count()

    def event(kind: str, **more: Any) -> Json:
        return {"type": f"response.{kind}", "sequence_number": next(counter), **more}

    def filled(kind: str, said: str, place: Json, **done: Any) -> Iterator[Json]:
        for piece in pieces(said, size):
            yield event(f"{kind}.delta", **place, delta=piece)
        yield event(f"{kind}.done", **place, **done)

    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield event("created", response=begun)
    yield event("in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        yield event("output_item.added", output_index=index, item={**item, **_EMPTY[item["type"]]})
        if item["type"] == "function_call":
            arguments = item["arguments"]
            yield from filled("function_call_arguments", arguments, place, arguments=arguments, name=item["name"])
        elif item["type"] == "message":
            (part,), place = item["content"], {**place, "content_index": 0}
            yield event("content_part.added", **place, part={**part, "text": ""})
            yield from filled("output_text", part["text"], place, text=part["text"])
            yield event("content_part.done", **place, part=part)
        else:
            text = item["summary"][0]["text"]
            yield from filled("reasoning_summary_text", text, {**place, "summary_index": 0}, text=text)
        yield event("output_item.done", output_index=index, item=item)
    yield event(whole["status"], response=whole)


def refused(refusal: Refusal) -> tuple[int, Json]:
    return refusal.status, {"error": {"message": refusal.message, "type": "invalid_request_error", "code": None}}


# -- Messages --------------------------------------------------------------------------------------------------------

SIGNED = "c2lnbmVk"
"""What signs a thought."""
CHOICES = {"auto": "auto", "any": "required", "none": "none", "tool": "="}
REASONS = {"calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}
DELTAS = {
    "text": ("text", "text_delta", "text"), "thinking": ("thinking", "thinking_delta", "thinking"),
    "tool_use": ("input", "input_json_delta", "partial_json"),
}  # fmt: skip
"""Type of a block → its field, and its deltas' type and field."""


def hear_messages(api: str, body: Json) -> Heard:
    messages, limit = body.get("messages"), body.get("max_tokens")
    need(isinstance(messages, list) and messages, "messages: a list that is not empty is required")
    need(isinstance(limit, int) and limit > 0, "max_tokens: required, a whole number")
    system = text_of(body.get("system"))
    turns = [Turn("system", system)] if system else []
    for message in messages or ():
        need(message.get("role") in ("user", "assistant"), f"messages: unknown role {message.get('role')}")
        turns += _message_turns(message)
    check_history(turns)
    tools = {tool.get("name"): tool.get("input_schema") for tool in body.get("tools") or []}
    need(all(isinstance(name, str) and isinstance(each, dict) for name, each in tools.items()),
         "tools: name, input_schema")  # fmt: skip
    choice = body.get("tool_choice") or {"type": "auto"}
    need(choice.get("type") in CHOICES, f"tool_choice: unknown type {choice.get('type')}")
    need(choice["type"] != "tool" or choice.get("name") in tools, f"tool_choice: {choice.get('name')}")
    return Heard(
        api, turns, list(tools.items()), bool(body.get("stream")), usage=True, limit=limit, size=len(json.dumps(body)),
        choice=CHOICES[choice["type"]] + (choice["name"] if choice["type"] == "tool" else ""),
        parallel=not choice.get("disable_parallel_tool_use"), stop=list(body.get("stop_sequences") or []),
        model=body.get("model", "m"),
    )  # fmt: skip


def _message_turns(message: Json) -> Iterator[Turn]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    calls = []
    for block in blocks:
        if block["type"] == "tool_result":
            yield Turn("tool", text_of(block.get("content")), call_id=block["tool_use_id"])
        elif block["type"] == "tool_use":
            need(isinstance(block["input"], dict), "tool_use: input must be an object")
            calls.append((block["id"], block["name"], json.dumps(block["input"])))
        elif block["type"] == "thinking":
            need(block.get("signature") == SIGNED, "thinking: the signature is wrong")
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    if text or calls:
        yield Turn(message["role"], text, calls)


def think_on(heard: Heard) -> Message:
    """As the model of all APIs, which goes on where its own message ended, and reads results before a text."""
    last, before = heard.turns[-1], [turn.role for turn in heard.turns[-2:-1]]
    if last.role == "assistant":
        return Message(before=" and continued.")
    if last.role == "user" and before == ["tool"] and not model.ORDER.search(last.text):
        heard.turns.pop()
    return model.think(heard)


def cut_messages(said: Message, heard: Heard, size: int) -> Message:
    stopped = next((stop for stop in heard.stop if stop in said.text), None)
    said = model.cut(said, heard, max(size, 3))  # 8,192 tokens hold every dictated text
    said.stopped = stopped
    return said


def message_blocks(said: Message) -> list[Json]:
    """The blocks; the inputs of calls as text."""
    uses = zip(said.ids, said.calls, strict=False)
    blocks: list[Json] = [
        {"type": "thinking", "thinking": said.reasoning, "signature": SIGNED},
        {"type": "text", "text": said.before},
        *({"type": "tool_use", "id": call_id, "name": name, "input": text} for call_id, (name, text) in uses),
        {"type": "text", "text": said.after},
    ]
    return [block for block in blocks if block["type"] == "tool_use" or block[block["type"]]]


def parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:  # cut short
        return {}


def message_whole(saids: list[Message], heard: Heard) -> Json:
    (said,) = saids
    return {
        "id": f"msg_{said.ids[-1]}", "type": "message", "role": "assistant", "model": heard.model,
        "content": [{**block, "input": parsed(block["input"])} if "input" in block else block
                    for block in message_blocks(said)],
        "stop_reason": "stop_sequence" if said.stopped else REASONS[said.finish], "stop_sequence": said.stopped,
        "usage": {"input_tokens": heard.size // 4, "output_tokens": said.tokens},
    }  # fmt: skip


def message_events(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    whole, (said,) = message_whole(saids, heard), saids
    begun = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": {**whole, **begun}}
    yield {"type": "ping"}
    for index, block in enumerate(message_blocks(said)):
        field, delta, key = DELTAS[block["type"]]
        empty = {**block, field: {} if field == "input" else ""} | ({"signature": ""} if field == "thinking" else {})
        deltas = [{"type": delta, key: piece} for piece in pieces(block[field], size)]
        if field == "thinking":
            deltas.append({"type": "signature_delta", "signature": SIGNED})
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for each in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": each}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": whole["stop_sequence"]}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": said.tokens}}
    yield {"type": "message_stop"}


def refused_messages(refusal: Refusal) -> tuple[int, Json]:
    error = {"type": "invalid_request_error", "message": refusal.message}
    return refusal.status, {"type": "error", "error": error, "request_id": "req_1"}


# -- text completions ------------------------------------------------------------------------------------------------

STORY = " six, seven, eight, nine, ten, and so on" + " and on" * 20 + " without an end."


def hear_text(api: str, body: Json) -> Heard:
    prompt, stop = body.get("prompt"), body.get("stop") or []
    prompts = prompt if isinstance(prompt, list) else [prompt]
    need(all(isinstance(each, str) for each in prompts), "prompt must be a text or a list of texts")
    need(isinstance(body.get("max_tokens", 16), int), "max_tokens must be a whole number")
    return Heard(
        api, [Turn("user", each) for each in prompts], [], bool(body.get("stream")), size=len(str(prompt)) * 4,
        usage=bool((body.get("stream_options") or {}).get("include_usage")), limit=body.get("max_tokens", 16),
        stop=[stop] if isinstance(stop, str) else stop, n=(body.get("n") or 1) * len(prompts),
        logprobs=body.get("logprobs") is not None, model=body.get("model", "m"), echo=bool(body.get("echo")),
    )  # fmt: skip


def text_whole(saids: list[Message], heard: Heard) -> Json:
    echoed = [turn.text if heard.echo else "" for turn in heard.turns]
    choices = []
    for index, said in enumerate(saids):
        text = f"{echoed[index * len(echoed) // len(saids)]}{said.before}"
        told = {"tokens": [text], "token_logprobs": [-0.5], "text_offset": [0]} if heard.logprobs else None
        choices.append({"index": index, "text": text, "finish_reason": FINISH[said.finish], "logprobs": told})
    return {"id": f"cmpl-{saids[0].ids[-1]}", "object": "text_completion", "created": 1, "model": heard.model,
            "choices": choices, "usage": usage(saids, heard)}  # fmt: skip


def text_chunks(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    whole = text_whole(saids, heard)
    for choice in whole["choices"]:
        told = [{"text": piece, "finish_reason": None} for piece in pieces(choice["text"], size)]
        for each in [*told, {"text": ""}]:
            yield {**whole, "choices": [{**choice, "logprobs": None, **each}], "usage": None}
    if heard.usage:
        yield {**whole, "choices": []}


# -- all of them -----------------------------------------------------------------------------------------------------

Stage = Callable[..., Any]


@dataclass(frozen=True)
class Form:
    """How an API is heard and written. ``named``: events have a line ``event:``; ``end``: what stands behind them."""

    hear: Stage
    whole: Stage
    events: Stage
    named: bool = False
    end: str = ""
    think: Stage = model.think
    cut: Stage = model.cut
    refuse: Stage = refused


DONE = "data: [DONE]\n\n"
FORMS = {
    "chat": Form(hear, chat_whole, chat_chunks, end=DONE),
    "responses": Form(hear, response_whole, response_events, named=True),
    "anthropic": Form(hear_messages, message_whole, message_events, named=True, think=think_on, cut=cut_messages,
                      refuse=refused_messages),
    "completions": Form(hear_text, text_whole, text_chunks, end=DONE, think=lambda heard: Message(before=STORY)),
}  # fmt: skip
