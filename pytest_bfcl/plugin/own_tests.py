"""The fixture ``ask`` (``bfcl_ask``) of people's own tests, with recordings to run them without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.failures import AdapterError, HarnessError, UsageError
from pytest_bfcl.plugin import options
from pytest_bfcl.run_options import OPTIONS

if TYPE_CHECKING:
    from pytest_bfcl.gateways.asking import Answer
    from pytest_bfcl.gateways.recordings import Recorded, Recording
    from pytest_bfcl.models import Model
    from pytest_bfcl.models.base import Request
    from pytest_bfcl.plugin.session import Session
    from pytest_bfcl.transcript import Reply

ASKS: pytest.StashKey[_Asks] = pytest.StashKey()
ANSWERS = "bfcl_answers"
"""The attribute of a report that carries them."""


class _Asks:
    """What all ``ask`` fixtures of a session share; made when the first one is used."""

    def __init__(self, config: pytest.Config) -> None:
        from pytest_bfcl.gateways.recordings import Recorded, Recording
        from pytest_bfcl.models import parse_spec
        from pytest_bfcl.rescoring import open_data
        from pytest_bfcl.settings import Settings

        named = {option.name: option for option in OPTIONS}
        record, replay = (options.read(config, named[name]) for name in ("record", "replay"))
        if record and replay:
            raise UsageError("--bfcl-record and --bfcl-replay exclude each other")
        self.config = config
        self.settings = Settings()
        self.texts = open_data("bundled").texts
        self.recorded: Recorded | None = Recorded(Path(replay)) if replay else None
        self.recording: Recording | None = Recording() if record else None
        self.spec = None
        if options.is_active(config):
            from pytest_bfcl.plugin.session import SESSION

            session = config.stash[SESSION]
            self.settings, self.spec = session.settings, session.specs[0]
        elif self.recorded is None:
            raise UsageError("the fixture ask needs a model: pytest --model provider:name, or --bfcl-replay FILE")
        else:
            self.spec = parse_spec("replay:recording")
        self.runner: asyncio.Runner | None = None
        self.model: Model | None = None

    def make_model(self) -> Model:
        """A fresh adapter: it belongs to the loop that uses it first."""
        from pytest_bfcl.models import as_model, create_model
        from pytest_bfcl.plugin.contenders import Factories

        assert self.spec is not None
        if self.recorded is not None:
            return as_model(_never_asked, "replay:recording", mode=self.recorded.mode)
        mode = self.spec.mode or (self.settings.mode if self.settings.mode != "auto" else "fc")
        factory = Factories(self.config).get(self.spec.provider)
        if factory is not None:
            return as_model(factory(self.spec, self.settings, mode), self.spec.with_mode(mode).text, mode=mode)
        return create_model(self.spec, self.settings, mode=mode)

    def run(self, make: Any) -> Any:
        """A coroutine on the loop of synchronous tests."""
        self.runner = self.runner or asyncio.Runner()
        self.model = self.model or self.make_model()
        return self.runner.run(make(self.model))

    def close(self) -> None:
        """End model, loop and files."""
        if self.runner is not None:
            if self.model is not None:
                self.runner.run(self.model.aclose())
            self.runner.close()


class AnswersOnReports:
    """In every process that runs tests: what was answered in a phase of a test travels on its report, as JSON text."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the answers on the report."""
        report = yield
        asks = item.config.stash.get(ASKS, None)
        if asks is not None and asks.recording is not None and (noted := asks.recording.take(item.nodeid)):
            setattr(report, ANSWERS, json.dumps(noted))
        return report


class AnswersKept:
    """In the process that reports: the one writer of the file, whatever worker asked."""

    def __init__(self, path: Path, session: Session) -> None:
        from pytest_bfcl.runs.lines import LineAppender

        self._notices = session.notices
        try:
            self._lines = LineAppender(path)
        except HarnessError as error:
            raise UsageError(f"--bfcl-record: {error}") from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the answers of a phase; a test whose answers cannot be kept has failed."""
        text: str | None = getattr(report, ANSWERS, None)
        try:
            for line in json.loads(text) if text else ():
                self._lines.append(line)
        except HarnessError as error:
            report.outcome, report.longrepr = "failed", error.message
            self._notices.stop(error.message)

    def pytest_unconfigure(self) -> None:
        """Flush to disk and close."""
        self._lines.close()


def register_recording(session: Session) -> None:
    """With ``--bfcl-record``: answers go from every process to the one that reports. Raises `UsageError`."""
    named = {option.name: option for option in OPTIONS}
    record = options.read(session.config, named["record"])
    if not record:
        return
    plugins = session.config.pluginmanager
    plugins.register(AnswersOnReports(), "bfcl-answers-on-reports")
    if not session.is_worker:
        plugins.register(AnswersKept(Path(record), session), "bfcl-answers-kept")


def _never_asked(request: Request) -> str:
    raise UsageError("a recording is asked, no model")


class Asker:
    """``ask(text, tools=…)``: an `Answer`; inside a running event loop something to await."""

    def __init__(self, asks: _Asks, test: str) -> None:
        self._asks = asks
        self._test = test
        for each in (asks.recorded, asks.recording):
            if each is not None:
                each.begin(test)

    def __call__(
        self, text: str | list[dict[str, Any]], tools: object = (), *, mcp: str | None = None, system: str | None = None
    ) -> Any:
        """Ask the session's model and carry its calls out, until it stops calling; see `ask_model`."""

        async def ask(model: Model) -> Answer:
            from pytest_bfcl.gateways.asking import ask_model

            async def answer(request: Request) -> Reply:
                return await self._answer(model, request)

            asks = self._asks
            return await ask_model(
                text, tools, answer, model, asks.settings, asks.texts, mcp=mcp, system=system, name=self._test
            )

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _shown(lambda: self._asks.run(ask))
        return self._ask_here(ask)

    async def _ask_here(self, ask: Any) -> Answer:
        model = self._asks.make_model()
        try:
            found: Answer = await ask(model)
        except (UsageError, AdapterError) as error:
            raise pytest.fail.Exception(_told(error), pytrace=False) from None
        finally:
            await model.aclose()
        return found

    async def _answer(self, model: Model, request: Request) -> Reply:
        asks = self._asks
        if asks.recorded is not None:
            return asks.recorded.answer(self._test, request)
        reply = await model.generate(request)
        if asks.recording is not None:
            asks.recording.keep(self._test, model.spec, request, reply)
        return reply


def _shown(run: Any) -> Any:
    try:
        return run()
    except (UsageError, AdapterError) as error:
        raise pytest.fail.Exception(_told(error), pytrace=False) from None


def _told(error: UsageError | AdapterError) -> str:
    advice = getattr(error, "advice", "")
    return f"{error}\n{advice}" if advice else str(error)


def asker_of(request: pytest.FixtureRequest) -> Asker:
    """What the fixtures ``ask`` and ``bfcl_ask`` of a test are; fails it with a text when nobody can be asked."""
    config = request.config
    if ASKS not in config.stash:
        try:
            config.stash[ASKS] = _Asks(config)
        except UsageError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        config.add_cleanup(config.stash[ASKS].close)
    return Asker(config.stash[ASKS], request.node.nodeid)
