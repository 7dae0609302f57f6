"""The reference server's Messages and text completions: the same model, heard and written in other words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.extensions.wire import reference
from tests.extensions.wire.reference import (
    Form,
    Heard,
    Json,
    Message,
    Refusal,
    Turn,
    check_history,
    cut,
    pieces,
    text_of,
)

SIGNED = "c2lnbmVk"
"""What signs a thought."""


def need(right: object, said: str) -> None:
    if not right:
        raise Refusal(said)


# -- Messages --------------------------------------------------------------------------------------------------------


def hear_messages(api: str, body: Any) -> Heard:
    need(isinstance(body, dict), "the body must be a JSON object")
    messages, limit = body.get("messages"), body.get("max_tokens")
    need(isinstance(messages, list) and messages, "messages: a list that is not empty is required")
    need(isinstance(limit, int) and limit > 0, "max_tokens: required, a whole number")
    system = text_of(body.get("system"))
    turns = [Turn("system", system)] if system else []
    for message in messages:
        need(message.get("role") in ("user", "assistant"), f"messages: unknown role {message.get('role')}")
        turns += _turns(message)
    check_history(turns)
    tools = []
    for tool in body.get("tools") or []:
        need(
            isinstance(tool.get("name"), str) and isinstance(tool.get("input_schema"), dict),
            "tools: name, input_schema",
        )
        tools.append((tool["name"], tool["input_schema"]))
    choice = body.get("tool_choice") or {"type": "auto"}
    heard = Heard(api, turns, tools, bool(body.get("stream")), size=len(json.dumps(body)))
    kinds = {"auto": "auto", "any": "required", "none": "none", "tool": f"={choice.get('name')}"}
    need(choice.get("type") in kinds, f"tool_choice: unknown type {choice.get('type')}")
    heard.choice = kinds[choice["type"]]
    need(not heard.choice.startswith("=") or heard.choice[1:] in dict(tools), f"tool_choice: {choice.get('name')}")
    heard.parallel = not choice.get("disable_parallel_tool_use")
    heard.limit, heard.usage = limit, True
    heard.stop = list(body.get("stop_sequences") or [])
    heard.model = body.get("model", "m")
    return heard


def _turns(message: Json) -> Iterator[Turn]:
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


def think(heard: Heard) -> Message:
    """As the reference's model, which goes on where its own message ended, and reads results before a text."""
    last = heard.turns[-1]
    results = [turn for turn in heard.turns if turn.role == "tool"]
    if last.role == "assistant":
        return Message(before=" and continued.")
    ordered = "with exactly these arguments" in last.text
    if last.role == "user" and results and heard.turns[-2].role == "tool" and not ordered:
        heard.turns.pop()
    return reference.think(heard)


def cut_messages(said: Message, heard: Heard, size: int) -> Message:
    whole = said.text
    said = cut(said, heard, max(size, 3))  # 8,192 tokens hold every dictated text
    said.stopped = next((stop for stop in heard.stop if stop in whole), None)
    return said


REASONS = {"calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}


def message_blocks(said: Message) -> list[Json]:
    blocks: list[Json] = []
    if said.reasoning:
        blocks.append({"type": "thinking", "thinking": said.reasoning, "signature": SIGNED})
    if said.before:
        blocks.append({"type": "text", "text": said.before})
    for call_id, (name, arguments) in zip(said.ids, said.calls, strict=False):
        blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
    if said.after:
        blocks.append({"type": "text", "text": said.after})
    return blocks


def message_whole(saids: list[Message], heard: Heard) -> Json:
    said = saids[0]
    reason = "stop_sequence" if said.stopped else REASONS[said.finish]
    return {
        "id": f"msg_{said.ids[-1]}", "type": "message", "role": "assistant", "model": heard.model,
        "content": [{**block, "input": parsed(block["input"])} if block["type"] == "tool_use" else block
                    for block in message_blocks(said)],
        "stop_reason": reason, "stop_sequence": said.stopped,
        "usage": {"input_tokens": heard.size // 4, "output_tokens": said.tokens},
    }  # fmt: skip


def parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:  # cut short
        return {}


def message_events(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    said, whole = saids[0], message_whole(saids, heard)
    begun = {**whole, "content": [], "stop_reason": None, "stop_sequence": None}
    yield {"type": "message_start", "message": {**begun, "usage": {**whole["usage"], "output_tokens": 1}}}
    yield {"type": "ping"}
    for index, block in enumerate(message_blocks(said)):
        kind = block["type"]
        field = {"text": "text", "thinking": "thinking", "tool_use": "input"}[kind]
        empty = {**block, field: {} if kind == "tool_use" else ""} | ({"signature": ""} if kind == "thinking" else {})
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        delta, key = {
            "text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking"),
            "tool_use": ("input_json_delta", "partial_json"),
        }[kind]  # fmt: skip
        for piece in pieces(block[field], size):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": delta, key: piece}}
        if kind == "thinking":
            signature = {"type": "signature_delta", "signature": SIGNED}
            yield {"type": "content_block_delta", "index": index, "delta": signature}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": whole["stop_sequence"]}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": said.tokens}}
    yield {"type": "message_stop"}


