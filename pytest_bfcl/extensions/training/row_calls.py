"""Calls and tools in a row of training data, whatever format and column they stand in."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from contextlib import suppress

from pytest_bfcl.decoding.ground_truth import acceptable_arguments
from pytest_bfcl.extensions.training.content import document_key
from pytest_bfcl.extensions.training.training_rows import Row
from pytest_bfcl.formats.detection import calls_anywhere, values_in
from pytest_bfcl.json_types import Fields
from pytest_bfcl.replies.calls import is_call, read_call
from pytest_bfcl.replies.shapes import UnknownShape
from pytest_bfcl.syntax.limits import DecodeError
from pytest_bfcl.syntax.native import parse_json
from pytest_bfcl.transcript import Call

_SCHEMAS = ("parameters", "input_schema", "inputSchema")


def calls_in(row: Row, names: Container[str]) -> Iterator[Call]:
    """Every call of a row, some of them twice. ``names``: those that Python calls and keys of objects may have."""
    yield from row.calls
    for fields in row.objects:
        yield from _of_object(fields, names)
    for text in row.texts:
        yield from calls_anywhere(text, names)


def _of_object(fields: Fields, names: Container[str]) -> Iterator[Call]:
    """``{name, arguments}`` in any library's words, ``{name: arguments}``, and ground truths of the benchmark."""
    if document_of(fields) is not None and any(fields.get(each) for each in _SCHEMAS):
        return
    if is_call(fields):
        with suppress(UnknownShape, DecodeError):
            call = read_call(fields)
            arguments = parse_json(call.arguments)
            if isinstance(arguments, Mapping):
                yield Call(call.name, dict(arguments))
    for name, arguments in fields.items():
        if isinstance(arguments, str) and name in names:
            arguments = next(values_in(arguments), None)
        if isinstance(arguments, Mapping) and name in names:
            yield Call(name, dict(arguments))
            if all(isinstance(value, list) for value in arguments.values()):
                yield Call(name, acceptable_arguments(arguments))


def tools_in(row: Row) -> Iterator[str]:
    """Every tool that a row describes, in one spelling."""
    for fields in row.objects:
        if (document := document_of(fields)) is not None:
            yield document_key(document)


def document_of(fields: Fields) -> Fields | None:
    """A tool's document: a name and a JSON Schema, which may be a text."""
    name = fields.get("name")
    given = next((fields[each] for each in _SCHEMAS if each in fields), None)
    schema = next(values_in(given), None) if isinstance(given, str) else given
    if not isinstance(name, str) or not isinstance(schema, Mapping):
        return None
    if not ("properties" in schema or schema.get("type") in ("object", "dict") or not schema):
        return None
    return {"name": name, "parameters": schema}
