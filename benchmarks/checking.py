"""How long judging takes per 1,000 outputs: the checkers alone, `score_lines`, and the whole `pytest-bfcl score`.

    python benchmarks/checking.py [--data official] [--repeats 5] [--lines FILE.jsonl[.gz] ...]

Without ``--lines`` the outputs are the oracle's for the Python entries of the data (native calls, Python text, and the
JSON and XML formats). Times are the best of the repeats: CPU time of this process for the checkers and `score_lines`,
wall time for the command. The reference (bfcl-eval 2026.3.23, the same kind of machine) takes 29 ms per 1,000 native
outputs and 69 ms per 1,000 Python texts for checking alone, and 3,500 ms per 1,000 for its ``evaluate`` command. Ratios
above 1 mean faster than the reference. Entries of the checkers' column are read beforehand, one per id; `score_lines`
reads each where it first needs it, and judges under both rule sets.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pytest_bfcl.checkers import judge
from pytest_bfcl.rescoring import score_lines
from pytest_bfcl.runs.replay_lines import entry_from_line, transcript_from_line
from pytest_bfcl.session.evaluation import open_data, run
from pytest_bfcl.settings import Settings

REFERENCE_MS = {"native": 29.0, "python": 69.0}
REFERENCE_COMMAND_MS = 3500.0
PYTHON = ["simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple"]


def oracle_lines(data):
    """Kind of output → replay lines."""
    lines = {}
    for kind, mode in (("native", "fc"), ("python", "prompt")):
        records = run(data, f"oracle@{mode}", categories=PYTHON, settings=Settings()).records
        kept = ("id", "category", "mode", "output", "underscore_names")
        lines[kind] = [{name: record[name] for name in kept} for record in records]
    if "format_sensitivity" in data.categories():
        records = run(data, "oracle@prompt", categories=["format_sensitivity"], settings=Settings()).records
        for form in ("json", "verbose_xml", "concise_xml"):
            chosen = [r for r in records if f"ret_fmt={form}&" in r["id"]]
            lines[form] = [{"id": r["id"], "mode": "prompt", "output": r["output"]} for r in chosen]
    return lines


def file_lines(paths):
    lines = {}
    for path in map(Path, paths):
        raw = path.read_bytes()
        parsed = [json.loads(text) for text in (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).splitlines()]
        for kind, mode in (("native", "fc"), ("python", "prompt")):
            chosen = [line for line in parsed if line.get("mode", "prompt") == mode]
            if chosen:
                lines.setdefault(kind, []).extend(chosen)
    return lines


def best(repeats, work, clock=time.process_time):
    times = []
    for _ in range(repeats):
        started = clock()
        work()
        times.append(clock() - started)
    return min(times)


def checkers_only(lines, data):
    """A round of verdicts under official rules: entries parsed before, one for all outputs of an id; nothing kept."""
    held = {}

    def entry_of(line):
        if (own := entry_from_line(line)) is not None:
            return own
        if line["id"] not in held:
            held[line["id"]] = data.entry(line["id"])
        return held[line["id"]]

    pairs = []
    for line in lines:
        entry = entry_of(line)
        pairs.append((entry, transcript_from_line({**line, "category": entry.category})))

    def work():
        for entry, transcript in pairs:
            judge(entry, transcript)

    return work


def whole_command(lines, choice):
    """Wall time of the console script, start of the interpreter and loading of the data included."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.jsonl")
        source.write_text("".join(json.dumps(line) + "\n" for line in lines))
        out = str(Path(folder, "out.jsonl"))
        code = "import sys; from pytest_bfcl.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "score", str(source), "--data", choice, "-o", out]
        return best(2, lambda: subprocess.run(command, check=True), time.perf_counter)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="auto")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--lines", nargs="*", help="replay files instead of the oracle's outputs")
    args = parser.parse_args()
    data = open_data(args.data)
    lines = file_lines(args.lines) if args.lines else oracle_lines(data)
    print(f"{data.name} data; ms per 1,000 outputs, best of {args.repeats}")
    print("output        outputs  checkers  ratio  score_lines  ratio   command  ratio")
    for kind, chosen in lines.items():
        per = 1000 * 1000 / len(chosen)
        alone = best(args.repeats, checkers_only(chosen, data)) * per
        scored = best(args.repeats, lambda chosen=chosen: list(score_lines(chosen, data))) * per
        command = whole_command(chosen, args.data) * per
        reference = REFERENCE_MS.get(kind)
        columns = [f"{kind:12} {len(chosen):8}"]
        for value, known, width in ((alone, reference, 9), (scored, reference, 12), (command, REFERENCE_COMMAND_MS, 9)):
            columns.append(f"{value:{width}.1f} " + (f"{known / value:6.1f}" if known else "     –"))
        print(" ".join(columns))
    print("checkers: official rules; score_lines: entries read, both rule sets; command: start-up included, wall time")


if __name__ == "__main__":
    main()
