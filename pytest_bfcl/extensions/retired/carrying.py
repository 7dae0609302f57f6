"""Executes the calls of retired categories and stores the results; judges nothing.

Calls run between a reply and its verdict: at the end of a conversation, or when a stored reply is judged again.
``Step.results`` gets one `Outcome` text per call, ``extra["expected_results"]`` one per call of the ground truth (if it
has calls). A transcript with both stays unchanged, so a stored run is judged by its own results.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_bfcl.conversation.history import fill_calls
from pytest_bfcl.decoding import DecodeError, decode_reply
from pytest_bfcl.decoding.ground_truth import ground_truth_calls, parse_ground_truth_call
from pytest_bfcl.extensions.retired.functions import NETWORK_FUNCTIONS
from pytest_bfcl.extensions.sql import Outcome
from pytest_bfcl.failures import AdapterError, EntrySkipped, HarnessError, UsageError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.transcript import Call, Reply, Transcript, wire_name
from pytest_bfcl.troubles import AdapterTrouble, HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.extensions.retired.pool import Executor
    from pytest_bfcl.extensions.retired.rest.local import RestProvider


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_ALIASES = {"table_name": "table", "conditions": "where", "sql_keyword": "keyword"}
_KNOWN = frozenset({"table", "columns", "where", "group_by", "order_by", "descending", "limit", "keyword"})


class NotAQuery(ValueError):
    """The arguments do not describe a query; the text has the reason."""


def statement_of(arguments: Mapping[Any, Any]) -> str:
    """The text of one SELECT statement for a call that describes a query. Raises `NotAQuery`.

    Our spelling of parameters is read, and the retired set's (``sql_keyword``, ``table_name``, ``conditions``). Texts
    of columns and conditions are unchanged: the authoriser limits them, not quoting.
    """
    given = {_ALIASES.get(name, name): value for name, value in arguments.items()}
    unknown = [name for name in given if name not in _KNOWN]
    if unknown:
        raise NotAQuery(f"unknown parameter {str(unknown[0])[:60]!r}")
    keyword = given.get("keyword", "SELECT")
    if not isinstance(keyword, str) or keyword.upper() != "SELECT":
        raise NotAQuery("only SELECT is carried out")
    table = given.get("table")
    if not isinstance(table, str) or not _IDENTIFIER.fullmatch(table):
        raise NotAQuery("the table must be one name")
    parts = [f'SELECT {", ".join(_texts(given, "columns")) or "*"} FROM "{table}"']
    conditions = _texts(given, "where")
    if conditions:
        parts.append("WHERE " + " AND ".join(f"({condition})" for condition in conditions))
    if _texts(given, "group_by"):
        parts.append("GROUP BY " + ", ".join(_texts(given, "group_by")))
    if _texts(given, "order_by"):
        direction = " DESC" if _typed(given, "descending", bool, False) else ""
        parts.append("ORDER BY " + ", ".join(f"{text}{direction}" for text in _texts(given, "order_by")))
    if given.get("limit") is not None:
        parts.append(f"LIMIT {_typed(given, 'limit', int, 0)}")
    return " ".join(parts)


def _texts(given: Fields, name: str) -> list[str]:
    """A parameter that is a list of texts, or one text."""
    value = given.get(name)
    if value is None or value == "":
        return []
    found = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else None
    if found is None or not all(isinstance(text, str) and text.strip() for text in found):
        raise NotAQuery(f"{name} must be a list of texts")
    return found


def _typed(given: Fields, name: str, kind: type, default: object) -> Any:
    value = given.get(name, default)
    if type(value) is not kind:
        raise NotAQuery(f"{name} must be of type {kind.__name__}")
    return value


RECORDING = "needs a recorded provider"
EXPECTED = "expected_results"
NETWORK = f"{RECORDING}: its functions ask services of the network (--bfcl-search rest=replay:PATH)"
MOST_BODY = 200_000
"""Characters of a response kept in the transcript; of a larger one its shape is (`shape_of`)."""


class Carrier:
    """Worker processes and providers of one run, and what is done with them; safe to use from several threads.

    Args:
        rest: ``auto``, ``local``, ``live``, ``record``, ``replay`` or ``replay:PATH`` (`.rest`).
        official: Whether the data is the official set.
        archive: The run's folder of recorded requests.
        process: Name of the file this process records to.
    """

    def __init__(
        self, rest: str = "auto", *, official: bool = False, archive: Path | None = None, process: str = "main"
    ) -> None:
        self._choice = rest
        self._official = official
        self._archive = archive
        self._process = process
        self._executor: Executor | None = None
        self._rest: RestProvider | None = None
        self._recording: Any = None
        self._lock = threading.Lock()
        self.checked: dict[str, str | None] = {}
        """Entry id → why its live service failed the check before asking, ``None`` when it held."""

    def __enter__(self) -> Carrier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def executor(self) -> Executor:
        """The worker processes."""
        from pytest_bfcl.extensions.retired.pool import Executor

        with self._lock:
            self._executor = self._executor or Executor()
            return self._executor

    @property
    def rest(self) -> RestProvider:
        """The provider of GET requests; raises `EntrySkipped` when there is none."""
        from pytest_bfcl.extensions.retired.rest import open_rest

        with self._lock:
            if self._rest is None:
                try:
                    self._rest = open_rest(
                        self._choice, official=self._official, archive=self._archive, process=self._process
                    )
                except UsageError as error:
                    raise EntrySkipped("recording", str(error)) from None
            return self._rest

    def recorded_value(self, name: str, arguments: Fields) -> tuple[Any] | None:
        """The recorded value of a network-backed function in a tuple, ``None`` when nothing is recorded."""
        from pytest_bfcl.extensions.retired.rest.local import RecordedRest
        from pytest_bfcl.providers.recorded import replayed_folder

        with self._lock:
            if self._recording is None:
                folder = replayed_folder(self._choice, self._archive, "rest")
                self._recording = RecordedRest(folder) if folder is not None and folder.is_dir() else False
        return self._recording.called(name, arguments) if self._recording else None

    def close(self) -> None:
        """End workers and servers."""
        with self._lock:
            for each in (self._executor, self._rest):
                if each is not None:
                    each.close()
            self._executor = self._rest = None

    def execute(self, entry: Entry, transcript: Transcript) -> Transcript:
        """Execute the reply's calls and the ground truth's; returns the transcript.

        Raises `EntrySkipped` when a recording is missing, `HarnessError` when the ground truth cannot be carried out.
        """
        fill_calls(entry, transcript)
        step = transcript.steps[0]
        names = {wire_name(doc["name"]): doc["name"] for doc in entry.function} if transcript.underscore_names else {}
        calls = [Call(names.get(name, name), arguments) for name, arguments in step.decoded_calls]
        carry = _CARRIERS[entry.row.checker]
        if entry.row.checker != "rest":
            expected = carry(entry, expected_calls(entry), self)
            for outcome in expected:
                if outcome.kind == "not_recorded":
                    raise EntrySkipped("recording", NETWORK)
                if not outcome.ok:
                    raise HarnessError(HarnessTrouble.DATA, f"{entry.id}: the ground truth fails: {outcome.error}")
            transcript.extra[EXPECTED] = [outcome.text() for outcome in expected]
        outcomes = carry(entry, calls, self)
        if any(outcome.kind == "not_recorded" for outcome in outcomes) and any(
            call.name in NETWORK_FUNCTIONS for call in expected_calls(entry)
        ):
            # Nobody knows what this call would have given. Where all expected calls are pure, none can be right.
            raise EntrySkipped("recording", f"{RECORDING}: the model's call is not in the recording")
        step.results = [outcome.text() for outcome in outcomes]
        return transcript

    def require(self, entry: Entry) -> None:
        """Raise `EntrySkipped` before a request is sent when the entry could not be judged: no recording or service."""
        if entry.row.checker == "executable":
            for call in expected_calls(entry):
                if call.name in NETWORK_FUNCTIONS and self.recorded_value(*call) is None:
                    raise EntrySkipped("recording", NETWORK)
        elif entry.row.checker == "rest" and self.rest.live:
            if entry.id not in self.checked:
                self.checked[entry.id] = _service_problem(entry, self)
            if (problem := self.checked[entry.id]) is not None:
                raise EntrySkipped("service_down", problem)


def expected_calls(entry: Entry) -> list[Call]:
    """The calls of the ground truth. Raises `HarnessError` if they cannot be read."""
    if entry.row.checker == "sql":
        return ground_truth_calls(entry)
    found: list[Call] = []
    for text in entry.possible_answer or []:
        try:
            # Some ground truths give arguments by position.
            found += decode_reply(Reply(text=str(text)), "prompt", rules=frozenset({"C4"}), functions=entry.function)
        except DecodeError as error:
            raise HarnessError(HarnessTrouble.DATA, f"{entry.id}: the ground truth is not a call: {error}") from error
    return found


def _call_functions(entry: Entry, calls: Sequence[Call], services: Carrier) -> list[Outcome]:
    from pytest_bfcl.extensions.retired.pool import MOST_CALLS

    if len(calls) > MOST_CALLS:
        return services.executor.call_all(calls)
    outcomes = []
    for name, arguments in calls:
        if name in NETWORK_FUNCTIONS:
            outcomes.append(_recorded(name, arguments, services))
        else:
            outcomes.append(services.executor.call(name, arguments))
    return outcomes


def _recorded(name: str, arguments: Mapping[Any, Any], services: Carrier) -> Outcome:
    known = None if None in arguments else services.recorded_value(name, arguments)
    if known is None:
        return Outcome(error=f"{name} asks a service of the network; this call is not recorded", kind="not_recorded")
    return Outcome(known[0])


def _run_queries(entry: Entry, calls: Sequence[Call], services: Carrier) -> list[Outcome]:
    tables = entry.tables or {}
    outcomes = []
    for _, arguments in calls[:10]:
        try:
            outcomes.append(services.executor.query(tables, statement_of(arguments)))
        except NotAQuery as error:
            outcomes.append(Outcome(error=str(error), kind="refused"))
    return outcomes


def _get(call: Call, services: Carrier) -> Outcome:
    """One GET request; the outcome's value is ``{"status", "body"}``, a large body shortened to its shape."""
    name, arguments = call
    if name != "requests.get":
        return Outcome(error=f"no function {name[:100]!r} is known here", kind="unknown_function")
    url, params, headers = arguments.get("url"), arguments.get("params") or {}, arguments.get("headers") or {}
    if not isinstance(url, str) or not isinstance(params, Mapping) or not isinstance(headers, Mapping):
        return Outcome(error="url must be a text, params and headers objects", kind="arguments")
    if None in params or None in headers:
        return Outcome(error="params and headers need names", kind="arguments")
    try:
        answer = services.rest.get(url, params, {str(name): str(value) for name, value in headers.items()})
    except AdapterError as error:
        if error.kind == AdapterTrouble.NOT_RECORDED:
            raise EntrySkipped("recording", f"{RECORDING}: {error.message}") from None
        raise
    if "error" in answer:
        return Outcome(error=str(answer["error"]), kind="raised")
    body = answer.get("body")
    if len(json.dumps(body)) > MOST_BODY:
        body = shape_of(body)
    return Outcome({"status": answer.get("status"), "body": body})


def shape_of(body: object) -> Any:
    """A response without its values, because only type, length and keys are checked."""
    if isinstance(body, dict):
        return dict.fromkeys(body)
    if isinstance(body, list):
        return [dict.fromkeys(item) if isinstance(item, dict) else None for item in body]
    return None


def _service_problem(entry: Entry, services: Carrier) -> str | None:
    """The check before the run: whether the service still answers the known request in the recorded shape."""
    from pytest_bfcl.extensions.retired.verdicts import mismatch, sample_of

    text = entry.ground_truth_call
    call = parse_ground_truth_call(text, entry) if text else None
    if call is None:
        return None
    outcome = _get(call, services)
    found = mismatch(outcome, sample_of(entry.id, entry.possible_answer))
    return None if found is None else f"the service of {entry.id} is down or has changed: {found.error}"


_CARRIERS: Mapping[str, Callable[[Entry, Sequence[Call], Carrier], list[Outcome]]] = {
    "executable": _call_functions,
    "sql": _run_queries,
    "rest": lambda _, calls, services: [_get(call, services) for call in calls[:1]],
}
