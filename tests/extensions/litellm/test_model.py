"""litellm against small fakes of the vendors' wire formats, on the loopback interface.

What is promised: tools arrive in the vendor's shape, calls, text and usage come back, and the vendors' errors get
the right kind. litellm is imported once for the whole module.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from pytest_bfcl.endpoints.faults import EndpointUnreachable
from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.extensions.litellm.model import (
    LitellmModel,
    _causes,
    _environment_secrets,
    _made_up,
    _streamed,
    _Words,
    load_litellm,
)
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import ToolsRefused, parse_spec
from pytest_bfcl.settings import Settings
from tests.endpoints.test_faults import AMZ, BUSY, OVERFLOW, PYTHON, WAIT, aws
from tests.endpoints.test_faults import error as said
from tests.models.loopback import CLOCK, WEATHER, completion, request, run, serving, tool_call
from tests.models.test_streams import CHAT, sse

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict:UserWarning")  # litellm's own classes

KEYS = {
    "OPENAI_API_KEY": "sk-unit-test-0123456789",
    "ANTHROPIC_API_KEY": "ak-unit-test-0123456789",
    "GEMINI_API_KEY": "gk-unit-test-0123456789",
    "MISTRAL_API_KEY": "mk-unit-test-0123456789",
    "GROQ_API_KEY": "qk-unit-test-0123456789",
    "AWS_ACCESS_KEY_ID": "AKIAUNITTEST01234567",
    "AWS_SECRET_ACCESS_KEY": "unit-test-secret-0123456789",
    "AWS_REGION_NAME": "us-east-1",
}
Call = tuple[str, dict[str, Any]]


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


class Vendor:
    """One vendor's wire format: how tools arrive, how answers and errors look."""

    spec = ""
    path = ""

    def tools(self, body: dict[str, Any]) -> dict[str, Any]:
        """Name → JSON schema of the tools in a request, as OpenAI has them."""
        return {t["function"]["name"]: t["function"]["parameters"] for t in body["tools"]}

    def answer(self, text: str | None, calls: list[Call]) -> dict[str, Any]:
        raise NotImplementedError

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "error", "code": status}}

    overflow = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."


class Anthropic(Vendor):
    spec, path = "litellm:anthropic/claude-3-5-sonnet-20241022", "/v1/messages"
    overflow = "prompt is too long: 210000 tokens > 200000 maximum"

    def tools(self, body):
        return {t["name"]: t["input_schema"] for t in body["tools"]}

    def answer(self, text, calls):
        blocks = [{"type": "text", "text": text}] if text else []
        blocks += [{"type": "tool_use", "id": f"toolu_{i}", "name": n, "input": a} for i, (n, a) in enumerate(calls)]
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": blocks,
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }  # fmt: skip

    def error(self, status, message):
        kinds = {401: "authentication_error", 429: "rate_limit_error", 400: "invalid_request_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


class Gemini(Vendor):
    spec, path = "gemini:gemini-1.5-pro", "/models/gemini-1.5-pro:generateContent"
    overflow = "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576)."

    def tools(self, body):
        return {f["name"]: f["parameters"] for t in body["tools"] for f in t["function_declarations"]}

    def answer(self, text, calls):
        parts = [{"text": text}] if text else []
        parts += [{"functionCall": {"name": n, "args": a}} for n, a in calls]
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        }

    def error(self, status, message):
        words = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT"}
        return {"error": {"code": status, "message": message, "status": words.get(status, "INTERNAL")}}


VENDORS = [Anthropic(), Gemini()]
each_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda v: type(v).__name__)


@dataclass
class Seen:
    path: str = ""
    body: dict[str, Any] | None = None
    headers: Any = None


def ask(spec: str, answer: Any, status: int = 200, req=None, policy=None, kind="application/json", **settings: Any):
    """One request to a server that answers so, JSON or bytes of a kind; also returns what it saw."""
    seen = Seen()

    async def handler(http):
        seen.path, seen.headers, seen.body = http.path, http.headers, json.loads(await http.text())
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return web.Response(body=body, status=status, content_type=kind)

    async def work():
        async with serving(handler) as url:
            base = url if "openai" in spec else url.removesuffix("/v1")
            asked = Settings(base_url=base, timeout_s=5, **settings)
            model = LitellmModel(parse_spec(spec), asked, "fc", policy=policy or RetryPolicy(0))
            try:
                sent = req or request(WEATHER, CLOCK, parameters=asked.sent_parameters())
                return await model.generate(sent)
            finally:
                await model.aclose()

    return run(work()), seen


