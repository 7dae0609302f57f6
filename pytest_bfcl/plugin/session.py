"""The facts of one active pytest process from its start: options, settings, role, data, notices. No behaviour.

One `Session` per process in ``config.stash``. Under xdist the controller plans, writes results and prints; workers
collect, converse and judge.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_bfcl.dataset.categories import resolve_categories
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.plain_text import printable
from pytest_bfcl.plugin import pytest_internals
from pytest_bfcl.plugin.data import SessionData
from pytest_bfcl.plugin.options import Plan, make_plan
from pytest_bfcl.session.earlier import EarlierParts
from pytest_bfcl.session.run import Run
from pytest_bfcl.settings import Settings

if TYPE_CHECKING:
    from pytest_bfcl.models import ModelSpec
    from pytest_bfcl.runs.directory import RunDirectory
    from pytest_bfcl.scoring.model_info import ModelInfo
    from pytest_bfcl.session.contender import Contender


NOTES = "bfcl_notes"
"""Key of a worker's last message to the controller."""
STOPPED = "the run stopped, the summary above has the reason"
"""pytest's last line of a stopped session; the summary has printed the full reason."""


class Notices:
    """Notes in order, and the first reason to stop. ``stopped`` is ``None`` while the session runs. ``controller`` is a
    worker's channel to the process that has the terminal.
    """

    def __init__(self, config: pytest.Config, controller: Any = None) -> None:
        self._config = config
        self._controller = controller
        self._saying = threading.Lock()
        self.notes: list[str] = []
        self.stopped: str | None = None
        self._said: set[str] = set()

    def note(self, text: str) -> None:
        """Print a line once, at the end."""
        if text not in self.notes:
            self.notes.append(text)

    def warn(self, text: str) -> None:
        """A note that is also a pytest warning."""
        if text not in self.notes:
            self.notes.append(text)
            self._config.issue_config_time_warning(pytest.PytestWarning(printable(text)), stacklevel=3)

    def say(self, text: str) -> None:
        """Print a line immediately and once; workers send it to the controller."""
        sign = re.sub(r"\d+", "", text)  # counts go up while it lasts
        with self._saying:  # what workers send arrives in a thread for each of them
            if sign in self._said:
                return
            self._said.add(sign)
            if self._controller is not None:
                with contextlib.suppress(OSError, EOFError):  # the controller is gone
                    self._controller.send(text)
                return
            self.tell(text)

    def tell(self, text: str) -> None:
        """Print a line immediately."""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is None:
            return
        with pytest_internals.uncaptured(self._config):
            reporter.ensure_newline()
            pytest_internals.Sink(reporter).write_line(f"bfcl: {text}", yellow=True)

    def pytest_sessionfinish(self) -> None:
        """On a worker: the controller prints its notes."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[NOTES] = list(self.notes)

    def stop(self, why: str, *, summarised: bool = True) -> None:
        """Stop the run after the current item: exit code 2, all results are kept.

        ``summarised``: whether a summary will print the reason; otherwise pytest's last line does.
        """
        why = printable(why)
        self.stopped = self.stopped or why
        travels = hasattr(self._config, "workerinput")  # a worker's reason reaches the controller in this text
        pytest_internals.stop_session(self._config, why if travels or not summarised else STOPPED)


SESSION = pytest.StashKey["Session"]()


class Session:
    """The facts of an active session in one process; `activate` builds the other objects from it. ``worker`` has the
    controller's data for this process, ``None`` outside xdist workers.
    """

    def __init__(self, config: pytest.Config) -> None:
        from pytest_bfcl.models import parse_spec
        from pytest_bfcl.scoring.model_info import parse_model_info

        self.config = config
        self.worker: Parsed | None = getattr(config, "workerinput", {}).get("bfcl")
        self.plan = Plan(**self.worker["plan"]) if self.worker else _with_named_models(make_plan(config))
        self.settings = Settings.from_dict(self.plan.settings).shared_by(self.processes)
        self.specs: list[ModelSpec] = list({spec.text: spec for spec in map(parse_spec, self.plan.models)}.values())
        resolve_categories(self.plan.categories)  # unknown names are told before anything is collected
        self.model_info: dict[str, ModelInfo] = parse_model_info(self.plan.model_info, "--bfcl-model-info")
        self.notices = Notices(config, (self.worker or {}).get("said"))
        self.data = SessionData(config, self.plan)
        typed, configured = config.getoption("bfcl_model"), config.getini("bfcl_model")
        if typed and configured and {*typed} != {*configured} and not self.worker:
            self.notices.note(f"--model {', '.join(typed)} is used, not the ini file's {', '.join(configured)}")

    def serve_at(self, addresses: Mapping[str, str]) -> None:
        """Use these addresses for models, also on workers that start later."""
        self.settings = replace(self.settings, served={**self.settings.served, **addresses})
        self.plan = replace(self.plan, settings=self.settings.to_dict())

    @property
    def is_worker(self) -> bool:
        """Whether this is an xdist worker."""
        return hasattr(self.config, "workerinput")

    @property
    def distributed(self) -> bool:
        """Whether this process is a controller whose workers run the items."""
        option = self.config.option
        return not self.is_worker and getattr(option, "dist", "no") != "no" and bool(getattr(option, "tx", None))

    @property
    def process(self) -> str:
        """Name of this process in the journal."""
        if self.worker and "process" in self.worker:
            return str(self.worker["process"])
        return str(self.config.workerinput["workerid"]) if hasattr(self.config, "workerinput") else "main"

    @property
    def processes(self) -> int:
        """How many processes share the run's budget."""
        return int(self.worker["slots"]) if self.worker else 1

    @cached_property
    def foreign_data(self) -> str | None:
        """On a worker: the error if its host has other data than the controller's."""
        dataset = self.data.measured
        if not self.worker or dataset.sha256 == self.worker["data_sha256"]:
            return None
        ours, theirs = dataset.sha256[:8], self.worker["data_sha256"][:8]
        return (
            f"{socket.gethostname()} has other data than the controller ({dataset.name} {ours}, not {theirs}): "
            "fetch or copy it there"
        )


