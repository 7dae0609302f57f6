"""A model that is wrong in each named way, under pytest: exactly the expected histogram of reasons, in both modes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.dataset import Entry
from pytest_bfcl.decoding.ground_truth import ground_truth_calls
from pytest_bfcl.session.evaluation import open_data

Call = tuple[str, dict[str, Any]]
Calls = list[Call]

SIMPLE = "simple_function_checker"
UNDECODABLE = "ast_decoder:decoder_failed"


def first(change: Callable[[str, dict[str, Any]], Call]) -> Callable[[Calls], Calls]:
    """A mistake in the first call."""
    return lambda calls: [change(*calls[0]), *calls[1:]]


def first_value(calls: Calls, value: Any) -> Calls:
    """Another value for the first argument of the first call."""
    name, arguments = calls[0]
    return [(name, arguments | {next(iter(arguments)): value}), *calls[1:]]


MISTAKES: dict[str, tuple[Callable[[Calls], Any], str]] = {
    "none": (lambda calls: calls, ""),
    "wrong name": (first(lambda name, arguments: (f"{name}_now", arguments)), f"{SIMPLE}:wrong_func_name"),
    "missing": (
        first(lambda name, arguments: (name, dict(list(arguments.items())[1:]))),
        f"{SIMPLE}:missing_required",
    ),
    "extra": (first(lambda name, arguments: (name, arguments | {"colour": "red"})), f"{SIMPLE}:unexpected_param"),
    "wrong type": (lambda calls: first_value(calls, 7), "type_error:simple"),
    "wrong value": (lambda calls: first_value(calls, "something quite different"), "value_error:string"),
    "too many": (lambda calls: [*calls, calls[0]], "count"),
    "too few": (lambda calls: calls[1:], "count"),
    "prose": (lambda calls: f"I would call {calls[0][0]} for that.", UNDECODABLE),
    "broken": (lambda calls: None, UNDECODABLE),
}
PARALLEL_REASON = "parallel_function_checker_no_order:cannot_find_match"
COUNTS = {
    "simple_python": f"{SIMPLE}:wrong_count",
    "multiple": "multiple_function_checker:wrong_count",
    "parallel": "parallel_function_checker_no_order:wrong_count",
    "parallel_multiple": "parallel_function_checker_no_order:wrong_count",
}


def expected_reason(category: str, reason: str) -> str:
    """The reason a mistake has in a category: one call's rule is a missing match where calls are parallel."""
    if reason == "count":
        return COUNTS[category]
    if category.startswith("parallel") and reason not in ("", UNDECODABLE):
        return PARALLEL_REASON
    return reason


def fits(entry: Entry) -> bool:
    """Whether the first argument of the first call is a required text: every named mistake can be made then."""
    calls = list(ground_truth_calls(entry))
    doc = next(doc for doc in entry.function if doc["name"] == calls[0][0])
    parameter = next(iter(calls[0][1]), None)
    schema = doc["parameters"]["properties"].get(parameter, {})
    return parameter in doc["parameters"]["required"] and schema.get("type") == "string"


def script_of(calls: Calls, wrong: Any, mode: str) -> Any:
    """What the scripted model says: native calls or Python text."""
    if isinstance(wrong, str):
        return wrong
    if mode == "prompt":
        shown = wrong if wrong is not None else calls
        text = ", ".join(f"{name}({', '.join(f'{k}={v!r}' for k, v in given.items())})" for name, given in shown)
        return f"[{text}]" if wrong is not None else f"[{text[:-2]}"
    cut = -2 if wrong is None else None
    shown = calls[:1] if wrong is None else wrong
    sent = [{"name": name.replace(".", "_"), "arguments": json.dumps(given)[:cut]} for name, given in shown]
    return {"tool_calls": sent, "text": ""}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fc", "prompt"])
def test_the_histogram_is_exact(mode: str, tmp_path: Path) -> None:
    data = open_data("bundled")
    names = list(MISTAKES)
    script: dict[str, Any] = {}
    wanted: dict[str, str] = {}
    for category in COUNTS:
        entries = [entry for entry in map(data.load, data.index(category)) if fits(entry)]
        assert len(entries) >= 5, category
        # The same questions are put again under new ids until every mistake was made once.
        for number, name in enumerate(names):
            entry = entries[number % len(entries)]
            entry_id = f"{category}_{900 + number}"
            change, reason = MISTAKES[name]
            calls = list(ground_truth_calls(entry))
            wrong = change(calls)
            script[entry_id] = script_of(calls, wrong, mode)
            wanted[entry_id] = expected_reason(category, reason)
            line = entry.model_dump(include={"question", "function", "possible_answer"}) | {"id": entry_id}
            with (tmp_path / f"{category}.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")
    (tmp_path / "script.json").write_text(json.dumps(script))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "--bfcl-data", "."]
    command += ["--model", f"scripted:script.json@{mode}", "--bfcl-out", "run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    records = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert {record["id"]: record["reason"] or "" for record in records} == wanted
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    (model,) = summary["models"].values()
    assert model["reasons"] == Counter(filter(None, wanted.values()))
    tags = Counter(
        "MALFORMED_OUTPUT" if reason == UNDECODABLE else "WRONG_ANSWER" for reason in wanted.values() if reason
    )
    assert model["failure_counts"] == tags
