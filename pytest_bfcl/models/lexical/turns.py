"""The lexical baseline with tools that act: one call at a time, each with what the earlier ones brought.

A turn's text is cut into parts that ask for one thing each. The next part that has not been done is matched with the
tool whose words explain it best; its arguments come from the part, from the whole text, then from values of the same
name in earlier results and calls. A tool's refusal is itself read as a request, once. Where nothing fits, or a value
stands nowhere, nothing is called: the turn ends with a sentence that says so, and the user's next words are read
together with what was open. No meaning is looked up: a short list of everyday words for the same deed is all.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.lexical.choice import FILE, any_value, options_of, sure_value
from pytest_bfcl.models.lexical.clues import Clues, words
from pytest_bfcl.models.lexical.past import Past
from pytest_bfcl.models.lexical.values import found_values
from pytest_bfcl.transcript import Call

MOST_CALLS = 12
"""Calls of one turn."""
LEAST = 0.30
"""Share of a part's words, tool names counting extra, that a tool must explain to be called."""
ANSWER_WORDS = 8
"""A text of no more words that asks for nothing is an answer."""
OPEN = "I still need to know: "
CLOSING = "Done."
REFUSAL = "None of the offered functions fits this request."

_ALIKE = (
    "list ls show display print view see read cat",
    "make create new mkdir touch",
    "remove delete rm drop erase discard",
    "move mv rename transfer",
    "copy cp duplicate",
    "go enter cd change navigate step",
    "folder directory dir",
    "find search look grep locate",
    "count number wc many",
    "send message tell",
    "write echo",
    "difference compare diff differ",
    "post tweet publish",
    "deposit fund pay",
    "buy purchase order",
    "average mean",
    "cancel abort take",
    "sign log login authenticate",
)
_CANON = {stem: group.split()[0] for group in reversed(_ALIKE) for stem in words(group)}
_BREAK = re.compile(r"(?<=[.!?;])\s+|,?\s+(?:and then|then|and also|afterwards|after that)\s+|\n+")
_AND = re.compile(r",?\s+and\s+(?=[a-z])")
_ASKS = re.compile(
    r"\?|\b(?:please|could you|can you|would you|will you|let's|i want|i need|i'd like|i would like|want to|need to|"
    r"help me|make sure|ensure)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\W*(?:i|we|it|he|she|they|this|that|these|there|my|our|the|as|since|because|while|now|after|if|given|based|with|"
    r"hi|hello|thanks|great|good|fantastic)\b",
    re.IGNORECASE,
)
_SAID = re.compile(r":\s+(\S.{2,})\Z", re.DOTALL)
_SPAN = re.compile(r"'[^'\n]{1,200}'|\"[^\"\n]{1,400}\"")
_IT = re.compile(r"\b(?:it|its|that|this|these|those|them|same|there|result|both|two)\b", re.IGNORECASE)


def acts(functions: Sequence[FunctionDoc]) -> bool:
    """Whether the tools tell what they return: then they are there to be used one after the other."""
    return bool(functions) and all("response" in doc for doc in functions)


class Wish(NamedTuple):
    """One thing that is asked for: the tool that fits best, and the words its arguments come from."""

    doc: FunctionDoc
    part: str


def next_move(request: Request, functions: Sequence[FunctionDoc]) -> list[Call] | str:
    """The next call of the turn, or the text that ends it."""
    texts = [_text(turn) for turn in request.entry.question[: request.turn + 1]]
    asked = max((place for place, text in enumerate(texts) if text), default=0)
    contents = [message.get("content") for message in request.messages]
    start = max((place for place, content in enumerate(contents) if content == texts[asked]), default=0)
    past = Past.of(request.messages, start)
    matcher = Matcher(functions)
    if len(past.events) >= MOST_CALLS:
        return CLOSING
    if (mended := _mended(past, matcher)) is not None:
        return [mended]
    earlier = Past.of(request.messages[: start + 1], start)  # the turn's own calls must not change what it asks for
    wishes = _wishes(texts[asked], texts[asked - 1] if asked else "", earlier, matcher)
    return _next(wishes, texts[asked], past)


def _text(turn: Sequence[Mapping[str, Any]]) -> str:
    said = [message.get("content") for message in turn if message.get("role") == "user"]
    return str(said[-1] or "") if said else ""


