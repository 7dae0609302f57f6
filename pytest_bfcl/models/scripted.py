"""A model that follows a script: replies and faults per entry from a JSON or JSON-lines file, for tests and demos."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.endpoints.breaker import Breaker
from pytest_bfcl.endpoints.faults import EndpointUnreachable
from pytest_bfcl.endpoints.retrying import Caller, RetryPolicy
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request, ToolsRefused
from pytest_bfcl.models.spec import ModelSpec
from pytest_bfcl.spread_json import json_file, read_json, text_file
from pytest_bfcl.transcript import Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

if TYPE_CHECKING:
    from pytest_bfcl.settings import Settings

CLOSING = "Done."
_RETRYABLE = (
    AdapterTrouble.TIMEOUT,
    AdapterTrouble.CONNECTION,
    "unreachable",
    AdapterTrouble.RATE_LIMIT,
    AdapterTrouble.SERVER,
    AdapterTrouble.MALFORMED_BODY,
)
_REPLY_KEYS = (
    "text",
    "tool_calls",
    "problem",
    "finish_reason",
    "reasoning",
    "input_tokens",
    "output_tokens",
    "delay_s",
)


class ScriptedModel:
    """``scripted:FILE``.

    The file is an object ``{entry id: script}`` or lines ``{"id": …, "reply": script}``; key ``id#2`` is for repeat 2,
    ``*`` for entries not named. A script is one reply, or a list of turns, each a reply or a list of steps. A reply is
    text, a list of calls (``{"name", "arguments"}`` or ``{name: arguments}``), an object with ``text``,
    ``tool_calls``, ``problem``, ``finish_reason``, ``reasoning``, ``input_tokens``, ``output_tokens``, ``delay_s``
    (seconds before answering), or a fault ``{"error": kind, "message", "status", "times", "then": reply}``: ``times``
    attempts fail (default all). Steps beyond the script say "Done."
    """

    def __init__(self, spec: ModelSpec, settings: Settings, mode: Mode = "fc") -> None:
        self.spec = spec.with_mode(mode).text
        self.mode: Mode = mode
        self.underscore_names = mode == "fc"
        self._path = spec.name
        self.scripts = _load(Path(spec.name))
        self.calls = Caller(
            settings, f"script {spec.name}", RetryPolicy(settings.retries, settings.retry_limit_s, 0.001, 0.01)
        )
        self.seen: dict[tuple[str, int, int, int], int] = {}

    @property
    def breaker(self) -> Breaker:
        """The circuit breaker, as for real endpoints."""
        return self.calls.breaker

    async def generate(self, request: Request) -> Reply:
        """The scripted reply, or the scripted fault after the usual retries."""
        return await self.calls.call(lambda: self._attempt(request))

    async def aclose(self) -> None:
        """Nothing to release."""

    async def _attempt(self, request: Request) -> Reply:
        key = (request.entry.id, request.repeat, request.turn, request.step)
        self.seen[key] = attempt = self.seen.get(key, 0) + 1
        item, place = self._item(request)
        try:
            if isinstance(item, Mapping) and isinstance(item.get("error"), str):
                if attempt <= item.get("times", attempt):
                    raise _fault(item)
                item = item.get("then", CLOSING)
            if isinstance(item, Mapping) and "delay_s" in item:
                await asyncio.sleep(float(item["delay_s"]))
            return _reply(item)
        except (TypeError, ValueError) as error:
            raise AdapterError(
                AdapterTrouble.NOT_RECORDED, f"{place}: {error}", advice="correct this item of the script"
            ) from None

    def _item(self, request: Request) -> tuple[Any, str]:
        """The item of a step, and where the script has it."""
        names = (f"{request.entry.id}#{request.repeat}", request.entry.id, "*")
        name = next((n for n in names if n in self.scripts), None)
        if name is None:
            raise AdapterError(
                AdapterTrouble.NOT_RECORDED,
                f"the script has no reply for {request.entry.id}",
                advice="add the id or '*'",
            )
        item, place = self.scripts[name], f"the script {self._path}, {name!r}"
        positions = (request.turn, request.step)
        for depth, position in enumerate(positions):
            if not _is_turns(item):
                return (CLOSING if any(positions[depth:]) else item), place
            item, place = (item[position] if position < len(item) else CLOSING), f"{place}[{position}]"
        return item, place


def _is_turns(script: object) -> bool:
    """Whether a list is a list of turns (or steps) rather than one reply's calls."""
    return isinstance(script, list) and not all(_is_call(item) for item in script)


def _is_call(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    return item.keys() >= {"name", "arguments"} or (len(item) == 1 and item.keys().isdisjoint(("error", *_REPLY_KEYS)))


def _reply(item: object) -> Reply:
    if not isinstance(item, Mapping):
        return Reply.from_output(item, finish_reason="tool_calls" if item and isinstance(item, list) else "stop")
    kept = {key: item[key] for key in _REPLY_KEYS if key in item and key not in ("text", "tool_calls", "delay_s")}
    if item.get("tool_calls"):
        return Reply.from_output(item["tool_calls"], **kept)
    return Reply(text=item.get("text"), **kept)


def _fault(item: Fields) -> AdapterError:
    kind, message = str(item["error"]), str(item.get("message", f"scripted fault: {item['error']}"))
    if kind == "tools_refused":
        return ToolsRefused(message, status=item.get("status"))
    if kind == "unreachable":
        return EndpointUnreachable(message)
    return AdapterError(
        kind, message, status=item.get("status"), retryable=bool(item.get("retryable", kind in _RETRYABLE)),
        retry_after_s=item.get("retry_after_s"),
    )  # fmt: skip


def _load(path: Path) -> Parsed:
    if path.suffix == ".jsonl":
        try:
            lines = [read_json(line.encode()) for line in text_file(path).splitlines() if line.strip()]
            return {str(line["id"]): line["reply"] if "reply" in line else line["output"] for line in lines}
        except (KeyError, TypeError) as error:
            told = f"has a line without {error}: each has id, and reply or output"
            raise UsageError(f"the script {path} {told}") from None
        except ValueError as error:
            raise UsageError(f"the script {path} is not valid: {error}") from None
    data = json_file(path)
    if not isinstance(data, dict):
        raise UsageError(f"the script {path} must be an object of entry ids")
    return data
