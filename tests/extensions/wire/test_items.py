"""``-m wire``: checks of the server as items, beside everything else the plugin does."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from pytest_bfcl.extensions.wire.checks import checks_for
from tests.extensions.wire.examining import http, served
from tests.extensions.wire.reference import Reference
from tests.extensions.wire.variants import CHAT
from tests.plugin.conftest import question, write_lines

KEY = "sk-verysecret0123456789"


@pytest.fixture
def broken() -> Iterator[str]:
    """URL of a server that tells a new id with every delta."""
    with served(next(variant for variant in CHAT if variant.name == "id per chunk").server()) as url:
        yield url


def run(pytester: pytest.Pytester, url: str, *arguments: str, model: str = "openai:x") -> pytest.RunResult:
    """One session; ids are ``bfcl/wire.jsonl::<check>``."""
    return pytester.runpytest_inprocess(
        "--model", model, "--bfcl-base-url", url, "--bfcl-out", "out", "--bfcl-data=bundled", *arguments
    )


def lines(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (pytester.path / "out" / "wire.jsonl").read_text().splitlines()]


def test_checks_of_a_good_server_pass(pytester: pytest.Pytester) -> None:
    with served(Reference()) as url:
        result = run(pytester, url, "-m", "wire", "-q", "-k", "measures or delta_ or fault_ or history_")
    assert set(result.parseoutcomes()) == {"passed", "deselected"}
    result.stdout.fnmatch_lines(
        [
            "*the server, not the model: openai:x@fc over chat*",
            "checks of*held*broke*did not call*",
            "all *1[0-9]*",
            "trigger rate: the model called in 100.0 %*",
            "F1 of calling: 100.0 % unstreamed, 100.0 % streamed",
            "for the server's maintainers: *wire.html",
        ]
    )
    assert (pytester.path / "out" / "results.jsonl").read_text() == ""
    assert json.loads((pytester.path / "out" / "summary.json").read_text())["models"] == {}
    assert {line["state"] for line in lines(pytester)} == {"held"}


def test_a_fault_is_a_failure_with_rule_and_proof(
    pytester: pytest.Pytester, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = run(pytester, broken, "-m", "wire", "-k", "delta_ or answers", "--bfcl-repeat", "3", "--junitxml=j.xml")
    result.assert_outcomes(passed=5, failed=1, deselected=len(checks_for("chat")) - 6)
    result.stdout.fnmatch_lines(
        [
            "WIRE_FAULT: wire:delta_id",
            "  server    http://127.0.0.1:*/v1, chat, held 0 of 3",
            "  broke     call 0 tells its id *",
            "  proof     data: *",
            "  rule      The first delta of a call has its id*",
            "  written   OpenAI API reference, Chat Completions*",
            "FAILED bfcl/wire.jsonl::delta_id - WIRE_FAULT wire:delta_id",
        ]
    )
    assert result.ret == 1
    case = next(c for c in ElementTree.parse(pytester.path / "j.xml").iter("testcase") if c.get("name") == "delta_id")
    told = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert told["reason"] == "wire:delta_id"
    assert told["tag"] == "WIRE_FAULT"
    assert told["bfcl_wire_held"] == "0 of 3"
    for path in (pytester.path / "out").rglob("*"):
        assert path.is_dir() or KEY not in path.read_text(errors="replace"), path
    assert KEY not in result.stdout.str()


def test_a_continued_run_asks_only_what_is_open(pytester: pytest.Pytester, broken: str) -> None:
    run(pytester, broken, "-m", "wire", "-k", "delta_ or usage").assert_outcomes(
        passed=9, failed=1, deselected=len(checks_for("chat")) - 10
    )
    before = lines(pytester)
    torn = (pytester.path / "out" / "wire.jsonl").read_text() + '{"check": "torn'
    (pytester.path / "out" / "wire.jsonl").write_text(torn)
    again = run(pytester, broken, "-m", "wire", "-k", "delta_ or usage")
    assert "failed" not in again.parseoutcomes()
    again.stdout.fnmatch_lines(["all *9 *1*", "broke delta_id*"])
    assert len(before) == 10


def test_beside_entries_and_ordinary_tests(pytester: pytest.Pytester, broken: str) -> None:
    """Scores come from entries alone; each has its own table, and a fault fails the session whatever the gate says."""
    pytester.makepyfile("import pytest\n@pytest.mark.wire\ndef test_own(): pass")
    write_lines(pytester.path / "bench" / "BFCL_v4_simple_python.json", [question("simple_python_0")])
    data = pytester.path / "own.jsonl"
    write_lines(data, [question("simple_python_0")])
    result = pytester.runpytest_inprocess(
        "--model", "openai:x", "--bfcl-base-url", broken, "test_beside_entries_and_ordinary_tests.py",
        "bfcl/wire.jsonl::delta_id", str(data), "--bfcl-out", "out", "--bfcl-fail-under", "simple_python=1",
    )  # fmt: skip
    counts = result.parseoutcomes()
    assert counts["passed"] >= 1
    assert counts["failed"] >= 1
    assert result.ret == 1
    summary = json.loads((pytester.path / "out" / "summary.json").read_text())
    model = summary["models"]["openai:x@fc"]
    assert list(model["categories"]) == ["simple_python"]
    assert "WIRE_FAULT" not in json.dumps(summary)
    assert [json.loads(line)["id"] for line in (pytester.path / "out" / "results.jsonl").read_text().splitlines()] == [
        "simple_python_0"
    ]


def test_a_model_that_never_calls_is_skipped_not_failed(pytester: pytest.Pytester) -> None:
    async def mute(request: web.Request) -> web.StreamResponse:
        message = {"role": "assistant", "content": "No."}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return web.json_response({"id": "1", "object": "chat.completion", "model": "m", "choices": choices})

    with http(mute) as url:
        result = run(
            pytester, url, "-m", "wire", "-k", "call_id or call_type or arguments_parse or arguments_text", "-rs"
        )
    result.assert_outcomes(skipped=4, deselected=len(checks_for("chat")) - 4)
    result.stdout.fnmatch_lines(["trigger rate: the model called in 0.0 %*", "*not called: the model did not call*"])


def test_nobody_there_ends_the_checks(pytester: pytest.Pytester) -> None:
    result = run(pytester, "http://127.0.0.1:9/v1", "-m", "wire", "--bfcl-retries", "0")
    result.assert_outcomes(errors=2)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "ADAPTER_ERROR: adapter:connection",
            "*cannot reach the endpoint*",
            "*Interrupted: http://127.0.0.1:9/v1: cannot reach the endpoint*",
        ]
    )


def test_mistakes_are_told(pytester: pytest.Pytester) -> None:
    url = "http://127.0.0.1:9/v1"
    unknown = run(pytester, url, "bfcl/wire.jsonl::nothing")
    unknown.stderr.fnmatch_lines(["*not found: bfcl/wire.jsonl::nothing; pytest-bfcl doctor wire --list*"])
    wrong = run(pytester, "", "-m", "wire", model="oracle:")
    wrong.stderr.fnmatch_lines(["*the wire checks need an HTTP endpoint, not oracle:*"])
    assert unknown.ret == wrong.ret == 4


def test_without_the_mark_there_are_none(pytester: pytest.Pytester) -> None:
    url = "http://127.0.0.1:9/v1"
    for mark, count in (("simple_python", 0), ("wire", len(checks_for("chat")))):
        listed = run(pytester, url, "--collect-only", "-q", "-m", mark)
        assert listed.stdout.str().count("bfcl/wire.jsonl::") == count
    assert not (pytester.path / "out").exists()
