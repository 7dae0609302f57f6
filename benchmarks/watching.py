"""What watching a run costs it: the rate with and without `pytest-bfcl view` on its live page, in turns.

    python benchmarks/watching.py [--concurrency 256] [--delay-ms 300] [--repeats 5] [--mock-server PATH]

As `throughput.py` (official single-turn entries, the mock server in a process of its own), half of the runs with a
viewer in a third process whose live page is open all the time. Printed: both rates, the median of the ratios of pairs,
the run's own CPU time a request in both (which other load on the machine spoils less), and how much of one core the
viewer took.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from throughput import REPOSITORY, MockServer, measure_plugin, request_bodies

from pytest_bfcl.fetching.official import fetched_folder


class Viewer:
    """`pytest-bfcl view` over a folder, and somebody who looks at whatever runs there."""

    def __init__(self, folder: Path) -> None:
        call = "import sys; from pytest_bfcl.cli import main; sys.exit(main(sys.argv[1:]))"
        words = [sys.executable, "-c", call, "view", "--no-open", str(folder)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        found = re.search(r"http://([^/]+)/(\S+)/", self.process.stdout.readline())
        self.host, self.token = found.groups()
        self.looking = threading.Event()
        self.events = 0
        self.ended = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def opened(self) -> None:
        """Look at the runs there are once, none: a page that is opened before a run."""
        asking = http.client.HTTPConnection(self.host, timeout=30)
        asking.request("GET", f"/{self.token}/")
        asking.getresponse().read()
        asking.close()

    def cpu_s(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _look(self) -> None:
        while not self.ended.is_set():
            if not self.looking.wait(0.2):
                continue
            asking = http.client.HTTPConnection(self.host, timeout=30)
            try:
                asking.request("GET", f"/{self.token}/")
                live = re.search(r'href="run/([^"]+)/live.html"', asking.getresponse().read().decode())
                if live is None:
                    time.sleep(0.5)
                    continue
                asking.request("GET", f"/{self.token}/run/{live.group(1)}/events")
                answer = asking.getresponse()
                while line := answer.readline():
                    self.events += line.startswith(b"event: figures")
            except (OSError, http.client.HTTPException):
                time.sleep(0.5)
            finally:
                asking.close()

    def close(self) -> None:
        self.ended.set()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--delay-ms", type=float, default=300.0)
    parser.add_argument("--repeats", type=int, default=5)
    default = os.environ.get("PYTEST_BFCL_MOCK_SERVER") or REPOSITORY.parent / "shared" / "tools" / "mock_server.py"
    parser.add_argument("--mock-server", type=Path, default=Path(default))
    options = parser.parse_args()
    folder = fetched_folder()
    if folder is None or not options.mock_server.is_file():
        raise SystemExit("needs the official data (pytest-bfcl fetch) and --mock-server PATH")
    data = next(path.parent for path in sorted(folder.rglob("BFCL_v4_simple_python.json")) if "answer" not in str(path))
    expected = len(request_bodies())
    server = MockServer(options.mock_server, data, options.delay_ms)
    alone, watched, own, cpu, events = [], [], {True: [], False: []}, [], []
    try:
        with tempfile.TemporaryDirectory() as parent:
            for number in range(options.repeats):
                for seen in (False, True) if number % 2 else (True, False):
                    runs = Path(parent, f"{number}-{seen}")
                    runs.mkdir()
                    viewer = Viewer(runs) if seen else None
                    try:
                        if viewer is not None:
                            viewer.opened()  # started; the run does not pay for that
                            viewer.looking.set()
                        before = viewer.cpu_s() if viewer is not None else 0.0
                        found = measure_plugin(
                            server, options.concurrency, expected, str(runs), "--bfcl-report", "none"
                        )  # fmt: skip
                        own[seen].append(found["cpu_ms"])
                        if viewer is None:
                            alone.append(found["rate"])
                        else:
                            watched.append(found["rate"])
                            cpu.append((viewer.cpu_s() - before) / found["run_s"])
                            events.append(viewer.events)
                        took = f"the viewer {100 * cpu[-1]:.1f} % of a core, {events[-1]} updates" if seen else "alone"
                        print(f"  {found['rate']:.0f}/s, {found['cpu_ms']:.2f} ms CPU a request: {took}", flush=True)
                    finally:
                        if viewer is not None:
                            viewer.close()
    finally:
        server.process.kill()
    ratio = statistics.median(b / a for a, b in zip(alone, watched, strict=True))
    own_ratio = statistics.median(b / a for a, b in zip(own[False], own[True], strict=True))
    print(
        f"{options.concurrency} in flight, load {os.getloadavg()[0]:.1f}: alone {statistics.median(alone):.0f}/s, "
        f"watched {statistics.median(watched):.0f}/s, {100 * ratio:.1f} % (median of {len(alone)} pairs); "
        f"the run's CPU a request {statistics.median(own[False]):.2f} ms alone, {statistics.median(own[True]):.2f} ms "
        f"watched, {100 * own_ratio:.1f} %; "
        f"the viewer took {100 * statistics.median(cpu):.1f} % of a core, {statistics.median(events):.0f} updates a run"
    )


if __name__ == "__main__":
    main()
