"""Checking data before anything is paid for: shapes, types, and whether an answer can be given at all.

`validate` goes through every entry of a set. The rules come from the data spec §4 and §7 and from what the checkers
need (ast_checker spec §6); what the official data itself gets wrong is listed in the data spec §8.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.dataset.entry import Entry, EntryRef
from pytest_bfcl.dataset.index import DataProblem
from pytest_bfcl.dataset.loading import DataSet
from pytest_bfcl.dataset.schemas import Finding, check_functions, function_problems
from pytest_bfcl.failures import HarnessError, UsageError
from pytest_bfcl.python_text import parse_expression

_ROLES = ("system", "user", "assistant", "tool")


def validate(dataset: DataSet, categories: list[str] | None = None) -> list[DataProblem]:
    """Every problem of a set (or of some categories), in file order; empty means all entries are usable.

    ``categories`` defaults to `validated_categories`.
    """
    names = categories or validated_categories(dataset)
    names = [*names, *(f"{name}_prereq" for name in names if CATEGORIES[name].group == "memory")]
    problems: list[DataProblem] = []
    for name in names:
        problems += dataset.problems(name)
        if name != "format_sensitivity":  # its entries are those of other categories
            for ref in dataset.index(name):
                problems += _entry_problems(dataset, ref)
    if not categories and not problems and not any(dataset.index(name) for name in names):
        problems.append(DataProblem(dataset.root, 0, "no entries found"))
    return problems


def validated_categories(dataset: DataSet) -> list[str]:
    """All of a set's categories; of the official set without the retired ones, whose flaws stay as they are."""
    return [name for name in dataset.categories() if not (dataset.official and CATEGORIES[name].group == "retired")]


def _entry_problems(dataset: DataSet, ref: EntryRef) -> list[DataProblem]:
    try:
        entry = dataset.load(ref)
    except (HarnessError, UsageError) as error:
        return [DataProblem(ref.path, ref.line, str(error), ref.id)]
    return [
        DataProblem(ref.path, ref.line, finding.message, ref.id, finding.severity)
        for finding in check_entry(entry, dataset)
    ]


def check_entry(entry: Entry, dataset: DataSet | None = None) -> list[Finding]:
    """What is wrong with one expanded entry; ``dataset`` allows the check of memory write stages."""
    findings = [*_question_findings(entry), *check_functions(entry.all_functions, entry.language)]
    match entry.row.checker:
        case "ast" | "sql":
            findings += _answer_findings(entry)
        case "state":
            findings += _trajectory_findings(entry)
        case "answer":
            findings += _text_findings(entry)
        case "executable":
            findings += _called_findings(entry)
        case "rest":
            findings += _response_findings(entry)
        case "chat" | "none" | "relevance" | "irrelevance":
            pass
    if dataset is not None and entry.row.checker == "answer" and entry.row.backend and not entry.depends_on:
        findings.append(Finding(f"no write-stage conversation for the scenario {entry.scenario!r}", "warning"))
    return findings


def _question_findings(entry: Entry) -> Iterator[Finding]:
    """Turns and messages (data spec §4.1, §4.3)."""
    if not entry.question:
        yield Finding("the question has no turn: give a list of turns, each a list of messages")
    if entry.row.checker in ("ast", "relevance", "irrelevance") and len(entry.question) > 1:
        yield Finding(f"{entry.category} entries have one turn, this one has {len(entry.question)}")
    for number, turn in enumerate(entry.question):
        if not turn and number not in entry.missed_function:
            yield Finding(f"turn {number} is empty, and no held-out functions arrive there")
        for message in turn:
            if message.get("role") not in _ROLES:
                yield Finding(f"turn {number}: role {message.get('role')!r} is none of {', '.join(_ROLES)}")
            if not isinstance(message.get("content"), str) or not message["content"]:
                yield Finding(f"turn {number}: a message has no content (a non-empty text)")


