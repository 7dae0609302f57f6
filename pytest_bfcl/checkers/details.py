"""The details of a verdict besides its reason: a small record for each family of reasons, as JSON and back.

The JSON object is the ``detail`` of a result line (docs/contracts.md). Fields that do not apply are left out. Details
read from a file are untrusted: a value of the wrong type counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import Any, Final, NamedTuple, Self, dataclass_transform, get_type_hints

from pytest_bfcl.json_types import Parsed
from pytest_bfcl.transcript import Call

MAX_ITEMS = 60
MAX_TEXT = 2000
MAX_DEPTH = 8


def plain(value: Any, depth: int = 0) -> Any:
    """A decoded value as something JSON can hold, bounded in depth, length and text size.

    Short texts, the most frequent values, take a shortcut.
    """
    cls = type(value)
    if cls is str:
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT] + "…"
    if cls is bool or value is None:
        return value
    if cls is int:
        return value if -_BIG < value < _BIG else "a number too large to show"
    if cls is float:
        return value if value - value == 0 else str(value)  # not for infinities and NaN
    if depth >= MAX_DEPTH:
        return "…"
    deeper = depth + 1
    if cls is dict:
        return {
            key if type(key) is str and len(key) < 200 else _key(key): (
                item if type(item) is str and len(item) <= MAX_TEXT else plain(item, deeper)
            )
            for key, item in islice(value.items(), MAX_ITEMS)
        }
    if cls is list or cls is tuple:
        return [
            item if type(item) is str and len(item) <= MAX_TEXT else plain(item, deeper) for item in value[:MAX_ITEMS]
        ]
    if cls is Call:
        return plain({value.name: value.arguments}, depth)
    return _unusual(value, depth)


_BIG = 2**1024


def _key(key: object) -> str:
    """How the null key of ``**mapping`` arguments (ast_checker spec §3.2) is written."""
    return "**" if key is None else str(key)[:200]


def _unusual(value: object, depth: int) -> Any:
    if isinstance(value, Mapping):
        return plain(dict(value), depth)
    if isinstance(value, (set, frozenset)):
        return plain(sorted(map(str, value)), depth)
    if isinstance(value, (str, bytes)):
        return plain(str(value), depth)
    try:
        return str(value)[:MAX_TEXT]
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"


Object = Mapping[str, object]


class _Untold:
    """Marks a missing value where every value is allowed, also ``None``."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "UNTOLD"


UNTOLD: Final = _Untold()


def value_of(value: object) -> object:
    """The value, ``None`` if there is none."""
    return None if value is UNTOLD else value


class Attempt(NamedTuple):
    """One call that was tried for an expected one: its number, the reason why it does not fit, and its details."""

    call: int
    reason: str
    details: Details


@dataclass_transform(eq_default=False, kw_only_default=True)
class _Record:
    """Like a dataclass, but stores only given fields, because most failures have few. It is made for every failure and
    must be fast.
    """

    def __init__(self, **told: Any) -> None:
        self.__dict__ = told

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({told})"


class Details(_Record):
    """Details of any family.

    ``expected`` and ``called``: both sides of the difference. ``error``: the message of the part that failed. Other
    fields are added to a finished verdict: ``advice`` for a known mistake; ``lost_call``, the format of a call that the
    server's parser left in the text; ``underlying``, the reason of a failure caused by a cut reply; ``corrected_rules``
    that decided; ``reference``, the original's behaviour if it gives no verdict.
    """

    expected: object = UNTOLD
    called: object = UNTOLD
    error: str | None = None
    advice: str | None = None
    lost_call: str | None = None
    underlying: str | None = None
    corrected_rules: list[object] | None = None
    reference: str | None = None

    @classmethod
    def of_json(cls, detail: Object) -> Self:
        """The details in a JSON object; never raises."""
        fields = _fields(cls)  # type: ignore[arg-type]  # mypy: a class has no hash
        found: Parsed = {
            name: detail[key] for name, (key, fits, _) in fields.items() if key in detail and fits(detail[key])
        }
        return cls(**found)

    def to_json(self) -> Parsed:
        """The fields that are set, by name in ``detail``."""
        fields = _fields(type(self))  # type: ignore[arg-type]
        found = {}
        for name, value in self.__dict__.items():
            key, _, write = fields[name]
            found[key] = value if write is None else write(value)
        return found

    @property
    def place(self) -> int | None:
        """The turn that decided, counted from 0."""
        return None


class CallDetails(Details):
    """One call against one expected call: the function's name, or an argument that is missing or too much.

    ``call``: number of the call; ``wanted``: the expected one, ``{function: {parameter: [acceptable values]}}``;
    ``function`` and ``param``: the place of the difference.
    """

    call: int | None = None
    wanted: object = UNTOLD
    function: str | None = None
    param: object = UNTOLD

    def fill(self, expected: object, called: object) -> None:
        """Fill in both sides where they are missing."""
        if self.expected is UNTOLD:
            self.expected = expected
        if self.called is UNTOLD:
            self.called = called


