"""The vocabulary of failures: one tag per outcome, the failure that users see, and the verdict of a checker.

Tags and reasons are fixed by the project's contract (docs/contracts.md, "Tags and reasons").
``MALFORMED_OUTPUT`` and ``WRONG_ANSWER`` are the model's (a failed test). ``ADAPTER_ERROR`` and
``HARNESS_ERROR`` are ours (an error, never counted into an accuracy).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import printable

if TYPE_CHECKING:
    from pytest_bfcl.transcript import Transcript


P = ParamSpec("P")
T = TypeVar("T")


class FailureTag(StrEnum):
    """The kind of a failure or error; exactly one for each failed or errored entry."""

    MALFORMED_OUTPUT = "MALFORMED_OUTPUT"
    """No readable call or final message where one was expected."""
    WRONG_ANSWER = "WRONG_ANSWER"
    """Readable, but a rule of the checker is not met."""
    ADAPTER_ERROR = "ADAPTER_ERROR"
    """Transport, key, quota, timeout, 5xx, malformed HTTP body."""
    HARNESS_ERROR = "HARNESS_ERROR"
    """A defect of this package or of the data."""

    WIRE_FAULT = "WIRE_FAULT"
    """The server broke a rule of the API (`pytest_bfcl.extensions.wire`). It belongs to no entry and no accuracy."""

    @property
    def counts(self) -> bool:
        """Whether an entry with this tag enters the accuracy (as a failure)."""
        return self in (FailureTag.MALFORMED_OUTPUT, FailureTag.WRONG_ANSWER)


class Details(Protocol):
    """The details of one failure beyond its reason; the families are in `pytest_bfcl.checkers.details`."""

    @property
    def place(self) -> int | None:
        """The turn that decided, counted from 0."""

    def to_json(self) -> Parsed:
        """Further JSON values of limited size: the ``detail`` of a result line."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One kind of failure: everything about it except the single case.

    ``name`` is the reason as in ``results.jsonl``; ``tag`` says whose fault it is; ``rule`` is the broken rule in
    words. ``headline`` is the sentence of a report, with placeholders; ``remedy`` is what to do. ``details`` is the
    family of the details; ``advice`` finds a known pitfall behind a case; ``mark`` appears in a few words next to the
    broken argument.
    """

    name: str
    tag: FailureTag
    rule: str
    headline: str
    remedy: str
    details: type[Details]
    advice: Callable[..., str | None] | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A checker's decision about one transcript.

    ``reason`` is the name of a `Reason` (for instance ``value_error:string``), ``None`` when valid. ``detail`` may hold
    ``rule``, ``turn``, ``step``, ``call``, ``param``, ``expected``, ``called``, ``difference``, ``error``, ``advice``,
    ``sub_error_types``; every value is JSON-able. ``details`` is the record behind it, unless it was read from a file.
    """

    valid: bool
    tag: FailureTag | None = None
    reason: str | None = None
    detail: Fields = field(default_factory=dict)
    details: Details | None = field(default=None, compare=False, repr=False)
    outcome: str = field(init=False, compare=False, repr=False)
    """``passed``, ``failed`` or ``error``, as in ``results.jsonl``."""

    def __post_init__(self) -> None:
        wrong = "failed" if self.tag is not None and self.tag.counts else "error"
        object.__setattr__(self, "outcome", "passed" if self.valid else wrong)

    @classmethod
    def passed(cls) -> Verdict:
        """The verdict of success."""
        return _PASSED

    @classmethod
    def wrong(cls, reason: Reason, details: Details | None = None) -> Verdict:
        """A verdict that is no success. The reason's tag says whether it is the model's mistake."""
        detail = {} if details is None else details.to_json()
        if reason.tag.counts:
            detail = {"rule": reason.rule, **detail}
        return cls(False, reason.tag, reason.name, detail, details)

    def put_down_to(self, reason: Reason) -> Verdict:
        """The same failure with a more exact reason; the first one becomes the ``underlying`` one."""
        return Verdict(False, reason.tag, reason.name, {**self.detail, "rule": reason.rule, "underlying": self.reason})

    def with_detail(self, **more: Any) -> Verdict:
        """The same verdict with further detail."""
        return Verdict(self.valid, self.tag, self.reason, {**self.detail, **more}, self.details)


_PASSED = Verdict(True)
"""Most verdicts are this one."""


