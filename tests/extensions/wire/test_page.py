"""The page about a server: everything a maintainer needs, nothing that runs, no key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_bfcl.extensions.wire.items import server_lines
from pytest_bfcl.extensions.wire.outcome import (
    LINES_FILE,
    PAGE_FILE,
    WireRecord,
    read_lines,
    read_records,
    record_of,
    servers,
    write_wire_page,
)
from tests.extensions.wire.examining import examine, place_of
from tests.extensions.wire.reference import Reference
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


def test_several_models_and_newer_lines(tmp_path: Path) -> None:
    first, second = records("id per chunk"), records("last delta lost", "openai:n@fc")
    lines = [record.line for record in [*first, *second]]
    fixed = replace(first[1], state="held", counts={"held": 1})
    (tmp_path / LINES_FILE).write_text("\n".join([*lines, "{torn", fixed.line]) + "\n")
    found = servers(read_lines(tmp_path))
    assert [(server.model, server.counts["broke"]) for server in found] == [("openai:m@fc", 0), ("openai:n@fc", 0)]
    assert found[0].trigger_rate == 1.0
    assert read_lines(tmp_path / "nowhere") == []


def test_a_share_of_nothing_is_no_share(tmp_path: Path) -> None:
    record = record_of(examine(Reference(), "chat", ["answers"])["answers"], PLACE, "openai:m@fc")
    record = replace(record, figures={"precision_unstreamed": None, "precision_streamed": 0.0})
    (again,) = read_records([record.line])
    assert again.figures == record.figures
    write_wire_page([again], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert '<td class="num">0.0 %</td>' in page
    (server,) = servers([again])
    assert "precision of calling: – unstreamed, 0.0 % streamed" in list(server_lines(server))


def test_a_server_that_never_calls_has_a_headline(tmp_path: Path) -> None:
    """Not a list of checks that wait for a call; one that calls has none, nor has one nobody asked for a call."""
    held = record_of(examine(Reference(), "chat", ["answers"])["answers"], PLACE, "openai:m@fc")
    silent = [
        replace(held, check=f"waits_{number}", state=state, called=0, counts={state: 3})
        for number, state in enumerate(("not_called", "not_called", "blocked"))
    ]
    said = replace(held, check="talks", called=0, counts={})
    (server,) = servers([*silent, said])
    assert server.headline.startswith("This server never returned a tool call: 3 of 4 checks say nothing.")
    assert next(server_lines(server)) == server.headline
    write_wire_page([*silent, said], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert server.headline in page
    assert "talks" in page
    assert "waits_" not in page
    (calling,) = servers([held, *silent])
    assert calling.headline == ""
    assert len(calling.rows) == 4
    (unasked,) = servers([said])
    assert unasked.headline == ""
