"""Expectations in Python: the language of an entry's ``expect``, on a model's output or a whole transcript.

Patterns (`re.compile`) and functions of one value may replace any value of an entry. docs/expectations.md describes
both.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from pytest_bfcl.checkers.corrected import OFFICIAL
from pytest_bfcl.checkers.expectations import conversation_verdict, state_verdict
from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.entry_checks import unknown_names
from pytest_bfcl.dataset.expectation import ABSENT, LISTS, Expectation
from pytest_bfcl.dataset.likeness import Tested, at_path
from pytest_bfcl.explaining.terminal import failure_text
from pytest_bfcl.extensions.own.asking import Answer
from pytest_bfcl.extensions.own.sources import assertable_documents
from pytest_bfcl.failures import Failure, FailureTag, UsageError, Verdict, without_our_frames
from pytest_bfcl.json_types import Fields, Parsed, first_problem
from pytest_bfcl.replies import read_reply
from pytest_bfcl.simulators import Simulator
from pytest_bfcl.transcript import Mode, Reply, Step, Transcript, Turn

T = TypeVar("T")
WHERE = "docs/expectations.md has every kind of expectation"
_VALUES = ("equals", "contains", "matches", "schema", "exists", "tolerance")


@without_our_frames
def assert_expect(output: object, *expectations: Mapping[str, Any], functions: object = None) -> None:
    """All of these are met, each written as in an entry's ``expect``: ``{"called": "buy", "arguments": {"count": 2}}``.

    ``output`` and ``functions`` are as in `expect`. Raises `Failure` for the first that is not met, and `UsageError`
    before judging for an impossible one.
    """
    if not expectations:
        raise UsageError(f'name what is expected: assert_expect(reply, {{"called": "buy"}}); {WHERE}')
    subject = expect(output, functions)
    read = [subject.read(each) for each in expectations]
    for each in read:
        subject.hold(each)


def _public_without_our_frames(kind: type[T]) -> type[T]:
    """A class whose errors appear at the line that calls a method."""
    for name, method in vars(kind).copy().items():
        if not name.startswith("_"):
            setattr(kind, name, without_our_frames(method))
    return kind


@_public_without_our_frames
class Expected:
    """The result of `expect`: every method checks one expectation, raises `Failure` if it is not met, and returns
    itself.

    Calls are tools' names, or ``{"called": name, "arguments": {…}}`` (also ``"name"``), or ``{name: {…}}``.
    """

    def __init__(self, transcript: Transcript, tools: Mapping[str, Fields] | None) -> None:
        self._transcript = transcript
        self._tools = tools
        self._entry = Entry(id="assertion", category="recorded", question=[[] for _ in transcript.turns])

    def called(
        self,
        tool: str | Sequence[str],
        arguments: Fields | None = None,
        *,
        count: int | None = None,
        closed: bool | None = None,
    ) -> Expected:
        """A call of the tool (or one of several) was executed, with these arguments, exactly so often.

        ``closed``: no other arguments are allowed.
        """
        return self._holds(called=tool, arguments=arguments, count=count, closed=closed)

    def attempted(
        self,
        tool: str | Sequence[str],
        arguments: Fields | None = None,
        *,
        count: int | None = None,
        closed: bool | None = None,
    ) -> Expected:
        """The model called it, with any result."""
        return self._holds(attempted=tool, arguments=arguments, count=count, closed=closed)

    def not_called(self, tool: str | Sequence[str] = "*", arguments: Fields | None = None) -> Expected:
        """The model did not call it, not even without effect; without a tool: it called nothing."""
        return self._holds(not_called=tool, arguments=arguments)

    def exact(self, *calls: Any) -> Expected:
        """Exactly these calls, in this order; a list among them is one step."""
        return self._holds(exact=calls)

    def unordered(self, *calls: Any) -> Expected:
        """Exactly these calls, in any order."""
        return self._holds(unordered=calls)

    def superset(self, *calls: Any, at_least: int | None = None) -> Expected:
        """These calls (or this number of them) and any others, in any order."""
        return self._holds(superset=calls, at_least=at_least)

    def subset(self, *calls: Any) -> Expected:
        """Only calls from this list."""
        return self._holds(subset=calls)

    def in_order(self, *calls: Any, at_least: int | None = None) -> Expected:
        """These calls (or this number of them) in this order, others between them."""
        return self._holds(in_order=calls, at_least=at_least)

    def max_calls(self, count: int) -> Expected:
        """At most this number of calls were executed."""
        return self._holds(max_calls=count)

    def answer(self, *accepted: str | float, tolerance: float | None = None) -> Expected:
        """The last message has one of these texts as whole words, or one of these numbers."""
        return self._holds(answer=accepted, tolerance=tolerance)

    def said(self, *, is_so: bool = True, test: Callable[[str], object] | None = None, **values: Any) -> Expected:
        """The last message meets (does not meet) ``contains``, ``matches``, ``equals``, ``schema`` or ``test``."""
        return self._holds(said=is_so, **self._tested(test, values))

    def state(
        self, actual: object, path: str | None = None, *, test: Callable[[Any], object] | None = None, **values: Any
    ) -> Expected:
        """A value, or the value at a ``path`` in it, meets one of ``equals``, ``contains``, … or ``test``.

        For a simulator it is the public state.
        """
        told = actual.public_state() if isinstance(actual, Simulator) else actual
        wanted = self.read({"state": {"file": "state", "path": path}, **self._tested(test, values)})
        found, there = at_path(_plain(told), path)
        asked = f"the state{f' at {path}' if path else ''}"
        if (verdict := state_verdict(wanted, found if there else {ABSENT: True}, 0, asked)) is not None:
            raise_unless_valid(verdict, self._entry, self._transcript)
        return self

    def any_of(self, *expectations: Mapping[str, Any]) -> Expected:
        """One of these is met, each written as in an entry."""
        return self._holds(any_of=[dict(each) for each in expectations])

    def read(self, raw: Mapping[str, Any]) -> Expectation:
        """An expectation in its written form, with Python's values. Raises `UsageError` for an impossible one."""
        try:
            found = Expectation.model_validate(_readable(dict(raw)))
        except ValidationError as error:
            raise UsageError(f"not an expectation: {first_problem(error)}; {WHERE}") from None
        except (ValueError, TypeError) as error:
            raise UsageError(f"not an expectation: {error}; {WHERE}") from None
        turns = len(self._transcript.turns)
        for each in found.alternatives:
            if each.turn is not None and each.turn >= turns:
                raise UsageError(f"turn {each.turn} does not exist, there are {turns} (from 0)")
        if self._tools is not None and (told := next(unknown_names(found, self._tools), None)):
            raise UsageError(f"{told} (the error is in the expectation; nothing was judged)")
        return found

    def hold(self, each: Expectation) -> None:
        """Raises `Failure` if it is not met, `UsageError` for one that needs an entry's server."""
        if (looked := next((one.kind for one in each.alternatives if one.looked_at is not None), None)) is not None:
            raise UsageError(f"{looked} needs a server, an output has none: expect(…).state(value, …); {WHERE}")
        last = len(self._transcript.turns) - 1
        found = [
            conversation_verdict(one, self._transcript, last if one.turn is None else one.turn, OFFICIAL)
            for one in each.alternatives
        ]
        if found[0] is not None and None not in found:
            raise_unless_valid(found[0], self._entry, self._transcript)

    def _holds(self, **fields: Any) -> Expected:
        given = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
        self.hold(self.read({name: value for name, value in given.items() if value is not None}))
        return self

    def _tested(self, test: Callable[[Any], object] | None, values: Parsed) -> Parsed:
        unknown = next((name for name in values if name not in _VALUES), None)
        if unknown is not None or (test is None) == (not set(values) - {"tolerance"}):
            raise UsageError(f"give one of equals, contains, matches, schema, exists, test; {WHERE}")
        return {"equals": _by_function(test)} if test is not None else values


