"""Tools listed in a JSON file, in any of the shapes that providers use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.failures import UsageError
from pytest_bfcl.tools.documents import is_tool, native_document


def functions_in_json(path: Path) -> list[FunctionDoc]:
    """Documents of a file that holds a list of tools, one tool, or an object with ``tools`` or ``functions``.

    Tools in a provider's shape keep their JSON Schema. Raises `UsageError`.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"cannot read tools from {path}: {error}") from None
    if isinstance(value, Mapping):
        listed = value.get("tools", value.get("functions"))
        value = listed if isinstance(listed, list) else [value]
    if not isinstance(value, list) or not value or not all(isinstance(each, Mapping) for each in value):
        raise UsageError(f"{path} holds no tools: a list of objects with a name, a description and parameters")
    try:
        documents = [native_document(each) if is_tool(each) else dict(each) for each in value]
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    unnamed = next((each for each in documents if not isinstance(each.get("name"), str)), None)
    if unnamed is not None:
        raise UsageError(f"{path}: a tool has no name: {str(unnamed)[:80]}")
    return documents