@pytest.mark.slow
@each_vendor
def test_tools_go_out_and_several_calls_come_back(vendor):
    calls = [("weather_lookup", {"town": "Bern", "days": [1, 2]}), ("clock", {"zone": "UTC"})]
    reply, seen = ask(vendor.spec, vendor.answer(None, calls))
    assert seen.path.startswith(vendor.path)
    schemas = vendor.tools(seen.body)
    assert list(schemas) == ["weather_lookup", "clock"]
    properties = schemas["weather_lookup"]["properties"]
    assert {name: p["type"].lower() for name, p in properties.items()} == {
        "town": "string",
        "degrees": "number",
        "days": "array",
    }
    assert schemas["weather_lookup"]["required"] == ["town"]
    assert [(c.name, json.loads(c.arguments)) for c in reply.tool_calls] == calls
    assert all(call.id for call in reply.tool_calls)
    assert (reply.input_tokens, reply.output_tokens) == (11, 7)
    assert reply.problem is None


@pytest.mark.slow
@each_vendor
@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [(401, "invalid key", "auth", False), (429, "slow down", "rate_limit", True), (500, "oops", None, True),
     (200, None, None, True)],
)  # fmt: skip
def test_errors_have_their_kind(vendor, status, message, kind, retryable):
    """A refused key is the user's; limits, servers' errors and answers that cannot be read are tried again."""
    answer = b'{"half": ' if message is None else vendor.error(status, message)
    with pytest.raises(AdapterError) as caught:
        ask(vendor.spec, answer, status, policy=RetryPolicy(1, 5, 0.001, 0.002))
    assert kind in (None, caught.value.kind)
    assert caught.value.retryable is retryable, caught.value
    assert not any(value in str(caught.value) for value in KEYS.values() if "unit-test" in value)


@pytest.mark.slow
@each_vendor
def test_a_context_overflow_is_the_models(vendor):
    reply, _ = ask(vendor.spec, vendor.error(400, vendor.overflow), 400)
    assert reply.problem == "context_overflow"


@pytest.mark.slow
@each_vendor
def test_a_conversation_with_results_goes_out(vendor):
    """The second step of a conversation: the call and its result in the history."""
    req = request(WEATHER, CLOCK)
    req.messages += [
        {"role": "assistant", "content": None, "tool_calls": [tool_call("clock", {"zone": "UTC"}, "call00001")]},
        {"role": "tool", "tool_call_id": "call00001", "name": "clock", "content": "12:00"},
    ]
    reply, seen = ask(vendor.spec, vendor.answer("Noon.", []), req=req)
    assert (reply.text, reply.tool_calls) == ("Noon.", ())
    assert reply.latency_s is not None
    assert "12:00" in json.dumps(seen.body)


@pytest.mark.slow
def test_length_and_filter():
    vendor = Anthropic()
    cut = vendor.answer("half an ans", []) | {"stop_reason": "max_tokens"}
    assert ask(vendor.spec, cut)[0].problem == "length"
    vendor = Gemini()
    blocked = {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "SAFETY", "index": 0}],
               "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}}  # fmt: skip
    assert ask(vendor.spec, blocked)[0].problem == "content_filter"


@pytest.mark.slow
def test_nobody_listens():
    model = LitellmModel(
        parse_spec("groq:llama-3.1-8b-instant"), Settings(base_url="http://127.0.0.1:1/v1"), "fc", policy=RetryPolicy(0)
    )
    with pytest.raises(EndpointUnreachable):
        run(model.generate(request(CLOCK)))


