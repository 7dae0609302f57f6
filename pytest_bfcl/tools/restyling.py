"""Tools in OpenAI's shape → the shape another API wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_bfcl.failures import UsageError
from pytest_bfcl.json_types import Fields, Parsed

ToolStyle = Literal["openai", "responses", "anthropic", "gemini"]


def to_tools(tools: Sequence[Fields], style: ToolStyle) -> list[Parsed]:
    """The same tools for another API; schemas are shared, not copied.

    ``openai``: as they are. ``responses``: OpenAI's Responses. ``anthropic``: Messages. ``gemini``: one
    ``functionDeclarations`` list with JSON Schema. Raises `UsageError` for another style.
    """
    functions = [dict(tool["function"]) for tool in tools]
    if style == "openai":
        return [dict(tool) for tool in tools]
    if style == "responses":
        return [{"type": "function", **function} for function in functions]
    if style == "anthropic":
        return [_described(function, "input_schema") for function in functions]
    if style == "gemini":
        return [{"functionDeclarations": [_described(function, "parametersJsonSchema") for function in functions]}]
    raise UsageError(f"tools can be written for openai, responses, anthropic or gemini, not {style!r}")


def _described(function: Fields, schema: str) -> Parsed:
    return {"name": function["name"], "description": function.get("description", ""), schema: function["parameters"]}
