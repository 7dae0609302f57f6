"""Differences between a conversation's calls and the expected ones, at every possible place. Places without a
difference count as well, because only they show whether all of a kind are affected.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from pytest_bfcl.checkers import reasons
from pytest_bfcl.endpoints.faults import is_overflow
from pytest_bfcl.extensions.causes.calls import (
    Gap,
    calls_inside,
    is_earlier,
    joined_calls,
    modules_of,
    of_calls,
    shapes_of,
    strange_call,
)
from pytest_bfcl.extensions.causes.cases import Case, Made, Turn
from pytest_bfcl.extensions.causes.places import Context, Features, Fix, Found, Place, Why, drop_all, restore
from pytest_bfcl.extensions.causes.raw import lost_piece
from pytest_bfcl.extensions.causes.relations import MOST, repeated, script_of
from pytest_bfcl.extensions.causes.written import OWN, calls_in, calls_of_text, what_is_around
from pytest_bfcl.formats.thinking import strip
from pytest_bfcl.transcript import Reply

REFUSED = re.compile(
    r"\b(?:can(?:no|')?t|unable to|not able to|won't|will not)\b(?! wait).{0,40}\b"
    r"(?:help|assist|do that|comply|provide|fulfil)|\bas an ai\b.{0,60}\b(?:not|n't|unable)"
    r"|against my (?:policy|guidelines)", re.I,
)  # fmt: skip
ERROR = re.compile(
    r"^\s*<(?:!doctype|html|head)\b|^\s*\{\s*\"(?:error|errors|detail|status_code)\"|\bHTTP(?:/\S+| error)? [45]\d\d\b"
    r"|\brate limit|too many requests|\b(?:request|gateway|connection|upstream|server)\w* (?:has )?timed? ?out"
    r"|(?:internal server|connection|upstream|gateway|server) error\b|bad gateway"
    r"|service (?:is )?(?:temporarily )?unavailable|\boverloaded\b|connection (?:refused|reset|closed)|out of memory"
    r"|quota (?:exceeded|reached)|no healthy upstream"
    r"|Traceback \(most recent call last\)|\b\w+(?:Error|Exception): ", re.I,
)  # fmt: skip
"""Words of servers and proxies, not of models."""
LEAST_LETTERS, LEAST_SIGNS, LEAST_WORDS, FOREIGN = 20, 6, 3, 0.8
"""Least letters and words of a reworded text, and the share of them that occurs nowhere else."""
_ENDINGS = {
    reasons.REPLY_LENGTH.name: "length",
    reasons.REPLY_FILTERED.name: "filtered",
    reasons.REPLY_OVERFLOW.name: "overflow",
}


LEAST_MIXED, MIXED, AGAIN = 5, 0.05, 3
"""Least number and share of entries with replies to other requests before a server counts as mixing them up; how often
one reply comes before it counts as repeated."""


LEAST_TALKS = 3
"""Conversations without a word from which on calls are forced."""


class Elsewhere:
    """The content of a run's other requests: offered names, answering calls, words. ``gap`` is the piece that most
    broken argument texts lack, if it is the same.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self.gap = _gap(cases)
        self._cases = cases
        self._names: set[str] = set()
        self._answers: defaultdict[str, list[tuple[str, Case]]] = defaultdict(list)
        for case in cases:
            self._names.update(case.wires)
            for number, turn in enumerate(case.turns):
                if (answer := _answer((due.name, due.said) for due in turn.due)) is not None:
                    self._answers[answer].append((_question(case, number), case))
        self._whole: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for case in cases:
            if len(case.turns) > 1:
                self._whole[_expected(case)][case.entry.category] = None
        made = [(case, turn) for case in cases for turn in case.turns if any(turn.steps)]
        strange = [(case, turn) for case, turn in made if not case.passed and self._has(case, turn)]
        times = {id(case): case.times for case, _ in made}
        self._mixed = len({id(case) for case, _ in strange}) >= max(LEAST_MIXED, MIXED * sum(times.values()))
        self._said = Counter(_said(turn) for _, turn in strange)

    @cached_property
    def forced(self) -> bool:
        """Whether no reply of several conversations is without a call, though each turn should end with one."""
        offered = [case for case in self._cases if case.wires]
        steps = [step for case in offered for turn in case.transcript.turns for step in turn.steps]
        talks = sum(case.entry.row.multi_step for case in offered)
        return talks >= LEAST_TALKS and all(step.reply.tool_calls for step in steps)

    @cached_property
    def _words(self) -> set[str]:
        """All words of questions and tools."""
        tools = {str(each.get("name")): each for case in self._cases for each in case.entry.function}
        texts = (*(case.asked for case in self._cases), json.dumps(tools, ensure_ascii=False))
        return {word for text in texts for word in _words_of(text)}

    def is_foreign(self, text: str, case: Case) -> bool:
        """Whether a text has hardly any word of the run's questions and tools."""
        words = _words_of(text[:MOST])
        letters, script = sum(map(str.isalpha, text)), script_of(text)
        least = LEAST_LETTERS if script == "LATIN" else LEAST_SIGNS
        if letters < least or (script != "LATIN" and script == script_of(case.asked)):
            return False
        strange = len([each for each in words if each not in self._words])
        return script != "LATIN" or (len(words) >= LEAST_WORDS and strange >= FOREIGN * len(words))

    def twin_of(self, case: Case) -> str:
        """The category of another entry whose right answers, turn by turn, a wrong conversation has; empty without."""
        if case.passed or len(case.transcript.turns) < 2:
            return ""
        turns = case.turns[: len(case.transcript.turns)]
        made = [[(call.name, call.given) for step in turn.steps for call in step] for turn in turns]
        said = _conversation(made)
        return next(iter(self._whole.get(said, ())), "") if said != _expected(case) else ""

    def whose(self, case: Case, turn: Turn) -> Iterator[str]:
        """What may be said of the other request whose reply it is; an empty text where nothing is known."""
        answer = _answer((call.name, call.given) for call in turn.steps[0])
        others = [other for _, other in self._answers.get(answer or "", ())]
        orders = {other.order - case.order for other in others}
        known = (
            (self._said[_said(turn)] >= AGAIN, "the same one again and again"),
            (1 in orders, "that of the next entry"),
            (-1 in orders and 1 not in orders, "that of the entry before"),
            (any(other.wires.keys() == case.wires.keys() for other in others), "those of entries with the same tools"),
        )
        yield from [told for holds, told in known if holds] or [""]

    def has(self, case: Case, turn: Turn) -> bool:
        """Whether wrong calls of a turn belong to another request, in a run where that recurs.

        A damaged name may be one that another entry offers, and a mistake the answer to a question that is much alike.
        """
        return self._mixed and self._has(case, turn)

    def _has(self, case: Case, turn: Turn) -> bool:
        made = [call for step in turn.steps for call in step]
        if all(call.name in self._names and call.name not in case.wires for call in made):
            mine = [due.said.keys() for due in turn.due if due.said]
            return any((call.given or {}).keys() not in mine for call in made)  # else only the name is another one
        answer = _answer((call.name, call.given) for call in turn.steps[0])
        if answer is None or answer == _answer((due.name, due.said) for due in turn.due):
            return False
        asked = {_question(case, number) for number in range(len(case.turns))}
        return answer in self._answers and asked.isdisjoint(question for question, _ in self._answers[answer])


