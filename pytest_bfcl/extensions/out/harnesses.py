"""Runs in the formats of other harnesses: results of lm-evaluation-harness, Inspect's ``.eval`` logs."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.json_types import Fields, Parsed, leaves
from pytest_bfcl.spread_json import json_or


def lm_eval(run: Path, folder: Path) -> Iterator[Path]:
    """One file a model; a task is a category, a group is a group."""
    finished = Finished.open(run)
    for model in finished.models:
        target = folder / file_name(model) / f"results_{finished.ended_at.replace(':', '-')}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(results(finished, model), indent=1) + "\n", encoding="utf-8")
        yield target


def results(finished: Finished, model: str) -> Parsed:
    """The harness's fields of a run that have a meaning here."""
    prefix = "bfcl" if finished.is_official else file_name(f"bfcl_{finished.dataset['name']}")
    categories = finished.models[model]["categories"]
    tasks, groups, counts, notes = {}, {}, {}, {}
    scores = list(finished.scores(model))
    for score in scores:
        name = f"{prefix}_{score.name}"
        figures: Parsed = {"alias": score.name, "acc,none": score.value, "acc_stderr,none": _error(score.interval95)}
        if score.name in categories:
            tasks[name] = figures
        else:
            groups[name] = figures
        counts[name] = {"original": score.full or score.planned, "effective": score.judged}
        notes[name] = score.note
    version = finished.dataset["version"]
    return {
        "results": {**tasks, **groups},
        "groups": groups,
        "group_subtasks": {},
        "configs": {name: {"task": name, "metadata": {"version": version, "note": notes[name]}} for name in tasks},
        "versions": dict.fromkeys((*tasks, *groups), version),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {"acc": True} for name in (*tasks, *groups)},
        "n-samples": counts,
        "config": {
            "model": "pytest-bfcl",
            "model_args": model,
            "gen_kwargs": finished.parameters(model),
            "scores": [score.to_dict() for score in scores],
        },
        "model_name": model,
        "model_source": "pytest-bfcl",
        "date": finished.ended_at,
        "task_hashes": dict.fromkeys(tasks, finished.dataset["sha256"]),
    }


def _error(interval95: tuple[float, float] | None) -> float | str:
    """The standard error of an interval; ``N/A``, the harness's word, without one."""
    if interval95 is None or any(map(math.isnan, interval95)):
        return "N/A"
    return (interval95[1] - interval95[0]) / (2 * 1.959964)


VERSION = 2
SCORER = "bfcl"
_STATE = {"passed": "C", "failed": "I"}


def inspect(run: Path, folder: Path) -> Iterator[Path]:
    """One log a model."""
    finished = Finished.open(run)
    for model in finished.models:
        target = folder / f"{finished.ended_at.replace(':', '-')}_{file_name(model)}.eval"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as log:
            head = header(finished, model)
            start = {"version": VERSION, "eval": head["eval"], "plan": head["plan"]}
            log.writestr("_journal/start.json", json.dumps(start))
            summaries = []
            for line in finished.lines(model):
                if line["outcome"] not in _STATE:
                    continue
                sample = sample_of(finished, line)
                log.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
                kept = ("id", "epoch", "input", "target", "metadata", "scores")
                summaries.append({**{name: sample[name] for name in kept}, "completed": True})
            log.writestr("summaries.json", json.dumps(summaries))
            head["eval"]["dataset"]["samples"] = len(summaries)
            log.writestr("header.json", json.dumps(head))
        yield target


def header(finished: Finished, model: str) -> Parsed:
    """The log without its samples."""
    when = finished.ended_at.replace("Z", "+00:00")
    summary = finished.models[model]
    scores = [
        {
            "name": SCORER if score.name in ("overall", "all") else score.name, "scorer": SCORER, "params": {},
            "metrics": {"accuracy": {"name": "accuracy", "value": score.value, "params": {}}},
            "metadata": {"record": score.to_dict(), "note": score.note},
        }
        for score in finished.scores(model)
    ]  # fmt: skip
    judged = sum(found["passed"] + found["failed"] for found in summary["categories"].values())
    return {
        "version": VERSION,
        "status": "success",
        "eval": {
            "created": when, "task": finished.benchmark, "task_id": file_name(finished.benchmark), "task_version": 0,
            "run_id": file_name(f"{finished.ended_at}-{model}"), "model": model, "model_args": {}, "config": {},
            "dataset": {"name": str(finished.dataset["name"]), "samples": judged},
            "packages": {"pytest-bfcl": str(finished.fingerprint["plugin_version"])},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": judged, "completed_samples": judged, "scores": scores},
        "stats": {"started_at": when, "completed_at": when, "model_usage": {}},
    }  # fmt: skip


def sample_of(finished: Finished, line: Fields) -> Parsed:
    """One entry as a sample: the request, the messages, the verdict as a score."""
    messages = [_message(message) for message in finished.messages(line)]
    detail = line.get("detail") or {}
    asked = next((message["content"] for message in messages if message["role"] == "user"), str(line["id"]))
    made = [each if isinstance(each, str) else json.dumps(each) for each in leaves(line.get("output"))]
    target = detail.get("wanted") or detail.get("expected") or ""
    score = {
        "value": _STATE[line["outcome"]], "answer": "\n".join(made), "explanation": str(line.get("reason") or "passed"),
        "metadata": {"category": str(line["category"])},
    }  # fmt: skip
    return {
        "id": str(line["id"]), "epoch": int(line["repeat"]), "input": asked,
        "target": target if isinstance(target, str) else json.dumps(target),
        "messages": messages, "metadata": {"category": str(line["category"]), "reason": str(line.get("reason") or "")},
        "output": {"model": str(line["model"]), "choices": []}, "scores": {SCORER: score}, "store": {}, "events": [],
        "model_usage": {},
    }  # fmt: skip


def _message(message: Fields) -> Parsed:
    """A chat message in Inspect's form."""
    role = str(message.get("role"))
    content = message.get("content")
    text = content if isinstance(content, str) else "" if content is None else json.dumps(content)
    if role not in ("system", "user", "assistant", "tool"):
        role = "system" if role == "developer" else "user"
    made: Parsed = {"role": role, "content": text}
    if role == "tool":
        made["tool_call_id"] = str(message.get("tool_call_id") or "")
    if role == "assistant" and message.get("tool_calls"):
        made["tool_calls"] = [_call(number, call) for number, call in enumerate(message["tool_calls"])]
    return made


def _call(number: int, call: Fields) -> Parsed:
    function = call.get("function") or call
    given = function.get("arguments")
    made: Parsed = {
        "id": str(call.get("id") or f"call_{number}"),
        "function": str(function.get("name")),
        "type": "function",
    }
    arguments = json_or(given) if isinstance(given, str) else given
    if not isinstance(arguments, dict):
        return made | {"arguments": {}, "parse_error": str(given)[:500]}
    return made | {"arguments": arguments}
