"""The reference's ``result/`` and ``score/`` folders, in both directions (scoring spec §1–§3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES, category_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.runs.lines import OnDamaged, read_json_lines

_RESULT_NAME = re.compile(r"BFCL_v\d+_(?P<category>.+)_result\.json")
INFERENCE_ERROR = "Error during inference"


def result_files(path: Path) -> list[tuple[str, str, Path]]:
    """Model folder name, category and file of every official result file below ``path``, in path order.

    ``path`` may be the folder holding ``result/``, ``result/`` itself, or one model's folder.
    """
    found = []
    for file in sorted(path.rglob("BFCL_v*_result.json")):
        match = _RESULT_NAME.fullmatch(file.name)
        if match:
            found.append((_model_folder(path, file), match["category"], file))
    return found


def _model_folder(root: Path, file: Path) -> str:
    parts = file.relative_to(root.parent if root.name else root).parts
    groups = {row.folder.split("/")[0] for row in CATEGORIES.values() if row.folder}
    for index, part in enumerate(parts[:-1]):
        if part in groups and index:
            return parts[index - 1]
    return parts[-2] if len(parts) > 1 else root.name


def import_official(
    path: Path,
    *,
    mode: str | None = None,
    underscore_names: bool | None = None,
    on_damaged: OnDamaged | None = None,
) -> Iterator[dict[str, Any]]:
    """Replay lines of every result file below ``path``, by model, then file, then line.

    Mode: as given, else native for a model whose folder ends in ``-FC`` or has any native call, else prompting.
    ``underscore_names`` defaults to true for native calls. Fields with no counterpart are kept under ``official``.
    Raises `UsageError` when there is no result file.
    """
    files = result_files(path)
    if not files:
        raise UsageError(f"{path} holds neither results.jsonl nor BFCL_v4_*_result.json files")
    modes: dict[str, str] = {}
    for folder, category, file in files:
        if folder not in modes:
            modes[folder] = mode or _mode_of(folder, [f for name, _, f in files if name == folder])
        names = modes[folder] == "fc" if underscore_names is None else underscore_names
        for line in read_json_lines(file, on_damaged):
            yield line_from_official(line.value, category, folder, modes[folder], names)


def _mode_of(folder: str, files: Iterable[Path]) -> str:
    if folder.endswith("-FC"):
        return "fc"
    for file in files:
        for line in read_json_lines(file):
            if _has_calls(line.value.get("result")):
                return "fc"
    return "prompt"


def _has_calls(result: Any) -> bool:
    if isinstance(result, list):
        return any(isinstance(item, dict) or _has_calls(item) for item in result)
    return False


def line_from_official(
    line: Mapping[str, Any], category: str, model: str, mode: str, underscore_names: bool
) -> dict[str, Any]:
    """One official result line as a replay line."""
    entry_id = str(line.get("id", ""))
    if category_of(entry_id) in CATEGORIES:  # write-stage ids may stand in the question's file
        category = category_of(entry_id)
    kept = {name: value for name, value in line.items() if name in ("inference_log", "traceback")}
    result: dict[str, Any] = {
        "id": entry_id,
        "category": category,
        "model": model,
        "mode": mode,
        "repeat": 1,
        "output": _native(line.get("result")),
        "underscore_names": underscore_names,
        "reasoning": line.get("reasoning_content"),
        "input_tokens": line.get("input_token_count"),
        "output_tokens": line.get("output_token_count"),
        "latency_s": line.get("latency"),
    }
    if isinstance(line.get("result"), str) and line["result"].startswith(INFERENCE_ERROR):
        result["inference_error"] = line["result"]
    return result | ({"official": kept} if kept else {})


def _native(result: Any) -> Any:
    """One-key call objects become ``{name, arguments}``, at any depth."""
    if isinstance(result, list):
        return [_native(item) for item in result]
    if isinstance(result, dict) and len(result) == 1:
        ((name, arguments),) = result.items()
        return {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
    return result


def export_official(run: Path, out: Path, **options: Any) -> list[Path]:
    """Placeholder until the writer follows."""
    raise NotImplementedError
