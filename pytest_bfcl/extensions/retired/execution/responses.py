"""A response against a recorded one: it arrived, and has the same type, length and keys (values may change)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pytest_bfcl.extensions.sql.outcome import Outcome
from pytest_bfcl.failures import HarnessError
from pytest_bfcl.json_types import Fields
from pytest_bfcl.troubles import HarnessTrouble

Differs = Literal["no_response", "status", "type", "length", "keys"]


class Mismatch(NamedTuple):
    """Why a response is wrong: in what it differs, a sentence, and both sides."""

    what: Differs
    error: str
    expected: Any = None
    called: Any = None


def sample_of(entry_id: str, possible_answer: Any) -> Any:
    """The recorded response of an entry: the JSON text that is its only answer. Raises `HarnessError`."""
    try:
        (text,) = possible_answer
        return json.loads(text) if isinstance(text, str) else text
    except (TypeError, ValueError, RecursionError) as error:
        raise HarnessError(
            HarnessTrouble.DATA, f"{entry_id}: the answer must be one recorded response as JSON"
        ) from error


def mismatch(outcome: Outcome, sample: Any) -> Mismatch | None:
    """The first rule a response breaks, or ``None``."""
    if not outcome.ok:
        return Mismatch("no_response", str(outcome.error), "a response", outcome.error)
    status, body = outcome.value.get("status"), outcome.value.get("body")
    if status != 200:
        return Mismatch("status", f"the service answered with status {status}", 200, status)
    if type(body) is not type(sample):
        return Mismatch("type", "the response is of another type", _kind(sample), _kind(body))
    if isinstance(sample, Mapping):
        return _keys(body, sample, "the response")
    if isinstance(sample, Sequence) and not isinstance(sample, str):
        if len(body) != len(sample):
            return Mismatch("length", "the list has another length", f"{len(sample)} items", f"{len(body)} items")
        for number, (item, wanted) in enumerate(zip(body, sample, strict=True)):
            if isinstance(wanted, Mapping):
                if not isinstance(item, Mapping):
                    error = f"item {number + 1} is of another type"
                    return Mismatch("type", error, _kind(wanted), _kind(item))
                found = _keys(item, wanted, f"item {number + 1}")
                if found is not None:
                    return found
    return None


def _keys(item: Fields, wanted: Fields, where: str) -> Mismatch | None:
    if set(item) == set(wanted):
        return None
    return Mismatch("keys", f"{where} has other keys", sorted(wanted), sorted(item))


def _kind(value: object) -> str:
    names = {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "nothing"}
    return names.get(type(value), "number")
