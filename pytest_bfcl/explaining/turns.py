"""The text of a failed conversation: expected and actual calls, the state, the missing results.

Made for a terminal of 100 columns: one call a line, long ones wrapped, problems marked with ``<--``. This module
decides nothing; it only words the verdict's detail and the transcript.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_bfcl.checkers.details import EndDetails, ObtainedDetails, QuietTurnDetails, StateDetails, TurnDetails
from pytest_bfcl.checkers.entries import STEP_LIMIT, is_error, step_calls, turn_calls
from pytest_bfcl.checkers.state import ABSENT
from pytest_bfcl.explaining.facts import value_text
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.plain_text import clean, cut, parted

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Step, Transcript

WIDTH = 86
"""Characters of a text after its label; with the label a line has at most 100."""
MAX_CALLS = 12
MAX_CALL_CHARS = 3 * WIDTH
MAX_EARLIER = 5
MAX_UNDECODED = 4

Line = tuple[str, str]


def request_lines(place: str, words: str, max_lines: int | None = 4) -> list[Line]:
    """The user's words, wrapped."""
    lines = textwrap.wrap(place + words, WIDTH, max_lines=max_lines, placeholder=" …", break_on_hyphens=False)
    return [("request" if number == 0 else "", line) for number, line in enumerate(lines)]


def state_lines(entry: Entry, transcript: Transcript, details: StateDetails) -> list[Line]:
    """An unexpected state: the calls, earlier calls that may be the cause, the differences."""
    lines = [*_calls(entry, transcript, details), *_earlier(entry, transcript, details)]
    lines.append(("state", f"{details.class_name or ''} differs after this turn:"))
    for path, values in (details.difference or {}).items():
        if not isinstance(values, Mapping):
            lines += _wrapped("", f"… {values}")
            continue
        name = clean(str(path))
        expected, made = parted(_state_value(values.get("expected")), _state_value(values.get("called")), WIDTH - 14)
        short = f"{name}: expected {expected}, is {made}"
        if len(short) <= WIDTH:
            lines.append(("", short))
        else:
            lines += [("", cut(name, WIDTH)), ("", f"    expected  {expected}"), ("", f"    is        {made}")]
    return lines


def result_lines(entry: Entry, transcript: Transcript, details: ObtainedDetails) -> list[Line]:
    """Missing results, each with the call that gives it."""
    lines = [*_calls(entry, transcript, details), *_earlier(entry, transcript, details)]
    missing, behind = details.missing or [], details.missing_calls or []
    for number, (call, result) in enumerate(zip(behind, missing, strict=False)):
        if number == MAX_CALLS:
            lines.append(("", f"… and {len(missing) - MAX_CALLS} more"))
            break
        lines += _wrapped("missing", f"the result of {clean(_spaced(str(call)))}", 2)
        lines.append(("", "    -> " + cut(clean(str(result)), WIDTH - 7)))
    return lines


def empty_turn_lines(entry: Entry, transcript: Transcript, details: TurnDetails) -> list[Line]:
    """A turn without a call that decodes: the expected calls, and the reply."""
    return _calls(entry, transcript, details)


def quiet_turn_lines(entry: Entry, transcript: Transcript, details: QuietTurnDetails) -> list[Line]:
    """Calls in a turn that should have none, and the reason."""
    lines = _wrapped("expected", f"no call: {why_quiet(entry, details)}")
    return [*lines, *_listed("called", [(call, "") for call in _texts(details.called)])]


def why_quiet(entry: Entry, details: QuietTurnDetails) -> str:
    """Why no call is expected in a turn."""
    turn = details.turn
    if turn is not None and turn + 1 in entry.missed_function:
        names = ", ".join(str(document.get("name")) for document in entry.missed_function[turn + 1])
        return f"{names} is only offered in the next turn"
    return "something the request needs is only said in the next turn"


def forced_lines(entry: Entry, transcript: Transcript, details: EndDetails) -> list[Line]:
    """A conversation that ended too early: its progress, and the calls that its last turn repeated."""
    lines: list[Line] = [("expected", str(details.expected))]
    if not transcript.turns:
        return [*lines, ("called", "no turn at all")]
    last = transcript.turns[-1]
    count = len(turn_calls(last, transcript))
    number = len(transcript.turns)
    if count <= STEP_LIMIT and not transcript.forced_quit:
        ended = f"the conversation ended after turn {number}"
        return [*lines, ("called", f"{details.called}: {ended}")]
    lines += _wrapped("called", f"{details.called}: turn {number} still called something in step {count}")
    made = [call for step in turn_calls(last, transcript) for call in step]
    runs: list[list[Any]] = []
    for call in made:
        if runs and runs[-1][0] == call:
            runs[-1][1] += 1
        else:
            runs.append([call, 1])
    shown = [(call, f"{times} times" if times > 1 else "") for call, times in runs]
    left_out = len(shown) - 6
    return [*lines, *_listed("", [*shown[:2], ("…", f"{left_out} more"), *shown[-4:]] if left_out > 1 else shown)]


