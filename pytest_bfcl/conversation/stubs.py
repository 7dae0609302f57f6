"""Tools that give what they gave when a conversation was recorded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.expectation import same
from pytest_bfcl.dataset.served_entry import portable_name
from pytest_bfcl.simulators.toolkit import error_text
from pytest_bfcl.syntax.writing import read_call
from pytest_bfcl.tools.json_schema import argument_problem, is_native

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry

UNRECORDED = "nothing is recorded for these arguments"


class RecordedTools:
    """The tools of a recorded conversation: a call that was made then has its result, any other an error.

    The same call made several times then has the results in their order, and the last of them ever after.
    """

    def __init__(self, entry: Entry) -> None:
        self._results = entry.results
        self._tools = {portable_name(str(doc["name"])): doc for doc in entry.all_functions}
        self._given: Counter[int] = Counter()

    def execute(self, call_text: str) -> str:
        """The result text of one call; never raises for what it says."""
        try:
            return self._result(call_text)
        except Exception as error:
            return error_text(error)

    def _result(self, call_text: str) -> str:
        name, arguments = read_call(call_text)
        if name not in self._tools:
            raise NameError(f"there is no tool {name[:100]!r}")
        tool = self._tools[name]
        if is_native(tool) and (problem := argument_problem(tool["parameters"], arguments)):
            raise ValueError(f"invalid arguments: {problem[1]}")
        fitting = [
            number
            for number, each in enumerate(self._results)
            if portable_name(each.call) == name and same(each.arguments, arguments)
        ]
        if not fitting:
            raise LookupError(UNRECORDED)
        number = fitting[min(self._given[fitting[0]], len(fitting) - 1)]
        self._given[fitting[0]] += 1
        return self._results[number].result
