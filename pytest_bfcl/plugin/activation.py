"""Sets up an active session: its objects in order, each with only what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pytest_bfcl import entry_points
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.collection import CheckSet, Collection, LastFailedGuard, check_set
from pytest_bfcl.plugin.contenders import contenders_of, variants_of
from pytest_bfcl.plugin.conversations import Conversations
from pytest_bfcl.plugin.failure_repr import Folded
from pytest_bfcl.plugin.fixtures import UsersModel, fixtures_of, own_tests
from pytest_bfcl.plugin.nodes import NodeContext
from pytest_bfcl.plugin.outcome import Outcomes
from pytest_bfcl.plugin.protocol import ItemProtocol
from pytest_bfcl.plugin.results import GcThresholds, KeptReports, Results
from pytest_bfcl.plugin.session import HOSTS, SESSION, Session, earlier_parts, run_of, run_path
from pytest_bfcl.plugin.session_end import SessionEnd, Termination, gates_of
from pytest_bfcl.plugin.session_start import Engines, SessionStart
from pytest_bfcl.plugin.terminal import Terminal
from pytest_bfcl.scoring.expectations import Expectations
from pytest_bfcl.selection.selection import marks
from pytest_bfcl.session.contender import Contender
from pytest_bfcl.session.outside import Store
from pytest_bfcl.session.run import Run
from pytest_bfcl.session.runner import Runner


def activate(config: pytest.Config) -> None:
    """Set up an active session: facts, runner, outcomes, collection, and on the controller the session's end."""
    if config.hook.pytest_bfcl_register_simulators.get_hookimpls():
        from pytest_bfcl.simulators import register_simulator

        config.hook.pytest_bfcl_register_simulators(register=register_simulator)
    register_marks(config)
    with pytest_internals.users_mistakes():
        _build(config)


def _build(config: pytest.Config) -> None:
    session = config.stash[SESSION] = Session(config)
    _require_simulators(session)
    if session.plan.own_tests:
        own_tests().register_recording(config, session.notices.stop)
    plugins = config.pluginmanager

    path = run_path(session)
    earlier = earlier_parts(session, path)
    contenders = contenders_of(session, earlier)
    variants = variants_of(contenders, session.settings.repeat)
    run = run_of(session, path, earlier, contenders)
    run.refuse_other()
    session.data.check_arguments({variant.label for variant in variants})

    engines = None
    if session.settings.serve is not None and not session.is_worker:
        engines = Engines(session, run)
        plugins.register(engines, "bfcl-engines")
    store = Store(_store_path(session, path), session.process, session.notices.note)
    runner = Runner(
        None,  # known when the first file is collected
        contenders,
        session.settings,
        store,
        halted=lambda: session.notices.stopped or (engines.trouble() if engines else None),
        note=session.notices.note,
        served=earlier.served,
    )
    runner.on_answer = run.on_answer
    conversations = Conversations(session, runner)
    expectations = Expectations(session.plan.gates["expected"])
    if not session.is_worker:
        run.gates = gates_of(session)
    outcomes = Outcomes(session, runner, conversations, expectations)
    context = NodeContext(variants, runner.skip_reason, outcomes, session.settings.transforms)

    plugins.register(session.notices, "bfcl-notices")
    checks = _check_sets(session, contenders, run)
    plugins.register(Collection(session, context, earlier, conversations, checks), "bfcl-collection")
    plugins.register(LastFailedGuard(), "bfcl-lastfailed")
    plugins.register(outcomes, "bfcl-outcomes")
    plugins.register(conversations, "bfcl-conversations")
    plugins.register(ItemProtocol(config, outcomes, conversations), "bfcl-protocol")
    termination = Termination()
    termination.hurried.append(runner.hurry)
    plugins.register(termination, "bfcl-termination")
    if session.worker is not None:
        from pytest_bfcl.plugin.distribution import WorkerEnd

        ours = WorkerEnd(session.worker["said"], termination)
        plugins.register(ours, "bfcl-worker-end")
        if session.settings.sinks:
            runner.on_answer = ours.answered
    plugins.register(GcThresholds(config), "bfcl-gc")
    plugins.register(UsersModel(config, conversations), "bfcl-users-model")
    for module in fixtures_of(config, conversations, models=len(contenders)):
        plugins.register(module, module.__name__)
    if not session.is_worker:
        results = Results(session, run, variants, outcomes.take_fresh)
        plugins.register(results, "bfcl-results")
        _build_controller(session, run, results, conversations, engines, termination)


def _check_sets(session: Session, contenders: Sequence[Contender], run: Run) -> list[CheckSet]:
    """The selected sets of checks, with their marks and plugins registered."""
    asked = session.data.checks
    register_checks(session.config, asked)
    found = [check_set(name, session, contenders, run, only) for name, only in asked.items()]
    for each in found:
        for name, plugin in each.plugins.items():
            session.config.pluginmanager.register(plugin, name)
    return found


def _build_controller(
    session: Session,
    run: Run,
    results: Results,
    conversations: Conversations,
    engines: Engines | None,
    termination: Termination,
) -> None:
    plugins = session.config.pluginmanager
    end = SessionEnd(session, run, results, termination)
    plugins.register(SessionStart(session, run, results, conversations, engines, end.gates), "bfcl-start")
    plugins.register(end, "bfcl-end")
    folded = Folded(lambda: session.notices.stopped)
    plugins.register(Terminal(session, run, results, end, folded), "bfcl-terminal")
    plugins.register(folded, "bfcl-folding")
    plugins.register(KeptReports(session.config), "bfcl-kept-reports")
    if any(map(plugins.hasplugin, ("xdist", "xdist.plugin"))):  # by entry point or by -p
        from pytest_bfcl.plugin.distribution import Distribution

        distribution = Distribution(session, run, results, end.gates, conversations.skip_reason)
        termination.hurried.append(distribution.hurry)
        plugins.register(distribution, "bfcl-distribution")
    for name, point in entry_points.offered("sessions").items():
        part = entry_points.load(point, "a part of a session")(session, run)
        if part is not None:
            plugins.register(part, f"bfcl-session-{name}")


def _store_path(session: Session, path: Path) -> Path:
    """The folder of this process's files: the run directory, or on another host a folder that is sent there."""
    if session.worker is None or "channel" not in session.worker:
        return path
    sender = entry_points.require("hosts", "files", HOSTS).sender(session.worker)
    session.config.pluginmanager.register(sender, "bfcl-remote-files")
    folder: Path = sender.path
    return folder


def _require_simulators(session: Session) -> None:
    if session.settings.simulators != "own":
        from pytest_bfcl.simulators import simulator_set

        simulator_set(session.settings.simulators).require()


def register_marks(config: pytest.Config) -> None:
    """Register the marks for ``--strict-markers`` and ``--markers``."""
    for name, text in marks():
        config.addinivalue_line("markers", f"{name}: {text}")
    if config.option.markers:
        register_checks(config, entry_points.offered("checks"))


def register_checks(config: pytest.Config, names: Iterable[str]) -> None:
    """The marks of checks that other packages add."""
    for name in names:
        origin = entry_points.origin(entry_points.offered("checks")[name])
        config.addinivalue_line("markers", f"{name}: checks that {origin} adds; not scored")
