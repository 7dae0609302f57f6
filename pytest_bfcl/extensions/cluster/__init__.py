"""Runs on a Ray cluster: actors run the same `Runner`, the driver stores all answers.

Ray is a feeder of runs and of judging (`pytest_bfcl.session.feeders`): ``--ray``, ``cluster="HOST:PORT"``. It is an
extra (``pytest-bfcl[ray]``), imported on use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_bfcl.run_options import Option
from pytest_bfcl.run_options import values as kinds

if TYPE_CHECKING:
    import argparse

    from pytest_bfcl.extensions.cluster.driver import Pool
    from pytest_bfcl.extensions.cluster.remote_runner import RemoteRunner
    from pytest_bfcl.extensions.training.judging import Judging, Piece, Tally


ACTORS = Option("ray-actors", "number of actor processes that run entries", kinds.whole(1))
CPUS = Option("ray-cpus", "what each reserves", kinds.decimal(0))


@dataclass
class Cluster:
    """A Ray cluster and the part that a run uses. ``address``: ``HOST:PORT``, ``auto`` (the one on this machine, or
    ``RAY_ADDRESS``), or ``local``, which starts one for the run. ``actors``: processes that hold conversations;
    default: one for each CPU, at most one for each 16 conversations at a time. ``cpus`` is what each of them reserves.
    ``send_keys``: whether API keys of this environment go to the actors.
    """

    address: str | None = "auto"
    actors: int | None = None
    cpus: float = 1.0
    send_keys: bool = True
    _ours: bool = field(default=False, init=False, repr=False)

    def runner(self, *run: Any, **told: Any) -> RemoteRunner:
        """The holder of one run's conversations there (`pytest_bfcl.session.feeders.Place`)."""
        from pytest_bfcl.extensions.cluster.remote_runner import RemoteRunner

        return RemoteRunner(self.send_keys, self.pool, self.aclose, *run, **told)

    async def pool(self, concurrency: int) -> Pool:
        """Connect to the cluster. Raises `UsageError` if that fails."""
        from pytest_bfcl.extensions.cluster.ray_pool import RayPool, connect

        self._ours = connect(self.address)
        return RayPool(self, concurrency)

    async def aclose(self) -> None:
        """Disconnect, if this object connected."""
        if self._ours:
            from pytest_bfcl.extensions.cluster.ray_pool import import_ray

            self._ours = False
            import_ray().shutdown()


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
    """Files judged by a cluster's workers; every node needs them under the same path."""
    from pytest_bfcl.extensions.cluster.ray_pool import judged_on_ray

    return judged_on_ray(pieces, how, address)
