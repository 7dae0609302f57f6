"""``pytest-bfcl models``."""

from __future__ import annotations

import json

from pytest_bfcl.cli import main


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


def test_a_family_of_models(capsys):
    assert main(["models", "--family", "moonshotai/Kimi-K3"]) == 0
    shown = capsys.readouterr().out
    assert "--tool-call-parser kimi_k3" in shown
    assert "source            vLLM" in shown
    assert main(["models", "--family", "Qwen/Qwen3-8B", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["server reading"], row["marks"], row["template"]) == ("hermes", "<tool_call>", "qwen-fc")
    assert main(["models", "--family", "minicmp5"]) == 2
    assert "near: minicpm5" in capsys.readouterr().err
