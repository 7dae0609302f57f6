"""The installed core, without any extra: ``PYTHON scripts/core_alone.py FOLDER`` imports all and runs every verb.

Run by the Python of a fresh environment (`check_wheel.py` makes one). What is missing must name its extra, or what else
installs it, in one sentence.
"""

from __future__ import annotations

import json
import pkgutil
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest_bfcl
from pytest_bfcl.cli import commands

NAMED = re.compile(r'needs? .*pip install ("pytest-bfcl\[\w+\]"|"?[\w<.-]+"?)')
SCORED = "--model lexical: --data bundled --categories simple_java,irrelevance --report none"
USES: dict[str, tuple[str, ...]] = {
    "doctor": ("",),
    "models": ("",),
    "validate schema": ("",),
    "run": (f"{SCORED} -o one", f"{SCORED} --shard 1/2 -o parts/1", f"{SCORED} --shard 2/2 -o parts/2"),
    "merge": ("parts -o two",),
    "export report": ("one --data bundled",),
    "compare": ("one two", "one two --causes"),
    "verify": ("two --reference one", "--table one"),
    "compare stability": ("one two",),
    "leaderboard": ("one two -o board", "one two --history -o history"),
    "explain": ("one",),
    "export": ("one -o folder", "one --table run.csv", "one --format badge -o badges", "one --format otel -o spans"),
    "score": ("folder --data bundled", "one/results.jsonl --data bundled"),
    "score prove": ("folder --data bundled",),
    "view site": ("one two -o site",),
    "view": ("one --no-open",),
    "new": ("entry --from-json tools.json -o own.jsonl",),
    "new log": ("log.jsonl -o candidates.jsonl",),
    "validate": ("candidates.jsonl --no-proof",),
    "new split": ("bundled -o split.json",),
    "validate training": ("log.jsonl --against bundled",),
    "comment": ("one --against two",),
    "comment baseline": ("-o base",),
    "new tasks": ("--simulators TicketAPI --n 2 -o made",),
    "validate audit": ("bundled --categories simple_java",),
    "doctor wire": ("--list",),
    "mcp": ("TicketAPI --http 0",),
    "fetch": ("--from absent.whl --force",),
}
"""Verb → what it is given, in this order: later ones use what earlier ones wrote."""
LACKING = ("fetch", "comment baseline", "validate training", "view", "mcp")
CODES = {**dict.fromkeys(LACKING, (2,)), "score prove": (0, 1, 2), "validate": (0, 1), "verify": (0, 1, 3)}
"""Exit codes; of all others 0, or 1 with a verdict. Those with 2 alone lack something here."""


def faults_of_imports() -> list[str]:
    """Modules that cannot be imported and do not say what installs what they lack."""
    faults = []
    for module in pkgutil.walk_packages(pytest_bfcl.__path__, "pytest_bfcl."):
        if module.name.endswith("__main__"):
            continue
        try:
            import_module(module.name)
        except Exception as error:
            if not NAMED.search(str(error)) or "\n" in str(error):
                faults.append(f"import {module.name}: {type(error).__name__}: {error}")
    return faults


def faults_of_verbs(folder: Path) -> list[str]:
    """Verbs that end in a traceback or another code than they should, or are not tried here."""
    faults = [f"{verb}: not tried" for verb in commands() if verb not in USES]
    functions = [{"name": "ring", "description": "Ring.", "parameters": {"type": "object", "properties": {}}}]
    (folder / "tools.json").write_text(json.dumps(functions))
    called = {"id": "1", "type": "function", "function": {"name": "ring", "arguments": "{}"}}
    said = [{"role": "user", "content": "Ring the bell."}, {"role": "assistant", "tool_calls": [called]}]
    tools = [{"type": "function", "function": functions[0]}]
    (folder / "log.jsonl").write_text(json.dumps({"messages": said, "tools": tools}) + "\n")
    for verb, uses in USES.items():
        for words in ("--help", *uses):
            command = [sys.executable, "-m", "pytest_bfcl", *verb.split(), *shlex.split(words)]
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False
            )
            codes = (0,) if words == "--help" else CODES.get(verb, (0, 1))
            last = (done.stderr.strip().splitlines() or [""])[-1]
            lacks = "not installed" in done.stderr
            if done.returncode not in codes or "Traceback" in done.stderr or (lacks and not NAMED.search(last)):
                faults.append(f"{verb} {words}: exit code {done.returncode}: {last[-300:]}")
    return faults


def main(folder: Path) -> int:
    """Everything; exit code 1 when something is wrong."""
    faults = faults_of_imports() + faults_of_verbs(folder)
    print("\n".join(faults) or f"every module was imported, {len(USES)} verbs were run")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
