"""Runs on a Ray cluster: actors run the same `Runner`, the driver stores all answers.

Ray is an extra (``pytest-bfcl[ray]``), imported on use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_bfcl.extensions.cluster.driver import Pool
    from pytest_bfcl.extensions.cluster.remote_runner import RemoteRunner


@dataclass
class Cluster:
    """A Ray cluster and the part that a run uses. ``address``: ``HOST:PORT``, ``auto`` (the one on this machine, or
    ``RAY_ADDRESS``), or ``local``, which starts one for the run. ``actors``: processes that hold conversations;
    default: one for each CPU, at most one for each 16 conversations at a time. ``cpus`` and ``resources`` are what each
    of them reserves. ``send_keys``: whether API keys of this environment go to the actors. ``place_s``: seconds to wait
    for the first place.
    """

    address: str | None = "auto"
    actors: int | None = None
    cpus: float = 1.0
    resources: Mapping[str, float] = field(default_factory=dict)
    send_keys: bool = True
    place_s: float = 120.0
    _ours: bool = field(default=False, init=False, repr=False)

    def runner(self, *run: Any, **told: Any) -> RemoteRunner:
        """The holder of one run's conversations there (`pytest_bfcl.session.feeders.Place`)."""
        from pytest_bfcl.extensions.cluster.remote_runner import RemoteRunner

        return RemoteRunner(self, *run, **told)

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