class ValueDetails(CallDetails):
    """One argument's value.

    ``type``: the documented one in words; ``index``: of a list's element; ``key``, ``allowed``, ``found``: of an
    object; ``text``: the source text that was read as ``called``.
    """

    type: str | None = None
    index: int | None = None
    key: object = UNTOLD
    allowed: object = UNTOLD
    found: object = UNTOLD
    text: str | None = None


class CountDetails(Details):
    """Too many or too few calls: the expected and actual number, and the calls."""

    expected: int | None = None
    called: int | None = None
    calls: list[object] | None = None
    wanted: list[object] | None = None


class ResultCountDetails(CountDetails):
    """Too many or too few calls to execute; ``wanted`` are texts."""


class TriedDetails(Details):
    """Something expected that no call gives: its number, and the compared calls (``sub_errors`` in JSON)."""

    answer: int | None = None
    attempts: tuple[Attempt, ...] = ()

    def to_json(self) -> Parsed:
        """Also with the reasons of the compared calls alone."""
        return super().to_json() | {"sub_error_types": [tried.reason for tried in self.attempts]}


class MatchDetails(TriedDetails):
    """An expected call without a matching one: its form, and all calls."""

    wanted: object = UNTOLD


class ResultDetails(Details):
    """The actual and the expected result of executing one call; ``kind`` of the ``error`` if it failed."""

    call: int | None = None
    wanted_call: str | None = None
    called_call: object = UNTOLD
    kind: str | None = None


class ResultMatchDetails(TriedDetails):
    """An expected result that no call gave, and the call that gives it."""

    wanted_call: str | None = None


class UnreadDetails(Details):
    """A reply without a readable call, where one was expected."""


class UndueDetails(Details):
    """Calls, or an attempted one, where none was expected."""


class TurnDetails(Details):
    """A turn of a conversation: expected and actual calls as texts; ``results``: number of a call → its result."""

    turn: int | None = None
    results: Object | None = None

    @property
    def place(self) -> int | None:
        """The turn that decided, counted from 0."""
        return self.turn


class StateDetails(TurnDetails):
    """A simulated system in another state: its class, and path → ``{expected, called}`` of the differences."""

    class_name: str | None = None
    difference: Object | None = None


class ObtainedDetails(TurnDetails):
    """Required results that are missing, and the expected calls that give them."""

    missing: list[object] | None = None
    missing_calls: list[object] | None = None


class QuietTurnDetails(TurnDetails):
    """Calls in a turn that should have none."""


class EndDetails(TurnDetails):
    """A conversation that ended too early; ``last_turn`` is set if turns are missing."""

    last_turn: int | None = None

    @property
    def place(self) -> int | None:
        """The turn that decided, counted from 0."""
        return self.last_turn if self.turn is None else self.turn


class AnswerDetails(Details):
    """A final message and the accepted answers; without a message, the number of ``steps``."""

    steps: int | None = None


class ServerDetails(AnswerDetails):
    """The state that a user's server reported after a turn, and the expected state; ``asked``: the call or resource."""

    turn: int | None = None
    asked: str | None = None

    @property
    def place(self) -> int | None:
        """The turn that decided, counted from 0."""
        return self.turn


class ReplyDetails(Details):
    """A reply that was cut or refused; it has no other details."""


class TroubleDetails(Details):
    """An infrastructure error: ``error`` is its text."""


class _Field(NamedTuple):
    """How a field is converted to and from JSON: its key, whether a value from a file has its type, its writer."""

    key: str
    fits: Callable[[Any], bool]
    write: Callable[[Any], object] | None


def _attempts(attempts: tuple[Attempt, ...]) -> list[Parsed]:
    return [{"call": call, "reason": reason, **details.to_json()} for call, reason, details in attempts]


_KINDS: dict[object, tuple[Callable[[Any], bool], Callable[[Any], object] | None]] = {
    int | None: (lambda value: type(value) is int and value >= 0, None),
    str | None: (lambda value: isinstance(value, str), plain),
    list[object] | None: (lambda value: isinstance(value, list), plain),
    Object | None: (lambda value: isinstance(value, Mapping), None),
    # Read where the families of their reasons are known: `pytest_bfcl.checkers.reasons.details_of`.
    tuple[Attempt, ...]: (lambda value: False, _attempts),
    object: (lambda value: True, plain),
}
"""Type of a field → its conversion; ``None``: unchanged."""
_KEYS = {"class_name": "class", "attempts": "sub_errors"}


@cache
def _fields(family: type[Details]) -> dict[str, _Field]:
    """The fields of a family by name."""
    kinds = get_type_hints(family)
    return {name: _Field(_KEYS.get(name, name), *_KINDS[kind]) for name, kind in kinds.items()}
