"""The fixture ``ask`` (``bfcl_ask``) of users' own tests, with recordings to run them without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import pytest

from pytest_bfcl.failures import AdapterError, HarnessError, UsageError
from pytest_bfcl.plugin import options
from pytest_bfcl.run_options import OPTIONS
from pytest_bfcl.run_options.values import Parted
from pytest_bfcl.settings import Settings

if TYPE_CHECKING:
    from pytest_bfcl.extensions.own.asking import Answer
    from pytest_bfcl.extensions.own.recordings import Identity, Matching, Recorded, Tape
    from pytest_bfcl.models import Model
    from pytest_bfcl.models.base import Request

ASKS: pytest.StashKey[_Asks] = pytest.StashKey()
RecordMode = Literal["all", "new", "replay", "prune"]
ANSWERS = "bfcl_answers"
"""The attribute of a report that has them."""


class _Asks:
    """The shared parts of all ``ask`` fixtures of a session; made on first use."""

    def __init__(self, config: pytest.Config) -> None:
        from pytest_bfcl.extensions.own.recordings import Recorded
        from pytest_bfcl.models import parse_spec
        from pytest_bfcl.rescoring import open_data

        mode, path, self.matching = recordings_of(config)
        active = options.is_active(config)
        self.config = config
        self.note = path is not None and mode in ("new", "all")
        self.tapes: dict[str, Tape] = {}
        self.texts = open_data("bundled").texts
        self.recorded: Recorded | None = None
        if path is not None and mode != "all":
            self.recorded = Recorded(path, self.matching, may_be_missing=mode == "new")
        self.live = active and (self.recorded is None or mode == "new")
        self.settings, self.spec = Settings(), parse_spec("replay:recording")
        if active:
            from pytest_bfcl.plugin.session import SESSION

            session = config.stash[SESSION]
            self.settings, self.spec = session.settings, session.specs[0]
        elif self.recorded is None:
            raise UsageError("the fixture ask needs a model: --model provider:name, or --bfcl-record replay=FILE")
        self._runner: asyncio.Runner | None = None
        self._model: Model | None = None

    def make_model(self) -> Model:
        """A new adapter, because an adapter belongs to the loop that uses it first."""
        from pytest_bfcl.models import as_model, create_model
        from pytest_bfcl.plugin.contenders import Factories

        if not self.live and self.recorded is not None:
            return as_model(_no_model, "replay:recording", mode=self.recorded.mode)
        mode = self.spec.mode or (self.settings.mode if self.settings.mode != "auto" else "fc")
        factory = Factories(self.config).get(self.spec.provider)
        if factory is not None:
            return as_model(factory(self.spec, self.settings, mode), self.spec.with_mode(mode).text, mode=mode)
        return create_model(self.spec, self.settings, mode=mode)

    def run(self, ask: Callable[[Model], Coroutine[Any, Any, Answer]]) -> Answer:
        """Ask on the loop of synchronous tests."""
        self._runner = self._runner or asyncio.Runner()
        self._model = self._model or self.make_model()
        return self._runner.run(ask(self._model))

    def close(self) -> None:
        """End model and loop."""
        if self._runner is not None:
            if self._model is not None:
                self._runner.run(self._model.aclose())
            self._runner.close()


class Recordings(NamedTuple):
    """The value of the option: the mode, the file (``None``: nothing is recorded or replayed), the compared parts of a
    request. ``all`` sends and records everything, ``new`` only unrecorded requests. ``replay`` sends and records
    nothing. ``prune`` sends nothing, and removes requests that the tests no longer send.
    """

    mode: RecordMode
    path: Path | None
    matching: Matching


def recordings_of(config: pytest.Config) -> Recordings:
    """The parsed value of ``--bfcl-record``. Raises `UsageError`."""
    from pytest_bfcl.extensions.own.recordings import Matching

    (option,) = (each for each in OPTIONS if each.name == "record")
    said = options.read(config, option)
    if said is None:
        return Recordings("replay", None, Matching(()))
    said = said if isinstance(said, Parted) else Parted(said)
    matching = Matching([part for name, part in said.parts if name == "ignore"])
    files: list[tuple[RecordMode, str]] = [("all", said.value)] if said.value else []
    files += [(cast("RecordMode", name), part) for name, part in said.parts if name != "ignore"]
    if len(files) != 1:
        raise UsageError("--bfcl-record: name one file: FILE, replay=FILE, new=FILE or prune=FILE")
    return Recordings(files[0][0], Path(files[0][1]), matching)


class AnswersOnReports:
    """In every process that runs tests: puts the answers of a test's phase on its report, as JSON text."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the answers on the report."""
        report = yield
        asks = item.config.stash.get(ASKS, None)
        tape = asks.tapes.get(item.nodeid) if asks is not None else None
        if tape is not None and (tape.noted or tape.asked):
            led = [pointer.text for pointer in asks.matching.pointers if pointer.led] if asks is not None else []
            setattr(report, ANSWERS, json.dumps({"noted": tape.noted, "asked": tape.asked, "led": led}))
            tape.noted, tape.asked = [], []
        return report