def _with_named_models(plan: Plan) -> Plan:
    """The plan with every model named (also those that only their server can name) and its address.

    No request is sent if every model has a name, or if the run starts the engine.
    """
    from pytest_bfcl.session.serving import name_models

    models, settings = name_models(plan.models, Settings.from_dict(plan.settings))
    return plan if models == plan.models else replace(plan, models=models, settings=settings.to_dict())


HOSTS = "how files of workers on other hosts travel"


def run_path(session: Session) -> Path:
    """The path of the run."""
    from pytest_bfcl.runs.directory import default_path

    if session.worker:
        return Path(session.worker["run"])
    base = session.config.invocation_params.dir
    return base / session.plan.out if session.plan.out else default_path(session.plan.models, base / "reports")


def earlier_parts(session: Session, path: Path) -> EarlierParts:
    """Results of earlier parts of the run; workers receive them from the controller."""
    if session.worker:
        return EarlierParts.from_dict(session.worker["earlier"])
    return EarlierParts.read(path, session.notices.note)


def run_of(session: Session, path: Path, earlier: EarlierParts, contenders: Sequence[Contender]) -> Run:
    """The session's run; the controller stores it, unless it is a dry run."""
    return Run(
        session.data,
        contenders,
        session.settings,
        earlier,
        path=path,
        infos=session.model_info,
        model_info=session.plan.model_info,
        writes=not session.is_worker and not session.plan.dry_run,
    )


def opened(run: Run) -> RunDirectory | None:
    """Create or resume the run directory (controller only). Raises `pytest.UsageError` if that fails."""
    try:
        return run.open()
    except (UsageError, HarnessError) as error:
        raise pytest.UsageError(str(error)) from None
