"""Broken servers for Messages and text completions: one fault each, and the checks that are meant to find it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.extensions.wire import apis
from tests.extensions.wire import planting as p
from tests.extensions.wire.model import Heard, Json, Message

Events = list[Json]


def delta_kind(event: Json) -> Any:
    return event.get("delta", {}).get("type")


def early_end(events: Events) -> Events:
    """message_delta comes before the blocks."""
    ends = [event for event in events if event["type"] == "message_delta"]
    return [events[0], *ends, *(event for event in events[1:] if event not in ends)]


def pieces_lost(events: Events) -> Iterator[Json]:
    """The last piece of every input is lost."""
    for event, after in zip(events, [*events[1:], {}], strict=True):
        if delta_kind(event) != "input_json_delta" or after.get("type") != "content_block_stop":
            yield event


def as_text_delta(delta: Json) -> Json:
    return {"type": "text_delta", "text": delta["partial_json"]} if delta["type"] == "input_json_delta" else delta


def at_once(events: Events) -> Iterator[Json]:
    """Inputs stand in the start of their block, as older servers of others send them."""
    inputs: dict[int, str] = {}
    for event in events:
        if delta_kind(event) == "input_json_delta":
            inputs[event["index"]] = inputs.get(event["index"], "") + event["delta"]["partial_json"]
    for event in events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            yield p.edited(event, ["content_block", "input"], json.loads(inputs.get(event["index"]) or "{}"))
        elif delta_kind(event) != "input_json_delta":
            yield event


def no_errors(body: Json) -> Any:
    """Results that say is_error are dropped."""
    told = re.sub(r'"content": "the value is \w+", "is_error": true', '"content": "error"', json.dumps(body))
    return json.loads(told)


def no_results(content: Any) -> Any:
    """The texts behind results hide them."""
    kinds = [block["type"] for block in content] if isinstance(content, list) else []
    hidden = kinds[:1] == ["tool_result"] and kinds[1:] and kinds[-1] == "text"
    return [{**content[0], "content": "(see below)"}, *content[1:]] if hidden else content


def limit_untold(said: Message, heard: Heard) -> None:
    said.finish = "stop" if said.finish == "length" and not said.calls else said.finish


F = p.of_api("anthropic")
# fmt: off
MESSAGES = (
    F("no id", "blocks_message", p.whole("id", p.GONE)),
    F("another type", "blocks_message", p.whole("type", "chat.completion")),
    F("stop_sequence is a list", "blocks_message", p.whole("stop_sequence", [])),
    F("a text block without text", "blocks_fields", p.whole("content.[text].text", p.GONE)),
    F("calls without id", "blocks_fields", p.whole("content.[tool_use].id", p.GONE)),
    F("input is a text", "blocks_input", p.whole("content.[tool_use].input", json.dumps)),
    F("thinking is unsigned", "blocks_thinking reasoning_apart", p.whole("content.[thinking].signature", p.GONE)),
    F("no usage", "blocks_usage usage_grows", p.whole("usage", p.GONE)),
    F("stop_reason in OpenAI's words", "blocks_stop_reason finish_stop",
      p.whole("stop_reason", p.swap("end_turn", "stop"))),
    F("calls end with end_turn", "finish_calls", p.whole("stop_reason", p.swap("tool_use", "end_turn"))),
    F("streams end with [DONE]", "blocks_stream", {"end": lambda text: apis.DONE}),
    F("events have no names", "blocks_names", {"encode": lambda event, text: text.partition("\n")[2]}),
    F("no message_stop", "blocks_order", p.without("message_stop")),
    F("no message_start", "blocks_order", p.without("message_start")),
    F("message_delta before the content", "blocks_order", p.events(early_end)),
    F("blocks count from 1", "blocks_indexes", p.events(
      lambda events: [{**event, "index": event["index"] + 1} if "index" in event else event for event in events])),
    F("blocks are never stopped", "blocks_indexes", p.without("content_block_stop")),
    F("the start has the content", "blocks_start",
      p.stream("message.content", [{"type": "text", "text": ""}], of="message_start")),
    F("the start has no usage", "blocks_start", p.stream("message.usage", p.GONE, of="message_start")),
    F("inputs are text deltas", "blocks_deltas", p.stream("delta", as_text_delta, of="content_block_delta")),
    F("calls start without id", "blocks_inputs", p.stream("content_block.id", p.GONE, of="content_block_start")),
    F("inputs lose their end", "blocks_inputs", p.events(pieces_lost)),
    F("inputs at once", "blocks_inputs", p.events(at_once)),
    F("no signature_delta", "blocks_signatures", p.dropping(lambda event: delta_kind(event) == "signature_delta")),
    F("signatures twice", "blocks_signatures", p.events(lambda events: [
      event for event in events for _ in range(2 if delta_kind(event) == "signature_delta" else 1)])),
    F("no stop_reason streamed", "blocks_end blocks_stop_reason stream_finish",
      p.stream("delta.stop_reason", p.GONE, of="message_delta")),
    F("no output tokens streamed", "blocks_end", p.stream("usage", p.GONE, of="message_delta")),
    F("the first of two calls is lost", "calls_unstreamed", p.whole("content", lambda blocks: blocks[
      [block["type"] for block in blocks[:2]] == ["tool_use", "tool_use"]:])),
    F("signatures are not known again", "blocks_thinking_back", p.whole("content.[thinking].signature", "other")),
    F("errors are not heard", "blocks_result_error", {"body": no_errors}),
    F("texts hide results", "blocks_result_text",
      {"body": lambda body: p.edited(body, ["messages", "*", "content"], no_results)}),
    F("lists are no system text", "blocks_system", p.refusing_body(lambda body: isinstance(body.get("system"), list))),
    F("paused turns break it", "blocks_paused", p.speech(
      lambda said, heard: heard.nowhere, when=lambda heard: heard.turns[-1].role == "assistant")),
    F("stop sequences are not heard", "blocks_stop_sequence", p.cutting(stop=[])),
    F("stop sequences are not told", "blocks_stop_sequence",
      p.after_cut(lambda said, heard: setattr(said, "stopped", None))),
    F("limits are not heard", "blocks_limit cut_in_call", p.cutting(limit=10**6)),
    F("limits are not told", "blocks_limit", p.after_cut(limit_untold)),
    F("errors as OpenAI has them", "blocks_error_form blocks_missing_result blocks_unknown_result",
      {"refuse": apis.refused}),
    F("nothing is refused", "blocks_error_form blocks_missing_result blocks_unknown_result fault_choice fault_tool",
      p.accepting("")),
    F("missing results are made up", "blocks_missing_result", p.accepting("has no result")),
    F("results for no call", "blocks_unknown_result", p.accepting("belongs to no call")),
    F("any is auto", "choice_required", p.hears(p.choice("required"), choice="auto")),
    F("none is auto", "choice_none", p.hears(p.choice("none"), choice="auto")),
)


def ending(word: object) -> Callable[[Any], Any]:
    return lambda told: told and word


def after_end(events: Events) -> Events:
    """The last text comes behind the end."""
    at = next(number for number, event in enumerate(events) if event["choices"][0]["finish_reason"])
    return [*events[: at - 1], events[at], events[at - 1], *events[at + 1 :]]


F = p.of_api("completions")
TEXTS = (
    F("a message in the choice", "text_answers", p.whole("choices.*.message", {"content": "six"})),
    F("a chat completion", "text_answers", p.whole("object", "chat.completion")),
    F("no id", "text_answers", p.whole("id", p.GONE)),
    F("the end is eos", "text_finish", p.whole(p.FINISH, ending("eos"))),
    F("streams have no end", "text_finish text_finish_last", p.stream(p.FINISH, None)),
    F("no usage", "text_usage", p.whole("usage", p.GONE)),
    F("sums are wrong", "text_usage", p.whole("usage.total_tokens", 1)),
    F("no [DONE]", "text_stream", {"end": lambda text: ""}),
    F("chunks have ids of their own", "text_chunks", p.stream("id", p.fresh)),
    F("deltas in chunks", "text_chunks", p.stream("choices.*.delta", {"content": "six"})),
    F("text behind the end", "text_finish_last", p.events(after_end)),
    F("blanks are lost in streams", "text_echo text_stream_text", p.stream("choices.*.text", str.strip)),
    F("no usage streamed", "text_stream_usage", p.dropping(lambda event: not event["choices"])),
    F("other prompt tokens streamed", "text_stream_usage",
      p.stream("usage", lambda usage: usage and {**usage, "prompt_tokens": 1})),
    F("limits are not heard", "text_limit", p.cutting(limit=4000)),
    F("limits are not told", "text_limit", p.whole(p.FINISH, ending("stop"))),
    F("stops are not heard", "text_stop", p.cutting(stop=[])),
    F("echo is not heard", "text_echo", p.hears(echo=False)),
    F("every choice is the first", "text_n", p.whole("choices.*.index", 0, lambda heard: not heard.logprobs)),
    F("one prompt of two", "text_prompts", p.hears(lambda heard: len(heard.turns) > 1, n=1)),
    F("logprobs above 0", "text_logprobs", p.whole("choices.*.logprobs.token_logprobs", [0.5])),
    F("logprobs of other tokens", "text_logprobs", p.whole("choices.*.logprobs.tokens", ["else"])),
    F("wrong requests are answered", "text_errors", p.accepting("")),
    F("an error beside the text", "sdk_reads", p.events(lambda events: [
      {**event, "error": {"message": "busy"}} if number == 1 else event for number, event in enumerate(events)])),
    F("errors are texts", "text_errors", {"refuse": lambda refusal: (400, {"detail": refusal.message})}),
)
# fmt: on