def test_names():
    for text in ("litellm:gpt-4o", "litellm:", "anthropic:"):
        with pytest.raises(UsageError):
            LitellmModel(parse_spec(text), Settings())
    assert LitellmModel(parse_spec("litellm:anthropic/claude-x"), Settings()).route == "anthropic/claude-x"
    model = LitellmModel(parse_spec("openrouter:meta-llama/x:free@prompt"), Settings(), "prompt")
    assert (model.route, model.spec) == ("openrouter/meta-llama/x:free", "openrouter:meta-llama/x:free@prompt")


@pytest.mark.slow
def test_it_stays_at_home():
    import litellm

    assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert not getattr(litellm, "telemetry", False)
    assert set(litellm.success_callback) <= {"cache"}  # its own in-memory one
    assert not litellm.callbacks
    assert load_litellm() is litellm
    quiet = (litellm.telemetry, litellm.suppress_debug_info, litellm.turn_off_message_logging, litellm.modify_params)
    assert quiet == (False, True, True, True)
    assert {logging.getLogger(name).level for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")} == {logging.ERROR}


HEAD = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}


@pytest.mark.slow
def test_a_stream_with_parameters_and_headers():
    events = sse(*(HEAD | event for event in CHAT))
    asked = {"stream": True, "headers": {"X-Team": "a"}, "parameters": {"top_k": 3}, "temperature": None}
    reply, seen = ask("litellm:openai/m@fc", events, kind="text/event-stream", **asked)
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("weather", '{"town": "Zürich"}'), ("clock", "{}")]
    assert (reply.reasoning, reply.output_tokens) == ("thinking é", 9)
    assert reply.first_token_s > 0
    assert (seen.headers.get("x-team"), seen.body["stream"], seen.body["top_k"]) == ("a", True, 3)
    assert "temperature" not in seen.body


def ended(vendor: str, word: Any, *, stream: bool) -> str:
    """What comes of an empty reply that ends with a word: its problem, or the error's kind and word."""
    part = {"role": "assistant", "content": ""}
    chunks = [{**HEAD, "choices": [{"index": 0, "delta": part, "finish_reason": None}]},
              {**HEAD, "choices": [{"index": 0, "delta": {}, "finish_reason": word}]}]  # fmt: skip
    candidate = {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": word, "index": 0}],
                 "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}}  # fmt: skip
    whole = {"openai": completion(part, word), "gemini": candidate}[vendor]
    pieces = {"openai": sse(*chunks), "gemini": sse(candidate, done=False)}[vendor]
    kind = "text/event-stream" if stream else "application/json"
    try:
        reply, _ = ask(f"litellm:{vendor}/m", pieces if stream else whole, kind=kind, stream=stream)
        return reply.problem or "judged"
    except AdapterError as error:
        return f"{error.kind} {getattr(error, 'ending', '')}"


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("vendor", "word", "expected"),
    [
        ("openai", "stop", "judged"), ("openai", "abort", "ending abort"), ("openai", "brand_new", "ending brand_new"),
        ("openai", "length", "length"), ("openai", "content_filter", "content_filter"),
        ("openai", "tool_calls", "ending tool_calls"), ("gemini", "STOP", "judged"), ("gemini", "MAX_TOKENS", "length"),
        ("gemini", "SAFETY", "content_filter"), ("gemini", "MALFORMED_FUNCTION_CALL", "malformed_call"),
        ("gemini", "OTHER", "ending OTHER"), ("gemini", "BRAND_NEW", "ending BRAND_NEW"),
    ],
)  # fmt: skip
def test_endings_are_the_providers_words(vendor, word, expected, stream):
    """litellm calls ``stop`` what it does not know, and what it takes for a stop."""
    assert ended(vendor, word, stream=stream) == expected


@pytest.mark.slow
def test_a_stream_without_a_word_is_no_stop():
    assert ended("openai", None, stream=True) == "ending none"


class Raised(Exception):
    """An exception as litellm raises it."""

    def __init__(self, text: str = "x", status: int | None = None, **fields: Any) -> None:
        super().__init__(text)
        if status is not None:
            self.status_code = status
        vars(self).update(fields)


LONG, POLICY = "ContextWindowExceededError", "ContentPolicyViolationError"