def _wishes(text: str, before: str, past: Past, matcher: Matcher) -> list[Wish]:
    """What a turn asks for, in order; what the turn before left open is asked for with the words of both."""
    found = wishes_of(text, matcher, past)
    still = re.search(rf"{OPEN}.*\((\S+)\)\.\Z", past.said_before)
    waiting = matcher.named(still[1]) if still else None
    if waiting is None:
        return found
    first = Wish(waiting, f"{before} {text}")
    if len(text.split()) <= ANSWER_WORDS and not _ASKS.search(text):
        return [first]
    return [first, *(wish for wish in found if wish.doc is not waiting)]


def _next(wishes: Sequence[Wish], text: str, past: Past) -> list[Call] | str:
    """The first call that has not been made; without one the text that ends the turn."""
    made = Counter(event.name for event in past.events if not event.failed)
    tried = Counter(event.name for event in past.events)
    still = ""
    for doc, part in wishes:
        name = str(doc["name"])
        if made[name] > 0:
            made[name] -= 1
            continue
        refused = bool(past.events) and past.events[-1].failed and past.events[-1].name == name
        if refused or tried[name] > 1:
            continue
        arguments, missing = arguments_of(doc, part, text, past)
        if not missing:
            return [Call(name, arguments)]
        still = still or f"{OPEN}{', '.join(missing)} ({name})."
    return still or (CLOSING if wishes else REFUSAL)


def _mended(past: Past, matcher: Matcher) -> Call | None:
    """What a refusal itself asks for ("lock the doors first"), if that is a tool not called in this turn."""
    if not past.events or not past.events[-1].failed:
        return None
    text = past.events[-1].result
    doc = matcher.best(text, LEAST * 1.5)
    if doc is None or any(event.name == doc["name"] for event in past.events):
        return None
    arguments, missing = arguments_of(doc, text, text, past)
    return None if missing else Call(str(doc["name"]), arguments)


def wishes_of(text: str, matcher: Matcher, past: Past) -> list[Wish]:
    """What a text asks for, in order. What only tells something is no wish, unless the text asks for nothing else."""
    pieces = parts(text, _BREAK)
    asking = [part for part in pieces if _ASKS.search(part) or not _STATES.match(part)] or pieces
    found: list[Wish] = []
    for sentence in asking:
        for part in _divided(sentence, matcher):
            doc = matcher.best(part)
            if doc is not None:
                found.append(Wish(_usable(part, text, matcher, past), part))
    return found


def _usable(part: str, text: str, matcher: Matcher, past: Past) -> FunctionDoc:
    """Of the tools that fit almost as well as the best, the one whose arguments the words give, and most of them."""

    def worth(doc: FunctionDoc, score: float) -> float:
        arguments, missing = arguments_of(doc, part, text, past)
        return score + 0.06 * len(arguments) - 0.15 * len(missing)

    ranked = matcher.ranked(part)[:5]
    return max((pair for pair in ranked if pair[1] >= 0.6 * ranked[0][1]), key=lambda pair: worth(*pair))[0]


def _divided(sentence: str, matcher: Matcher) -> list[str]:
    """A sentence cut at an "and" on both sides of which another tool fits."""
    pieces = parts(sentence, _AND)
    joined = pieces[:1]
    for piece in pieces[1:]:
        before, after = matcher.best(joined[-1]), matcher.best(piece)
        if before is not None and after is not None and before is not after:
            joined.append(piece)
        else:
            joined[-1] += piece
    return joined


def parts(text: str, where: re.Pattern[str]) -> list[str]:
    """A text cut where it goes on to something else, never inside quotation marks or what follows a colon."""
    said = _SAID.search(text)
    closed = [match.span() for match in _SPAN.finditer(text)] + ([said.span()] if said else [])
    cuts = [0]
    for match in where.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in closed):
            cuts.append(match.end())
    return [part for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True) if (part := text[a:b]).strip()]


