"""Tools from JSON files in any provider's shape, and from Python functions: signature, type hints and docstring."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from pytest_bfcl.entry_points import look_here, named
from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Parsed
from pytest_bfcl.judging.entries import function_documents
from pytest_bfcl.spread_json import json_file
from pytest_bfcl.tools.documents import is_tool, native_document, read_docstring
from pytest_bfcl.tools.json_schema import DIALECT, FunctionDoc


def functions_in_json(path: Path) -> list[FunctionDoc]:
    """Documents of a file that holds a list of tools, one tool, or an object with ``tools`` or ``functions``.

    Tools in a provider's shape keep their JSON Schema. Raises `UsageError`.
    """
    value = json_file(path)
    if isinstance(value, Mapping):
        listed = value.get("tools", value.get("functions"))
        value = listed if isinstance(listed, list) else [value]
    if not isinstance(value, list) or not value or not all(isinstance(each, Mapping) for each in value):
        raise UsageError(f"{path} holds no tools: a list of objects with a name, a description and parameters")
    try:
        return [tool_document(each) for each in value]
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def tool_document(tool: object) -> FunctionDoc:
    """The document of a tool, whose schema stays as it is in a provider's shape. Raises `ValueError` without a name."""
    if not isinstance(tool, Mapping):
        raise ValueError(f"not {type(tool).__name__} {tool!r:.60}")
    document = native_document(tool) if is_tool(tool) else dict(tool)
    if not isinstance(document.get("name"), str):
        raise ValueError(f"a tool has no name: {str(document)[:80]}")
    return document


def assertable_documents(functions: object) -> list[Parsed]:
    """Documents in the benchmark's words of Python functions, documents and tools, one or several. Raises
    `UsageError`."""
    every = [functions] if callable(functions) else functions
    if isinstance(every, list | tuple):
        every = [document_of(each) if callable(each) else each for each in every]
    return function_documents(every)


_SKIPPED = ("self", "cls", "ctx", "context")
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def document_of(function: Callable[..., Any]) -> FunctionDoc:
    """The document of a function: its docstring's first part, and a property for each parameter.

    Hints may be anything pydantic knows (``Literal``, models, ``list[int] | None``); a parameter with a default is not
    required. ``*args`` and ``**kwargs`` are left out, because no model can know them. Raises `UsageError` without a
    signature.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{function!r} has no signature: {error}") from None
    told = read_docstring(inspect.getdoc(function) or "")
    hints: Parsed = {}
    with suppress(NameError, TypeError, AttributeError):  # a hint that cannot be resolved: then none says anything
        hints = get_type_hints(function, include_extras=True)
    properties: Parsed = {}
    required: list[str] = []
    definitions: Parsed = {}
    for number, parameter in enumerate(parameters):
        if parameter.kind in _MANY or (number == 0 and parameter.name in _SKIPPED):
            continue
        schema = hint_schema(hints.get(parameter.name, Any))
        definitions |= schema.pop("$defs", {})
        if text := told.arguments.get(parameter.name) or schema.get("description"):
            schema["description"] = text
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif isinstance(parameter.default, str | int | float | bool):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    return {
        "name": getattr(function, "__name__", "function"),
        "description": told.description,
        "dialect": DIALECT,
        "parameters": {
            "type": "object", "properties": properties, "required": required,
            **({"$defs": definitions} if definitions else {}),
        },
    }  # fmt: skip


def hint_schema(hint: Any) -> Parsed:
    """A type hint as JSON Schema, with its ``$defs``; the empty schema for types that JSON cannot express."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    if hint in (Any, inspect.Parameter.empty):
        return {}
    try:
        return TypeAdapter(hint).json_schema()
    except (PydanticUserError, TypeError, NameError, RecursionError):
        return {}


def functions_at(where: str) -> list[FunctionDoc]:
    """Documents of ``module:function[,function…]``, or of a module's public functions for ``module`` alone.

    The module is imported from the working directory or the environment; ``FILE.py`` from its folder. Raises
    `UsageError` with what is missing.
    """
    module_name, _, names = where.partition(":")
    file = Path(module_name)
    if file.suffix == ".py" and file.is_file():
        sys.path.insert(0, str(file.resolve().parent))
        module_name = file.stem
    look_here()
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise UsageError(
            f"cannot import {module_name}: {error} (name it as package.module:function, or FILE.py:function)"
        ) from None
    if not names:
        own = [each for name, each in vars(module).items() if not name.startswith("_") and inspect.isfunction(each)]
        found = [document_of(each) for each in own if each.__module__ == module.__name__]
        if not found:
            raise UsageError(f"{module_name} defines no public function")
        return found
    documents = []
    for name in names.split(","):
        function = named(f"{module_name}:{name.strip()}")
        if not callable(function):
            raise UsageError(f"{module_name} has no function {name.strip()!r}")
        documents.append(document_of(function))
    return documents
