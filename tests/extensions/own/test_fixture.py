"""The fixture `ask`: in sync and async tests, with functions, simulators and MCP servers; recorded and replayed."""

from __future__ import annotations

import json

import pytest

TEST = """
    import pytest
    from pytest_bfcl import assert_calls, assert_state, assert_answer
    from pytest_bfcl.simulators import create_simulator

    def get_weather(city: str) -> str:
        \"\"\"Tells the weather of a city.

        Args:
            city: Name of the city.
        \"\"\"
        return f"rain in {city}"

    def test_sync(ask):
        reply = ask("What is the weather in Oslo?", tools=[get_weather])
        assert_calls(reply, expected={"get_weather": {"city": "Oslo"}})
        assert reply.results == ("rain in Oslo",)
        assert reply.text == "It rains."

    @pytest.mark.asyncio
    async def test_async(bfcl_ask):
        async def lookup(city: str) -> str:
            "Looks a city up."
            return city
        reply = await bfcl_ask("What is the weather in Oslo?", tools=[lookup, get_weather])
        assert [call.name for call in reply.calls] == ["get_weather"]

    def test_state(ask):
        files = create_simulator("GorillaFileSystem", {"root": {"home": {"type": "directory", "contents": {}}}})
        reply = ask("Make a folder called Oslo", tools=files)
        assert reply.calls[0].name == "mkdir"
        assert "Oslo" in files.call("ls", {})
"""
MODEL = """
    import json
    import pytest
    calls = {"count": 0}

    class Fake:
        spec, mode, underscore_names = "fake:x@fc", "fc", True
        async def generate(self, request):
            from pytest_bfcl import Reply, ToolCall
            calls["count"] += 1
            if request.messages[-1]["role"] == "tool":
                return Reply(text="It rains.")
            folder = "folder" in request.messages[-1]["content"]
            name, argument = ("mkdir", "dir_name") if folder else ("get_weather", "city")
            return Reply(tool_calls=(ToolCall(name, json.dumps({argument: "Oslo"})),))
        async def aclose(self):
            pass

    def pytest_bfcl_register_models(register):
        register("fake", lambda spec, settings, mode: Fake())
"""


@pytest.fixture
def project(pytester):
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
    pytester.makeconftest(MODEL)
    return pytester.makepyfile(test_mine=TEST)


def run(pytester, *args):
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "test_mine.py", *args)


@pytest.mark.usefixtures("project")
def test_it_asks_the_session_s_model_and_carries_calls_out(pytester):
    run(pytester, "--model", "fake:x", "--bfcl-out", "run").assert_outcomes(passed=3)


def test_a_recording_serves_without_a_model_and_says_when_it_is_stale(pytester, project):
    run(pytester, "--model", "fake:x", "--bfcl-record", "answers.jsonl", "--bfcl-out", "run").assert_outcomes(passed=3)
    lines = [json.loads(line) for line in (pytester.path / "answers.jsonl").read_text().splitlines()]
    assert [line["request"] for line in lines if "reply" in line] == [1, 2, 1, 2, 1, 2]
    assert [line["test"] for line in lines] == sorted(line["test"] for line in lines)
    assert [line["result"] for line in lines if "result" in line] == ["rain in Oslo", "rain in Oslo"]
    run(pytester, "--bfcl-record", "replay=answers.jsonl").assert_outcomes(passed=3)
    project.write_text(project.read_text().replace('ask("What is the weather in', 'ask("What about the weather in'))
    stale = run(pytester, "--bfcl-record", "replay=answers.jsonl")
    stale.assert_outcomes(passed=1, failed=2)
    stale.stdout.fnmatch_lines([
        "*answers.jsonl is stale: request 1 of test_mine.py::test_sync has changed*",
        '*/messages/0/content: recorded "What is the weather in Oslo?", now "What about the weather in Oslo?"',
        "record it again: pytest test_mine.py::test_sync --model fake:x@fc --bfcl-record answers.jsonl",
        "or let it change: --bfcl-record replay=answers.jsonl,ignore=/messages/0/content",
    ])  # fmt: skip
    recorded = ("--bfcl-record", "replay=answers.jsonl,ignore=/messages/0/content")
    run(pytester, *recorded).assert_outcomes(passed=3)