def raise_unless_valid(verdict: Verdict, entry: Entry, transcript: Transcript) -> None:
    """Raises `Failure` with the verdict's text for users."""
    if not verdict.valid:
        text = failure_text(entry, transcript, verdict)
        raise Failure(verdict.tag or FailureTag.WRONG_ANSWER, verdict.reason or "", text, verdict.detail) from None


def expect(output: object, functions: object = None) -> Expected:
    """Expectations about a model's output.

    ``output``: an answer of the fixture ``ask``, anything that `assert_calls` accepts, a list of messages, or a
    `Transcript`. ``functions``: the offered tools; an answer of ``ask`` has its own. If they are known, unknown tools
    and parameters in the expectation raise `UsageError`.
    """
    tools = getattr(output, "functions", None) if functions is None else functions
    documents = assertable_documents(tools) if tools else []
    transcript = output
    if not isinstance(transcript, Transcript):
        steps = list(_steps_of(output))
        mode: Mode = "fc" if any(step.reply.tool_calls for step in steps) else "prompt"
        transcript = Transcript("assertion", "recorded", mode=mode, turns=[Turn(steps=steps)])
    return Expected(transcript, {str(doc["name"]): doc["parameters"] for doc in documents} or None)


def _steps_of(output: object) -> Iterator[Step]:
    """A step for every message of the model after the user's last one; any other output is one step."""
    messages = output.messages if isinstance(output, Answer) else output
    told = messages if isinstance(messages, list | tuple) else ()
    if not told or not all(isinstance(each, Mapping) and "role" in each for each in told):
        reply = read_reply(output)
        yield Step(reply, results=list(output.results) if isinstance(output, Answer) else [])
        if reply.tool_calls and reply.text:  # words beside calls are the last there are
            yield Step(Reply(text=reply.text))
        return
    last = max((number for number, each in enumerate(told) if each["role"] == "user"), default=-1)
    steps: list[Step] = []
    for message in told[last + 1 :]:
        if message["role"] == "assistant":
            steps.append(Step(read_reply(message)))
        elif message["role"] == "tool" and steps:
            steps[-1].results.append(str(message.get("content")))
    if isinstance(output, Answer) and (not steps or steps[-1].reply.tool_calls):
        steps.append(Step(Reply(text=output.text)))  # its last words are not among the messages
    yield from steps or [Step(read_reply(output))]


