"""What a conversation's calls lack to be the ones that were due: differences at every place where one could be.

A place without a difference counts, too: only against those can be said that something happens to all of them.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from pytest_bfcl.checkers import reasons
from pytest_bfcl.extensions.causes.calls import calls_inside, is_first_again, of_calls
from pytest_bfcl.extensions.causes.cases import Case, Turn
from pytest_bfcl.extensions.causes.places import Features, Fix, Found, Place, drop_all, restore
from pytest_bfcl.extensions.causes.relations import script_of
from pytest_bfcl.extensions.causes.written import calls_in, calls_of_text

REFUSED = re.compile(
    r"\b(?:can(?:no|')?t|unable to|not able to|won't|will not)\b.{0,40}\b(?:help|assist|do that|comply|provide|fulfil)"
    r"|\bas an ai\b|against my (?:policy|guidelines)", re.I,
)  # fmt: skip
_ENDINGS = {
    reasons.REPLY_LENGTH.name: "length",
    reasons.REPLY_FILTERED.name: "filtered",
    reasons.REPLY_OVERFLOW.name: "overflow",
}


LEAST_MIXED, MIXED = 5, 0.05
"""Entries, and share of them, with replies to other requests before a server counts as mixed up."""


class Elsewhere:
    """What other requests of a run are about: the names they offer, and the calls that answer them."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._names: set[str] = set()
        self._answers: defaultdict[str, set[str]] = defaultdict(set)
        for case in cases:
            self._names.update(case.wires)
            for number, turn in enumerate(case.turns):
                if (answer := _answer((due.name, due.said) for due in turn.due)) is not None:
                    self._answers[answer].add(_question(case, number))
        made = [(case, turn) for case in cases for turn in case.turns if any(turn.steps)]
        strange = {id(case) for case, turn in made if not case.passed and self._has(case, turn)}
        self._mixed = len(strange) >= max(LEAST_MIXED, MIXED * len({id(case) for case, _ in made}))

    def has(self, case: Case, turn: Turn) -> bool:
        """Whether calls of a turn, wrong here, are those of another request, in a run where that recurs.

        A damaged name may be one that another entry offers, and a mistake the answer to a question that is much alike.
        """
        return self._mixed and self._has(case, turn)

    def _has(self, case: Case, turn: Turn) -> bool:
        made = [call for step in turn.steps for call in step]
        if all(call.name in self._names and call.name not in case.wires for call in made):
            return bool(made)
        answer = _answer((call.name, call.given) for call in turn.steps[0])
        if answer is None or answer == _answer((due.name, due.said) for due in turn.due):
            return False
        asked = {_question(case, number) for number in range(len(case.turns))}
        return answer in self._answers and not asked & self._answers[answer]


def _answer(calls: Iterable[tuple[str, object]]) -> str | None:
    """Calls as one text to compare; ``None`` where too little is said in them to be known again."""
    told = list(calls)
    said = json.dumps(told, sort_keys=True, default=str)
    return said if sum(len(str(given)) for _, given in told) >= _KNOWN_AGAIN else None


def _question(case: Case, turn: int) -> str:
    messages = case.entry.question[turn] if turn < len(case.entry.question) else []
    return " ".join(str(each.get("content")) for each in messages)


_KNOWN_AGAIN = 20
"""Characters of arguments from which on the same calls are no accident."""


def places_of(case: Case, elsewhere: Elsewhere) -> Found:
    """Every place of a case. Nothing a model wrote makes it raise."""
    found = Found(case, _features(case))
    ending = _ENDINGS.get(str(case.line.get("reason")))
    due_words = case.entry.row.checker == "irrelevance"
    for number, turn in enumerate(case.turns):
        made = [call for step in turn.steps for call in step]
        about = {**found.features, "turn": number}
        if ending and not case.passed and number == _turn_of(case, ending):
            found.places.append(_reply(turn, number, about, ending))
        elif not turn.due:
            if made or due_words:
                fix = drop_all(number) if made and not case.passed else None
                key = "mixed_up" if fix and elsewhere.has(case, turn) else "undue"
                found.places.append(Place("undue", "", about, ((key, ""),) if fix else (), fix))
        elif number and is_first_again(case, made):
            found.places.append(_reply(turn, number, about, "restarted"))
        elif made and not case.passed and elsewhere.has(case, turn):
            found.places.append(_reply(turn, number, about, "mixed_up"))
        elif (inside := calls_inside(case, made)) is not None:
            told, calls = inside
            found.places.append(Place("reply", "", about, (("call_inside", told),), restore(number, calls)))
        elif not made:
            key, told, fix = _no_call(case, turn, number)
            found.places.append(Place("reply", "", about | {"tool": _tool(case, turn)}, ((key, told),), fix))
        else:
            about["tool"] = _tool(case, turn)
            found.places.append(Place("reply", "", about))
            found.places += of_calls(case, turn, number, about)
    return found


def _turn_of(case: Case, ending: str) -> int:
    """The turn a conversation was broken off in: the last that was begun."""
    return max(0, min(len(case.transcript.turns), len(case.turns)) - 1)


_LETTERS: Sequence[tuple[str, Callable[[str], bool]]] = (
    ("non-Latin letters", lambda each: each.isalpha() and ord(each) > 0x24F),
    ("letters beyond ASCII", lambda each: each.isalpha() and not each.isascii()),
)


def _features(case: Case) -> Features:
    entry = case.entry
    asked = case.asked
    return {
        "category": entry.category,
        "tools": len(entry.function),
        "characters": len(asked) + len(str(entry.function)),
        "question": len(asked),
        "script": script_of(asked) or "LATIN",
        "letters": next((told for told, least in _LETTERS if any(map(least, asked))), ""),
        "system": any(each["role"] == "system" for turn in entry.question for each in turn),
        "turns": "one turn" if not entry.row.multi_step else "several turns",
        "order": case.order if case.line.get("started_at") else None,
    }


def _tool(case: Case, turn: Turn) -> int:
    names = list(case.wires)
    return max((names.index(due.name) for due in turn.due if due.name in names), default=0)


def _reply(turn: Turn, number: int, about: Features, key: str) -> Place:
    return Place("reply", "", about, ((key, ""),), restore(number, turn.due))


def _no_call(case: Case, turn: Turn, number: int) -> tuple[str, str, Fix]:
    """What stands where a call was due, and what puts the call there."""
    steps = case.transcript.turns[number].steps if number < len(case.transcript.turns) else []
    text = " ".join(step.reply.text or "" for step in steps).strip()
    thoughts = " ".join(step.reply.reasoning or "" for step in steps).strip()
    restored = restore(number, turn.due)
    if case.transcript.mode == "prompt" and (mended_text := calls_of_text(text, case)) is not None:
        key, told, calls = mended_text
        return key, told, restore(number, calls)
    for said, key in ((text, "call_in_text"), (thoughts, "call_in_thoughts")):
        found = calls_in(said, case) if said else None
        if found is not None:
            told, calls = found
            return key, told, restore(number, calls)
    if not text:
        return ("thoughts" if thoughts else "empty" if steps else "not_asked"), "", restored
    if REFUSED.search(text):
        return "refused", "", restored
    asks = text.rstrip(" \n*)\"'").endswith("?") or text.count("?") > 1
    return ("asked" if asks else "words"), "", restored
