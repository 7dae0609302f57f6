"""Runs on a cluster of machines, on Ray: actors drive the one `Runner`, the driver keeps everything that is answered.

Ray is an extra (``pytest-bfcl[ray]``), imported where it is used.
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
