"""How long pages over many runs take, and what the server holds in memory.

    python benchmarks/viewing.py [--runs 200] [--entries 5000] [--folder DIR]

Runs of single-turn lines are written (0.9 KB a line), then two processes look at them over the application itself: the
first has no cached index, the second has. CPU seconds of the asking process, since the machine may be shared; memory is
the largest resident set. "list" is the table of all runs, "entry" one entry's page of a run nobody looked at before,
"all runs" the same entry in all of them, "compare" two runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = {"simple_python": 400, "multiple": 200, "parallel": 200, "irrelevance": 240, "live_multiple": 1053}


def ids_of(entries: int) -> list[tuple[str, str]]:
    """Category and id of so many entries."""
    found: list[tuple[str, str]] = []
    number = 0
    while len(found) < entries:
        found += [(name, f"{name}_{number}") for name, size in SIZES.items() if number < max(size, entries // 5)]
        number += 1
    return found[:entries]


def make_runs(folder: Path, runs: int, entries: int) -> None:
    """Finished runs of four models, each with its own verdicts."""
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.runs.fingerprint import Fingerprint, ModelFingerprint
    from pytest_bfcl.runs.lines import json_line
    from pytest_bfcl.scoring.summary import summarise

    ids = ids_of(entries)
    for number in range(runs):
        model = f"openai:model-{number % 4}@fc"
        dice = random.Random(number)
        started = f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T01:00:00Z"
        prints = Fingerprint(
            dataset="official", dataset_version="4", dataset_sha256="ab" * 32, started_at=started,
            models=(ModelFingerprint(model, "fc", {"temperature": 0.001}),),
        )  # fmt: skip
        lines = [_line(entry_id, category, model, dice) for category, entry_id in ids]
        with RunDirectory.create(folder / f"run-{number:03}", prints) as run:
            run.results_path.write_bytes(b"".join(map(json_line, lines)))
            run.state("finished")
            run.write_summary(summarise(lines, fingerprint=run.fingerprint.to_dict()))


def _line(entry_id: str, category: str, model: str, dice: random.Random) -> dict:
    passed = dice.random() < 0.7
    said = f"The quick answer to {entry_id} is {dice.random()}"
    detail = {} if passed else {
        "rule": "the number must be the allowed one", "param": "seats", "expected": [2], "called": 3, "call": 0,
        "function": "cinema.book", "wanted": {"cinema.book": {"film": ["Heat"], "seats": [2], "row": ["back", ""]}},
    }  # fmt: skip
    outcome = "passed" if passed else "failed"
    return {
        "id": entry_id, "category": category, "model": model, "mode": "fc", "repeat": 1, "outcome": outcome,
        "tag": None if passed else "WRONG_ANSWER", "reason": None if passed else "value_error:others",
        "corrected_outcome": outcome, "corrected_reason": None, "corrected_rules": [], "rules": "official",
        "detail": detail,
        "output": [{"name": "cinema_book", "arguments": json.dumps({"film": said, "seats": 3, "row": "back"})}],
        "calls": [{"cinema.book": {"film": said, "seats": 3, "row": "back"}}], "underscore_names": True,
        "tool_results": None, "reasoning": None, "input_tokens": 340, "output_tokens": 40,
        "latency_s": round(dice.random(), 3), "finish_reasons": "tool_calls", "attempts": 1, "cost_usd": 0.0004,
        "extra": {}, "started_at": "2026-01-01T01:00:00.000Z", "duration_s": 0.5, "worker": "main",
    }  # fmt: skip


def measure(folder: Path, entries: int, *, warm: bool) -> dict[str, float]:
    """Seconds of each page in this process, and its memory in MB; ``warm``: all runs are looked at before."""
    from starlette.testclient import TestClient

    from pytest_bfcl.extensions.view.app import create_app
    from pytest_bfcl.extensions.view.auth import Auth
    from pytest_bfcl.extensions.view.frame import Links
    from pytest_bfcl.extensions.view.runs import open_runs
    from pytest_bfcl.extensions.view.store import Store

    found: dict[str, float] = {}

    def timed(name: str, page: str) -> None:
        began = time.process_time()
        answer = client.get(f"/t/{page}")
        found[name] = round(time.process_time() - began, 3)
        assert answer.status_code == 200, answer.text[-1000:]

    store = Store(open_runs([folder]))
    app, _ = create_app(store, Links(), Auth.at("127.0.0.1", 8000, "t"))
    client = TestClient(app, base_url="http://127.0.0.1:8000")
    client.get("/t/assets/pages.js")
    client.get("/t/compare/index.html" if warm else "/t/assets/pages.css")  # templates are compiled once
    names = list(store.runs.look())
    entry = ids_of(entries)[entries // 2][1]
    timed("list", "")
    timed("list again", "")
    timed("entry, first", f"run/{names[0]}/entries/{entry}.html")
    if warm:
        began = time.process_time()
        for run in store.runs.listed:
            _ = run.index
        found["all indexes"] = round(time.process_time() - began, 3)
    timed("entry", f"run/{names[len(names) // 2]}/entries/{entry}.html")
    timed("all runs", f"entry/{entry}.html")
    timed("report", f"run/{names[-1]}/index.html")
    timed("compare", f"compare/{names[0]}/{names[4 % len(names)]}.html")
    found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def measured(folder: Path, entries: int, cache: Path, *, warm: bool) -> dict[str, float]:
    """`measure` in a process of its own."""
    words = [sys.executable, __file__, "--measure", "--folder", str(folder), "--entries", str(entries)]
    done = subprocess.run(
        [*words, *(["--warm"] if warm else [])], env=os.environ | {"PYTEST_BFCL_CACHE": str(cache)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--entries", type=int, default=5000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--warm", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.folder, args.entries, warm=args.warm)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary) / "runs"
        if not folder.exists():
            make_runs(folder, args.runs, args.entries)
        cache = Path(temporary) / "cache"
        for warm in (False, True):
            print("with" if warm else "without", "cached indexes:", measured(folder, args.entries, cache, warm=warm))


if __name__ == "__main__":
    main()
