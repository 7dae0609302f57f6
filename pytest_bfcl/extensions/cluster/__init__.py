"""Runs on a Ray cluster: actors run the same `Runner`, the driver stores all answers.

Ray is an extra (``pytest-bfcl[ray]``), imported on use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_bfcl.extensions.cluster.driver import Pool
    from pytest_bfcl.extensions.cluster.remote_runner import RemoteRunner


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