def _answer(calls: Iterable[tuple[str, object]]) -> str | None:
    """Calls as one text to compare; ``None`` if they are too short to be recognised."""
    told = list(calls)
    said = json.dumps(told, sort_keys=True, default=str)
    return said if sum(len(str(given)) for _, given in told) >= _KNOWN_AGAIN else None


def _said(turn: Turn) -> str:
    return str([(call.name, call.given) for call in turn.steps[0]])


def _expected(case: Case) -> str:
    return _conversation([[(due.name, due.said) for due in turn.due] for turn in case.turns])


def _conversation(turns: Iterable[Iterable[tuple[str, object]]]) -> str:
    """Calls turn by turn as one text to compare, without turns at the end that have none."""
    told = [list(turn) for turn in turns]
    while told and not told[-1]:
        told.pop()
    return json.dumps(told, sort_keys=True, default=str)


def _question(case: Case, turn: int) -> str:
    messages = case.entry.question[turn] if turn < len(case.entry.question) else []
    return " ".join(str(each.get("content")) for each in messages)


_OF_FORCED = frozenset(("undue", "earlier_again", "repeated_steps", "undue_call", "doubled"))
"""What calls look like that a server forces where none is expected."""
_KNOWN_AGAIN = 20
"""Characters of arguments from which equal calls are no accident."""


