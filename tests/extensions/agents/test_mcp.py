"""Entries played through MCP by the official client: in memory, over stdio, over HTTP."""

import asyncio
import json

import pytest

pytest.importorskip("mcp")

import httpx
from mcp import Client

from pytest_bfcl.extensions.agents.mcp_play import NEXT, NO_MORE, EntryTable, simulator_server
from pytest_bfcl.extensions.agents.mcp_server import LoopbackServer
from pytest_bfcl.models.oracle import answer
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings

CATEGORIES = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param")


@pytest.fixture(scope="module")
def data():
    return open_data("bundled")


def entries_of(data, count):
    return [data.load(ref) for name in CATEGORIES for ref in list(data.index(name))[:count]]


async def play(client, entry, leave_out=False):
    """Turn by turn what the ground truth calls."""
    said = ""
    for turn in range(len(entry.question) + 1):
        prompt = await client.get_prompt(NEXT, {"answer": said})
        if prompt.messages[0].content.text == NO_MORE:
            break
        reply = answer(entry, "fc", turn, 0)
        calls = reply.tool_calls[:-1] if leave_out else reply.tool_calls
        for call in calls:
            await client.call_tool(call.name, json.loads(call.arguments))
        said = "done"


def played(data, entries, leave_out=False):
    async def all_of_them():
        found = {}
        for entry in entries:
            table = EntryTable(entry, data, Settings())
            async with Client(table.server()) as client:
                await play(client, entry, leave_out)
            verdict, text = table.verdict()
            found[entry.id] = verdict.valid, verdict.reason
            assert (text == "passed") == verdict.valid
        return found

    return asyncio.run(all_of_them())


def directly(entries, leave_out=False):
    from dataclasses import replace

    async def known(request):
        reply = answer(request.entry, "fc", request.turn, request.step)
        calls = reply.tool_calls[:-1] if leave_out else reply.tool_calls
        return replace(reply, tool_calls=calls, text="done", finish_reason=None)

    return {record["id"]: (record["outcome"] == "passed", record["reason"]) for record in run(entries, known).records}


@pytest.mark.parametrize("leave_out", [False, True])
def test_played_entries_have_the_verdicts_of_the_direct_way(data, leave_out):
    entries = entries_of(data, 2)
    found = played(data, entries, leave_out)
    assert found == directly(entries, leave_out)
    assert {valid for valid, _ in found.values()} == {not leave_out} or leave_out


@pytest.mark.slow
def test_two_hundred_official_entries_have_the_verdicts_of_the_direct_way(official_dir):
    data = open_data(str(official_dir))
    entries = entries_of(data, 67)[:200]
    assert len(entries) == 200
    assert played(data, entries) == directly(entries)
    some = entries[::10]
    assert played(data, some, leave_out=True) == directly(some, leave_out=True)


def test_other_hosts_and_origins_are_refused():
    server, simulator = simulator_server("TradingBot")

    async def asked():
        http = LoopbackServer(server)
        await http.start()
        try:
            async with httpx.AsyncClient() as client:
                headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
                body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
                for more in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
                    yield (await client.post(http.url, json=body, headers=headers | more)).status_code
            async with Client(http.url) as client:
                yield len((await client.list_tools()).tools)
        finally:
            await http.stop()

    async def collected():
        return [each async for each in asked()]

    codes = asyncio.run(collected())
    assert codes[:2] == [421, 403]
    assert codes[2] == len(simulator.tools())