class Matcher:
    """Tools by their words, everyday words for the same deed taken as one."""

    def __init__(self, functions: Sequence[FunctionDoc]) -> None:
        self._functions = list(functions)
        self._names = [set(_same(str(doc["name"]))) for doc in functions]
        self._bags = [_bag(doc) for doc in functions]
        self._rarity = Counter(word for bag in self._bags for word in bag)

    def named(self, name: str) -> FunctionDoc | None:
        """The tool of a name."""
        return next((doc for doc in self._functions if doc["name"] == name), None)

    def best(self, text: str, least: float = LEAST) -> FunctionDoc | None:
        """The tool that explains most of the text, if it explains enough."""
        return next(iter(self.ranked(text, least)), (None, 0.0))[0]

    def ranked(self, text: str, least: float = LEAST) -> list[tuple[FunctionDoc, float]]:
        """The tools that explain enough of the text, the best first, with the share they explain."""
        plain = FILE.sub(" ", Clues.of(text).without_values())
        asked = {word for word in _same(plain) if not word.isdigit()}
        if not asked:
            return []
        scores = [self._score(asked, place) for place in range(len(self._functions))]
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return [(self._functions[place], scores[place]) for place in order if scores[place] >= least]

    def _score(self, asked: set[str], place: int) -> float:
        bag, name = self._bags[place], self._names[place]
        weights = {word: self._weight(word) for word in asked}
        explained = sum(weight * bag.get(word, 0.0) for word, weight in weights.items()) / sum(weights.values())
        covered = sum(self._weight(word) for word in name & asked) / (sum(map(self._weight, name)) or 1.0)
        return 0.6 * explained + 0.4 * covered

    def _weight(self, word: str) -> float:
        seen = self._rarity[word]
        return 1.0 + math.log((1 + len(self._bags)) / (1 + seen)) if seen else 1.0


def _bag(doc: FunctionDoc) -> dict[str, float]:
    bag: dict[str, float] = {}
    properties = (doc.get("parameters") or {}).get("properties") or {}
    described = [(str(doc["name"]), 1.0), (str(doc.get("description") or ""), 0.8)]
    described += [(str(name), 0.6) for name in properties]
    described += [(str(schema.get("description") or ""), 0.4) for schema in properties.values()]
    for text, weight in described:
        for word in _same(text):
            bag[word] = max(bag.get(word, 0.0), weight)
    return bag


def _same(text: str) -> list[str]:
    return [_CANON.get(word, word) for word in words(text)]


def arguments_of(doc: FunctionDoc, part: str, text: str, past: Past) -> tuple[Parsed, list[str]]:
    """Arguments of a call, and the required parameters nothing was found for.

    A required value is taken, in this order, from what the part says beside the parameter's words, from the latest
    value of that name when the part points back ("it", "that"), from anything fitting in the part, from the whole
    text, and from the latest value of that name after all.
    """
    parameters = doc.get("parameters") or {}
    properties: Fields = parameters.get("properties") or {}
    clues, whole = Clues.of(part), Clues.of(text)
    found = {}
    for name, schema in properties.items():
        if (value := sure_value(name, schema, clues, properties.keys() - {name})) is not None:
            found[name] = value
    others = {name: schema for name, schema in properties.items() if name not in found and not options_of(schema)}
    found |= found_values(others, clues, ())
    missing = []
    for name in parameters.get("required") or []:
        if name in found or name not in properties:
            continue
        schema, known = properties[name], _remembered(name, properties[name], past)
        value = known if _IT.search(part) else None
        for place in (clues, whole):
            if value is None:
                value = any_value(name, schema, place, found.values())
        value = known if value is None else value
        if value is None:
            missing.append(name)
        else:
            found[name] = value
    return {name: found[name] for name in properties if name in found}, missing


def _remembered(name: str, schema: Fields, past: Past) -> Any:
    """The latest value of the conversation under this name, or one whose words are part of it or the other way."""
    wanted = set(words(name))
    for key, value in reversed(past.values.items()):
        heard = set(words(key))
        if (key == name or (heard and wanted and (heard <= wanted or wanted <= heard))) and _suits(value, schema):
            return value
    return None


def _suits(value: Any, schema: Fields) -> bool:
    kind = str(schema.get("type"))
    if kind in ("integer", "float", "number"):
        return isinstance(value, (int, float))
    if kind in ("array", "list"):
        return isinstance(value, list)
    return isinstance(value, str) and kind == "string"
