"""The reference's folders of a run: ``result/`` with the replies, ``score/`` with the verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.categories import CATEGORIES, category_of
from pytest_bfcl.dataset.expansion import sort_key
from pytest_bfcl.endings import PASSED_BY_REFERENCE
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.directory import is_run
from pytest_bfcl.runs.lines import plain
from pytest_bfcl.runs.official_layout import INFERENCE_ERROR
from pytest_bfcl.runs.paths import below, write_below
from pytest_bfcl.runs.replay_lines import read_replay_lines
from pytest_bfcl.runs.snapshots import damaged_snapshots, folder_name
from pytest_bfcl.scoring.tally import FormatScores, configuration_of

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.runs.lines import OnDamaged


SortKey = tuple[int, str, int]
"""The place of an id (`sort_key`)."""


Result = tuple[SortKey, bytes]
Score = tuple[SortKey, str | None, bytes | None]
"""With the configuration of a format-sensitivity entry; ``None`` instead of a line that passed."""


class Files:
    """The lines of ``result/`` and ``score/`` by category, sorted and written at the end like the reference."""

    def __init__(self, out: Path, dataset: DataSet | None = None) -> None:
        self._out = out
        self._dataset = dataset
        self._results: dict[tuple[str, str], list[Result]] = {}
        self._scores: dict[tuple[str, str], list[Score]] = {}

    def add(self, line: Fields) -> None:
        """One replay or result line; write stages, retired categories and lines without a verdict are not scored."""
        entry_id = str(line["id"])
        category = str(line.get("category") or category_of(entry_id))
        folder, place = folder_name(str(line.get("model") or "model")), sort_key(entry_id)
        entry = find_entry(self._dataset, entry_id)
        raw = json.dumps(plain(official_line(line, entry))).encode()
        self._results.setdefault((folder, category), []).append((place, raw))
        row = CATEGORIES.get(category)
        unscored = row is None or row.group in ("memory_prereq", "retired", "own")
        if unscored or line.get("outcome") not in ("passed", "failed", "error"):
            return
        failed = None
        if not official_valid(line):
            made = plain(failed_line(line, category, folder, entry))
            failed = json.dumps(made, ensure_ascii=False).encode("utf-8", "backslashreplace")
        self._scores.setdefault((folder, category), []).append((place, configuration_of(entry_id), failed))

    def write(self) -> list[Path]:
        """Write every file; returns their paths."""
        written = []
        for key, lines in self._results.items():
            written.append(self._write("result", *key, [raw for _, raw in sorted(lines, key=itemgetter(0))]))
        for key, scored in self._scores.items():
            ordered = sorted(scored, key=itemgetter(0))
            header = score_header(key[1], [(configuration, raw is None) for _, configuration, raw in ordered])
            failed = [raw for *_, raw in ordered if raw is not None]
            written.append(self._write("score", *key, [json.dumps(header).encode(), *failed]))
        return written

    def _write(self, kind: str, folder: str, category: str, lines: list[bytes]) -> Path:
        """One file; categories outside the layout get a folder of their own name."""
        row = CATEGORIES.get(category)
        group = row.folder if row is not None and row.folder else category
        path = self._out / kind / folder / group / f"BFCL_v4_{category}_{kind}.json"
        return write_below(self._out, path, b"".join(raw + b"\n" for raw in lines))


def find_entry(dataset: DataSet | None, entry_id: str) -> Entry | None:
    """The entry, if a data set is given and has it."""
    ref = dataset.find(entry_id) if dataset is not None else None
    return dataset.load(ref) if dataset is not None and ref is not None else None


def official_line(line: Fields, entry: Entry | None = None) -> Parsed:
    """A replay or result line in the reference's form, with its order of fields (scoring spec §2)."""
    kept = line.get("official") or {}
    error = error_text(line)
    if error is not None:
        return {"id": line["id"], "result": error, "traceback": kept.get("traceback", "")}
    row = CATEGORIES.get(str(line.get("category")))
    nested = row is not None and row.multi_step
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
    """A log of the conversation: the user's messages of each turn, and each step's reply and results."""
    log = []
    results = line.get("tool_results") or []
    for number, steps in enumerate(line.get("output") or []):
        messages = entry.question[number] if entry is not None and number < len(entry.question) else []
        turn: Parsed = {"begin_of_turn_query": messages}
        for position, reply in enumerate(steps if isinstance(steps, list) else [steps]):
            step = [{"role": "assistant", "content": official_output(reply)}]
            seen = results[number][position : position + 1] if number < len(results) else []
            turn[f"step_{position}"] = step + [{"role": "tool", "content": text} for texts in seen for text in texts]
        log.append(turn)
    return log


