"""A streaming parser in this process: any callable from text deltas to events, or an installed engine's.

A callable gets an iterable of text deltas, and, with two parameters, the tools in chat completions' form. It returns
(or yields, asynchronously or not) events in chat completions' form: a delta (``content``, ``tool_calls``,
``reasoning_content``), a choice (``delta``, ``finish_reason``) or a chunk (``choices``), as dicts or as objects with
``model_dump``; a text is content, ``None`` is nothing. A class is instantiated for every text, then called.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from pytest_bfcl.entry_points import named
from pytest_bfcl.extensions.formats.installed_parser import (
    Calls,
    Cuts,
    InstalledParser,
    deltas_of,
    installed_parser,
    is_installed_name,
)
from pytest_bfcl.extensions.wire.chat import Chat
from pytest_bfcl.extensions.wire.replies import Call, Exchange, Reply
from pytest_bfcl.extensions.wire.requests import Tool, documents
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.syntax.limits import DecodeError

LIMIT_S = 5.0
"""Longest time for one text with one split."""
MOST_EVENTS = 20_000

Read = Reply | str
"""The result of a parser, or its failure."""


class Target(Protocol):
    """A tested parser: reads a text in many splits; a cut is between two atoms."""

    def atoms(self, text: str, tools: Sequence[Tool]) -> Sequence[str]:
        """The pieces of a text that arrive whole."""
        ...

    def read(self, text: str, tools: Sequence[Tool], splits: Sequence[Cuts]) -> list[Read]:
        """The text streamed with each split; the split ``()`` is the whole text at once. May raise `Hung`."""
        ...


def target_of(name: str) -> Target:
    """The parser of ``module:callable``, ``vllm:NAME`` or ``sglang:NAME``. Raises `UsageError`."""
    return EngineParser(installed_parser(name)) if is_installed_name(name) else CallableParser(_loaded(name))


def _loaded(name: str) -> Callable[..., Any]:
    where, colon, attribute = name.partition(":")
    if not colon or not where or not attribute:
        raise UsageError(f"--parser {name}: write module:callable, or vllm:NAME, sglang:NAME")
    try:
        found = named(name)
    except Exception as error:
        raise UsageError(f"--parser {name} cannot be loaded: {type(error).__name__}: {error}") from None
    if found is None:
        raise UsageError(f"--parser {name}: the module {where} has no {attribute!r}")
    if not callable(found):
        raise UsageError(f"--parser {name} is no callable but {type(found).__name__}")
    return found  # type: ignore[no-any-return]


class CallableParser:
    """A user's callable, in this process."""

    def __init__(self, parse: Callable[..., Any]) -> None:
        self._parse = parse

    def atoms(self, text: str, tools: Sequence[Tool]) -> Sequence[str]:
        """Single characters."""
        return text

    def read(self, text: str, tools: Sequence[Tool], splits: Sequence[Cuts]) -> list[Read]:
        """See `Target`."""
        return [self._read(deltas_of(text, cuts), _offered(tools)) for cuts in splits]

    def _read(self, deltas: Sequence[str], tools: list[Parsed]) -> Read:
        try:
            with _bounded(LIMIT_S):
                parse: Any = self._parse() if inspect.isclass(self._parse) else self._parse
                given = (iter(deltas), tools) if _takes_two(parse) else (iter(deltas),)
                chunks = [_chunk(event) for event in _listed(parse(*given)) if event is not None]
        except _Late:
            raise Hung(deltas) from None
        except _Odd as error:
            return str(error)
        except Exception as error:
            return f"it raises {type(error).__name__}: {error}"[:300]
        return _reply(chunks)


def _offered(tools: Sequence[Tool]) -> list[Parsed]:
    """Tools in chat completions' form."""
    return [{"type": "function", "function": dict(each)} for each in documents(tools)]


class Hung(Exception):
    """A parser that does not return: it gets no more texts."""

    def __init__(self, deltas: Sequence[str]) -> None:
        super().__init__(f"it does not come to an end within {LIMIT_S:g} s")
        self.deltas = tuple(deltas)


class _Odd(Exception):
    """An unknown event."""


class _Late(BaseException):
    """The time limit; no parser's ``except Exception`` catches it."""


@contextmanager
def _bounded(limit_s: float) -> Iterator[None]:
    """Raises `_Late` after this time, where signals arrive (the main thread of POSIX)."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _takes_two(parse: Callable[..., Any]) -> bool:
    with suppress(TypeError, ValueError):
        kinds = [each.kind for each in inspect.signature(parse).parameters.values()]
        return inspect.Parameter.VAR_POSITIONAL in kinds or sum(kind in _POSITIONAL for kind in kinds) > 1
    return False


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _listed(events: Any) -> list[Any]:
    if isinstance(events, AsyncIterator) or inspect.isawaitable(events):
        return asyncio.run(_awaited(events))
    if not isinstance(events, Iterable):
        raise _Odd(f"it returns {type(events).__name__}, no events")
    found: list[Any] = []
    for event in [events] if isinstance(events, str | Mapping) else events:
        found.append(event)
        if len(found) > MOST_EVENTS:
            raise _Odd(f"it yields more than {MOST_EVENTS:,} events")
    return found


async def _awaited(events: Any) -> list[Any]:
    if not isinstance(events, AsyncIterator):
        return _listed(await events)
    return [event async for event in events]


def _chunk(event: Any) -> Parsed:
    """An event as a chunk of chat completions."""
    dump = getattr(event, "model_dump", None)
    if callable(dump):
        event = dump(exclude_none=True)
    if isinstance(event, str):
        event = {"content": event}
    if not isinstance(event, Mapping):
        raise _Odd(f"an event is {type(event).__name__}, not a delta")
    choices = event.get("choices")
    if choices is None:
        choices = [event if "delta" in event or "finish_reason" in event else {"delta": dict(event)}]
    return {"id": "parser", "object": "chat.completion.chunk", "created": 1, "model": "parser", "choices": choices}


def _reply(chunks: Sequence[Parsed]) -> Read:
    try:
        lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
    except (TypeError, ValueError, RecursionError) as error:
        return f"an event is no JSON: {error}"[:300]
    exchange = Exchange("parser", b"", 200, "text/event-stream", b"".join(lines))
    return Chat().join(exchange)[0] if chunks else Reply(exchange)


class EngineParser:
    """A parser of an installed vLLM or SGLang, in its own process. It returns calls, not their deltas."""

    def __init__(self, parser: InstalledParser) -> None:
        self._parser = parser

    def atoms(self, text: str, tools: Sequence[Tool]) -> Sequence[str]:
        """Special tokens, and single characters."""
        return self._parser.atoms(text, documents(tools))

    def read(self, text: str, tools: Sequence[Tool], splits: Sequence[Cuts]) -> list[Read]:
        """See `Target`; the whole text is read like an unstreamed one."""
        functions = documents(tools)
        cut = [cuts for cuts in splits if cuts]
        streamed = iter(self._parser.streamed(text, functions, cut) if cut else ())
        return [_engine_answer(next(streamed) if cuts else self._whole(text, functions)) for cuts in splits]

    def _whole(self, text: str, functions: Sequence[Fields]) -> Calls | DecodeError:
        try:
            return self._parser.whole(text, functions)
        except DecodeError as error:
            return error


def _engine_answer(found: Calls | DecodeError) -> Read:
    if isinstance(found, DecodeError):
        return str(found)
    calls = tuple(Call(None, name, arguments or "{}") for name, arguments in found)
    return Reply(Exchange("parser", b"", 200), calls)
