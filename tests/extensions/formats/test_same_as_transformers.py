"""Templates read and rendered as by ``transformers``: byte for byte, with tokenizers made here.

``BFCL_ENGINES`` names Pythons; one of them has transformers.
"""

from __future__ import annotations

import json
import os
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.extensions.formats.hub import read_template

TEMPLATES: dict[str, str] = json.loads(Path(__file__).with_name("chat_templates.json").read_text(encoding="utf-8"))
"""Forty chat templates in the manners of published ones, written here; each shows something that templates do."""
PYTHONS = [path for path in os.environ.get("BFCL_ENGINES", "").split(os.pathsep) if path]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"Does {name} <now> & „hier“.", "parameters": {
        "type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "array", "items": {"type": "string"}}},
        "required": ["b"]}}}
    for name in ("brew", "pour")
]  # fmt: skip
CALL = {"id": "call00001", "type": "function", "function": {"name": "brew", "arguments": {"b": 3, "a": ["é", "\"'\n"]}}}
CONVERSATIONS: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": "Well then, a cup of tea."}], "tools": None},
    {"messages": [{"role": "system", "content": " Brief! "}, {"role": "user", "content": "<b>é</b>?"}], "tools": TOOLS},
    {
        "messages": [
            {"role": "user", "content": "Tea."},
            {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "They want tea."},
            {"role": "tool", "tool_call_id": "call00001", "content": '{"ok": true}'},
            {"role": "assistant", "content": "<think>\nfine\n</think>\n\nDone.", "reasoning_content": "Say so."},
            {"role": "user", "content": "And now?", "name": None},
        ],
        "tools": TOOLS,
        "variables": {"enable_thinking": False, "budget": 7, "bos_token": "<own>"},
    },
]  # fmt: skip

THEIRS = """
import json, sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast
made = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
for line in sys.stdin:
    asked = json.loads(line)
    try:
        if "folder" in asked:
            tokenizer = AutoTokenizer.from_pretrained(asked["folder"])
        else:
            tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, **asked["tokens"])
            tokenizer.chat_template = asked["template"]
        told = tokenizer.apply_chat_template(
            asked["messages"], tools=asked["tools"], tokenize=False, add_generation_prompt=True,
            **asked.get("variables", {}))
        print(json.dumps({"prompt": told}), flush=True)
    except Exception as error:
        print(json.dumps({"error": repr(error)}), flush=True)
"""


def rendered_there(asked: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What transformers make of templates; skips where no Python has them."""
    for python in PYTHONS:
        if subprocess.run([python, "-c", "import transformers"], capture_output=True).returncode == 0:
            lines = "".join(json.dumps(each) + "\n" for each in asked)
            done = subprocess.run([python, "-c", THEIRS], input=lines, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stderr[-2000:]
            return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    pytest.skip("no Python with transformers in BFCL_ENGINES")


def folder_of(path: Path, files: dict[str, Any]) -> Path:
    """A model's folder; texts as they are, the rest as JSON."""
    for name, content in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.slow
def test_forty_templates(tmp_path: Path) -> None:
    assert len(TEMPLATES) == 40
    asked = [
        {"name": name, "template": source, "tokens": TOKENS, **conversation}
        for name, source in TEMPLATES.items()
        for conversation in CONVERSATIONS
    ]
    there = rendered_there(asked)
    files = {"tokenizer_config.json": TOKENS}
    ours = {
        name: read_template(folder_of(tmp_path / str(number), {**files, "chat_template.jinja": source}))
        for number, (name, source) in enumerate(TEMPLATES.items())
    }
    wrong = []
    for each, theirs in zip(asked, there, strict=True):
        here = ours[each["name"]].rendered(each["messages"], each["tools"], each.get("variables"))
        if {"prompt": here} != theirs:
            wrong.append((each["name"], here, theirs))
    assert not wrong


@pytest.mark.slow
def test_the_file_that_counts(tmp_path: Path) -> None:
    """Which of a model's templates is taken, with tools and without, and which special tokens it knows."""
    show = "{{ bos_token }}{{ image_token | default('-') }}{{ additional_special_tokens | default('-') }}"
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast", **TOKENS, "bos_token": {"__type": "AddedToken", "content": "<B>"},
    }  # fmt: skip
    made = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
            "decoder": None, "truncation": None, "padding": None,
            "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"}}  # fmt: skip
    two = [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]
    kinds: list[dict[str, Any]] = [
        {"tokenizer_config.json": {**config, "chat_template": "C" + show}},
        {"tokenizer_config.json": {**config, "chat_template": "C"}, "chat_template.jinja": "F" + show},
        {"tokenizer_config.json": {**config, "chat_template": two}},
        {"tokenizer_config.json": {**config, "chat_template": two}, "chat_template.jinja": "F"},
        {"tokenizer_config.json": config, "chat_template.jinja": "F", "additional_chat_templates/tool_use.jinja": "A"},
    ]
    folders = [
        folder_of(tmp_path / str(number), {"tokenizer.json": made, **files}) for number, files in enumerate(kinds)
    ]
    asked = [{"folder": str(folder), **said} for folder in folders for said in CONVERSATIONS[:2]]
    there = rendered_there(asked)
    here = [read_template(Path(each["folder"])).rendered(each["messages"], each["tools"]) for each in asked]
    assert [{"prompt": prompt} for prompt in here] == there
    assert any(one != other for one, other in pairwise(here))
