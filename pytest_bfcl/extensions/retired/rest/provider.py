"""Providers of REST answers: their protocol, and what a run has recorded (docs/retired.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable
from urllib.parse import urlencode, urlsplit, urlunsplit

from pytest_bfcl import extras
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.providers.recorded import Query, Recording
from pytest_bfcl.providers.search import replay_source


@runtime_checkable
class RestProvider(Protocol):
    """Where GET requests are answered; called from several threads at once.

    ``live`` says whether a known request is tried before a request is sent: answers may change, fail, or not be there.
    """

    @property
    def live(self) -> bool:
        """Whether answers come from a service, which may change, fail, or be another than the entry asks."""
        ...

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """``{"status": number, "body": value or None}``; ``{"error": text}`` for an address that does not answer.

        ``body`` is the parsed JSON of the response. Raises `pytest_bfcl.failures.BenchmarkError` for trouble that is
        not the caller's.
        """
        ...

    def close(self) -> None:
        """Release connections and threads."""
        ...


def whole_url(url: str, params: Fields) -> str:
    """The address with its query: lists repeat their name, ``None`` is left out, the rest is written as text."""
    pairs = []
    for name, value in params.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(str(name), str(each)) for each in values if each is not None]
    if not pairs:
        return url
    parts = urlsplit(url)
    query = "&".join(part for part in (parts.query, urlencode(pairs)) if part)
    return urlunsplit(parts._replace(query=query))


class RecordedRest(Recording):
    """Recorded answers first; what is not recorded comes from ``provider`` and is recorded.

    Without a provider (a replay) `get` raises `AdapterError` of kind ``not_recorded``.
    """

    what = "REST"

    def __init__(self, folder: Path, provider: RestProvider | None = None, process: str = "main") -> None:
        super().__init__(folder, process)
        self._provider = provider

    @property
    def live(self) -> bool:
        """Whether requests may reach a service."""
        return self._provider is not None and self._provider.live

    def get(self, url: str, params: Fields, headers: Mapping[str, str]) -> Parsed:
        """See `RestProvider.get`."""
        asked = self._provider
        named = {name.lower(): value for name, value in sorted(headers.items())}
        result = self._result(
            ("get", whole_url(url, params), named), (lambda: asked.get(url, params, headers)) if asked else None
        )
        return result if isinstance(result, dict) else {"error": "the recording holds no response"}

    def called(self, name: str, arguments: Fields) -> tuple[Any] | None:
        """The recorded value of a network-backed function in a tuple, ``None`` when there is none."""
        return self.find(("call", name, dict(sorted(arguments.items()))))

    def _key(self, call: Query) -> str:
        return super()._key(tuple(map(_whole, call)))

    def close(self) -> None:
        """Close the provider; files are closed after every line."""
        if self._provider is not None:
            self._provider.close()


def _whole(value: object) -> Any:
    """90.0 and 90 are the same argument."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return value


Kind = Literal["local", "live", "replay", "none"]


def rest_problem(choice: str, *, official: bool, archive: Path | None = None) -> str | None:
    """Why GET requests cannot be answered, ``None`` when they can; arguments as for `open_rest`. Opens nothing."""
    kind = _kind(choice, official)
    if kind == "local" and official:
        return "the official questions ask real services: choose --bfcl-search rest=replay:PATH, or live"
    if kind == "live" and (lacking := extras.problem("web", "asking live services")):
        return lacking
    if kind == "none":
        return "needs a recorded provider: choose --bfcl-search rest=replay:PATH, or live"
    if kind == "replay":
        folder = recording_folder(choice, archive)
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
            ``record``; a recorded one is not asked again.
        process: Name of the archive's file this process writes.

    Raises `UsageError` when there is none (`rest_problem` says why without raising).
    """
    problem = rest_problem(choice, official=official, archive=archive)
    if problem is not None:
        raise UsageError(problem)
    kind = _kind(choice, official)
    if kind == "replay":
        folder = recording_folder(choice, archive)
        assert folder is not None
        return RecordedRest(folder)
    provider = _opened(kind)
    if archive is not None and (kind == "live" or choice == "record"):
        return RecordedRest(archive, provider, process)
    return provider


def recording_folder(choice: str, archive: Path | None) -> Path | None:
    """The folder of recorded requests: that of ``replay:PATH`` (a run directory or a folder), or the run's own."""
    named = replay_source(choice)
    if named is None:
        return archive
    folder = Path(named).expanduser()
    return folder / "rest" if (folder / "rest").is_dir() else folder


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
