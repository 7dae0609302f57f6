"""Tools from OpenAPI documents, Python functions and MCP servers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from pytest_bfcl.dataset.schemas import check_functions
from pytest_bfcl.extensions.own import openapi
from pytest_bfcl.extensions.own.openapi import documents_of_openapi
from pytest_bfcl.extensions.own.sources import document_of, functions_at
from pytest_bfcl.failures import UsageError
from pytest_bfcl.tools.json_schema import schema_problem

SHOP = Path(__file__).with_name("shop.yaml").read_text(encoding="utf-8")


def test_an_openapi_document_gives_one_tool_an_operation(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SHOP)
    find, place = documents_of_openapi(tmp_path / "shop.yaml")
    assert (find["name"], find["description"]) == (
        "find_order", "Find an order. Tells state and items of an order.",
    )  # fmt: skip
    assert find["parameters"]["required"] == ["order id"]
    assert find["parameters"]["properties"]["verbose"] == {"type": "boolean", "default": False}
    assert place["name"] == "post_orders"
    assert place["parameters"]["required"] == ["item"]
    assert place["parameters"]["properties"]["item"]["enum"] == ["soup", "bread"]
    assert place["parameters"]["properties"]["price"]["type"] == "number"
    assert [finding for finding in check_functions([find, place], "python") if finding.severity == "error"] == []


def api(schema: str) -> str:
    return f"paths:\n  /a:\n    get:\n      parameters: [{{name: x, in: query, schema: {schema}}}]\n"


LAUGHS = "a0: &a0 [ha, ha]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 60))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(LAUGHS + api("{default: *a59}"), "too much", marks=pytest.mark.slow),
        (api("{default: &a [*a]}"), "ircular"),
        ("[" * 100_000, "deep|too much|neither JSON nor YAML"),
        ('{"paths": ' + '{"a": ' * 100_000 + "1" + "}" * 100_001, "deep|no operation|too much"),
        (api("!!python/object/apply:os.system ['touch stolen']"), "neither JSON nor YAML"),
        ("\x1b[31m: [", "neither JSON nor YAML"),
    ],
)
def test_hostile_openapi_documents_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(openapi, "SERVICE", replace(openapi.SERVICE, cpu_s=1))
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(UsageError, match=told) as caught:
        documents_of_openapi(tmp_path / "a.yaml")
    assert str(caught.value).isprintable()
    assert not (tmp_path / "stolen").exists()


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Address(BaseModel):
    street: str
    number: int = 1


def order(
    item: str, count: int, size: Size, to: Address, extras: list[Literal["salt", "oil"]] | None = None,
    tip: float = 0.5, note: Annotated[str, Field(description="For the cook.")] = "", *more: Any, odd: Any = print,
) -> None:  # fmt: skip
    """Order something to eat.

    Args:
        item: What to order.
        count: How many of them,
            at most nine.

    Returns:
        number (integer): Of the order.
    """


def test_a_python_function() -> None:
    document = document_of(order)
    assert (document["name"], document["description"]) == ("order", "Order something to eat.")
    parameters = document["parameters"]
    assert parameters["required"] == ["item", "count", "size", "to"]
    properties = parameters["properties"]
    assert properties["count"] == {"type": "integer", "description": "How many of them, at most nine."}
    assert properties["size"]["enum"] == ["s", "l"]
    assert properties["to"]["properties"]["street"]["type"] == "string"
    assert properties["extras"]["anyOf"][0]["items"]["enum"] == ["salt", "oil"]
    assert properties["tip"] == {"type": "number", "default": 0.5}
    assert properties["note"]["description"] == "For the cook."
    assert properties["odd"] == {}
    assert "more" not in properties
    assert schema_problem(parameters) is None


def test_functions_by_name() -> None:
    assert [each["name"] for each in functions_at(f"{__name__}:order,Address.model_dump")] == ["order", "model_dump"]
    assert "order" in [each["name"] for each in functions_at(__name__)]
    for wrong in ("no_such_module_here:f", f"{__name__}:no_such", f"{__name__}:SHOP"):
        with pytest.raises(UsageError):
            functions_at(wrong)


SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("shop")

@server.tool()
def find_order(order_id: int, verbose: bool = False) -> str:
    \"\"\"Tells the state of an order.\"\"\"
    return "sent"

if __name__ == "__main__":
    server.run("stdio")
"""


@pytest.mark.slow
def test_an_mcp_server_in_memory_and_over_stdio(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from pytest_bfcl.extensions.agents.mcp_tools import documents_of_server, list_tools

    space: dict[str, Any] = {"__name__": "shop"}
    exec(SERVER, space)  # noqa: S102
    (here,) = asyncio.run(list_tools(space["server"]))
    (tmp_path / "server.py").write_text(SERVER)
    (there,) = documents_of_server(f"{sys.executable} {tmp_path / 'server.py'}")
    assert here == there
    assert (here["name"], here["description"]) == ("find_order", "Tells the state of an order.")
    assert here["parameters"]["required"] == ["order_id"]
    assert {n: s["type"] for n, s in here["parameters"]["properties"].items()} == {
        "order_id": "integer", "verbose": "boolean",
    }  # fmt: skip


@pytest.mark.slow
def test_a_stdio_server_where_the_stream_of_errors_is_no_file(tmp_path: Path) -> None:
    """As in notebooks, and in a session that captured its output when the SDK was imported."""
    pytest.importorskip("mcp")
    (tmp_path / "server.py").write_text(SERVER)
    code = (
        "import io, sys; sys.stderr = io.StringIO(); "
        "from pytest_bfcl.extensions.agents.mcp_tools import documents_of_server; "
        f"print(documents_of_server({f'{sys.executable} {tmp_path}/server.py'!r})[0]['name'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "find_order", done.stderr


@pytest.mark.parametrize("where", ["/no/such/program --x", "", "http://user:secret@127.0.0.1:9/mcp?key=secret"])
def test_an_mcp_server_that_is_not_there(where: str) -> None:
    pytest.importorskip("mcp")
    from pytest_bfcl.extensions.agents.mcp_tools import documents_of_server

    with pytest.raises(UsageError) as caught:
        documents_of_server(where, timeout_s=10)
    assert "secret" not in str(caught.value)
