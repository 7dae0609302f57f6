"""Broken servers for Messages and text completions: one fault each, and the checks that are meant to find it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.extensions.wire import other_apis
from tests.extensions.wire.planting import Stages, Variant, in_chunks, in_whole
from tests.extensions.wire.reference import Heard, Json, Message, Refusal

Events = list[Json]


def messages(name: str, failing: str, stages: Stages) -> Variant:
    return Variant(name, failing, stages, "anthropic")


def texts(name: str, failing: str, stages: Stages) -> Variant:
    return Variant(name, failing, stages, "completions")


def in_blocks(kind: str, change: Callable[[Json], Any]) -> Stages:
    """Every unstreamed block of a kind."""
    return in_whole(lambda body: [change(block) for block in body["content"] if block["type"] == kind] and None)


def in_kind(kind: str, change: Callable[[Json], Any]) -> Stages:
    """Every event of a kind; its copy, for the reference shares objects."""

    def changed(event: Json) -> Json:
        if event["type"] == kind:
            event = copy.deepcopy(event)
            change(event)
        return event

    return in_chunks(lambda events: map(changed, events))


def without(*kinds: str) -> Stages:
    return in_chunks(lambda events: [event for event in events if event["type"] not in kinds])


def dropped(name: str) -> Callable[[Json], Any]:
    return lambda found: found.pop(name, None) and None


def put(**fields: Any) -> Callable[[Json], Any]:
    return lambda found: found.update(copy.deepcopy(fields))


def _without_block_start(block: str) -> Callable[[Json], Any]:
    return lambda event: event["content_block"].pop(block, None)


def _shifted(events: Events) -> Iterator[Json]:
    for event in events:
        yield {**event, "index": event["index"] + 1} if "index" in event else event


def _unstopped(events: Events) -> Iterator[Json]:
    """No block is ever stopped."""
    return (event for event in events if event["type"] != "content_block_stop")


def _early_end(events: Events) -> Events:
    """message_delta comes before the blocks."""
    ends = [event for event in events if event["type"] == "message_delta"]
    return [events[0], *ends, *(event for event in events[1:] if event["type"] != "message_delta")]


def _pieces_lost(events: Events) -> Iterator[Json]:
    """The last piece of every input is lost."""
    for event, after in zip(events, [*events[1:], {}], strict=True):
        if event.get("delta", {}).get("type") == "input_json_delta" and after.get("type") == "content_block_stop":
            continue
        yield event


def _as_text_deltas(event: Json) -> None:
    if event["delta"]["type"] == "input_json_delta":
        event["delta"] = {"type": "text_delta", "text": event["delta"]["partial_json"]}


def _at_once(events: Events) -> Iterator[Json]:
    """Inputs stand in the start of their block, as older servers of others send them."""
    inputs: dict[int, str] = {}
    for event in events:
        if event.get("delta", {}).get("type") == "input_json_delta":
            inputs[event["index"]] = inputs.get(event["index"], "") + event["delta"]["partial_json"]
    for event in events:
        if event.get("delta", {}).get("type") == "input_json_delta":
            continue
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            block = {**event["content_block"], "input": json.loads(inputs.get(event["index"]) or "{}")}
            yield {**event, "content_block": block}
        else:
            yield event


def _twice(events: Events) -> Iterator[Json]:
    for event in events:
        yield event
        if event.get("delta", {}).get("type") == "signature_delta":
            yield event


def deaf(change: Callable[[Json], Json]) -> Stages:
    """The server does not hear part of a request."""
    return {"body": lambda body: change(body)}


def _no_errors(body: Json) -> Json:
    """Results that say is_error are dropped."""
    text = json.dumps(body)
    return json.loads(re.sub(r'"content": "the value is \w+", "is_error": true', '"content": "error"', text))


def _no_results(body: Json) -> Json:
    """The texts behind results hide them."""
    found = copy.deepcopy(body)
    for message in found["messages"] if isinstance(found.get("messages"), list) else ():
        content = message.get("content")
        if isinstance(content, list) and len(content) > 1 and content[0]["type"] == "tool_result":
            content[0]["content"] = "(see below)" if content[-1]["type"] == "text" else content[0]["content"]
    return found


def _hear_anything(api: str, body: Json) -> Heard:
    """Nothing is refused."""
    try:
        return other_apis.hear_messages(api, body)
    except Refusal:
        word = {"role": "user", "content": "hello"}
        return other_apis.hear_messages(api, {**body, "messages": [word], "max_tokens": 9, "tool_choice": None})


def _history_unchecked(only_missing: bool) -> Stages:
    """Calls without results, or results without calls, are taken."""
    part = "has no result" if only_missing else "belongs to no call"

    def hear(api: str, body: Json) -> Heard:
        try:
            return other_apis.hear_messages(api, body)
        except Refusal as refusal:
            if part not in refusal.message:
                raise
            return other_apis.hear_messages(api, {**body, "messages": [{"role": "user", "content": "hello"}]})

    return {"hear": hear}


def _hears(change: Callable[[Json], None], when: str) -> Stages:
    """A request with a word in it is refused."""

    def hear(api: str, body: Json) -> Heard:
        heard = other_apis.hear_messages(api, body)
        change(body) if when in json.dumps(body) else None
        return heard

    return {"hear": hear}


def _refuse(body: Json) -> None:
    raise Refusal("not supported")


def _never_stopped(said: Message, heard: Heard, size: int) -> Message:
    heard.stop = []
    return other_apis.cut_messages(said, heard, size)


def _untold_stop(said: Message, heard: Heard, size: int) -> Message:
    said = other_apis.cut_messages(said, heard, size)
    said.stopped = None
    return said


def _unlimited(said: Message, heard: Heard, size: int) -> Message:
    heard.limit = 10**6
    return other_apis.cut_messages(said, heard, size)


def _limit_untold(said: Message, heard: Heard, size: int) -> Message:
    said = other_apis.cut_messages(said, heard, size)
    said.finish = "stop" if said.finish == "length" and not said.calls else said.finish
    return said


MESSAGES = (
    messages("no id", "blocks_message", in_whole(dropped("id"))),
    messages("another type", "blocks_message", in_whole(put(type="chat.completion"))),
    messages("stop_sequence is a list", "blocks_message", in_whole(put(stop_sequence=[]))),
    messages("a text block without text", "blocks_fields", in_blocks("text", dropped("text"))),
    messages("calls without id", "blocks_fields", in_blocks("tool_use", dropped("id"))),
    messages(
        "input is a text", "blocks_input",
        in_blocks("tool_use", lambda block: block.update(input=json.dumps(block["input"]))),
    ),
    messages("thinking is unsigned", "blocks_thinking reasoning_apart",
             in_blocks("thinking", dropped("signature"))),
    messages("no usage", "blocks_usage usage_grows", in_whole(dropped("usage"))),
    messages("stop_reason in OpenAI's words", "blocks_stop_reason finish_stop", in_whole(
        lambda body: body.update(stop_reason="stop") if body["stop_reason"] == "end_turn" else None)),
    messages("calls end with end_turn", "finish_calls", in_whole(
        lambda body: body.update(stop_reason="end_turn") if body["stop_reason"] == "tool_use" else None)),
    messages("streams end with [DONE]", "blocks_stream", {"end": lambda text: "data: [DONE]\n\n"}),
    messages("events have no names", "blocks_names",
             {"encode": lambda event, text: text.partition("\n")[2]}),
    messages("no message_stop", "blocks_order", without("message_stop")),
    messages("no message_start", "blocks_order", without("message_start")),
    messages("message_delta before the content", "blocks_order", in_chunks(_early_end)),
    messages("blocks count from 1", "blocks_indexes", in_chunks(_shifted)),
    messages("blocks are never stopped", "blocks_indexes", in_chunks(_unstopped)),
    messages("the start has the content", "blocks_start", in_kind(
        "message_start", lambda event: event["message"].update(content=[{"type": "text", "text": ""}]))),
    messages("the start has no usage", "blocks_start", in_kind(
        "message_start", lambda event: event["message"].pop("usage"))),
    messages("inputs are text deltas", "blocks_deltas", in_kind("content_block_delta", _as_text_deltas)),
    messages("calls start without id", "blocks_inputs", in_kind(
        "content_block_start", _without_block_start("id"))),
    messages("inputs lose their end", "blocks_inputs", in_chunks(_pieces_lost)),
    messages("inputs at once", "blocks_inputs", in_chunks(_at_once)),
    messages("no signature_delta", "blocks_signatures", in_chunks(lambda events: [
        event for event in events if event.get("delta", {}).get("type") != "signature_delta"])),
    messages("signatures twice", "blocks_signatures", in_chunks(_twice)),
    messages("no stop_reason streamed", "blocks_end blocks_stop_reason stream_finish", in_kind(
        "message_delta", lambda event: event["delta"].pop("stop_reason"))),
    messages("no output tokens streamed", "blocks_end", in_kind("message_delta", dropped("usage"))),
    messages("the first of two calls is lost", "calls_unstreamed", in_whole(
        lambda body: body.update(content=body["content"][1:])
        if [each["type"] for each in body["content"][:2]] == ["tool_use", "tool_use"] else None)),
    messages("signatures are not known again", "blocks_thinking_back", in_blocks(
        "thinking", put(signature="other"))),
    messages("errors are not heard", "blocks_result_error", deaf(_no_errors)),
    messages("texts hide results", "blocks_result_text", deaf(_no_results)),
    messages("lists are no system text", "blocks_system", _hears(_refuse, '"system": [')),
    messages("paused turns break it", "blocks_paused", {
        "think": lambda heard: heard.nowhere if heard.turns[-1].role == "assistant" else other_apis.think(heard)}),
    messages("stop sequences are not heard", "blocks_stop_sequence", {"cut": _never_stopped}),
    messages("stop sequences are not told", "blocks_stop_sequence", {"cut": _untold_stop}),
    messages("limits are not heard", "blocks_limit cut_in_call", {"cut": _unlimited}),
    messages("limits are not told", "blocks_limit", {"cut": _limit_untold}),
    messages("errors as OpenAI has them", "blocks_error_form blocks_missing_result blocks_unknown_result",
             {"refuse": lambda refusal: (400, {"error": {"message": refusal.message}})}),
    messages("nothing is refused",
             "blocks_error_form blocks_missing_result blocks_unknown_result fault_choice",
             {"hear": _hear_anything}),
    messages("missing results are made up", "blocks_missing_result", _history_unchecked(only_missing=True)),
    messages("results for no call", "blocks_unknown_result", _history_unchecked(only_missing=False)),
    messages("any is auto", "choice_required", deaf(
        lambda body: {**body, "tool_choice": {"type": "auto"}}
        if (body.get("tool_choice") or {}).get("type") == "any" else body)),
    messages("none is auto", "choice_none", {"think": lambda heard: other_apis.think(_auto(heard))}),
)  # fmt: skip


def _auto(heard: Heard) -> Heard:
    if heard.choice == "none":
        heard.choice = "auto"
    return heard


def in_choices(change: Callable[[Json], Any]) -> Stages:
    return in_whole(lambda body: [change(choice) for choice in body["choices"]] and None)


def in_text_chunks(change: Callable[[Json], Any]) -> Stages:
    def chunks(events: Events) -> Events:
        for event in events:
            for choice in event["choices"]:
                change(choice)
        return events

    return in_chunks(chunks)


def _ending(word: object) -> Callable[[Json], Any]:
    return lambda choice: choice.update(finish_reason=word) if choice["finish_reason"] else None


def _after_end(events: Events) -> Events:
    """The last text comes behind the end."""
    at = next(number for number, event in enumerate(events) if event["choices"][0]["finish_reason"])
    return [*events[: at - 1], events[at], events[at - 1], *events[at + 1 :]]


def _hear_text(change: Callable[[Heard], Any]) -> Stages:
    def hear(api: str, body: Json) -> Heard:
        heard = other_apis.hear_text(api, body)
        change(heard)
        return heard

    return {"hear": hear}


def _hear_everything(api: str, body: Json) -> Heard:
    return other_apis.hear_text(api, {**body, "prompt": str(body.get("prompt")), "max_tokens": 16}
                                if not isinstance(body.get("max_tokens"), int) else body)  # fmt: skip


TEXTS = (
    texts("a message in the choice", "text_answers", in_choices(
        lambda choice: choice.update(message={"content": choice["text"]}))),
    texts("a chat completion", "text_answers", in_whole(put(object="chat.completion"))),
    texts("no id", "text_answers", in_whole(dropped("id"))),
    texts("the end is eos", "text_finish", in_choices(_ending("eos"))),
    texts("streams have no end", "text_finish text_finish_last", in_text_chunks(put(finish_reason=None))),
    texts("no usage", "text_usage", in_whole(dropped("usage"))),
    texts("sums are wrong", "text_usage", in_whole(lambda body: body["usage"].update(total_tokens=1))),
    texts("no [DONE]", "text_stream", {"end": lambda text: ""}),
    texts("chunks have ids of their own", "text_chunks", in_chunks(
        lambda events: [{**event, "id": f"cmpl-{number}"} for number, event in enumerate(events)])),
    texts("deltas in chunks", "text_chunks", in_text_chunks(
        lambda choice: choice.update(delta={"content": choice["text"]}))),
    texts("text behind the end", "text_finish_last", in_chunks(_after_end)),
    texts("blanks are lost in streams", "text_echo text_stream_text", in_text_chunks(
        lambda choice: choice.update(text=choice["text"].strip()))),
    texts("no usage streamed", "text_stream_usage", in_chunks(
        lambda events: [event for event in events if event["choices"]])),
    texts("other prompt tokens streamed", "text_stream_usage", in_chunks(
        lambda events: [{**event, "usage": event["usage"] and {**event["usage"], "prompt_tokens": 1}}
                        for event in events])),
    texts("limits are not heard", "text_limit", _hear_text(lambda heard: setattr(heard, "limit", 4000))),
    texts("limits are not told", "text_limit", in_choices(_ending("stop"))),
    texts("stops are not heard", "text_stop", _hear_text(lambda heard: heard.stop.clear())),
    texts("echo is not heard", "text_echo", _hear_text(lambda heard: setattr(heard, "echo", False))),
    texts("every choice is the first", "text_n", in_choices(
        lambda choice: choice.update(index=0) if choice["logprobs"] is None else None)),
    texts("one prompt of two", "text_prompts", _hear_text(
        lambda heard: setattr(heard, "n", 1) if len(heard.turns) > 1 else None)),
    texts("logprobs above 0", "text_logprobs", in_choices(
        lambda choice: choice["logprobs"] and choice["logprobs"].update(token_logprobs=[0.5]))),
    texts("logprobs of other tokens", "text_logprobs", in_choices(
        lambda choice: choice["logprobs"] and choice["logprobs"].update(tokens=["else"]))),
    texts("wrong requests are answered", "text_errors", {"hear": _hear_everything}),
    texts("an error beside the text", "sdk_reads", in_chunks(
        lambda events: [{**event, "error": {"message": "busy"}} if number == 1 else event
                        for number, event in enumerate(events)])),
    texts("errors are texts", "text_errors", {"refuse": lambda refusal: (400, {"detail": refusal.message})}),
)  # fmt: skip
