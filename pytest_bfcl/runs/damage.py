"""Damaged lines: one wording for every verb, and the refusal to score results with gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_bfcl.failures import HarnessError
from pytest_bfcl.runs.lines import DamagedLine

ALLOW = "--allow-missing"


class LeftOut:
    """Collects damaged lines while reading, each counted once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[Path, int], DamagedLine] = {}

    def __call__(self, line: DamagedLine) -> None:
        """Record one damaged line, or a damaged file (line 0)."""
        self._lines.setdefault((line.path, line.line), line)

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def lines(self) -> list[DamagedLine]:
        """The damaged lines in the order of reading."""
        return list(self._lines.values())

    def sentences(self) -> Iterator[str]:
        """One sentence a file: the number of damaged lines, the first of them and its error."""
        files: dict[Path, list[DamagedLine]] = {}
        for line in self._lines.values():
            files.setdefault(line.path, []).append(line)
        for path, lines in files.items():
            if not lines[0].line:  # a file that is one value
                yield f"{path}: {lines[0].why}"
                continue
            first = min(lines, key=lambda line: line.line)
            count = "1 damaged line" if len(lines) == 1 else f"{len(lines)} damaged lines"
            first_of = "" if len(lines) == 1 else ", the first"
            yield f"{count} of {path} left out{first_of}: line {first.line}: {first.why}"


class IncompleteError(HarnessError):
    """A score is requested of results with gaps."""

    def __init__(self, gaps: Iterable[str], *, allow: str = ALLOW) -> None:
        found = list(gaps)
        shown = [*found[:3], f"and {len(found) - 3} more"] if len(found) > 4 else found
        listed = "; ".join(shown)
        advice = f"run the entries again (pytest … --bfcl-out RUN), or accept the gaps with {allow}"
        super().__init__("incomplete", f"the results are not complete: {listed}\n({advice})", advice=advice)
