"""EvalEval's *Every Eval Ever*: one JSON file a model, and its samples as JSON lines (schema 0.2.2 and later)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.extensions.out.finished import Finished, file_name
from pytest_bfcl.json_types import Fields, Parsed, leaves
from pytest_bfcl.scoring.score_record import ScoreRecord
from pytest_bfcl.spread_json import json_or

SCHEMA = "0.2.2"
_UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}


def export(run: Path, folder: Path) -> Iterator[Path]:
    """Two files a model: the record and its samples."""
    finished = Finished.open(run)
    for model in finished.models:
        provider, _, name = model.partition(":")
        target = folder / "data" / file_name(finished.benchmark) / file_name(provider) / file_name(name or model)
        target.mkdir(parents=True, exist_ok=True)
        stem = _file_id(finished, model)
        samples = target / f"{stem}_samples.jsonl"
        digest, rows = hashlib.sha256(), 0
        with samples.open("wb") as file:
            for sample in samples_of(finished, model):
                line = json.dumps(sample, ensure_ascii=False).encode() + b"\n"
                digest.update(line)
                file.write(line)
                rows += 1
        record = record_of(finished, model)
        record["detailed_evaluation_results"] = {
            "format": "jsonl", "file_path": samples.relative_to(folder).as_posix(), "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(), "total_rows": rows,
        }  # fmt: skip
        place = target / f"{stem}.json"
        place.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        yield from (place, samples)


def _file_id(finished: Finished, model: str) -> UUID:
    """A UUID that is equal for the same run."""
    digest = hashlib.sha256(f"{_identity(finished, model)}|{finished.fingerprint.get('short')}".encode()).digest()
    return UUID(bytes=digest[:16], version=4)


def _identity(finished: Finished, model: str) -> str:
    return f"{file_name(finished.benchmark)}/{file_name(model)}/{_seconds(finished.ended_at)}"


def record_of(finished: Finished, model: str) -> Parsed:
    """The record of one model, without the reference to its samples."""
    fingerprint = finished.fingerprint
    rules = {"rules": str(fingerprint["rules"]), "rules_version": str(fingerprint["rules_version"])}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": _identity(finished, model),
        "evaluation_timestamp": str(_seconds(finished.ended_at)),
        "retrieved_timestamp": str(_seconds(finished.ended_at)),
        "source_metadata": {
            "source_name": "pytest-bfcl", "source_type": "evaluation_run",
            "source_organization_name": "unknown", "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "pytest-bfcl", "version": str(fingerprint["plugin_version"]),
            "additional_details": rules,
        },
        "model_info": {"name": model, "id": _hub_name(model), "additional_details": _UNKNOWN},
        "evaluation_results": [_result(finished, model, score) for score in finished.scores(model)],
    }  # fmt: skip


def _result(finished: Finished, model: str, score: ScoreRecord) -> Parsed:
    details: Parsed = {"score": score.value}
    if score.interval95 is not None:
        low, high = score.interval95
        bounds = {"lower": low, "upper": high, "confidence_level": 0.95, "method": "Wilson, clustered"}
        details["uncertainty"] = {"confidence_interval": bounds}
        details["uncertainty"]["num_samples"] = score.judged
    data = finished.dataset
    return {
        "evaluation_result_id": f"{_identity(finished, model)}/{score.name}",
        "evaluation_name": f"{finished.benchmark} {score.name}",
        "source_data": {
            "dataset_name": str(data["name"]), "source_type": "other",
            "additional_details": {
                "version": str(data["version"]), "sha256": str(data["sha256"]), "basis": score.note,
                "record": json.dumps(score.to_dict()),
            },
        },
        "metric_config": {
            "evaluation_description": "share of entries whose calls are right", "metric_name": "accuracy",
            "metric_kind": "accuracy", "metric_unit": "proportion", "lower_is_better": False,
            "score_type": "continuous", "min_score": 0, "max_score": 1,
        },
        "score_details": details,
        "generation_config": {"generation_args": _arguments(finished.parameters(model))},
    }  # fmt: skip


def samples_of(finished: Finished, model: str) -> Iterator[Parsed]:
    """A row for each judged entry; conversations as messages, single turns as output."""
    for line in finished.lines(model):
        if line["outcome"] in ("passed", "failed"):
            yield sample_of(finished, model, line)


def sample_of(finished: Finished, model: str, line: Fields) -> Parsed:
    """One entry as a row."""
    category = str(line["category"])
    row = CATEGORIES.get(category)
    messages = finished.messages(line)
    single = not (row and row.multi_step) or not messages
    asked = next((str(message.get("content") or "") for message in messages if message.get("role") == "user"), "")
    wanted = (line.get("detail") or {}).get("wanted") or (line.get("detail") or {}).get("expected") or []
    reference = [json.dumps(each, ensure_ascii=False) for each in (wanted if isinstance(wanted, list) else [wanted])]
    passed = line["outcome"] == "passed"
    told = [_message(number, message) for number, message in enumerate(messages)]
    called = sum(len(message.get("tool_calls") or ()) for message in told)
    raw = _raw(line.get("output"))
    return {
        "schema_version": SCHEMA,
        "evaluation_id": _identity(finished, model),
        "model_id": _hub_name(model),
        "evaluation_name": f"{finished.benchmark} {category}",
        "evaluation_result_id": f"{_identity(finished, model)}/{category}",
        "sample_id": str(line["id"]),
        "sample_hash": hashlib.sha256((asked + "".join(reference)).encode()).hexdigest(),
        "interaction_type": "single_turn" if single else "agentic",
        "input": {"raw": asked, "reference": reference},
        "output": {"raw": raw} if single else None,
        "messages": None if single else told,
        "answer_attribution": [
            {
                "turn_idx": 0 if single else max(len(told) - 1, 0),
                "source": "output.raw" if single else f"messages[{max(len(told) - 1, 0)}]",
                "extracted_value": raw[-1] if raw else "",
                "extraction_method": "pytest-bfcl checker",
                "is_terminal": True,
            }
        ],
        "evaluation": {
            "score": float(passed), "is_correct": passed,
            **({} if single else {"num_turns": len(told), "tool_calls_count": called}),
        },
        "token_usage": _tokens(line),
        "performance": {"latency_ms": 1000 * _total(line.get("latency_s"))},
        "metadata": {"category": category, "reason": str(line.get("reason") or "passed")},
    }  # fmt: skip


def _message(number: int, message: Fields) -> Parsed:
    calls = []
    for place, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") or call
        calls.append(
            {
                "id": str(call.get("id") or f"call_{number}_{place}"),
                "name": str(function.get("name")),
                "arguments": _texts(function.get("arguments")),
            }
        )
    content = message.get("content")
    made: Parsed = {
        "turn_idx": number,
        "role": str(message.get("role")),
        "content": content if isinstance(content, str) or content is None else json.dumps(content),
    }
    if calls:
        made["tool_calls"] = calls
    if message.get("tool_call_id"):
        made["tool_call_id"] = [str(message["tool_call_id"])]
    return made


def _texts(arguments: Any) -> dict[str, str] | None:
    """Arguments with every value as text, as the schema requires; ``None`` unless they are an object."""
    found = json_or(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(found, dict):
        return None
    return {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in found.items()}


def _raw(output: Any) -> list[str]:
    if isinstance(output, str):
        return [output]
    return [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in leaves(output)]


def _tokens(line: Fields) -> Parsed | None:
    if line.get("input_tokens") is None and line.get("output_tokens") is None:
        return None
    told, said = int(_total(line.get("input_tokens"))), int(_total(line.get("output_tokens")))
    return {"input_tokens": told, "output_tokens": said, "total_tokens": told + said}


def _total(value: Any) -> float:
    return float(sum(each for each in leaves(value) if isinstance(each, int | float)))


def _arguments(parameters: Fields) -> Parsed:
    return {name: parameters[name] for name in ("temperature", "top_p", "max_tokens") if name in parameters}


def _hub_name(model: str) -> str:
    """``provider:name@mode`` without our own parts."""
    return model.partition(":")[2].rpartition("@")[0] or model.rpartition("@")[0] or model


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())
