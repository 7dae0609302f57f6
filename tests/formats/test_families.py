"""The table of model families: its words mean something, names find their row, engines their flags."""

from __future__ import annotations

import re

import pytest

from pytest_bfcl.formats.decoders import HANDLERS, SERVED
from pytest_bfcl.formats.detection import TextReading
from pytest_bfcl.formats.served import NOTATIONS, server_reading
from pytest_bfcl.formats.table import (
    FORMATS,
    families,
    family_of,
    find_decoder,
    nearest_families,
    resembles,
)
from pytest_bfcl.formats.thinking import TAGS


@pytest.mark.parametrize("name", families())
def test_a_row_is_made_of_words_that_are_known(name: str) -> None:
    row = families()[name]
    assert row.format in {*HANDLERS, *SERVED}
    assert server_reading(row.format) in NOTATIONS
    assert find_decoder(row.format).served
    assert row.think in ("", "harmony", *TAGS)
    assert row.template in ("", *FORMATS)
    assert re.compile(row.pattern)
    assert row.source


NAMES = {
    "Qwen/Qwen3-8B": "qwen3", "Qwen/Qwen3-30B-A3B-Instruct-2507": "qwen3", "Qwen/Qwen3.5-4B": "qwen3.5",
    "Qwen/Qwen3-Coder-480B": "qwen3-coder", "meta-llama/Llama-3.1-8B-Instruct": "llama-3", "llama_4_scout": "llama-4",
    "NousResearch/Hermes-3-Llama-3.1-8B": "hermes", "microsoft/Phi-4-mini-instruct": "phi-4",
    "deepseek-ai/DeepSeek-V3.1": "deepseek-v3.1", "deepseek-ai/DeepSeek-V3.2-Exp": "deepseek-v3.2-exp",
    "deepseek-ai/DeepSeek-V4-Flash": "deepseek-v4", "deepseek-ai/DeepSeek-R1-Distill-Llama-8B": "deepseek-r1",
    "moonshotai/Kimi-K2-Instruct": "kimi-k2", "moonshotai/Kimi-K3": "kimi-k3", "baidu/ERNIE-4.5-21B": "ernie-4.5",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B": "nemotron-3", "nvidia/Llama-3_1-Nemotron-Ultra-253B-v1": "nemotron-ultra",
    "ByteDance-Seed/Seed-OSS-36B-Instruct": "seed-oss", "stepfun-ai/Step-3.5-Flash": "step-3.5",
    "stepfun-ai/step3": "step-3", "tencent/Hunyuan-A13B-Instruct": "hunyuan", "tencent/Hy3": "hunyuan-3",
    "ai21labs/AI21-Jamba-1.5-Mini": "jamba", "RekaAI/reka-edge": "reka", "google/gemma-4-31B-it": "gemma-4",
    "google/functiongemma-270m-it": "functiongemma", "zai-org/GLM-4.7": "glm-4.7", "zai-org/GLM-5": "glm-4.7",
    "ibm-granite/granite-4.0-h-small": "granite-4", "ibm-granite/granite-3.3-8b-instruct": "granite-3",
    "CohereLabs/c4ai-command-a-03-2025": "command", "poolside/Laguna-S-2.1": "laguna", "LiquidAI/LFM2.5-1.2B": "lfm2",
    "deepcogito/cogito-v2-preview-deepseek-671B-MoE": "cogito-2", "cogito-v1-preview-llama-8B": "cogito",
    "Tele-AI/TeleChat3-36B-Thinking": "tool-call", "PrimeIntellect/INTELLECT-3": "intellect-3",
    "EssentialAI/rnj-1-instruct": "tool-call", "kakaocorp/kanana-2-30b-a3b": "tool-call", "skt/A.X-4.0": "tool-call",
    "Kwaipilot/KAT-Dev-72B-Exp": "kat", "sarvamai/sarvam-30b": "tool-call", "LLM360/K2-V2-Instruct": "tool-call",
    "accounts/fireworks/models/llama-v3p1-8b-instruct": "llama-3", "accounts/fireworks/models/glm-4p7": "glm-4.7",
    "inclusionAI/Ling-3.0-flash": "ling-3", "MiniMaxAI/MiniMax-M2.1": "minimax-m2", "Salesforce/xLAM-2-3b-fc-r": "xlam",
}  # fmt: skip


@pytest.mark.parametrize(("model", "family"), NAMES.items())
def test_a_served_name_finds_its_family(model: str, family: str) -> None:
    row = family_of(model)
    assert row is not None
    assert row.name == family


def test_a_name_that_only_resembles_a_family_says_so() -> None:
    alike = {"somebody/sql-qwen3-8b": "qwen3", "my-llama-3": "llama-3", "Qwen/sql-coder": "qwen3"}
    assert {model: row.name for model in alike if (row := resembles(model))} == alike
    assert not [model for model in NAMES if resembles(model)]
    said = TextReading("auto").decoder_text("my-llama-3")
    assert (
        said == "calls in texts read by llama3-json, the server reading; my-llama-3 only resembles the family llama-3"
    )


def test_an_unknown_name_is_told_what_is_near() -> None:
    assert family_of("my-finetune") is None
    assert "minicpm5" in nearest_families("minicmp5-chat")
    assert len(nearest_families("my-finetune")) == 3


def test_flags_are_those_of_the_engines() -> None:
    row = families()["kimi-k2"]
    assert (
        " ".join(row.flags("vllm")) == "--enable-auto-tool-choice --tool-call-parser kimi_k2 --reasoning-parser kimi_k2"
    )
    assert row.flags("llamacpp") == ["--jinja"]
    assert families()["minimax"].flags("sglang") == []
