"""A small project with data and a scripted model, run by pytester."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import pytest_bfcl

# pytester forgets modules imported during an in-process run; half of a package imported twice is two packages, and
# numpy cannot be imported twice at all. Adapters of trainers are for their users' sessions.
import_module("numpy")
for module in pkgutil.walk_packages(pytest_bfcl.__path__, "pytest_bfcl."):
    if not module.name.endswith("__main__") and not module.name.startswith("pytest_bfcl.extensions.training."):
        import_module(module.name)
import_module("pytest_bfcl.extensions.training.episode")

WEATHER = {
    "name": "get_weather",
    "description": "Tells the weather of a city.",
    "parameters": {
        "type": "dict",
        "properties": {"city": {"type": "string", "description": "Name of the city."}},
        "required": ["city"],
    },
}


def question(entry_id: str, city: str = "Oslo", **fields: Any) -> dict[str, Any]:
    """An entry with one right call."""
    answer = [{"get_weather": {"city": [city]}}]
    text = f"What is the weather in {city}?"
    return {
        "id": entry_id,
        "question": [[{"role": "user", "content": text}]],
        "function": [WEATHER],
        "possible_answer": answer,
        **fields,
    }


def call(city: str = "Oslo") -> list[dict[str, str]]:
    """A reply of one native call."""
    return [{"name": "get_weather", "arguments": json.dumps({"city": city})}]


def write_lines(path: Path, lines: list[Any]) -> Path:
    """A JSON-lines file; texts are written as they are (for broken lines)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


FULL = "--bfcl-report=full"


class Project:
    """A directory with ``bench/`` (four categories), ``script.json`` and an ini file; runs write pages with `FULL`."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.script: dict[str, Any] = {"*": call()}
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = session\nbfcl_report = none\n")
        bench = self.path / "bench"
        write_lines(bench / "simple_python.jsonl", [question(f"simple_python_{n}") for n in range(4)])
        write_lines(bench / "multiple.jsonl", [question(f"multiple_{n}") for n in range(2)])
        write_lines(bench / "live_simple.jsonl", [question(f"live_simple_{n}-{n}-0") for n in range(3)])
        none = [question(f"irrelevance_{n}") | {"possible_answer": None} for n in range(2)]
        write_lines(bench / "irrelevance.jsonl", none)
        for number in range(2):
            self.script[f"irrelevance_{number}"] = "I cannot help with that."

    def fail(self, *ids: str) -> None:
        """Let the scripted model give wrong calls for these entries."""
        for entry_id in ids:
            self.script[entry_id] = call("Rome")

    def run(self, *args: str, data: str | None = "bench", model: str | None = "scripted:script.json",
            subprocess: bool = False, out: str | None = "run") -> pytest.RunResult:  # fmt: skip
        """Run pytest with the scripted model over the data."""
        (self.path / "script.json").write_text(json.dumps(self.script))
        command = [*args, "-p", "no:hypothesispytest"]  # it imports hypothesis anew in every run
        if model:
            command += ["--model", model]
        if data:
            command += ["--bfcl-data", data]
        if out:
            command += ["--bfcl-out", out]
        if subprocess:
            return self.pytester.runpytest_subprocess(*command)
        return self.pytester.runpytest_inprocess(*command, no_reraise_ctrlc=True)  # it would end a worker of xdist

    def records(self, out: str = "run") -> list[dict[str, Any]]:
        """The lines of results.jsonl."""
        text = (self.path / out / "results.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def summary(self, out: str = "run") -> dict[str, Any]:
        """The content of summary.json."""
        return json.loads((self.path / out / "summary.json").read_text(encoding="utf-8"))


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)
