"""A Ray cluster of several nodes on this machine, which does as it is told: ``actor``, ``node``, ``add``, ``end``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

SMALL = {"num_cpus": 1, "object_store_memory": 80 * 1024 * 1024}


def children(parents: set[int], name: str) -> list[int]:
    """Processes of a name whose parent is one of these."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            status, command = (folder / "status").read_text(), (folder / "cmdline").read_text()
        except OSError:
            continue
        parent = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))
        if parent in parents and command.startswith(name):
            found.append(int(folder.name))
    return found


def raylets(cluster: Any) -> set[int]:
    return {info.process.pid for node in cluster.list_all_nodes() for info in node.all_processes["raylet"]}


def main() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=SMALL | {"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(**SMALL) for _ in range(int(sys.argv[1]))]
    cluster.wait_for_nodes()
    print(cluster.address, flush=True)
    for word in map(str.strip, sys.stdin):
        if word == "actor":
            os.kill(children(raylets(cluster), "ray::WorkerMain")[0], signal.SIGKILL)
        elif word == "node":
            cluster.remove_node(nodes.pop(0), allow_graceful=False)
        elif word == "add":
            nodes.append(cluster.add_node(**SMALL))
            cluster.wait_for_nodes()
        elif word == "end":
            break
        print(f"done {word}", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
