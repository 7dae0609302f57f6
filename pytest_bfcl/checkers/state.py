"""Judges multi-turn entries: runs the conversation's calls and the ground truth's, turn by turn.

Both run on fresh simulators (multi_turn spec §4); they are discarded after judging. Corrected rules C16 (step limit in
the last turn) and C17 (calls in quiet turns) are switched by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.agentic import WEB, RecordedWeb, recorded_results
from pytest_bfcl.checkers.corrected import OFFICIAL, RuleSet
from pytest_bfcl.checkers.details import EndDetails, ObtainedDetails, QuietTurnDetails, StateDetails, TurnDetails, plain
from pytest_bfcl.checkers.entries import calls_behind, is_error, missing_results, ran_away, turn_calls, was_forced
from pytest_bfcl.failures import BenchmarkError, HarnessError, Reason, UsageError, Verdict
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import parted
from pytest_bfcl.transcript import CALLS_A_STEP, wire_name
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.simulators import CallExecutor
    from pytest_bfcl.transcript import Transcript


Kind = Literal["own", "reference"]
Web = Mapping[tuple[str, str], list[str]]
"""Recorded results of the web tools, by tool and arguments."""

SHOWN_CALLS = 40
SHOWN_RESULTS = 10
SHOWN_CHARS = 300
"""Limits of a verdict's detail: calls and results of a failed turn, characters of a result."""


class WrongTurn(NamedTuple):
    """The rule that a turn breaks."""

    reason: Reason
    details: TurnDetails


@dataclass(slots=True)
class TurnRecord:
    """The result of one turn: calls (by step) with their results, expected ones, and the problem, if any.

    ``shares`` of state and response, if `replay` computed them; ``None`` if there is nothing to compare.
    """

    made: list[list[str]]
    expected: list[str]
    wrong: WrongTurn | None = None
    results: list[str] = field(default_factory=list)
    quiet_calls: list[str] = field(default_factory=list)
    quiet_offence: list[str] = field(default_factory=list)
    shares: tuple[float | None, float | None] = (None, None)


@dataclass(slots=True)
class StateRecord:
    """All turns of a conversation replayed with the ground truth; gives verdicts.

    ``expected_calls``: number of ground-truth calls of each turn, also of turns that were not reached.
    ``counts_differ``: the conversation has another number of turns than the ground truth.
    """

    turns: list[TurnRecord]
    expected_calls: list[int]
    made_turns: int
    forced: bool
    ran_away: bool

    @property
    def expected_turns(self) -> int:
        """Turns of the ground truth."""
        return len(self.expected_calls)

    @property
    def counts_differ(self) -> bool:
        """Whether turns are missing, as after a forced end."""
        return self.made_turns != self.expected_turns

    def verdict(self, rules: RuleSet = OFFICIAL) -> Verdict:
        """The verdict under the given rules: the first failing turn decides (spec §4.1)."""
        if self.counts_differ or self.ran_away or ("C16" in rules and self.forced):
            end = EndDetails(expected=f"{self.expected_turns} turns", called=f"{self.made_turns} turns")
            if self.counts_differ:
                end.last_turn = max(self.made_turns - 1, 0)
            else:
                end.turn = self.made_turns - 1
            return Verdict.wrong(reasons.FORCED_END, end)
        for number, turn in enumerate(self.turns):
            if "C17" in rules and turn.quiet_offence:
                quiet = QuietTurnDetails(turn=number, expected="no call", called=turn.quiet_offence[:SHOWN_CALLS])
                return Verdict.wrong(reasons.QUIET_TURN, quiet)
            if (wrong := self.wrong_in(number)) is not None:
                return Verdict.wrong(*wrong)
        return Verdict.passed()

    def wrong_in(self, number: int) -> WrongTurn | None:
        """The rule that a turn breaks, with all details; also for turns after the one that decided."""
        turn = self.turns[number]
        if turn.wrong is None:
            return None
        details = turn.wrong.details
        details.turn, details.expected = number, turn.expected[:SHOWN_CALLS]
        details.called = [call for step in turn.made for call in step][:SHOWN_CALLS]
        if results := _telling_results(turn):
            details.results = results
        return turn.wrong

    def extra(self) -> Parsed:
        """Figures beyond the reference, turn by turn; none enters a score.

        ``turn_credit``: 1 for a turn that is right on its own, also after a wrong one (a state that stays wrong is
        wrong there too); 0 for turns not reached, ended by the step limit, or quiet with calls that C17 counts.
        ``steps`` and ``calls``: replies with calls, and their calls, to compare with ``ground_truth_calls``. Quiet
        turns expect no call.
        """
        credit = [int(turn.wrong is None and not turn.quiet_offence) for turn in self.turns]
        if self.forced and credit:
            credit[-1] = 0
        credit += [0] * (self.expected_turns - len(credit))
        return {
            "turn_credit": credit,
            "turn_credit_share": sum(credit) / len(credit) if credit else None,
            "steps": [len(turn.made) for turn in self.turns],
            "calls": [sum(map(len, turn.made)) for turn in self.turns],
            "ground_truth_calls": self.expected_calls,
            "quiet_turns": self.expected_calls.count(0),
            "quiet_turns_with_calls": sum(bool(turn.quiet_calls) for turn in self.turns),
            "calls_in_quiet_turns": sum(len(turn.quiet_calls) for turn in self.turns),
        }


