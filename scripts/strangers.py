"""Times what a stranger does in the first quarter of an hour: ``python scripts/strangers.py`` prints the table.

Five tasks in an empty folder, each the commands of README and tutorials as they are pasted. A task ends with what its
person came for: a command whose exit code or words are not those expected ends the script with code 1.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Command(NamedTuple):
    """``words`` are typed; the exit code and a text of the output show that it did what was wanted."""

    words: str
    code: int
    says: str


LEXICAL = "--model lexical: --bfcl-data bundled"
TASKS: dict[str, tuple[Command, ...]] = {
    "score a model": (
        Command(f"pytest {LEXICAL} -m non_live --bfcl-out reports/A --tb=no -q", 1, "non_live "),
    ),
    "gate a change": (
        Command(f"pytest {LEXICAL} -m simple_java --bfcl-fail-under simple_java=20 -q", 0, "PASSED"),
        Command(f"pytest {LEXICAL} -m simple_java --bfcl-fail-under simple_java=90 -q", 1, "FAILED"),
    ),
    "find out why it failed": (
        Command("pytest-bfcl explain reports/A", 0, "of the loss"),
        Command("pytest-bfcl explain reports/A --cause wording", 0, "_"),
    ),
    "test a tool of their own": (
        Command("pytest-bfcl validate weather.jsonl", 0, "all fine"),
        Command("pytest weather.jsonl --model oracle: -q", 0, "2 passed"),
    ),
    "migrate from bfcl-eval": (
        Command("pytest-bfcl evaluate", 2, "pytest-bfcl score PATH"),
        Command("pytest-bfcl score result/ --data bundled -o verdicts.jsonl", 0, ""),
        Command("pytest-bfcl export reports/A --official -o exported", 0, "written to exported"),
    ),
}  # fmt: skip


def prepare(folder: Path) -> None:
    """The tutorial's file of entries, and a result folder as bfcl-eval leaves it."""
    tutorial = (ROOT / "docs" / "tutorials" / "first-own-tool.md").read_text(encoding="utf-8")
    found = re.search(r'```jsonl title="weather.jsonl"\n(.*?)```', tutorial, re.DOTALL)
    assert found is not None
    (folder / "weather.jsonl").write_text(found[1], encoding="utf-8")
    run("pytest --model oracle: --bfcl-data bundled -m simple_java --bfcl-out made -q --bfcl-report none", folder)
    run("pytest-bfcl export made -o made-official", folder)
    (folder / "made-official" / "result").rename(folder / "result")


def run(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a shell, found beside this Python; no key, no plugin of the neighbourhood's."""
    kept = {
        name: value for name, value in os.environ.items() if not name.endswith("_API_KEY") and name != "PYTEST_ADDOPTS"
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = kept | {"PATH": path, "COLUMNS": "120"}
    return subprocess.run(words, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)


def processor_s() -> float:
    """Seconds that commands have worked so far: a busy machine changes them little."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print the table; the exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print("| task | commands | seconds | of processor time |\n|---|---:|---:|---:|")
        for task, commands in TASKS.items():
            began, worked = time.perf_counter(), processor_s()
            for command in commands:
                done = run(command.words, folder)
                said = done.stdout + done.stderr
                if done.returncode != command.code or command.says not in said:
                    print(f"{command.words}\nended with {done.returncode}:\n{said[-2000:]}")
                    return 1
            print(f"| {task} | {len(commands)} | {time.perf_counter() - began:.1f} | {processor_s() - worked:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
