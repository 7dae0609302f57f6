"""Entries of tasks: from named data sets or callers' fields, whose documents and answers have the usual shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.failures import HarnessError, UsageError, close_names
from pytest_bfcl.json_types import Fields, Parsed, first_problem
from pytest_bfcl.spread_json import json_or
from pytest_bfcl.tools.documents import as_document, object_schema
from pytest_bfcl.troubles import HarnessTrouble

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.dataset.loading import DataSet
    from pytest_bfcl.fetching.texts import Texts


SETS = ("bundled", "official", "verified")
"""Data sets that every installation opens by name: their tasks are sent as references, all others complete."""
_SLIPS = ("ground_truth", "expected", "answer", "answers")
"""Other names of the field of expected calls."""


@cache
def opened(word: str) -> DataSet:
    """A named data set, opened once a process. Raises `UsageError` if it is not installed."""
    from pytest_bfcl.dataset.opening import open_dataset
    from pytest_bfcl.simulators import documents_of

    return open_dataset(word, documents=documents_of)


def is_official(entry: Entry) -> bool:
    """Whether the installed official set has exactly this entry: then its id is enough to find it elsewhere."""
    try:
        return opened("official").entry(entry.id) == entry
    except (UsageError, HarnessError):
        return False


@cache
def texts_of_the_set(official: bool) -> Texts:
    """The package's own texts, or those of the fetched official set. Raises `UsageError` without the latter."""
    from pytest_bfcl.fetching.texts import Texts

    return opened("official").texts if official else Texts.own()


def entry_of(entry: Entry | Fields) -> Entry:
    """An entry, built from its fields if needed: ``id`` and ``category`` default to those of a Python entry.

    Fields may be JSON texts, as table formats keep them. Raises `HarnessError` if they are no entry: without a category
    they need ``function``, and a misspelt ``possible_answer`` must not mean that no call is right.
    """
    from pydantic import ValidationError

    from pytest_bfcl.dataset.entry import Entry

    if isinstance(entry, Entry):
        return entry
    fields: Parsed = {name: unpacked(value) for name, value in entry.items() if value is not None}
    if "category" not in fields:
        _refuse_slips(fields)
        fields["category"] = _python_category(fields.get("function") or [], fields.get("possible_answer"))
    fields = {"id": f"{fields['category']}_0", "question": [], **fields}
    row = CATEGORIES.get(fields["category"]) if isinstance(fields["category"], str) else None
    if row is None:
        raise HarnessError(HarnessTrouble.DATA, f"{fields['id']}: unknown category {fields['category']!r}")
    try:
        return Entry.model_validate({"language": row.language, "return_format": row.language, **fields})
    except ValidationError as error:
        raise HarnessError(HarnessTrouble.DATA, f"{fields['id']} is no usable entry: {first_problem(error)}") from error


def _refuse_slips(fields: Fields) -> None:
    """Raise for fields without a category that are no single-turn entry, though they look like one without a call."""
    if not fields.get("function"):
        raise HarnessError(
            HarnessTrouble.DATA, "an entry without a category needs its functions in the field 'function'"
        )
    slip = next((name for name in fields if name in _SLIPS or close_names(name, ("possible_answer",))), None)
    if "possible_answer" not in fields and slip is not None:
        raise HarnessError(
            HarnessTrouble.DATA, f"expected calls are in {slip!r}: rename the field to 'possible_answer'"
        )


def _python_category(functions: Sequence[object], answer: Sequence[object] | None) -> str:
    if answer is None:
        return "irrelevance"
    if len(answer) > 1:
        return "parallel_multiple" if len(functions) > 1 else "parallel"
    return "multiple" if len(functions) > 1 else "simple_python"


def unpacked(value: object) -> Any:
    """A field's value: JSON text of an object or list is parsed (table formats cannot hold mixed types)."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json_or(value, value)
    return value


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
