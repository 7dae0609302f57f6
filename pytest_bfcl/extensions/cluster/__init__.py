"""Runs on a cluster of machines, on Ray: actors drive the one `Runner`, the driver keeps everything that is answered.

This module is the feeder (`pytest_bfcl.session.feeders`) behind ``--ray`` and ``cluster="HOST:PORT"``. Ray is an extra
(``pytest-bfcl[ray]``), imported where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_bfcl.run_options import Option
from pytest_bfcl.run_options import values as kinds

if TYPE_CHECKING:
    import argparse

    from pytest_bfcl.extensions.cluster.driver import Pool
    from pytest_bfcl.extensions.cluster.remote_runner import RemoteRunner
    from pytest_bfcl.extensions.training.judging import Judging, Tally
    from pytest_bfcl.extensions.training.pieces import Piece


@dataclass
class Cluster:
    """A Ray cluster and what a run takes of it.

    ``address``: ``HOST:PORT``, ``auto`` (the one running on this machine, or ``RAY_ADDRESS``), or ``local``: one is
    started here for the run. ``actors``: processes that hold conversations; default: one for each CPU, at most one for
    each 16 conversations at a time. ``cpus`` and ``resources`` are what each of them reserves. ``send_keys``: whether
    API keys of this environment go to the actors. ``place_s``: seconds to wait for the first place.
    """

    address: str | None = "auto"
    actors: int | None = None
    cpus: float = 1.0
    resources: Mapping[str, float] = field(default_factory=dict)
    send_keys: bool = True
    place_s: float = 120.0
    _ours: bool = field(default=False, init=False, repr=False)

    def runner(self, *run: Any, **told: Any) -> RemoteRunner:
        """What holds the conversations of one run there (`pytest_bfcl.session.feeders.Place`)."""
        from pytest_bfcl.extensions.cluster.remote_runner import RemoteRunner

        return RemoteRunner(self, *run, **told)

    async def pool(self, concurrency: int) -> Pool:
        """Connect to the cluster. Raises `UsageError` when that cannot be."""
        from pytest_bfcl.extensions.cluster.ray_pool import RayPool, connect

        self._ours = connect(self.address)
        return RayPool(self, concurrency)

    async def aclose(self) -> None:
        """Disconnect, if connecting was our doing."""
        if self._ours:
            from pytest_bfcl.extensions.cluster.ray_pool import import_ray

            self._ours = False
            import_ray().shutdown()


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

    return (
        None if args.ray is None else Cluster(args.ray, args.ray_actors, args.ray_cpus, send_keys=not args.ray_own_keys)
    )


def place_at(address: str) -> Cluster:
    """A Ray cluster: ``auto``, ``local``, ``HOST:PORT``."""

    return Cluster(address)


def judged(pieces: Sequence[Piece], how: Judging, address: str) -> Iterator[Tally]:
    """Files judged by a cluster's workers; every node finds them under the same path."""
    from pytest_bfcl.extensions.cluster.ray_judging import judged_on_ray

    return judged_on_ray(pieces, how, address)
