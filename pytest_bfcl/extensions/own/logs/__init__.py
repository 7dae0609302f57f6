"""Recorded conversations with tools, in the formats of APIs, tracers and data sets: each finds requests and replies.

What is in their messages is read by `pytest_bfcl.replies`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_bfcl.extensions.own.logs.apis import Threads, api_conversation, observations_in, wrapped_in
from pytest_bfcl.extensions.own.logs.conversation import Conversation
from pytest_bfcl.extensions.own.logs.rows import AceAnswers, ace_conversation, xlam_conversation
from pytest_bfcl.extensions.own.logs.spans import spans_in
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.replies import Said, UnknownShape
from pytest_bfcl.spread_json import NOT_JSON, json_or, json_trouble, text_file

MAX_BYTES = 500_000_000
KNOWN = (
    '"messages" and "tools", requests and responses of chat completions, Responses, Anthropic, Gemini or litellm, '
    "spans of OpenTelemetry, Phoenix, OpenLLMetry or Vercel's AI SDK, exports of Langfuse, LangSmith, MLflow or "
    "Helicone, OpenAI's stored completions, rows of xLAM or ACEBench"
)


Refuse = Callable[[str], object]
"""Receives file, line and field that cannot be read: it raises, or the rest is read."""


def conversations_of_log(path: Path, refuse: Refuse) -> list[Conversation]:
    """Every conversation of a file, without those that another one begins with. Raises `UsageError` for a file that
    cannot be read at all.
    """
    read = [each for found in _read(path, refuse) for each in found]
    spoilt: dict[str, str] = {}
    for each in read:
        if each.trouble is not None:
            refuse(f"{each.place}: {each.trouble}")
            spoilt.update({mark: each.place for mark in list(_marks(each.said))[-1:] if each.said[-1].who == "model"})
    sound = [each for each in read if each.trouble is None]
    return _longest([each for each in sound if not spoilt or not _goes_on(each, spoilt, refuse)])


def _goes_on(each: Conversation, spoilt: Mapping[str, str], refuse: Refuse) -> bool:
    """Whether a conversation holds a reply that is no truth, from another line of the log."""
    place = next((spoilt[mark] for mark in _marks(each.said) if mark in spoilt), None)
    if place is not None:
        refuse(f"{each.place}: it continues the reply of {place}, which is left out")
    return place is not None


def _read(path: Path, refuse: Refuse) -> Iterator[list[Conversation]]:
    threads, answers = Threads(), AceAnswers(path)
    for place, record in _records(path, refuse):
        try:
            yield list(_conversations(record, place, threads, answers))
        except UnknownShape as error:
            refuse(f"{place}: {error}")
        except RecursionError:
            refuse(f"{place}: nested too deeply")
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            refuse(f"{place}: not as this format has it ({type(error).__name__}: {error})")


def _records(path: Path, refuse: Refuse) -> Iterator[tuple[str, Any]]:
    """The objects of a file with their places: of a JSON text, of a list in it, or one a line."""
    text = text_file(path, most=MAX_BYTES)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            raise UsageError(f"{path}: {json_trouble(error)}") from None
    else:
        listed = whole.get("data") if isinstance(whole, dict) and isinstance(whole.get("data"), list) else whole
        if isinstance(listed, list):
            yield from ((f"{path}, conversation {number}", each) for number, each in enumerate(listed, 1))
        else:
            yield f"{path}:1", whole
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"{path}:{number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                refuse(f"{path}:{number}: {json_trouble(error)}")


def _conversations(record: Any, place: str, threads: Threads, answers: AceAnswers) -> Iterator[Conversation]:
    if not isinstance(record, dict):
        raise UnknownShape(f"no conversation: {KNOWN}")
    for find in (wrapped_in, spans_in, observations_in):
        if (found := find(record)) is not None:
            for name, read in found:
                try:
                    conversation = read(f"{place}, {name}")
                except UnknownShape as error:
                    raise UnknownShape(f"{name}: {error}") from None
                if conversation is not None:
                    yield conversation
            return
    single = xlam_conversation(record, place) or ace_conversation(record, place, answers)
    single = single or api_conversation(record, place, threads)
    if single is None:
        raise UnknownShape(f"no conversation: {KNOWN}")
    yield single


def _longest(read: list[Conversation]) -> list[Conversation]:
    """Those that are no beginning of another; they are offered the tools of their beginnings, too."""
    marks = [list(_marks(each.said)) for each in read]
    begun = {mark for each in marks for mark in each[:-1]}
    tools: dict[str, dict[str, Parsed]] = {}
    for each, own in zip(read, marks, strict=True):
        if own:
            tools.setdefault(own[-1], {}).update({tool["name"]: tool for tool in each.tools})
    kept: dict[str, Conversation] = {}
    for each, own in zip(read, marks, strict=True):
        if own and own[-1] not in begun:
            offered = {name: tool for mark in own for name, tool in tools.get(mark, {}).items()}
            kept.setdefault(own[-1] if any(said.who == "model" for said in each.said) else each.place,
                            replace(each, tools=tuple(offered.values())))  # fmt: skip
    return list(kept.values())


def _marks(said: tuple[Said, ...]) -> Iterator[str]:
    """One digest for each beginning; ids of calls and how arguments are spaced do not matter."""
    running = hashlib.sha256()
    for each in said:
        given = [(call, json_or(call.arguments, NOT_JSON)) for call in each.calls]
        calls = [
            (call.name, call.arguments if found is NOT_JSON else json.dumps(found, sort_keys=True))
            for call, found in given
        ]
        running.update(json.dumps([each.who, each.text.strip(), calls]).encode("utf-8", "surrogatepass"))
        yield running.hexdigest()
