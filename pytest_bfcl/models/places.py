"""Where in the user's own code an exception was raised: file and line instead of a traceback through ours."""

from __future__ import annotations

import sysconfig
import traceback
from functools import cache
from pathlib import Path

from pytest_bfcl.failures import AdapterError
from pytest_bfcl.redaction import environment_secrets, hide
from pytest_bfcl.troubles import AdapterTrouble

_PACKAGE = str(Path(__file__).resolve().parents[1])


def fixture_error(error: Exception, *, users: bool = False) -> AdapterError | None:
    """The error of a user's model, with the last place in their code; ``None`` when none of it was running.

    ``users``: what is running is known to be the user's, wherever it is installed.
    """
    place = place_of(error)
    if place is None and not users:
        return None
    said = hide(str(error), environment_secrets())
    text = f"the model fixture raised {type(error).__name__}: {said}"
    advice = f"fix {place}" if place else ""
    return AdapterError(AdapterTrouble.FIXTURE, f"{text} ({place})" if place else text, advice=advice)


def place_of(error: BaseException) -> str | None:
    """``FILE:LINE, in FUNCTION`` of the innermost frame that is neither ours nor a library's."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users_code(frame.filename)]
    if not frames:
        return None
    last = frames[-1]
    return f"{_relative_name(last.filename)}:{last.lineno}, in {last.name}"


def is_users_code(filename: str) -> bool:
    """Whether a file is neither of this package nor of an installed library."""
    if filename.startswith("<"):
        return False
    path = str(Path(filename).resolve())
    return not path.startswith(_PACKAGE) and not any(path.startswith(folder) for folder in _libraries())


@cache
def _libraries() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(str(Path(sysconfig.get_path(name)).resolve()) for name in names)


def _relative_name(filename: str) -> str:
    try:
        return str(Path(filename).resolve().relative_to(Path.cwd()))
    except ValueError:
        return filename
