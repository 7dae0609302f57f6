"""Providers that are asked through litellm: which, by what names, what is listed of them."""

from __future__ import annotations

import pytest

from pytest_bfcl.extensions.litellm.model import LitellmModel
from pytest_bfcl.failures import AdapterError, UsageError
from pytest_bfcl.models import create_model
from pytest_bfcl.settings import Settings


@pytest.mark.parametrize(
    ("spec", "route"),
    [("gemini:m", "gemini/m"), ("ollama_chat:m", "ollama_chat/m"), ("fireworks_ai:m", "fireworks_ai/m"),
     ("nebius:m", "nebius/m"), ("litellm:bedrock/m@prompt", "bedrock/m")],
)  # fmt: skip
def test_plain_provider_names_go_to_litellm(spec: str, route: str) -> None:
    model = create_model(spec, Settings(api="chat"))
    assert (getattr(model, "route", None), model.mode) == (route, "prompt" if "@" in spec else "fc")
    with pytest.raises(UsageError, match="has chat completions only"):
        create_model(spec, Settings(api="responses"))


@pytest.mark.parametrize(
    ("spec", "settings", "environment", "missing"),
    [
        ("gemini:m", Settings(), {}, "GEMINI_API_KEY"),
        ("litellm:mistral/m", Settings(), {}, "MISTRAL_API_KEY"),
        ("gemini:m", Settings(), {"GOOGLE_API_KEY": "x"}, None),
        ("together_ai:m", Settings(), {"TOGETHER_AI_TOKEN": "x"}, None),  # litellm knows several names of one key
        ("gemini:m", Settings(base_url="http://127.0.0.1:9"), {}, None),
        ("gemini:m", Settings(headers={"X-Key": "x"}), {}, None),
        ("bedrock:m", Settings(), {}, None),  # credentials may come from elsewhere
    ],
)
def test_a_missing_key_is_known_before_the_first_request(
    spec: str, settings: Settings, environment: dict[str, str], missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "TOGETHERAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    model = create_model(spec, settings)
    assert isinstance(model, LitellmModel)
    if missing is None:
        model.check_key()
    else:
        with pytest.raises(AdapterError, match=f"{missing} is not set"):
            model.check_key()
