"""Parameters of newer APIs: what `docs/models.md` names fits the official SDKs; what it brings is read right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter

from pytest_bfcl.run_options.values import parameter

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
_ROW = re.compile(r"^\| [^|]*\| (chat|responses|anthropic|completions) \| `(.*)` \|$", re.MULTILINE)
ROWS = _ROW.findall(PAGE.read_text("utf-8"))


def sdk_fields(api: str) -> dict[str, Any]:
    """Field of a request → its type in the official SDK."""
    if api == "anthropic":
        module = pytest.importorskip("anthropic.types.message_create_params")
        return get_type_hints(module.MessageCreateParamsNonStreaming)
    name = {"chat": "chat.completion", "responses": "responses.response", "completions": "completion"}[api]
    module = pytest.importorskip(f"openai.types.{name}_create_params")
    kind = "ResponseCreateParams" if api == "responses" else "CompletionCreateParams"
    return get_type_hints(getattr(module, f"{kind}NonStreaming"))


@pytest.mark.parametrize(("api", "given"), ROWS)
@pytest.mark.slow
def test_a_parameter_is_one_of_the_sdks(api: str, given: str) -> None:
    name, value = parameter(given)
    fields = sdk_fields(api)
    assert name in fields
    read = TypeAdapter(fields[name]).validate_python(value)
    assert json.loads(TypeAdapter(fields[name]).dump_json(read)) == value  # nothing in it is unknown there


def test_the_tools_are_the_runs_own() -> None:
    assert len(ROWS) > 12
    with pytest.raises(ValueError, match=r"tools is the run's own to set: .* free-form tools cannot be"):
        parameter('tools=[{"type": "custom", "name": "free"}]')
