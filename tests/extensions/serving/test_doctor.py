"""``pytest-bfcl doctor``."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from pytest_bfcl.cli import main
from tests.models.loopback import Handler, completion, tool_call
from tests.models.loopback import in_thread as server


def test_a_healthy_installation(capsys):
    assert main(["doctor", "--model", "oracle:"]) == 0
    shown = capsys.readouterr().out
    assert "PROBLEM" not in shown
    assert "bundled data" in shown
    assert "oracle:@fc answered" in shown


HERMES = '<tool_call>\n{"name": "%s", "arguments": {}}\n</tool_call>'


@pytest.mark.parametrize(
    ("spec", "parsed", "code", "said"),
    [
        ("vllm:Qwen/Qwen2.5-7B-Instruct", True, 0, "and called "),
        ("vllm:Qwen/Qwen2.5-7B-Instruct", False, 1, "--enable-auto-tool-choice --tool-call-parser hermes"),
        ("sglang:Qwen/Qwen2.5-7B-Instruct", False, 1, "--tool-call-parser qwen25"),
        ("llamacpp:any", False, 1, "llama-server … --jinja"),
        ("vllm:Qwen/Qwen2.5-7B-Instruct@prompt", False, 0, "answered in"),
    ],
)
def test_a_server_that_answers_in_text_is_named_with_its_flag(
    capsys: pytest.CaptureFixture[str], spec: str, parsed: bool, code: int, said: str
) -> None:
    asked = []

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        asked.append(body)
        name = body["tools"][0]["function"]["name"] if "tools" in body else "x"
        message = {"tool_calls": [tool_call(name, "{}")]} if parsed else {"content": HERMES % name}
        return web.json_response(completion(message, "tool_calls" if parsed else "stop"))

    with server(answer) as url:
        assert main(["doctor", "--model", spec, "--base-url", url]) == code
    shown = capsys.readouterr().out
    assert said in shown
    assert ("PROBLEM" in shown) is bool(code)
    ways = [(body["chat_template_kwargs"]["enable_thinking"], body.get("stream", False)) for body in asked]
    assert ways == [(False, False), (False, True), (True, False), (True, True)]
    for body in asked:
        assert body["messages"][0]["role"] == "system"
        assert body.get("max_tokens") or body.get("max_completion_tokens")


def told_by_doctor(capsys: pytest.CaptureFixture[str], answer: Handler, model: str = "vllm:Qwen/Qwen3-8B") -> str:
    """What the verb says of a server."""
    with server(answer) as url:
        main(["doctor", "--model", model, "--base-url", url])
    return capsys.readouterr().out.partition(model)[2]


def test_a_parser_that_fails_in_streams_and_thoughts_in_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        thinks, call = body["chat_template_kwargs"]["enable_thinking"], tool_call("echo", "{}")
        message = {"content": HERMES % "echo"} if body.get("stream") else {"tool_calls": [call]}
        if thinks and not body.get("stream"):
            message["content"] = "<think>They want an echo.</think>"
        return web.json_response(completion(message, "stop"))

    told = told_by_doctor(capsys, answer)
    assert "and called echo (without thinking, unstreamed)" in told
    assert "instead of calling the tool it was asked to use (without thinking, streamed; with thinking, stre" in told
    assert "called echo, with its thoughts in the text (with thinking, unstreamed)" in told
    assert "start the server so that it parts thoughts" in told


@pytest.mark.slow
def test_a_server_that_cannot_be_told_about_thinking_and_one_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.method == "GET":
            return web.json_response({"data": [{"id": "Qwen/Qwen3-8B"}]})
        if "chat_template_kwargs" in await request.json():
            return web.json_response({"error": {"message": "unexpected field chat_template_kwargs"}}, status=400)
        return web.json_response(completion({"tool_calls": [tool_call("echo", "{}")]}, "tool_calls"))

    for model in ("vllm:", "auto:", "auto:qwen"):
        told = told_by_doctor(capsys, answer, model)
        assert "Qwen/Qwen3-8B" in told
        assert "called echo (unstreamed; streamed)" in told


def test_a_server_that_hangs_is_a_problem_after_the_probes_own_time(capsys: pytest.CaptureFixture[str]) -> None:
    async def hang(request: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    with server(hang) as url:
        assert main(["doctor", "--model", "vllm:m", "--base-url", url, "--timeout", "0.3"]) == 1
    assert "PROBLEM" in capsys.readouterr().out


TOLD = {
    "llama.cpp": (
        "llamacpp:m", {"/props": {"build_info": "b7", "chat_template_caps": {"supports_tools": True}}},
        "it is llama.cpp b7, has tools", "--jinja",
    ),
    "no tools": (
        "llamacpp:m", {"/props": {"chat_template_caps": {"supports_tools": True, "supports_tool_calls": False}}},
        "by its own account it takes no tools", "--jinja",
    ),
    "vLLM": (
        "vllm:Qwen/Qwen3-8B",
        {"/version": {"version": "0.33"}, "/v1/models": {"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm"}]},
         "/server_info": {"args": [{"tool_call_parser": "hermes", "reasoning_parser": "qwen3"}]}},
        "it is vLLM 0.33, reads calls with hermes, parts thoughts with qwen3", "-parser ",
    ),
    "SGLang": (
        "sglang:Qwen/Qwen3-8B", {"/get_server_info": {"version": "0.5", "tool_call_parser": "qwen25"}},
        "it is SGLang 0.5, reads calls with qwen25", "--tool-call-parser",
    ),
    "Ollama": (
        "ollama:m", {"/api/version": {"version": "1"}, "/api/show": {"capabilities": ["completion"]}},
        "it is Ollama 1, has no tools", "--",
    ),
    "nonsense": (
        "vllm:m", {"/props": [1], "/server_info": {"a": {"tool_call_parser": "\x1b[2J"}}}, "instead of", "\x1b",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_a_server_says_of_itself_is_heard_before_advice(capsys: pytest.CaptureFixture[str], name: str) -> None:
    spec, told, said, never = TOLD[name]

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("/chat/completions"):
            return web.json_response(completion({"content": HERMES % "echo"}, "stop"))
        return web.json_response(told[request.path]) if request.path in told else web.Response(status=404)

    with server(answer) as url:
        main(["doctor", "--model", spec, "--base-url", url])
    shown = capsys.readouterr().out
    assert said in shown
    advice = shown[shown.index(f"{spec.partition(':')[0]}:") :]
    assert never not in advice.replace("--bfcl-", "")
