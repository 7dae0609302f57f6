"""Replies as the reference's ``result/`` folder (scoring spec §1, §2): a line an entry, in its order of fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.categories import CATEGORIES, category_of
from pytest_bfcl.dataset.expansion import sort_key
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.lines import plain
from pytest_bfcl.runs.official_layout import INFERENCE_ERROR
from pytest_bfcl.runs.paths import write_below
from pytest_bfcl.runs.snapshots import folder_name

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet


class ResultFiles:
    """Result lines by model and category, sorted and written at the end as the reference does."""

    def __init__(self, root: Path, dataset: DataSet | None = None) -> None:
        self.root = root
        self.dataset = dataset
        self.folders: dict[str, Path] = {}
        self._lines: dict[Path, list[tuple[tuple[int, str, int], bytes]]] = {}

    def add(self, line: Fields) -> None:
        """Keep one replay line."""
        category = str(line.get("category") or category_of(str(line["id"])))
        model = str(line.get("model") or "model")
        self.folders[model] = self.root / folder_name(model)
        path = self.folders[model] / category_folder(category) / f"BFCL_v4_{category}_result.json"
        entry = find_entry(self.dataset, str(line["id"]))
        raw = json.dumps(plain(official_line(line, entry))).encode() + b"\n"
        self._lines.setdefault(path, []).append((sort_key(str(line["id"])), raw))

    def write(self) -> list[Path]:
        """Write every file; returns their paths."""
        for path, lines in self._lines.items():
            content = b"".join(raw for _, raw in sorted(lines, key=lambda item: item[0]))
            write_below(self.root.parent, path, content)
        return list(self._lines)


def category_folder(category: str) -> Path:
    """The group folder of a category; categories outside the layout get their own folder name."""
    row = CATEGORIES.get(category)
    return Path(row.folder if row is not None and row.folder else category)


def find_entry(dataset: DataSet | None, entry_id: str) -> Entry | None:
    """The entry, when a data set was given and has it."""
    if dataset is None:
        return None
    ref = dataset.find(entry_id)
    return None if ref is None else dataset.load(ref)


def official_line(line: Fields, entry: Entry | None = None) -> Parsed:
    """A replay or result line as the reference writes it, fields in its order (scoring spec §2)."""
    kept = line.get("official") or {}
    error = error_text(line)
    if error is not None:
        return {"id": line["id"], "result": error, "traceback": kept.get("traceback", "")}
    row = CATEGORIES.get(str(line.get("category")))
    nested = row is not None and row.stateful
    official: Parsed = {"id": line["id"], "result": official_output(line.get("output"))}
    log = kept.get("inference_log")
    if log is not None and not nested:
        official["inference_log"] = log
    for name, field in (
        ("input_token_count", "input_tokens"), ("output_token_count", "output_tokens"), ("latency", "latency_s"),
    ):  # fmt: skip
        if line.get(field) is not None:
            official[name] = line[field]
    if nested:
        official["inference_log"] = log if log is not None else inference_log(line, entry)
    reasoning = line.get("reasoning")
    if _any_reasoning(reasoning):
        official["reasoning_content"] = reasoning
    return official


def error_text(line: Fields) -> str | None:
    """The ``result`` text of an entry without an answer; ``None`` for all others."""
    imported = line.get("inference_error")
    if isinstance(imported, str):
        return imported
    if line.get("outcome") != "error":
        return None
    detail = line.get("detail") or {}
    return f"{INFERENCE_ERROR}: {detail.get('error') or line.get('reason')}"


def official_output(output: object) -> Any:
    """``{name, arguments}`` becomes a one-key object, at any depth."""
    if isinstance(output, list):
        return [official_output(item) for item in output]
    if isinstance(output, Mapping) and "name" in output and "arguments" in output:
        return {output["name"]: output["arguments"]}
    return output


def _any_reasoning(reasoning: object) -> bool:
    if isinstance(reasoning, list):
        return any(_any_reasoning(item) for item in reasoning)
    return bool(reasoning)


def inference_log(line: Fields, entry: Entry | None = None) -> list[Parsed]:
    """A log of the conversation: per turn the user's messages and each step's reply and results."""
    log = []
    results = line.get("tool_results") or []
    for number, steps in enumerate(line.get("output") or []):
        messages = entry.question[number] if entry is not None and number < len(entry.question) else []
        turn: Parsed = {"begin_of_turn_query": messages}
        for position, reply in enumerate(steps if isinstance(steps, list) else [steps]):
            step = [{"role": "assistant", "content": official_output(reply)}]
            seen = results[number][position] if _within(results, number, position) else []
            turn[f"step_{position}"] = step + [{"role": "tool", "content": text} for text in seen]
        log.append(turn)
    return log


def _within(results: Any, turn: int, step: int) -> bool:
    return turn < len(results) and step < len(results[turn])