def places_of(case: Case, elsewhere: Elsewhere) -> Found:
    """Every place of a case. Never raises for a model's text."""
    found = Found(case, _features(case))
    last_ending = _ENDINGS.get(str(case.line.get("reason")))
    due_words = case.entry.row.checker == "irrelevance"
    if other := elsewhere.twin_of(case):
        why: Why = (("mixed_up", f"those of other entries, of {other}"),)
        found.places.append(Place("reply", "", {**found.features, "turn": 0}, why, _all_again(case)))
        return found
    over = not case.passed and len(case.transcript.turns) > len(case.turns)
    if over and (told := _twice(case)):
        about = {**found.features, "turn": 0}
        found.places.append(Place("reply", "", about, (("turns_over", told),), _all_again(case)))
        return found
    heard: set[str] = set()
    for number, turn in enumerate(case.turns):
        made = [call for step in turn.steps for call in step]
        later = {case.on_wire(str(each.get("name"))) for each in case.entry.missed_function.get(number, ())}
        about = {**found.features, "turn": number, "turn number": "odd" if number % 2 == 0 else "even"}
        several = case.entry.row.multi_step
        about |= {"nth turn": number + 1 if several else None, "last turn": several and number == len(case.turns) - 1}
        about |= _of_due(case, turn)
        about |= _of_first_reply(case, number)
        heard.update(_words_of(_question(case, number)))
        about["words asked"] = frozenset(heard)
        about["added tool"] = any(due.name in later for due in turn.due)
        ending = last_ending
        if not (ending and (number == _last_turn(case) or (turn.due and not made))):
            ending = "length" if _is_cut_short(case, turn, number) else None
        if ending and not case.passed:
            tail = [*(call.raw for call in made[-1:]), *([] if made else [_text(case, number)])]
            looped = next((piece for text in tail if ending == "length" and (piece := repeated(text))), "")
            found.places.append(_reply(turn, number, about, *([("repeating", looped)] if looped else [(ending, "")])))
        elif not turn.due:
            if made or due_words:
                fix = drop_all(number) if made else None
                key = "mixed_up" if fix and elsewhere.has(case, turn) else "undue"
                key = "earlier_again" if made and all(is_earlier(case, call, number) for call in made) else key
                strange = [("extra_call", call.name[:60]) for call in made[:1] if call.name not in case.wires]
                found.places.append(Place("undue", "", about, (*strange, (key, "")) if fix else (), fix))
        elif number and (before := _earlier(case, made, number)):
            found.places.append(_reply(turn, number, about, *before))
        elif made and (calls := joined_calls(case, made, turn.due)):
            found.places.append(Place("reply", "", about, (("calls_joined", ""),), restore(number, calls)))
        elif made and not case.passed and elsewhere.has(case, turn):
            why = tuple(("mixed_up", told) for told in elsewhere.whose(case, turn))
            found.places.append(_reply(turn, number, about, *why))
        elif (inside := calls_inside(case, made)) is not None:
            told, calls = inside
            found.places.append(Place("reply", "", about, (("call_inside", told),), restore(number, calls)))
        elif other := strange_call(case, made, turn.due):
            found.places.append(Place("reply", "", about, (("extra_call", other),), restore(number, turn.due)))
        elif not made:
            why, fix = _no_call(case, turn, number, elsewhere)
            about |= {"tool": _tool(case, turn), "later half": _is_late(case, turn)}
            of = Context(case, turn, number)
            found.places.append(Place("reply", "", about, why, fix, due=_told(turn), said=[], of=of))
        else:
            about |= {"tool": _tool(case, turn), "later half": _is_late(case, turn)}
            said = [(call.name, call.given) for call in made]
            of = Context(case, turn, number)
            found.places.append(Place("reply", "", about, due=_told(turn), said=said, of=of))
            found.places += of_calls(case, turn, number, {**about, "words asked": None}, elsewhere.gap)
        if (right := case.right_texts[number]) and turn.due:
            of = Context(case, turn, number)
            text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), _text(case, number, 1))
            found.places.append(Place("text", "", about, due=right, said=text, of=of))
    if elsewhere.forced:
        for place in found.differences:
            keys = {key for key, _ in place.candidates}
            if "extra_call" not in keys and not _OF_FORCED.isdisjoint(keys):
                place.candidates = (("forced", ""), *place.candidates)
    if _ends_early(found):
        missing = len(case.turns) - len(case.transcript.turns)
        for place in found.differences:  # of right turns
            place.candidates = (("turns_missing", f"{missing} of each" if missing > 0 else ""),)
    if over:
        about = {**found.features, "turn": len(case.turns)}
        found.places.append(Place("reply", "", about, (("turns_over", ""),), lambda draft: None))
    return found


