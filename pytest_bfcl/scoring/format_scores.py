"""Format sensitivity: the 26 configurations and their spread (data spec §6.1, scoring spec §4)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_bfcl.dataset.expansion import format_configs

CONFIGURATIONS: tuple[str, ...] = tuple(str(config) for config in format_configs())
"""Configuration strings in generation order."""


def configuration_of(entry_id: str) -> str | None:
    """The configuration inside a format-sensitivity id; ``None`` for other ids."""
    parts = entry_id.split(":")
    return parts[1] if len(parts) == 3 else None


@dataclass(slots=True)
class FormatScores:
    """Passed and total per configuration, in order of first appearance.

    Spreads are in percentage points, rounded to two decimals; 0.0 with fewer than two configurations.
    """

    counts: dict[str, list[int]] = field(default_factory=dict)

    def add(self, configuration: str, passed: bool) -> None:
        """Count one entry."""
        count = self.counts.setdefault(configuration, [0, 0])
        count[0] += passed
        count[1] += 1

    def accuracy(self, configuration: str) -> float | None:
        """Accuracy under one configuration; ``None`` when it has no entries."""
        passed, total = self.counts.get(configuration, (0, 0))
        return passed / total if total else None

    @property
    def accuracies(self) -> list[float]:
        """Accuracies of the configurations present."""
        return [passed / total for passed, total in self.counts.values() if total]

    @property
    def max_delta(self) -> float:
        """Best minus worst configuration."""
        found = self.accuracies
        return round((max(found) - min(found)) * 100, 2) if len(found) > 1 else 0.0

    @property
    def deviation(self) -> float:
        """Sample standard deviation over configurations."""
        import statistics

        found = self.accuracies
        return round(statistics.stdev(found) * 100, 2) if len(found) > 1 else 0.0

    @property
    def variance(self) -> float:
        """Sample variance over configurations, in squared percentage points."""
        import statistics

        found = self.accuracies
        return round(statistics.variance(found) * 10000, 2) if len(found) > 1 else 0.0
