"""Small runs made by the real parts: own entries, a scripted model, a run directory."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.models import Request
from pytest_bfcl.runs.directory import RunDirectory
from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
from pytest_bfcl.scoring.summary import summarise
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.transcript import Reply, ToolCall

BOOK = {
    "name": "cinema.book",
    "description": "Books seats in a cinema.",
    "parameters": {
        "type": "dict",
        "properties": {
            "film": {"type": "string", "description": "Title."},
            "seats": {"type": "integer", "description": "How many."},
            "row": {"type": "string", "description": "Row.", "enum": ["front", "back"]},
        },
        "required": ["film", "seats"],
    },
}
ANSWER = {"cinema.book": {"film": ["Heat"], "seats": [2], "row": ["back", ""]}}
RIGHT = {"film": "Heat", "seats": 2, "row": "back"}


def entry(entry_id: str, question: str = "Two seats for Heat, at the back.", **fields: Any) -> dict[str, Any]:
    """An entry with one right call."""
    turns = [[{"role": "user", "content": question}]]
    return {"id": entry_id, "question": turns, "function": [BOOK], "possible_answer": [ANSWER], **fields}


def write_data(folder: Path, entries: Mapping[str, list[dict[str, Any]]] | None = None) -> DataSet:
    """A data set of our own in ``folder``; by default four simple entries and two irrelevant ones."""
    if entries is None:
        simple = [entry(f"simple_python_{number}") for number in range(4)]
        none = [entry(f"irrelevance_{number}", "Sing to me.", possible_answer=None) for number in range(2)]
        entries = {"simple_python": simple, "irrelevance": none}
    folder.mkdir(parents=True, exist_ok=True)
    for category, lines in entries.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{category}.jsonl").write_text(text, encoding="utf-8")
    return open_data(folder)


def booking(**arguments: Any) -> Reply:
    """A reply of one native call."""
    call = ToolCall("cinema_book", json.dumps(arguments))
    return Reply(tool_calls=(call,), input_tokens=40, output_tokens=9, latency_s=0.25)


def make_run(
    out: Path, data: DataSet, replies: Mapping[str, Reply | AdapterError], default: Reply | None = None
) -> Path:
    """A run of a model that gives or raises these (by entry id), else the right call; returns the run directory."""

    class Scripted:
        spec = "fixture:cinema@fc"
        mode = "fc"
        underscore_names = True

        async def generate(self, request: Request) -> Reply:
            reply = replies.get(request.entry.id) or default or booking(**RIGHT)
            if isinstance(reply, AdapterError):
                raise reply
            return reply

        async def aclose(self) -> None:
            pass

    run(data, Scripted(), out=out)
    return out


def inflated(text: str) -> Any:
    """What `packed` made of a value, as the pages' scripts read it."""
    return json.loads(zlib.decompress(b64decode(text, validate=True), -zlib.MAX_WBITS))


def packed_pages(run: Path) -> dict[str, Any]:
    """Name → values of the pages of a report that are packed, functions with them."""
    found: dict[str, Any] = {}
    for path in sorted((run / "entries").glob("*.js")):
        script = re.fullmatch(r'bfclShard\((\d+),"([A-Za-z0-9+/=]*)"\);\n', path.read_text(encoding="ascii"))
        assert script is not None
        assert path.name == f"{script[1]}.js"
        pages, functions = inflated(script[2])
        for name, values in pages.items():
            found[name] = [*values[:-1], [[functions[number], note] for number, note in values[-1]]]
    return found


def stored_run(out: Path, records: list[dict[str, Any]], *, dataset: str = "official", sha256: str = "ab" * 32) -> Path:
    """A finished run directory of given records."""
    models = dict.fromkeys((record["model"], record["mode"]) for record in records)
    fingerprint = Fingerprint(
        dataset=dataset,
        dataset_version="1",
        dataset_sha256=sha256,
        models=tuple(ModelFingerprint(*model) for model in models),
    )
    with RunDirectory.create(out, fingerprint) as made:
        for record in records:
            made.append(record)
        made.state("finished")
        made.write_summary(summarise(made.records(), fingerprint=made.fingerprint.to_dict()))
    return out


def record(entry_id: str, category: str, model: str, outcome: str = "passed", **fields: Any) -> dict[str, Any]:
    """A result line of a single-turn entry with what reports read."""
    failed = outcome == "failed"
    detail = {"param": "seats", "expected": [2], "called": 3, "call": 0, "wanted": ANSWER} if failed else {}
    return {
        "id": entry_id,
        "category": category,
        "model": model,
        "mode": "prompt" if model.endswith("@prompt") else "fc",
        "repeat": 1,
        "outcome": outcome,
        "tag": "WRONG_ANSWER" if failed else None,
        "reason": "value_error:others" if failed else None,
        "corrected_outcome": outcome,
        "corrected_reason": None,
        "corrected_rules": [],
        "rules": "official",
        "detail": detail,
        "output": [{"name": "cinema_book", "arguments": '{"film": "Heat", "seats": 3}'}],
        "calls": [{"cinema.book": {"film": "Heat", "seats": 3}}],
        "latency_s": 0.5,
        "input_tokens": 30,
        "output_tokens": 9,
        "cost_usd": 0.001,
        **fields,
    }