def _telling_results(turn: TurnRecord) -> dict[str, str]:
    """Number of a call → its (shortened) result text, where that explains the failure.

    Errors, and results of functions whose expected result is missing.
    """
    details = turn.wrong.details if turn.wrong is not None else None
    behind = details.missing_calls if isinstance(details, ObtainedDetails) else None
    missing = {str(call).partition("(")[0] for call in behind or ()}
    calls = [call for step in turn.made for call in step]
    told: dict[str, str] = {}
    for number, (call, result) in enumerate(zip(calls[:SHOWN_CALLS], turn.results, strict=False)):
        if len(told) < SHOWN_RESULTS and (is_error(result) or call.partition("(")[0] in missing):
            told[str(number)] = result[:SHOWN_CHARS]
    return told


def replay(entry: Entry, transcript: Transcript, kind: Kind = "own", *, shares: bool = False) -> StateRecord:
    """Run the conversation's calls and the ground truth's on two fresh sets of simulators.

    Gives an outcome for every turn, also after a failed one; with ``shares`` also the right share of it. Raises
    `HarnessError` for unusable data of the entry, `UsageError` for simulators that are not installed.
    """
    truth = _ground_truth(entry)
    away = ran_away(transcript)
    record = StateRecord([], [len(calls) for calls in truth], len(transcript.turns), was_forced(transcript), away)
    offered = (str(document.get("name", "")) for document in entry.all_functions)
    names = {wire_name(name): name for name in offered if wire_name(name) != name}
    web: Web | None = None
    if WEB in entry.involved_classes:  # the results of the web tools in the conversation
        web = recorded_results(entry, transcript, executor_of(entry, kind, names))
    mine = executor_of(entry, kind, names, web)
    theirs = executor_of(entry, kind, {}, web)
    obtained: list[str] = []
    for number, (turn, expected) in enumerate(zip(transcript.turns, truth, strict=False)):
        made = turn_calls(turn, transcript)
        calls = [call for step in made for call in step[:CALLS_A_STEP]]
        told = TurnRecord(made, expected, results=mine.execute_all(calls))
        obtained += told.results
        results = theirs.execute_all(expected)
        if expected:
            told.wrong = _judge_turn(mine, theirs, made, expected, results, obtained)
            if shares:
                obtained_share = 1 - len(missing_results(results, obtained)) / len(results)
                told.shares = _state_share(mine, theirs, expected), obtained_share
        else:
            told.quiet_calls = calls
            # C17 counts all calls in the designed turn, in inherited ones those that write.
            designed = is_designed(entry, number)
            told.quiet_offence = [call for call in calls if designed or mine.writes(call)]
        record.turns.append(told)
    return record


def _judge_turn(
    mine: CallExecutor,
    theirs: CallExecutor,
    made: Sequence[Sequence[str]],
    expected: Sequence[str],
    results: Sequence[str],
    obtained: Sequence[str],
) -> WrongTurn | None:
    """The problem of a turn with expected calls: no call, then the state, then the results."""
    if not made:
        return WrongTurn(reasons.EMPTY_TURN, TurnDetails())
    for class_name, wanted in theirs.simulators.items():
        difference = state_difference(mine.simulators[class_name].public_state(), wanted.public_state())
        if difference:
            return WrongTurn(reasons.STATE, StateDetails(class_name=class_name, difference=difference))
    missing = missing_results(results, obtained)
    if missing:
        behind = calls_behind(missing, expected, results)
        return WrongTurn(reasons.RESULTS, ObtainedDetails(missing=list(missing), missing_calls=list(behind)))
    return None


def _state_share(mine: CallExecutor, theirs: CallExecutor, expected: Sequence[str]) -> float | None:
    """The share of classes with the right state, of those that expected calls write to or that differ."""
    at_stake = right = 0
    for class_name, wanted in theirs.simulators.items():
        differs = bool(state_difference(mine.simulators[class_name].public_state(), wanted.public_state()))
        tools = (theirs.tool_name(call.partition("(")[0]) for call in expected)
        if differs or any(
            wanted.offers(str(tool)) and theirs.writes(call) for tool, call in zip(tools, expected, strict=True)
        ):
            at_stake += 1
            right += not differs
    return right / at_stake if at_stake else None