GATHERED = """
    import asyncio, os, pytest
    from pathlib import Path

    async def get_weather(city: str) -> str:
        "Tells the weather of a city."
        Path("called.txt").open("a").write("x")
        return f"{city} {os.getpid()}"

    @pytest.mark.asyncio
    async def test_gathered(ask):
        async def one(n, wait):
            await asyncio.sleep(wait)
            return await ask(f"Oslo {n}?", tools=[get_weather])
        waits = [float(each) for each in os.environ["WAITS"].split()]
        replies = await asyncio.gather(*(one(n, wait) for n, wait in enumerate(waits)))
        assert [reply.calls[0].name for reply in replies] == ["get_weather"] * len(waits)
        if "LIVE" in os.environ:
            await ask("Oslo 0?", tools=[get_weather], live_tools=True)
"""


@pytest.mark.usefixtures("project")
def test_requests_are_found_whatever_their_order_and_tools_are_not_called_again(pytester, monkeypatch):
    pytester.makepyfile(test_mine=GATHERED)
    called = pytester.path / "called.txt"
    monkeypatch.setenv("WAITS", "0 0.05 0.1")
    run(pytester, "--model", "fake:x", "--bfcl-record", "a.jsonl", "--bfcl-out", "run").assert_outcomes(passed=1)
    monkeypatch.setenv("WAITS", "0.1 0.05 0")
    run(pytester, "--bfcl-record", "replay=a.jsonl").assert_outcomes(passed=1)
    assert called.read_text() == "xxx"
    assert "messages" in (pytester.path / "a.jsonl").read_text()


@pytest.mark.usefixtures("project")
def test_what_is_recorded_new_anew_or_taken_out(pytester):
    file = pytester.path / "a.jsonl"
    one = "def test_one(ask):\n    ask('folder {0}')\ndef test_two(ask):\n    ask('folder two')\n"

    def test(text, *args, **outcomes):
        (pytester.path / "test_mine.py").write_text(text)
        result = run(pytester, *args)
        result.assert_outcomes(**outcomes)
        asked = [json.loads(line)["messages"][0]["content"] for line in file.read_text().splitlines()]
        return [each.removeprefix("folder ") for each in asked], result

    model = ("--model", "fake:x", "--bfcl-out", "run")
    assert test(one.format("one"), "--bfcl-record=new=a.jsonl", *model, passed=2)[0] == ["one", "two"]
    assert test(one.format("changed"), "--bfcl-record=replay=a.jsonl", passed=1, failed=1)[0] == ["one", "two"]
    changed = test(one.format("changed"), "--bfcl-record=new=a.jsonl", *model, passed=2)[0]
    assert sorted(changed) == ["changed", "one", "two"]
    alone = test(one.format("one"), "--bfcl-record=a.jsonl", *model, "-k", "one", passed=1, deselected=1)
    assert alone[0] == ["one", "two"]
    assert sorted(test(one.format("more"), "--bfcl-record=new=a.jsonl", *model, passed=2)[0]) == ["more", "one", "two"]
    kept, result = test(one.format("more"), "--bfcl-record=prune=a.jsonl", "-k", "two", passed=1, deselected=1)
    assert sorted(kept) == ["more", "one", "two"]
    kept, result = test(one.format("more"), "--bfcl-record=prune=a.jsonl", passed=2)
    assert kept == ["more", "two"]
    result.stdout.fnmatch_lines(["bfcl: 1 lines that no test asks were taken out of *a.jsonl"])
    assert test(one.split("def test_two")[0].format("more"), "--bfcl-record=prune=a.jsonl", passed=1)[0] == ["more"]
    result = run(pytester, "--bfcl-record=b.jsonl,new=a.jsonl", *model)
    result.stderr.fnmatch_lines(["*--bfcl-record: name one file: *"])
    result = run(pytester, "--bfcl-record", "replay=a.jsonl,ignore=messages")
    result.stderr.fnmatch_lines(["*'messages' is no JSON pointer*"])


