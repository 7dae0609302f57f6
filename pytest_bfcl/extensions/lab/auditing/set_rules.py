"""Entries of a set against each other: variants that diverge, duplicates that disagree, answers that stand nowhere."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_bfcl.dataset.entry import Entry
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.extensions.lab.auditing.request_rules import messages_text
from pytest_bfcl.extensions.lab.auditing.rules import Defect

VARIANTS = ("multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
BASE = "multi_turn_base"
ALIKE = 0.5
"""Share of a base entry's requests that a variant has word for word from which it is one."""
MOST_PAGE_CHARS = 5_000_000


def sibling_defects(entries: Mapping[str, Entry]) -> Iterator[Defect]:
    """Variants of one multi-turn entry whose calls or states differ from the base entry's."""
    for entry_id, base in entries.items():
        if base.category != BASE:
            continue
        index = entry_id.rpartition("_")[2]
        for category in VARIANTS:
            variant = entries.get(f"{category}_{index}")
            if variant is not None and _is_variant(base, variant):
                yield from _diverging(base, variant)


def _is_variant(base: Entry, variant: Entry) -> bool:
    requests, others = _requests(base), _requests(variant)
    return bool(requests) and len(requests & others) >= ALIKE * len(requests)


def _requests(entry: Entry) -> set[str]:
    return {str(message.get("content")) for turn in entry.question for message in turn if message.get("content")}


def _diverging(base: Entry, variant: Entry) -> Iterator[Defect]:
    mine, theirs = _calls(base), _calls(variant)
    if mine != theirs:
        ours, yours = _only(mine, theirs), _only(theirs, mine)
        proof = (f"{base.id}: {ours}", f"{variant.id}: {yours}")
        message = f"{variant.id} expects other calls"
        yield Defect("siblings_calls", base.id, message, "possible_answer", proof, (variant.id,))
    if _canonical(base.initial_config) != _canonical(variant.initial_config):
        message = f"{variant.id} starts from another state"
        yield Defect("siblings_state", base.id, message, "initial_config", (), (variant.id,))


def _calls(entry: Entry) -> list[str]:
    return [str(call) for turn in entry.possible_answer or () if isinstance(turn, list) for call in turn]


def _only(mine: Sequence[str], theirs: Sequence[str]) -> str:
    found = [call for call in mine if call not in theirs]
    return "; ".join(found)[:300] or "the same calls in another order or number"


def duplicate_defects(entries: Mapping[str, Entry]) -> Iterator[Defect]:
    """Entries with one request and one set of functions."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries.values():
        if entry.config is None and entry.row.checker in ("ast", "relevance", "irrelevance") and entry.function:
            asked = [[message.get("role"), message.get("content")] for turn in entry.question for message in turn]
            functions = sorted(_canonical(document) for document in entry.function)
            groups[_canonical([asked, functions, entry.language])].append(entry)
    for same in groups.values():
        first, *others = same
        for other in others:
            yield _pair(first, other)


def _pair(first: Entry, other: Entry) -> Defect:
    ids = (other.id,)
    if (first.row.checker == "irrelevance") != (other.row.checker == "irrelevance"):
        wants, none = (other, first) if first.row.checker == "irrelevance" else (first, other)
        message = f"{wants.id} wants a call, {none.id} none"
        return Defect("call_or_none", first.id, message, "question", (messages_text(first)[:400],), ids)
    if _canonical(first.possible_answer) != _canonical(other.possible_answer):
        proof = (f"{first.id}: {_canonical(first.possible_answer)[:300]}",
                 f"{other.id}: {_canonical(other.possible_answer)[:300]}")  # fmt: skip
        return Defect("duplicate_differs", first.id, f"{other.id} has another answer", "possible_answer", proof, ids)
    return Defect("duplicate", first.id, f"{other.id} is the same", "question", (), ids)


def agentic_defects(dataset: DataSet, entries: Iterable[Entry]) -> Iterator[Defect]:
    """Answers that are in no conversation before the question, and on no page of the data's own web."""
    heard: dict[tuple[str, str], str] = {}
    web = _web(dataset)
    for entry in entries:
        if entry.row.checker != "answer" or not entry.possible_answer:
            continue
        where = ""
        if entry.row.backend:
            key = (entry.category, entry.scenario or "")
            if key not in heard:
                heard[key] = _scenario_text(dataset, *key)
            where = heard[key]
        elif entry.row.group == "web_search":
            where = web
        if where and not any(_stands(str(text), where) for text in entry.possible_answer):
            message = f"{entry.possible_answer[0]!r} stands nowhere it could be found"
            yield Defect("answer_nowhere", entry.id, message, "possible_answer")


def _scenario_text(dataset: DataSet, category: str, scenario: str) -> str:
    found = [dataset.load(ref) for ref in dataset.prerequisites(category, scenario)]
    return _normal(" ".join(messages_text(entry) for entry in found))


def _web(dataset: DataSet) -> str:
    pages: list[str] = []
    for path in sorted(dataset.site.glob("*.html")) if dataset.site else ():
        pages.append(path.read_text(encoding="utf-8", errors="replace")[:MOST_PAGE_CHARS])
    return _normal(html.unescape(re.sub(r"<[^>]{0,4000}>", " ", " ".join(pages)))) if pages else ""


def _normal(text: str) -> str:
    return " " + re.sub(r"[\W_]+", " ", text.lower()) + " "


_NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def _stands(answer: str, where: str) -> bool:
    """Whether an answer's words are all there: answers are often short forms of the output."""
    wanted = _normal(answer).split()
    if len(wanted) == 1 and wanted[0] in where.replace(" ", ""):
        return True
    return all(f" {word}" in where or _spelled(word) in where for word in wanted)


def _spelled(word: str) -> str:
    number = int(word) if word.isdecimal() and len(word) < 3 else -1
    return f" {_NAMES[number]} " if 0 <= number < len(_NAMES) else "\0"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
