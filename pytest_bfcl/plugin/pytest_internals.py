"""Every use of private parts of pytest and pytest-xdist.

The rest of the plugin uses documented interfaces only. Checked on pytest 8.4.2, 9.0.2, 9.1.0 and 9.2.0 with
pytest-xdist 3.8 and pytest-asyncio 1.5; to test another release, run ``tests/plugin`` and ``tests/session``.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import printable


@contextlib.contextmanager
def users_mistakes() -> Iterator[None]:
    """A user's mistake inside this context becomes pytest's: one message, no traceback."""
    try:
        yield
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


# -- options and arguments ---------------------------------------------------------------------------------------------


def add_first_unless_taken(parser: pytest.Parser, name: str, group: str, **attributes: Any) -> None:
    """Register an option at the head of its group unless another plugin or a conftest has one of that name.

    If it is registered, help does not show the longer names of the same destination.
    """
    groups = [getattr(parser, "_anonymous", None), *getattr(parser, "_groups", [])]
    if any(name in option.names() for each in groups if each for option in each.options):
        return
    with contextlib.suppress(ValueError, argparse.ArgumentError):  # taken after all
        ours = parser.getgroup(group)
        ours.addoption(name, **attributes)
        shown = getattr(getattr(ours, "_arggroup", None), "_group_actions", ours.options)
        for action in shown:
            if getattr(action, "dest", None) == attributes["dest"] and name not in action.option_strings:
                action.help = argparse.SUPPRESS
        shown.insert(0, shown.pop())


def release(config: pytest.Config, name: str, dest: str) -> None:
    """Release one of our names after the command line is read, because a conftest may define its own."""
    parser = getattr(config, "_parser", None)
    known = getattr(getattr(parser, "optparser", None), "_option_string_actions", {})
    action = known.get(name)
    if action is not None and action.dest == dest:
        del known[name]
        action.option_strings = [each for each in action.option_strings if each != name]


def unknown_ini_keys(config: pytest.Config) -> list[str]:
    """Keys of the configuration file that no plugin has registered."""
    return sorted(config._get_unknown_ini_keys())


def hide_from_help(config: pytest.Config, keys: Collection[str]) -> None:
    """Remove ini keys from the list in ``--help``; nothing can read them afterwards."""
    parser = config._parser
    names = getattr(parser, "_ininames", None)  # pytest 8
    for key in keys:
        parser._inidict.pop(key, None)
        if names is not None and key in names:
            names.remove(key)


def import_as_python_does(pluginmanager: pytest.PytestPluginManager, package: str) -> None:
    """Exclude a plugin's package from assertion rewriting: compiling hundreds of modules again takes seconds."""
    hook = pluginmanager.rewrite_hook
    getattr(hook, "_must_rewrite", set()).discard(package)
    getattr(hook, "_marked_for_rewrite_cache", {}).clear()


def names_no_arguments(config: pytest.Config) -> bool:
    """Whether the command line does not name what pytest is about to collect."""
    return config.args_source is not pytest.Config.ArgsSource.ARGS


def replace_arguments(config: pytest.Config, arguments: Sequence[str]) -> None:
    """Let pytest collect these instead, as if they had been named."""
    config.args[:] = arguments
    config.args_source = pytest.Config.ArgsSource.ARGS  # or the header would claim testpaths


def replace_invocation(config: pytest.Config, arguments: Sequence[str]) -> None:
    """The arguments xdist passes on to its workers."""
    config.invocation_params = dataclasses.replace(config.invocation_params, args=tuple(arguments))


def show_unchanged(config: pytest.Config, is_shown: Callable[[str], bool]) -> None:
    """Print some node ids unchanged instead of relative to the working directory."""
    relative = config.cwd_relative_nodeid

    def nodeid_text(nodeid: Any) -> Any:
        return nodeid if is_shown(str(nodeid)) else relative(nodeid)

    config.cwd_relative_nodeid = nodeid_text  # type: ignore[method-assign]


def remote_workers(config: pytest.Config) -> list[str]:
    """xdist's workers on other machines, as written on the command line."""
    return [spec for spec in getattr(config.option, "tx", None) or () if "popen" not in spec]


