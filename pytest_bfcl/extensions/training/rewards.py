"""Rewards for reinforcement learning: the checkers' verdict on one completion as a number in [0, 1].

Strict by default: 1.0 for a valid answer, else 0.0. With ``partial=True`` a wrong answer earns part of it, by this
fixed scale (a valid answer is always 1.0, a wrong one at most `MOST_PARTIAL`):

- each expected call in the output earns up to its share of 0.9. A tenth is for its function, the rest for the share of
  its expected parameters with an acceptable value, to the fourth power. So easy parameters (an omitted default, the
  only obvious value) earn little. Omitted optional parameters do not count;
- all of it times the square of expected/made if more calls were made than expected, so that flooding does not pay.

Entries that expect no call, relevance entries, executed calls of retired categories, and answers of memory and web
entries are right or wrong. Multi-turn conversations, whose calls are executed, are graded turn by turn. Their verdict
is all or nothing, and repeated calls may pass. Grades measure how close a wrong conversation is, and the cost of extra
calls. A valid conversation without such calls is 1.0:

- A turn with expected calls is worth 1.0 if the official rule passes it on its own; else `MOST_PARTIAL` times the mean
  of its shares of state and response. A turn without any call is worth 0.
- Calls beyond the ground truth's number cost, and so do those that only a later turn needs. An argument that no
  expected call of its function has counts as one of them, unless it is empty or the documented default. A turn is
  divided by the square of 1 + ``call_cost`` times these for each expected call, right or wrong, without a floor. With a
  ``call_cost`` of 0 a right turn is worth 1.0 with any calls.
- *state*: of the classes that the turn's expected calls write to, or that differ, the share with the right state;
  ``None`` without such a class, because unchanged other classes earn nothing.
- *response*: share of the turn's expected results obtained by its end.
- Quiet turns, without expected calls: one with a call is worth 0. If a value or a function is missing, a question is
  worth as much as the turn that it makes possible, and silence or a claim nothing; other quiet turns without a call do
  not count.
- The conversation is worth the mean of its turns; turns that were not reached, or ended by the step limit, are worth 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.checkers import judge
from pytest_bfcl.checkers.state import is_designed, replay
from pytest_bfcl.decoding import DecodeError, decode_reply
from pytest_bfcl.decoding.ground_truth import parse_ground_truth_call
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.formats.detection import TextReading
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.judging.conversation import NAMES
from pytest_bfcl.judging.entries import entry_of, unpacked
from pytest_bfcl.replies import read_reply
from pytest_bfcl.runs.wire_names import proven_underscores
from pytest_bfcl.simulators import CallRefused, split_call
from pytest_bfcl.transcript import Call, Mode, Reply, Step, Transcript, Turn
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.checkers.state import TurnRecord
    from pytest_bfcl.conversation.services import Services
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.formats.thinking import Think

MOST_PARTIAL = 0.9
"""The largest grade of anything wrong, in every kind of entry."""
ASKING = 2
"""The least number of words of a question."""
_REQUESTS = re.compile(
    r"\b(please|needs?|required?|provide|specify|which|what|who|when|where|how|clarify|confirm|missing|cannot|unable"
    r"|unavailable|not|\w+n't|without|lacks?|sorry|unclear|tell|share|enter)\b"
)
"""One of these makes a sentence without a question mark a request, or says that something is not possible."""
CALL_COST = 1.0
"""At this cost a turn with every call made twice is worth a quarter."""
NAMED = 0.1
"""The right function's part of a call's share, with any arguments."""
READ_BY = ("mode", "decoder", "think", "names")
"""Columns of a row that say how a reply is written; ``names`` is ``dots`` or ``underscores``."""
MOST_CALLS = 64
"""Most calls of one output that are graded; the benchmark expects at most 8."""
_SIMPLE = {"python": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}
_ENTRY_COLUMNS = (
    "id", "category", "question", "function", "possible_answer", "language", "return_format", "tool_call_tag",
)  # fmt: skip


def reward(
    entry: Entry | Fields,
    output: object,
    *,
    rules: str = "official",
    mode: Mode | None = None,
    underscore_names: bool | None = None,
    partial: bool = False,
    call_cost: float = CALL_COST,
    services: Services | None = None,
    decoder: str | None = None,
    think: Think = "auto",
) -> float:
    """The reward of one output for one entry.

    Args:
        entry: An `Entry`, or a mapping with ``function`` and ``possible_answer`` (and other fields of an entry; ``id``
            and ``category`` default to those of a Python entry whose rule fits the number of functions and calls).
            output: Any shape that `pytest_bfcl.replies.read_reply` reads (text, calls, messages, completions and
            objects of common libraries, a rollout's list of messages), or a `Transcript`.
        rules: ``official`` or ``corrected``.
        mode: How the calls are written; default: ``fc`` for native calls, else ``prompt``.
        underscore_names: Names were sent with dots replaced; default: by the called names.
        partial: Graded instead of strict, see the module.
        call_cost: The cost of unneeded calls in a graded conversation; 0 for none.
        decoder: The format of calls in texts (`pytest_bfcl.formats`), in any mode.
        think: Thoughts in a text: ``auto`` as the decoder's family does, ``strip``, ``keep``.
        services: The services of executable entries' calls; pass an open one, or each call makes its own. Never raises
            for a model's text. Raises `HarnessError` if the entry cannot be judged and `UsageError` if the output has
            an unknown shape, because neither is the policy's failure.
    """
    from pytest_bfcl.conversation.services import Services, is_executed

    known = entry_of(entry)
    transcript = output if isinstance(output, Transcript) else _as_transcript(known, output, mode, underscore_names)
    if decoder is not None or think != "auto":
        transcript = TextReading(decoder, think).apply(transcript)
    if is_executed(known):
        with ExitStack() as stack:
            (services or stack.enter_context(Services(official=known.official))).execute(known, transcript)
    verdict = judge(known, transcript, rules)
    graded = partial and known.row.checker == "state"
    if verdict.valid and not graded:
        return 1.0
    if verdict.outcome == "error":
        raise HarnessError(
            HarnessTrouble.CHECKER, f"{known.id} cannot be judged: {verdict.detail.get('error') or verdict.reason}"
        )
    if graded:
        return grades_of(known, transcript, valid=verdict.valid, call_cost=call_cost).score
    return _partial(known, transcript, rules) if partial and known.row.checker == "ast" else 0.0


def _as_transcript(entry: Entry, output: object, mode: Mode | None, underscore_names: bool | None) -> Transcript:
    """An output as the only reply of a conversation: native calls prove the mode, called names the spelling."""
    reply = read_reply(output)
    chosen: Mode = mode or ("fc" if reply.tool_calls else "prompt")
    under = proven_underscores(reply, entry.function) if underscore_names is None else underscore_names
    return Transcript(entry.id, entry.category, mode=chosen, underscore_names=under, turns=[Turn(steps=[Step(reply)])])


def read_by(row: Fields, options: Fields) -> Parsed:
    """The options with the row's values of `READ_BY`. Raises `UsageError` if both set one differently, and for unknown
    names.
    """
    settled = dict(options)
    for name in READ_BY:
        said, given = row.get(name), options.get(name)
        if not said or not isinstance(said, str):
            continue
        if given is not None and given != said:
            raise UsageError(f"the row was made with {name}={said!r}, and {given!r} is asked for: leave that out")
        settled[name] = said
    refuse_unknown_names(settled)
    return settled


def refuse_unknown_names(options: Fields) -> None:
    """Raise `UsageError` for an unknown spelling of names, which would silently mean dots."""
    if (names := options.get("names")) not in (None, *NAMES):
        raise UsageError(f"names is 'underscores' or 'dots', not {names!r}")


def refuse_unreadable(mode: Mode, decoder: str | None) -> None:
    """Raise `UsageError` if a policy's text could never contain a call: native mode without a decoder."""
    if mode == "fc" and decoder is None:
        raise UsageError("a text in mode='fc' needs decoder=…: without one no call is ever found in it")


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Fields | None = None, **options: Any
) -> float:
    """One completion in the signature verl calls custom rewards with.

    ``ground_truth`` is the entry: a mapping or its JSON text with ``function`` and ``possible_answer``. It may be the
    possible answer alone; then ``extra_info`` holds the rest of the entry. ``extra_info`` never changes an entry that
    has its functions, and unknown columns are ignored. Its columns `READ_BY` say how the completion is read; options
    must not contradict them. ``data_source`` is not used.
    """
    row = extra_info or {}
    given = unpacked(ground_truth)
    if not isinstance(given, Mapping) or not any(name in given for name in ("function", "possible_answer", "category")):
        given = {"possible_answer": given if given is None or isinstance(given, list) else [given]}
    if "function" not in given:
        given = {**{name: value for name, value in row.items() if name in _ENTRY_COLUMNS}, **given}
    settled = read_by(row, options)
    if row.get("mode"):
        refuse_unreadable(settled["mode"], settled.get("decoder"))
    if names := settled.pop("names", None):
        settled.setdefault("underscore_names", names == "underscores")
    return reward(given, solution_str, **settled)