def _answer_findings(entry: Entry) -> Iterator[Finding]:
    """Single-turn answers: calls that exist, parameters that exist, required ones covered (data spec §7, §8)."""
    answers = entry.possible_answer
    if not answers:
        yield Finding("no possible_answer: give a list of {function: {parameter: [acceptable values]}} objects")
        return
    if entry.rule in ("simple", "multiple") and len(answers) != 1:
        yield Finding(f"{entry.category} entries expect one call, the answer has {len(answers)}")
    if entry.rule == "simple" and len(entry.function) != 1:
        yield Finding(f"{entry.category} entries offer one function, this one offers {len(entry.function)}")
    documents = {doc.get("name"): doc for doc in entry.function}
    for call in answers:
        if not isinstance(call, dict) or len(call) != 1 or not isinstance(next(iter(call.values())), dict):
            yield Finding("an expected call is one object {function: {parameter: [acceptable values]}}")
            continue
        ((name, parameters),) = call.items()
        if name not in documents:
            yield Finding(f"the answer calls {name!r}, which is not offered")
            continue
        yield from function_problems(documents[name], name, parameters)


def _trajectory_findings(entry: Entry) -> Iterator[Finding]:
    """Multi-turn ground truth: one list of calls a turn, each call parseable and offered (data spec §7)."""
    answers = entry.possible_answer
    if not entry.involved_classes:
        yield Finding("no involved_classes: name the simulators whose tools the entry uses")
    if not isinstance(answers, list) or not answers:
        yield Finding("no possible_answer: give one list of call texts a turn")
        return
    if len(answers) != len(entry.question):
        yield Finding(f"{len(entry.question)} turns in the question, {len(answers)} in the answer")
    for turn in entry.missed_function:
        if not 0 <= turn < len(entry.question):
            yield Finding(f"held-out functions arrive at turn {turn}, which does not exist")
        elif not entry.missed_function[turn]:
            yield Finding(f"none of the functions held out until turn {turn} is documented", "warning")
    names = {doc.get("name") for doc in entry.all_functions}
    for number, turn_calls in enumerate(answers):
        if not isinstance(turn_calls, list):
            yield Finding(f"turn {number} of the answer is not a list of call texts")
            continue
        for text in turn_calls:
            yield from _call_text_findings(text, names, f"turn {number}: ")


def _called_findings(entry: Entry) -> Iterator[Finding]:
    """Executable ground truth: call texts of offered functions, each with its kind of comparison."""
    answers = entry.possible_answer
    if not answers:
        yield Finding("no possible_answer: give the expected calls as texts")
        return
    names = {doc.get("name") for doc in entry.function}
    for text in answers:
        yield from _call_text_findings(text, names)
    kinds = (entry.model_extra or {}).get("execution_result_type") or []
    unknown = [kind for kind in kinds if kind not in ("exact_match", "real_time_match", "structural_match")]
    if unknown:
        yield Finding(f"execution_result_type {str(unknown[0])[:40]!r}: exact_match, real_time_match, structural_match")


def _response_findings(entry: Entry) -> Iterator[Finding]:
    """REST answers: one recorded response as JSON text."""
    answers = entry.possible_answer
    try:
        (text,) = answers or []
        json.loads(text)
    except (TypeError, ValueError, RecursionError):
        yield Finding("possible_answer must be one recorded response, a list of one JSON text")


def _call_text_findings(text: Any, names: set[Any], where: str = "") -> Iterator[Finding]:
    """One call text of an answer: one call, of an offered function."""
    name = _called(text)
    if name is None:
        yield Finding(f"{where}not one call in Python syntax: {str(text)[:80]!r}")
    elif name not in names:
        yield Finding(f"{where}the answer calls {name!r}, which is not offered")


def _called(text: Any) -> str | None:
    """The function a call text names (without its class), or ``None`` when it is not one call."""
    try:
        body = parse_expression(text.strip()) if isinstance(text, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(body, ast.Call):
        return None
    function = body.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _text_findings(entry: Entry) -> Iterator[Finding]:
    """Memory and web-search answers: texts to look for in the final message (data spec §7)."""
    answers = entry.possible_answer
    if not answers:
        yield Finding("no possible_answer: give a list of texts, one of which the final answer must contain")
    elif any(not isinstance(text, str) or not text.strip() for text in answers):
        yield Finding("an acceptable answer is a non-empty text")
