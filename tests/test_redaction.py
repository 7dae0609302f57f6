"""What adapters say and hand on: no keys, nothing a terminal acts on, no sums spoilt by odd numbers."""

from __future__ import annotations

import base64

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import create_model
from pytest_bfcl.redaction import (
    discreet,
    environment_secrets,
    hide,
    process_secrets,
    public_url,
    redact,
    secrets_of,
    url_secrets,
)
from pytest_bfcl.settings import Settings
from pytest_bfcl.transcript import Reply, ToolCall

KEY = "a-key-of-no-known-shape"


def test_an_error_text_is_one_printable_line_without_secrets() -> None:
    text = redact(f"bad {KEY}\x00\x1b[31m\u202e\ud800\nsk-proj-0123456789abcdef", (KEY,))
    assert text.isprintable()
    assert KEY not in text
    assert "0123456789" not in text


def test_a_key_that_comes_back_in_a_reply_is_hidden() -> None:
    said = Reply(text=f"you sent {KEY}", tool_calls=(ToolCall(KEY, f'{{"k": "{KEY}"}}', KEY),), reasoning=KEY)
    assert KEY not in repr([discreet(said, (KEY,)).output, discreet(said, (KEY,)).reasoning])
    assert KEY not in discreet(said, (KEY,)).tool_calls[0].name
    plain = Reply(text="nothing of it")
    assert discreet(plain, (KEY, "")) is plain


def test_a_short_secret_stays_in_a_reply() -> None:
    assert discreet(Reply(text="pass the salt"), ("salt",)).text == "pass the salt"


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("http://h/v1", ()),
        ("https://user:p%40ss@h:1/v1", ("p%40ss", "p@ss", "user:p@ss", "dXNlcjpwQHNz")),
        ("https://token@h/v1", ("token", "token:", "dG9rZW46")),
        ("https://h/v1?api-key=K&api-version=2024-01-01&sig=S", ("K", "S")),
    ],
)
def test_secrets_of_a_url(url: str, secrets: tuple[str, ...]) -> None:
    assert url_secrets(url) == secrets
    assert not any(secret in public_url(url) for secret in secrets)


TOKEN = "canary-7Qz9XyT4bL"


@pytest.mark.parametrize(
    "command",
    [
        f"API_KEY={TOKEN} python srv.py", f"python srv.py --api-key {TOKEN}", f"docker run -e API_KEY={TOKEN} img",
        f'mcp-remote https://x --header "Authorization: Bearer {TOKEN}"', f"mcp-remote https://x -H X-Api-Key:{TOKEN}",
        f"srv --config '{{\"apiKey\": \"{TOKEN}\"}}'", f"sh -c 'API_KEY={TOKEN} cmd'", f"srv postgres://u:{TOKEN}@h/db",
        f'srv "Server=h;Password={TOKEN};"', f"curl -u user:{TOKEN} x", f"srv --auth=user:{TOKEN}", f"srv {TOKEN}",
        f"https://h/{TOKEN}/mcp", f"https://u:{TOKEN}@h/mcp", f"https://h/mcp?key={TOKEN}",
    ],
)  # fmt: skip
def test_what_a_process_is_started_with_is_a_credential_of_the_run(command: str) -> None:
    assert hide(f"env: {TOKEN}", process_secrets(command)) == "env: [hidden]"
    assert hide("npx server-filesystem /home/me/folder_1", process_secrets(command)).endswith("/folder_1")


@pytest.mark.parametrize("before", ["", "u", "us", '{"a": "'])
def test_a_key_inside_of_what_was_encoded_is_found(before: str) -> None:
    raw = f"{before}{TOKEN} and more".encode()
    for form in (base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(), raw.hex(), raw.hex().upper()):
        assert "[hidden]" in hide(form, secrets_of(key=TOKEN)), form


@pytest.mark.parametrize("escape", ["%{:02X}", "%{:02x}", "\\u{:04x}", "\\x{:02x}", "\\{:03o}", "&#{};", "&#x{:x};"])
def test_a_key_of_which_every_letter_is_escaped_is_found(escape: str) -> None:
    assert hide("".join(escape.format(ord(letter)) for letter in TOKEN), secrets_of(key=TOKEN)) == "[hidden]"


@pytest.mark.parametrize("url", ["ftp://h", "http://", "http://h:port", "http://h:0", "http://[::1", "h/v1", ""])
def test_a_base_url_that_is_none(url: str) -> None:
    with pytest.raises(UsageError, match="not an http"):
        create_model("openai:x@fc", Settings(base_url=url or "//"))


def test_the_working_directory_is_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("PWD", "/home/ada/shop-project"),
        ("OLDPWD", "/home/ada/elsewhere"),
        ("DB_PWD", "s3cret-of-db"),
    ):
        monkeypatch.setenv(name, value)
    found = environment_secrets()
    assert "s3cret-of-db" in found
    assert not any("/home/ada" in each for each in found)
