"""The pytest plugin, registered under the entry point ``pytest11``.

A session without ``--model`` pays for this module and the option table only; the rest loads when a model is given.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_bfcl.plugin import options, pytest_internals
from pytest_bfcl.plugin.options import pytest_load_initial_conftests as pytest_load_initial_conftests
from pytest_bfcl.run_options import OPTIONS


@pytest.fixture
def bfcl_ask(request: pytest.FixtureRequest) -> Any:
    """Send a request to the model under test: ``reply = bfcl_ask("…", tools=[f, g])``; ``await`` it in async tests."""
    from pytest_bfcl.plugin.fixtures import asker_of

    return asker_of(request)


@pytest.fixture
def ask(bfcl_ask: Any) -> Any:
    """Short for ``bfcl_ask``."""
    return bfcl_ask


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the options and their ini keys."""
    pytest_internals.import_as_python_does(pluginmanager, __name__.partition(".")[0])
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register our hooks, so that a conftest may implement them with or without a model."""
    from pytest_bfcl.plugin import newhooks

    pluginmanager.add_hookspecs(newhooks)
    pluginmanager.register(_LoopScope(), "bfcl-loop-scope")


class _LoopScope:
    """Runs before pytest-asyncio, which our extra installs: its advice about a default does not apply to entries."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Pytest catches warnings around this hook, so that the filter ends with it."""
        if options.is_active(config):
            advice = 'The configuration option "asyncio_default_fixture_loop_scope" is unset'
            warnings.filterwarnings("ignore", advice, pytest.PytestDeprecationWarning)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Print ``--bfcl-help`` and exit. A dry run does not start workers."""
    if options.print_help(config):
        return 0
    if options.is_active(config) and config.getoption("bfcl_dry_run"):
        for name, value in (("numprocesses", 0), ("dist", "no"), ("tx", [])):
            if hasattr(config.option, name):
                setattr(config.option, name, value)
    return None


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """With a model: set the session up. Without one: do nothing."""
    if config.option.help:
        pytest_internals.hide_from_help(config, [option.key for option in OPTIONS])
        return
    if unknown := [key for key in pytest_internals.unknown_ini_keys(config) if key.startswith("bfcl")]:
        from pytest_bfcl.plugin.options import refuse_unknown_key

        refuse_unknown_key(config, unknown[0])
    if options.is_active(config):
        from pytest_bfcl.collector import no_collections

        with no_collections():
            from pytest_bfcl.plugin.activation import activate

            activate(config)
    else:
        if options.names_ours(config.invocation_params.args):
            from pytest_bfcl.plugin.options import refuse_without_model

            refuse_without_model(config)
            if config.getoption("bfcl_record"):
                from pytest_bfcl.plugin.fixtures import own_tests

                with pytest_internals.users_mistakes():
                    own_tests().register_recording(config)
        if config.option.markers:  # asks what there is; in any other session the names stay free
            from pytest_bfcl.plugin.activation import register_marks

            register_marks(config)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Conftest files below the arguments are read from now on, and may define an option ``--model``."""
    pytest_internals.release(session.config, "--model", "bfcl_model")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Explain what is missing when entries are named without a model or in an unknown form."""
    try:
        return (yield)
    except pytest.UsageError as error:
        from pytest_bfcl.run_options.refusals import format_hint, missing_hint

        named = [Path(arg.partition("::")[0]) for arg in session.config.args]
        if options.is_active(session.config):
            hints = [format_hint(path) for path in named]
        else:
            hints = [missing_hint(arg, active=False) for arg in session.config.args if not _is_there(arg)]
        hint = next(filter(None, hints), None)
        lines = next((path for path in named if path.suffix == ".jsonl"), None)
        if hint is None and lines is not None and not options.is_active(session.config):
            hint = f"--model is missing: {lines} holds function-calling entries, which need one (--model provider:name)"
        if hint is None:
            raise
        raise pytest.UsageError(*error.args, hint) from None


def _is_there(argument: str) -> bool:
    return Path(argument.partition("::")[0]).exists()
