"""Generated tasks by kind: how many are proved, what they took, what they hold. Prints the table of docs/generating.md.

python benchmarks/generating.py [N] [PROCESSES]      # 10000 2
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from pytest_bfcl.cli import main


def measured(count: int, processes: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "tasks"
        began = time.monotonic()
        assert (
            main(["new", "tasks", "--n", str(count), "--seed", "7", "-o", str(folder), "--processes", str(processes)])
            == 0
        )
        took = time.monotonic() - began
        kinds = json.loads((folder / "generation.json").read_text())["kinds"]
    print("| kind | proved | attempts | ambiguous | less passes | other reasons | calls | dependencies | depth |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind, told in kinds.items():
        refused, means = told["refused"], told["means"]
        rest = sum(refused.values()) - refused.get("ambiguous", 0) - refused.get("passes with less", 0)
        print(
            f"| `{kind}` | {told['proved']:,} | {told['attempts']:,} | {refused.get('ambiguous', 0):,} | "
            f"{refused.get('passes with less', 0):,} | {rest:,} | {means['calls']} | {means['dependencies']} | "
            f"{means['depth']} |"
        )
    used = sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{took:.0f} s with {processes} processes, {used:.0f} s of CPU")


if __name__ == "__main__":
    words = sys.argv[1:]
    measured(int(words[0]) if words else 10_000, int(words[1]) if len(words) > 1 else 2)
