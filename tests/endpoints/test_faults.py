"""Status, code and type decide what an error means; the text only where they are silent."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

import pytest

from pytest_bfcl.endpoints.faults import ErrorInBody, error_in, http_fault, retry_after
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models.base import ToolsRefused
from pytest_bfcl.transcript import Reply

OVERFLOW = "This model's maximum context length is 8192 tokens."
WAIT = "Too many tokens, please wait before trying again."
BUSY = "Our moderation service is temporarily unavailable."


def error(message: str, **fields: Any) -> str:
    return json.dumps({"error": {"message": message, **fields}})


def aws(message: str, kind: str | None = None) -> str:
    return json.dumps({"message": message} | ({"__type": kind} if kind else {}))


AMZ = {"x-amzn-ErrorType": "ThrottlingException:http://internal.amazon.com/"}
PYTHON = "Error code: 400 - {'error': {'message': 'too many tokens', 'type': 'tokens', 'code': 'rate_limit_exceeded'}}"
OVERFLOWS = (
    (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
    (400, "the request exceeds the available context size, try increasing it"),
    (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    (413, "Request too large: maximum context"),
    (400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768)."),
    (400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`"),
    (400, "Prompt length (9000) exceeds maximum input length (8192). Set log level to info."),
    (500, "default_max_tokens (-3) must be > 0, max_seq_len (2048) - splited_prompt_len (2051)"),
    (400, "Please reduce the length of the messages or completion."),
    (400, "The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)"),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens"),
    (400, "Your input exceeds the context window of this model"),
)
CASES: list[tuple[int, str, dict[str, str], str]] = [
    # the code says that it passes, whatever the text looks like
    (400, error("Request too large: maximum context", type="tokens", code="rate_limit_exceeded"), {}, "rate_limit"),
    (413, error("Request too large for tokens per minute", code="rate_limit_exceeded"), {}, "rate_limit"),
    (400, aws(WAIT, "ThrottlingException"), {}, "rate_limit"),
    (400, aws("too many tokens"), AMZ, "rate_limit"),
    (400, "ThrottlingException: too many tokens", {}, "rate_limit"),
    (400, PYTHON, {}, "rate_limit"),
    (403, error("blocked by our usage policies", code="rate_limit_exceeded"), {}, "rate_limit"),
    (400, error(BUSY, type="server_error"), {}, "server"),
    (400, error("content policy check failed", type="server_error", code="content_filter"), {}, "server"),
    (422, error(OVERFLOW, type="service_unavailable"), {}, "server"),
    (500, error(OVERFLOW, type="server_error"), {}, "server"),
    (400, error(OVERFLOW, code=429), {}, "rate_limit"), (400, error("maximum context", code="529"), {}, "server"),
    (400, error("flagged", type="timeout_error"), {}, "timeout"),
    (400, error("no", code=503, type="invalid_request_error"), {}, "server"),
    *((400, error("no", code=code), {}, kind) for code, kind in (
        (408, "timeout"), (409, "server"), (425, "server"), (429, "rate_limit"), (498, "rate_limit"))),
    (400, error(OVERFLOW, type="rate_limit_error", code=400), {}, "rate_limit"),
    # … and what the model did
    (400, error("no", code="context_length_exceeded"), {}, "context_overflow"),
    (500, error("no", type="exceed_context_size_error"), {}, "context_overflow"),
    (400, error("no", code="content_filter"), {}, "content_filter"),
    (403, error("no", code="DataInspectionFailed", type="data_inspection"), {}, "content_filter"),
    (400, error("no", innererror={"code": "ResponsibleAIPolicyViolation"}), {}, "content_filter"),
    (400, error("no", code="context_length_exceeded", type="server_error"), {}, "context_overflow"),
    *((status, error("no", type="data_inspection"), {}, "content_filter") for status in (400, 422)),
    # they are silent: the text decides
    *((status, text if status == 413 else error(text), {}, "context_overflow") for status, text in OVERFLOWS),
    *((400, text, {}, "bad_request") for text in (
        "invalid tool schema", "unknown field max_tokenz", "Your account is suspended: content policy violations")),
    (403, error("Your account was suspended for violating our usage policies"), {}, "auth"),
    (403, error("Request blocked by moderation settings of your organization"), {}, "auth"),
    (400, "Your prompt was flagged as potentially violating our usage policy.", {}, "content_filter"),
    (400, error(OVERFLOW, type="invalid_request_error", code=400), {}, "context_overflow"),
    (400, error(OVERFLOW), {}, "context_overflow"), (400, "prompt is too long", {}, "context_overflow"),
    (400, error("Your prompt violates our usage policies.", type="invalid_request_error"), {}, "content_filter"),
    (400, WAIT, {}, "server"), (400, error(BUSY), {}, "server"),
    (422, error("Rate limit: too many tokens"), {}, "rate_limit"),
    (400, error("messages must alternate", type="invalid_request_error"), {}, "bad_request"),
    (400, error(BUSY, type="invalid_request_error"), {}, "bad_request"),
    # the status decides
    (429, error(OVERFLOW), {}, "rate_limit"), (503, error("content policy"), {}, "server"),
    (498, error("flex tier capacity exceeded"), {}, "rate_limit"), (529, error("overloaded"), {}, "server"),
    (408, error(OVERFLOW), {}, "timeout"), (404, error("no such model: context window"), {}, "bad_request"),
    (400, error("pay", code="insufficient_quota"), {}, "quota"),
    (429, error("rate limit", type="insufficient_quota"), {}, "quota"), (402, error("pay"), {}, "quota"),
    (429, error("You exceeded your current quota, check your plan and billing", type="requests"), {}, "rate_limit"),
    (400, error("Your account has reached its limit", type="billing_hard_limit_reached"), {}, "quota"),
]  # fmt: skip
PASSING = ("rate_limit", "server", "timeout", "quota")


@pytest.mark.parametrize(("status", "text", "headers", "kind"), CASES)
def test_code_before_text(status: int, text: str, headers: dict[str, str], kind: str) -> None:
    found = http_fault(status, text, headers)
    if isinstance(found, Reply):
        assert (found.problem, found.finish_reason) == (kind, kind)
    else:
        assert (found.kind, found.retryable) == (kind, kind in PASSING)


PAGE = "<html><title>\nBlocked</title> by a firewall: context length, moderation, try again later"


@pytest.mark.parametrize(
    ("status", "text", "kind", "advice", "retryable"),
    [
        (400, PAGE, "bad_request", None, False),
        (400, "<html>context length exceeded</html>", "bad_request", None, False),
        (401, error("no"), "auth", "check the key", False),
        (402, "pay", "quota", "top up the account", True),
        (401, error("no", code="billing_off"), "quota", "top up the account", True),
        (404, error("no", code="billing_off"), "bad_request", "check the base URL", False),
        (404, error("no", type="server_error"), "bad_request", "check the base URL", False),
        (403, error("no"), "auth", "check the key", False),
        (403, PAGE, "auth", "a page, not the API's own answer", True),
        (307, "", "bad_request", "check the base URL (it usually ends in /v1)", False),
        (300, "", "bad_request", "check the base URL", False),
        (399, "", "bad_request", "check the base URL", False),
        (405, "", "bad_request", "check the base URL", False),
        (406, "", "bad_request", None, False),
        (409, "", "server", None, True),
        (425, "", "server", None, True),
        (504, "", "timeout", None, True),
        (600, "", "server", None, True),
        (429, "", "rate_limit", "lower --bfcl-concurrency", True),
        (400, error("flagged", code="418"), "bad_request", None, False),
        (400, error("no", code=["insufficient_quota"]), "bad_request", None, False),
        (400, error("no", code="599"), "server", None, True),
        (400, error("no", code="600"), "bad_request", None, False),
        (400, error("no", code="not_found"), "bad_request", None, False),
        (413, error("usage policies"), "bad_request", None, False),
        (500, error("flagged", code="content_filter"), "server", None, True),
        (403, error("maximum context"), "auth", "check the key", False),
        (403, error("no", code="context_length_exceeded"), "auth", "check the key", False),
        (400, error("usage policies: the account is suspended"), "bad_request", None, False),
        (400, error("maximum context", code="insufficient_balance"), "quota", "top up the account", True),
        (422, "try again later", "server", None, True),
        (413, "try again later", "bad_request", None, False),
    ],
)
def test_what_is_told_of_an_error(status: int, text: str, kind: str, advice: str | None, retryable: bool) -> None:
    found = http_fault(status, text, {"Retry-After": "7"})
    assert isinstance(found, AdapterError)
    assert (found.kind, found.retryable) == (kind, retryable)
    assert (found.advice or "").startswith(advice) if advice else not found.advice
    assert found.retry_after_s == (7.0 if retryable else None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (error("why", code="a", type="b", status=4), "why (a b)"),
        (error("why", code=5), "why"),
        (json.dumps({"error": {"detail": "why", "innererror": {"code": "x"}}}), "why (x)"),
        (json.dumps({"msg": "why"}), "why"),
        (json.dumps({"type": "error", "error": {"message": "why", "type": "x"}}), "why (x error)"),
        (json.dumps({"error": {"error": {"message": "why"}}}), "why"),
        (json.dumps({"error": ["first", "second"]}), "first"),
        (json.dumps([{"error": {"message": "why"}}]), "why"),
        (json.dumps({"error": []}), '{"error": []}'),
        (json.dumps({"error": {"a": 1}}), '{"error": {"a": 1}}'),
        (json.dumps({"error": {"message": {"a": 1}, "code": "x"}}), "{'a': 1}"),
        ('"only text"', "only text"),
        ("\n  first line \nsecond", "first line"),
        ("[" * 100_000, "[" * 20),
        ("<html><style>p {}</style><p>\n Busy </p>", "Busy"),
        ("", "no message"),
    ],
)
def test_the_message_in_any_shape(text: str, message: str) -> None:
    found = http_fault(418, text)
    assert isinstance(found, AdapterError)
    said = found.message.removeprefix("the endpoint answered HTTP 418: ")
    assert said == message or (message.startswith("[") and said.startswith(message))


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', True),
        ("tools param requires --jinja flag", True), ("No endpoints found that support tool use.", True),
        ("Unrecognized request argument supplied: tools", True),
        ("`tool calling` is not supported with this model", True),
        # a complaint about one tool is none
        ("Invalid schema for function 'x': array schema missing items", False),
        ("loc: ('body', 'tools', 0, 'function') extra_forbidden", False),
        ("tools.0.custom.input_schema: unexpected value", False), ("too many tools: at most 128", False),
    ],
)  # fmt: skip
def test_texts_that_refuse_tools(text: str, refused: bool) -> None:
    assert isinstance(http_fault(400, text, tools_sent=True), ToolsRefused) is refused


@pytest.mark.parametrize(
    ("sent", "status", "refused"),
    [(True, 400, True), (False, 400, False), (True, 401, False), (True, 403, False), *((True, n, True) for n in (
        404, 405, 422, 500, 501)), (True, 502, False)],
)  # fmt: skip
def test_refused_tools(sent: bool, status: int, refused: bool) -> None:
    found = http_fault(status, error("this model does not support tools"), tools_sent=sent)
    assert isinstance(found, ToolsRefused) is refused
    assert isinstance(found, AdapterError)
    assert found.status == status


def test_where_a_request_is_sent_on_to() -> None:
    found = http_fault(302, "", {"Location": "https://h/v2?key=1"}, endpoint="http://h", model="m")
    assert isinstance(found, AdapterError)
    assert found.advice == (
        "it sends requests to https://h/v2, where none goes with a key: if that is right, name that base URL"
    )
    found = http_fault(404, "", {}, model="m")
    assert isinstance(found, AdapterError)
    assert found.advice == "check the base URL (it usually ends in /v1) and the model name 'm'"
    found = http_fault(404, "")
    assert isinstance(found, AdapterError)
    assert found.advice == "check the base URL (it usually ends in /v1)"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None), ({"Retry-After": "2.5"}, 2.5), ({"RETRY-AFTER-MS": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0), ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None), ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({"retry-after": "Mon, 99 Foo 2026 00:00:00 GMT"}, None),
    ],
)  # fmt: skip
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


CHOICE = {"choices": [{"index": 0, "finish_reason": "abort"}]}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (None, None), ([], None), ({}, None), ({"error": None}, None), ({"error": {}, "object": "list"}, None),
        ({"error": "words"}, (500, "words", None)),
        ({"error": {"code": 429}}, (429, '{"error": {"code": 429}}', None)),
        ({"error": {"code": 400}}, (400, '{"error": {"code": 400}}', None)),
        ({"error": {"code": 399}}, (500, '{"error": {"code": 399}}', None)),
        ({"error": {"status_code": 503}}, (503, '{"error": {"status_code": 503}}', None)),
        ({"error": {"type": "not_found"}}, (404, '{"error": {"type": "not_found"}}', None)),
        ({"object": "error", "message": "m"}, (500, '{"error": {"message": "m"}}', None)),
        ({**CHOICE, "error": "e"}, (500, "e", "abort")),
        ({"choices": [{"index": 0, "finish_reason": "stop", "error": "e"}]}, (500, "e", "error")),
        ({"output": [], "status": "failed", "error": "e"}, (500, "e", "failed")),
        ({"content": [], "error": "e"}, (500, "e", "error")), ({"content": "x", "error": "e"}, (500, "e", None)),
        ({"output": [], "status": ["x"], "error": "e"}, (500, "e", "error")),
        ({"content": [], "stop_reason": "odd", "error": "e"}, (500, "e", "odd")),
    ],
)  # fmt: skip
def test_errors_in_bodies(body: object, found: object) -> None:
    assert error_in(body) == found


@pytest.mark.parametrize(("status", "text", "kind"), [
    (500, "e", "ending"), (401, "e", "auth"), (429, "e", "rate_limit"), (402, "e", "quota"), (503, "e", "ending"),
])  # fmt: skip
def test_an_error_beside_a_reply_is_its_ending(status: int, text: str, kind: str) -> None:
    fault = http_fault(status, text)
    assert isinstance(fault, AdapterError)
    beside = ErrorInBody(status, text, "error").as_ending(fault)
    assert isinstance(beside, AdapterError)
    assert (beside.kind, beside.status) == (kind, status)
    assert ErrorInBody(status, text).as_ending(fault) is fault
    for other in (Reply("x"), ToolsRefused("no")):
        assert ErrorInBody(status, text, "error").as_ending(other) is other
