"""Broken servers for Messages and text completions: one fault each, and the checks that are meant to find it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.extensions.wire import other_apis
from tests.extensions.wire.planting import (
    Stages,
    Variant,
    accepting,
    after_cut,
    becomes,
    choice,
    cutting,
    in_choices,
    in_chunk_choices,
    in_chunks,
    in_events,
    in_hearing,
    in_items,
    in_whole,
    refusing_body,
    set_in,
    without,
)
from tests.extensions.wire.reference import Heard, Json, Message

Events = list[Json]


def messages(name: str, failing: str, stages: Stages) -> Variant:
    return Variant(name, failing, stages, "anthropic")


def texts(name: str, failing: str, stages: Stages) -> Variant:
    return Variant(name, failing, stages, "completions")


def _shifted(events: Events) -> Iterator[Json]:
    for event in events:
        yield {**event, "index": event["index"] + 1} if "index" in event else event


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


def _limit_untold(said: Message, heard: Heard) -> None:
    said.finish = "stop" if said.finish == "length" and not said.calls else said.finish


MESSAGES = (
    messages("no id", "blocks_message", in_whole(set_in("id", value=None))),
    messages("another type", "blocks_message", in_whole(set_in("type", value="chat.completion"))),
    messages("stop_sequence is a list", "blocks_message", in_whole(set_in("stop_sequence", value=[]))),
    messages("a text block without text", "blocks_fields", in_items(set_in("text", value=None), "text")),
    messages("calls without id", "blocks_fields", in_items(set_in("id", value=None), "tool_use")),
    messages(
        "input is a text", "blocks_input",
        in_items(lambda block: block.update(input=json.dumps(block["input"])), "tool_use"),
    ),
    messages("thinking is unsigned", "blocks_thinking reasoning_apart",
             in_items(set_in("signature", value=None), "thinking")),
    messages("no usage", "blocks_usage usage_grows", in_whole(set_in("usage", value=None))),
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
    messages("blocks are never stopped", "blocks_indexes", without("content_block_stop")),
    messages("the start has the content", "blocks_start", in_events(
        "message_start", lambda event: event["message"].update(content=[{"type": "text", "text": ""}]))),
    messages("the start has no usage", "blocks_start", in_events(
        "message_start", set_in("message", "usage", value=None))),
    messages("inputs are text deltas", "blocks_deltas", in_events("content_block_delta", _as_text_deltas)),
    messages("calls start without id", "blocks_inputs", in_events(
        "content_block_start", set_in("content_block", "id", value=None))),
    messages("inputs lose their end", "blocks_inputs", in_chunks(_pieces_lost)),
    messages("inputs at once", "blocks_inputs", in_chunks(_at_once)),
    messages("no signature_delta", "blocks_signatures", in_chunks(lambda events: [
        event for event in events if event.get("delta", {}).get("type") != "signature_delta"])),
    messages("signatures twice", "blocks_signatures", in_chunks(_twice)),
    messages("no stop_reason streamed", "blocks_end blocks_stop_reason stream_finish", in_events(
        "message_delta", set_in("delta", "stop_reason", value=None))),
    messages("no output tokens streamed", "blocks_end", in_events("message_delta", set_in("usage", value=None))),
    messages("the first of two calls is lost", "calls_unstreamed", in_whole(
        lambda body: body.update(content=body["content"][1:])
        if [each["type"] for each in body["content"][:2]] == ["tool_use", "tool_use"] else None)),
    messages("signatures are not known again", "blocks_thinking_back", in_items(
        set_in("signature", value="other"), "thinking")),
    messages("errors are not heard", "blocks_result_error", {"body": _no_errors}),
    messages("texts hide results", "blocks_result_text", {"body": _no_results}),
    messages("lists are no system text", "blocks_system",
             refusing_body(lambda body: isinstance(body.get("system"), list))),
    messages("paused turns break it", "blocks_paused", {
        "think": lambda heard: heard.nowhere if heard.turns[-1].role == "assistant" else other_apis.think(heard)}),
    messages("stop sequences are not heard", "blocks_stop_sequence", cutting(stop=[])),
    messages("stop sequences are not told", "blocks_stop_sequence", after_cut(
        lambda said, heard: setattr(said, "stopped", None))),
    messages("limits are not heard", "blocks_limit cut_in_call", cutting(limit=10**6)),
    messages("limits are not told", "blocks_limit", after_cut(_limit_untold)),
    messages("errors as OpenAI has them", "blocks_error_form blocks_missing_result blocks_unknown_result",
             {"refuse": lambda refusal: (400, {"error": {"message": refusal.message}})}),
    messages("nothing is refused",
             "blocks_error_form blocks_missing_result blocks_unknown_result fault_choice fault_tool",
             accepting("")),
    messages("missing results are made up", "blocks_missing_result", accepting("has no result")),
    messages("results for no call", "blocks_unknown_result", accepting("belongs to no call")),
    messages("any is auto", "choice_required", in_hearing(becomes("auto", choice("required")))),
    messages("none is auto", "choice_none", in_hearing(becomes("auto", choice("none")))),
)  # fmt: skip


def _ending(word: object) -> Callable[[Json], Any]:
    return lambda choice: choice.update(finish_reason=word) if choice["finish_reason"] else None


def _after_end(events: Events) -> Events:
    """The last text comes behind the end."""
    at = next(number for number, event in enumerate(events) if event["choices"][0]["finish_reason"])
    return [*events[: at - 1], events[at], events[at - 1], *events[at + 1 :]]


TEXTS = (
    texts("a message in the choice", "text_answers", in_choices(
        lambda choice: choice.update(message={"content": choice["text"]}))),
    texts("a chat completion", "text_answers", in_whole(set_in("object", value="chat.completion"))),
    texts("no id", "text_answers", in_whole(set_in("id", value=None))),
    texts("the end is eos", "text_finish", in_choices(_ending("eos"))),
    texts("streams have no end", "text_finish text_finish_last", in_chunk_choices(
        lambda choice: choice.update(finish_reason=None))),
    texts("no usage", "text_usage", in_whole(set_in("usage", value=None))),
    texts("sums are wrong", "text_usage", in_whole(lambda body: body["usage"].update(total_tokens=1))),
    texts("no [DONE]", "text_stream", {"end": lambda text: ""}),
    texts("chunks have ids of their own", "text_chunks", in_chunks(
        lambda events: [{**event, "id": f"cmpl-{number}"} for number, event in enumerate(events)])),
    texts("deltas in chunks", "text_chunks", in_chunk_choices(
        lambda choice: choice.update(delta={"content": choice["text"]}))),
    texts("text behind the end", "text_finish_last", in_chunks(_after_end)),
    texts("blanks are lost in streams", "text_echo text_stream_text", in_chunk_choices(
        lambda choice: choice.update(text=choice["text"].strip()))),
    texts("no usage streamed", "text_stream_usage", in_chunks(
        lambda events: [event for event in events if event["choices"]])),
    texts("other prompt tokens streamed", "text_stream_usage", in_chunks(
        lambda events: [{**event, "usage": event["usage"] and {**event["usage"], "prompt_tokens": 1}}
                        for event in events])),
    texts("limits are not heard", "text_limit", cutting(limit=4000)),
    texts("limits are not told", "text_limit", in_choices(_ending("stop"))),
    texts("stops are not heard", "text_stop", cutting(stop=[])),
    texts("echo is not heard", "text_echo", in_hearing(lambda heard: setattr(heard, "echo", False))),
    texts("every choice is the first", "text_n", in_choices(
        lambda choice: choice.update(index=0) if choice["logprobs"] is None else None)),
    texts("one prompt of two", "text_prompts", in_hearing(
        lambda heard: setattr(heard, "n", 1) if len(heard.turns) > 1 else None)),
    texts("logprobs above 0", "text_logprobs", in_choices(
        lambda choice: choice["logprobs"] and choice["logprobs"].update(token_logprobs=[0.5]))),
    texts("logprobs of other tokens", "text_logprobs", in_choices(
        lambda choice: choice["logprobs"] and choice["logprobs"].update(tokens=["else"]))),
    texts("wrong requests are answered", "text_errors", accepting("")),
    texts("an error beside the text", "sdk_reads", in_chunks(
        lambda events: [{**event, "error": {"message": "busy"}} if number == 1 else event
                        for number, event in enumerate(events)])),
    texts("errors are texts", "text_errors", {"refuse": lambda refusal: (400, {"detail": refusal.message})}),
)  # fmt: skip
