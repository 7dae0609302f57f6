"""``pytest-bfcl models`` and ``pytest-bfcl doctor``."""

from __future__ import annotations

import json

import pytest

from pytest_bfcl.cli import main


def test_the_listing(capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown-0123456789")
    assert main(["models"]) == 0
    shown = capsys.readouterr().out
    assert "OPENAI_API_KEY (set)" in shown
    assert "never-shown" not in shown
    for name in ("vllm", "anthropic", "oracle", "replay"):
        assert f"\n{name} " in shown


def test_the_listing_as_json(capsys):
    assert main(["models", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["openai"]["modes"] == ["fc", "prompt"]
    assert "OPENAI_API_KEY" in rows["openai"]["needs"]


def test_one_model(capsys):
    assert main(["models", "--model", "openai:gpt-4o@prompt"]) == 0
    shown = capsys.readouterr().out
    assert "openai:gpt-4o@prompt" in shown
    assert "api.openai.com" in shown
    assert main(["models", "--model", "nobody:x"]) == 2
    assert "known:" in capsys.readouterr().err


def test_a_healthy_installation(capsys):
    assert main(["doctor", "--model", "oracle:"]) == 0
    shown = capsys.readouterr().out
    assert "PROBLEM" not in shown
    assert "bundled data" in shown
    assert "oracle:@fc answered" in shown


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--model", "openai:m", "--base-url", "http://127.0.0.1:1/v1", "--timeout", "5"], "cannot connect"),
        (["--model", "openai:m"], "OPENAI_API_KEY"),
        (["--model", "nobody:x"], "unknown provider"),
    ],
)
def test_what_is_wrong_is_said(capsys, monkeypatch, arguments, word):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["doctor", *arguments]) == 1
    shown = capsys.readouterr().out
    assert "PROBLEM" in shown
    assert word in shown