def _is_cut_short(case: Case, turn: Turn, number: int) -> bool:
    """Whether a turn lacks calls because one of its replies reached the token limit."""
    steps = case.transcript.turns[number].steps if number < len(case.transcript.turns) else []
    made = [(call.name, call.given) for step in turn.steps for call in step]
    return any(step.reply.problem == "length" for step in steps) and made != _told(turn)


def _ends_early(found: Found) -> bool:
    """Whether a conversation lacks only its last turns."""
    wrong = {place.features["turn"] for place in found.differences}
    right = {place.features["turn"] for place in found.places if place.level == "reply"} - wrong
    unasked = all(why == _NOT_ASKED for place in found.differences for why in place.candidates)
    return bool(wrong) and unasked and max(right, default=-1) < min(wrong)


_NOT_ASKED = ("not_asked", "")
_ESCAPED = re.compile(r"\\u(?!d[89a-f])([0-9a-f]{4})", re.I)
"""A letter as JSON and Python may write it in any notation."""


def _text(case: Case, number: int, most: int | None = None) -> str:
    """The words of a turn's replies, or of the first ones."""
    steps = case.transcript.turns[number].steps if number < len(case.transcript.turns) else []
    return " ".join(step.reply.text or "" for step in steps[:most]).strip()


def _of_first_reply(case: Case, number: int) -> Features:
    """The prompt tokens of a turn's first reply, and the version of its server, where they are known."""
    steps = case.transcript.turns[number].steps if number < len(case.transcript.turns) else []
    reply = steps[0].reply if steps else Reply()
    return {"prompt": reply.input_tokens or None, "served": reply.served.fingerprint if reply.served else None}


def _told(turn: Turn) -> list[tuple[str, Any]]:
    """The calls of a turn, by names and arguments."""
    return [(each.name, each.said) for each in turn.due]


def _last_turn(case: Case) -> int:
    """The turn in which a conversation was cut off: the last that had begun."""
    return max(0, min(len(case.transcript.turns), len(case.turns)) - 1)


