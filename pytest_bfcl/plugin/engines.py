"""``--bfcl-serve``: engines as a resource of the session, started by the controller before the first request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.session import opened

if TYPE_CHECKING:
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.session.run import Run


class Engines:
    """The session's engines, on the controller: started once for all workers, always stopped at the end."""

    def __init__(self, session: Session, run: Run) -> None:
        from pytest_bfcl.session.serving import fleet_of

        self._session = session
        self._run = run
        self._fleet = fleet_of(session.specs, session.settings.base_url)
        self._started = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """With workers: start the engines first, because workers receive their addresses."""
        if self._session.distributed and not session.config.option.collectonly:
            remote = pytest_internals.remote_workers(session.config)
            if remote:
                raise pytest.UsageError(
                    f"--bfcl-serve starts engines on this machine only, which {remote[0]} cannot reach: "
                    "start them yourself and give --bfcl-base-url"
                )
            self.start()

    def start(self) -> None:
        """Start the remaining engines and wait until they accept requests. Raises `pytest.UsageError`."""
        if self._started or self._session.plan.dry_run:
            return
        self._started = True
        opened(self._run)
        config = self._session.config
        config.add_cleanup(self._fleet.stop)
        say = pytest_internals.line_writer(config)
        try:
            self._fleet.start(self._run.folder, arguments=self._session.settings.serve or "", said=say)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None
        self._session.serve_at(self._fleet.addresses)

    def trouble(self) -> str | None:
        """Why an engine ended during a request."""
        return self._fleet.trouble() if self._started else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Report an engine that has ended, and stop the others."""
        if trouble := self.trouble():
            self._session.notices.note(trouble)
        self._fleet.stop()
