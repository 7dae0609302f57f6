"""Providers that are asked through litellm: which, by what names, what is listed of them."""

from __future__ import annotations

import pytest

from pytest_bfcl.failures import UsageError
from pytest_bfcl.models import create_model, list_providers
from pytest_bfcl.settings import Settings


@pytest.mark.parametrize(
    ("spec", "route"),
    [("gemini:m", "gemini/m"), ("ollama_chat:m", "ollama_chat/m"), ("fireworks_ai:m", "fireworks_ai/m"),
     ("nebius:m", "nebius/m"), ("litellm:bedrock/m@prompt", "bedrock/m")],
)  # fmt: skip
def test_plain_provider_names_go_to_litellm(spec: str, route: str) -> None:
    model = create_model(spec, Settings(api="chat"))
    assert (getattr(model, "route", None), model.mode) == (route, "prompt" if "@" in spec else "fc")
    with pytest.raises(UsageError, match="speaks chat completions only"):
        create_model(spec, Settings(api="responses"))


def test_what_is_listed() -> None:
    infos = {info.name: info for info in list_providers()}
    assert infos["gemini"].needs == ("GEMINI_API_KEY",)
    assert (infos["gemini"].via, infos["gemini"].modes) == ("litellm", ("fc", "prompt"))
    assert infos["litellm"].what == "litellm:PROVIDER/NAME, any provider litellm knows"
