"""The reference's ``result/`` folder in both directions (scoring spec §1, §2); ``score/`` is the scoring room's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, category_of, present_id
from pytest_bfcl.dataset.expansion import sort_key
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.folder_families import Reading, output_of, reading_of
from pytest_bfcl.runs.lines import DamagedLine, OnDamaged, plain, read_json_lines
from pytest_bfcl.runs.paths import is_below, write_below
from pytest_bfcl.runs.result_line import ReplayLine
from pytest_bfcl.runs.snapshots import folder_name
from pytest_bfcl.runs.wire_names import Offered
from pytest_bfcl.transcript import Mode

if TYPE_CHECKING:
    from pytest_bfcl.dataset import DataSet
    from pytest_bfcl.dataset.entry import Entry

INFERENCE_ERROR = "Error during inference"
"""How a failed generation's ``result`` text begins."""
_RESULT_NAME = re.compile(r"(?:BFCL_v\d+|gorilla_openfunctions_v\d+_test)_(?P<category>.+)_result\.json")
"""Of all releases: the first ones had the second name."""


# Reading.


def result_files(path: Path) -> list[tuple[str, str, Path]]:
    """Model folder name, category and file of every official result file below ``path``, in path order.

    ``path`` may be the folder holding ``result/``, ``result/`` itself, one model's folder, or one file. The category is
    the file's own word for it, of an earlier release perhaps (`EARLIER`).
    """
    if path.is_file():
        match = _RESULT_NAME.fullmatch(path.name)
        whole = path.resolve()
        above = whole.parents[min(4, len(whole.parents) - 1)]
        return [(model_folder(above, whole), match["category"], path)] if match else []
    found = []
    for file in sorted(path.rglob("*_result.json")):
        match = _RESULT_NAME.fullmatch(file.name)
        if match and file.is_file() and is_below(path, file):
            found.append((model_folder(path, file), match["category"], file))
    return found


def results_of(root: Path) -> Path | None:
    """Where the result files of a folder are: in it, or beside the ``score/`` folder it is (or lies in)."""
    beside = (folder.with_name("result") for folder in (root, *root.parents) if folder.name == "score")
    return next((folder for folder in (root, *beside) if folder.exists() and result_files(folder)), None)


def model_folder(root: Path, file: Path) -> str:
    """The folder above the group folder; the group folder is only a convention, so anything else is taken as it is."""
    parts = (root.resolve().name, *file.relative_to(root).parts)
    groups = {row.folder.split("/")[0] for row in CATEGORIES.values() if row.folder}
    for index, part in enumerate(parts[:-1]):
        if part in groups and index:
            return parts[index - 1]
    return parts[-2]


def import_official(
    path: Path,
    *,
    mode: Mode | None = None,
    underscore_names: bool | None = None,
    decoder: str | None = None,
    on_damaged: OnDamaged | None = None,
    offered: Offered | None = None,
) -> Iterator[ReplayLine]:
    """Replay lines of every result file below ``path``, by model, then file, then line.

    Mode, spelling and ``decoder`` as given, else those of the model's registered family. Other models: native for a
    folder that ends in ``-FC`` or has any native call, with underscores in names, else prompting. With ``offered``
    (entry id → documented function names) native calls prove the spelling of names, whatever the table says. Fields
    with no counterpart are kept under ``official``. Raises `UsageError` when there is no result file, and for calls in
    the text of models nobody knows (`reading_of`).
    """
    files = result_files(path)
    if not files:
        raise UsageError(f"{path} holds neither results.jsonl nor BFCL_v*_result.json files")
    readings: dict[str, Reading] = {}
    for folder, said, file in files:
        category = EARLIER.get(said, said)
        if category not in CATEGORIES:
            if on_damaged is not None:
                on_damaged(DamagedLine(file, 1, f"{category} is not a category: the file is left out"))
            continue
        if folder not in readings:
            own = [f for name, _, f in files if name == folder]
            readings[folder] = reading_of(
                folder, own, mode=mode, underscore_names=underscore_names, decoder=decoder, offered=offered
            )
        for line in read_json_lines(file, on_damaged):
            value = _with_id(line.value, said)
            if isinstance(value.get("id"), str) and value["id"]:
                yield line_from_official(value, category, folder, readings[folder])
            elif on_damaged is not None:
                on_damaged(DamagedLine(file, line.number, "id is missing, or no text"))


def _with_id(line: Parsed, said: str) -> Parsed:
    """A line with the id its entry has now; the first releases counted entries as ``idx``."""
    number, given = line.get("idx"), line.get("id")
    if given is None and isinstance(number, int) and not isinstance(number, bool) and not said.startswith("live"):
        given = f"{said}_{number}"
    if not isinstance(given, str) or (now := present_id(given, said)) == line.get("id"):
        return line
    return {**line, "id": now, "earlier_id": given}


def line_from_official(line: Fields, category: str, model: str, reading: Reading) -> ReplayLine:
    """One official result line as a replay line."""
    entry_id = str(line.get("id", ""))
    if category_of(entry_id) in CATEGORIES:  # write-stage ids may stand in the question's file
        category = category_of(entry_id)
    result: ReplayLine = {
        "id": entry_id,
        "category": category,
        "model": model,
        "mode": reading.mode,
        "repeat": 1,
        "output": output_of(line.get("result"), reading.decoder, nested=CATEGORIES[category].stateful),
        "underscore_names": reading.underscore_names,
        "reasoning": line.get("reasoning_content"),
        "input_tokens": line.get("input_token_count"),
        "output_tokens": line.get("output_token_count"),
        "latency_s": line.get("latency"),
    }
    if isinstance(line.get("result"), str) and line["result"].startswith(INFERENCE_ERROR):
        result["inference_error"] = line["result"]
    if reading.decoder is not None:
        result["decoder"] = reading.decoder
    if reading.other is not None:
        result["other_reading"] = reading.other._asdict()
    if reading.proof:
        result["proved"] = reading.proof
    kept = {name: value for name, value in line.items() if name in ("inference_log", "traceback", "earlier_id")}
    if kept:
        result["official"] = kept
    return result


# Writing.


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
    """The group folder of a category; categories outside the layout get a folder of their own name."""
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
