"""Exports of Langfuse: observations, one a line or in a list, and traces that hold theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_bfcl.bodies import record_trouble
from pytest_bfcl.extensions.own.logs.apis import exchange
from pytest_bfcl.extensions.own.logs.conversation import Conversation, maybe_parsed, objects
from pytest_bfcl.json_types import Fields

_TRACE = ("traceId", "trace_id")
_HOLDERS = ("modelParameters", "model_parameters", "metadata")


def observations_in(record: Fields) -> Iterator[Fields] | None:
    """The observations of a line; ``None`` for a line of something else."""
    listed = record.get("observations")
    if isinstance(listed, list) and listed:
        return iter(sorted(objects(listed, "observations"), key=lambda each: str(_started(each))))
    if any(isinstance(record.get(name), str) for name in _TRACE) and "type" in record and "input" in record:
        return iter([record])
    return None


def _started(observation: Fields) -> Any:
    return observation.get("startTime") or observation.get("start_time") or ""


def observed_conversation(observation: Fields, place: str) -> Conversation | None:
    """The conversation of one observation; ``None`` for those of no model. Raises `UnknownShape`."""
    if str(observation.get("type")).upper() != "GENERATION":
        return None
    asked = maybe_parsed(observation.get("input"))
    request: dict[str, Any] = dict(asked) if isinstance(asked, Mapping) else {"messages": asked}
    if isinstance(asked, str):
        request = {"input": asked}
    elif "role" in request:
        request = {"messages": [asked]}
    for name in _HOLDERS:
        held = maybe_parsed(observation.get(name))
        tools = maybe_parsed(held.get("tools")) if isinstance(held, Mapping) else None
        if isinstance(tools, list) and not request.get("tools"):
            request["tools"] = tools
    return exchange(request, observation.get("output"), place, trouble=record_trouble(observation))