def _partial(entry: Entry, transcript: Transcript, rules: str) -> float:
    """Partial credit of a wrong answer, see the module."""
    try:
        made = decode_reply(
            transcript.first_reply,
            transcript.mode,
            return_format=entry.return_format,
            tool_call_tag=entry.tool_call_tag,
            rules=rules,
            functions=entry.function,
            decoder=transcript.decoder,
        )
    except DecodeError:
        return 0.0
    expected = entry.possible_answer or []
    if not made or not expected:
        return 0.0
    shares = _paired_shares(entry, transcript.mode, expected, made[:MOST_CALLS], rules)
    earned = sum(NAMED + (1 - NAMED) * share**4 for share in shares)
    return MOST_PARTIAL * earned / len(expected) * min(1.0, len(expected) / len(made)) ** 2


def _paired_shares(entry: Entry, mode: Mode, expected: Sequence[Any], made: Sequence[Call], rules: str) -> list[float]:
    """The share of right parameters for each expected call with a call of its name; best pairs first."""
    pairs = []
    for (place, answer), (number, call) in product(enumerate(expected), enumerate(made)):
        (name, parameters), *_ = answer.items()
        if call.name.replace(".", "_") == name.replace(".", "_"):
            pairs.append((-_parameter_share(entry, mode, name, parameters, call.arguments, rules), place, number))
    shares: dict[int, float] = {}
    numbers: set[int] = set()
    for share, place, number in sorted(pairs):
        if place not in shares and number not in numbers:
            shares[place] = -share
            numbers.add(number)
    return list(shares.values())


