"""Servers that are correct and unusual: no rule may blame them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pytest_bfcl.extensions.wire.checks import checks_for
from tests.extensions.wire import planting as p
from tests.extensions.wire.examining import examine
from tests.extensions.wire.model import Json
from tests.extensions.wire.reference import Reference

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


def reasons(message: Json) -> Json:
    return {**message, "reasoning": message["reasoning_content"]} if "reasoning_content" in message else message


FILTERED = {"id": "", "object": "", "created": 0, "model": "", "choices": [], "usage": None,
            "prompt_filter_results": []}  # fmt: skip
ENDS = (p.FINISH, p.swap("tool_calls", "stop"))
UNUSUAL: dict[str, p.Stages] = {
    "no content beside calls": p.whole(
        p.MESSAGE, lambda message: p.less(message, "content") if message["content"] is None else message
    ),
    "empty content beside calls": p.whole(f"{p.MESSAGE}.content", p.swap(None, "")),
    "an empty list of calls beside texts": p.whole(f"{p.MESSAGE}.tool_calls", lambda calls: calls or []),
    "fields of its own": {"whole": lambda body, heard: {**body, "system_fingerprint": None, "prompt_token_ids": None}},
    "an index in whole calls": p.whole(
        f"{p.MESSAGE}.tool_calls", lambda calls: calls and [{**call, "index": n} for n, call in enumerate(calls)]
    ),
    "a dated model": p.whole("model", lambda name: f"{name}-2026-01-01"),
    "a model with its owner": p.whole("model", lambda name: f"owner/{name}"),
    "details of usage": p.whole("usage.prompt_tokens_details", {"cached_tokens": 3}),
    "the role in every chunk": p.stream(f"{p.DELTA}.role", "assistant"),
    "calls in one delta": p.events(whole_calls),
    "comments and carriage returns": {
        "encode": lambda event, text: ": ping\r\n\r\n" + text.replace("\n", "\r\n"),
    },
    "arguments on several lines": p.arguments(lambda text: json.dumps(json.loads(text), indent=1)),
    "reasoning in both fields": p.both(reasons),
    "finish reason stop where a function is named": {
        **p.whole(*ENDS, p.choice("=")), **p.stream(*ENDS, when=p.choice("=")),
    },
    "no forced calls": p.refusing(p.choice("required", "="), "tool_choice is not supported"),
    "no forced calls, by a gateway's 502": p.refusing(p.choice("required", "="), "tool_choice is not supported", 502),
    "no strict": p.refusing(p.is_strict, "strict is not supported"),
    "no second choice": p.refusing(lambda heard: heard.n > 1, "n must be 1"),
    "never thinks": p.says(reasoning=""),
    "no logprobs field": p.whole("choices.*", lambda each: each if each["logprobs"] else p.less(each, "logprobs")),
    "a first chunk about filters": p.events(lambda events: [FILTERED, *events]),
    "null id, type and name in later deltas": p.stream(p.CALL_DELTA, lambda call: {"id": None, "type": None, **call}),
    "calls in a history need their reasoning": {
        **p.speech(lambda said, heard: setattr(said, "reasoning", said.reasoning or "Hm, let me see.")),
        **p.refusing_turn(lambda turn: "tool_calls" in turn and not turn.get("reasoning_content")),
    },
    "texts end with a line end": p.speech(
        lambda said, heard: setattr(said, "before", said.before and said.before + "\n")
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in UNUSUAL])
def test_a_correct_server_is_not_blamed(name: str) -> None:
    names = [check.name for check in checks_for("chat") if check.name not in LONG]
    outcomes = examine(Reference(**UNUSUAL[name]), "chat", names)
    assert {name: outcome.why for name, outcome in outcomes.items() if outcome.state in ("broke", "error")} == {}
