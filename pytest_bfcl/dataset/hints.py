"""Language hints: what a model learns about argument syntax (data spec §6, point 6). Checkers never see them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pytest_bfcl.dataset.categories import Language
from pytest_bfcl.dataset.entry import FunctionDoc
from pytest_bfcl.fetching.texts import Texts
from pytest_bfcl.json_types import Fields, Parsed
from pytest_bfcl.tools.json_schema import is_native

_ITEM_TYPES = {"java": ("ArrayList", "Array"), "javascript": ("array",)}


def with_hints(
    functions: Sequence[FunctionDoc], language: Language, texts: Texts, *, twice: bool = False
) -> list[FunctionDoc]:
    """Copies of the documents with the language's hints; the originals stay as they are, as do those in JSON Schema.

    Java and JavaScript parameters become strings that hold source text. ``twice`` appends the hints a second time:
    format-sensitivity documents carry the Python sentence twice (data spec §6, point 6).
    """
    hinted = [f if is_native(f) else _hinted(f, language, texts) for f in functions]
    return [_hinted(function, language, texts) for function in hinted] if twice else hinted


def typed_as_sent(functions: Sequence[Fields], language: Language) -> list[Fields]:
    """The documents with the types that `with_hints` gives their parameters, without its words."""
    if language == "python":
        return list(functions)
    return [function if is_native(function) else _texts_only(function) for function in functions]


def _texts_only(function: Fields) -> Fields:
    parameters = dict(function.get("parameters") or {})
    properties = parameters.get("properties") or {}
    parameters["properties"] = {name: {**schema, "type": "string"} for name, schema in properties.items()}
    return {**function, "parameters": parameters}


def _hinted(function: FunctionDoc, language: Language, texts: Texts) -> FunctionDoc:
    result = dict(function)
    result["description"] = f"{function.get('description', '')}{texts.hints[f'{language}.function']}"
    if language == "python":
        return result
    parameters = dict(function.get("parameters") or {})
    properties = parameters.get("properties") or {}
    parameters["properties"] = {name: _as_text(schema, language, texts) for name, schema in properties.items()}
    result["parameters"] = parameters
    return result


def _as_text(schema: Parsed, language: Language, texts: Texts) -> Parsed:
    """A parameter schema turned into a string that holds source text of the documented type."""
    result = dict(schema)
    kind = schema.get("type", "any")
    description = schema.get("description", "")
    if kind == "any":
        description += texts.hints[f"{language}.any"]
    else:
        description += texts.hints[f"{language}.type"].format(type=kind)
        if kind in _ITEM_TYPES[language] and "items" in schema:
            items = result.pop("items")
            description += texts.hints[f"{language}.items"].format(item_type=items.get("type", "any"))
        elif language == "javascript" and kind == "dict" and "properties" in schema:
            members = json.dumps(result.pop("properties"))
            description += texts.hints["javascript.properties"].format(properties=members)
    result["description"] = description
    result["type"] = "string"
    return result
