"""The start of a session's run: a dry run prints its estimate; otherwise models and run directory are prepared."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_bfcl.dataset.categories import EARLIER
from pytest_bfcl.failures import did_you_mean
from pytest_bfcl.plain_text import say
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.contenders import check_providers
from pytest_bfcl.plugin.nodes import EntryItem
from pytest_bfcl.plugin.pytest_internals import Sink
from pytest_bfcl.plugin.session import opened
from pytest_bfcl.selection import selection
from pytest_bfcl.selection.selection import mark_names

if TYPE_CHECKING:
    from pytest_bfcl.plugin.conversations import Conversations
    from pytest_bfcl.plugin.results import Results
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.plugin.session_end import SessionGates
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
        with pytest_internals.users_mistakes():
            self._fleet.start(self._run.folder, arguments=self._session.settings.serve or "", said=say)
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


class SessionStart:
    """The time before the first item, on the controller."""

    def __init__(
        self,
        session: Session,
        run: Run,
        results: Results,
        conversations: Conversations,
        engines: Engines | None,
        gates: SessionGates,
    ) -> None:
        self._gates = gates
        self._engines = engines
        self._session = session
        self._run = run
        self._results = results
        self._conversations = conversations

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Refuse unknown providers, and misspelt marks: ``not multturn`` would deselect nothing.

        Conftest files below a named path may bring a model; without workers they are read first.
        """
        option = session.config.option
        if getattr(option, "help", False):
            return
        with pytest_internals.users_mistakes():
            if self._session.distributed or not session.config.args:
                check_providers(self._session)
        if "," in selection.without_arguments(getattr(option, "markexpr", "") or ""):
            raise pytest.UsageError(f"-m {option.markexpr!r}: marks are joined by or, and, not: -m 'live or non_live'")
        registered = [re.split(r"[:(]", line, maxsplit=1)[0].strip() for line in session.config.getini("markers")]
        for word in selection.misspelt_marks(getattr(option, "markexpr", "") or "", registered):
            meant = f"since V4 it is {EARLIER[word]!r}" if word in EARLIER else did_you_mean(word, mark_names())
            raise pytest.UsageError(
                f"-m {option.markexpr!r}: there is no mark {word!r}; {meant}\n"
                "a mark of your own with this name has to be registered (ini option markers)"
            )

    def _say_nothing_is_left(self, config: pytest.Config) -> None:
        """Exit code 5 alone does not show which option left no entry."""
        keyword, marks = str(config.option.keyword or ""), str(config.option.markexpr or "")
        asked = [f"-k {keyword!r}"] * bool(keyword) + [f"-m {marks!r}"] * bool(marks)
        asked += [f"--bfcl-categories {','.join(self._session.plan.categories)}"] * bool(self._session.plan.categories)
        if asked:
            meant = did_you_mean(keyword, mark_names()) if keyword else ""
            told = f"no entry fits {' and '.join(asked)}" + (f"; {meant}" if meant else "")
            self._session.notices.tell(told)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """A dry run ends after collection; otherwise open the run directory before the first item."""
        if session.config.option.collectonly:
            return None
        if self._session.plan.dry_run:
            from pytest_bfcl.scoring.gating import UNJUDGED
            from pytest_bfcl.session.estimate import estimate_lines

            reporter = session.config.pluginmanager.getplugin("terminalreporter")
            tell = Sink(reporter).write_line if reporter is not None else say
            trials = [item.trial for item in session.items if isinstance(item, EntryItem)]
            asked = [(trial.entry_id, trial.category) for trial in trials]
            self._results.tell_ahead(asked, self._conversations.skip_reason)
            for line in estimate_lines(trials, self._session.plan.precision):
                tell(line)
            if self._gates.options.wants_verdict:
                tell(UNJUDGED)
            return True
        items = self._conversations.items
        here = not self._session.distributed
        entries: list[tuple[str, str]] = []
        if here:
            entries = [(item.ref.id, item.ref.category) for item in items]
            self._results.plan([item.nodeid for item in items], entries)
            others = len(items) < len(session.items)
            self._gates.refuse_unreachable(entries, self._conversations.skip_reason, others=others)
        if self._engines is not None and here and (items or self._session.data.checks):
            self._engines.start()
        if items and here:
            with pytest_internals.users_mistakes():
                self._conversations.create_models()
            opened(self._run)
            trials = [item.trial for item in items]
            self._results.tell_ahead(entries, self._conversations.skip_reason, trials)
            self._results.receive_broken()
        elif self._results.broken and here:
            self._results.receive_broken()
        elif self._run.earlier.settled and here:
            opened(self._run)  # nothing is left to ask: tell what the run came to
        elif here and not session.items:
            self._say_nothing_is_left(session.config)
        return None
