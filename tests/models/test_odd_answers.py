"""Answers that no correct server gives, byte by byte: read where nothing is lost, asked for again, or named.

Never a reply with something missing or replaced in it, never an exception of another kind, and never for longer than
the limits of a request.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import parse_spec
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply
from tests.models.loopback import WEATHER, completion, request, run, tool_call

BODY = completion({"tool_calls": [tool_call("weather_lookup", '{"town": "Köln"}')]}, "tool_calls")
TEXT = json.dumps(BODY, ensure_ascii=False)
PACKED = gzip.compress(TEXT.encode())


def http(body: str | bytes, status: str = "200 OK", **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else body.encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(content))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + content


def chunked(*parts: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + end


def message(**fields: Any) -> bytes:
    return http(json.dumps(completion({"content": None, **fields}, "tool_calls")))


GOOD = http(TEXT)
READ: dict[str, bytes] = {
    # the whole answer is there, whatever is odd about it
    "chunks": chunked(TEXT[:50].encode(), TEXT[50:].encode()),
    "packed": http(PACKED, Content_Encoding="gzip"),
    "hints before": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + GOOD,
    "plain text": http(TEXT, Content_Type="text/plain"),
    "byte order mark": http(b"\xef\xbb\xbf" + TEXT.encode()),
    "utf-16": http(TEXT.encode("utf-16"), Content_Type="application/json; charset=utf-16"),
    "latin-1, and said so": http(TEXT.encode("latin-1"), Content_Type="application/json; charset=ISO-8859-1"),
    "utf-8, said to be latin-1": http(TEXT, Content_Type="application/json; charset=ISO-8859-1"),
    "created": http(TEXT, "201 Created"),
    "a key twice": http('{"choices": [], ' + TEXT[1:]),
    "NaN": http(TEXT.replace('"prompt_tokens": 11', '"prompt_tokens": NaN')),
    "endless": http(TEXT.replace('"prompt_tokens": 11', '"prompt_tokens": 1e999')),
    "usage is a list": http(json.dumps({**BODY, "usage": [1]})),
    "bare line feeds": GOOD.replace(b"\r\n", b"\n"),
    "more behind it": GOOD + b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n",
    "odd facts": http(json.dumps({**BODY, "id": 5, "model": None, "created": "x", "error": {}})),
}
AGAIN: dict[str, tuple[bytes, str]] = {
    # asked for again; when it lasts, the error's kind
    "cut in a chunk": (chunked(TEXT[:50].encode(), end=b""), "connection"),
    "no size of a chunk": (chunked(end=b"zz\r\nabc\r\n"), "connection"),
    "packed rubbish": (http(b"not gzip at all", Content_Encoding="gzip"), "connection"),
    "packed and cut": (http(PACKED[: len(PACKED) // 2], Content_Encoding="gzip"), "malformed_body"),
    "nothing": (http(""), "malformed_body"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", "malformed_body"),
    "a part": (http(TEXT[:40], "206 Partial Content"), "malformed_body"),
    "no head": (b"hello there\r\n", "connection"),
    "half a head": (b"HTTP/1.1 20", "connection"),
    "closed at once": (b"", "connection"),
    "any bytes": (bytes(range(256)), "connection"),
    "hints for ever": (b"HTTP/1.1 102 Processing\r\n\r\n" * 999, "connection"),
    "shorter than said": (http(TEXT, Content_Length=str(len(TEXT.encode()) + 50)), "connection"),
    "no number as length": (http(TEXT, Content_Length="abc"), "connection"),
    "a header of a megabyte": (http(TEXT, X="y" * 1_000_000), "connection"),
    "no utf-8": (http(TEXT.encode("latin-1")), "malformed_body"),
    "twice": (http(TEXT + TEXT), "malformed_body"),
    "python": (http(str(BODY)), "malformed_body"),
    "deep": (http("[" * 200_000), "malformed_body"),
    "a page": (http("<html><title>Log in</title></html>", Content_Type="text/html"), "malformed_body"),
    "null": (http("null"), "malformed_body"),
    "no message": (http('{"choices": [{"message": null}]}'), "malformed_body"),
    "calls are a text": (message(tool_calls="get_weather"), "malformed_body"),
    "calls are an object": (message(tool_calls={"name": "x"}), "malformed_body"),
    "a call is a text": (message(tool_calls=["get_weather"]), "malformed_body"),
    "a page of 503": (http("<html><title>Busy</title></html>", "503 Busy", Content_Type="text/html"), "server"),
    "a status nobody knows": (http(TEXT, "999 Odd"), "server"),
    "overloaded, with 200": (http('{"error": "overloaded"}'), "server"),
    "a date that is past": (http("{}", "429 Slow", Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), "rate_limit"),
    "words for a date": (http("{}", "429 Slow", Retry_After="soon"), "rate_limit"),
}
ONCE: dict[str, tuple[bytes, str]] = {
    # not asked again: it would be the same
    "several places": (http(TEXT, "300 Multiple Choices"), "bad_request"),
    "a redirect to itself": (http("", "302 Found", Location="/v1/chat/completions"), "bad_request"),
    "a date far ahead": (http("{}", "429 Slow", Retry_After="Wed, 21 Oct 2099 07:28:00 GMT"), "rate_limit"),
    "a wait for ever": (http("{}", "429 Slow", Retry_After="inf"), "rate_limit"),
    "a bomb": (http(gzip.compress(b"0" * 20_000_000), Content_Encoding="gzip"), "malformed_body"),
}


def ask(answer: bytes, *, lasting: bool, pause_s: float = 0.0, **limits: float) -> tuple[Reply | AdapterError, int]:
    """What comes of a question answered so, the first time or always, and how often it was asked.

    With a pause the answer comes byte by byte.
    """

    async def work() -> tuple[Reply | AdapterError, int]:
        asked = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"post"):
                    await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
                    asked += 1
                    said = answer if lasting or asked == 1 else GOOD
                    for piece in [bytes([byte]) for byte in said] if pause_s else [said]:
                        writer.write(piece)
                        await writer.drain()
                        await asyncio.sleep(pause_s)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        policy = RetryPolicy(retries=0 if pause_s else 2, limit_s=10, first_s=0.001, longest_s=0.002)
        settings = Settings(timeout_s=5, **limits)
        model = OpenAIModel(parse_spec("openai:m"), settings, "fc", base_url=url, policy=policy)
        try:
            return await model.generate(request(WEATHER)), asked
        except AdapterError as error:
            return error, asked
        finally:
            await model.aclose()
            server.close()

    return run(work())


def is_whole(reply: Reply | AdapterError) -> bool:
    assert isinstance(reply, Reply), reply
    (call,) = reply.tool_calls
    return (call.name, json.loads(call.arguments)) == ("weather_lookup", {"town": "Köln"})


@pytest.mark.parametrize("name", READ)
def test_what_is_whole_is_read(name: str) -> None:
    reply, asked = ask(READ[name], lasting=True)
    assert is_whole(reply)
    assert asked == 1
    assert isinstance(reply, Reply)
    assert reply.input_tokens in (11, None)


@pytest.mark.parametrize("name", AGAIN)
def test_what_is_broken_is_asked_for_again_and_named_when_it_lasts(name: str) -> None:
    answer, kind = AGAIN[name]
    reply, asked = ask(answer, lasting=False)
    assert is_whole(reply)
    assert asked == 2
    error, asked = ask(answer, lasting=True)
    assert isinstance(error, AdapterError)
    assert (error.kind, asked) == (kind, 3), error
    assert len(error.message) < 600
    assert "RawResponseMessage" not in error.message


@pytest.mark.parametrize("name", ONCE)
def test_what_would_be_the_same_again_is_named_at_once(name: str) -> None:
    answer, kind = ONCE[name]
    error, asked = ask(answer, lasting=True)
    assert isinstance(error, AdapterError)
    assert (error.kind, asked) == (kind, 1), error


def test_a_redirect_is_named_and_not_followed() -> None:
    answer = http("", "308 Permanent Redirect", Location="https://elsewhere.example/v1/chat/completions?key=secret")
    error, asked = ask(answer, lasting=True)
    assert isinstance(error, AdapterError)
    assert (error.kind, asked) == ("bad_request", 1)
    assert "sends requests to https://elsewhere.example/v1/chat/completions, where none goes with a key" in error.advice
    assert "secret" not in error.advice


def test_a_head_that_trickles_meets_the_total_limit() -> None:
    error, _ = ask(http(TEXT), lasting=True, pause_s=0.05, request_limit_s=0.3)
    assert isinstance(error, AdapterError)
    assert error.kind == "timeout"
