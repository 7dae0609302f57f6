"""Parsers of installed engines: a package with vLLM's interface, made here, in processes of their own."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_bfcl.extensions.formats import installed_parser as installed
from pytest_bfcl.extensions.formats.installed_parser import splits_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.reading import own_calls
from pytest_bfcl.formats.table import find_decoder
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.transcript import Call, Reply

PACKAGES = {
    "vllm/__init__.py": "print('a banner, as engines print')",
    "vllm/tool_parsers/__init__.py": """
        import json, time
        from types import SimpleNamespace as Is

        def call(name, arguments):
            return Is(function=Is(name=name, arguments=arguments))

        class Tagged:
            "JSON in <call> tags; what it streams depends on its mistakes."
            mistake = ""

            def __init__(self, tokenizer, tools=None):
                self.start, self.tools, self.done, self.tokenizer = tokenizer.get_vocab()["<call>"], tools, 0, tokenizer

            def extract_tool_calls(self, text, request):
                if "hang" in text:
                    time.sleep(60)
                if "die" in text:
                    raise SystemExit
                parts = [part.split("</call>")[0] for part in text.split("<call>")[1:]]
                found = [json.loads(part) for part in parts]
                calls = [call(each["name"], json.dumps(each["arguments"])) for each in found]
                return Is(tools_called=bool(calls), tool_calls=calls)

            def extract_tool_calls_streaming(self, seen, text, delta, ids, all_ids, new_ids, request):
                if self.mistake == "cut" and delta.endswith('"') and seen.endswith("{"):
                    self.done = 99
                if self.mistake == "two" and delta.count("</call>") > 1:
                    return None
                if self.mistake == "raises" and len(delta) == 1:
                    raise IndexError("a short delta")
                assert not delta.startswith("<call>") or self.start in new_ids
                told = []
                whole = text.split("</call>")[:-1]
                for index, part in enumerate(whole[self.done:], self.done):
                    value = json.loads(part.split("<call>")[-1])
                    told.append(Is(index=index, function=Is(name=value["name"], arguments=None)))
                    told.append(Is(index=index, function=Is(name=None, arguments=json.dumps(value["arguments"]))))
                self.done = max(self.done, len(whole))
                return Is(tool_calls=told) if told else None

        KINDS = {each or "right": type("P", (Tagged,), {"mistake": each}) for each in ("", "cut", "two", "raises")}

        class ToolParserManager:
            @staticmethod
            def list_registered():
                return sorted(KINDS)

            @staticmethod
            def get_tool_parser(name):
                return KINDS[name]
    """,
    "vllm/entrypoints/__init__.py": "",
    "vllm/entrypoints/openai/__init__.py": "",
    "vllm/entrypoints/openai/protocol.py": """
        class ChatCompletionRequest:
            def __init__(self, model, messages, tools):
                self.tools = tools
    """,
    "sglang/__init__.py": "",
    "sglang/srt/__init__.py": "",
    "sglang/srt/entrypoints/__init__.py": "",
    "sglang/srt/entrypoints/openai/__init__.py": "",
    "sglang/srt/entrypoints/openai/protocol.py": """
        class Tool:
            def __init__(self, type, function):
                self.name = function["name"]
    """,
    "sglang/srt/function_call/__init__.py": "",
    "sglang/srt/function_call/function_call_parser.py": """
        from types import SimpleNamespace as Is

        class FunctionCallParser:
            ToolCallParserEnum = {"lines": None}

            def __init__(self, tools, tool_call_parser):
                self.names, self.count, self.rest = [tool.name for tool in tools], 0, ""

            def parse_non_stream(self, text):
                found = [line.partition(" ") for line in text.splitlines() if line.split(" ")[0] in self.names]
                return "", [Is(tool_index=n, name=name, parameters=rest) for n, (name, _, rest) in enumerate(found)]

            def parse_stream_chunk(self, chunk):
                *lines, self.rest = (self.rest + chunk).split("\\n")
                calls = self.parse_non_stream("\\n".join(lines))[1]
                for call in calls:
                    call.tool_index, self.count = self.count, self.count + 1
                return "", calls
    """,
}
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
        file.write_text(textwrap.dedent(source))
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
