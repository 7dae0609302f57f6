"""The form of a line's native calls: offered name, JSON arguments, arguments valid under the schema that was sent.

It needs no ground truth: whatever the right answer is, a call that cannot be carried out is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.hints import typed_as_sent
from pytest_bfcl.json_types import Fields
from pytest_bfcl.runs.result_line import CallForm
from pytest_bfcl.syntax.errors import DecodeError
from pytest_bfcl.syntax.native import parse_json
from pytest_bfcl.tools.json_schema import is_native, is_valid
from pytest_bfcl.tools.schemas import compile_tools, surely_fits, wire_names

__all__ = ["call_form", "native_calls"]


def call_form(functions: Sequence[Fields], output: object, language: Language = "python") -> CallForm | None:
    """The counts over an ``output`` of a result line, ``None`` for one without native calls.

    ``functions`` are all documents the entry offers, held-out ones included. Each faulty call counts once: ``unknown``
    names first, then ``broken`` arguments (no JSON object), then those ``invalid`` under the schema as it is sent
    (`pytest_bfcl.tools.schemas.compile_tools`; parameters of Java and JavaScript are sent as texts).
    """
    calls = list(native_calls(output))
    if not calls:
        return None
    form: CallForm = {"calls": len(calls)}
    names = wire_names(functions)
    documents = {doc.get("name"): doc for doc in functions}
    for name, arguments in calls:
        if (fault := _fault(documents.get(names.get(name, name)), arguments, language)) is not None:
            form[fault] = form.get(fault, 0) + 1
    return form


def native_calls(output: object) -> Iterator[tuple[str, str]]:
    """Name and raw arguments of every native call, in order: of one reply, or of turns → steps → reply."""
    for part in output if isinstance(output, list) else ():
        if isinstance(part, dict):
            name, arguments = part.get("name"), part.get("arguments")
            if isinstance(name, str) and isinstance(arguments, str):
                yield name, arguments
        else:
            yield from native_calls(part)


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
    (sent,) = typed_as_sent([document], language)
    if not is_native(sent) and surely_fits(sent.get("parameters") or {}, values):
        return None
    return None if is_valid(compile_tools([sent])[0]["function"]["parameters"], values) else "invalid"
