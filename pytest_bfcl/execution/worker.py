"""The process that carries out calls: one JSON line in, one JSON line out, until its input ends.

Requests: ``{"call": name, "arguments": {…}}``, looked up in the table of functions, or ``{"sql": statement,
"parameters": …, "tables": {…}}``. Answers: the text of an `Outcome`. Started by `pool` as an isolated Python without
site packages; standard library only.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping

from pytest_bfcl.execution.functions import FUNCTIONS
from pytest_bfcl.execution.limits import MOST_RESULT, confine, grant_cpu
from pytest_bfcl.execution.outcome import Outcome
from pytest_bfcl.execution.tables import query
from pytest_bfcl.json_types import Parsed

READY = "ready"


def main() -> None:
    """Serve requests from stdin."""
    requests, answers = sys.stdin, sys.stdout
    signatures = {name: inspect.signature(function) for name, function in FUNCTIONS.items()}
    query({"t": {"columns": ["a"], "rows": []}}, "SELECT a FROM t")  # loads what SQLite loads on first use
    answers.write(READY + "\n")
    answers.flush()
    confine()
    for line in requests:
        grant_cpu()
        answers.write(answer(line, signatures) + "\n")
        answers.flush()


def answer(line: str, signatures: Mapping[str, inspect.Signature]) -> str:
    """The answer to one request line."""
    try:
        text = _outcome(json.loads(line), signatures).text()
    except MemoryError:
        return Outcome(error="out of memory", kind="limit").text()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return Outcome(error=f"the result cannot be shown: {error}"[:300], kind="limit").text()
    if len(text) > MOST_RESULT:
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


if __name__ == "__main__":
    main()