def is_designed(entry: Entry, number: int) -> bool:
    """Whether a quiet turn is the entry's own (function held out, parameter missing), not inherited from its base.

    Held-out functions name the turn after it. For a missing parameter it is the first quiet turn (inherited ones of the
    official data come later).
    """
    if entry.missed_function:
        return number + 1 in entry.missed_function
    if entry.category != "multi_turn_miss_param":
        return False
    return next((n for n, turn in enumerate(_ground_truth(entry)) if not turn), None) == number


def _ground_truth(entry: Entry) -> list[list[str]]:
    truth = entry.possible_answer
    if not isinstance(truth, list) or not all(isinstance(turn, list) for turn in truth):
        raise HarnessError(HarnessTrouble.DATA, f"{entry.id}: the ground truth must be a list of turns of call texts")
    return [[str(call) for call in turn] for turn in truth]


def executor_of(
    entry: Entry, kind: Kind = "own", names: Mapping[str, str] | None = None, web: Web | None = None
) -> CallExecutor:
    """Fresh simulators of an entry in its initial state. Raises `HarnessError` if one cannot be loaded.

    ``web``: recorded results, the only source of the web tools here.
    """
    from pytest_bfcl.simulators import CallExecutor, create_simulator

    simulators = {}
    for class_name in entry.involved_classes:
        try:
            simulators[class_name] = create_simulator(
                class_name,
                entry.initial_config.get(class_name),
                long_context=entry.row.long_context,
                texts=entry.long_context_texts,
                sentences=(entry.sentences or {}).get(class_name),
                kind=kind,
                **({"provider": RecordedWeb(web)} if class_name == WEB and web is not None else {}),
            )
        except (UsageError, BenchmarkError):
            raise
        except Exception as error:
            raise HarnessError(
                HarnessTrouble.SIMULATOR, f"{entry.id}: {class_name} could not be loaded: {error}"
            ) from error
    return CallExecutor(simulators, names, entry.renames)


MAX_DIFFERENCES = 12
MAX_DEPTH = 12
MAX_SHOWN = 300
"""Shown characters of a differing text, around the difference."""
ABSENT = "(absent)"


def state_difference(mine: Fields, wanted: Fields) -> Parsed:
    """Path → ``{expected, called}`` for every wanted attribute whose value is not equal; empty when all are.

    Only attributes of ``wanted`` are compared, with Python's ``==`` (multi_turn spec §4.2 e). At most
    `MAX_DIFFERENCES` leaves are shown; ``"…"`` then says how many attributes differ.
    """
    differing = [name for name in wanted if not _equal(mine.get(name, ABSENT), wanted[name])]
    found: Parsed = {}
    for name in differing:
        for path, expected, called in _leaves(name, wanted[name], mine.get(name, ABSENT), 0):
            if len(found) >= MAX_DIFFERENCES:
                found["…"] = f"{len(differing)} attributes differ: {', '.join(differing[:20])}"
                return found
            if isinstance(expected, str) and isinstance(called, str):
                expected, called = parted(expected, called, MAX_SHOWN)
            found[path] = {"expected": _short_leaf(expected), "called": _short_leaf(called)}
    return found


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except RecursionError:
        return False


def _leaves(path: str, wanted: object, mine: object, depth: int) -> Iterator[tuple[str, Any, Any]]:
    """Paths under ``path`` where the two values differ, as ``(path, wanted, mine)``."""
    wanted, mine = _opened(wanted, mine)
    if depth < MAX_DEPTH and isinstance(wanted, Mapping) and isinstance(mine, Mapping):
        for key in [*wanted, *(key for key in mine if key not in wanted)]:
            one, other = wanted.get(key, ABSENT), mine.get(key, ABSENT)
            if not _equal(other, one):
                yield from _leaves(f"{path}.{str(key)[:60]}", one, other, depth + 1)
        return
    if depth < MAX_DEPTH and isinstance(wanted, list) and isinstance(mine, list):
        for index in range(max(len(wanted), len(mine))):
            one = wanted[index] if index < len(wanted) else ABSENT
            other = mine[index] if index < len(mine) else ABSENT
            if not _equal(other, one):
                yield from _leaves(f"{path}[{index}]", one, other, depth + 1)
        return
    yield path, wanted, mine


def _opened(wanted: object, mine: object) -> tuple[Any, Any]:
    """Objects of one class as their public attributes, if these show the difference."""
    if type(wanted) is type(mine) and hasattr(wanted, "__dict__"):
        parts = [{k.lstrip("_"): v for k, v in vars(each).items() if k != "parent"} for each in (wanted, mine)]
        if not _equal(parts[1], parts[0]):
            return parts[0], parts[1]
    return wanted, mine


def _short_leaf(value: object) -> Any:
    """A leaf for readers: plain values (shortened), anything else as short text."""
    if hasattr(value, "__dict__"):
        try:
            return str(value)[:MAX_SHOWN]
        except RecursionError:
            return f"<{type(value).__name__}>"
    shown = plain(value)
    return shown if not isinstance(shown, str) or len(shown) <= MAX_SHOWN else shown[:MAX_SHOWN] + "…"