SECRETS = """
    import json
    TOKEN = {token!r}

    def log_in(name: str) -> str:
        "Logs somebody in."
        return json.dumps({{"session": TOKEN, "bearer": "Bearer abcdefghijklmnop"}})

    def test_{name}(ask):
        assert "rain" in ask(f"What is the weather? My ticket is {{TOKEN}}.", tools=[log_in]).text.lower()
"""


@pytest.mark.usefixtures("project")
def test_tokens_stay_out_of_a_recording_wherever_they_stand(pytester):
    """By their shape, and by a pointer into a result, from which they are known everywhere else."""

    def project(name="one", token="T0ken-2026-very-secret"):
        pytester.makeconftest(MODEL.replace("get_weather", "log_in").replace('"city"', '"name"'))
        pytester.makepyfile(test_mine=SECRETS.format(name=name, token=token))

    project()
    pointers = "a.jsonl,ignore=/result/session,ignore=/messages/0/content"
    model = ("--model", "fake:x", "--bfcl-out", "run")
    run(pytester, *model, "--bfcl-record", pointers).assert_outcomes(passed=1)
    text = (pytester.path / "a.jsonl").read_text()
    assert "T0ken-2026" not in text
    assert "abcdefghijklmnop" not in text
    project(token="another-token-of-today")
    run(pytester, "--bfcl-record", f"replay={pointers}").assert_outcomes(passed=1)
    project("renamed")  # its answers are found by what it asks
    run(pytester, "--bfcl-record", f"replay={pointers}").assert_outcomes(passed=1)
    run(pytester, "--bfcl-record", f"prune={pointers}").assert_outcomes(passed=1)
    assert '"test":"test_mine.py::test_renamed"' in (pytester.path / "a.jsonl").read_text().replace(": ", ":")
    lost = run(pytester, *model, "--bfcl-record", "b.jsonl,ignore=/result/sesion")
    assert lost.ret == pytest.ExitCode.TESTS_FAILED
    lost.stdout.fnmatch_lines(["bfcl: ignore=/result/sesion led nowhere in 3 new lines of b.jsonl*"])
    refused = run(pytester, *model, "--bfcl-record", "b.jsonl,ignore=/mesages/0")
    refused.stderr.fnmatch_lines(["*'/mesages/0' leads nowhere in a recording; it begins with one of /messages,*"])


def answers(path):
    """Test and number of a request → its messages and what was answered."""
    lines = [line for line in map(json.loads, path.read_text().splitlines()) if "reply" in line]
    found = {(line["test"], line["request"]): (line["messages"], line["reply"]) for line in lines}
    assert len(found) == len(lines)
    return found


MANY = """
    import pytest
    from pytest_bfcl import assert_calls

    def get_weather(city: str) -> str:
        "Tells the weather of a city."
        return "rain"

    @pytest.mark.parametrize("number", range(12))
    def test_many(ask, number):
        for _ in range(3):
            assert_calls(ask(f"What is the weather in Oslo, {number}?", tools=[get_weather]),
                         expected={"get_weather": {"city": "Oslo"}})
        assert number != 5, "a test that fails has its answers recorded too"
"""