_LETTERS: Sequence[tuple[str, Callable[[str], bool]]] = (
    ("non-Latin letters", lambda each: each.isalpha() and ord(each) > 0x24F),
    ("letters beyond ASCII", lambda each: each.isalpha() and not each.isascii()),
    ("signs beyond ASCII", lambda each: not each.isascii()),
)


def _features(case: Case) -> Features:
    entry = case.entry
    asked = case.asked
    return {
        "category": entry.category,
        "group": entry.row.group,
        "tools": len(entry.function),
        "characters": len(asked) + len(str(entry.function)),
        "question": len(asked),
        "script": script_of(asked) or "LATIN",
        **{told: not asked.isascii() and any(map(least, asked)) for told, least in _LETTERS},
        "digits asked": any(map(str.isdigit, asked)),
        "quotes asked": not {"'", '"'}.isdisjoint(asked),
        "system": any(each["role"] == "system" for turn in entry.question for each in turn),
        "turns": "one turn" if not entry.row.multi_step else "several turns",
        "order": case.order,
        "turns due": len(case.turns) if entry.row.multi_step else None,
    }


def _twice(case: Case) -> str:
    """How a conversation of twice as many turns as are expected has each of them twice; empty for another one."""
    said = [
        [(call.name, call.arguments) for step in turn.steps for call in step.reply.tool_calls] or turn
        for turn in case.transcript.turns
    ]
    if len(said) != 2 * len(case.turns):
        return ""
    if said[::2] == said[1::2]:
        return "each turn twice"
    return "the whole conversation twice" if said[: len(case.turns)] == said[len(case.turns) :] else ""


def _all_again(case: Case) -> Fix:
    """Replace all turns by the expected calls."""

    def fix(draft: list[Turn]) -> None:
        for number, turn in enumerate(case.turns):
            restore(number, turn.due)(draft)

    return fix


def _tool(case: Case, turn: Turn) -> int:
    names = list(case.wires)
    return max((names.index(due.name) for due in turn.due if due.name in names), default=0)


def _earlier(case: Case, made: list[Made], number: int) -> Why:
    """Kinds of a turn with the calls of an earlier one: of the first, of the one before."""
    said = [(call.name, call.given) for call in made]
    kinds = (("turn_late", number - 1), ("restarted", 0))
    return tuple((key, "") for key, n in kinds if said and said == [(due.name, due.said) for due in case.turns[n].due])


def _of_due(case: Case, turn: Turn) -> Features:
    """The properties of the functions that a turn needs."""
    parameters = [case.properties(due.name) for due in turn.due]
    last, names = next(reversed(case.wires), ""), [due.name for due in turn.due]
    kinds = {str(each.get("type")) for one in parameters for each in one.values() if isinstance(each, dict)}
    return {
        "due": len(turn.due),
        "functions": frozenset(names),
        "modules": modules_of(case, names),
        "one function": len(turn.due) > 1 and len(set(names)) == 1,
        "arguments": max((len(due.said) for due in turn.due), default=0),
        "bare call": any(not due.said for due in turn.due),
        "last tool": len(case.wires) > 1 and any(due.name == last for due in turn.due),
        "not the last tool": len(case.wires) > 1 and any(due.name != last for due in turn.due),
        "parameters": max(map(len, parameters), default=0),
        "name length": max((len(due.name) for due in turn.due), default=0),
        "takes objects": not kinds.isdisjoint(("object", "dict")),
        "takes lists": not kinds.isdisjoint(("array", "list", "tuple")),
        **shapes_of(turn.due),
        "name signs": "with underscores" if any("_" in each for each in names) else "without underscores",
        "dotted": any("." in case.documented(each) for each in names),
        "has enums": any(isinstance(each, dict) and "enum" in each for one in parameters for each in one.values()),
    }


