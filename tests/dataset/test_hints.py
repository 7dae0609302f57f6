"""Language hints (data spec §6, point 6)."""

from __future__ import annotations

import copy
import json
from typing import Any

from pytest_bfcl.dataset import Texts, with_hints

TEXTS = Texts.own()


def document(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "f",
        "description": "Does it.",
        "parameters": {"type": "dict", "properties": properties, "required": list(properties)},
    }


def hinted(language: str, **schema: Any) -> dict[str, Any]:
    (result,) = with_hints([document(p={"description": "A value.", **schema})], language, TEXTS)  # type: ignore[arg-type]
    return result["parameters"]["properties"]["p"]  # type: ignore[no-any-return]


def test_python_documents_get_one_sentence() -> None:
    original = document(p={"type": "array", "items": {"type": "integer"}, "description": "Numbers."})
    before = copy.deepcopy(original)
    (result,) = with_hints([original], "python", TEXTS)
    assert result["description"] == "Does it." + TEXTS.hints["python.function"]
    assert result["parameters"] == original["parameters"]
    assert original == before


def test_format_sensitivity_documents_get_it_twice() -> None:
    (result,) = with_hints([document()], "python", TEXTS, twice=True)
    assert result["description"] == "Does it." + 2 * TEXTS.hints["python.function"]


def test_java_any() -> None:
    schema = hinted("java", type="any")
    assert schema == {"type": "string", "description": "A value." + TEXTS.hints["java.any"]}


def test_java_scalar_keeps_its_other_keys() -> None:
    schema = hinted("java", type="long", default=3)
    assert schema["type"] == "string"
    assert schema["default"] == 3
    assert "long" in schema["description"]


def test_java_lists_name_their_elements_and_lose_items() -> None:
    for word in ("ArrayList", "Array"):
        schema = hinted("java", type=word, items={"type": "char"})
        assert set(schema) == {"type", "description"}
        assert word in schema["description"]
        assert "char" in schema["description"]


def test_javascript_array_and_object() -> None:
    array = hinted("javascript", type="array", items={"type": "float"})
    assert "items" not in array
    assert "float" in array["description"]
    members = {"a": {"type": "String", "description": "x"}}
    record = hinted("javascript", type="dict", properties=members)
    assert set(record) == {"type", "description"}
    assert record["description"].endswith(json.dumps(members))
    assert hinted("javascript", type="dict")["type"] == "string"


def test_java_maps_keep_their_properties() -> None:
    assert "properties" in hinted("java", type="HashMap", properties={"a": {"type": "String"}})


def test_documents_without_descriptions_or_parameters() -> None:
    (result,) = with_hints([{"name": "f"}], "java", TEXTS)
    assert result["description"] == TEXTS.hints["java.function"]
    assert result["parameters"] == {"properties": {}}


def test_nothing_of_the_original_changes() -> None:
    original = document(p={"type": "array", "items": {"type": "float"}, "description": "x"}, q={"type": "any"})
    before = copy.deepcopy(original)
    with_hints([original], "javascript", TEXTS, twice=True)
    assert original == before