def _readable(raw: Parsed) -> Parsed:
    """An expectation with its functions as `Tested`, its calls in the long form."""
    found: Parsed = {str(name): _rule(value) for name, value in raw.items()}
    if isinstance(found.get("matches"), Tested):  # a pattern that is compiled
        found["equals"] = found.pop("matches")
    for name in LISTS:
        if isinstance(found.get(name), list):
            found[name] = [_call(each) for each in found[name]]
    if isinstance(found.get("any_of"), list):
        found["any_of"] = [_readable(each) if isinstance(each, dict) else each for each in found["any_of"]]
    return found


def _call(each: Any) -> Any:
    if isinstance(each, list):
        return [_call(one) for one in each]
    if not isinstance(each, dict) or "called" in each:
        return each
    if isinstance(each.get("name"), str):
        return {"called" if name == "name" else name: value for name, value in each.items()}
    return {"called": next(iter(each)), "arguments": next(iter(each.values()))} if len(each) == 1 else each


def _rule(value: Any) -> Any:
    """Patterns, types and functions at any depth as `Tested`; other values as JSON. Raises `UsageError` for values that
    JSON does not have.
    """
    if isinstance(value, re.Pattern):
        pattern = value
        return Tested(lambda told: isinstance(told, str) and bool(pattern.search(told)), f"/{pattern.pattern}/")
    if isinstance(value, type):
        kind = value
        return Tested(lambda told: isinstance(told, kind) and (kind is bool or told is not bool(told)), kind.__name__)
    if callable(value):
        return _by_function(value)
    if isinstance(value, Mapping):
        return {str(name): _rule(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rule(each) for each in value]
    if value is None or isinstance(value, str | int | float | Tested):
        return value
    raise UsageError(f"{value!r:.80} is no value of JSON, no pattern and no function")


def _by_function(function: Callable[..., Any]) -> Tested:
    """A function as a value. Raises `UsageError` for one that does not take one value, or does not return at once."""
    name = getattr(function, "__name__", type(function).__name__)
    if inspect.iscoroutinefunction(function):
        raise UsageError(f"{name} is an async function: a value is tested by a plain one")
    with contextlib.suppress(ValueError):  # some built-in functions do not tell
        try:
            inspect.signature(function).bind(None)
        except TypeError:
            raise UsageError(f"{name} does not take one value: a function of one value tests it") from None
    return Tested(function, name)


def has_functions(value: Any) -> bool:
    """Whether a value contains a pattern or a function."""
    if isinstance(value, Mapping):
        return any(map(has_functions, value.values()))
    if isinstance(value, list | tuple | set):
        return any(map(has_functions, value))
    return isinstance(value, re.Pattern) or callable(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
