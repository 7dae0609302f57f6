"""Checks of entries: shapes, types, answers that no call can give.

The rules come from the data spec §4 and §7 and from what the checkers need (ast_checker spec §6); what the official
data itself gets wrong is listed in the data spec §8.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_bfcl.dataset.entry import Entry, FunctionDoc
from pytest_bfcl.dataset.expectation import CONDITIONS, Expectation, argument_rule
from pytest_bfcl.dataset.schemas import Finding, answer_findings, check_functions
from pytest_bfcl.dataset.served_entry import check_path, portable_name
from pytest_bfcl.failures import did_you_mean, instead_of
from pytest_bfcl.json_types import Fields
from pytest_bfcl.plain_text import parse_expression
from pytest_bfcl.spread_json import NOT_JSON, json_or

NO_FUNCTION = 'no function is offered: "function" is a list of function documents or tools'
"""The fields that an entry without tools must have."""

_ROLES = ("system", "user", "assistant", "tool")


def check_entry(entry: Entry, *, linked: bool = False) -> list[Finding]:
    """The problems of one expanded entry; ``linked``: its data set is available, so write stages must be in it."""
    findings = [*_question_findings(entry), *_offer_findings(entry)]
    findings += check_functions(entry.all_functions, entry.language)
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
        case "served":
            findings += _served_findings(entry)
            findings += _recorded_findings(entry) if entry.category == "recorded" else _server_findings(entry)
        case "chat" | "none" | "relevance" | "irrelevance":
            pass
    if entry.mcp and entry.category != "mcp":
        findings.append(Finding('entries on an MCP server are of the category "mcp"', field="category"))
    if entry.files and entry.category != "mcp":
        findings.append(Finding('only entries of the category "mcp" have a directory', field="files"))
    if linked and entry.row.checker == "answer" and entry.row.backend and not entry.depends_on:
        findings.append(
            Finding(f"no write-stage conversation for the scenario {entry.scenario!r}", "warning", "scenario")
        )
    return findings


def _question_findings(entry: Entry) -> Iterator[Finding]:
    """Turns and messages (data spec §4.1, §4.3)."""
    if not entry.question:
        yield Finding("the question has no turn: give a list of turns, each a list of messages", field="question")
    if entry.row.checker in ("ast", "relevance", "irrelevance") and len(entry.question) > 1:
        yield Finding(f"{entry.category} entries have one turn, this one has {len(entry.question)}", field="question")
    for number, turn in enumerate(entry.question):
        if not turn and number not in entry.missed_function:
            told = f"turn {number} is empty, and no held-out functions arrive there"
            yield Finding(told, field=f"question[{number}]")
        for position, message in enumerate(turn):
            place = f"question[{number}][{position}]"
            if message.get("role") not in _ROLES:
                told = f"turn {number}: role {message.get('role')!r} is none of {', '.join(_ROLES)}"
                yield Finding(told, field=f"{place}.role")
            if not isinstance(message.get("content"), str) or not message["content"]:
                yield Finding(f"turn {number}: a message has no content (a non-empty text)", field=f"{place}.content")


def _offer_findings(entry: Entry) -> Iterator[Finding]:
    """A model without offered tools cannot call anything, so the entry measures nothing.

    An irrelevance entry may offer nothing on purpose (``"function": []``), as some official ones do.
    """
    checker = entry.row.checker
    if entry.all_functions or entry.involved_classes or checker in ("chat", "none", "answer", "state", "served"):
        return
    if checker != "irrelevance" or "function" not in entry.model_fields_set:
        yield Finding(NO_FUNCTION, field="function")


def _answer_findings(entry: Entry) -> Iterator[Finding]:
    """Single-turn answers: calls that exist, parameters that exist, required ones covered (data spec §7, §8)."""
    answers = entry.possible_answer
    field = "possible_answer"
    if not answers:
        yield Finding("no possible_answer: give a list of {function: {parameter: [acceptable values]}} objects",
                      field=field)  # fmt: skip
        return
    if entry.rule in ("simple", "multiple") and len(answers) != 1:
        yield Finding(f"{entry.category} entries expect one call, the answer has {len(answers)}", field=field)
    if entry.rule == "simple" and len(entry.function) > 1:
        message = f"{entry.category} entries offer one function, this one offers {len(entry.function)}"
        yield Finding(message, field="function")
    documents = {doc.get("name"): doc for doc in entry.function}
    for number, call in enumerate(answers):
        place = f"{field}[{number}]"
        if not isinstance(call, dict) or len(call) != 1 or not isinstance(next(iter(call.values())), dict):
            yield Finding("an expected call is one object {function: {parameter: [acceptable values]}}", field=place)
            continue
        ((name, parameters),) = call.items()
        if name not in documents:
            yield Finding(f"the answer calls {name!r}, which is not offered", field=place)
            continue
        yield from answer_findings(documents[name], parameters, f"{place}.{name}")


def _trajectory_findings(entry: Entry) -> Iterator[Finding]:
    """Multi-turn ground truth: one list of calls a turn, each call parseable and offered (data spec §7)."""
    answers = entry.possible_answer
    if not entry.involved_classes:
        message = "no involved_classes: name the simulators whose tools the entry uses"
        yield Finding(message, field="involved_classes")
    if not isinstance(answers, list) or not answers:
        yield Finding("no possible_answer: give one list of call texts a turn", field="possible_answer")
        return
    if len(answers) != len(entry.question):
        message = f"{len(entry.question)} turns in the question, {len(answers)} in the answer"
        yield Finding(message, field="possible_answer")
    for turn in entry.missed_function:
        field = f"missed_function.{turn}"
        if not 0 <= turn < len(entry.question):
            yield Finding(f"held-out functions arrive at turn {turn}, which does not exist", field=field)
        elif not entry.missed_function[turn]:
            yield Finding(f"none of the functions held out until turn {turn} is documented", "warning", field)
    documents = _by_name(entry.all_functions)
    for number, turn_calls in enumerate(answers):
        place = f"possible_answer[{number}]"
        if not isinstance(turn_calls, list):
            yield Finding(f"turn {number} of the answer is not a list of call texts", field=place)
            continue
        for position, text in enumerate(turn_calls):
            yield from _call_text_findings(text, documents, f"{place}[{position}]")


def _called_findings(entry: Entry) -> Iterator[Finding]:
    """Executable ground truth: call texts of offered functions, each with its kind of comparison."""
    answers = entry.possible_answer
    if not answers:
        yield Finding("no possible_answer: give the expected calls as texts", field="possible_answer")
        return
    documents = _by_name(entry.function)
    for number, text in enumerate(answers):
        yield from _call_text_findings(text, documents, f"possible_answer[{number}]")
    kinds = entry.execution_result_type or []
    kinds = [kinds] if isinstance(kinds, str) else kinds
    unknown = [kind for kind in kinds if kind not in ("exact_match", "real_time_match", "structural_match")]
    if unknown:
        message = f"execution_result_type {str(unknown[0])[:40]!r}: exact_match, real_time_match, structural_match"
        yield Finding(message, field="execution_result_type")


def _response_findings(entry: Entry) -> Iterator[Finding]:
    """REST answers: one recorded response as JSON text."""
    answers = entry.possible_answer or []
    if len(answers) != 1 or not isinstance(answers[0], str) or json_or(answers[0], NOT_JSON) is NOT_JSON:
        message = "possible_answer must be one recorded response, a list of one JSON text"
        yield Finding(message, field="possible_answer")


def _by_name(functions: list[FunctionDoc]) -> dict[str, FunctionDoc]:
    return {str(doc.get("name")): doc for doc in functions}


def _call_text_findings(text: object, documents: dict[str, FunctionDoc], field: str) -> Iterator[Finding]:
    """One call text of an answer: one call of an offered function with its documented parameters."""
    call = _parsed_call(text)
    name = _called(call, documents)
    if call is None or name is None:
        yield Finding(f"not one call in Python syntax: {str(text)[:80]!r}", field=field)
    elif name not in documents:
        yield Finding(f"the answer calls {name!r}, which is not offered", field=field)
    else:
        parameters = documents[name].get("parameters")
        documented = parameters.get("properties") if isinstance(parameters, dict) else None
        if isinstance(documented, dict):
            for unknown in [each.arg for each in call.keywords if each.arg is not None and each.arg not in documented]:
                message = f"{name}.{unknown}: the answer names a parameter the function does not have"
                yield Finding(message, field=field)


def _parsed_call(text: object) -> ast.Call | None:
    """The only call in a text of an answer, or ``None``."""
    try:
        body = parse_expression(text.strip()) if isinstance(text, str) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body if isinstance(body, ast.Call) else None


def _called(call: ast.Call | None, documents: dict[str, FunctionDoc]) -> str | None:
    """The function of a call: with its dots if such a function is offered, else without its class."""
    function = call.func if call is not None else None
    if isinstance(function, ast.Attribute):
        whole = ast.unparse(function)
        return whole if whole in documents else function.attr
    return function.id if isinstance(function, ast.Name) else None


def _text_findings(entry: Entry) -> Iterator[Finding]:
    """Memory and web-search answers: texts to find in the final message (data spec §7)."""
    answers = entry.possible_answer
    field = "possible_answer"
    if not answers:
        yield Finding(
            "no possible_answer: give a list of texts; the final answer must contain one of them", field=field
        )
    elif any(not isinstance(text, str) or not text.strip() for text in answers):
        yield Finding("an acceptable answer is a non-empty text", field=field)


def _served_findings(entry: Entry) -> Iterator[Finding]:
    """Entries on a user's MCP server and recorded ones: their expectations."""
    turns, answers = len(entry.question), entry.possible_answer
    if not entry.expect:
        yield Finding("no expect: give a list of {answer} or {call, equals or contains} that must hold", field="expect")
    for number, each in enumerate(entry.expect):
        for one in each.alternatives:
            if one.turn is not None and one.turn >= turns:
                yield Finding(f"turn {one.turn} does not exist, there are {turns}", field=f"expect[{number}].turn")
    if answers is not None and (len(answers) != turns or not all(isinstance(turn, list) for turn in answers)):
        told = "possible_answer may show the way: one list of call texts a turn"
        yield Finding(told, field="possible_answer")


