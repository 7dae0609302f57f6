"""One request of a user's own test: a model, tools of any kind, executed calls, and the result."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.conversation import history, prompts
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.decoding import DecodeError, decode_reply
from pytest_bfcl.extensions.own.sources import document_of, tool_document
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.simulators import Simulator, serialise
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.tools.json_schema import argument_problem, is_native
from pytest_bfcl.transcript import Call, Message, Reply, ToolCall, wire_name

if TYPE_CHECKING:
    from pytest_bfcl.extensions.agents.server_session import McpSession
    from pytest_bfcl.extensions.own.recordings import Tape
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.models import Model
    from pytest_bfcl.settings import Settings


@dataclass(frozen=True, slots=True)
class Answer(Reply):
    """The result of one request: every call of the model, in order, and its last message.

    ``results`` are the tools' results, one text a call; ``functions`` the offered tools, ``messages`` the whole
    conversation. It is a `Reply`, so every assertion accepts it.
    """

    results: tuple[str, ...] = ()
    functions: Sequence[Fields] = ()
    messages: Sequence[Message] = field(default=(), repr=False)

    @property
    def calls(self) -> list[Call]:
        """Name and arguments of every call."""
        return [Call(call.name, json.loads(call.arguments)) for call in self.tool_calls]


async def ask_model(
    text: str | Sequence[Message],
    tools: object,
    model: Model,
    settings: Settings,
    texts: Texts,
    tape: Tape,
    *,
    mcp: str | None,
    system: str | None,
    live_tools: bool,
) -> Answer:
    """Send requests until the model stops calling, or after ``step_limit`` steps.

    ``tools``: Python functions (``async def`` too), simulators, function documents in any provider's shape, or one of
    these; ``mcp``: URL or command of an MCP server whose tools are offered and called there. Calls of tools that are
    only documents are not executed, and end the conversation. ``tape``: has the model's answers, and tools' results
    (not with ``live_tools``; never of simulators, whose state counts).

    Raises `UsageError` for anything else, `HarnessError` (kind ``mcp``) for a server that does not answer.
    """
    native, results_on = model.mode == "fc", None if live_tools else tape
    question = [{"role": "user", "content": text}] if isinstance(text, str) else [dict(each) for each in text]
    if system:
        question = prompts.with_system(question, system)
    async with AsyncExitStack() as stack:
        offered = list(_offered(tools))
        if mcp is not None:
            offered += await _of_server(mcp, settings.timeout_s, stack, question, results_on, as_listed=native)
        known = _Tools(offered, results_on)
        documents = known.documents
        entry = Entry(id=tape.test, category="simple_python", question=[question], function=documents)
        messages = prompts.first_messages(entry, documents, texts, mode=model.mode)
        calls: list[Call] = []
        results: list[str] = []
        for step in range(settings.step_limit + 1):
            functions = documents if native else ()
            request = Request(entry, list(messages), functions, 0, step, 1, settings.sent_parameters(), step + 1)
            last = await tape.reply(request, model)
            message = history.assistant_message(model, last, 0, step)
            messages.append(message)
            made = _calls(last, model, documents)
            given = [await known.result(call) for call in made]
            calls += made
            results += [each for each in given if each is not None]
            if not made or None in given:
                break
            messages += _shown(message, made, [str(each) for each in given], native=native)
    return Answer(
        text=None if made else last.text,
        tool_calls=tuple(ToolCall(call.name, json.dumps(call.arguments)) for call in calls),
        reasoning=last.reasoning, finish_reason=last.finish_reason, problem=last.problem, results=tuple(results),
        functions=tuple(documents), messages=tuple(messages),
    )  # fmt: skip


def _calls(reply: Reply, model: Model, documents: Sequence[Fields]) -> list[Call]:
    try:
        return list(decode_reply(reply, model.mode, functions=documents)) if documents else []
    except DecodeError:
        return []


def _shown(message: Message, calls: Sequence[Call], results: Sequence[str], *, native: bool) -> list[Message]:
    """The results as the model gets them."""
    if native:
        return history.result_messages(message, results)
    written = [f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})" for call in calls]
    return [{"role": "user", "content": history.results_text(written, results)}]


class Tool(NamedTuple):
    """An offered tool. ``carry`` executes a call; ``None``: it is only a document. ``stateful``: a simulator's."""

    document: Parsed
    carry: Callable[[Parsed], Any] | None = None
    stateful: bool = False


class _Tools:
    """The offered tools, by their names and by the names as sent."""

    def __init__(self, tools: Iterable[Tool], tape: Tape | None) -> None:
        by_name = {str(tool.document["name"]): tool for tool in tools}
        self.documents = [tool.document for tool in by_name.values()]
        self._offered = {wire_name(name): tool for name, tool in by_name.items()} | by_name
        self._tape = tape

    async def result(self, call: Call) -> str | None:
        """A call's result; ``None`` for a tool that is only a document."""
        tool = self._offered.get(call.name)
        if tool is None:
            return error_text(NameError(f"there is no tool {call.name[:100]!r}"))
        if tool.carry is None:
            return None
        arguments = {str(name): value for name, value in call.arguments.items()}
        if self._tape is None or tool.stateful:
            return await _carried(tool, arguments)
        return await self._tape.result(str(tool.document["name"]), arguments, partial(_carried, tool, arguments))


async def _carried(tool: Tool, arguments: Parsed) -> str:
    if is_native(tool.document) and (problem := argument_problem(tool.document["parameters"], arguments)):
        return error_text(ValueError(f"invalid arguments: {problem[1]}"))
    try:
        assert tool.carry is not None
        result = tool.carry(arguments)
        return serialise(await result if inspect.isawaitable(result) else result)
    except HarnessError:  # a server that is gone is no answer
        raise
    except Exception as error:  # what a tool raises is its answer
        return error_text(error)


def _offered(tools: object) -> Iterator[Tool]:
    for tool in tools if isinstance(tools, list | tuple) else [tools]:
        if isinstance(tool, Simulator):
            for document in tool.documents():
                yield Tool(document, partial(tool.call, str(document["name"])), stateful=True)
        elif callable(tool):
            yield Tool(document_of(tool), partial(_by_name, tool))
        else:
            try:
                yield Tool(tool_document(tool))
            except ValueError as error:
                raise UsageError(f"a tool is a function, a simulator or a function document: {error}") from None


def _by_name(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    return function(**arguments)


async def _of_server(
    where: str, timeout_s: float, stack: AsyncExitStack, messages: Sequence[Message], tape: Tape | None, *,
    as_listed: bool,
) -> list[Tool]:  # fmt: skip
    """The tools of an MCP server; the connection starts on first use, because a recording may not need it."""
    from pytest_bfcl.extensions.agents.mcp_tools import public_address
    from pytest_bfcl.extensions.agents.server_session import mcp_session, text_of

    session: McpSession | None = None

    async def opened() -> McpSession:
        nonlocal session
        if session is None:
            shown = public_address(where).strip("'")
            session = await stack.enter_async_context(mcp_session("ask", shown, where, timeout_s))
        return session

    async def listed() -> tuple[list[Parsed], dict[str, str]]:
        return await (await opened()).documents(as_listed=as_listed)

    async def call(name: str, arguments: Parsed) -> str:
        return text_of(await (await opened()).call(name, arguments))

    documents, names = await (listed() if tape is None else tape.tools(messages, listed))
    return [Tool(each, partial(call, own)) for each, own in zip(documents, names.values(), strict=True)]
