"""The page about a server: everything a maintainer needs, nothing that runs, no key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_bfcl.extensions.wire.outcome import (
    PAGE_FILE,
    WireRecord,
    record_of,
    write_wire_page,
)
from tests.extensions.wire.examining import examine, place_of
from tests.extensions.wire.variants import CHAT

KEY = "sk-verysecret0123456789"
PLACE = place_of("http://localhost:8000/v1", key=KEY)


def records(name: str, model: str = "openai:m@fc") -> list[WireRecord]:
    variant = next(variant for variant in CHAT if variant.name == name)
    outcomes = examine(variant.server(), "chat", ["answers", "delta_id", "arguments_newlines", "measures"])
    return [record_of(outcome, PLACE, model) for outcome in outcomes.values()]


def test_a_fault_with_request_answer_and_rule(tmp_path: Path) -> None:
    write_wire_page(records("id per chunk"), tmp_path / PAGE_FILE)
    page = (tmp_path / PAGE_FILE).read_text()
    assert "call 0 tells its id" in page
    assert "OpenAI API reference, Chat Completions, The chat completion chunk object" in page
    assert "curl -sS -N http://localhost:8000/v1/chat/completions" in page
    assert "data: {&#34;id&#34;: &#34;chatcmpl-" in page
    assert "$WIRE_TEST_KEY" in page
    assert KEY not in page
    assert "precision of calling" in page


def test_what_a_server_says_is_shown_and_does_nothing(tmp_path: Path) -> None:
    odd = replace(
        records("id per chunk")[1], why="<script>alert(1)</script>\u202e", proof="<img src=x onerror=alert(1)>"
    )
    write_wire_page([odd], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "\u202e" not in page
