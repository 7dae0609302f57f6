"""Reports on the use of other tools: the distractors' results, which do not help the task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.simulators.toolkit import Simulator


class UsageReports(Simulator):
    """``config``: ``tools``, name of the report → name of the tool it reports on. It has no state to compare."""

    name = "UsageReports"
    summary = "Reports on how tools are used."

    def load(self, config: Parsed, *, long_context: bool = False, texts: Fields | None = None, **context: Any) -> None:
        """Set the available reports."""
        self._reports: Parsed = dict(config.get("tools") or {})

    @classmethod
    def writes(cls, method: str) -> bool:
        """A report changes nothing."""
        return False

    def offers(self, method: str) -> bool:
        """Whether there is a report of this name."""
        return method in self._reports

    def invoke(self, method: str, args: Sequence[Any] = (), kwargs: Fields | None = None) -> Any:
        """The report: the tool was not used. Raises `NameError` and `TypeError` like any tool."""
        if method not in self._reports:
            raise NameError(f"{self.name} has no function named {method!r}")
        report: Callable[..., Parsed] = self._report
        return report(self._reports[method], *args, **(kwargs or {}))

    @staticmethod
    def _report(tool: str, days: int = 30) -> Parsed:
        return {"tool": tool, "days": days, "uses": 0, "users": []}
