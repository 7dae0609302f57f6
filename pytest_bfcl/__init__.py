"""pytest-bfcl: the Berkeley Function-Calling Leaderboard as a pytest plugin, and its parts as a library.

Public names load on first use, so that importing the package (as pytest does in every session) costs nothing. Type
checkers read the imports below and see no more than these names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_bfcl.extensions.agents import AgentEntry as AgentEntry
    from pytest_bfcl.extensions.agents import as_agent as as_agent
    from pytest_bfcl.extensions.own.assertions import assert_answer as assert_answer
    from pytest_bfcl.extensions.own.assertions import assert_calls as assert_calls
    from pytest_bfcl.extensions.own.assertions import assert_no_calls as assert_no_calls
    from pytest_bfcl.extensions.own.assertions import assert_state as assert_state
    from pytest_bfcl.extensions.own.expecting import assert_expect as assert_expect
    from pytest_bfcl.extensions.own.expecting import expect as expect
    from pytest_bfcl.failures import AdapterError as AdapterError
    from pytest_bfcl.failures import Failure as Failure
    from pytest_bfcl.failures import FailureTag as FailureTag
    from pytest_bfcl.failures import Verdict as Verdict
    from pytest_bfcl.models.base import Model as Model
    from pytest_bfcl.models.base import Request as Request
    from pytest_bfcl.session.evaluation import arun as arun
    from pytest_bfcl.session.evaluation import run as run
    from pytest_bfcl.session.evaluation import score_lines as score_lines
    from pytest_bfcl.transcript import Reply as Reply
    from pytest_bfcl.transcript import ToolCall as ToolCall
    from pytest_bfcl.transcript import Transcript as Transcript

__version__ = "0.2.0"

_HOMES = {
    "assert_answer": "extensions.own.assertions",
    "assert_calls": "extensions.own.assertions",
    "assert_no_calls": "extensions.own.assertions",
    "assert_state": "extensions.own.assertions",
    "assert_expect": "extensions.own.expecting",
    "expect": "extensions.own.expecting",
    "AgentEntry": "extensions.agents",
    "as_agent": "extensions.agents",
    "arun": "session.evaluation",
    "run": "session.evaluation",
    "score_lines": "session.evaluation",
    "AdapterError": "failures",
    "Failure": "failures",
    "FailureTag": "failures",
    "Verdict": "failures",
    "Model": "models.base",
    "Request": "models.base",
    "Reply": "transcript",
    "ToolCall": "transcript",
    "Transcript": "transcript",
}

__all__ = ["__version__", *sorted(_HOMES)]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'pytest_bfcl' has no attribute {name!r}")
        return getattr(import_module(f"pytest_bfcl.{home}"), name)


def __dir__() -> list[str]:
    return list(__all__)
