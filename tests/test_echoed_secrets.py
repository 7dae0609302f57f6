"""A server that gives back every header it was sent, in replies and errors: no form of a credential is kept."""

from __future__ import annotations

import base64
import contextlib
import copy
import gzip
import html
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from aiohttp import web

from pytest_bfcl.cli import main
from pytest_bfcl.endpoints.retrying import RetryPolicy
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models.openai import OpenAIModel
from pytest_bfcl.models.spec import parse_spec
from pytest_bfcl.redaction import HIDDEN, hide, secrets_of
from pytest_bfcl.runs.journal import reply_to_dict
from pytest_bfcl.settings import Settings
from tests.models.loopback import WEATHER, request, run, serving
from tests.reporting.samples import inflated
from tests.wires import NORMAL, WIRES

KEY = "k€y/+\"quo'te\\back%41&<amp>~-7Qz9"
PASSWORD = "pä ss/w?rd:#1@x&Zq8"
BASIC = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
QUERY = "q+uery/va=lue%77"
HEADER = "Bearer he\"ader'7€x.y_z0/9"
COOKIE = "session=c00kie-Value.77; theme=dark"


class Echo(BaseHTTPRequestHandler):
    """Every answer is full of the request's headers and address, in the forms that servers print them."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        """A list of models, named by what was sent."""
        self.answer(200, {"data": [{"id": self.told()[:300]}]})

    def do_POST(self) -> None:
        """Answers of all kinds in turns."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number, type(self).asked = self.asked, self.asked + 1
        told = self.told()
        if number % 3 == 0:
            errors: tuple[tuple[int, object], ...] = (
                (400, {"error": {"message": told, "type": "invalid_request_error"}}), (500, told), (302, ""),
                (200, {"error": {"message": told, "code": 400}}), (200, told), (401, {"detail": told}),
            )  # fmt: skip
            self.answer(*errors[number // 3 % len(errors)])
        elif body.get("stream"):
            deltas = [{"content": told[:25]}, {"content": told[25:]}, {}]
            chunks = [
                {"choices": [{"index": 0, "delta": each, "finish_reason": None if each else "stop"}]} for each in deltas
            ]
            lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
            self.answer(200, f"{lines}data: [DONE]\n\n", "text/event-stream")
        else:
            message: dict[str, object] = {"role": "assistant", "content": told, "x_debug": {told: [told]}}
            message["reasoning_content"] = html.escape(told)
            if number % 3 == 1:
                function = {"name": told[:40], "arguments": json.dumps({"a": told})}
                message["tool_calls"] = [{"id": told[:150], "type": "function", "function": function}]
            ending = told if number % 3 == 2 and number % 2 else "stop"
            choice = {"index": 0, "message": message, "finish_reason": ending, "native_finish_reason": told}
            self.answer(200, {"id": told, "model": told, "system_fingerprint": told, "choices": [choice]})

    def told(self) -> str:
        """What came in, as it is and in other writings."""
        lines = [f"{name}: {value}" for name, value in self.headers.items()]
        whole = " | ".join([*lines, self.path])
        utf8 = whole.encode("latin-1", "replace").decode("utf-8", "replace")
        forms = [quote(utf8), quote(utf8, safe=""), html.escape(utf8), json.dumps(utf8), repr(utf8), unquote(utf8)]
        key = base64.b64encode(self.headers.get("authorization", "").removeprefix("Bearer ").encode("latin-1")).decode()
        return " || ".join([whole, utf8, *forms, json.dumps(json.dumps(utf8)), key])

    def answer(self, status: int, body: object, kind: str = "application/json") -> None:
        """Send it."""
        raw = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        if status == 302:
            self.send_header("location", f"http://elsewhere.example/{quote(self.headers.get('authorization', ''))}")
        self.end_headers()
        self.wfile.write(raw)


@pytest.fixture
def echo() -> Iterator[str]:
    Echo.asked = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def forms(secret: str) -> Iterator[str]:
    """Everything a secret may look like in a file."""
    for text in (secret, unquote(secret), secret.encode().decode("latin-1")):
        for once in (text, quote(text), quote(text, safe=""), html.escape(text), json.dumps(text)[1:-1]):
            yield from (once, json.dumps(once)[1:-1], html.escape(once))


def written(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "replace")
            if path.parent.name in ("entries", "data") and path.suffix == ".js":  # what is packed, as it is read
                text = json.dumps(inflated(text.partition('"')[2].rpartition('"')[0]), ensure_ascii=False)
            yield from ((str(path), text), (f"{path} unescaped", html.unescape(text)))


AZURE = f"http://{{}}/v1?api-key={QUERY}&api-version=2024-10-21"
USER = f"http://user:{quote(PASSWORD, safe='')}@{{}}/v1"
PLAIN = "http://{}/v1"
OWN = ("--bfcl-header", f"Authorization: {HEADER}", "--bfcl-header", f"Cookie: {COOKIE}")
BODY = ("--bfcl-param", 'api_key="in-the-b0dy-Xk4"', "--bfcl-header", "X-Echo: in-the-b0dy-Xk4")
WAYS = {
    "bearer": (PLAIN, KEY, (), (KEY, base64.b64encode(KEY.encode()).decode()), ("Qz9",)),
    "x-api-key": (PLAIN, KEY, (), (KEY,), ("Qz9",)),
    "basic": (USER, "", (), (PASSWORD, BASIC, BASIC.rstrip("=")), ("Zq8", BASIC[8:20])),
    "query": (AZURE, "", (), (QUERY,), ("lue%77", "luew")),
    "headers": (PLAIN, "", OWN, (HEADER, HEADER[7:], "c00kie-Value.77"), ("x.y_z0", "c00kie")),
    "parameter": (PLAIN, "", BODY, ("in-the-b0dy-Xk4",), ("b0dy",)),
}
"""How a credential is sent: address, key, options; what it is; pieces that every form of it has."""


OWN_TEST = """
import pytest

@pytest.mark.parametrize("number", range(9))
def test_ask(ask, number):
    tool = {"name": "get_weather", "description": "d", "parameters": {"type": "object", "properties": {}}}
    with pytest.raises(AssertionError):
        assert not ask(f"Weather {number}?", tools=[tool])
"""
FORMATS = ("badge", "every-eval-ever", "hf-eval-results", "inspect", "latex", "lm-eval", "markdown", "otel")
MADE_OF_A_RUN = [
    *(["export", "run", "--format", name, "-o", f"as/{name}"] for name in FORMATS),
    ["export", "run", "--data", "bundled", "-o", "as/official"],
    ["export", "run", "--data", "bundled", "--official", "--layout", "csv", "-o", "as/csv"],
    ["export", "run", "--table", "as/table.csv"],
    ["export", "report", "run"],
    ["comment", "run", "-o", "as/comment.md"],
    ["view", "site", "run", "-o", "as/site"],
    ["leaderboard", "run", "-o", "as/board"],
    ["explain", "run"],
]
"""Everything that is written of a run later."""


@pytest.mark.parametrize(
    "secret", [KEY, PASSWORD, QUERY, HEADER, COOKIE, "n" * 500, "123456789", "ключ-от-двери", "🔑" * 9]
)
def test_every_form_is_found_in_a_text(secret: str) -> None:
    for form in (*forms(secret), json.dumps(json.dumps(secret))[3:-3], secret[:-1]):
        shown = hide(f"before {form} behind {form}", secrets_of(key=secret))
        assert shown.count(HIDDEN) == (2 if form != secret[:-1] else 1), (form, shown)


@pytest.mark.parametrize("streamed", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "way", [each if each == "basic" else pytest.param(each, marks=pytest.mark.slow) for each in WAYS]
)
def test_no_form_of_a_credential_is_kept(
    echo: str, tmp_path: Path, way: str, streamed: bool, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    url, key, options, secrets, pieces = WAYS[way]
    provider = "anthropic" if way == "x-api-key" else "openai"
    home = str(tmp_path / "home")
    (tmp_path / "test_own.py").write_text(OWN_TEST)
    environment = {"PATH": "/usr/bin:/bin", "HOME": home, f"{provider.upper()}_API_KEY": key, "PYTHONUTF8": "1"}
    asking = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--model", f"{provider}:m", "--bfcl-base-url",
        url.format(echo), "--bfcl-retries", "0", "-vv", "-rA", *options, *(["--bfcl-stream"] * streamed),
    ]  # fmt: skip
    entries = (f"bfcl/{name}.jsonl" for name in ("simple_python", "multi_turn_base", "irrelevance", "memory_kv"))
    what = ["test_own.py", *entries, "--bfcl-record", "recorded.jsonl", "--bfcl-data", "bundled", "--bfcl-sample", "20",
            "--bfcl-out", "run", "--bfcl-report", "full", "--junitxml", "junit.xml",
            "--bfcl-write-expected", "expected.json"]  # fmt: skip
    done = subprocess.run(
        [*asking, *what], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    said = done.stdout + done.stderr
    (tmp_path / "terminal.txt").write_text(said)
    assert Echo.asked > 6, said
    assert "[hidden]" in said
    assert way != "basic" or (tmp_path / "recorded.jsonl").stat().st_size > 500
    for command in MADE_OF_A_RUN:
        main(command)
        (tmp_path / f"{command[-1].replace('/', '-')}.said.txt").write_text("".join(capsys.readouterr()))
    made = {path.name for path in (tmp_path / "as").iterdir()}
    assert made >= {*FORMATS, "official", "csv", "table.csv", "comment.md", "site", "board"} - {"badge"}
    for path, text in written(tmp_path):
        for form in (*(form for secret in secrets for form in forms(secret)), *pieces):
            at = text.find(form)
            assert at < 0, (path, form, text[max(at - 200, 0) : at + 60])


def leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The places of a body: every text, number and object in it."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in pairs:
        yield from leaves(inner, (*path, name))


def tainted(body: object, path: tuple[Any, ...], canary: str) -> list[Any]:
    """The body with the canary in one place: instead of what is there, and as one more field with it as name."""
    made = []
    for beside in (False, True):
        whole = copy.deepcopy(body)
        place: Any = whole
        for name in path[:-1]:
            place = place[name]
        inner = place[path[-1]] if path else whole
        if beside and isinstance(inner, dict):
            inner |= {canary: canary, "error": None, "status": canary}
            made.append(whole)
        elif not beside and path:
            place[path[-1]] = canary
            made.append(whole)
    return made


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", WIRES)
def test_no_field_of_a_reply_keeps_what_the_request_was_sent_with(api: str, streamed: bool) -> None:
    wire = WIRES[api]
    canary = " | ".join([*dict.fromkeys(forms(KEY)), base64.b64encode(KEY.encode()).decode()])
    whole = wire.body(NORMAL[api], text="fine") | {"usage": {"input_tokens": 3}, "id": "i", "model": "m"}
    bodies = [body for path in leaves(whole) for body in tainted(whole, path, canary)]
    bodies += [{"error": {"message": canary, "code": canary}}, {canary: [canary]}]
    pieces = (KEY, "Qz9", base64.b64encode(KEY.encode()).decode().rstrip("="))
    turn = iter(bodies)

    async def handler(http: web.Request) -> web.Response:
        body = next(turn)
        if streamed and "error" not in body:
            with contextlib.suppress(Exception):  # a body that cannot be streamed comes whole
                return web.Response(body=wire.stream(body), content_type="text/event-stream")
        return web.json_response(body)

    async def work() -> list[str]:
        kept = []
        async with serving(handler) as url:
            settings = Settings(base_url=url, stream=streamed, step_limit=3, headers={"X-Api-Key": KEY})
            policy = RetryPolicy(retries=0, first_s=0.001, longest_s=0.002)
            model = OpenAIModel(parse_spec("openai:m"), settings, wire.mode, base_url=url, api=wire.api, policy=policy)
            for _ in bodies:
                model.calls.breaker.recovered(answered=True)
                try:
                    reply = await model.generate(request(WEATHER))
                    kept.append(repr((reply_to_dict(reply), reply.state, reply.served)))
                except AdapterError as error:
                    kept.append(repr((str(error), error.verdict, vars(error), model.notes)))
            await model.aclose()
        return kept

    found = run(work())
    assert len(found) >= 14
    for body, text in zip(bodies, found, strict=True):
        assert not [piece for piece in pieces if piece in text], (json.dumps(body)[:300], text[:600])
