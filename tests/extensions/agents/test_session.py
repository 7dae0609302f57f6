"""A session with an MCP server, without one: names, calls, what is read of answers, how trouble is told."""

from __future__ import annotations

import asyncio
import io
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp.shared.exceptions import MCPError

from pytest_bfcl.extensions.agents import server_session as mcp_session
from pytest_bfcl.extensions.agents.mcp_tools import said_by
from pytest_bfcl.extensions.agents.server_session import McpSession, text_of
from pytest_bfcl.failures import HarnessError, UsageError


def part(kind: str = "text", **fields: Any) -> Any:
    return SimpleNamespace(type=kind, **fields)


def result(*parts: Any, structured: Any = None, error: bool = False) -> Any:
    return SimpleNamespace(content=list(parts), structured_content=structured, is_error=error)


def text(said: str, **more: Any) -> Any:
    return result(part(text=said), **more)


class Client:
    """Gives what it is told to, or raises it."""

    def __init__(self, gives: Any = None, **capabilities: Any) -> None:
        self.gives = gives
        self.server_capabilities = SimpleNamespace(**capabilities)

    async def call_tool(self, name: str, arguments: Any) -> Any:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives

    async def read_resource(self, address: str) -> Any:
        return await self.call_tool(address, {})


def session(client: Client, errors: str | None = None) -> McpSession:
    made = McpSession("own_1", "shop", None if errors is None else io.StringIO(errors))
    made.client = client  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("as_listed", [True, False])
def test_names_that_every_notation_can_write(monkeypatch: pytest.MonkeyPatch, as_listed: bool) -> None:
    listed = ["add-to-cart", "a.b", "a_b", "x" * 65, "9"]

    async def tools(client: Any) -> list[Any]:
        return [SimpleNamespace(name=name, description="", input_schema={}) for name in listed]

    monkeypatch.setattr("pytest_bfcl.extensions.agents.server_session.listed_tools", tools)
    found, names = asyncio.run(session(Client()).documents(as_listed=as_listed))
    assert list(names.values()) == listed
    said = list(names)
    assert said[1:3] == ["a_b", "a_b_"]
    assert [document["name"] for document in found] == [listed[0] if as_listed else said[0], *said[1:]]


@pytest.mark.parametrize(
    ("error", "said"),
    [(UsageError("odd tools"), "odd tools"), (ValueError("x\ny"), "it does not list its tools: x")],
)
def test_tools_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch, error: Exception, said: str) -> None:
    async def tools(client: Any) -> list[Any]:
        raise error

    monkeypatch.setattr("pytest_bfcl.extensions.agents.server_session.listed_tools", tools)
    with pytest.raises(HarnessError) as caught:
        asyncio.run(session(Client()).documents(as_listed=True))
    assert str(caught.value) == f"own_1: MCP server 'shop': {said}"


@pytest.mark.parametrize(
    ("gives", "purpose", "refusable", "said"),
    [
        (MCPError(-32000, "closed"), "", False, "it did not answer f: closed"),
        (MCPError(-32001, "late"), "setup", False, "it did not answer f (setup): late"),
        (MCPError(-32602, "bad"), "setup", False, "it did not answer f (setup): bad"),
        (MCPError(-32602, "bad"), "", False, None), (ValueError("odd"), "", False, "it did not answer f: odd"),
        (text("no", error=True), "setup", False, "f (setup) failed: no"), (text("no", error=True), "setup", True, ""),
        (text("no", error=True), "", False, ""), (text("yes"), "setup", False, ""),
    ],
)  # fmt: skip
def test_calls(gives: Any, purpose: str, refusable: bool, said: str | None) -> None:
    asked = session(Client(gives)).call("f", {}, purpose, refusable=refusable)
    if said == "":
        assert asyncio.run(asked) is gives
        return
    with pytest.raises(MCPError if said is None else HarnessError) as caught:
        asyncio.run(asked)
    if said is not None:
        assert str(caught.value) == f"own_1: MCP server 'shop': {said}"


@pytest.mark.parametrize(
    ("gives", "values"),
    [
        (text("[1]"), [[1]]), (text("words"), ["words"]), (text("1", structured={"result": 2}), [2, 1]),
        (text("1", structured={"result": 2, "x": 3}), [{"result": 2, "x": 3}, 1]),
        (text("1", structured=[3]), [[3], 1]), (text("1", structured=["result"]), [["result"], 1]),
        (text("[1234567]1"[:9] + "]"), ["[1234567]]"]), (text("[12345678]"), [[12345678]]),
        (text("no", error=True), ["no"]), (text("1", structured={"a": "123456789"}), ['{"a": "123', 1]),
        (text("x" * 11), ["x" * 10]), (text("x" * 10), ["x" * 10]), (text("1", structured={"a": 123}), [{"a": 123}, 1]),
    ],
)  # fmt: skip
def test_values(monkeypatch: pytest.MonkeyPatch, gives: Any, values: list[Any]) -> None:
    monkeypatch.setattr(mcp_session, "MOST_READ", 10)
    if "result" in str(gives.structured_content):
        monkeypatch.setattr(mcp_session, "MOST_READ", 100)
    plain = [] if isinstance(values[-1], str) else [gives.content[0].text]
    assert asyncio.run(session(Client(gives)).values("f", {}, "asked")) == [*values, *plain]


def test_resources() -> None:
    parts = SimpleNamespace(contents=[part(text='{"a":'), part(), part(text="1}")])
    assert asyncio.run(session(Client(parts)).resource("x://y")) == {"a": 1}
    words = SimpleNamespace(contents=[part(text="a"), part(blob="x"), part(text="b")])
    assert asyncio.run(session(Client(words)).resource("x://y")) == "a\n\nb"
    with pytest.raises(HarnessError, match="it did not give the resource x://y: ValueError"):
        asyncio.run(session(Client(ValueError())).resource("x://y"))


@pytest.mark.parametrize(
    ("gives", "said"),
    [
        (result(part(text="a"), part(text="b")), "a\nb"), (result(structured={"é": 1}), '{"é": 1}'), (result(), ""),
        (result(part("image")), "(image)"), (result(part("link", uri="x://y")), "(link: x://y)"),
        (result(part("resource", resource=SimpleNamespace(text="inside", uri="x://y"))), "inside"),
        (result(part("resource", resource=SimpleNamespace(text="", uri="x://y"))), "(resource: x://y)"),
        (result(part(text=""), structured={"a": 1}), "(text)"),
    ],
)  # fmt: skip
def test_texts_of_results(gives: Any, said: str) -> None:
    assert text_of(gives) == said


def test_lists_that_may_change() -> None:
    quiet, telling = session(Client()), session(Client(tools=SimpleNamespace(list_changed=True)))
    assert (quiet.may_change, telling.may_change, telling.may_change) == (False, True, True)
    asyncio.run(quiet.hear(SimpleNamespace(method="notifications/other")))
    assert not quiet.may_change
    asyncio.run(quiet.hear(SimpleNamespace(method="notifications/tools/list_changed")))
    assert (quiet.may_change, quiet.may_change) == (True, False)


def test_the_first_of_many_errors_is_told() -> None:
    inner = ExceptionGroup("two", [ExceptionGroup("one", [KeyError()]), ValueError("y")])
    assert said_by(inner) == "KeyError"
    assert said_by(ValueError("x" * 400 + "\nmore")) == "x" * 300
