"""A user's own model: any object that their fixture returns, as a `Model`."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pytest_bfcl.endings import TROUBLE, UnknownEnding, problem_of
from pytest_bfcl.failures import AdapterError, BenchmarkError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Model, Request
from pytest_bfcl.redaction import environment_secrets, hide
from pytest_bfcl.replies import UnknownShape, read_reply
from pytest_bfcl.tools.schemas import compile_tools, wire_names
from pytest_bfcl.transcript import Mode, Reply
from pytest_bfcl.troubles import AdapterTrouble

_ARGUMENTS: dict[str, Callable[[Request], Any]] = {
    "request": lambda request: request,
    "messages": lambda request: request.messages,
    "tools": lambda request: compile_tools(request.functions),
    "functions": lambda request: list(request.functions),
    "entry": lambda request: request.entry,
    "parameters": lambda request: request.parameters,
}
_BY_POSITION = ("messages", "tools")


def as_model(
    obj: object, spec: str = "fixture:model", *, mode: Mode | None = None,
    wrong: str = "the model fixture returned {}: return",
) -> Model:  # fmt: skip
    """Anything that can answer, as a `Model`.

    Accepted: a complete `Model` (returned unchanged); a chat model of LangChain; an object with ``generate``; a plain
    function, sync or async. A function gets its arguments by name among ``request``, ``messages``, ``tools``,
    ``functions``, ``entry``, ``parameters``; with other names: one argument is the `Request`, two are messages and
    tools. It may return anything that `pytest_bfcl.replies.read_reply` reads. That is text, a `Reply`, a list of calls,
    ``None``, a message or completion of OpenAI, Anthropic, litellm, LangChain, pydantic-ai, smolagents, LlamaIndex or
    Gemini, as object or dict.

    Sync functions run in one background thread, one call at a time, because most local models are not thread-safe; an
    attribute ``max_concurrency`` on the object raises the limit. Exceptions become `AdapterError` ``fixture``. Raises
    `UsageError` for anything that cannot be called; ``wrong`` begins its message, with a place for the type.
    """
    if isinstance(obj, Model) and inspect.iscoroutinefunction(obj.generate):
        return obj
    generate = _bound_to_tools(obj) or getattr(obj, "generate", None)
    if not callable(generate):
        generate = obj
    if not callable(generate) or inspect.isclass(generate):
        raise UsageError(
            f"{wrong.format(type(obj).__name__)} a function (request) or (messages, tools), an object with "
            "generate(request), or pytest_bfcl.models.create_model('provider:name', settings)"
        )
    chosen: Mode = getattr(obj, "mode", None) or mode or "fc"
    if chosen not in ("fc", "prompt"):
        raise UsageError(f"the model's mode is {chosen!r}: it must be 'fc' or 'prompt'")
    return CallableModel(obj, generate, str(getattr(obj, "spec", None) or spec), chosen)


def _bound_to_tools(obj: Any) -> Callable[..., Any] | None:
    """Requests to a chat model of LangChain; its own ``generate`` takes batches and no tools."""
    if not (callable(getattr(obj, "bind_tools", None)) and callable(getattr(obj, "ainvoke", None))):
        return None

    async def ask(messages: list[Any], tools: list[Any]) -> Any:
        return await (obj.bind_tools(tools) if tools else obj).ainvoke(messages)

    return ask


class CallableModel:
    """Wraps a function or an incomplete model object; see `as_model`."""

    def __init__(self, obj: object, function: Callable[..., Any], spec: str, mode: Mode) -> None:
        self.spec = spec if spec.endswith(("@fc", "@prompt")) else f"{spec}@{mode}"
        self.mode: Mode = mode
        self.underscore_names = bool(getattr(obj, "underscore_names", mode == "fc"))
        self._obj = obj
        self._function = function
        self._bind = _binder(function)
        self._is_async = inspect.iscoroutinefunction(function)
        self._threads: ThreadPoolExecutor | None = None

    async def generate(self, request: Request) -> Reply:
        """Call the user's function. Raises `AdapterError` ``fixture`` for any exception in it."""
        args, kwargs = self._bind(request)
        try:
            if self._is_async:
                result = await self._function(*args, **kwargs)
            else:
                result = await asyncio.get_running_loop().run_in_executor(
                    self._pool(), functools.partial(self._function, *args, **kwargs)
                )
                if inspect.isawaitable(result):
                    result = await result
        except BenchmarkError:
            raise
        except Exception as error:
            trouble = fixture_error(error, users=True)
            assert trouble is not None
            raise trouble from error
        reply = read_result(result)
        return on_the_wire(reply, request.functions) if self.underscore_names else reply

    async def aclose(self) -> None:
        """Close the user's object if it can be closed, and the thread."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
        close = getattr(self._obj, "aclose", None)
        if inspect.iscoroutinefunction(close):
            await close()

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            workers = max(1, int(getattr(self._obj, "max_concurrency", 1) or 1))
            self._threads = ThreadPoolExecutor(workers, thread_name_prefix="bfcl-model")
        return self._threads


def on_the_wire(reply: Reply, functions: Iterable[Fields]) -> Reply:
    """A function that uses documented names may answer with them; results have the sent names."""
    if not reply.tool_calls:
        return reply
    wires = {documented: wire for wire, documented in wire_names(functions).items()}
    calls = tuple(replace(c, name=wires.get(c.name, c.name)) for c in reply.tool_calls)
    return replace(reply, tool_calls=calls)


def read_result(result: object) -> Reply:
    """The return value of a user's function as a `Reply`.

    Raises `AdapterError`: ``fixture`` for unknown shapes, ``ending`` for a reply that did not end normally.
    """
    try:
        reply = result if isinstance(result, Reply) else read_reply(result)
    except UnknownShape as error:
        raise AdapterError(
            AdapterTrouble.FIXTURE,
            f"the model fixture returned {type(result).__name__}, which is not a reply: {error}",
            advice="return text, a list of {name, arguments}, a Reply, or what your client library gave",
        ) from None
    if (reply.problem or reply.finish_reason) and problem_of(reply) == TROUBLE:
        raise UnknownEnding(reply.finish_reason)
    return reply


Bound = tuple[tuple[Any, ...], Parsed]


def _binder(function: Callable[..., Any]) -> Callable[[Request], Bound]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return lambda request: ((request,), {})
    required = [
        p for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and (p.default is p.empty or p.name in _ARGUMENTS)
    ]  # fmt: skip
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in _ARGUMENTS]
    names = [p.name for p in required]
    if not any(name in _ARGUMENTS for name in names):
        names = ["request"] if len(names) == 1 else list(_BY_POSITION[: len(names)])
    unknown = [name for name in names if name not in _ARGUMENTS]
    if unknown or len(names) < len(required):
        known = ", ".join(_ARGUMENTS)
        raise UsageError(
            f"cannot call the model function: argument {', '.join(unknown) or 'list'} unknown; known: {known}"
        )
    return lambda request: (
        tuple(_ARGUMENTS[name](request) for name in names),
        {name: _ARGUMENTS[name](request) for name in keywords},
    )


_PACKAGE = str(Path(__file__).resolve().parents[1])


def fixture_error(error: Exception, *, users: bool = False) -> AdapterError | None:
    """The error of a user's model, with the last place in its code; ``None`` if none of its code was running.

    ``users``: the running code is the user's, also if it is installed.
    """
    place = place_of(error)
    if place is None and not users:
        return None
    said = hide(str(error), environment_secrets())
    text = f"the model fixture raised {type(error).__name__}: {said}"
    advice = f"fix {place}" if place else ""
    return AdapterError(AdapterTrouble.FIXTURE, f"{text} ({place})" if place else text, advice=advice)


def place_of(error: BaseException) -> str | None:
    """``FILE:LINE, in FUNCTION`` of the innermost frame outside this package and installed libraries."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users_code(frame.filename)]
    if not frames:
        return None
    last = frames[-1]
    return f"{_relative_name(last.filename)}:{last.lineno}, in {last.name}"


def is_users_code(filename: str) -> bool:
    """Whether a file belongs neither to this package nor to an installed library."""
    if filename.startswith("<"):
        return False
    path = str(Path(filename).resolve())
    return not path.startswith(_PACKAGE) and not any(path.startswith(folder) for folder in _libraries())


@cache
def _libraries() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(str(Path(sysconfig.get_path(name)).resolve()) for name in names)


def _relative_name(filename: str) -> str:
    try:
        return str(Path(filename).resolve().relative_to(Path.cwd()))
    except ValueError:
        return filename