def _server_findings(entry: Entry) -> Iterator[Finding]:
    """Entries on a user's MCP server: the server, and the content of its directory."""
    if not entry.mcp:
        yield Finding(
            'no mcp: name the server, and give its command or URL with --bfcl-mcp NAME="COMMAND or URL"', field="mcp"
        )
    if entry.results:
        yield Finding('only entries of the category "recorded" have results', field="results")
    for name in entry.files:
        try:
            check_path(name)
        except ValueError as error:
            yield Finding(str(error), field="files")


def _recorded_findings(entry: Entry) -> Iterator[Finding]:
    """Recorded entries: results of offered tools, and no expectation of a state that does not exist."""
    offered = {portable_name(str(doc.get("name"))) for doc in entry.function}
    if not entry.function:
        yield Finding(NO_FUNCTION, field="function")
    for number, result in enumerate(entry.results):
        if portable_name(result.call) not in offered:
            yield Finding(f"{result.call!r} is not offered", field=f"results[{number}].call")
    for number, each in enumerate(entry.expect):
        if any(one.looked_at is not None for one in each.alternatives):
            told = "recorded tools have no state: expect answers and calls (call, resource and state are for mcp)"
            yield Finding(told, field=f"expect[{number}]")
    tools = {str(doc.get("name")): doc.get("parameters") or {} for doc in entry.function}
    for number, each in enumerate(entry.expect):
        for told in unknown_names(each, tools):
            yield Finding(told, field=f"expect[{number}]")


