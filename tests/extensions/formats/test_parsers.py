"""Parsers of installed engines: a package with vLLM's interface, made here, in processes of their own."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_bfcl.extensions.formats import installed_parser as installed
from pytest_bfcl.extensions.formats.installed_parser import splits_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.detection import own_calls
from pytest_bfcl.formats.table import find_decoder
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.transcript import Call, Reply

PACKAGES = tomllib.loads(Path(__file__).with_name("engines.toml").read_text(encoding="utf-8"))
DOCS = [
    {"name": "tea.brew", "description": "", "parameters": {"type": "dict", "properties": {"cups": {"type": "float"}}}}
]
ONE = '<call>{"name": "tea_brew", "arguments": {"cups": 2}}</call>'


@pytest.fixture(autouse=True)
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both engines, installed for the workers of a test."""
    for name, source in PACKAGES.items():
        file = tmp_path / "installed" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    find_decoder.__globals__["_parser"].cache_clear()
    installed.installed_parser.cache_clear()
    yield
    installed.installed_parser.cache_clear()
    find_decoder.__globals__["_parser"].cache_clear()


def read(name: str, text: str) -> list[Call]:
    return own_calls(Reply(text=text), find_decoder(name), DOCS)


@pytest.mark.parametrize("name", ["vllm:right", "vllm:right+stream"])
def test_a_parser_as_a_decoder(name: str) -> None:
    assert read(name, ONE + "\n" + ONE) == [Call("tea_brew", {"cups": 2})] * 2
    with pytest.raises(DecodeError, match="the reply is text"):
        read(name, "No.")
    assert find_decoder(name).name == name


@pytest.mark.parametrize("name", ["sglang:lines", "sglang:lines+stream"])
def test_a_parser_of_sglang(name: str) -> None:
    assert read(name, 'tea_brew {"cups": 2}\nprose\ntea_brew {"cups": 3}\n') == [
        Call("tea_brew", {"cups": 2}), Call("tea_brew", {"cups": 3}),
    ]  # fmt: skip
    with pytest.raises(DecodeError, match="no JSON"):
        read(name, "tea_brew {cups\n")


def test_what_is_not_installed_or_unknown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"vllm has no parser 'rigth'; did you mean 'right'"):
        find_decoder("vllm:rigth")
    with pytest.raises(UsageError, match="sglang has no parser"):
        find_decoder("sglang:hermes")
    monkeypatch.setenv("PYTHONPATH", "")
    with pytest.raises(UsageError, match=r"needs vllm in .*\nwhat to do: install it there, or name .* in BFCL_VLLM"):
        find_decoder("vllm:right")
    monkeypatch.setenv("BFCL_VLLM", "/nowhere/python")
    with pytest.raises(UsageError, match="BFCL_VLLM=/nowhere/python cannot be started"):
        find_decoder("vllm:right")


@pytest.mark.slow
def test_a_parser_that_fails_costs_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "ANSWER_S", 2.0)
    for text, what in (("<call>{", "the parser raised: JSONDecodeError"), ("hang", "no answer within 2 s"),
                       ("die", "its process ended")):  # fmt: skip
        with pytest.raises(DecodeError, match=what):
            read("vllm:right", text)
        assert read("vllm:right", ONE) == [Call("tea_brew", {"cups": 2})]


REAL = os.environ.get("BFCL_VLLM")


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="BFCL_VLLM names no Python with vLLM")
def test_parsers_of_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    call = json.dumps({"name": "tea_brew", "arguments": {"cups": 2}})
    for name, text in {
        "hermes": f"<tool_call>\n{call}\n</tool_call>",
        "mistral": '[TOOL_CALLS]tea_brew{"cups": 2}',
        "llama3_json": call.replace("arguments", "parameters"),
        "pythonic": "[tea_brew(cups=2)]",
        "xlam": f"[{call}]",
    }.items():
        parser = installed.installed_parser(f"vllm:{name}")
        assert installed.pairs_of(parser.whole(text, DOCS)) == [("tea_brew", {"cups": 2})], name
        splits = splits_of(parser.atoms(text, DOCS))
        assert parser.streamed(text, DOCS, splits) == [parser.whole(text, DOCS)] * len(splits), name
        parser.close()
