"""What the process that reports keeps of a conversation under ``-n``.

    python benchmarks/controller.py [--data official] [--repeats 4] [-- OPTIONS OF PYTEST]

The single-turn entries of the data are answered by the oracle on two workers; memory is that of the controller when the
first and when the last entry is reported, CPU that of what it does after the last one. Needs pytest-xdist.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROBE = """
import json, os, time, pytest
marks = {}
def mark(name):
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with open("/proc/self/status") as lines:
            held = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
        marks[name] = held, time.process_time()
def pytest_runtest_logreport(report):
    if not marks:
        mark("first")
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    mark("last")
def pytest_unconfigure(config):
    mark("end")
    if "last" in marks:
        with open(os.environ["CONTROLLER_PROBE"], "w") as file:
            json.dump(marks, file)
"""


def measured(data: str, repeats: int, more: list[str]) -> tuple[int, dict[str, tuple[float, float]]]:
    """Conversations, and (MB, CPU seconds) of the controller at three moments."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "controller_probe.py").write_text(PROBE)
        Path(folder, "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = session\n")
        environment = {**os.environ, "PYTHONPATH": folder, "CONTROLLER_PROBE": f"{folder}/probe.json"}
        command = [
            sys.executable, "-m", "pytest", "-q", "--tb=no", "-r", "N", "-p", "no:cacheprovider",
            "-p", "no:hypothesispytest", "-p", "controller_probe", "-n", "2", "--model", "oracle:",
            f"--bfcl-data={data}", "--bfcl-categories=non_live,live", f"--bfcl-repeat={repeats}",
            f"--bfcl-out={folder}/run", *more,
        ]  # fmt: skip
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stdout + done.stderr)
        count = len(Path(folder, "run", "results.jsonl").read_bytes().splitlines())
        return count, json.loads(Path(folder, "probe.json").read_text())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="auto")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("more", nargs="*", help="further options of pytest, after --")
    options = parser.parse_args()
    count, marks = measured(options.data, options.repeats, options.more or ["--bfcl-report=none"])
    grown = marks["last"][0] - marks["first"][0]
    print(
        f"{count} conversations: {marks['first'][0]:.0f} MB at the first report, {marks['last'][0]:.0f} MB at the last "
        f"({1000 * grown / count:.1f} KB each), {1000 * (marks['end'][1] - marks['last'][1]) / count:.2f} ms CPU each "
        "after it"
    )


if __name__ == "__main__":
    main()