class AnswersKept:
    """In the reporting process: the only writer of the file, for all workers; tidies it at the end."""

    def __init__(self, asked: Recordings, stop: Callable[[str], None]) -> None:
        from pytest_bfcl.runs.lines import LineAppender

        assert asked.path is not None
        self._recordings, self._path = asked, asked.path
        self._stop = stop
        self._asked: dict[str, set[Identity]] = {}
        self._finished: set[str] = set()
        self._collected: set[str] = set()
        self._taken_out = 0
        self._led: set[str] = set()
        self._written = 0
        try:
            self._lines = LineAppender(asked.path) if asked.mode != "prune" else None
        except HarnessError as error:
            raise UsageError(f"--bfcl-record: {error}") from None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The planned tests."""
        self._collected.update(item.nodeid for item in items)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """All existing tests."""
        self._collected.update(item.nodeid for item in items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the answers of a phase; a test whose answers cannot be written has failed."""
        from pytest_bfcl.extensions.own.recordings import Identity

        text: str | None = getattr(report, ANSWERS, None)
        told = json.loads(text) if text else {"noted": (), "asked": (), "led": ()}
        self._asked.setdefault(report.nodeid, set()).update(Identity(*each) for each in told["asked"])
        self._led.update(told["led"])
        self._written += len(told["noted"])
        try:
            for line in told["noted"]:
                if self._lines is not None:
                    self._lines.append(line)
        except HarnessError as error:
            report.outcome, report.longrepr = "failed", error.message
            self._stop(error.message)
        if report.when == "call" and report.passed:
            self._finished.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Flush to disk, close, and remove requests that are no longer sent."""
        from pytest_bfcl.extensions.own.recordings import tidy

        mode = self._recordings.mode
        if self._lines is not None:
            self._lines.close()
        lost = self._lost()
        if lost and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if not self._path.is_file():
            return
        asked = {test: each for test, each in self._asked.items() if test in self._finished}
        files = {test.partition("::")[0] for test in self._collected}
        whole = not any("::" in str(argument) for argument in session.config.args)

        def gone(test: str) -> bool:
            file = test.partition("::")[0]
            if not (session.config.rootpath / file).exists():
                return True
            return whole and file in files and test not in self._collected

        self._taken_out = tidy(self._path, self._recordings.matching, asked, gone, mode)

    def _lost(self) -> list[str]:
        """Pointers that matched nothing in any written line."""
        pointers = self._recordings.matching.pointers if self._written else []
        return [pointer.text for pointer in pointers if pointer.text not in self._led]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Report the result of pruning, and pointers without effect."""
        for text in self._lost():
            told = f"ignore={text} led nowhere in {self._written} new lines of {self._path}: nothing was left out there"
            terminalreporter.write_line(f"bfcl: {told}")
        if self._recordings.mode == "prune":
            told = f"{self._taken_out} lines that no test asks were taken out of {self._path}"
            terminalreporter.write_line(f"bfcl: {told}")


def register_recording(config: pytest.Config, stop: Callable[[str], None] = pytest.exit) -> None:
    """With ``--bfcl-record``: send answers from every process to the reporting one. Raises `UsageError`.

    ``stop`` ends the session with a reason if they cannot be written.
    """
    asked = recordings_of(config)
    if asked.path is None or asked.mode == "replay":
        return
    plugins = config.pluginmanager
    is_worker = hasattr(config, "workerinput")
    plugins.register(AnswersOnReports(), "bfcl-answers-on-reports")
    if asked.mode == "prune" and (is_worker or plugins.hasplugin("dsession")):
        raise UsageError("--bfcl-record prune= needs all tests in one process: leave out -n")
    if not is_worker:
        plugins.register(AnswersKept(asked, stop), "bfcl-answers-kept")


def _no_model(request: Request) -> str:
    raise UsageError("replies come from a recording, not from a model")


class Asker:
    """``ask(text, tools=…)`` returns an `Answer`; inside a running event loop an awaitable."""

    def __init__(self, asks: _Asks, test: str) -> None:
        from pytest_bfcl.extensions.own.recordings import Tape

        self._asks = asks
        self._tape = Tape(test, asks.recorded, asks.matching, live=asks.live, note=asks.note)
        asks.tapes[test] = self._tape

    def __call__(
        self,
        text: str | list[dict[str, Any]],
        tools: object = (),
        *,
        mcp: str | None = None,
        system: str | None = None,
        live_tools: bool = False,
    ) -> Any:
        """Send a request to the session's model and execute its calls until it stops calling; see `ask_model`."""
        asks, tape = self._asks, self._tape

        async def ask(model: Model) -> Answer:
            from pytest_bfcl.extensions.own.asking import ask_model

            return await ask_model(
                text, tools, model, asks.settings, asks.texts, tape, mcp=mcp, system=system, live_tools=live_tools
            )

        async def ask_here() -> Answer:
            model = asks.make_model()
            try:
                with _failing_with_text():
                    return await ask(model)
            finally:
                await model.aclose()

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            return ask_here()
        with _failing_with_text():
            return asks.run(ask)


@contextmanager
def _failing_with_text() -> Iterator[None]:
    """A user's mistake, or an error of the endpoint, fails the test with its text alone."""
    try:
        yield
    except (UsageError, AdapterError) as error:
        advice = getattr(error, "advice", "")
        raise pytest.fail.Exception(f"{error}\n{advice}" if advice else str(error), pytrace=False) from None


def asker_of(request: pytest.FixtureRequest) -> Asker:
    """The value of the fixtures ``ask`` and ``bfcl_ask``; fails the test with a text if there is no model."""
    config = request.config
    if ASKS not in config.stash:
        with _failing_with_text():
            config.stash[ASKS] = _Asks(config)
        config.add_cleanup(config.stash[ASKS].close)
    return Asker(config.stash[ASKS], request.node.nodeid)
