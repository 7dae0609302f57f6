"""Entries on a user's own MCP server: real servers over stdio and HTTP, judged by what was said and by their state."""

from __future__ import annotations

import json
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from pytest_bfcl.checkers import judge
from pytest_bfcl.cli import main
from pytest_bfcl.dataset.expectation import Expectation
from pytest_bfcl.dataset.likeness import contained, same
from pytest_bfcl.explaining.headlines import headline
from pytest_bfcl.explaining.terminal import failure_text
from pytest_bfcl.failures import FailureTag, UsageError, Verdict
from pytest_bfcl.models import as_model
from pytest_bfcl.runs.replay_lines import transcript_from_line
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings
from pytest_bfcl.syntax.python_syntax import exact_text, read_call
from pytest_bfcl.training import Episode
from pytest_bfcl.transcript import Call, Reply, ToolCall
from tests.extensions.agents.shop import opened

SHOP = Path(__file__).with_name("shop.py")
COMMAND = shlex.join([sys.executable, str(SHOP)])


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


ONE = {
    "id": "shop_one", "category": "mcp", "mcp": "shop", "question": "Two apples, please. What is in my cart?",
    "possible_answer": [["add_to_cart(article='apple', count=2)", "get_cart()"]],
    "expect": [{"answer": ["2 apples", "two apples"]}, {"call": "get_cart", "equals": {"apple": 2}},
               {"resource": "shop://size", "equals": 2}],
}  # fmt: skip
SEVERAL = {
    "id": "shop_several", "category": "mcp", "mcp": "shop",
    "question": [user("One pear."), user("And two notes."), user("How many pears have I?")],
    "setup": [{"call": "add-to-cart", "arguments": {"article": "fig", "count": 5}}],
    "possible_answer": [["add_to_cart(article='pear')"], ["note(text={'a': {'b': 'c'}, 'd': {}})"], []],
    "expect": [{"turn": 0, "call": "get_cart", "equals": {"fig": 5, "pear": 1}}, {"turn": 2, "answer": "one"},
               {"call": "get_cart", "contains": {"note a": 1, "note d": 0, "pear": 1}}],
}  # fmt: skip


def settings(command: str = COMMAND, **more: Any) -> Settings:
    return Settings(mcp={"shop": command}, **more)


def data_of(folder: Path, *entries: Any) -> Any:
    (folder / "shop.jsonl").write_text("".join(json.dumps(each) + "\n" for each in entries))
    return open_data(str(folder / "shop.jsonl"))


