"""The verb `pytest-bfcl mcp` end to end: simulated systems with a state of their own, memories, the web."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.agents.mcp_play import NEXT, NO_MORE
from pytest_bfcl.session.evaluation import open_data

pytestmark = pytest.mark.slow

MAIN = "import os, sys; {errors}from pytest_bfcl.cli import main; sys.exit(main({args!r}))"
Play = Callable[[Client], Coroutine[Any, Any, Any]]


class Verb:
    """The verb as a process, played by the official client over one of its two transports."""

    def __init__(self, transport: str, folder: Path) -> None:
        self.transport = transport
        self.folder = folder

    def play(self, play: Play, *args: str) -> tuple[Any, str, int | None]:
        """What ``play`` gives, standard error, and (over HTTP) the exit code."""
        return (self._over_http if self.transport == "http" else self._over_stdio)(play, ["mcp", *args])

    def _over_stdio(self, play: Play, args: list[str]) -> tuple[Any, str, int | None]:
        told = self.folder / "stderr.txt"
        told.unlink(missing_ok=True)
        errors = f"os.dup2(os.open({str(told)!r}, os.O_CREAT | os.O_WRONLY), 2); "
        server = StdioServerParameters(
            command=sys.executable, args=["-c", MAIN.format(errors=errors, args=args)], cwd=self.folder
        )

        async def over_stdio() -> Any:
            async with asyncio.timeout(60), Client(server) as client:
                return await play(client)

        return asyncio.run(over_stdio()), told.read_text(), None

    def _over_http(self, play: Play, args: list[str]) -> tuple[Any, str, int | None]:
        command = [sys.executable, "-c", MAIN.format(errors="", args=[*args, "--http", "0"])]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.folder) as process:
            try:
                url = process.stderr.readline().strip()
                assert url.startswith("http://127.0.0.1:"), url + process.stderr.read()

                async def over_http() -> Any:
                    async with asyncio.timeout(60), Client(url) as client:
                        return await play(client)

                found = asyncio.run(over_http())
                if process.poll() is None and "--entry" not in args:
                    process.terminate()
                _, told = process.communicate(timeout=30)
            finally:
                process.kill()
        return found, told, process.returncode


@pytest.fixture(params=["stdio", "http"])
def verb(request: pytest.FixtureRequest, tmp_path: Path) -> Verb:
    return Verb(request.param, tmp_path)


async def text_of(client: Client, name: str, **arguments: Any) -> str:
    return (await client.call_tool(name, arguments)).content[0].text


async def say(client: Client, answer: str = "") -> str:
    return (await client.get_prompt(NEXT, {"answer": answer})).messages[0].content.text


def test_a_simulated_system_begins_in_the_state_of_a_file(verb: Verb) -> None:
    account = {"account_id": 7, "balance": 100.0, "binding_card": 1}
    (verb.folder / "start.json").write_text(json.dumps({"account_info": account}))

    async def play(client: Client) -> list[str]:
        await client.call_tool("trading_login", {"username": "a", "password": "b"})
        before = await text_of(client, "get_account_info")
        return [before, await text_of(client, "no_such_tool")]

    (before, wrong), told, code = verb.play(play, "TradingBot", "--config", "start.json")
    assert json.loads(before)["balance"] == 100.0
    assert wrong.startswith("Error during execution: ")
    assert code in (None, 0)
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("TradingBot", "--config", "broken.json"), "cannot read broken.json: not JSON"),
        (("TradingBot", "--config", "list.json"), "list.json is not a JSON object"),
        (("TradingBot", "--config", "absent.json"), "cannot read absent.json"),
        (("Tradingbot",), "TradingBot"),
        ((), "name either a simulated system"),
        (("TradingBot", "--judge"), "--judge needs --entry"),
        (("--entry", "no_such_entry_0", "--data", "bundled"), "has no entry 'no_such_entry_0'"),
        (("--entry", "memory_kv_0-academic-0", "--data", "bundled"), "needs a memory: --memory DIR"),
        (
            ("--entry", "web_search_base_0", "--data", "bundled", "--search", "replay:nowhere"),
            "cannot be played: nothing to",
        ),
    ],
)
def test_mistakes_are_one_message(
    args: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    if "memory_kv_0-academic-0" in args:
        args = tuple(open_data("bundled").index("memory_kv")[0].id if "memory" in arg else arg for arg in args)
    assert main(["mcp", *args]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) <= 3


@pytest.mark.parametrize("remember", [True, False])
def test_the_judge_tells_what_differs_in_the_state(verb: Verb, remember: bool) -> None:
    from pytest_bfcl.models.oracle import answer

    data = open_data("bundled")
    entry = data.load(data.index("multi_turn_base")[0])

    async def play(client: Client) -> None:
        said = ""
        assert NEXT in {tool.name for tool in (await client.list_tools()).tools}
        for turn in range(len(entry.question) + 1):
            if await say(client, said) == NO_MORE:
                break
            calls = answer(entry, "fc", turn).tool_calls
            for call in calls if remember else calls[:1]:
                await client.call_tool(call.name, json.loads(call.arguments))
            said = "done"

    _, told, code = verb.play(play, "--entry", entry.id, "--data", "bundled", "--judge", "--turn-tool")
    assert (f"{entry.id}: passed" in told) is remember
    assert code in (None, 0 if remember else 1)
    if not remember:
        assert "multi_turn:instance_state_mismatch" in told or "multi_turn:execution_response_mismatch" in told
        assert "expected" in told


def test_a_memory_is_written_in_one_session_and_read_in_the_next(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = open_data("bundled")
    entry = next(
        found for ref in data.index("memory_kv") if len((found := data.load(ref)).depends_on) <= 4
    )  # fmt: skip
    told_before = []

    async def write(client: Client) -> None:
        said = ""
        while await say(client, said) != NO_MORE:
            if not told_before:
                await client.call_tool("core_memory_add", {"key": "the_answer", "value": entry.possible_answer[0]})
                told_before.append(True)
            said = "noted"

    for stage in entry.depends_on if verb.transport == "stdio" else entry.depends_on[:1]:
        _, told, code = verb.play(write, "--entry", stage, "--data", "bundled", "--memory", "kept")
        assert "its memory is kept in kept" in told
        assert code in (None, 0)

    async def read(client: Client) -> None:
        await say(client)
        await say(client, await text_of(client, "core_memory_retrieve", key="the_answer"))

    question = ("--entry", entry.id, "--data", "bundled", "--memory", "kept", "--judge")
    if verb.transport == "stdio":
        _, told, _ = verb.play(read, *question)
        assert f"{entry.id}: passed" in told, told
        return
    monkeypatch.chdir(verb.folder)
    assert main(["mcp", *question]) == 2
    told = capsys.readouterr().err
    assert f"play them first, in order: pytest-bfcl mcp --entry {entry.depends_on[1]} --memory kept" in told


def test_the_web_is_searched_on_the_data_s_own_pages(verb: Verb) -> None:
    data = open_data("bundled")
    entry = data.load(data.index("web_search_base")[0])

    async def play(client: Client) -> list[str]:
        question = await say(client)
        found = [await text_of(client, "search_engine_query", keywords=question, max_results=3)]
        url = found[0].partition("'href': '")[2].partition("'")[0]
        found.append(await text_of(client, "fetch_url_content", url=url, mode="truncate"))
        await say(client, f"The answer is {entry.possible_answer[0]}.")
        return found

    (results, page), told, code = verb.play(play, "--entry", entry.id, "--data", "bundled", "--judge")
    assert "'body'" in results
    assert json.loads(page)["content"]
    assert f"{entry.id}: passed" in told
    assert code in (None, 0)


def test_the_memory_of_a_run_is_one_to_begin_with(tmp_path: Path) -> None:
    from pytest_bfcl.extensions.agents.mcp_play import EntryWorld
    from pytest_bfcl.failures import UsageError
    from pytest_bfcl.runs.snapshots import Snapshots
    from pytest_bfcl.settings import Settings

    data = open_data("bundled")
    entry = data.load(data.index("memory_kv")[0])
    for model in ("a", "b"):
        for stage in entry.depends_on:
            Snapshots(tmp_path / "run" / "snapshots" / model).save(
                "kv", str(entry.scenario), stage, {"core_memory": {}}
            )
    with pytest.raises(UsageError, match="the memories of 2 models"):
        EntryWorld(entry, data, Settings(), str(tmp_path / "run"))
    with EntryWorld(entry, data, Settings(), str(tmp_path / "run" / "snapshots" / "a")) as world:
        assert world.snapshots is not None
