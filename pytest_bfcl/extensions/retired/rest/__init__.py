"""The sources of answers to GET requests of REST entries: local, live, recorded or replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pytest_bfcl import extras
from pytest_bfcl.extensions.retired.rest.local import RecordedRest, RestProvider
from pytest_bfcl.failures import UsageError
from pytest_bfcl.providers.recorded import replayed_folder

Kind = Literal["local", "live", "replay", "none"]


def rest_problem(choice: str, *, official: bool, archive: Path | None = None) -> str | None:
    """Why GET requests cannot be answered; else ``None``. Arguments as for `open_rest`. Opens nothing."""
    kind = _kind(choice, official)
    if kind == "local" and official:
        return "the official questions ask real services: choose --bfcl-search rest=replay:PATH, or live"
    if kind == "live" and (lacking := extras.problem("web", "asking live services")):
        return lacking
    if kind == "none":
        return "needs a recorded provider: choose --bfcl-search rest=replay:PATH, or live"
    if kind == "replay":
        folder = replayed_folder(choice, archive, "rest")
        if folder is None or not any(folder.glob("*.jsonl")):
            return f"nothing to replay: {folder or 'no run'} holds no recorded requests (name it: replay:PATH)"
    return None


def open_rest(
    choice: str = "auto", *, official: bool, archive: Path | None = None, process: str = "main"
) -> RestProvider:
    """The provider of a run.

    Args:
        choice: ``auto``, ``local``, ``live``, ``record``, ``replay`` (of this run) or ``replay:PATH``.
        official: Whether the data is the official set, whose services are those of the real web.
        archive: The run's folder for requests (``<run>/rest``). Live ones are always recorded there, local ones with
            ``record``; recorded ones are not sent again.
        process: Name of the archive's file this process writes.

    Raises `UsageError` if there is none (`rest_problem` gives the reason without raising).
    """
    problem = rest_problem(choice, official=official, archive=archive)
    if problem is not None:
        raise UsageError(problem)
    kind = _kind(choice, official)
    if kind == "replay":
        folder = replayed_folder(choice, archive, "rest")
        assert folder is not None
        return RecordedRest(folder)
    provider = _opened(kind)
    if archive is not None and (kind == "live" or choice == "record"):
        return RecordedRest(archive, provider, process)
    return provider


def _kind(choice: str, official: bool) -> Kind:
    word = choice.partition(":")[0]
    if word in ("local", "live", "replay"):
        return word  # type: ignore[return-value]
    if word == "record":
        return "live" if official else "local"
    return "none" if official else "local"


def _opened(kind: Kind) -> RestProvider:
    if kind == "local":
        from pytest_bfcl.extensions.retired.rest.local import LocalRest

        return LocalRest()
    from pytest_bfcl.extensions.retired.rest.live import LiveRest

    return LiveRest()