def refused(refusal: Refusal) -> tuple[int, Json]:
    error = {"type": "invalid_request_error", "message": refusal.message}
    return refusal.status, {"type": "error", "error": error, "request_id": "req_1"}


# -- text completions ------------------------------------------------------------------------------------------------

STORY = " six, seven, eight, nine, ten, and so on" + " and on" * 20 + " without an end."


def hear_text(api: str, body: Any) -> Heard:
    prompt = body.get("prompt")
    prompts = prompt if isinstance(prompt, list) else [prompt]
    need(all(isinstance(each, str) for each in prompts), "prompt must be a text or a list of texts")
    need(isinstance(body.get("max_tokens", 16), int), "max_tokens must be a whole number")
    heard = Heard(
        api, [Turn("user", each) for each in prompts], [], bool(body.get("stream")), size=len(str(prompt)) * 4
    )
    heard.usage = bool((body.get("stream_options") or {}).get("include_usage"))
    heard.limit = body.get("max_tokens", 16)
    heard.stop = [body["stop"]] if isinstance(body.get("stop"), str) else list(body.get("stop") or [])
    heard.n = (body.get("n") or 1) * len(prompts)
    heard.logprobs = body.get("logprobs") is not None
    heard.model = body.get("model", "m")
    heard.echo = bool(body.get("echo"))
    return heard


def go_on(heard: Heard) -> Message:
    return Message(before=STORY)


def _texts(saids: list[Message], heard: Heard) -> list[str]:
    echoed = [turn.text if heard.echo else "" for turn in heard.turns]
    return [f"{echoed[number * len(echoed) // len(saids)]}{said.before}" for number, said in enumerate(saids)]


def text_whole(saids: list[Message], heard: Heard) -> Json:
    choices = []
    for index, (said, text) in enumerate(zip(saids, _texts(saids, heard), strict=True)):
        logprobs = {"tokens": [text], "token_logprobs": [-0.5], "text_offset": [0]} if heard.logprobs else None
        reason = "length" if said.finish == "length" else "stop"
        choices.append({"index": index, "text": text, "finish_reason": reason, "logprobs": logprobs})
    return {"id": f"cmpl-{saids[0].ids[-1]}", "object": "text_completion", "created": 1, "model": heard.model,
            "choices": choices, "usage": reference.chat_usage(saids, heard)}  # fmt: skip


def text_chunks(saids: list[Message], heard: Heard, size: int) -> Iterator[Json]:
    whole = text_whole(saids, heard)
    head = {name: whole[name] for name in ("id", "object", "created", "model")}
    for choice in whole["choices"]:
        for piece in pieces(choice["text"], size):
            told = {"index": choice["index"], "text": piece, "finish_reason": None, "logprobs": None}
            yield {**head, "choices": [told], "usage": None}
        yield {**head, "choices": [{**choice, "text": "", "logprobs": None}], "usage": None}
    if heard.usage:
        yield {**head, "choices": [], "usage": whole["usage"]}


FORMS = {
    "anthropic": Form(hear_messages, message_whole, message_events, named=True, think=think, cut=cut_messages,
                      refuse=refused),
    "completions": Form(hear_text, text_whole, text_chunks, end="data: [DONE]\n\n", think=go_on),
}  # fmt: skip
"""API → how the reference speaks it."""
