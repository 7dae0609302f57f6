"""A model, or what stands before it, that answers with anything but an answer: the run ends, its files hold."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import Request, create_model
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.settings import Settings
from tests.evil_server import ATTACKS, CALLS, TEXTS, EvilServer, evil_server

SECRET = "sk-test-SECRETSECRETSECRET42"
PASSWORD = "hunter2hunter2"
LEFT_OUT = {"slow", "silent", "endless"}  # these take their time by nature: see below
RING = {
    "name": "ring",
    "description": "Ring a bell.",
    "parameters": {
        "type": "dict",
        "properties": {"times": {"type": "integer", "description": "How often."}},
        "required": ["times"],
    },
}
ONE_MODE_EACH = """
def pytest_collection_modifyitems(items):
    texts = {texts!r}
    calls = {calls!r}
    def wanted(number, item):
        attack = item.name.partition("[")[0]
        mode = "prompt" if attack in texts else "fc" if attack in calls else ("fc", "prompt")[number // 2 % 2]
        return "@" + mode in item.name
    items[:] = [item for number, item in enumerate(items) if wanted(number, item)]
"""
FILES = {"root": {"a": {"type": "directory", "contents": {"b.txt": {"type": "file", "content": "x"}}}}}
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
"""What a terminal would act on; colours are off when nobody looks."""


def entry(attack: str, category: str) -> dict[str, Any]:
    """An entry whose request names the attack."""
    said = [{"role": "user", "content": f"attack {attack}"}]
    made: dict[str, Any] = {"id": f"{category}_{attack}", "category": category, "question": [said]}
    if category == "multi_turn_base":
        return made | {
            "question": [said, said],
            "initial_config": {"GorillaFileSystem": FILES},
            "involved_classes": ["GorillaFileSystem"],
            "possible_answer": [["ls()"], ["pwd()"]],
        }
    made["function"] = [RING]
    if category != "irrelevance":
        answers = [{"ring": {"times": [1]}}, {"ring": {"times": [2]}}]
        made["possible_answer"] = answers if category == "parallel" else answers[:1]
    return made


@dataclass
class Run:
    """A finished run: its folder, what was printed, its records, and who was asked."""

    folder: Path
    server: EvilServer
    code: int
    printed: bytes
    records: dict[str, dict[str, Any]] = field(default_factory=dict)


def pytest_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Pytest in a process of its own, with a key in its environment."""
    environment = {**os.environ, "OPENAI_API_KEY": SECRET, "PYTHONUTF8": "1", "COLUMNS": "100"}
    environment.pop("CI", None)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", *arguments],
        cwd=folder, env=environment, capture_output=True, timeout=180, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("hostile")
    categories = cycle(["simple_python", "multi_turn_base", "irrelevance", "multi_turn_base", "parallel"])
    attacks = [attack for attack in ATTACKS if attack not in LEFT_OUT]
    lines = [json.dumps(entry(attack, next(categories))) for attack in attacks]
    ids = {attack: json.loads(line)["id"] for attack, line in zip(attacks, lines, strict=True)}
    conftest = ONE_MODE_EACH.format(texts=[ids[attack] for attack in TEXTS], calls=[ids[attack] for attack in CALLS])
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    (folder / "own.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with evil_server() as server:
        url = server.url.replace("http://", f"http://user:{PASSWORD}@") + "/v1?api-key=QUERYQUERYQUERY"
        done = pytest_run(
            folder, "own.jsonl", "--model", "openai:evil@fc", "--model", "openai:evil@prompt", "--bfcl-base-url", url,
            "--bfcl-out", "run", "--junitxml", "junit.xml", "-rA", "-v",
            "--bfcl-retries", "0", "--bfcl-timeout", "20", "--bfcl-concurrency", "2",
        )  # fmt: skip
        made = Run(folder, server, done.returncode, done.stdout + done.stderr)
        with (folder / "run" / "results.jsonl").open(encoding="utf-8") as file:
            for line in file:
                record = json.loads(line, parse_constant=pytest.fail)
                made.records[f"{record['id']} {record['mode']}"] = record
        yield made


@pytest.mark.slow
def test_every_entry_has_an_outcome_and_none_is_our_defect(run: Run) -> None:
    assert run.code == 1, run.printed[-2000:].decode(errors="replace")
    assert len(run.records) == len(ATTACKS) - len(LEFT_OUT)
    tags = {name: record["tag"] for name, record in run.records.items()}
    assert {name for name, tag in tags.items() if tag == "HARNESS_ERROR"} == set()
    passed = {record["category"] for record in run.records.values() if record["outcome"] == "passed"}
    assert passed <= {"irrelevance"}


@pytest.mark.slow
def test_nothing_was_run_and_nobody_else_was_asked(run: Run) -> None:
    assert not list(run.folder.rglob("pwned*"))
    assert run.server.elsewhere == 0


@pytest.mark.slow
def test_the_files_can_be_read(run: Run) -> None:
    ElementTree.parse(run.folder / "junit.xml")  # XML has no room for control characters
    stored = RunDirectory.open(run.folder / "run")
    assert len(list(stored.records())) == len(run.records)
    assert not len(stored.left_out)
    summary = stored.summary()
    assert summary is not None
    assert all(model["tokens"]["input"] >= 0 for model in summary["models"].values())
    pages = "".join(page.read_text(encoding="utf-8") for page in (run.folder / "run").rglob("*.html"))
    assert "<img src=x" not in pages


@pytest.mark.slow
def test_the_terminal_is_safe(run: Run) -> None:
    found = CONTROL.search(run.printed)
    assert found is None, run.printed[max(found.start() - 200, 0) : found.start() + 50]
    assert max(map(len, run.printed.splitlines())) < 5_000


@pytest.mark.slow
def test_no_secret_is_written_anywhere(run: Run) -> None:
    for secret in (SECRET, PASSWORD, "QUERYQUERYQUERY"):
        assert secret.encode() not in run.printed
        for path in run.folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                text = gzip.decompress(content) if path.suffix == ".gz" else content
                assert secret.encode() not in text, path


@pytest.mark.slow
def test_what_is_kept_stays_within_bounds(run: Run) -> None:
    size = sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file())
    assert size < 250_000_000
    assert max(len(json.dumps(record)) for record in run.records.values()) < 40_000_000
    calls = [record["calls"] for record in run.records.values() if record["category"].startswith("multi_turn")]
    assert max(len(step or ()) for turns in calls for steps in turns or () for step in steps) <= 10_000


@pytest.mark.slow
def test_the_last_failed_are_found_again(run: Run) -> None:
    models = ("--model", "openai:evil@fc", "--model", "openai:evil@prompt")
    done = pytest_run(run.folder, "own.jsonl", *models, "--lf", "--collect-only", "-q")
    failed = sum(record["outcome"] != "passed" for record in run.records.values())
    assert done.returncode == 0, done.stdout[-500:]
    assert done.stdout.count(b"own.jsonl::") == failed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "kind"), [("slow", "timeout"), ("silent", "timeout"), ("endless", "malformed_body")]
)
def test_an_answer_that_does_not_end_is_given_up(attack: str, kind: str) -> None:
    asked = Entry.model_validate(entry(attack, "simple_python"))
    with evil_server() as server:
        settings = Settings(base_url=server.url + "/v1", timeout_s=1.0, request_limit_s=1.5, retries=0)

        async def ask() -> None:
            model = create_model("openai:evil@fc", settings)
            try:
                await model.generate(Request(asked, asked.question[0], asked.function))
            finally:
                await model.aclose()

        with pytest.raises(AdapterError) as caught:
            asyncio.run(ask())
    assert caught.value.kind == kind