def _parameter_share(entry: Entry, mode: Mode, name: str, parameters: Fields, arguments: Fields, rules: str) -> float:
    """Share of the expected parameters with an acceptable value; each is judged alone, by the checkers' own rules.

    Unexpected parameters count as wrong; correctly omitted ones do not count.
    """
    document = next((doc for doc in entry.function if doc.get("name") == name), None)
    if document is None:
        return 0.0
    schema = document.get("parameters") or {}

    def may_lack(key: str) -> bool:
        allowed = parameters[key]
        return isinstance(allowed, list) and "" in allowed and key not in schema.get("required", ())

    def is_right(key: str) -> bool:
        if key not in arguments or key not in schema.get("properties", {}):
            return False
        only = {**schema, "properties": {key: schema["properties"][key]}, "required": [key]}
        changes = {
            "category": _SIMPLE[entry.language],
            "config": None,
            "function": [{**document, "parameters": only}],
            "possible_answer": [{name: {key: parameters[key]}}],
        }
        step = Step(Reply(), calls=[Call(name, {key: arguments[key]})])
        alone = Transcript(entry.id, "", mode=mode, turns=[Turn(steps=[step])], decoded=True)
        return judge(entry.model_copy(update=changes), alone, rules).valid

    due = [key for key in parameters if key in arguments or not may_lack(key)]
    extra = len(arguments.keys() - parameters.keys())
    if not due:
        return 0.0 if extra else 1.0
    return sum(map(is_right, due)) / (len(due) + extra)


# -- conversations -----------------------------------------------------------------------------------------------------


class TurnGrade(NamedTuple):
    """One user turn, all numbers in [0, 1].

    ``score`` is ``None`` for turns that do not count, ``state`` and ``response`` if there is nothing to compare.
    """

    turn: int
    score: float | None
    state: float | None = None
    response: float | None = None


