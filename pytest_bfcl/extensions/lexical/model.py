"""``lexical:``, a demonstration and no language model: word overlap selects the function, patterns fill the arguments.
It gets the same input as a model (messages and function documents), never the possible answers or the category. It
needs no network and is deterministic. It answers each request separately and does not read results of calls.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.extensions.lexical.arguments import Clues, fill, words
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.models.base import Request
from pytest_bfcl.models.source_text import reply_with_calls
from pytest_bfcl.models.spec import ModelSpec
from pytest_bfcl.transcript import Call, Mode, Reply

if TYPE_CHECKING:
    from pytest_bfcl.settings import Settings

REFUSAL = "None of the offered functions fits this request."
CLOSING = "Done."
THRESHOLD = 0.2
"""Least share of the request's content words that a called function must explain."""

CALL_LIMIT = 12

_CLAUSES = re.compile(r"(?<=[.!?;])\s+|,?\s+(?:and then|then|and also|also|as well as|after that|next)\s+|\n+")
_AND = re.compile(r",?\s+and\s+(?=[a-z]{3,}\s)")


def create_lexical(spec: ModelSpec, settings: Settings, mode: Mode) -> LexicalModel:
    """The provider ``lexical:``."""
    return LexicalModel(spec, mode)


class LexicalModel:
    """Word overlap baseline; ``lexical:`` in either mode."""

    def __init__(self, spec: ModelSpec, mode: Mode = "fc") -> None:
        self.spec = spec.with_mode(mode).text
        self.mode: Mode = mode
        self.underscore_names = mode == "fc"

    async def generate(self, request: Request) -> Reply:
        """Calls for the last user message, or a refusal; text after results."""
        if request.step > 0:
            return Reply(text=CLOSING, finish_reason="stop")
        calls = choose_calls(last_user_text(request), offered(request))
        if not calls:
            return Reply(text=REFUSAL, finish_reason="stop")
        return reply_with_calls(calls, request.entry, self.mode)

    async def aclose(self) -> None:
        """Nothing to release."""


def offered(request: Request) -> list[FunctionDoc]:
    """The offered function documents, without hints: native tools and prompt text describe the same."""
    entry: Entry = request.entry
    added = [doc for turn, docs in entry.missed_function.items() if turn <= request.turn for doc in docs]
    return [*entry.function, *added]


def last_user_text(request: Request) -> str:
    """The user's last words (a multi-turn engine may have added results after them)."""
    turns = request.entry.question
    own = turns[request.turn] if request.turn < len(turns) else []
    said = [m for m in (own or request.messages) if m.get("role") == "user"]
    content = said[-1].get("content") if said else ""
    return content if isinstance(content, str) else str(content)


def choose_calls(text: str, functions: Sequence[FunctionDoc]) -> list[Call]:
    """The calls that a text seems to request, in reading order; empty if no function fits."""
    if not functions:
        return []
    index = Index(functions)
    best = index.best(text)
    if best is None:
        return []
    calls: list[Call] = []
    clauses = _clauses(text, index)
    for clause, doc in clauses or [(text, best)]:
        calls.extend(_calls(clause, doc))
    return calls


class Index:
    """Word weights of a list of functions."""

    def __init__(self, functions: Sequence[FunctionDoc]) -> None:
        self.functions = list(functions)
        self.bags = [_bag(doc) for doc in functions]
        self.rarity = Counter(word for bag in self.bags for word in bag)

    def score(self, asked: list[str], position: int) -> float:
        """Share of the request's words that the function explains, rare words counting more, in [0, 1]."""
        bag = self.bags[position]
        count = len(self.bags)
        total = gained = 0.0
        for word in set(asked):
            weight = 1.0 + math.log((1 + count) / (1 + self.rarity[word])) if self.rarity[word] else 1.0
            total += weight
            gained += weight * bag.get(word, 0.0)
        return gained / total if total else 0.0

    def best(self, text: str, threshold: float = THRESHOLD) -> FunctionDoc | None:
        """The function that explains most of the text, if it explains enough."""
        asked = [word for word in words(Clues.of(text).without_values()) if not word.isdigit()]
        scores = [self.score(asked, i) for i in range(len(self.functions))]
        top = max(range(len(scores)), key=lambda i: (scores[i], -i))
        return self.functions[top] if scores[top] >= threshold else None


def _bag(doc: FunctionDoc) -> dict[str, float]:
    bag: dict[str, float] = {}
    properties = (doc.get("parameters") or {}).get("properties") or {}
    weighted: list[tuple[Any, float]] = [
        (doc.get("name", "").replace(".", " "), 1.0),
        (doc.get("description", ""), 0.8),
    ]
    for name, schema in properties.items():
        weighted.append((name, 0.7))
        if isinstance(schema, dict):
            weighted.append((schema.get("description") or "", 0.4))
            weighted.extend((str(option), 0.6) for option in schema.get("enum") or [])
    for text, weight in weighted:
        for word in words(text):
            bag[word] = max(bag.get(word, 0.0), weight)
    return bag


def _clauses(text: str, index: Index) -> list[tuple[str, FunctionDoc]]:
    """Clauses with different requests, each with its function; empty if the text is one request."""
    if len(index.functions) < 2:
        return []
    pieces = [p for part in _CLAUSES.split(text) for p in _AND.split(part) if p and p.strip()]
    chosen: list[tuple[str, FunctionDoc]] = []
    for piece in pieces:
        doc = index.best(piece, THRESHOLD * 1.6)
        if doc is None:
            if chosen:
                chosen[-1] = (f"{chosen[-1][0]} {piece}", chosen[-1][1])
        elif chosen and chosen[-1][1] is doc:
            chosen[-1] = (f"{chosen[-1][0]} and {piece}", doc)
        else:
            chosen.append((piece, doc))
    return chosen if len({id(doc) for _, doc in chosen}) > 1 else []


def _calls(text: str, doc: FunctionDoc) -> list[Call]:
    """One call, or one per listed value if a list is given for a single parameter."""
    name, parameters = str(doc["name"]), doc.get("parameters") or {}
    calls: list[Call] = []
    for variant in _variants(text, parameters)[:CALL_LIMIT]:
        arguments = fill(parameters, Clues.of(variant))
        if arguments is not None and (call := Call(name, arguments)) not in calls:
            calls.append(call)
    return calls


_ITEM = r"(?:'[^'\n]{1,80}'|\"[^\"\n]{1,80}\"|\$?\d[\d,.]*%?|[A-Z][\w'-]*(?: [A-Z][\w'-]*)*)"
_ENUMERATION = re.compile(rf"(?P<items>{_ITEM}(?:, {_ITEM})*,? and (?:{_ITEM}))")


def _variants(text: str, parameters: Parsed) -> list[str]:
    """The text once per item of "A, B and C", unless a parameter accepts the whole list."""
    properties = parameters.get("properties") or {}
    if any(isinstance(s, dict) and s.get("type") in ("array", "tuple", "list") for s in properties.values()):
        return [text]
    found = max(_ENUMERATION.finditer(text), key=lambda each: len(each["items"]), default=None)
    if found is None:
        return [text]
    return [f"{text[: found.start()]}{item}{text[found.end() :]}" for item in re.findall(_ITEM, found["items"])]
