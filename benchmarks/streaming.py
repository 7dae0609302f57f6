"""What streaming costs: CPU of whole runs asked by server-sent events, beside the same runs without.

    python benchmarks/streaming.py [--concurrency 128] [--delay-ms 300] [--repeats 3] [--limit 1.3] [--mock-server PATH]

Both sides ask the same 3,641 single-turn requests of the mock server (see `throughput`), in turns. CPU is that of the
test phase of the asking process: conversations, judging, journal and pytest's own work. The server cuts
every text and every argument in up to 40 pieces. Exit code 1 when the median ratio is above the limit.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from throughput import arguments, measure_plugin, request_bodies, served


def main() -> None:
    parser = arguments()
    parser.add_argument("--concurrency", type=int, default=128)
    parser.add_argument("--limit", type=float, default=1.3)
    options = parser.parse_args()
    count = len(request_bodies())
    whole: list[float] = []
    streamed: list[float] = []
    with served(options) as (server, parent):
        for _ in range(options.repeats):
            whole.append(measure_plugin(server, options.concurrency, count, parent)["cpu_ms"])
            streamed.append(measure_plugin(server, options.concurrency, count, parent, "--bfcl-stream")["cpu_ms"])
    ratio = statistics.median(a / b for a, b in zip(streamed, whole, strict=True))
    print(
        f"{count} requests, {options.concurrency} in flight, load {os.getloadavg()[0]:.1f}: "
        f"{statistics.median(whole):.2f} ms CPU a request unstreamed, {statistics.median(streamed):.2f} ms streamed, "
        f"{ratio:.2f} times as much (median of {options.repeats} pairs; limit {options.limit:g})"
    )
    raise SystemExit(ratio > options.limit)


if __name__ == "__main__":
    main()