def of(
    name: str, text: str = "x", status: int | None = None, cause: Exception | None = None, headers: Any = None
) -> Exception:
    error = type(name, (Raised,), {})(text, status, **({"litellm_response_headers": headers} if headers else {}))
    error.__cause__ = cause
    return error


def model(text: str = "litellm:openai/m@fc", **settings: Any) -> LitellmModel:
    return LitellmModel(parse_spec(text), Settings(**settings), policy=RetryPolicy(0))


@pytest.mark.parametrize(
    ("error", "kind", "retryable", "status"),
    [
        (of("Timeout", status=408), "timeout", True, None), (TimeoutError("x"), "timeout", True, None),
        (of("InternalServerError", status=500, cause=ConnectionRefusedError()), "unreachable", True, None),
        (of("APIError", "Expecting value: line 1", 500), "malformed_body", True, None),
        (of("InternalServerError", "Missing credentials", 500), "auth", False, None),
        (of("APIError", "the api_key is not set", 500), "auth", False, None),
        (of("BadRequestError", "missing credentials", 400), "bad_request", False, 400),
        (of("APIConnectionError", "no CREDENTIAL found", 500), "auth", False, None),
        (of("APIConnectionError", "odd", 500, ConnectionResetError()), "connection", True, None),
        (of("APIConnectionError", "odd", 500), "malformed_body", True, None),
        (of("Odd"), "bad_request", False, None), (of("NotFoundError", status=404), "bad_request", False, 404),
        (of("RateLimitError", status=429), "rate_limit", True, 429),
        # What litellm takes for the model's, and what its provider says of it.
        (of(LONG, f"BedrockException: Context Window Error - {aws(WAIT)}", 400), "server", True, 503),
        (of(LONG, f"BedrockException - {aws('too many tokens')}", 400, headers=AMZ), "rate_limit", True, 429),
        (of(LONG, f"litellm.{LONG}: {PYTHON}", 400), "rate_limit", True, 429),
        (of(LONG, f"OpenAIException - {OVERFLOW}", 400), "context_overflow", None, None),
        (of(POLICY, f"AzureException - {said(BUSY, type='server_error')}", 400), "server", True, 500),
        (of(POLICY, "flagged by our safety system", 400), "content_filter", None, None),
        (of("BadRequestError", f"OpenAIException - {said('slow', code='rate_limit_exceeded')}", 400), "rate_limit",
         True, 429),
        (of("RateLimitError", f"BedrockException: {aws('too many tokens')}", 429), "rate_limit", True, 429),
        (of("BadRequestError", "messages must alternate", 400), "bad_request", False, 400),
    ],
)  # fmt: skip
def test_what_exceptions_mean(error, kind, retryable, status):
    found = model("litellm:bedrock/x")._outcome(error, tools_sent=False)
    if retryable is None:  # the model's after all
        assert found.problem == kind
        return
    assert isinstance(found, AdapterError)
    assert ("unreachable" if isinstance(found, EndpointUnreachable) else found.kind) == kind
    assert (found.retryable, found.status) == (retryable, status)
    assert "x" in str(found) or str(error) in str(found)


def test_parameters_that_a_provider_refuses_are_left_out():
    asked = model(max_tokens=9)
    assert asked._outcome(of("UnsupportedParamsError", "no temperature"), tools_sent=True) is None
    assert asked._outcome(of("BadRequestError", "max_tokens is odd", 400), tools_sent=True) is None
    assert len(asked.notes) == 2
    assert set(asked._arguments(request(CLOCK,
    parameters={"temperature": 1, "max_tokens": 9, "top_p": 1, "x": None}))) & {
        "temperature", "max_tokens", "top_p", "x"
    } == {"top_p"}  # fmt: skip
    again = asked._outcome(of("BadRequestError", "no temperature", 400), tools_sent=True)
    assert isinstance(again, AdapterError)
    other = model()
    assert other._outcome(
        of("BadRequestError", "max_tokens: maximum context length is 9", 400), tools_sent=True
    ).problem
    assert not other.notes
    assert isinstance(other._outcome(of("NotFoundError", "no temperature", 404), tools_sent=True), AdapterError)
    assert type(other._outcome(of("UnsupportedParamsError", "no tools", 400), tools_sent=True)) is ToolsRefused
    assert type(other._outcome(of("UnsupportedParamsError", "no tools", 400), tools_sent=False)) is AdapterError
    assert type(other._outcome(of("UnsupportedParamsError", "no seed", 400), tools_sent=True)) is AdapterError