def unknown_names(each: Expectation, tools: Mapping[str, Fields]) -> Iterator[str]:
    """Errors of an assertion: tools that are not offered, and parameters that they do not have.

    ``tools``: name → schema of its arguments, in either dialect.
    """
    known = {portable_name(name): (name, schema) for name, schema in tools.items()}
    for wanted in each.tools:
        for name in wanted.names:
            found = known.get(portable_name(name))
            if found is None:
                yield f"there is no tool {name!r}; {instead_of(name, list(tools))}"
                continue
            compared = {key: next(iter(argument_rule(rule).measured), None) for key, rule in wanted.arguments.items()}
            yield from _unknown_parts(name, compared, found[1])


def _unknown_parts(place: str, given: Any, schema: Any) -> Iterator[str]:
    """Fields of expected arguments that their schema does not have, at every documented depth."""
    if not isinstance(schema, Mapping):
        return
    if isinstance(given, dict):
        parts = schema.get("properties")
        if not isinstance(parts, Mapping):
            if given and schema.get("type") in _SCALARS:
                told = did_you_mean(next(iter(given)), CONDITIONS) or 'write {"equals": …} for a value'
                yield f"{place} is of type {schema['type']}, and {next(iter(given))!r} is no rule; {told}"
            return
        for name, value in given.items():
            if name in parts:
                yield from _unknown_parts(f"{place}.{name}", value, parts[name])
            elif schema.get("additionalProperties") in (None, False) and "patternProperties" not in schema:
                kind = "field" if "." in place else "parameter"
                yield f"{place} has no {kind} {name!r}; {instead_of(str(name), list(parts))}"
    elif isinstance(given, list):
        for each in given:
            yield from _unknown_parts(place, each, schema.get("items"))


_SCALARS = ("string", "integer", "number", "float", "boolean", "null")
