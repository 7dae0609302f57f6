"""Ray as a feeder of runs and of judging (`pytest_bfcl.session.feeders`): ``--ray``, ``cluster="HOST:PORT"``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.run_options import Option
from pytest_bfcl.run_options import values as kinds

if TYPE_CHECKING:
    import argparse

    from pytest_bfcl.extensions.cluster import Cluster
    from pytest_bfcl.extensions.training.judging import Judging, Piece, Tally

ACTORS = Option("ray-actors", "number of actor processes that run entries", kinds.whole(1))
CPUS = Option("ray-cpus", "what each reserves", kinds.decimal(0))


def add_arguments(parser: argparse.ArgumentParser, kind: Callable[[Option], Callable[[str], Any]]) -> None:
    """Options of `pytest-bfcl run`."""
    ray = parser.add_argument_group("on a Ray cluster", 'needs the extra: pip install "pytest-bfcl[ray]" on every node')
    ray.add_argument(
        "--ray", nargs="?", const="auto", metavar="ADDRESS",
        help="HOST:PORT, auto (the cluster of this machine, or RAY_ADDRESS), or local (one is started for this run)",
    )  # fmt: skip
    ray.add_argument("--ray-actors", type=kind(ACTORS), metavar="N", help="number of actor processes that run entries")
    ray.add_argument(
        "--ray-cpus", type=kind(CPUS), default=1.0, metavar="CPUS", help="CPUs that each actor reserves (default: 1)"
    )
    ray.add_argument(
        "--ray-own-keys",
        action="store_true",
        help="do not send API keys; actors read them from their nodes' environment",
    )


def place_of(args: argparse.Namespace) -> Cluster | None:
    """The cluster that the options name."""
    from pytest_bfcl.extensions.cluster import Cluster

    return (
        None if args.ray is None else Cluster(args.ray, args.ray_actors, args.ray_cpus, send_keys=not args.ray_own_keys)
    )


def place_at(address: str) -> Cluster:
    """A Ray cluster: ``auto``, ``local``, ``HOST:PORT``."""
    from pytest_bfcl.extensions.cluster import Cluster

    return Cluster(address)


def judged(pieces: Sequence[Piece], how: Judging, address: str) -> Iterator[Tally]:
    """Files judged by a cluster's workers; every node needs them under the same path."""
    from pytest_bfcl.extensions.cluster.ray_pool import judged_on_ray

    return judged_on_ray(pieces, how, address)
