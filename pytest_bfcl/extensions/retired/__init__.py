"""Categories that V4 no longer loads: their calls are executed and judged by their results (docs/retired.md).

A `pytest_bfcl.checkers.plugged.CategoryGroup`, declared as the entry point ``retired``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.extensions.retired.carrying import Carrier
    from pytest_bfcl.failures import Reason, Verdict
    from pytest_bfcl.transcript import Transcript


def check(entry: Entry, transcript: Transcript) -> Verdict:
    """The verdict by the checker of the entry's category."""
    from pytest_bfcl.extensions.retired import verdicts

    match entry.row.checker:
        case "chat":
            return verdicts.check_chat(transcript)
        case "rest":
            return verdicts.check_rest(entry, transcript)
        case "sql":
            return verdicts.check_sql(entry, transcript)
        case _:
            return verdicts.check_executable(entry, transcript)


def problem(checker: str, rest: str, *, official: bool, archive: Path | None) -> str | None:
    """Why entries cannot run: no service answers their requests."""
    from pytest_bfcl.extensions.retired.rest import rest_problem

    return rest_problem(rest, official=official, archive=archive) if checker == "rest" else None


def open_services(rest: str, *, official: bool, archive: Path | None, process: str) -> Carrier:
    """Worker processes and providers of one run."""
    from pytest_bfcl.extensions.retired.carrying import Carrier

    return Carrier(rest, official=official, archive=archive, process=process)


def every_reason() -> Sequence[Reason]:
    """The reasons of these checkers."""
    from pytest_bfcl.extensions.retired.reasons import REASONS

    return REASONS


def key_variables() -> tuple[str, ...]:
    """Names of the environment variables with the keys of REST services."""
    from pytest_bfcl.extensions.retired.rest.live import KEYS

    return tuple(key.variable for key in KEYS)
