"""Servers that are correct and unusual: no rule may blame them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_bfcl.extensions.wire.checks import checks_for
from tests.extensions.wire.examining import examine, states
from tests.extensions.wire.planting import (
    Stages,
    calls_in,
    encoded,
    in_chunk_choices,
    in_chunks,
    in_deltas,
    in_finish,
    in_message,
    in_speech,
    in_whole,
    refusing,
    refusing_turn,
)
from tests.extensions.wire.reference import Heard, Json, Message, Reference

LONG = {"disconnect", "crosstalk", "conversation_20", "tools_200", "arguments_long", "unicode_boundaries", "sdk_reads"}


def whole_calls(events: list[Json]) -> Iterator[Json]:
    """Every call in one delta, as servers do that parse at the end."""
    held: dict[tuple[int, int], Json] = {}
    for event in events:
        for choice in event["choices"]:
            for delta in choice["delta"].get("tool_calls", ()):
                place = choice["index"], delta["index"]
                if place in held:
                    held[place]["function"]["arguments"] += delta["function"]["arguments"]
                    choice["delta"] = {}
                else:
                    held[place] = delta
    yield from events


def indented(said: Message, heard: Heard) -> None:
    said.calls = [(name, json.dumps(json.loads(text), indent=1)) for name, text in said.calls]


def reasons(message: Json) -> None:
    if "reasoning_content" in message:
        message["reasoning"] = message["reasoning_content"]


def without_text(message: Json) -> None:
    if message.get("tool_calls") and message["content"] is None:
        del message["content"]


FILTERED = {
    "id": "",
    "object": "",
    "created": 0,
    "model": "",
    "choices": [],
    "usage": None,
    "prompt_filter_results": [],
}
UNUSUAL: dict[str, Stages] = {
    "no content beside calls": in_message(without_text),
    "empty content beside calls": in_message(lambda message: message.update(content=message["content"] or "")),
    "an empty list of calls beside texts": in_message(lambda message: message.setdefault("tool_calls", [])),
    "fields of its own": in_whole(lambda body: body.update(system_fingerprint=None, prompt_token_ids=None)),
    "an index in whole calls": in_whole(lambda body: [c.update(index=n) for n, c in enumerate(calls_in(body))]),
    "a dated model": in_whole(lambda body: body.update(model=f"{body['model']}-2026-01-01")),
    "a model with its owner": in_whole(lambda body: body.update(model=f"owner/{body['model']}")),
    "details of usage": in_whole(lambda body: body["usage"].update(prompt_tokens_details={"cached_tokens": 3})),
    "the role in every chunk": in_chunk_choices(lambda choice: choice["delta"].update(role="assistant")),
    "calls in one delta": in_chunks(whole_calls),
    "comments and carriage returns": encoded(lambda event, text: ": ping\r\n\r\n" + text.replace("\n", "\r\n")),
    "arguments on several lines": in_speech(indented),
    "reasoning in both fields": {
        **in_message(reasons),
        **in_chunk_choices(lambda choice: reasons(choice["delta"])),
    },
    "finish reason stop where a function is named": {
        **in_finish("stop", form=False, when=lambda heard: heard.choice.startswith("=")),
        **in_finish("stop", form=True, when=lambda heard: heard.choice.startswith("=")),
    },
    "no forced calls": refusing(lambda heard: heard.choice not in ("auto", "none"), "tool_choice is not supported"),
    "no forced calls, by a gateway's 502": refusing(
        lambda heard: heard.choice not in ("auto", "none"), "tool_choice is not supported", 502
    ),
    "no strict": refusing(lambda heard: heard.strict, "strict is not supported"),
    "no second choice": refusing(lambda heard: heard.n > 1, "n must be 1"),
    "never thinks": in_speech(lambda said, heard: setattr(said, "reasoning", "")),
    "no logprobs field": in_whole(lambda body: [c.pop("logprobs") for c in body["choices"] if not c["logprobs"]]),
    "a first chunk about filters": in_chunks(lambda events: [FILTERED, *events]),
    "null id, type and name in later deltas": in_deltas(
        lambda delta, event: "id" in delta or delta.update(id=None, type=None)
    ),
    "calls in a history need their reasoning": {
        **in_speech(lambda said, heard: setattr(said, "reasoning", said.reasoning or "Hm, let me see.")),
        **refusing_turn(lambda turn: "tool_calls" in turn and not turn.get("reasoning_content")),
    },
    "texts end with a line end": in_speech(
        lambda said, heard: setattr(said, "before", said.before and said.before + "\n")
    ),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in UNUSUAL])
def test_a_correct_server_is_not_blamed(name: str) -> None:
    names = [check.name for check in checks_for("chat") if check.name not in LONG]
    outcomes = examine(Reference(**UNUSUAL[name]), "chat", names)
    assert {name: outcome.why for name, outcome in outcomes.items() if outcome.state in ("broke", "error")} == {}


def together(stages: list[Callable[[Any, Heard], Any]]) -> Callable[[Any, Heard], Any]:
    def every(value: Any, heard: Heard) -> Any:
        for stage in stages:
            value = stage(value, heard)
        return value

    return every


def test_all_their_ways_at_once_are_not_blamed() -> None:
    """Answers and streams changed by everything above that does not exclude another."""
    kept = [stages for name, stages in UNUSUAL.items() if "content" not in name]
    stages = {kind: together([each[kind] for each in kept if kind in each]) for kind in ("whole", "chunks")}
    names = [check.name for check in checks_for("chat") if check.name not in {*LONG, "schemas_generated"}]
    outcomes = examine(Reference(**stages), "chat", names)
    assert states(outcomes, "broke") | states(outcomes, "error") == set()
    assert len(states(outcomes, "held")) > 90
