"""The libraries' own objects; those that are not installed are passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.extensions.training.rewards import reward
from pytest_bfcl.replies import read_reply
from tests.replies import recorded
from tests.replies.recorded import ARGUMENTS, NAME
from tests.replies.test_reading import ENTRY


def check(output: Any, *, call_id: str | None = "c1") -> None:
    reply = read_reply(output)
    assert [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [(NAME, ARGUMENTS)]
    assert reply.tool_calls[0].id == call_id or call_id is None
    assert reward(ENTRY, output) == 1.0


@pytest.mark.slow
def test_openai() -> None:
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    completion = ChatCompletion.model_validate({**recorded.COMPLETION, "created": 1, "model": "m", "usage": None})
    for output in (completion, completion.choices[0], completion.choices[0].message, completion.model_dump(),
                   completion.choices[0].message.tool_calls):  # fmt: skip
        check(output)
    response = Response.model_validate(
        {**recorded.RESPONSE, "created_at": 1, "model": "m", "parallel_tool_calls": True, "tool_choice": "auto",
         "tools": [], "usage": None}
    )  # fmt: skip
    for output in (response, response.output, response.model_dump(), response.to_dict()):
        check(output)
    check([recorded.QUESTION, completion.choices[0].message, recorded.RESULT, recorded.DONE])
    assert read_reply(response).reasoning == "hm\n"


@pytest.mark.slow
def test_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    response = litellm.ModelResponse(choices=[{"message": recorded.CHAT_MESSAGE, "finish_reason": "tool_calls"}])
    for output in (response, response.choices[0].message, response.model_dump()):
        check(output)


@pytest.mark.slow
def test_anthropic() -> None:
    types = pytest.importorskip("anthropic.types")
    message = types.Message.model_validate({**recorded.ANTHROPIC, "model": "m", "stop_sequence": None})
    for output in (message, message.content, message.model_dump()):
        check(output)
    assert read_reply(message).reasoning == "hm"


@pytest.mark.slow
def test_langchain() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    outputs = pytest.importorskip("langchain_core.outputs")
    call = messages.AIMessage(content="", tool_calls=[{"name": NAME, "args": ARGUMENTS, "id": "c1"}])
    result = outputs.ChatResult(generations=[outputs.ChatGeneration(message=call)])
    rollout = [
        messages.HumanMessage("?"),
        call,
        messages.ToolMessage("20", tool_call_id="c1"),
        messages.AIMessage("20"),
    ]
    for output in (call, call.model_dump(), messages.message_to_dict(call), result, rollout, {"messages": rollout}):
        check(output)


@pytest.mark.slow
def test_pydantic_ai() -> None:
    types = pytest.importorskip("pydantic_ai.messages")
    answer = types.ModelResponse(parts=[types.ToolCallPart(NAME, ARGUMENTS, tool_call_id="c1")])
    rollout = [
        types.ModelRequest(parts=[types.UserPromptPart("?")]),
        answer,
        types.ModelRequest(parts=[types.ToolReturnPart(NAME, "20", "c1")]),
        types.ModelResponse(parts=[types.TextPart("20 degrees")]),
    ]
    dumped = json.loads(types.ModelMessagesTypeAdapter.dump_json(rollout))
    for output in (answer, rollout, dumped):
        check(output)


@pytest.mark.slow
def test_pydantic_ai_run() -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai")
    models = pytest.importorskip("pydantic_ai.models.test")
    agent = pydantic_ai.Agent(models.TestModel())

    @agent.tool_plain
    def get_weather(city: str, days: int) -> str:
        return f"{city}: {days}"

    (call,) = read_reply(agent.run_sync("?")).tool_calls
    assert (call.name, set(json.loads(call.arguments))) == (NAME, set(ARGUMENTS))


@pytest.mark.slow
def test_smolagents() -> None:
    models = pytest.importorskip("smolagents.models")
    function = models.ChatMessageToolCallFunction(name=NAME, arguments=ARGUMENTS)
    call = models.ChatMessageToolCall(function=function, id="c1", type="function")
    message = models.ChatMessage(role=models.MessageRole.ASSISTANT, content=None, tool_calls=[call])
    for output in (message, [call], message.dict()):
        check(output)


@pytest.mark.slow
def test_llama_index() -> None:
    types = pytest.importorskip("llama_index.core.base.llms.types")
    block = types.ToolCallBlock(tool_call_id="c1", tool_name=NAME, tool_kwargs=ARGUMENTS)
    message = types.ChatMessage(role="assistant", blocks=[types.TextBlock(text="I look."), block])
    for output in (message, types.ChatResponse(message=message, raw={}), message.model_dump(), [block]):
        check(output)


@pytest.mark.slow
def test_gemini() -> None:
    types = pytest.importorskip("google.genai.types")
    part = types.Part(function_call=types.FunctionCall(name=NAME, args=ARGUMENTS), thought_signature=b"s")
    candidate = types.Candidate(content=types.Content(role="model", parts=[part]))
    check(types.GenerateContentResponse(candidates=[candidate]), call_id=None)
