"""Judging files of rollouts and holding conversations, in one process and on a local Ray cluster of two actors.

    python benchmarks/cluster.py judge [--lines 100000] [--parquet] [--processes 2 | --ray]
    python benchmarks/cluster.py converse [--repeats 1] [--ray]

``judge``: lines of the bundled single-turn entries, repeated, in eight files; wall time with the start of processes
(of Ray: without), CPU of this process and of its workers, the largest memory of this process and of any worker.
``converse``: the bundled single-turn entries with the lexical baseline, so that nothing but this side is measured.
Ray's start is left out. Needs the extra ``ray`` for --ray.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import threading
import time
from pathlib import Path

from pytest_bfcl.extensions.cluster import Cluster
from pytest_bfcl.extensions.training.judging import Judging, judged_here, pieces_of
from pytest_bfcl.session.evaluation import run
from pytest_bfcl.settings import Settings

FILES = 8


def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Workers(threading.Thread):
    """Descendants of this process whose command has this word: the largest memory of any in MB, CPU seconds of all."""

    def __init__(self, word):
        super().__init__(daemon=True)
        self.word, self.memory, self.used, self.ended = word, 0.0, {}, threading.Event()

    def run(self):
        while not self.ended.wait(0.2):
            parents, figures = {}, {}
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    told = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                    command, stat = (folder / "cmdline").read_text(), (folder / "stat").read_text()
                except OSError:
                    continue
                parents[int(folder.name)] = int(told["PPid"])
                if self.word in command and "VmHWM" in told:
                    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:13]))
                    figures[int(folder.name)] = (int(told["VmHWM"].split()[0]) / 1024, ticks / os.sysconf("SC_CLK_TCK"))
            for worker, (memory, used) in figures.items():
                above = worker
                while (above := parents.get(above, 0)) > 1:
                    if above == os.getpid():
                        self.memory = max(self.memory, memory)
                        self.used[worker] = used
                        break

    def end(self):
        self.ended.set()
        self.join()
        return self.memory, sum(self.used.values())


def write_parquet(path, rows, times):
    """The same rows with outputs as JSON, one row group for each 50,000."""
    import pyarrow
    from pyarrow import parquet

    keep = [{name: value for name, value in row.items() if name != "output"} for row in rows]
    outputs = [json.dumps(row["output"]) for row in rows]
    made = pyarrow.Table.from_pylist(keep).append_column("output_json", pyarrow.array(outputs))
    some = max(1, 50_000 // len(rows))
    with parquet.ParquetWriter(path, made.schema) as writer:
        for start in range(0, times, some):
            writer.write_table(pyarrow.concat_tables([made] * min(some, times - start)), row_group_size=60_000)


def rollouts(folder, count, parquet=False):
    """About so many lines in eight files, from one run of the baseline."""
    run("bundled", "lexical:@fc", categories=["single_turn"], out=folder / "run")
    keep = ("id", "category", "model", "mode", "output", "underscore_names")
    lines = [json.loads(line) for line in (folder / "run" / "results.jsonl").open()]
    rows = [{name: line[name] for name in keep} for line in lines]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    times = max(1, count // len(lines) // FILES)
    for number in range(FILES):
        if parquet:
            write_parquet(folder / f"part-{number}.parquet", rows, times)
            continue
        with (folder / f"part-{number}.jsonl").open("w") as file:
            for _ in range(times):
                file.write(text)
    return times * FILES * len(lines)


def judge(folder, args):
    lines = rollouts(folder, args.lines, args.parquet)
    pieces = pieces_of([str(folder / "part-*")])
    workers = Workers("ray::" if args.ray else "multiprocessing")
    how = Judging(str(folder / "verdicts"), "bundled")
    if args.ray:
        import ray

        from pytest_bfcl.extensions.cluster.ray_pool import judged_on_ray

        ray.init(address="local", num_cpus=2, log_to_driver=False, include_dashboard=False)
    workers.start()
    started, used = time.perf_counter(), cpu()
    tallies = list(judged_on_ray(pieces, how, None) if args.ray else judged_here(pieces, how, args.processes))
    wall, spent = time.perf_counter() - started, cpu() - used
    assert sum(each.lines for each in tallies) == lines
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    theirs, used = workers.end()
    spent += used if args.ray else 0.0
    print(f"judged {lines} lines in {wall:.1f} s = {lines / wall:.0f}/s, {1e6 * spent / lines:.0f} µs CPU a line, "
          f"this process {memory:.0f} MB, workers {theirs:.0f} MB")  # fmt: skip


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
          f"{1000 * spent / count:.2f} ms CPU of the driver each, driver "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("judge", "converse"))
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--parquet", action="store_true")
    parser.add_argument("--ray", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        {"judge": judge, "converse": converse}[args.what](Path(name), args)


if __name__ == "__main__":
    main()
