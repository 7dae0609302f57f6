"""Setting up an active session: state, marks, fixtures, hooks."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plugin.session import SESSION, BfclSession

OLDEST_ASYNCIO = (1, 1)
"""Earlier releases of pytest-asyncio know only the async fixtures of their own items."""


def activate(config: pytest.Config) -> BfclSession:
    """Set up an active session: state, marks, fixtures, hooks."""
    from pytest_bfcl.plugin import collection, fixtures, garbage, progress, terminal, verdict

    if config.hook.pytest_bfcl_register_simulators.get_hookimpls():
        from pytest_bfcl.simulators import register_simulator

        config.hook.pytest_bfcl_register_simulators(register=register_simulator)
    for line in collection.marker_lines():
        config.addinivalue_line("markers", line)
    try:
        bfcl = BfclSession(config)
        config.stash[SESSION] = bfcl
        bfcl.check_arguments()
        verdicts = None if bfcl.is_worker else verdict.Verdicts(bfcl)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    plugins = config.pluginmanager
    plugins.register(collection.Collection(bfcl), "bfcl-collection")
    plugins.register(collection.LastFailedGuard(), "bfcl-lastfailed")
    plugins.register(bfcl.outcomes, "bfcl-outcomes")
    plugins.register(garbage.RareCollections(), "bfcl-garbage")
    plugins.register(fixtures, "bfcl-fixtures")
    twin = "fixtures_asyncio" if has_asyncio(config) else "fixtures_own_loop"
    plugins.register(fixtures.model_fixture(bfcl), "bfcl-model")
    plugins.register(import_module(f"pytest_bfcl.plugin.{twin}").loop_fixture(bfcl), "bfcl-loop")
    if verdicts is None:
        if bfcl.worker and "channel" in bfcl.worker:
            from pytest_bfcl.plugin.mirror import MirrorEnd, Sender

            bfcl.mirror = Sender(bfcl.worker["channel"], bfcl.worker["files"])
            plugins.register(MirrorEnd(bfcl.mirror), "bfcl-mirror")
        return bfcl
    plugins.register(verdicts, "bfcl-verdict")
    plugins.register(terminal.Terminal(bfcl), "bfcl-terminal")
    plugins.register(progress.Progress(bfcl), "bfcl-progress")
    if plugins.hasplugin("xdist"):
        from pytest_bfcl.plugin import distribution

        plugins.register(distribution.Distribution(bfcl), "bfcl-distribution")
    if plugins.hasplugin("html"):
        from pytest_bfcl.plugin import html_columns

        plugins.register(html_columns.Columns(), "bfcl-html")
    return bfcl


def has_asyncio(config: pytest.Config) -> bool:
    """Whether pytest-asyncio is active, by its entry point or by ``-p``, and new enough to share its loop with us."""
    active = any(map(config.pluginmanager.hasplugin, ("asyncio", "pytest_asyncio", "pytest_asyncio.plugin")))
    return active and _asyncio_version() >= OLDEST_ASYNCIO


@cache
def _asyncio_version() -> tuple[int, ...]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return tuple(int(part) for part in version("pytest-asyncio").split(".")[:2])
    except (PackageNotFoundError, ValueError):  # a checkout, a development version
        return OLDEST_ASYNCIO
