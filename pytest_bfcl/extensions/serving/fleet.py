"""The engines one run starts: one for each model that names one, all started before the first is waited for."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pytest_bfcl.extensions.serving.process import RunningEngine, start_engine
from pytest_bfcl.extensions.serving.table import ENGINES, engine_of
from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import ModelSpec

Said = Callable[[str], None]
FOLDER = "engines"
"""Where a run directory keeps the logs of the engines that were started for it."""


class Fleet:
    """The started engines of a run by spec (without mode).

    Raises `UsageError` when none of the specs names an engine, or when an address is given as well.
    """

    def __init__(self, specs: Sequence[ModelSpec], base_url: str | None) -> None:
        self.specs = [spec for spec in specs if spec.provider in ENGINES]
        if not self.specs:
            models = ", ".join(spec.text for spec in specs)
            raise UsageError(f"--bfcl-serve starts {', '.join(ENGINES)}; none of them is named by --model {models}")
        if base_url:
            raise UsageError("--bfcl-serve starts an engine, --bfcl-base-url names one that runs: give one of them")
        self._engines: dict[str, RunningEngine] = {}
        self._stopping = False

    @property
    def addresses(self) -> Mapping[str, str]:
        """Spec → base URL."""
        return {base: engine.base_url for base, engine in self._engines.items()}

    def start(self, folder: Path, *, arguments: str = "", said: Said = print) -> None:
        """Start an engine for every spec and wait until all take requests; what was started is stopped on trouble.

        Logs go into `FOLDER` of the run's ``folder``. ``arguments`` go to every engine as they are (shell quoting);
        ``said`` is told each command and waiting time. Raises `UsageError`: an engine that is not installed, does not
        start, or a spec that names none.
        """
        extra = split_arguments(arguments)
        for spec in self.specs:
            if not spec.name:
                raise UsageError(f"--bfcl-serve: which model? write --model {spec.provider}:PATH_OR_NAME")
            engine_of(spec.provider)
        try:
            for spec in self.specs:
                if spec.base not in self._engines:
                    self._engines[spec.base] = start_engine(
                        engine_of(spec.provider), spec.name, folder / FOLDER, native=spec.mode != "prompt", extra=extra,
                        said=lambda command: said(f"starting: {command}"),
                    )  # fmt: skip
            for base, engine in self._engines.items():
                took = engine.wait_until_ready()
                said(f"{base} is ready after {took:.0f} s at {engine.base_url}; log: {engine.log}")
        except BaseException:
            self.stop()
            raise

    async def launch(self, folder: Path, *, arguments: str = "", said: Said = print) -> None:
        """`start` for callers inside an event loop; a cancelled caller stops what was started."""
        try:
            await asyncio.to_thread(self.start, folder, arguments=arguments, said=said)
        except BaseException:
            self.stop()
            raise

    def trouble(self) -> str | None:
        """What happened to an engine that has ended by itself, ``None`` while all run."""
        if self._stopping or not self._engines:
            return None
        ended = [engine for engine in self._engines.values() if engine.ended is not None]
        return ended[0].trouble(f"ended with code {ended[0].ended} while it was asked") if ended else None

    def stop(self) -> None:
        """End every engine."""
        self._stopping = True
        for engine in list(self._engines.values()):
            engine.stop()


def split_arguments(text: str) -> list[str]:
    """The arguments of an engine, split as a shell does; nothing is expanded and no shell is run."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--bfcl-serve-args: {text!r} cannot be split into arguments: {error}") from None
