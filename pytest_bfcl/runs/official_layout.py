"""Reads the reference's ``result/`` folder (scoring spec §1, §2); ``scoring/`` reads ``score/``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, category_of, present_id
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.folder_families import Reading, output_of, reading_of
from pytest_bfcl.runs.lines import DamagedLine, OnDamaged, read_json_lines
from pytest_bfcl.runs.paths import files_named, is_below
from pytest_bfcl.runs.result_line import ReplayLine
from pytest_bfcl.runs.wire_names import Offered
from pytest_bfcl.transcript import Mode

if TYPE_CHECKING:
    pass

INFERENCE_ERROR = "Error during inference"
"""How the ``result`` text of a failed generation begins."""
_RESULT_NAME = re.compile(r"(?:BFCL_v\d+|gorilla_openfunctions_v\d+_test)_(?P<category>.+)_result\.json")
"""Names in all releases; the first ones had the second name."""


def result_files(path: Path) -> list[tuple[str, str, Path]]:
    """Model folder name, category and file of every official result file below ``path``, in path order.

    ``path`` may be the folder holding ``result/``, ``result/`` itself, one model's folder, or one file. The category is
    the one in the file's name, which may be that of an older BFCL (`EARLIER`).
    """
    if path.is_file():
        match = _RESULT_NAME.fullmatch(path.name)
        whole = path.resolve()
        above = whole.parents[min(4, len(whole.parents) - 1)]
        return [(model_folder(above, whole), match["category"], path)] if match else []
    found = []
    for file in sorted(files_named(path, "*_result.json")):
        match = _RESULT_NAME.fullmatch(file.name)
        if match and file.is_file() and is_below(path, file):
            found.append((model_folder(path, file), match["category"], file))
    return found


def results_of(root: Path) -> Path | None:
    """The folder of the result files: this one, or the sibling of the ``score/`` folder it is or lies in."""
    beside = (folder.with_name("result") for folder in (root, *root.parents) if folder.name == "score")
    return next((folder for folder in (root, *beside) if folder.exists() and result_files(folder)), None)


def model_folder(root: Path, file: Path) -> str:
    """The folder above the group folder; the group folder is only a convention, so any name is accepted."""
    parts = (root.resolve().name, *file.relative_to(root).parts)
    groups = {row.folder.split("/")[0] for row in CATEGORIES.values() if row.folder}
    for index, part in enumerate(parts[:-1]):
        if part in groups and index:
            return parts[index - 1]
    return parts[-2]


def _without_results(path: Path) -> str:
    if next(path.rglob("BFCL_v*_score.json"), None) or next(path.glob("data_*.csv"), None):
        return f"{path} holds scores of bfcl-eval, not replies: name the result/ folder beside it"
    return f"{path} holds neither results.jsonl nor BFCL_v*_result.json files: name a run directory or a result/ folder"


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

    Mode, spelling and ``decoder`` are the given ones, else those of the model's registered family. Other models: native
    for a folder that ends in ``-FC`` or has any native call, with underscores in names, else prompting. With
    ``offered`` (entry id → documented function names) native calls prove the spelling of names and overrule the table.
    Other fields are kept under ``official``. Raises `UsageError` when there is no result file, and for calls in the
    text of unknown models (`reading_of`).
    """
    files = result_files(path)
    if not files:
        raise UsageError(_without_results(path))
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
            value = _with_id(line.value, said, line.number if file.name.startswith(FIRST) else None)
            if isinstance(value.get("id"), str) and value["id"]:
                yield line_from_official(value, category, folder, readings[folder])
            elif on_damaged is not None:
                on_damaged(DamagedLine(file, line.number, "id is missing, or no text"))


FIRST = "gorilla_openfunctions_v1_"
"""How result files of the first release begin. Their lines may have no id and are in the order of the entries."""


def _with_id(line: Parsed, said: str, place: int | None) -> Parsed:
    """A line with its entry's present id; the first releases counted entries: as ``idx``, ``id`` or not at all."""
    number, given = line.get("idx"), line.get("id")
    if isinstance(given, int) and not isinstance(given, bool):
        number, given = given, None
    if given is None and number is None and place is not None:
        number = place - 1
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
        result["other_reading"] = reading.other.fields()
    if reading.proof:
        result["proved"] = reading.proof
    kept = {name: value for name, value in line.items() if name in ("inference_log", "traceback", "earlier_id")}
    if kept:
        result["official"] = kept
    return result
