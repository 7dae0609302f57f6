from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_bfcl.runs import Fingerprint, ModelFingerprint
from pytest_bfcl.runs.fingerprint import clean_url
from pytest_bfcl.settings import Settings
from tests.runs.samples import SPEC, fingerprint

DATA = SimpleNamespace(name="official", version="2026.3.23", sha256="cd" * 32)


def test_it_survives_the_file() -> None:
    settings = Settings(base_url="https://user:secret@host:8000/v1?key=1", system_prompt="Do", max_tokens=9)
    made = Fingerprint.of(DATA, [(SPEC, "fc")], settings, {"ids": ["a"]})
    assert Fingerprint.from_dict(made.to_dict()) == made
    assert "secret" not in str(made.to_dict())
    assert made.models[0].base_url == "https://host:8000/v1"
    assert made.models[0].parameters == {"temperature": 0.001, "max_tokens": 9}
    assert not made.comparable


def test_the_short_form_names_data_model_rules_and_version() -> None:
    short = fingerprint().short()
    for part in ("official 2026.3.23", "(abababab)", f"{SPEC} t=0.001", "official rules", "pytest-bfcl"):
        assert part in short
    prompted = ModelFingerprint(SPEC, "fc", prompt_sha256="1" * 64)
    assert "not comparable" in fingerprint(models=(prompted,)).short()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dataset_sha256": "ef" * 32}, "data SHA-256: abababababab → efefefefefef"),
        ({"dataset": "bundled"}, "data set: official → bundled"),
        ({"rules": "corrected"}, "rules: official → corrected"),
        ({"rules_version": "x"}, "rules version"),
        ({"models": (ModelFingerprint("openai:other@fc", "fc", {"temperature": 0.001}),)}, "models: "),
        ({"models": (ModelFingerprint(SPEC, "prompt", {"temperature": 0.001}),)}, f"mode of {SPEC}: fc → prompt"),
        ({"models": (ModelFingerprint(SPEC, "fc", {"temperature": 0.7}),)}, f"temperature of {SPEC}: 0.001 → 0.7"),
        ({"models": (ModelFingerprint(SPEC, "fc", {}),)}, f"temperature of {SPEC}: 0.001 → none"),
        ({"conditions": {"step_limit": 5, "search": "auto", "simulators": "own"}}, "step limit: 20 → 5"),
    ],
)
def test_differences_are_told(change: dict[str, object], said: str) -> None:
    found = fingerprint().differences(fingerprint(**change))
    assert any(text.startswith(said) for text in found), found


def test_time_state_selection_and_plugin_version_do_not_matter() -> None:
    base = fingerprint()
    other = replace(base.ended("finished"), selection={"categories": ["all"]}, plugin_version="9", started_at="x")
    assert base.differences(other) == []


def test_two_models_on_the_same_test_may_be_compared() -> None:
    other = fingerprint(models=(ModelFingerprint("openai:other@prompt", "prompt", {"temperature": 1}),))
    assert fingerprint().differences(other, models=False) == []
    assert fingerprint().differences(other)


@pytest.mark.parametrize(
    ("url", "clean"),
    [(None, None), ("", None), ("http://h/v1", "http://h/v1"), ("http://u:p@h:1/v1#x", "http://h:1/v1")],
)
def test_urls_lose_what_is_secret(url: str | None, clean: str | None) -> None:
    assert clean_url(url) == clean
