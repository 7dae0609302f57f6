"""A folder of runs as people have them: of several kinds, some damaged, some no runs at all; and a client to look."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.lab.pages import FindingPage, write_audit_pages
from pytest_bfcl.extensions.view.app import create_app
from pytest_bfcl.extensions.view.auth import Auth
from pytest_bfcl.extensions.view.frame import Links
from pytest_bfcl.extensions.view.runs import Runs, open_runs
from pytest_bfcl.extensions.view.store import Store
from pytest_bfcl.runs.lines import json_line
from tests.reporting.samples import record, stored_run

TOKEN = "token-of-the-tests"
MODELS = ("openai:a@fc", "openai:b@prompt")
CATEGORIES = ("simple_python", "multiple", "irrelevance")


def records(seed: int = 0, entries: int = 20, models: tuple[str, ...] = MODELS[:1]) -> list[dict[str, Any]]:
    """Lines of some categories, about a third of them failed."""
    dice = random.Random(seed)
    return [
        record(f"{category}_{number}", category, model, dice.choice(("passed", "passed", "failed")))
        for model in models
        for category in CATEGORIES
        for number in range(entries)
    ]


def dated(run: Path, day: int, **fields: Any) -> Path:
    """The run as of another day of January."""
    facts = json.loads((run / "run.json").read_text())
    facts |= {"started_at": f"2026-01-{day:02}T10:00:00Z", "ended_at": f"2026-01-{day:02}T11:00:00Z", **fields}
    (run / "run.json").write_text(json.dumps(facts))
    return run


def make_folder(folder: Path) -> Path:
    """Three runs of one model, one of two models with repeats, damaged ones, foreign folders, an audit."""
    for day in (1, 2, 3):
        dated(stored_run(folder / f"night-{day}", records(day)), day)
    twice = [{**line, "repeat": repeat} for repeat in (1, 2) for line in records(9 + repeat, 8, MODELS)]
    both = dated(stored_run(folder / "both", twice), 4)
    facts = json.loads((both / "run.json").read_text())
    facts["conditions"] = {"repeat": 2}
    (both / "run.json").write_text(json.dumps(facts))
    shutil.copytree(folder / "night-3", folder / "torn")
    content = (folder / "torn" / "results.jsonl").read_bytes().splitlines(keepends=True)
    damaged = [content[0][:40] + b"\n", *content[1:30], b'{"id": 7}\n', content[31][:50]]
    (folder / "torn" / "results.jsonl").write_bytes(b"".join(damaged))
    (folder / "torn" / "summary.json").write_text("{")
    (folder / "no-run.json").mkdir()
    (folder / "no-run.json" / "results.jsonl").write_bytes(content[0])
    (folder / "foreign").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text('{"models": 3}')
    finding = FindingPage(
        "no_answer", "no call can be right", "a value is not allowed", "mend the answer", "defect", "simple_python_3",
        "seats is not allowed", "possible_answer", ["seats: 3"],
    )  # fmt: skip
    write_audit_pages([finding], folder / "audit", "bundled")
    return folder


def runs_of(folder: Path, cache: Path) -> Runs:
    return open_runs([folder], cache)


def client(runs: Runs, data: DataSet | None = None) -> Looking:
    """Somebody who looks at runs over HTTP."""
    store = Store(runs, data)
    app, _ = create_app(store, Links(), Auth.at("127.0.0.1", 8000, TOKEN))
    return Looking(TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=True), store)


class Looking:
    """Asks with the token."""

    def __init__(self, asking: TestClient, store: Store) -> None:
        self.http = asking
        self.store = store

    def get(self, page: str, status: int = 200) -> str:
        """A page's text."""
        answer = self.http.get(f"/{TOKEN}/{page}")
        assert answer.status_code == status, answer.text[-2000:]
        return answer.text


class Tags(HTMLParser):
    """Links and files of a page, and what no page may have."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inline: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.add(tag)
        self.found += [values[name] or "" for name in ("href", "src", "data-part") if name in values]
        if tag == "style" or "style" in values or any(name.startswith("on") for name in values):
            self.inline.append(tag)
        if tag == "script" and "src" not in values and values.get("type") != "application/json":
            self.inline.append(tag)


def append(run: Path, lines: list[Mapping[str, Any]]) -> None:
    """More lines at the end of a run's results."""
    with open(run / "results.jsonl", "ab") as file:
        file.write(b"".join(json_line(line) for line in lines))