def _is_late(case: Case, turn: Turn) -> bool:
    """Whether a turn needs a tool in the later half of the offered ones."""
    return _tool(case, turn) >= max(1, len(case.wires) // 2)


def _reply(turn: Turn, number: int, about: Features, *why: tuple[str, str]) -> Place:
    return Place("reply", "", about, why, restore(number, turn.due))


def _words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]{2,}", text.casefold())


def _gap(cases: Sequence[Case]) -> Gap | None:
    """The piece that most broken argument texts of a run lack, if it is always at the same place."""
    found: Counter[Gap] = Counter()
    broken = 0
    for case in cases:
        for turn in () if case.passed else case.turns:
            made = [call for step in turn.steps for call in step]
            for call, due in zip(made, turn.due, strict=False):
                if call.given is None and call.raw:
                    broken += 1
                    piece = lost_piece(call.raw, due.said)
                    if piece is not None and piece[1] > 1 and piece[0] < len(call.raw):  # more than a sign or its end
                        found[piece] += 1
    if not found:
        return None
    ((begin, length), number), *_ = found.most_common()
    alike = sum(n for (_, size), n in found.items() if size == length)
    return (begin, length) if number >= LEAST_MIXED and alike >= broken / 2 else None


def _no_call(case: Case, turn: Turn, number: int, elsewhere: Elsewhere) -> tuple[Why, Fix]:
    """The reply's content in place of a call, and how to put the call there."""
    steps = case.transcript.turns[number].steps if number < len(case.transcript.turns) else []
    text, first = _text(case, number), _text(case, number, 1)
    thoughts = " ".join(step.reply.reasoning or "" for step in steps).strip()
    restored = restore(number, turn.due)
    if case.transcript.mode == "prompt":
        right, parted = case.right_texts[number], strip(first)
        if right and parted.reasoning and parted.answer.strip() == right:
            return (("thoughts_before", ""),), restored
        if right and (around := what_is_around(first, right)):
            return tuple(("text_around", told) for told in around), restored
        if (mended_text := calls_of_text(first, case)) is not None:
            key, told, calls = mended_text
            return ((key, told),), restore(number, calls)
    if '"parameters"' in text and any(str(each.get("description")) in text for each in case.entry.function):
        return (("tools_echoed", ""),), restored
    for said, key in ((text, "call_in_text"), (thoughts, "call_in_thoughts")):
        found = calls_in(said, case, turn.due) if said else None
        if found is not None:
            told, calls = found
            if told == OWN and _ends_with_question(text):
                return (("leave", ""),), restore(number, calls)
            if case.transcript.mode == "prompt" and key == "call_in_text":
                key, told = ("text_notation", told) if told == "ReAct" else ("text_own", "")
            return ((key, told),), restore(number, calls)
    if first and not strip(first).answer.strip():
        return (("thoughts", ""),), restored
    if not text or (len(steps) > 1 and not first):  # the first reply was due to call
        bare = [("bare_lost", "")] if steps and not any(due.said for due in turn.due) else []
        lost = [("first_lost", ""), ("last_lost", "")] if steps and not thoughts and len(turn.due) == 1 else []
        return (*bare, ("thoughts" if thoughts else "empty" if steps else "not_asked", ""), *lost), restored
    if len(text) >= LEAST_LETTERS and text in case.asked:
        return (("echo", ""),), restored
    edges = text if len(text) <= 2 * MOST else f"{text[:MOST]}\n{text[-MOST:]}"
    if is_overflow(text[:MOST]):
        return (("overflow", ""),), restored
    if ERROR.search(edges):
        return (("error_text", ""),), restored
    if piece := repeated(text):
        return (("repeating", piece),), restored
    if elsewhere.is_foreign(text, case):
        return (("foreign", ""),), restored
    if REFUSED.search(edges):
        return (("refused", ""),), restored
    asks = _ends_with_question(text) or text.count("?") > 1
    return (("asked", "") if asks else ("words", f"`{text[:40]}`"),), restored


def _ends_with_question(text: str) -> bool:
    return text.rstrip(" \n*)\"'").endswith("?")
