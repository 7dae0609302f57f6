"""GET requests and network-backed functions of a run, kept and given again: ``<run>/rest/<process>.jsonl``.

A line is ``{"call": call, "result": result}``; a call is ``["get", address with query, headers]`` with header names in
small letters, or ``["call", function, arguments]`` with the function's value as result.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_bfcl.providers.recorded import Recording
from pytest_bfcl.providers.rest import RestProvider, whole_url


class RecordedRest(Recording):
    """Recorded answers first; what is not recorded is asked of ``provider`` and recorded.

    Without a provider (a replay) `get` raises `AdapterError` of kind ``not_recorded``.
    """

    what = "REST"

    def __init__(self, folder: Path, provider: RestProvider | None = None, process: str = "main") -> None:
        super().__init__(folder, process)
        self._provider = provider

    @property
    def live(self) -> bool:
        """Whether requests may reach a live service."""
        return self._provider is not None and self._provider.live

    def get(self, url: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """See `RestProvider.get`."""
        asked = self._provider
        named = {name.lower(): value for name, value in sorted(headers.items())}
        result = self._result(
            ("get", whole_url(url, params), named), (lambda: asked.get(url, params, headers)) if asked else None
        )
        return result if isinstance(result, dict) else {"error": "the recording holds no response"}

    def called(self, name: str, arguments: Mapping[str, Any]) -> tuple[Any] | None:
        """The recorded value of a network-backed function in a tuple, ``None`` when there is none."""
        return self.find(("call", name, dict(sorted(arguments.items()))))

    def close(self) -> None:
        """Close the provider; files are closed after every line."""
        if self._provider is not None:
            self._provider.close()
