"""The web as a conversation saw it: recorded results answer the same searches during judging.

A checker reaches no network. A page that only the ground truth reads is unknown, and counts as a missing result.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields, JsonObject, Parsed
from pytest_bfcl.plain_text import read_literal
from pytest_bfcl.transcript import CALLS_A_STEP
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.simulators import CallExecutor
    from pytest_bfcl.transcript import Transcript

WEB = "WebSearchAPI"
_TOOLS = ("search_engine_query", "fetch_url_content")


class NotLookedUp(LookupError):
    """The conversation has no result for this call."""


class RecordedWeb:
    """The results of the web tools in one conversation, by their arguments; each replay starts again.

    It serves `WebSearchAPI` as a provider. A repeated call gets its results in order.
    """

    def __init__(self, results: Mapping[tuple[str, str], list[str]]) -> None:
        self._results = {key: list(texts) for key, texts in results.items()}

    def search(self, keywords: str, max_results: int, region: str) -> list[Parsed] | Parsed:
        """The recorded result of a search. Raises `NotLookedUp`, and the search's recorded error."""
        arguments = {"keywords": keywords, "max_results": max_results, "region": region}
        found: list[Parsed] | Parsed = self._value("search_engine_query", arguments)
        return found

    def fetch(self, url: str, mode: str) -> JsonObject:
        """The recorded page. Raises likewise."""
        found: JsonObject = self._value("fetch_url_content", {"url": url, "mode": mode})
        return found

    def _value(self, tool: str, arguments: Fields) -> Any:
        from pytest_bfcl.simulators import ERROR_PREFIX

        texts = self._results.get((tool, _key(arguments)))
        if not texts:
            raise NotLookedUp(f"this was not looked up in the conversation: {str(dict(arguments))[:200]}")
        text = texts.pop(0) if len(texts) > 1 else texts[0]
        if text.startswith(ERROR_PREFIX):
            raise RuntimeError(text.removeprefix(ERROR_PREFIX))
        for read in (json.loads, read_literal):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                return read(text)
        return {"content": text}


def recorded_results(entry: Entry, transcript: Transcript, executor: CallExecutor) -> dict[tuple[str, str], list[str]]:
    """Tool and arguments → result texts of every plain call of a web tool. ``executor`` knows the tools' names.

    Raises `HarnessError` (kind ``search``) for a conversation without stored results.
    """
    from pytest_bfcl.checkers.entries import step_calls
    from pytest_bfcl.simulators.execution import split_call

    found: dict[tuple[str, str], list[str]] = {}
    for step in transcript.steps:
        for number, text in enumerate((step_calls(step, transcript) or ())[:CALLS_A_STEP]):
            if (call := split_call(text)) is None:
                continue
            tool = executor.tool_name(call.name)
            if tool not in _TOOLS:
                continue
            if number >= len(step.results):
                raise HarnessError(
                    HarnessTrouble.SEARCH,
                    f"{entry.id}: the results of its searches are not recorded, so it cannot be judged",
                    advice="add tool_results to the line",
                )
            arguments = _bound(tool, call.args, call.kwargs)
            if arguments is not None:
                found.setdefault((tool, _key(arguments)), []).append(step.results[number])
    return found


def _bound(tool: str, args: tuple[Any, ...], kwargs: Fields) -> Parsed | None:
    """All arguments by name, with defaults; ``None`` for arguments that the tool does not have."""
    from pytest_bfcl.agentic.web_search import WebSearchAPI

    try:
        bound = inspect.signature(WebSearchAPI.tools_by_name()[tool]).bind(None, *args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "self"}


def _key(arguments: Fields) -> str:
    return repr(sorted(arguments.items()))