def official_valid(line: Fields) -> bool:
    """Whether the reference counts a line as right; it ignores how a reply ended (docs/fidelity.md, (d)).

    It reads an error as an answer without a call: right where no call was expected, else wrong. In lines of earlier
    releases it reads a reply without content in the same way.
    """
    outcome = line.get("official_outcome") or line.get("outcome")
    reason = line.get("official_reason") if "official_outcome" in line else line.get("reason")
    if "official_outcome" not in line and (line.get("detail") or {}).get("reference") == PASSED_BY_REFERENCE:
        return True
    unanswered = outcome == "failed" and not line.get("output") and str(reason).startswith("reply:")
    if outcome == "error" or unanswered:
        row = CATEGORIES.get(str(line.get("category")))
        return row is not None and row.checker == "irrelevance"
    return bool(outcome == "passed")


def score_header(category: str, verdicts: list[tuple[str | None, bool]]) -> Parsed:
    """The first line of a score file from (configuration, valid) pairs in evaluation order."""
    correct, total = sum(valid for _, valid in verdicts), len(verdicts)
    header: Parsed = {"accuracy": correct / total, "correct_count": correct, "total_count": total}
    if category != "format_sensitivity":
        return header
    scores = FormatScores()
    for configuration, valid in verdicts:
        scores.add(configuration or "?", valid)
    header |= {
        "accuracy_max_delta": scores.max_delta,
        "accuracy_variance": scores.variance,
        "accuracy_std": scores.deviation,
    }
    for name, found in scores.counts.items():
        header[name] = {"accuracy": found.accuracy, "correct_count": found.passed, "total_count": found.total}
    return header


def failed_line(line: Fields, category: str, model: str, entry: Entry | None) -> Parsed:
    """A failed entry in the reference's form; texts of errors are ours."""
    row = CATEGORIES[category]
    head = {"id": line["id"], "model_name": model, "test_category": category, "valid": False}
    if row.checker in ("state", "answer"):
        return head | _conversation_fields(line, entry)
    if row.checker in ("irrelevance", "relevance"):
        return head | {
            "prompt": _prompt(entry, functions=True),
            "model_result": _raw(line),
            "decoded_result": line.get("calls"),
            "error": [_message(line)],
            "error_type": official_reason(line),
        }
    return head | _ast_fields(line, entry)


def _ast_fields(line: Fields, entry: Entry | None) -> Parsed:
    reason = official_reason(line)
    fields = {
        "error": [_message(line)],
        "error_type": reason,
        "prompt": _prompt(entry, functions=True),
        "model_result_raw": _raw(line),
    }
    if reason == "ast_decoder:decoder_wrong_output_format":
        fields |= {"model_result_raw": str(_raw(line)), "model_result_decoded": str(line.get("calls"))}
    elif reason != "ast_decoder:decoder_failed":
        fields["model_result_decoded"] = line.get("calls")
    return fields | {"possible_answer": _answer(entry)}


