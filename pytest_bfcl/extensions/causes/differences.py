"""What a conversation's calls lack to be the ones that were due: differences at every place where one could be.

A place without a difference counts, too: only against those can be said that something happens to all of them.
"""

from __future__ import annotations

import re

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


def places_of(case: Case, elsewhere: frozenset[str] = frozenset()) -> Found:
    """Every place of a case; ``elsewhere``: the names that any entry offers. Nothing a model wrote makes it raise."""
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
                found.places.append(Place("undue", "", about, (("undue", ""),) if fix else (), fix))
        elif made and all(call.name in elsewhere and call.name not in case.wires for call in made):
            found.places.append(_reply(turn, number, about, "mixed_up"))
        elif number and is_first_again(case, made):
            found.places.append(_reply(turn, number, about, "restarted"))
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


def _features(case: Case) -> Features:
    entry = case.entry
    asked = " ".join(str(m.get("content")) for turn in entry.question for m in turn)
    return {
        "category": entry.category,
        "tools": len(entry.function),
        "characters": len(asked) + len(str(entry.function)),
        "question": len(asked),
        "script": script_of(asked) or "LATIN",
        "non-Latin letters": any(each.isalpha() and ord(each) > 0x24F for each in asked),
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
