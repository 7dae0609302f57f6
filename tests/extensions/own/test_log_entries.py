"""Recorded conversations become entries for review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.cli import main
from pytest_bfcl.extensions.own.log_entries import entries_of_log
from pytest_bfcl.failures import UsageError
from tests.extensions.own import exporters, recorded_logs
from tests.extensions.own.recorded_logs import LOGS, lines_of

SCHEMA = recorded_logs.SCHEMA
TOOL = {"type": "function", "function": {**recorded_logs.ABOUT, "name": "find_order", "parameters": SCHEMA}}


def called(number: int) -> dict[str, Any]:
    return {
        "id": "c",
        "type": "function",
        "function": {"name": "find_order", "arguments": json.dumps({"number": number})},
    }


CONVERSATION: dict[str, Any] = {
    "tools": [TOOL],
    "messages": [
        {"role": "system", "content": "You work for a shop."},
        {"role": "user", "content": "Where is order 12?"},
        {"role": "assistant", "content": None, "tool_calls": [called(12)]},
        {"role": "tool", "tool_call_id": "c", "content": "sent"},
        {"role": "assistant", "content": "It was sent."},
        {"role": "user", "content": [{"type": "text", "text": "And 13 and 14?"}]},
        {"role": "assistant", "content": "", "tool_calls": [called(13), called(14)]},
        {"role": "user", "content": "Thanks!"},
        {"role": "assistant", "content": "With pleasure."},
    ],
}


def log(path: Path, *conversations: Any) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in conversations), encoding="utf-8")
    return path


def test_every_answered_request_and_every_conversation_with_results(tmp_path: Path) -> None:
    first, second, third, whole = entries_of_log(log(tmp_path / "log.jsonl", CONVERSATION))
    assert [entry["id"] for entry in (first, second, third, whole)] == ["log_0_0", "log_0_1", "log_0_2", "log_0"]
    assert [entry["category"] for entry in (first, second, third)] == ["simple_python", "parallel", "irrelevance"]
    assert first["possible_answer"] == [{"find_order": {"number": [12]}}]
    assert second["possible_answer"] == [{"find_order": {"number": [13]}}, {"find_order": {"number": [14]}}]
    assert [message["role"] for message in second["question"][0]] == ["system", "user", "assistant", "user"]
    assert "sent" in second["question"][0][2]["content"]
    assert all(entry["reviewed"] is False for entry in (first, second, third, whole))
    assert whole["category"] == "recorded"
    assert whole["possible_answer"] == [
        ["find_order(number=12)"],
        ["find_order(number=13)", "find_order(number=14)"],
        [],
    ]
    assert whole["results"] == [{"call": "find_order", "arguments": {"number": 12}, "result": "sent"}]
    assert [(each["turn"], each["arguments"]["number"]) for each in whole["expect"]] == [(0, 12), (1, 13), (1, 14)]


def simplified(entries: Any) -> list[Any]:
    """Entries without where they come from."""
    return [{key: value for key, value in entry.items() if key != "note"} for entry in entries]


def test_one_conversation_in_every_format_is_one_and_the_same(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text(lines_of(LOGS["chat"]))
    expected = simplified(entries_of_log(tmp_path / "chat.jsonl"))
    assert [entry["category"] for entry in expected] == ["simple_python", "recorded"]
    assert expected[0]["possible_answer"] == [{"find_order": {"number": [12]}}]
    assert expected[1]["results"] == [{"call": "find_order", "arguments": {"number": 12}, "result": "sent"}]
    for name, lines in LOGS.items():
        for text in (lines_of(lines), json.dumps(lines)):
            path = tmp_path / f"{name}.json"
            path.write_text(text)
            assert simplified(entries_of_log(path)) == expected, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "library", ["anthropic", "openai", "google.genai", "opentelemetry.sdk", "openinference.semconv"]
)
def test_logs_of_the_libraries_themselves(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    from tests.extensions.own import library_logs

    (tmp_path / "chat.jsonl").write_text(lines_of(LOGS["chat"]))
    expected = simplified(entries_of_log(tmp_path / "chat.jsonl"))
    for name, text in library_logs.MADE[library]().items():
        (tmp_path / name).write_text(text)
        assert simplified(entries_of_log(tmp_path / name)) == expected, name


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
ASKED = {"role": "user", "content": "Hi"}
ODD: list[tuple[str, Any, str]] = [
    ("an image in a request", {"messages": [ASKED, {"role": "user", "content": [IMAGE]}]}, r"messages\[1\].*'image'"),
    ("an image in a result", {"messages": [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t", "content": [IMAGE]}]}]}, r"messages\[0\].*content\[0\].*'image'"),
    ("a provider's own call", {"messages": [ASKED], "response": {"content": [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]}},
     r"response\[0\].*'server_tool_use'"),
    ("a search of Responses", {"input": "Hi", "response": {"output": [{"type": "web_search_call", "id": "w"}]}},
     r"response.output\[0\]"),
    ("code of Gemini", {"contents": [{"role": "model", "parts": [{"executableCode": {"code": "1"}}]}]},
     r"contents\[0\]"),
    ("a thread begun elsewhere", {"input": "Hi", "previous_response_id": "r9"}, r"'r9'"),
    ("a piece of a stream", {"messages": [ASKED], "response": {"choices": [{"delta": {}}]}}, r"response.choices"),
    ("a blob of a span", {"attributes": {"gen_ai.input.messages": json.dumps(
        [{"role": "user", "parts": [{"type": "blob", "content": "AA=="}]}])}}, r"gen_ai.input.messages\[0\].*'blob'"),
    ("a span without content", {"name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}, "not recorded"),
    ("calls without tools", {"messages": [ASKED, {"role": "assistant", "tool_calls": [called(1)]}]}, "no tools"),
    ("a tool that is not offered", {"tools": [TOOL], "messages": [ASKED, {"role": "assistant", "tool_calls": [
        {"id": "c", "function": {"name": "other", "arguments": "{}"}}]}]}, "'other'"),
    ("a result of nothing", {"tools": [TOOL], "messages": [
        ASKED, {"role": "tool", "tool_call_id": "z", "content": ""}]}, "answers no"),
    ("an agent's scenario", {"id": "a", "question": "user: hi", "function": [], "initial_config": {}}, "scenario"),
    ("an answer that is missing", {"id": "a", "question": "user: hi", "function": []}, "possible_answer"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("record", "told"), [(record, told) for _, record, told in ODD], ids=[name for name, *_ in ODD]
)
def test_what_is_not_known_stops_it_with_the_place(record: Any, told: str, tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", CONVERSATION, record)
    with pytest.raises(UsageError, match=r"log\.jsonl:2.*" + told):
        list(entries_of_log(path))
    left_out: list[str] = []
    assert len(list(entries_of_log(path, leave_out=left_out.append))) == 4
    assert len(left_out) == 1


def test_rows_of_xlam(tmp_path: Path) -> None:
    tool = {"name": "find", "description": "Finds.", "parameters": {
        "word": {"type": "str", "description": "What."},
        "most": {"type": "int, optional", "description": "", "default": 5},
        "tags": {"type": "Optional[List[str]]", "description": "", "default": None}}}  # fmt: skip
    calls = [{"name": "find", "arguments": {"word": "a", "most": 5}}, {"name": "find", "arguments": {"word": "b"}}]
    row = {"id": 3, "query": "Find a and b.", "answers": json.dumps(calls), "tools": json.dumps([tool])}
    (entry,) = entries_of_log(log(tmp_path / "xlam.jsonl", row))
    assert entry["category"] == "parallel"
    assert entry["possible_answer"] == [{"find": {"word": ["a"], "most": [5, ""]}}, {"find": {"word": ["b"]}}]
    parameters = entry["function"][0]["parameters"]
    assert (parameters["required"], parameters["properties"]["tags"]["type"]) == (["word"], "array")


def test_files_of_acebench(tmp_path: Path) -> None:
    functions = [{"name": name, "description": name, "parameters": SCHEMA} for name in ("find", "send_2")]
    asked = "user: Find 1.\nsystem: [find(number=1)]\nsystem: It is\nred.\nuser: Find 2 and 3.\n"
    rows = [{"id": name, "question": asked.replace("3", name), "function": functions} for name in ("a", "b", "c")]
    rows[0]["time"] = "It is May."
    (tmp_path / "possible_answer").mkdir()
    truths = [{"find_1": {"number": 2}, "find_2": {"number": 3}}, "There is no way.", {"send_2": ["number"]}]
    answers = [{"id": row["id"], "ground_truth": each} for row, each in zip(rows, truths, strict=True)]
    log(tmp_path / "possible_answer" / "data.json", *answers)
    made = {entry["id"]: entry for entry in entries_of_log(log(tmp_path / "data.json", *rows))}
    assert made["log_0_1"]["possible_answer"] == [{"find": {"number": [2]}}, {"find": {"number": [3]}}]
    assert made["log_0"]["results"] == [{"call": "find", "arguments": {"number": 1}, "result": "It is\nred."}]
    assert [made[f"log_{n}_1"]["category"] for n in range(3)] == ["parallel", "irrelevance", "irrelevance"]
    assert made["log_0_0"]["question"][0][0] == {"role": "system", "content": "It is May."}


def test_the_entries_can_be_used_and_are_told_to_be_unread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, made = log(tmp_path / "log.jsonl", CONVERSATION), tmp_path / "made.jsonl"
    assert main(["new", "log", str(source), "-o", str(made)]) == 0
    assert "4 entries, none of them reviewed" in capsys.readouterr().err
    assert main(["validate", str(made)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("nobody has read this entry") == 4
    assert main(["validate", str(made), "--strict"]) == 1
    assert main(["new", "log", str(source), "-o", str(made)]) == 2, "what is there is not written over"


@pytest.mark.parametrize("line", ["{", "7", '{"messages": 3}', '{"messages": [{}]}', '{"messages": [1]}'])
def test_a_line_that_is_no_conversation_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(CONVERSATION)}\n{line}\n")
    with pytest.raises(UsageError, match=r"log\.jsonl:2"):
        list(entries_of_log(path))


@pytest.mark.parametrize(
    "call", [{"function": {"name": "f", "arguments": "{"}}, {"function": {"name": "f", "arguments": "[]"}}, {}]
)
def test_a_broken_call_is_named(tmp_path: Path, call: dict[str, Any]) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call]}]
    with pytest.raises(UsageError, match=r"log\.jsonl:1"):
        list(entries_of_log(log(tmp_path / "log.jsonl", {"tools": [TOOL], "messages": messages})))


# -- endings: what each kind of log says of a reply, and whether it may be taken for what is right ---------------------

ASKED = [{"role": "user", "content": "Who are you?"}]
SAYS = {"role": "assistant", "content": "A shop's assistant."}
OFFERED = {"messages": ASKED, "tools": [TOOL]}
ORDER = {**recorded_logs.ABOUT, "name": "find_order"}
GENERATION = {"id": "o", "traceId": "t", "type": "GENERATION", "input": OFFERED, "output": SAYS}
OTEL_SPAN = {
    "gen_ai.tool.definitions": json.dumps([recorded_logs.FLAT_TOOL]), "gen_ai.input.messages": json.dumps(ASKED),
    "gen_ai.output.messages": json.dumps([SAYS]),
}  # fmt: skip
PHOENIX_SPAN = {
    "openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user",
    "llm.input_messages.0.message.content": "Who are you?", "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "A shop's assistant.",
    "llm.tools.0.tool.json_schema": json.dumps(recorded_logs.OPENAI_TOOL),
}  # fmt: skip
METERED_SPAN = {
    "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Who are you?", "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "A shop's assistant.", "llm.request.functions.0.name": "find_order",
    "llm.request.functions.0.parameters": json.dumps(SCHEMA),
}  # fmt: skip


def span(attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "chat", "context": {"span_id": "2"}, "attributes": attributes, "events": [], **more}


def ended(name: str, word: object) -> dict[str, Any]:
    return {} if word is None else {name: word}


def chat(word: object, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": SAYS, **ended("finish_reason", word)}
    return {"request": OFFERED, "response": {"object": "chat.completion", "choices": [choice], **more}}


def messages(word: object, content: Any = None) -> dict[str, Any]:
    blocks = content or [{"type": "text", "text": "A shop's assistant."}]
    body = {"type": "message", "role": "assistant", "content": blocks, **ended("stop_reason", word)}
    return {"request": {"messages": ASKED, "tools": [{**ORDER, "input_schema": SCHEMA}]}, "response": body}


def responses(status: object, **more: Any) -> dict[str, Any]:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A shop's assistant."}]}
    body = {"output": [item], **ended("status", status), **more}
    return {"request": {"input": "Who are you?", "tools": [recorded_logs.FLAT_TOOL]}, "response": body}


def gemini(word: object, **more: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": "A shop's assistant."}]}
    tools = [{"functionDeclarations": [{**ORDER, "parameters": recorded_logs.GOOGLE}]}]
    request = {"contents": [{"role": "user", "parts": [{"text": "Who are you?"}]}], "tools": tools, **more}
    return {"request": request, "response": {"candidates": [{"content": content, **ended("finishReason", word)}]}}


CHOICE = chat("stop")["response"]["choices"][0]
STOPPED = chat("stop")["response"]
LENGTH = chat("length")["response"]
RUN = {"id": "r", "run_type": "llm", "inputs": OFFERED, "outputs": STOPPED}
LEFT = '<tool_call>{"name": "find_order", "arguments": {"number": 1}}</tool_call>'
TAKEN: dict[str, Any] = {
    "chat: stop": chat("stop"), "messages: end_turn": messages("end_turn"),
    "responses: completed": responses("completed"), "gemini: STOP": gemini("STOP"),
    "bare messages": {"messages": [*ASKED, SAYS], "tools": [TOOL]},
    "langfuse: no level": GENERATION, "langfuse: DEFAULT": {**GENERATION, "level": "DEFAULT"},
    "litellm: success": {**OFFERED, "response": STOPPED, "status": "success"},
    "otel: stop": span({**OTEL_SPAN, "gen_ai.response.finish_reasons": ["stop"]}),
    "otel: no word": span(OTEL_SPAN, status={"status_code": "UNSET"}),
    "phoenix: OK": span(PHOENIX_SPAN, status_code="OK"),
    "openllmetry: stop": span({**METERED_SPAN, "gen_ai.completion.0.finish_reason": "stop"}),
    "langsmith: success": {**RUN, "status": "success"},
    "langchain: stop": exporters.langchain_run(ASKED, SAYS, TOOL, "stop"),
    "mlflow: LangChain has no words": exporters.mlflow_trace(
        OFFERED, {"choices": [{"message": SAYS, "finish_reason": None}]}),
    "mlflow: OK": exporters.mlflow_trace(OFFERED, STOPPED), "helicone: 200": exporters.helicone_log(OFFERED, STOPPED),
    "vercel: stop": exporters.vercel_span(ASKED, TOOL, "stop", text="A shop's assistant."),
    "stored: stop": {**STOPPED, **OFFERED},
}  # fmt: skip
REFUSED: dict[str, Any] = {
    **{f"chat: {word}": chat(word) for word in (
        "length", "content_filter", "error", "abort", "cancelled", "insufficient_system_resource", "banana", "", None,
        "tool_calls")},
    "chat: an error beside": chat("stop", error={"message": "upstream"}),
    "chat: two choices": {"request": OFFERED, "response": {"choices": [CHOICE, CHOICE]}},
    "chat: tool_choice none": {**chat("stop"), "request": {**OFFERED, "tool_choice": "none"}},
    "chat: a filter's mark": {"request": OFFERED, "response": {
        "choices": [{**CHOICE, "content_filter_results": {"hate": {"filtered": True}}}]}},
    **{f"messages: {word}": messages(word) for word in (
        "max_tokens", "pause_turn", "model_context_window_exceeded", "tool_use", "banana", None)},
    "messages: refusal": messages("refusal"),
    "chat: a refusal": {"request": OFFERED, "response": {"choices": [
        {**CHOICE, "message": {"role": "assistant", "content": None, "refusal": "I cannot help with that."}}]}},
    "responses: a refusal": responses("completed", output=[{"type": "message", "role": "assistant", "content": [
        {"type": "refusal", "refusal": "I cannot."}]}]),
    "bare messages: a refusal": {"tools": [TOOL], "messages": [*ASKED, {
        "role": "assistant", "content": None, "refusal": "I cannot."}]},
    "langsmith: a refusal": {**RUN, "outputs": messages("refusal")["response"]},
    "messages: an error block": messages("end_turn", [{"type": "error", "text": "x"}]),
    "messages: a server's tool alone": messages(
        "end_turn", [{"type": "server_tool_use", "id": "s", "name": "x", "input": {}}]),
    **{f"responses: {status}": responses(status) for status in ("failed", "cancelled", "in_progress", "queued", None)},
    "responses: incomplete": responses("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    "responses: an error": responses("completed", error={"code": "server_error"}),
    **{f"gemini: {word}": gemini(word) for word in (
        "MAX_TOKENS", "SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL", "OTHER", "BANANA", None)},
    "gemini: mode NONE": gemini("STOP", toolConfig={"functionCallingConfig": {"mode": "NONE"}}),
    "langfuse: ERROR": {**GENERATION, "level": "ERROR", "statusMessage": "timeout"},
    "litellm: failure": {**OFFERED, "response": STOPPED, "status": "failure"},
    "litellm: an exception": {**OFFERED, "response": STOPPED, "exception": "Timeout"},
    **{f"otel: {words}": span({**OTEL_SPAN, "gen_ai.response.finish_reasons": words}) for words in (
        ["length"], ["content_filter"], ["error"], '["length"]', ["stop", "stop"], ["tool_call"])},
    "otel: in the message": span(
        {**OTEL_SPAN, "gen_ai.output.messages": json.dumps([{**SAYS, "finish_reason": "length"}])}),
    "otel: status ERROR": span(OTEL_SPAN, status={"code": 2}),
    "otel: error.type": span({**OTEL_SPAN, "error.type": "500"}),
    "otel: an exception": span(OTEL_SPAN, events=[{"name": "exception", "attributes": {}}]),
    "phoenix: ERROR": span(PHOENIX_SPAN, status_code="ERROR"),
    "openllmetry: length": span({**METERED_SPAN, "gen_ai.completion.0.finish_reason": "length"}),
    "langsmith: error": {**RUN, "outputs": None, "error": "APIError()", "status": "error"},
    "langsmith: pending": {**RUN, "status": "pending"}, "langsmith: length": {**RUN, "outputs": LENGTH},
    "langsmith: two conversations": {**RUN, "inputs": {"messages": [ASKED, ASKED]}},
    **{f"langchain: {word}": exporters.langchain_run(ASKED, SAYS, TOOL, word) for word in ("length", "error", "")},
    "mlflow: ERROR": exporters.mlflow_trace(OFFERED, STOPPED, "STATUS_CODE_ERROR"),
    "mlflow: length": exporters.mlflow_trace(OFFERED, LENGTH),
    "mlflow: no word": exporters.mlflow_trace(OFFERED, {**STOPPED, "choices": [{**CHOICE, "finish_reason": None}]}),
    "mlflow: no inputs": exporters.mlflow_trace(None, STOPPED),
    "helicone: 500": exporters.helicone_log(OFFERED, STOPPED, 500),
    "helicone: length": exporters.helicone_log(OFFERED, LENGTH),
    "helicone: no bodies": {"request_id": "h", "signed_body_url": "x", "response_status": 200},
    **{f"vercel: {word}": exporters.vercel_span(ASKED, TOOL, word, text="A shop's assistant.") for word in (
        "length", "content-filter", "error", "other", "unknown", "tool-calls")},
    "vercel: ERROR": {**exporters.vercel_span(ASKED, TOOL, "stop", text="A shop's assistant."), "status": {"code": 2}},
    "vercel: replies not recorded": exporters.vercel_span(ASKED, TOOL, "stop"),
    "vercel: a failed request": span(
        {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": json.dumps(ASKED)}, status={"code": 2}),
    "vercel: not recorded": span({"ai.operationId": "ai.streamText.doStream", "ai.response.finishReason": "stop"}),
    "vercel: tool choice none": span({
        **exporters.vercel_span(ASKED, TOOL, "stop", text="A shop's assistant.")["attributes"],
        "ai.prompt.toolChoice": '{"type": "none"}'}),
    "stored: length": {**LENGTH, **OFFERED}, "stored: no messages": {**STOPPED, "tools": [TOOL]},
    "a transcript of Claude Code": {"type": "user", "sessionId": "s", "uuid": "u", "message": ASKED[0]},
    "a call left in the text": {"tools": [TOOL], "messages": [*ASKED, {"role": "assistant", "content": LEFT}]},
    "thoughts alone": {"tools": [TOOL], "messages": [*ASKED, {"role": "assistant", "content": "<think>\nOkay, let"}]},
    "nothing": {"tools": [TOOL], "messages": [*ASKED, {"role": "assistant", "content": ""}]},
}  # fmt: skip


@pytest.mark.parametrize("record", TAKEN.values(), ids=TAKEN)
def test_a_normal_ending_is_taken(record: Any, tmp_path: Path) -> None:
    (entry,) = entries_of_log(log(tmp_path / "log.jsonl", record))
    assert entry["category"] == "irrelevance"


@pytest.mark.parametrize("record", REFUSED.values(), ids=REFUSED)
def test_truth_is_never_made_of_trouble(record: Any, tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", record)
    with pytest.raises(UsageError, match=r"log\.jsonl:1"):
        list(entries_of_log(path))
    told: list[str] = []
    assert list(entries_of_log(path, leave_out=told.append)) == []
    assert len(told) == 1


def test_what_goes_on_with_a_cut_reply_is_left_out_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = {"request": {**OFFERED, "messages": [*ASKED, SAYS, {"role": "user", "content": "And now?"}]},
             "response": STOPPED}  # fmt: skip
    path = log(tmp_path / "log.jsonl", chat("length"), later, chat("error"), chat("error"))
    assert main(["new", "log", str(path), "--skip", "-o", str(tmp_path / "made.jsonl")]) == 1
    told = capsys.readouterr().err
    assert "it continues the reply of" in told
    assert "ended with 'error' (ending) (2 times, first" in told


def test_words_beside_a_result_are_no_request(tmp_path: Path) -> None:
    told = {"type": "tool_result", "tool_use_id": "t", "content": "sent"}
    beside = {"role": "user", "content": [told, {"type": "text", "text": "Remember to be brief."}]}
    use = {"type": "tool_use", "id": "t", "name": "find_order", "input": {"number": 1}}
    asked = {"role": "user", "content": "Where is order 1?"}
    record = {"tools": [TOOL], "messages": [asked, {"role": "assistant", "content": [use]}, beside, SAYS]}
    entries = list(entries_of_log(log(tmp_path / "log.jsonl", record), turns="single"))
    assert [entry["category"] for entry in entries] == ["simple_python"]