def line_writer(config: pytest.Config) -> Callable[[str], None]:
    """A function that writes a line to the terminal at once, if there is a terminal reporter."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    return Sink(reporter).write_line if reporter is not None else (lambda text: None)


# -- collection --------------------------------------------------------------------------------------------------------


def collect_report(collector: pytest.Collector) -> pytest.CollectReport:
    """Collect a node without plugins that would skip it."""
    from _pytest.runner import pytest_make_collect_report

    return pytest_make_collect_report(collector)


def continue_on_collection_errors(session: pytest.Session) -> None:
    """As the option of that name."""
    session.config.option.continue_on_collection_errors = True


def set_label(item: pytest.Item, parent: object, name: str, label: str) -> None:
    """Give an item the label in brackets as a parameter of its id: pytest 9.2 compares the structure with ``--lf``."""
    if hasattr(parent, "id"):
        item._id = parent.id.child(name).with_params(label)
        item.__dict__.pop("nodeid", None)


# -- fixtures ----------------------------------------------------------------------------------------------------------


def shared_fixtures(first: pytest.Function | None) -> Parsed:
    """Arguments for a further item of the same test function: its fixtures are resolved once."""
    return {"fixtureinfo": first._fixtureinfo} if first is not None else {}


def definition_used(item: pytest.Function, name: str) -> pytest.FixtureDef[Any]:
    """The definition of a fixture that the item uses."""
    return item._fixtureinfo.name2fixturedefs[name][-1]


def fixture_definitions(node: pytest.Collector, name: str) -> Sequence[pytest.FixtureDef[Any]]:
    """All definitions of a fixture that tests below a node may use."""
    return node.session._fixturemanager.getfixturedefs(name, node) or ()


def is_ours(definition: pytest.FixtureDef[Any]) -> bool:
    """Whether it is this plugin's own fixture."""
    return str(getattr(definition.func, "__module__", "")).startswith("pytest_bfcl.plugin")


def is_of_a_project(definition: pytest.FixtureDef[Any], config: pytest.Config) -> bool:
    """Whether a conftest defines it, and no plugin does."""
    module = sys.modules.get(getattr(definition.func, "__module__", ""))
    return not is_ours(definition) and (_is_conftest(module) or not config.pluginmanager.is_registered(module))


def place_of(definition: pytest.FixtureDef[Any], config: pytest.Config) -> str:
    """File and line of a fixture, relative to the project if it is inside."""
    code = getattr(inspect.unwrap(definition.func), "__code__", None)
    if code is None:
        return "a fixture without a place"
    path = Path(code.co_filename)
    with contextlib.suppress(ValueError):
        path = path.relative_to(config.rootpath)
    return f"{path}:{code.co_firstlineno}"


def is_defined_elsewhere(config: pytest.Config, fixture: str) -> bool:
    """Whether another plugin has a fixture of that name; a conftest's overrides ours anyway."""
    plugins = config.pluginmanager.get_plugins()
    found = (inspect.getattr_static(each, fixture, None) for each in plugins if not _is_conftest(each))
    return any(type(each).__name__ == "FixtureFunctionDefinition" for each in found)


def is_own_plugin(plugin: object) -> bool:
    """Whether a plugin belongs to this one: a module of it, or one made for a fixture."""
    return str(getattr(plugin, "__name__", "")).startswith("pytest_bfcl.")


def brings_fixture(config: pytest.Config, fixtures: Sequence[str]) -> bool:
    """Whether a conftest or another loaded plugin defines one of these fixtures."""
    others = (each for each in config.pluginmanager.get_plugins() if not is_own_plugin(each))
    for plugin in others:
        for name, each in list(vars(plugin).items()) if hasattr(plugin, "__dict__") else ():
            if type(each).__name__ == "FixtureFunctionDefinition" and {name, getattr(each, "name", None)} & {*fixtures}:
                return True
    return False


