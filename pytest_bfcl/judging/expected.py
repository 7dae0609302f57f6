"""The assertions' further arguments: function documents and answers in their usual shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.tools.documents import as_document, object_schema


def function_documents(functions: object) -> list[Parsed]:
    """Function documents from documents or tools of the usual styles. Raises `UsageError` for other shapes."""
    if isinstance(functions, Mapping):
        functions = [functions]
    if isinstance(functions, str) or not isinstance(functions, Sequence):
        raise UsageError("functions is a list of function documents or tools")
    return [_document(each) for each in functions]


def _document(tool: object) -> Parsed:
    inner = tool.get("function") if isinstance(tool, Mapping) else None
    body = inner if isinstance(inner, Mapping) else tool
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise UsageError(f"a function document needs a name: {str(body)[:80]!r}")
    try:
        document = as_document(cast("Mapping[str, Any]", tool))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not isinstance(document.setdefault("parameters", {"type": "dict", "properties": {}}), Mapping):
        raise UsageError(f"the parameters of {document['name']} are not an object schema")
    if _has_alternatives(document["parameters"]):
        document["parameters"] = object_schema(document["parameters"])
    document.setdefault("description", "")
    return document


def _has_alternatives(schema: object) -> bool:
    """Whether a parameter may have several types (``["string", "null"]``), which the benchmark's words cannot
    express."""
    if not isinstance(schema, Mapping):
        return False
    properties = schema.get("properties")
    inner = [*(properties.values() if isinstance(properties, Mapping) else ()), schema.get("items")]
    return isinstance(schema.get("type"), list) or any(map(_has_alternatives, inner))


def possible_answers(answers: object) -> list[Parsed]:
    """Answers in the benchmark's notation. Raises `UsageError` with an example for other shapes."""
    listed = [answers] if isinstance(answers, Mapping) else answers
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        raise UsageError(_EXAMPLE)
    for answer in listed:
        accepted = next(iter(answer.values()), None) if isinstance(answer, Mapping) and len(answer) == 1 else None
        if not isinstance(accepted, Mapping):
            raise UsageError(_EXAMPLE)
        for parameter, values in accepted.items():
            if not isinstance(values, list):
                raise UsageError(f"the acceptable values of {parameter!r} are not a list. {_EXAMPLE}")
    return [dict(answer) for answer in listed]


_EXAMPLE = (
    'possible_answer is {"get_weather": {"city": ["Paris", "Paris, France"]}} or a list of such objects; '
    'for one exact call use expected={"get_weather": {"city": "Paris"}}'
)


def plain_answers(expected: object) -> list[Parsed]:
    """Plain calls as answers that accept exactly these values."""
    listed = [expected] if isinstance(expected, Mapping) else expected
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        raise UsageError('expected is {"get_weather": {"city": "Paris"}} or a list of such calls')
    answers = []
    for call in listed:
        if isinstance(call, Mapping) and "name" in call and isinstance(call.get("arguments"), Mapping):
            call = {call["name"]: call["arguments"]}
        arguments = next(iter(call.values()), None) if isinstance(call, Mapping) and len(call) == 1 else None
        if not isinstance(arguments, Mapping):
            raise UsageError('expected is {"get_weather": {"city": "Paris"}} or a list of such calls')
        answers.append({next(iter(call)): {name: [_acceptable(value)] for name, value in arguments.items()}})
    return answers


def _acceptable(value: object) -> Any:
    """A plain value as one acceptable value: objects become key → alternatives, also as elements of a list."""
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, Mapping):
        return {key: [item] for key, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return [{key: [item] for key, item in each.items()} for each in value]
    return value
