"""The service that executes calls: one JSON line in, one JSON line out.

Requests: ``{"call": name, "arguments": {…}}``, looked up in the table of functions, or ``{"sql": statement,
"tables": {…}}``. Answers: the text of an `Outcome`. Standard library only.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping

from pytest_bfcl.confined import Service
from pytest_bfcl.extensions.retired.functions import FUNCTIONS
from pytest_bfcl.extensions.sql import Outcome, query
from pytest_bfcl.json_types import Parsed

SERVICE = Service("pytest_bfcl.extensions.retired.worker", "carries out calls")


def opened() -> Callable[[str], str]:
    """The answers to request lines."""
    signatures = {name: inspect.signature(function) for name, function in FUNCTIONS.items()}
    query({"t": {"columns": ["a"], "rows": []}}, "SELECT a FROM t")  # loads what SQLite loads on first use
    return lambda line: answer(line, signatures)


def answer(line: str, signatures: Mapping[str, inspect.Signature]) -> str:
    """The answer to one request line."""
    try:
        text = _outcome(json.loads(line), signatures).text()
    except MemoryError:
        return Outcome(error="out of memory", kind="limit").text()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return Outcome(error=f"the result cannot be shown: {error}"[:300], kind="limit").text()
    if len(text) > SERVICE.longest:
        return Outcome(error=f"the result has {len(text):,} characters", kind="limit").text()
    return text


def _outcome(request: Parsed, signatures: Mapping[str, inspect.Signature]) -> Outcome:
    if "sql" in request:
        return query(request["tables"], request["sql"])
    function = FUNCTIONS.get(request["call"])
    if function is None:
        return Outcome(error=f"no function {str(request['call'])[:100]!r} is known here", kind="unknown_function")
    arguments = request["arguments"]
    try:
        signatures[function.__name__].bind(**arguments)
    except TypeError as error:
        return Outcome(error=f"{function.__name__}: {error}"[:300], kind="arguments")
    try:
        return Outcome(function(**arguments))
    except MemoryError:
        return Outcome(error=f"{function.__name__}: out of memory", kind="limit")
    except Exception as error:
        return Outcome(error=f"{function.__name__}: {type(error).__name__}: {error}"[:300], kind="raised")