def users_frames(excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
    """The traceback in the project's own code; all of it if there is no such frame."""
    from _pytest._code import Traceback, filter_traceback

    from pytest_bfcl.models.callable import is_users_code

    kept = [each for each in excinfo.traceback if is_users_code(str(each.path))]
    return Traceback(kept) if kept else excinfo.traceback.filter(filter_traceback)


def _is_conftest(plugin: object) -> bool:
    return Path(getattr(plugin, "__file__", None) or "").name == "conftest.py"


@contextlib.contextmanager
def standing_in(definition: pytest.FixtureDef[Any], function: Any) -> Iterator[None]:
    """Set a fixture up with another function."""
    original = definition.func
    definition.func = function  # type: ignore[misc]
    try:
        yield
    finally:
        definition.func = original  # type: ignore[misc]


def is_asyncio_fixture(function: object) -> bool:
    """Whether pytest-asyncio's own decorator made this fixture."""
    return bool(getattr(function, "_force_asyncio_fixture", False))


# -- an item's phases --------------------------------------------------------------------------------------------------


def modules_behind(config: pytest.Config, hook: str) -> Iterator[str]:
    """Names of the modules whose functions a hook calls."""
    return (each.function.__module__ for each in getattr(config.hook, hook).get_hookimpls())


def hook_of(config: pytest.Config, hook: str, modules: Collection[str]) -> Any:
    """A hook that calls only functions of these modules."""
    others = (each for each in getattr(config.hook, hook).get_hookimpls() if each.function.__module__ not in modules)
    return config.pluginmanager.subset_hook_caller(hook, [each.plugin for each in others])


def uses_only(item: pytest.Function, module: str) -> bool:
    """Whether all fixtures of the item are this plugin's, or of that module."""
    used = (each[-1] for each in item._fixtureinfo.name2fixturedefs.values())
    return all(is_ours(each) or getattr(each.func, "__module__", "") == module for each in used)


def report_of(
    item: pytest.Item, call: pytest.CallInfo[Any], keywords: Mapping[str, Literal[1]], failure: Any = None
) -> pytest.TestReport:
    """The report of a phase without an error; ``failure`` is shown if it failed nevertheless."""
    return pytest.TestReport(
        getattr(item, "id", item.nodeid),
        item.location,
        keywords,
        "passed" if failure is None else "failed",
        failure,
        call.when,  # type: ignore[arg-type]
        [(f"Captured {kind} {when}", text) for when, kind, text in item._report_sections]
        if item._report_sections
        else (),
        call.duration,
        call.start,
        call.stop,
        item.user_properties,
    )


def forget_phases(item: pytest.Function) -> None:
    """Release what pytest releases at the end of an item."""
    from _pytest.logging import caplog_handler_key, caplog_records_key

    item._request = False  # type: ignore[assignment]
    item.funcargs = None  # type: ignore[assignment]
    keys: tuple[pytest.StashKey[Any], ...] = (caplog_handler_key, caplog_records_key)
    for key in keys:
        if key in item.stash:
            del item.stash[key]


# -- outcome -----------------------------------------------------------------------------------------------------------


def skipped(why: str) -> BaseException:
    """What to raise for a skip so that pytest shows it at the entry, not in our code."""
    return pytest.skip.Exception(why, _use_item_location=True)


def counted(config: pytest.Config) -> dict[str, list[Any]]:
    """The terminal reporter's lists of reports by outcome."""
    found: dict[str, list[Any]] = getattr(config.pluginmanager.getplugin("terminalreporter"), "stats", {})
    return found


@contextlib.contextmanager
def uncaptured(config: pytest.Config) -> Iterator[None]:
    """Let output inside this context reach the terminal."""
    manager = config.pluginmanager.getplugin("capturemanager")
    with manager.global_and_fixture_disabled() if manager is not None else contextlib.nullcontext():
        yield


def stop_session(config: pytest.Config, why: str) -> None:
    """Stop this session, and xdist's, after the current item."""
    for name in ("session", "dsession"):
        session = config.pluginmanager.getplugin(name)
        if session is not None and not getattr(session, "shouldstop", False):
            session.shouldstop = why


def distributed_stop(config: pytest.Config) -> Any:
    """Why xdist's session stops, if it does."""
    return getattr(config.pluginmanager.getplugin("dsession"), "shouldstop", None)


def hasten_exit(config: pytest.Config, seconds: float) -> None:
    """How long xdist waits for its workers at the end."""
    manager = getattr(config.pluginmanager.getplugin("dsession"), "nodemanager", None)
    if manager is not None:
        manager.EXIT_TIMEOUT = seconds


class Sink:
    """Comes before pytest's terminal reporter, with the names of its methods."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self.ensure_newline = reporter.ensure_newline

    def write_line(self, text: object, **markup: bool) -> None:
        """A text, each of its lines escaped, inert and cut."""
        for line in printable(str(text)).split("\n"):
            self._reporter.write_line(line, **markup)

    def write_sep(self, sign: str, title: str, **markup: bool) -> None:
        """A rule with a title."""
        self._reporter.write_sep(sign, printable(title), **markup)

    def obeyed(self, line: str) -> None:
        """A line that a CI runner is meant to obey; the caller has escaped untrusted text in it."""
        self._reporter.write_line(line)