class ShownCall(NamedTuple):
    """A call of a turn as text, its problem, and its result if that helps."""

    text: str
    mark: str = ""
    result: str = ""


class ComparedTurn(NamedTuple):
    """The expected and actual calls of a turn."""

    due: list[ShownCall]
    made: list[ShownCall]


def compare_turn(entry: Entry, details: TurnDetails) -> ComparedTurn:
    """The failed turn; a result is shown for calls that are wrong, that failed, or whose result was expected."""
    expected, made = _texts(details.expected), _texts(details.called)
    results = details.results or {}
    behind = details.missing_calls if isinstance(details, ObtainedDetails) else None
    missing = {_key(entry, str(call)) for call in behind or ()}
    marks_expected, marks_made = _marks(entry, expected, made)
    shown: list[ShownCall] = []
    for number, call in enumerate(made):
        result = str(results.get(str(number), ""))
        telling = number in marks_made or is_error(result) or _key(entry, call) in missing
        shown.append(ShownCall(call, marks_made.get(number, ""), result if telling else ""))
    due = [ShownCall(call, marks_expected.get(number, "")) for number, call in enumerate(expected)]
    return ComparedTurn(due, shown)


def _texts(calls: object) -> list[str]:
    return [str(call) for call in calls] if isinstance(calls, list) else []


def _calls(entry: Entry, transcript: Transcript, details: TurnDetails) -> list[Line]:
    """Expected and made calls of the turn; those without a counterpart are marked, failed ones show their error."""
    turn = compare_turn(entry, details)
    shown: list[tuple[str, str]] = []
    for call in turn.made:
        shown.append((call.text, call.mark))
        if call.result:
            shown.append((f"    -> {cut(call.result, WIDTH - 8)}", ""))
    lines = [*_listed("expected", [call[:2] for call in turn.due]), *_listed("called", shown)]
    for said, last_words in undecoded_steps(transcript, details):
        lines += _wrapped("then said" if last_words else "undecoded", said, 2)
    return lines


def _marks(entry: Entry, expected: Sequence[str], made: Sequence[str]) -> tuple[dict[int, str], dict[int, str]]:
    """The problems of a turn's calls by position: missing expected ones, and unexpected ones."""
    lacking, extra = _unmatched(entry, expected, made)
    partners = _partners(entry, expected, made, lacking, extra)
    marks = dict.fromkeys(extra, "not expected")
    for number, partner in partners.items():
        marks[number] = _argument_difference(entry, made[number], expected[partner])
    return {number: "not called" for number in lacking if number not in partners.values()}, marks


def _listed(label: str, calls: Sequence[tuple[str, str]]) -> list[Line]:
    """Calls, one a line, with their marks; of very many only the marked ones."""
    if not calls:
        return [(label, "(no call)")]
    if len(calls) > MAX_CALLS:
        chosen = [pair for pair in calls if pair[1]][:MAX_CALLS] or list(calls[:MAX_CALLS])
        calls = [*chosen, (f"… and {len(calls) - len(chosen)} more", "")]
    lines: list[Line] = []
    for text, mark in calls:
        lines += _marked(label if not lines else "", text, mark)
    return lines


def _marked(label: str, text: str, mark: str) -> list[Line]:
    indent = " " * (len(text) - len(text.lstrip()))
    lines = _wrapped(label, cut(clean(_spaced(text.lstrip())), MAX_CALL_CHARS), 3, indent)
    if mark:
        name, last = lines[-1]
        if len(last) + len(mark) + 6 <= WIDTH:
            lines[-1] = (name, f"{last}  <-- {mark}")
        else:
            lines += _wrapped("", f"<-- {mark}", 3, indent + "    ")
    return lines


def _spaced(call: str) -> str:
    """A plain call with a space after each comma, so that it can be wrapped; any other text unchanged."""
    from pytest_bfcl.simulators import split_call

    parsed = split_call(call)
    if parsed is None or len(call) > 2_000:
        return call
    parts = [*map(repr, parsed.args), *(f"{name}={value!r}" for name, value in parsed.kwargs.items())]
    return f"{parsed.name}({', '.join(parts)})"


def _wrapped(label: str, text: str, most: int = 3, indent: str = "") -> list[Line]:
    pieces = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        max_lines=most,
        placeholder=" …",
        break_on_hyphens=False,
    )
    return [(label if number == 0 else "", piece) for number, piece in enumerate(pieces or [""])]


def undecoded_steps(transcript: Transcript, details: TurnDetails) -> list[tuple[str, bool]]:
    """The text of the turn's steps that did not decode (each is dropped and ends its turn). Also whether it is the
    expected last message after calls. At most `MAX_UNDECODED`.
    """
    turn = details.turn
    if turn is None or turn >= len(transcript.turns):
        return []
    steps = transcript.turns[turn].steps
    found: list[tuple[str, bool]] = []
    for number, step in enumerate(steps):
        said = _words_of(step)
        if said and len(found) < MAX_UNDECODED and step_calls(step, transcript) is None:
            found.append((said, number == len(steps) - 1 and number > 0 and not step.reply.tool_calls))
    return found


