"""Checks a call of a tool in JSON Schema: valid by the schema, then equal to an acceptable value as JSON. The
benchmark's type rules know only its own type words. Here ``null``, ``anyOf``, ``$ref`` and all other words have their
meaning in JSON Schema, for native and written calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_bfcl.checkers import reasons
from pytest_bfcl.checkers.details import CallDetails, ValueDetails
from pytest_bfcl.checkers.exact import BrokenRule
from pytest_bfcl.checkers.values import MARKER, standardise
from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.expansion import typed_as_sent
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.runs.result_line import CallForm
from pytest_bfcl.syntax.json_format import parse_json
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.tools.json_schema import argument_problem, is_native, is_valid
from pytest_bfcl.tools.schemas import compile_tools, surely_fits, wire_names


def check_json_call(document: Fields, arguments: Mapping[Any, Any], accepted: Fields) -> BrokenRule | None:
    """The arguments of a call of this tool; ``accepted``: parameter → values; `MARKER` among them makes it optional."""
    name = str(document["name"])
    given: Parsed = {str(key): as_json(value) for key, value in arguments.items()}
    if problem := argument_problem(document["parameters"], given):
        parameter, error = problem
        details = CallDetails(function=name, param=parameter or None, called=given.get(parameter, given), error=error)
        return BrokenRule(reasons.INVALID_ARGUMENTS, details)
    for parameter, values in accepted.items():
        if parameter not in given and MARKER not in values:
            details = CallDetails(function=name, param=parameter, expected=values, called=given)
            return BrokenRule(reasons.MISSING_OPTIONAL, details)  # required ones are the schema's
    for parameter, value in given.items():
        if parameter not in accepted:
            error = f"{parameter!r} is not among the expected arguments"
            details = CallDetails(function=name, param=parameter, expected=sorted(accepted), called=value, error=error)
            return BrokenRule(reasons.UNEXPECTED_PARAM, details)
        if not is_accepted(value, accepted[parameter]):
            details = ValueDetails(function=name, param=parameter, expected=accepted[parameter], called=value)
            return BrokenRule(reasons.VALUE, details)
    return None


def is_accepted(value: object, values: Sequence[Any]) -> bool:
    """Whether a value is one of the acceptable ones."""
    return any(_same(each, value) for each in values)


def as_json(value: Any) -> Any:
    """A call's value as JSON: written calls also have tuples."""
    if isinstance(value, tuple | list):
        return [as_json(each) for each in value]
    return {str(key): as_json(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _same(wanted: Any, given: Any) -> bool:
    """Equal as JSON; texts as in the benchmark: case, spaces and ``, . / - _ * ^`` do not matter."""
    if isinstance(wanted, bool) or isinstance(given, bool):
        return wanted is given
    if isinstance(wanted, str) and isinstance(given, str):
        return standardise(wanted) == standardise(given)
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        return wanted.keys() == given.keys() and all(_same(each, given[name]) for name, each in wanted.items())
    if isinstance(wanted, list) and isinstance(given, list):
        return len(wanted) == len(given) and all(map(_same, wanted, given))
    return bool(wanted == given)


__all__ = ["call_form", "native_calls"]


def call_form(functions: Sequence[Fields], output: object, language: Language = "python") -> CallForm | None:
    """The counts for an ``output`` of a result line, ``None`` for one without native calls.

    ``functions`` are all documents the entry offers, held-out ones included. Each faulty call counts once: ``unknown``
    names first, then ``broken`` arguments (no JSON object), then those ``invalid`` under the sent schema
    (`pytest_bfcl.tools.schemas.compile_tools`; parameters of Java and JavaScript are sent as texts).
    """
    calls = native_calls(output)
    if not calls:
        return None
    form: CallForm = {"calls": len(calls)}
    documents: dict[str | None, Fields] = {}
    for document in functions:
        documents[document.get("name")] = document
    names = {} if dict(calls).keys() <= documents.keys() else wire_names(functions)
    for name, arguments in calls:
        if (fault := _fault(documents.get(names.get(name, name)), arguments, language)) is not None:
            form[fault] = form.get(fault, 0) + 1
    return form


def native_calls(output: object) -> list[tuple[str, str]]:
    """Name and raw arguments of every native call, in order: of one reply, or of turns → steps → reply."""
    found: list[tuple[str, str]] = []
    for part in output if isinstance(output, list) else ():
        if isinstance(part, dict):
            name, arguments = part.get("name"), part.get("arguments")
            if isinstance(name, str) and isinstance(arguments, str):
                found.append((name, arguments))
        else:
            found += native_calls(part)
    return found


def _fault(
    document: Fields | None, arguments: str, language: Language
) -> Literal["unknown", "broken", "invalid"] | None:
    if document is None:
        return "unknown"
    try:
        values = parse_json(arguments)
    except DecodeError:
        return "broken"
    if not isinstance(values, dict):
        return "broken"
    sent = document if language == "python" else typed_as_sent([document], language)[0]
    if ("dialect" not in sent or not is_native(sent)) and surely_fits(sent.get("parameters") or {}, values):
        return None
    return None if is_valid(compile_tools([sent])[0]["function"]["parameters"], values) else "invalid"
