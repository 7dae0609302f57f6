"""How long collecting takes: entries as items, beyond pytest's own start; and what a session without a model pays.

    python benchmarks/collection.py [--sizes 1000 5000 10000 100000] [--repeats 3]

Every size is a fresh file of entries in the official shape, collected with ``pytest --collect-only`` in a process of
its own. Beside it: pytest's own parametrised function of as many cases, and reading and validating every entry in
advance, which collection avoids. Times are CPU time of the process (a busy machine disturbs them little), the best of
the repeats; memory is the peak of the process. Ratios above 1 mean that our collection is faster. Compiled modules are
kept between the repeats, as on a user's machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

QUESTION = "What is the weather in Oslo tomorrow, and should I take an umbrella? Street number {number}."
FUNCTION = {
    "name": "get_weather",
    "description": "Tells the weather of a city on a day.",
    "parameters": {
        "type": "dict",
        "properties": {
            "city": {"type": "string", "description": "Name of the city."},
            "day": {"type": "string", "description": "Day, today when left out.", "default": "today"},
        },
        "required": ["city"],
    },
}
EAGER = """
import json, sys
from pytest_bfcl.dataset.opening import open_dataset
data = open_dataset(sys.argv[1])
entries = [data.load(ref) for ref in data.index("simple_python")]
"""


def write_entries(folder, size):
    with (folder / "simple_python.jsonl").open("w") as file:
        for number in range(size):
            line = {
                "id": f"simple_python_{number}",
                "question": [[{"role": "user", "content": QUESTION.format(number=number)}]],
                "function": [FUNCTION],
                "possible_answer": [{"get_weather": {"city": ["Oslo"], "day": ["tomorrow"]}}],
            }
            file.write(json.dumps(line) + "\n")


def once(arguments, cwd):
    """CPU seconds and peak MB of one process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen([sys.executable, *arguments], cwd=cwd, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 5):
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(arguments, cwd, repeats):
    times = [once(arguments, cwd) for _ in range(repeats)]
    return min(seconds for seconds, _ in times), min(memory for _, memory in times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 5000, 10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    pytest_run = ["-m", "pytest", "--collect-only", "-q", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one(): pass\n")
        once([*pytest_run, "test_one.py"], folder)
        starts = [
            (once([*pytest_run, "-p", "no:bfcl", "test_one.py"], folder), once([*pytest_run, "test_one.py"], folder))
            for _ in range(4 * args.repeats)  # in turns: what disturbs the machine disturbs both
        ]
        without, inert = (min(start[which][0] for start in starts) for which in (0, 1))
        print(f"pytest alone {without:.2f} s; with the plugin and no model {1000 * (inert - without):+.0f} ms")
        print("entries   collected    memory   parametrised  ratio   validated in advance  ratio")
        for size in args.sizes:
            data = folder / f"data{size}"
            data.mkdir()
            write_entries(data, size)
            (folder / "test_many.py").write_text(
                f"import pytest\n@pytest.mark.parametrize('n', range({size}))\ndef test_many(n): pass\n"
            )
            repeats = args.repeats if size <= 10_000 else 1
            ours, memory = best([*pytest_run, "--model", "lexical:", "--bfcl-data", str(data)], folder, repeats)
            theirs, _ = best([*pytest_run, "-p", "no:bfcl", "test_many.py"], folder, repeats)
            (folder / "eager.py").write_text(EAGER)
            eager, _ = best(["eager.py", str(data)], folder, repeats)
            ours, theirs = ours - without, theirs - without
            print(
                f"{size:7} {ours:9.2f} s {memory:6.0f} MB {theirs:12.2f} s {theirs / ours:6.1f} "
                f"{eager:20.2f} s {eager / ours:6.1f}"
            )


if __name__ == "__main__":
    main()