def test_what_is_handed_to_litellm():
    req = request(CLOCK, parameters={"temperature": 0.5})
    req.messages[0]["_own"] = 1
    bare = model()._arguments(req)
    assert bare.pop("tools")[0]["function"]["name"] == "clock"
    message = {"role": "user", "content": "How is the weather in Bern?"}
    assert bare == {"model": "openai/m", "messages": [message], "timeout": 120.0, "max_retries": 0, "num_retries": 0,
                    "temperature": 0.5}  # fmt: skip
    asked = LitellmModel(
        parse_spec("litellm:openai/m"), Settings(base_url="http://u:p@h/v1", headers={"A": "b"}), "prompt"
    )
    asked._without_mcp = {"_skip_mcp_handler": True}
    assert (asked.base_url, asked.underscore_names, asked.spec) == ("http://h/v1", False, "litellm:openai/m@prompt")
    prompted = asked._arguments(req)
    assert (prompted["api_base"], prompted["extra_headers"]) == ("http://u:p@h/v1", {"A": "b"})
    assert not {"tools", "_skip_mcp_handler"} & set(prompted)
    asked.mode = "fc"
    assert asked._arguments(req)["_skip_mcp_handler"] is True
    assert "tools" not in asked._arguments(request())


def test_causes_are_followed_so_far():
    first = current = Raised("0")
    for number in range(1, 12):
        current.__context__ = following = Raised(str(number))
        current = following
    assert [str(each) for each in _causes(first)] == [str(number) for number in range(10)]
    circle = Raised("a")
    circle.__cause__ = other = Raised("b")
    other.__context__ = circle
    assert _causes(circle) == [circle, other]
    other.__cause__ = Raised("c")
    assert [str(each) for each in _causes(circle)] == ["a", "b", "c"]


def test_words_of_streams_keep_what_they_stand_for():
    words = _Words({"end_turn": "stop"})
    assert [words.get(each) for each in ("end_turn", "odd")] == ["stop", "stop"]
    odd = words.get("odd")
    assert (odd.given, words.get(odd) is odd, words.get(None), words.get(3)) == ("odd", True, None, 3)
    made_up = SimpleNamespace(received_finish_reason=None, intermittent_finish_reason=None)
    assert _made_up(made_up)
    made_up.intermittent_finish_reason = "stop"
    assert not _made_up(made_up)
    assert not _made_up(object())


def test_secrets_of_the_environment_are_the_long_ones(monkeypatch):
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in (("A_KEY", "x" * 16), ("B_KEY", "x" * 15), ("C_TOKEN", "t" * 16), ("D_OTHER", "o" * 16)):
        monkeypatch.setenv(name, value)
    assert sorted(_environment_secrets()) == ["t" * 16, "x" * 16]


@pytest.mark.parametrize("said", [True, False])
def test_a_stream_begins_with_its_first_piece(said):
    """And ends as its provider said; where that said nothing, litellm's own word is none."""

    def chunk(finish=None, **delta):
        plain = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        return SimpleNamespace(model_dump=lambda: plain, choices=[SimpleNamespace(finish_reason=finish)])

    class Stream:
        received_finish_reason = "end_turn" if said else None
        intermittent_finish_reason = None

        async def __aiter__(self):
            yield chunk(role="assistant", content="")
            await asyncio.sleep(0.1)
            yield chunk(content="hi")
            await asyncio.sleep(0.1)
            yield chunk(_Words({}).get("end_turn") if said else "stop")

    async def acompletion(**arguments):
        assert (arguments["stream"], arguments["stream_options"]) == (True, {"include_usage": True})
        return Stream()

    body, first = run(_streamed(SimpleNamespace(acompletion=acompletion), {}))
    assert body["choices"] == [{"finish_reason": "end_turn" if said else None, "message": {"content": "hi"}}]
    assert first >= 0.1