@pytest.fixture
def data(tmp_path: Path) -> Any:
    return data_of(tmp_path, ONE, SEVERAL)


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shops that would be started as processes are opened in this one."""

    def shop(server: Any, errlog: Any) -> Any:
        return opened(server.args, server.env or {})

    monkeypatch.setattr("mcp.client.stdio.stdio_client", shop)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SHOP), "http", str(port)], stderr=subprocess.DEVNULL)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


def outcomes(result: Any) -> list[tuple[Any, ...]]:
    return [(line["id"], line["outcome"], line["reason"], line["detail"].get("error")) for line in result.records]


@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_who_knows_the_way_passes(data: Any, near: None, mode: str) -> None:
    found = run(data, f"oracle:@{mode}", settings=settings())
    assert outcomes(found) == [("shop_one", "passed", None, None), ("shop_several", "passed", None, None)]
    several = found.records[1]
    assert several["extra"]["observed"][0] == {"fig": 5, "pear": 1}
    assert several["tool_results"][1][0] == ["{'a': {'b': 'c'}, 'd': {}}"], "arguments arrive as they were given"


@pytest.mark.slow
def test_over_http_the_server_lives_on_and_is_set_up_by_the_entry(tmp_path: Path, address: str) -> None:
    known = data_of(tmp_path, {**ONE, "setup": [{"call": "empty"}]})
    found = run(known, "oracle:", settings=settings(address, repeat=3, concurrency=1))
    assert [line["outcome"] for line in found.records] == ["passed"] * 3


KEPT = {
    "id": "kept", "category": "mcp", "mcp": "shop", "question": "Two apples, please.",
    "files": {"in/price.txt": "5", "cart": {"copy": "template"}},
    "possible_answer": [["add_to_cart(article='apple', count=2)", "note(text={'/workdir/x': {}})"]],
    "expect": [{"call": "get_cart", "contains": {"apple": 2, "note /workdir/x": 0}, "only": ["cart/*"]}],
}  # fmt: skip


def own_directory(tmp_path: Path, **changes: Any) -> str:
    (tmp_path / "template").mkdir(exist_ok=True)
    (tmp_path / "template" / "fig.json").write_text('{"fig": 1}')
    (tmp_path / "kept.jsonl").write_text(json.dumps({**KEPT, **changes}) + "\n")
    return str(tmp_path / "kept.jsonl")


@pytest.mark.slow
def test_every_trial_has_a_directory_of_its_own(tmp_path: Path) -> None:
    path = own_directory(tmp_path)
    command = f"CART={{workdir}}/cart/fig.json {COMMAND}"
    look = f"{shlex.quote(sys.executable)} -c 'import sys; open(sys.argv[1], \"a\").write(open(sys.argv[2]).read())'"
    around = {"mcp_setup": {"shop": f"{look} {tmp_path}/before {{workdir}}/in/price.txt"},
              "mcp_teardown": {"shop": f"{look} {tmp_path}/after {{workdir}}/cart/fig.json"}}  # fmt: skip
    found = run(path, "oracle:", settings=settings(command, repeat=2, concurrency=1, **around))
    assert [line["outcome"] for line in found.records] == ["passed"] * 2
    assert (tmp_path / "before").read_text() == "55"
    assert (tmp_path / "after").read_text() == '{"fig": 1, "apple": 2, "note /workdir/x": 0}' * 2
    results = found.records[0]["tool_results"][0][0]
    assert results[1] == "{'/workdir/x': {}}", "the model sees one name of it, whatever the real one is"
    (failed,) = run(path, "oracle:", settings=settings(command, mcp_setup={"shop": "false"})).records
    assert "kept: the setup command ended with status 1" in failed["detail"]["error"]


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a\\b", "c:x", "."])
def test_files_stay_in_their_directories(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", own_directory(tmp_path, files={name: ""})]) == 1
    assert "no path below the trial's directory" in capsys.readouterr().out


def model(*steps: list[list[tuple[str, dict[str, Any]]] | str]) -> Any:
    """Turns → steps: calls, or words that end the turn."""

    def reply(request: Any) -> Reply:
        step = steps[request.turn][request.step]
        if isinstance(step, str):
            return Reply(text=step)
        return Reply(tool_calls=tuple(ToolCall(n, json.dumps(a), f"c{i}") for i, (n, a) in enumerate(step)))

    return as_model(reply, "own:model", mode="fc")


ADD = ("add_to_cart", {"article": "apple", "count": 2})


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([[ADD], "You have 2 apples."], None),
        ([[ADD], [("no_such_tool", {})], [("add_to_cart", {"article": "fig", "count": 0})], "2 apples"], None),
        ([[ADD], "Done."], "agentic:answer_not_found"), ([[ADD], ""], "agentic:no_last_message"),
        ([[ADD, ADD], "2 apples"], "mcp:state_mismatch"), (["2 apples"], "mcp:state_mismatch"),
        ([[ADD]] * 30, "multi_turn:force_terminated"),
    ],
)  # fmt: skip
def test_reasons(data: Any, near: None, steps: list[Any], reason: str | None) -> None:
    entry = data.entry("shop_one")
    (line,) = run([entry], model(steps), settings=settings()).records
    assert line["reason"] == reason
    transcript = transcript_from_line(line)
    assert judge(entry, transcript).reason == reason, "without a server"
    if reason == "mcp:state_mismatch":
        assert line["detail"]["asked"] == "get_cart()"
        assert json.loads(line["detail"]["expected"]) == {"apple": 2}
        verdict = Verdict(False, FailureTag.WRONG_ANSWER, reason, line["detail"])
        assert "expected" in failure_text(entry, transcript, verdict)
        assert "get_cart() returned" in headline(line)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"{COMMAND} --dies", "did not answer add-to-cart"),
        (f"{COMMAND} --hangs", "did not answer add-to-cart"),
        ("no-such-command-anywhere --x", "'no-such-command-anywhere'"),
        (f"{sys.executable} -c 'import time; time.sleep(60)'", "did not answer"),
        (f"{sys.executable} -c 'raise SystemExit(\"no licence\")'", "no licence"),
        ("http://127.0.0.1:9/mcp", "http://127.0.0.1:9/mcp"),
        (shlex.quote("'unclosed")[1:], "cannot be used"),
    ],
)
def test_trouble_of_the_server_is_an_error_in_few_lines(data: Any, command: str, said: str) -> None:
    patience = 20 if "shop.py" in command else 2  # a real server takes its time to start on a busy machine
    (line,) = run([data.entry("shop_one")], "oracle:", settings=settings(command, timeout_s=patience)).records
    assert (line["outcome"], line["reason"]) == ("error", "harness:mcp")
    text = line["detail"]["error"]
    assert said in text or "unclosed" in command
    assert len(text.splitlines()) <= 4
    assert "Traceback" not in text
    if "--dies" in command:
        assert "out of paper" in text


def test_an_answer_of_ten_megabytes_is_an_error_the_model_sees(data: Any, near: None) -> None:
    (line,) = run([data.entry("shop_one")], "oracle:", settings=settings(f"{COMMAND} --huge")).records
    assert line["tool_results"][0][0][0].startswith("Error during execution: the result has 10,000,000 characters")
    assert line["reason"] == "mcp:state_mismatch"


def test_a_server_nobody_names_and_a_tool_it_lacks(data: Any, near: None) -> None:
    entry = data.entry("shop_one")
    (line,) = run([entry], "oracle:", settings=Settings(mcp={"other": COMMAND})).records
    assert '--bfcl-mcp shop="' in line["detail"]["advice"]
    assert run([entry], "oracle:").records[0]["outcome"] == "skipped"
    document = {"name": "fly", "description": "Flies.", "parameters": {"type": "dict", "properties": {}}}
    odd = entry.model_copy(update={"function": [document]})
    assert "no tool 'fly'" in run([odd], "oracle:", settings=settings()).records[0]["detail"]["error"]


def test_validate_tries_the_way_on_the_server(tmp_path: Path, near: None, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {**ONE, "possible_answer": [["add_to_cart(article='pear')"]]}
    served = ("--mcp", f"shop={COMMAND}")
    for entry, options, code, said in (
        (ONE, (), 0, ""), (ONE, served, 0, ""), (ONE, ("--mcp", "x"), 2, ""),
        (wrong, served, 1, "mcp:state_mismatch"),
    ):  # fmt: skip
        assert main(["validate", str(data_of(tmp_path, entry).root), *options]) == code
        assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wanted", "got", "inside", "equal"),
    [
        ({"a": [1, 2.0]}, {"a": [1.0, 2]}, True, True), (True, 1, False, False),
        ({"a": 1}, {"a": 1, "b": 2}, True, False), ({"a": {"b": "x"}}, {"a": {"b": "axb"}, "c": 1}, True, False),
        ([{"id": 2}], [{"id": 1}, {"id": 2, "more": 0}], True, False), ("x", ["y", "xy"], True, False),
        ({"a": 1}, {"b": 1}, False, False), ("1", 1, False, False), (None, None, True, True),
    ],
)  # fmt: skip
def test_json_is_compared_as_json(wanted: Any, got: Any, inside: bool, equal: bool) -> None:
    assert (contained(wanted, got), same(wanted, got)) == (inside, equal)
    assert Expectation(call="f", equals=wanted).holds(got) is equal


@pytest.mark.parametrize("text", ["f(1)", "f(x=g())", "f", "a.f()", "f(**1)", "f(x={1})", "f(" * 500, "f(x=1e999)"])
def test_texts_that_are_no_calls(text: str) -> None:
    with pytest.raises(ValueError):
        read_call(text)


def test_odd_names_of_arguments_arrive() -> None:
    given = {"a-b": 1, "class": {"x": {"y": None}}, "plain": [True, {}]}
    assert read_call(exact_text(Call("f", given))) == ("f", given)


def test_doors_that_cannot_play_them_say_so(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"(?s)shop_one needs your MCP server 'shop'.*--bfcl-mcp shop="):
        Episode(data.entry("shop_one"))
    assert main(["mcp", "--entry", "shop_one", "--data", str(data.root)]) == 2
    said = capsys.readouterr().err
    assert "shop_one is played on an MCP server of your own ('shop'): connect the client to that one" in said
    assert len(said.splitlines()) <= 3


LEAKY = """
import os, sys
from mcp.server import MCPServer
key = os.environ["API_KEY"]
server = MCPServer("shop " + key, version=key, instructions=key)

@server.tool(name="get_cart", description="Tells " + key)
def get_cart() -> dict:
    print("last words", key, file=sys.stderr, flush=True)
    if "dies" in sys.argv:
        os._exit(3)
    if "raises" in sys.argv:
        raise ValueError(key)
    return {key: [key]}

server.run()
"""
KEY = 'c@nary+KEY/"4711-xyzQ9'


@pytest.mark.parametrize("way", ["answers", *(pytest.param(way, marks=pytest.mark.slow) for way in ("raises", "dies"))])
def test_nothing_is_kept_of_what_a_server_is_started_with(tmp_path: Path, way: str) -> None:
    (tmp_path / "leaky.py").write_text(LEAKY)
    entry = {**ONE, "possible_answer": [["get_cart()"]], "expect": [{"call": "get_cart", "equals": {"a": 1}}]}
    command = f"API_KEY={shlex.quote(KEY)} {shlex.join([sys.executable, str(tmp_path / 'leaky.py'), way])}"
    found = run(data_of(tmp_path, entry), "oracle:", settings=settings(command))
    told = json.dumps(found.records)
    assert "[hidden]" in told
    assert "xyzQ9" not in told
