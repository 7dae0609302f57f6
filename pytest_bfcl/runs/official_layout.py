"""Reads the reference's ``result/`` folder (scoring spec §1, §2); ``scoring/`` reads ``score/``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_bfcl.dataset.categories import CATEGORIES, EARLIER, category_of, present_id
from pytest_bfcl.failures import UsageError
from pytest_bfcl.formats.detection import lost_calls
from pytest_bfcl.formats.table import Format, find_decoder, reference_decoder, registered_format
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.lines import DamagedLine, OnDamaged, read_json_lines, unheard
from pytest_bfcl.runs.paths import files_named, is_below
from pytest_bfcl.runs.result_line import ReplayLine
from pytest_bfcl.runs.wire_names import Offered, spelling_of
from pytest_bfcl.transcript import Mode, OtherReading


class Reading(NamedTuple):
    """Mode, spelling of names, and the decoder of texts (``None``: native calls or the benchmark's own text).

    ``other``: the second reading, if calls and reference's table disagree. ``proof``: what the calls prove, in words.
    """

    mode: Mode
    underscore_names: bool
    decoder: str | None = None
    other: OtherReading | None = None
    proof: str = ""


def reading_of(
    folder: str,
    files: Iterable[Path],
    *,
    mode: Mode | None,
    underscore_names: bool | None,
    decoder: str | None,
    offered: Offered | None = None,
) -> Reading:
    """How to read one model's files; given ``mode``, ``underscore_names`` and ``decoder`` are used unchanged.

    With ``offered`` native calls prove the spelling of names. Without a proof no name has two spellings, and the
    table's spelling, or underscores, is used. If the calls contradict the table, a registered model is read as by the
    leaderboard (except dots where it expects underscores), and ``other`` has the second reading.

    Raises `UsageError` for a folder under an FC label whose calls are texts in an unknown format: as native calls they
    would all fail.
    """
    files = list(files)
    row = registered_format(folder)
    named = _decoder_name(folder, decoder)
    if named is not None:
        fc = row.mode == "fc" if row is not None else folder.endswith("-FC")
        found = Reading("fc" if fc else "prompt", row.underscore_names if row is not None else False, named)
    elif row is not None:
        found = Reading(row.mode, row.underscore_names, None if row.decoder == "python" else row.decoder)
    else:
        found = _unregistered(folder, files, mode)
    told = found._replace(
        mode=mode or found.mode,
        underscore_names=found.underscore_names if underscore_names is None else underscore_names,
    )
    if named is not None or underscore_names is not None or offered is None:
        return told
    return _proven(told, row, files, offered, contradicted=mode is None)


def _proven(told: Reading, row: Format | None, files: list[Path], offered: Offered, *, contradicted: bool) -> Reading:
    """The reading with what the calls in the files prove, see `reading_of`."""
    family = row.decoder if row is not None else None
    texts = family is not None and not _stores_lists(family)
    if texts:
        if not contradicted or not any(has_calls(result) for _, result in _results(files)):
            return told
        spelled = spelling_of(_results(files), offered)
        other = OtherReading("evidence", "fc", spelled.proven is not False)
        told_names = "" if spelled.proven is None else f", {spelled}"
        return told._replace(other=other, proof=f"native calls{told_names}")
    if told.decoder is not None:
        return told
    spelled = spelling_of(_results(files), offered)
    if spelled.proven is None:
        return told
    proof = str(spelled)
    if row is None:
        return told._replace(underscore_names=spelled.proven, proof=proof)
    if spelled.proven == told.underscore_names:
        return told
    if told.underscore_names:
        other = OtherReading("leaderboard", told.mode, True)
        return told._replace(underscore_names=False, other=other, proof=proof)
    return told._replace(other=OtherReading("evidence", told.mode, True), proof=proof)


def _stores_lists(decoder: str) -> bool:
    """Whether the results of a family's handler are lists, or may be."""
    return decoder == "handler:tool-calls-list" or find_decoder(decoder).stored


def _decoder_name(folder: str, decoder: str | None) -> str | None:
    if decoder is None:
        return None
    if decoder != "auto":
        return find_decoder(decoder).name
    return reference_decoder(folder)


def _unregistered(folder: str, files: list[Path], mode: Mode | None) -> Reading:
    found: tuple[str, str] | None = None
    for _, result in _results(files):
        if has_calls(result):
            return Reading("fc", True)
        found = found or _lost(result)
    if found is not None and (folder.endswith("-FC") or mode == "fc"):
        name, text = found
        raise UsageError(
            f"{folder} is not registered at the benchmark, and its calls are texts, not native calls: {text!r}. "
            f"Say how they are written: --decoder {name} reads this one "
            "(or --decoder auto, by the model's name)"
        )
    return Reading("fc", True) if folder.endswith("-FC") else Reading("prompt", False)


def _results(files: Iterable[Path]) -> Iterator[tuple[str, Any]]:
    """Entry id and stored result of every line."""
    for file in files:
        for line in read_json_lines(file, lambda damaged: None):
            yield str(line.value.get("id")), line.value.get("result")


def has_calls(result: object) -> bool:
    """Whether a stored result holds calls as objects, at any depth."""
    if isinstance(result, list):
        return any(isinstance(item, Mapping) or has_calls(item) for item in result)
    return False


def _lost(result: object) -> tuple[str, str] | None:
    """Decoder and beginning of the first text with calls."""
    if isinstance(result, list):
        return next((found for item in result if (found := _lost(item)) is not None), None)
    if not isinstance(result, str):
        return None
    lost = lost_calls(result)
    return None if lost is None else (lost[0], result.strip()[:80])


def output_of(result: object, decoder: str | None, *, nested: bool) -> Any:
    """A stored result as a replay line's output: calls as ``{name, arguments}``, at any depth."""
    if nested:
        if not isinstance(result, list):
            return result
        turns = [[turn] if isinstance(turn, str) else turn for turn in result]  # a turn that is a text is its one step
        return [[output_of(step, decoder, nested=False) for step in turn] if isinstance(turn, list) else turn
                for turn in turns]  # fmt: skip
    if decoder == "handler:tool-calls-list":  # whatever JSON value the handler found
        return result if isinstance(result, str) else json.dumps(result)
    if not isinstance(result, list):
        return result
    if result and all(isinstance(item, str) for item in result):
        return "\n".join(result)  # Anthropic's, Gemini's and Amazon's handlers keep texts in lists
    stored = decoder is not None and find_decoder(decoder).stored
    return [_call(item, stored) for item in result]


def _call(item: object, stored: bool) -> Any:
    if not isinstance(item, Mapping):
        return item
    if set(item) == {"tool_name", "parameters"}:
        name, arguments = item["tool_name"], item["parameters"]
    elif len(item) == 1:
        ((name, arguments),) = item.items()
    else:
        return item
    as_it_is = isinstance(arguments, str) and not stored
    return {"name": name, "arguments": arguments if as_it_is else json.dumps(arguments)}


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
        above = Path(whole.anchor, *whole.parts[1:-5])
        return [(model_folder(above, whole), match["category"], path)] if match else []
    found = []
    for file in sorted(files_named(path, "*_result.json")):
        match = _RESULT_NAME.fullmatch(file.name)
        if match and file.is_file() and is_below(path, file):
            found.append((model_folder(path, file), match["category"], file))
    return found


def results_of(root: Path) -> Path | None:
    """The folder of the result files: this one, or the sibling of the ``score/`` folder, or of a folder above."""
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
    on_damaged: OnDamaged = unheard,
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
            else:
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
        "output": output_of(line.get("result"), reading.decoder, nested=CATEGORIES[category].multi_step),
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
