"""Entries on a user's own MCP server through the plugin: repeats, workers, continued runs, replays, comparisons."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import pytest

pytest.importorskip("mcp")

from pytest_bfcl.cli import main
from tests.extensions.agents.test_served import ONE, SEVERAL, SHOP
from tests.plugin.conftest import FULL, Project, project, question, write_lines  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

MODEL = """
    import json
    from pathlib import Path

    class Shopper:
        mode, underscore_names = "fc", True
        def __init__(self, spec, mode):
            self.spec = spec.with_mode(mode).text
        async def generate(self, request):
            from pytest_bfcl import Reply, ToolCall
            with Path("asked.txt").open("a") as file:
                file.write(f"{request.entry.id} {request.repeat} {request.turn} {request.step}\\n")
            if Path("broken").exists() and request.turn == 1:
                raise KeyboardInterrupt if Path("broken").read_text() else RuntimeError("out of order")
            calls = {("shop_one", 0): ("add_to_cart", {"article": "apple", "count": 2}),
                     ("shop_several", 0): ("add_to_cart", {"article": "pear"}),
                     ("shop_several", 1): ("note", {"text": {"a": {"b": "c"}, "d": {}}})}
            call = calls.get((request.entry.id, request.turn))
            if request.step or call is None or (self.spec.startswith("fake:lazy") and request.entry.id == "shop_one"):
                return Reply(text="2 apples, one pear")
            return Reply(tool_calls=(ToolCall(call[0], json.dumps(call[1]), "a"),))
        async def aclose(self):
            pass

    def pytest_bfcl_register_models(register):
        register("fake", lambda spec, settings, mode: Shopper(spec, mode))
"""


@pytest.fixture
def shop(project: Project) -> Project:  # noqa: F811
    project.pytester.makeconftest(MODEL)
    write_lines(project.path / "shop.jsonl", [ONE, SEVERAL])
    return project


def option(shop: Project, *flags: str) -> tuple[str, str]:
    command = shlex.join([sys.executable, str(SHOP), "stdio", f"--log={shop.path}/starts.txt", *flags])
    return "--bfcl-mcp", f"shop={command}"


def lines_of(shop: Project, name: str) -> list[str]:
    path = shop.path / name
    return path.read_text().splitlines() if path.exists() else []


def outcomes(records: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[Any, ...]]:
    return {
        (r["id"], r["model"], r["repeat"]): (r["outcome"], r["reason"], r["extra"].get("observed")) for r in records
    }


def test_repeats_models_workers_replay_and_comparison(shop: Project, capsys: pytest.CaptureFixture[str]) -> None:
    args = ("shop.jsonl", *option(shop), "--bfcl-repeat=2", "--model", "fake:lazy")
    alone = shop.run(*args, FULL, model="fake:good", data=None, out="alone")
    alone.assert_outcomes(passed=6, failed=2)
    assert len(lines_of(shop, "starts.txt")) == 8 + 6 + 7, (
        "a server for each trial, and for each part of an entry's proof"
    )
    together = shop.run(*args, "-n2", model="fake:good", data=None, out="together")
    together.assert_outcomes(passed=6, failed=2)
    assert outcomes(shop.records("together")) == outcomes(shop.records("alone"))
    assert {r["reason"] for r in shop.records("alone") if r["outcome"] == "failed"} == {"mcp:state_mismatch"}
    assert not any(set(r["call_form"]) - {"calls"} for r in shop.records("alone") if "call_form" in r), "listed tools"
    facts = (shop.path / "alone" / "run.json").read_text()
    assert not [word for word in (str(SHOP), "stdio") if word in facts], "a command may hold a key"
    assert "The server's state differs" in (shop.path / "alone" / "index.html").read_text()

    (shop.path / "starts.txt").unlink()
    replayed = shop.run("shop.jsonl", model=f"replay:{shop.path / 'alone'}#fake:good@fc", data=None, out="again")
    replayed.assert_outcomes(passed=2)
    assert lines_of(shop, "starts.txt") == [], "a replay needs no server"
    judged = shop.path / "judged.jsonl"
    code = main(["score", str(shop.path / "alone"), "--data", str(shop.path / "shop.jsonl"), "-o", str(judged)])
    assert code == 0
    assert [json.loads(line)["valid"] for line in judged.read_text().splitlines()].count(False) == 2
    capsys.readouterr()
    assert main(["compare", str(shop.path / "alone"), str(shop.path / "together")]) == 0
    assert "shop_one" not in capsys.readouterr().out


def test_a_run_that_was_broken_off_goes_on(shop: Project) -> None:
    """What was answered is not asked again; its calls are made again on a fresh server."""
    args = ("shop.jsonl", *option(shop))
    (shop.path / "broken").write_text("")
    shop.run(*args, model="fake:good", data=None).assert_outcomes(passed=1, errors=1)
    asked = lines_of(shop, "asked.txt")
    assert asked.count("shop_several 1 0 0") == 1
    (shop.path / "broken").unlink()
    shop.run(*args, model="fake:good", data=None).assert_outcomes(passed=1, deselected=1)
    again = lines_of(shop, "asked.txt")[len(asked) :]
    assert "shop_several 1 0 0" not in again
    assert "shop_several 1 1 0" in again
    assert shop.records()[-1]["extra"]["observed"][0] == {"fig": 5, "pear": 1}
    other = shop.run("shop.jsonl", *option(shop, "--other"), model="fake:good", data=None)
    assert other.ret == pytest.ExitCode.USAGE_ERROR, "another server is another run"


def test_beside_other_entries_and_in_prompting_mode(shop: Project) -> None:
    write_lines(shop.path / "mixed.jsonl", [ONE, question("simple_python_0")])
    gates = ("--bfcl-fail-under=own=90", "--bfcl-fail-under=mcp=90")
    result = shop.run("mixed.jsonl", *option(shop), *gates, model="oracle:@prompt", data=None)
    result.assert_outcomes(passed=2)
    assert result.ret == 0
