"""A faster protocol for entries: their three reports are made directly if no other plugin is involved.

pytest's protocol (fixtures, a stack of nodes, hooks around three phases) costs more than judging an entry. It is still
used if others may take part: a project's hook or fixture, an unknown plugin, a mark that skips or expects failure,
``--setup-show``, ``--pdb``. Reports and records are equal.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.nodes import DataRoot, EntryFile, EntryItem

if TYPE_CHECKING:
    from _pytest.nodes import Node

    from pytest_bfcl.plugin.conversations import Conversations
    from pytest_bfcl.plugin.outcome import Outcomes

HOOKS = (
    "pytest_runtest_protocol", "pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown",
    "pytest_runtest_makereport", "pytest_exception_interact", "pytest_fixture_setup", "pytest_fixture_post_finalizer",
)  # fmt: skip
"""Hooks of an item that other plugins may implement; their hooks for logged reports still run."""
AROUND_SETUP = frozenset((
    "_pytest.capture", "_pytest.logging", "_pytest.threadexception", "_pytest.unraisableexception",
))  # fmt: skip
"""Hooks that stay around the setup, where requests are sent: output, logs, uncaught exceptions."""
KEEP_OUT = AROUND_SETUP | frozenset((
    "_pytest.assertion", "_pytest.faulthandler", "_pytest.fixtures", "_pytest.runner", "_pytest.setuponly",
    "_pytest.setupplan", "_pytest.skipping", "_pytest.tmpdir", "_pytest.unittest", "_pytest.warnings",
    "_hypothesis_pytestplugin", "aiohttp.pytest_plugin", "anyio.pytest_plugin", "pytest_asyncio.plugin",
    "pytest_html.plugin",
))  # fmt: skip
"""Modules whose hooks do nothing for an entry without one of their fixtures."""
OPTIONS = ("setuponly", "setupshow", "setupplan", "usepdb")
MARKS = frozenset(("skip", "skipif", "xfail"))
"""The marks that pytest evaluates while an item runs."""
CURRENT = "PYTEST_CURRENT_TEST"
INTERRUPTIONS = (pytest.exit.Exception, KeyboardInterrupt)
_Call = pytest.CallInfo[Any]


class ItemProtocol:
    """Runs the entries in which no other plugin is involved.

    The first entry of a process uses pytest's protocol. It sets up the session's fixtures (the model and the event
    loop), which pytest ends with the session.
    """

    def __init__(self, config: pytest.Config, outcomes: Outcomes, conversations: Conversations) -> None:
        self._config = config
        self._outcomes = outcomes
        self._conversations = conversations
        self._files: dict[EntryFile, bool] = {}
        self._current: EntryItem | None = None
        self._setup: Any = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """All plugins and conftest files are known now."""
        modules = {name for hook in HOOKS for name in pytest_internals.modules_behind(self._config, hook)}
        others = [name for name in modules - KEEP_OUT if not name.startswith("pytest_bfcl.")]
        if not others and not any(self._config.getoption(name, False) for name in OPTIONS):
            self._setup = pytest_internals.hook_of(self._config, "pytest_runtest_setup", {*AROUND_SETUP, __name__})
        return (yield)

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run the item, or leave it to pytest."""
        if self._setup is None or not isinstance(item, EntryItem) or not self._is_alone(item):
            return None
        hook = item.file.hooks or item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self._current = item
        try:
            self._run(item, nextitem, hook)
        finally:
            self._current = None
            os.environ.pop(CURRENT, None)
            pytest_internals.forget_phases(item)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _is_alone(self, item: EntryItem) -> bool:
        """Whether all its fixtures, nodes and marks are ours, and the session's fixtures are set."""
        if self._conversations.loop is None or (item.own_markers and _is_marked(item)):
            return False
        file = item.file
        if file not in self._files:
            above = file.listchain()
            plain = all(type(each) in (pytest.Session, pytest.Dir, DataRoot, EntryFile) for each in above)
            self._files[file] = (
                plain and not any(map(_is_marked, above)) and pytest_internals.uses_only(item, "pytest_asyncio.plugin")
            )
        return self._files[file]

    def _run(self, item: EntryItem, nextitem: pytest.Item | None, hook: Any) -> None:
        session, log = item.session, hook.pytest_runtest_logreport
        keywords: dict[str, Literal[1]] = dict.fromkeys(item.keywords, 1)
        call: _Call = pytest.CallInfo.from_call(partial(self._setup, item=item), "setup", INTERRUPTIONS)
        if call.excinfo is not None:
            log(report=hook.pytest_runtest_makereport(item=item, call=call))
        else:
            log(report=pytest_internals.report_of(item, call, keywords))
            log(report=self._checked(item, keywords))
        ends = session.shouldfail or session.shouldstop
        if ends or nextitem is None or nextitem.parent is not item.parent:  # the session's fixtures, another's nodes
            self._outcomes.tear_down(item)
            ending = partial(hook.pytest_runtest_teardown, item=item, nextitem=None if ends else nextitem)
            call = pytest.CallInfo.from_call(ending, "teardown", INTERRUPTIONS)
            log(report=hook.pytest_runtest_makereport(item=item, call=call))
        else:
            call = pytest.CallInfo.from_call(partial(self._outcomes.tear_down, item), "teardown", INTERRUPTIONS)
            log(report=pytest_internals.report_of(item, call, keywords))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Code inside the hooks around the setup."""
        if item is self._current:
            os.environ[CURRENT] = f"{item.nodeid} (setup)"
            self._outcomes.set_up(self._current, self._fill_fixtures)

    def _fill_fixtures(self) -> None:
        """As the session's fixtures, which are already set."""
        assert self._current is not None
        self._current.funcargs["bfcl_loop"] = self._conversations.loop
        self._current.funcargs[self._current.file.model_fixture] = self._conversations.model()

    def _checked(self, item: EntryItem, keywords: dict[str, Literal[1]]) -> pytest.TestReport:
        if item.own_markers and _is_marked(item):  # when it was judged: a failure is expected
            call: _Call = pytest.CallInfo.from_call(
                partial(item.ihook.pytest_runtest_call, item=item), "call", INTERRUPTIONS
            )
            report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
            return report
        call = pytest.CallInfo.from_call(partial(self._outcomes.failure_of, item), "call", INTERRUPTIONS)
        shown = self._outcomes.as_failure_repr(item, call.result) if call.result is not None else None
        return self._outcomes.decided(item, pytest_internals.report_of(item, call, keywords, shown))


def _is_marked(node: Node) -> bool:
    return any(mark.name in MARKS for mark in node.own_markers)