class Grades(NamedTuple):
    """A conversation's graded reward and that of each turn of the ground truth."""

    score: float
    turns: tuple[TurnGrade, ...] = ()


def grades_of(entry: Entry, transcript: Transcript, *, valid: bool, call_cost: float = CALL_COST) -> Grades:
    """The grades of a conversation about a multi-turn entry; ``valid`` is its verdict. Raises `HarnessError`.

    A conversation in progress is graded as if the model stopped here.
    """
    record = replay(entry, transcript, shares=True)
    due = [Counter(map(_call, turn.expected)) for turn in record.turns]
    early = [_early(turn, due[number], due[number + 1 :]) for number, turn in enumerate(record.turns)]
    turns = [
        _turn(number, turn, early[number], _invented(entry, turn), call_cost)
        for number, turn in enumerate(record.turns)
    ]
    if record.forced and turns:
        turns[-1] = turns[-1]._replace(score=0.0)
    reached = len(turns)
    for number in range(reached, record.expected_turns):
        turns.append(TurnGrade(number, 0.0 if record.expected_calls[number] else None))
    for number in reversed(range(reached)):
        if turns[number].score is None and is_designed(entry, number):
            made_possible = turns[number + 1].score if number + 1 < len(turns) else None
            turns[number] = turns[number]._replace(score=made_possible if _asked(transcript, number) else 0.0)
    scores = [turn.score for turn in turns if turn.score is not None]
    mean = sum(scores) / len(scores) if scores else float(valid)
    return Grades(mean if valid else min(MOST_PARTIAL, mean), tuple(turns))


def _asked(transcript: Transcript, number: int) -> bool:
    """Whether a turn's words may be a question; a turn that was only judged, without any reply, counts as one."""
    steps = transcript.turns[number].steps
    return not steps or any(_asks(step.reply.text or "") for step in steps)


def _asks(text: str) -> bool:
    said = text.lower().replace("’", "'")
    return len(re.findall(r"\w+", said)) >= ASKING and ("?" in said or _REQUESTS.search(said) is not None)


def _early(turn: TurnRecord, due: Counter[str], later: list[Counter[str]]) -> int:
    """How many calls of a turn belong only to a later one."""
    beyond = Counter(_call(text) for step in turn.made for text in step) - due
    return sum((beyond & sum(later, Counter())).values())


def _invented(entry: Entry, turn: TurnRecord) -> int:
    """The number of arguments that are on no expected call of their function, not its default and not empty."""
    asked: dict[str, set[str]] = {}
    for call in (parse_ground_truth_call(text, entry) for text in turn.expected):
        if call is not None:
            asked.setdefault(call.name, set()).update(call.arguments)
    defaults = {str(doc["name"]): doc["parameters"].get("properties") or {} for doc in entry.all_functions}
    made = (parse_ground_truth_call(text, entry) for step in turn.made for text in step)
    invented = 0
    for call in made:
        if call is not None and call.name in asked and call.name in defaults:
            for name, value in call.arguments.items():
                default = (defaults[call.name].get(name) or {}).get("default")
                invented += name not in asked[call.name] and value not in (None, "", [], default)
    return invented


def _call(text: str) -> str:
    """A call with its arguments in a fixed order."""
    try:
        call = split_call(text)
    except CallRefused:
        return text
    return text if call is None else f"{call.name}{call.args}{sorted(call.kwargs.items())}"


def _turn(number: int, turn: TurnRecord, early: int, invented: int, call_cost: float) -> TurnGrade:
    made, due = sum(map(len, turn.made)), len(turn.expected)
    if not turn.expected:
        return TurnGrade(number, 0.0 if made else None)
    state, response = turn.shares
    economy = 1 / (1 + call_cost * (max(0, made - due, early) + invented) / due) ** 2
    if turn.wrong is None:
        return TurnGrade(number, economy, state, response)
    known = [share for share in (state, response) if share is not None]
    if not made or not known:
        return TurnGrade(number, 0.0, state, response)
    return TurnGrade(number, MOST_PARTIAL * sum(known) / len(known) * economy, state, response)