@pytest.mark.slow
def test_workers_record_without_loss_and_replay(pytester, project):
    project.write_text("import test_many")
    pytester.makepyfile(test_many=MANY)
    runs = {"alone.jsonl": (), "together.jsonl": ("-n", "2")}
    for name, workers in runs.items():
        result = pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "test_many.py", "--model", "fake:x", "--bfcl-record", name, "--bfcl-out",
            f"run-{name}", *workers,
        )  # fmt: skip
        result.assert_outcomes(passed=11, failed=1)
    alone, together = (answers(pytester.path / name) for name in runs)
    assert together == alone
    assert len(alone) == 12 * 3 * 2
    replay = ("-p", "no:cacheprovider", "test_many.py", "--bfcl-record", "replay=together.jsonl", "-n", "2")
    pytester.runpytest_inprocess(*replay).assert_outcomes(passed=11, failed=1)
    test = pytester.path / "test_many.py"
    test.write_text(test.read_text().replace("Oslo, {number}?", "Oslo, {number or 'zero'}?"))
    stale = pytester.runpytest_inprocess(*replay)
    stale.assert_outcomes(passed=10, failed=2)
    stale.stdout.fnmatch_lines(["*together.jsonl is stale: request 1 of test_many.py::test_many?0? has changed*"])


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--model", "fake:x", "--bfcl-record", "folder"), "*--bfcl-record: *folder*"),  # before anything is asked
        (("-k", "sync"), "*needs a model: --model provider:name, or --bfcl-record replay=FILE*"),
        (("--bfcl-record", "replay=nowhere.jsonl", "-k", "state"), "*there is no file nowhere.jsonl*"),
        (("--bfcl-record", "replay=damaged.jsonl", "-k", "state"), "*damaged.jsonl, line 1: *"),
    ],
)
def test_what_is_no_model_and_no_recording(pytester, args, told):
    (pytester.path / "folder").mkdir()
    (pytester.path / "damaged.jsonl").write_text('{"test": "a"}\n')
    result = run(pytester, *args)
    assert (result.ret == pytest.ExitCode.USAGE_ERROR) == ("folder" in args)
    (result.stderr if "folder" in args else result.stdout).fnmatch_lines([told])


def serve_weather(pytester, *answer):
    """A server whose one tool does as these lines say, and the arguments of a run that asks it."""
    pytest.importorskip("mcp")
    lines = ["import os, sys", "from mcp.server import MCPServer", "server = MCPServer('weather')", "@server.tool()",
             "def get_weather(city: str) -> str:", "    'Tells the weather.'", *(f"    {line}" for line in answer),
             "server.run()"]  # fmt: skip
    (pytester.path / "server.py").write_text("\n".join(lines))
    return "-p", "no:cacheprovider", "test_mine.py"


@pytest.mark.slow
def test_tools_of_a_users_mcp_server_are_called_there(pytester, project):
    args = serve_weather(pytester, "return f'sun in {city}'")
    pytester.makepyfile(
        test_mine="""
        import sys
        from pytest_bfcl import assert_calls
        def test_server(ask):
            reply = ask("What is the weather in Oslo?", mcp=f"{sys.executable} server.py")
            assert_calls(reply, expected={"get_weather": {"city": "Oslo"}})
            assert reply.results == ("sun in Oslo",)
    """
    )
    pytester.runpytest_subprocess(*args, "--model", "fake:x", "--bfcl-record", "a.jsonl").assert_outcomes(passed=1)
    (pytester.path / "server.py").unlink()
    pytester.runpytest_subprocess(*args, "--bfcl-record", "replay=a.jsonl").assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_server_that_is_gone_is_no_answer(pytester, project):
    args = serve_weather(pytester, "print('the sun has set', file=sys.stderr, flush=True)", "os._exit(3)")
    pytester.makepyfile(
        test_mine="""
        import sys
        def test_server(ask):
            ask("What is the weather in Oslo?", mcp=f"{sys.executable} server.py")
        def test_no_server(ask):
            ask("What is the weather in Oslo?", mcp=f"{sys.executable} nowhere.py")
    """
    )
    result = pytester.runpytest_subprocess(*args, "--model", "fake:x")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*ask: MCP server * did not answer get_weather*", "*it last said: the sun has set*"])
    result.stdout.fnmatch_lines(["*ask: MCP server * cannot be used*"])