def _words_of(step: Step) -> str:
    """A reply without a call, as short text."""
    if step.reply.tool_calls:
        return "; ".join(f"{clean(call.name)}({clean(call.arguments[:WIDTH])})" for call in step.reply.tool_calls[:3])
    return value_text(step.reply.text, 2 * WIDTH) if step.reply.text else ""


def _earlier(entry: Entry, transcript: Transcript, details: TurnDetails) -> list[Line]:
    """Calls of earlier turns that may have changed something outside the ground truth: the likely cause."""
    lines: list[Line] = []
    for number, call, due in earlier_calls(entry, transcript, details.turn):
        if len(lines) >= MAX_EARLIER:
            return [*lines, ("", "…")]
        note = "" if due else ", where no call was due"
        shown = cut(clean(_spaced(call)), 2 * WIDTH)
        lines += _wrapped("before" if not lines else "", f"in turn {number + 1}{note}: {shown}", 3)
    return lines


def earlier_calls(entry: Entry, transcript: Transcript, turn: int | None) -> Iterator[tuple[int, str, bool]]:
    """Earlier calls that write and are not in the ground truth: turn, text, whether a call was expected in that
    turn."""
    if turn is None:
        return
    for number, (made, wanted) in enumerate(zip(transcript.turns[:turn], entry.possible_answer or [], strict=False)):
        calls = [call for step in turn_calls(made, transcript) for call in step]
        _, extra = _unmatched(entry, list(map(str, wanted)), calls)
        for index in extra:
            if _writes(entry, calls[index]):
                yield number, calls[index], bool(wanted)


def _writes(entry: Entry, call: str) -> bool:
    from pytest_bfcl.simulators import simulator_class

    said = call.partition("(")[0].strip()
    name = entry.renames.own_tool(said) if entry.renames else said
    for class_name in entry.involved_classes:
        try:
            simulator = simulator_class(class_name)
        except UsageError:
            continue
        if name is not None and simulator.offers_tool(name):
            return simulator.writes(name)
    return False


def _unmatched(entry: Entry, expected: Sequence[str], made: Sequence[str]) -> tuple[list[int], list[int]]:
    """Positions of missing expected calls, and of unexpected calls (ignoring spelling)."""
    open_keys: dict[str, list[int]] = {}
    for number, call in enumerate(expected):
        open_keys.setdefault(_key(entry, call), []).append(number)
    extra: list[int] = []
    for number, call in enumerate(made):
        waiting = open_keys.get(_key(entry, call))
        if waiting:
            waiting.pop(0)
        else:
            extra.append(number)
    return sorted(number for waiting in open_keys.values() for number in waiting), extra


def _partners(
    entry: Entry, expected: Sequence[str], made: Sequence[str], lacking: Sequence[int], extra: Sequence[int]
) -> dict[int, int]:
    """Actual → expected position of calls of one function that differ in their arguments."""
    left = list(lacking)
    found: dict[int, int] = {}
    for number in extra:
        name = made[number].partition("(")[0]
        partner = next((other for other in left if expected[other].partition("(")[0] == name), None)
        if partner is not None and _arguments(entry, made[number]) is not None:
            left.remove(partner)
            found[number] = partner
    return found


def _argument_difference(entry: Entry, made: str, expected: str) -> str:
    """The arguments in which two calls of one function differ."""
    mine, wanted = _arguments(entry, made) or {}, _arguments(entry, expected) or {}
    parts = list(_differing(mine, wanted))
    return "; ".join(parts[:3]) + ("; …" if len(parts) > 3 else "") if parts else "written differently"


def _differing(mine: Fields, wanted: Fields) -> Iterator[str]:
    for name in [*wanted, *(name for name in mine if name not in wanted)]:
        if name not in mine:
            yield f"{name} is left out, expected {value_text(wanted[name], 50)}"
        elif name not in wanted:
            yield f"{name} is not expected"
        elif repr(mine[name]) != repr(wanted[name]):
            here, there = parted(value_text(mine[name], 4_000), value_text(wanted[name], 4_000), 50)
            yield f"{name} is {here}, expected {there}"


def _key(entry: Entry, call: str) -> str:
    arguments = _arguments(entry, call)
    if arguments is None:
        return call.strip()
    return f"{call.partition('(')[0].strip()} {sorted((name, repr(value)) for name, value in arguments.items())}"


def _arguments(entry: Entry, call: str) -> Parsed | None:
    """The arguments of a plain call by name; ``None`` if the text is no plain call, or positions have no names."""
    from pytest_bfcl.simulators import split_call

    parsed = split_call(call)
    if parsed is None:
        return None
    names: list[str] = []
    for document in entry.all_functions:
        if document.get("name") == parsed.name:
            names = list((document.get("parameters") or {}).get("properties") or {})
    if len(parsed.args) > len(names):
        return None
    return {**dict(zip(names, parsed.args, strict=False)), **parsed.kwargs}


def _state_value(value: object) -> str:
    return ABSENT if value == ABSENT else value_text(value, 4_000)