def _conversation_fields(line: Fields, entry: Entry | None) -> Parsed:
    reason = official_reason(line)
    prompt = _prompt(entry, functions=False)
    middle: Parsed = {"model_result_raw": _raw(line), "model_result_decoded": line.get("calls")}
    if reason.endswith(":inference_error") or reason == "multi_turn:force_terminated":
        middle = {"model_result": _raw(line)}
    elif reason == "agentic:no_last_message":
        middle = {"model_result": _raw(line), "model_result_decoded": line.get("calls")}
    elif reason == "agentic:answer_not_found":
        middle = {"model_result_raw": _raw(line), "last_non_fc_message": (line.get("detail") or {}).get("called")}
        prompt = entry.question if entry is not None else []
    kept = (line.get("official") or {}).get("inference_log")
    log = kept if kept is not None else "" if error_text(line) is not None else inference_log(line, entry)
    return {
        "error": {"error_type": reason, "error_message": _message(line)},
        "prompt": prompt,
        **middle,
        "possible_answer": _answer(entry),
        "inference_log": log,
    }


def official_reason(line: Fields) -> str:
    """The official reason; for our errors the reference's reason for a failed generation."""
    outcome = line.get("official_outcome") or line.get("outcome")
    if outcome == "error":
        checker = CATEGORIES[str(line["category"])].checker
        if checker == "relevance":
            return "relevance_error:decoder_failed"
        prefix = {"state": "multi_turn", "answer": "agentic"}.get(checker)
        return f"{prefix}:inference_error" if prefix else "ast_decoder:decoder_failed"
    return str(line.get("official_reason") or line.get("reason"))


def _message(line: Fields) -> str:
    detail = line.get("detail") or {}
    return str(detail.get("error") or detail.get("rule") or official_reason(line))


def _raw(line: Fields) -> Any:
    error = error_text(line)
    return error if error is not None else official_output(line.get("output"))


def _answer(entry: Entry | None) -> Any:
    return entry.possible_answer if entry is not None else []


def _prompt(entry: Entry | None, *, functions: bool) -> Any:
    """The data entry as the reference prints it, with or without function documents."""
    if entry is None:
        return {}
    prompt: Parsed = {"id": entry.id, "question": entry.question}
    if functions:
        prompt["function"] = entry.function
    optional = ("initial_config", "involved_classes", "missed_function", "scenario")
    return prompt | {name: getattr(entry, name) for name in optional if getattr(entry, name)}


def export_official(
    run: Path,
    out: Path,
    *,
    dataset: DataSet | None = None,
    names: Mapping[str, str] | None = None,
    lines: Iterable[Fields] | None = None,
    on_damaged: OnDamaged | None = None,
) -> list[Path]:
    """Write a run (or any source of replay lines) as ``out/result`` and, where it has verdicts, ``out/score``.

    ``dataset`` supplies questions and answers for the lines of failed entries; ``names``: model → the name it is
    registered under at the reference; ``lines`` replace those read from ``run``. Returns the files written. The layout
    has no place for further repeats and skipped entries, which are left out. So are damaged memory snapshots, which
    ``on_damaged`` receives.
    """
    names = names or {}
    files = Files(out, dataset)
    models: dict[str, str] = {}
    for line in read_replay_lines(run) if lines is None else lines:
        if line.get("outcome") != "skipped" and (line.get("repeat") or 1) == 1:
            model = str(line.get("model") or "model")
            models[model] = names.get(model, model)
            files.add({**line, "model": models[model]})
    written = files.write()
    if is_run(run):
        folders = {model: out / "result" / folder_name(name) for model, name in models.items()}
        written += _copy_snapshots(run, out, folders, on_damaged)
    return written


def _copy_snapshots(run: Path, out: Path, folders: Mapping[str, Path], on_damaged: OnDamaged | None) -> list[Path]:
    """Copy memory snapshots to the reference's place."""
    written = []
    for model, folder in folders.items():
        source = run / "snapshots" / folder_name(model)
        damaged = {each.path: each for each in damaged_snapshots(source)}
        for file in sorted(source.rglob("*.json")):
            if file in damaged:
                if on_damaged is not None:
                    on_damaged(damaged[file])
                continue
            backend, *rest = file.relative_to(source).parts
            target = folder.joinpath("agentic", "memory", backend, "memory_snapshot", *rest)
            content = below(run, file).read_bytes()
            written.append(write_below(out, target, content))
    return written
