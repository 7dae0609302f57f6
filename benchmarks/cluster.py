"""Judging files of rollouts and holding conversations, in one process and on a local Ray cluster of two actors.

    python benchmarks/cluster.py judge [--lines 100000] [--ray]
    python benchmarks/cluster.py converse [--repeats 1] [--ray]

``judge``: lines of the bundled single-turn entries, repeated, in eight files; CPU seconds of this process and its
children, and the largest memory of this process. ``converse``: the bundled single-turn entries with the lexical
baseline, so that nothing but this side is measured. Ray's start is left out. Needs the extra ``ray`` for --ray.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from pytest_bfcl.cluster import Cluster
from pytest_bfcl.cluster.judging import Judging, judge_piece, pieces_of
from pytest_bfcl.evaluation import run
from pytest_bfcl.settings import Settings

FILES = 8


def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def rollouts(folder, count):
    """About so many lines in eight files, from one run of the baseline."""
    run("bundled", "lexical:@fc", categories=["single_turn"], out=folder / "run")
    keep = ("id", "category", "model", "mode", "output", "underscore_names")
    lines = [json.loads(line) for line in (folder / "run" / "results.jsonl").open()]
    text = "".join(json.dumps({name: line[name] for name in keep}) + "\n" for line in lines)
    times = max(1, count // len(lines) // FILES)
    for number in range(FILES):
        with (folder / f"part-{number}.jsonl").open("w") as file:
            for _ in range(times):
                file.write(text)
    return times * FILES * len(lines)


def judge(folder, args):
    lines = rollouts(folder, args.lines)
    how = Judging(str(folder / "verdicts"), "bundled")
    if args.ray:
        import ray

        from pytest_bfcl.cluster.ray_judging import judge_on_ray

        ray.init(address="local", num_cpus=2, log_to_driver=False, include_dashboard=False)
    started, used = time.perf_counter(), cpu()
    if args.ray:
        tallies = judge_on_ray([str(folder / "part-*.jsonl")], how, None)
    else:
        tallies = [judge_piece(piece, how) for piece in pieces_of([str(folder / "part-*.jsonl")])]
    wall, spent = time.perf_counter() - started, cpu() - used
    assert sum(each.lines for each in tallies) == lines
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shown = "" if args.ray else f", {1e6 * spent / lines:.0f} µs CPU a line"
    print(f"judged {lines} lines in {wall:.1f} s = {lines / wall:.0f}/s{shown}, this process {memory:.0f} MB")


def converse(folder, args):
    settings = Settings(repeat=args.repeats, concurrency=64)
    place = None
    if args.ray:
        import ray

        ray.init(address="local", num_cpus=2, log_to_driver=False, include_dashboard=False)
        place = Cluster(actors=2)
    started, used = time.perf_counter(), time.process_time()
    result = run(
        "bundled", "lexical:@fc", categories=["single_turn"], out=folder / "run", settings=settings, cluster=place
    )
    wall, spent = time.perf_counter() - started, time.process_time() - used
    count = len(result.records)
    print(f"held {count} conversations in {wall:.1f} s = {count / wall:.0f}/s, "
          f"{1000 * spent / count:.2f} ms CPU of the driver each")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("judge", "converse"))
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--ray", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        {"judge": judge, "converse": converse}[args.what](Path(name), args)


if __name__ == "__main__":
    main()
