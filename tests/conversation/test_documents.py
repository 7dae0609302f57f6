"""Function documents as text, in the three layouts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_bfcl.conversation.prompts import documents_text

MEMBERS: dict[str, Any] = {
    "a": {"type": "integer", "description": "A.", "default": 3},
    "b": {"type": "array", "items": {"type": "string"}, "description": "B.", "enum": ["x", "y"]},
    "c": {"type": "dict", "description": "C.", "properties": {"d": {"type": "object", "properties": {"e": {}}}}},
    "f": {"type": "dict", "additionalProperties": {"type": "float"}, "default": [1, 2]},
    "g": {"type": "tuple"}, "h": {"type": "Long", "items": "x"}, "i": {"type": "object", "additionalProperties": True},
    "j": {"type": "array", "items": {}}, "k": {"type": "array", "properties": {"l": {}}},
    "m": {"type": "string", "additionalProperties": {"type": "float"}},
}  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "name": "x.f", "description": "Does.\nMore.",
    "parameters": {"type": "dict", "properties": MEMBERS, "required": ["a", "c"]}
}  # fmt: skip


def test_python() -> None:
    assert (
        documents_text([DOCUMENT, {"name": "g"}], "python")
        == """\
# Function: x.f
    \"\"\"
    Does.
More.

    Args:
        a (int, default=3): A.
        b (list[str]): B. Enum values: ['x', 'y'].
        c (dict): C.
            d (dict):\x20
                e (str):\x20
        f (dict[str, float], default=[1, 2]):\x20
        g (tuple):\x20
        h (Long):\x20
        i (dict):\x20
        j (list[str]):\x20
        k (array):\x20
        m (str):\x20
    \"\"\"



\n
# Function: g
    \"\"\"
    \n
    \"\"\"



"""
    )


def test_xml() -> None:
    assert (
        documents_text([DOCUMENT], "xml")
        == """\
<function name="x.f">
  <desc>Does.
More.</desc>
  <params>
    <param name="a" type="integer" required="true" default="3">
      <desc>A.</desc>
    </param>
    <param name="b" type="array[string]" required="false">
      <desc>B. Enum values: ['x', 'y'].</desc>
    </param>
    <param name="c" type="dict" required="true">
      <desc>C.</desc>
      <params>
        <param name="d" type="object" required="true">
          <desc></desc>
          <params>
            <param name="e" type="string" required="true">
              <desc></desc>
            </param>
          </params>
        </param>
      </params>
    </param>
    <param name="f" type="dict[float]" required="false" default="[1 2]">
      <desc></desc>
    </param>
    <param name="g" type="tuple" required="false">
      <desc></desc>
    </param>
    <param name="h" type="Long" required="false">
      <desc></desc>
    </param>
    <param name="i" type="object" required="false">
      <desc></desc>
    </param>
    <param name="j" type="array" required="false">
      <desc></desc>
    </param>
    <param name="k" type="array" required="false">
      <desc></desc>
    </param>
    <param name="m" type="string" required="false">
      <desc></desc>
    </param>
  </params>
</function>
"""
    )
    assert documents_text([{"name": "g"}, {"name": "h"}], "xml").count("<params>\n  </params>") == 2


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [DOCUMENT],
        [DOCUMENT, {"name": "é", "x": [float("inf"), 1.5, None, True, "a\nb", {}, []]}],
        [{"name": "\ud800"}],
    ],
)
def test_json(documents: list[Any]) -> None:
    assert documents_text(documents) == json.dumps(documents, indent=4)