class Failure(AssertionError):
    """A model's mistake as an assertion error: one tag, one reason, and a text for users."""

    def __init__(
        self,
        tag: FailureTag,
        reason: str,
        message: str = "",
        detail: Fields | None = None,
    ) -> None:
        self.message = printable(message or f"{tag}: {reason}")
        super().__init__(self.message)
        self.tag = tag
        self.reason = reason
        self.detail: Fields = dict(detail or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.tag, self.reason, self.message, dict(self.detail)))

    @property
    def verdict(self) -> Verdict:
        """The verdict of this failure."""
        return Verdict(False, self.tag, self.reason, self.detail)


class BenchmarkError(Exception):
    """Infrastructure errors: base of the two kinds below.

    ``kind`` completes the reason: ``adapter:<kind>`` or ``harness:<kind>``. ``transcript`` is the unfinished
    conversation, if one had begun.
    """

    tag = FailureTag.HARNESS_ERROR
    prefix = "harness"

    def __init__(self, kind: str, message: str, *, advice: str = "") -> None:
        self.message = printable(message)
        super().__init__(self.message)
        self.kind = kind
        self.advice = printable(advice)
        self.transcript: Transcript | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.__dict__.copy(), self.args))

    @property
    def reason(self) -> str:
        """The reason as in ``results.jsonl``."""
        return f"{self.prefix}:{self.kind}"

    @property
    def verdict(self) -> Verdict:
        """An error verdict with this error's text and advice in its detail."""
        detail = {"error": self.message} | ({"advice": self.advice} if self.advice else {})
        return Verdict(False, self.tag, self.reason, detail)


class AdapterError(BenchmarkError):
    """The provider could not be reached: transport, key, quota, timeout, 5xx, malformed body.

    ``kind`` is an `AdapterTrouble`, or a text from another package. ``retryable`` says whether a retry can help;
    ``retry_after_s`` is the server's wish.
    """

    tag = FailureTag.ADAPTER_ERROR
    prefix = "adapter"

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        advice: str = "",
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(kind, message, advice=advice)
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class HarnessError(BenchmarkError):
    """A defect of this package or of the data; ``kind`` is a `HarnessTrouble`, or a text from another package."""


class EntrySkipped(BenchmarkError):
    """An entry that cannot run or be judged here, without anyone's mistake: no verdict, the reason is shown.

    ``kind`` for instance ``recording`` (it needs a recorded provider), ``service_down``.
    """

    prefix = "skipped"


class UsageError(Exception):
    """A user's mistake (option, file, missing data): shown as one message, never with a traceback."""

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(str(message)))


@contextmanager
def of_option(name: str) -> Iterator[None]:
    """Makes each `UsageError` within name the option ``--bfcl-NAME``."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"--bfcl-{name}: {error}") from None


def _rebuild(cls: type[BenchmarkError], state: Parsed, args: tuple[Any, ...]) -> BenchmarkError:
    error = cls.__new__(cls)
    error.args = args
    error.__dict__.update(state)
    return error


def without_our_frames(function: Callable[P, T]) -> Callable[P, T]:
    """For functions that users' tests call: their errors appear at the test's own line, without our frames."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (UsageError, Failure) as error:
            raise error.with_traceback(None) from None

    return call


MOST = 3
"""Names a message suggests."""

_SHOWN = 24
_LIKENESS = 0.6


def close_names(name: str, known: Iterable[str], most: int = MOST) -> list[str]:
    """The known names most like this one, best first; case, dashes and underscores do not matter."""
    plain: dict[str, str] = {}
    for each in known:
        plain.setdefault(_plain(each), each)
    wanted = _plain(name[:200])
    found = difflib.get_close_matches(wanted, plain, most, _LIKENESS)
    begun = [each for each in plain if len(wanted) >= 3 and each.startswith(wanted) and each not in found]
    return [plain[each] for each in [*found, *begun]][:most]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean 'a', 'b' or 'c'?``; empty if no name is similar."""
    return _did_you_mean(close_names(name, known))


def instead_of(name: str, known: Iterable[str]) -> str:
    """The text after "unknown …": similar names, else all names."""
    names = list(dict.fromkeys(known))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return did_you_mean(name, names) or f"known: {', '.join(names[:_SHOWN]) or 'none'}{more}"


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def _did_you_mean(names: list[str]) -> str:
    if not names:
        return ""
    *first, last = map(repr, names)
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"
