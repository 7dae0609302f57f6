"""One request of a user's own test: a model, tools of any kind, executed calls, and the result."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation import history, prompts
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.simulators import Simulator, serialise
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.tools.documents import as_document, is_tool, native_document
from pytest_bfcl.tools.json_schema import argument_problem, is_native
from pytest_bfcl.transcript import Call, Message, Reply, ToolCall, wire_name

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.extensions.agents.server_session import McpSession
    from pytest_bfcl.extensions.own.recordings import Tape
    from pytest_bfcl.fetching.texts import Texts
    from pytest_bfcl.models import Model
    from pytest_bfcl.settings import Settings

Ask = Callable[["Request"], Awaitable[Reply]]
"""The source of a request's answer: the model, or a recording."""


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
    ask: Ask,
    model: Model,
    settings: Settings,
    texts: Texts,
    *,
    mcp: str | None = None,
    system: str | None = None,
    name: str = "ask",
    tape: Tape | None = None,
    live_tools: bool = False,
) -> Answer:
    """Send requests until the model stops calling, or after ``step_limit`` steps.

    ``tools``: Python functions (``async def`` too), simulators, function documents in any provider's shape, or one of
    these; ``mcp``: URL or command of an MCP server whose tools are offered and called there. Calls of tools that are
    only documents are not executed, and end the conversation. ``tape``: records tools' results, or replays them (not
    with ``live_tools``; never for simulators, whose state counts).

    Raises `UsageError` for anything else, `HarnessError` (kind ``mcp``) for a server that does not answer.
    """
    async with AsyncExitStack() as stack:
        offered = _offered(tools)
        messages = [{"role": "user", "content": text}] if isinstance(text, str) else [dict(each) for each in text]
        if system:
            messages = prompts.with_system(messages, system)
        tape = None if live_tools else tape
        if mcp is not None:
            server = _Server(mcp, settings.timeout_s, stack, as_listed=model.mode == "fc")
            listed = server.listed if tape is None else partial(tape.tools, messages, server.listed)
            offered |= server.offered(*await listed())
        return await _Asking(messages, offered, ask, model, settings, texts, name, tape).run()


Carry = Callable[[Parsed], Any] | None


@dataclass(frozen=True, slots=True)
class _Offered:
    document: Parsed
    carry: Carry
    stateful: bool = False


class _Asking:
    def __init__(
        self,
        messages: list[Message],
        offered: Mapping[str, _Offered],
        ask: Ask,
        model: Model,
        settings: Settings,
        texts: Texts,
        name: str,
        tape: Tape | None,
    ) -> None:
        from pytest_bfcl.dataset.entry import Entry

        self.offered = {wire_name(each): tool for each, tool in offered.items()} | dict(offered)
        self.documents = [tool.document for tool in offered.values()]
        self.ask, self.model, self.settings, self.texts, self.tape = ask, model, settings, texts, tape
        self.entry: Entry = Entry(id=name, category="simple_python", question=[messages], function=self.documents)
        self.messages = prompts.first_messages(self.entry, self.documents, texts, mode=model.mode)
        self.calls: list[ToolCall] = []
        self.results: list[str] = []

    async def run(self) -> Answer:
        last = Reply()
        for step in range(self.settings.step_limit + 1):
            functions = self.documents if self.model.mode == "fc" else ()
            last = await self.ask(
                Request(
                    self.entry, list(self.messages), functions, 0, step, 1, self.settings.sent_parameters(), step + 1
                )
            )
            message = history.assistant_message(self.model, last, 0, step)
            self.messages.append(message)
            calls = self._calls(last)
            results = [await self._carry_out(call) for call in calls]
            self.calls += [ToolCall(call.name, json.dumps(call.arguments)) for call in calls]
            self.results += [each for each in results if each is not None]
            if not calls or None in results:
                break
            self._show(message, calls, [str(each) for each in results])
        text = None if self.calls and self._calls(last) else last.text
        return Answer(
            text=text, tool_calls=tuple(self.calls), reasoning=last.reasoning, finish_reason=last.finish_reason,
            problem=last.problem, results=tuple(self.results), functions=tuple(self.documents),
            messages=tuple(self.messages),
        )  # fmt: skip

    def _calls(self, reply: Reply) -> list[Call]:
        from pytest_bfcl.decoding import DecodeError, decode_reply

        try:
            return list(decode_reply(reply, self.model.mode, functions=self.documents)) if self.documents else []
        except DecodeError:
            return []

    async def _carry_out(self, call: Call) -> str | None:
        tool = self.offered.get(call.name)
        if tool is None:
            return error_text(NameError(f"there is no tool {call.name[:100]!r}"))
        if tool.carry is None:
            return None
        arguments = {str(name): value for name, value in call.arguments.items()}
        carry = partial(self._result, tool, tool.carry, arguments)
        if self.tape is None:
            return await carry()
        return await self.tape.result(str(tool.document["name"]), arguments, carry, always=tool.stateful)

    async def _result(self, tool: _Offered, carry: Callable[[Parsed], Any], arguments: Parsed) -> str:
        if is_native(tool.document) and (problem := argument_problem(tool.document["parameters"], arguments)):
            return error_text(ValueError(f"invalid arguments: {problem[1]}"))
        try:
            result = carry(arguments)
            return serialise(await result if inspect.isawaitable(result) else result)
        except HarnessError:  # a server that is gone is no answer
            raise
        except Exception as error:  # what a tool raises is its answer
            return error_text(error)

    def _show(self, message: Message, calls: Sequence[Call], results: Sequence[str]) -> None:
        if self.model.mode == "fc":
            self.messages += history.result_messages(message, results)
        else:
            shown = [f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})" for call in calls]
            self.messages.append({"role": "user", "content": history.results_text(shown, results)})


def _offered(tools: object) -> dict[str, _Offered]:
    listed: Iterable[Any] = tools if isinstance(tools, list | tuple) else [tools]
    found: dict[str, _Offered] = {}
    for tool in listed:
        if isinstance(tool, Simulator):
            for document in tool.documents():
                found[str(document["name"])] = _Offered(document, _on(tool, str(document["name"])), stateful=True)
        elif callable(tool):
            from pytest_bfcl.extensions.own.sources import document_of

            document = document_of(tool)
            found[str(document["name"])] = _Offered(document, _by_name(tool))
        elif not isinstance(tool, Mapping):
            told = f"not {type(tool).__name__} {tool!r:.60}"
            raise UsageError(f"a tool is a function, a simulator or a function document, {told}")
        else:
            try:
                document = native_document(tool) if is_tool(tool) else as_document(tool)
            except ValueError as error:
                raise UsageError(f"a tool is a function, a simulator or a function document: {error}") from None
            found[str(document["name"])] = _Offered(document, None)
    return found


def _by_name(function: Callable[..., Any]) -> Carry:
    return lambda arguments: function(**arguments)


def _on(simulator: Simulator, name: str) -> Carry:
    return lambda arguments: simulator.call(name, arguments)


class _Server:
    """An MCP server; the connection starts on first use, because a recording may not need it."""

    def __init__(self, where: str, timeout_s: float, stack: AsyncExitStack, *, as_listed: bool) -> None:
        self._where, self._timeout_s, self._stack, self._as_listed = where, timeout_s, stack, as_listed
        self._session: McpSession | None = None

    async def _opened(self) -> McpSession:
        from pytest_bfcl.extensions.agents.mcp_tools import public_address
        from pytest_bfcl.extensions.agents.server_session import mcp_session

        if self._session is None:
            shown = public_address(self._where).strip("'")
            self._session = await self._stack.enter_async_context(
                mcp_session("ask", shown, self._where, self._timeout_s)
            )
        return self._session

    async def listed(self) -> tuple[list[Parsed], dict[str, str]]:
        """Its documents, and writable names → the server's own."""
        return await (await self._opened()).documents(as_listed=self._as_listed)

    def offered(self, documents: Sequence[Parsed], names: Mapping[str, str]) -> dict[str, _Offered]:
        """Its tools, as functions that call the server."""
        return {
            str(each["name"]): _Offered(each, self._call(own))
            for each, own in zip(documents, names.values(), strict=True)
        }

    def _call(self, name: str) -> Carry:
        async def call(arguments: Parsed) -> str:
            from pytest_bfcl.extensions.agents.server_session import text_of

            return text_of(await (await self._opened()).call(name, arguments))

        return call
