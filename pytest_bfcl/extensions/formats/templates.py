"""Every family's template by name."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_bfcl.extensions.formats import functiongemma, minicpm, prompting, qwen, tool_lists
from pytest_bfcl.extensions.formats.parts import Template

TEMPLATES: Mapping[str, Template] = {
    "llama3": prompting.llama3,
    "llama4": prompting.llama4,
    "gemma": prompting.gemma,
    "chatml": prompting.chatml_prompt,
    "bielik": prompting.bielik,
    "phi4": prompting.phi4,
    "phi4mini": prompting.phi4mini,
    "r1": prompting.r1,
    "qwen3": qwen.qwen3,
    "qwen3-tools": qwen.qwen3_tools,
    "nanbeige": qwen.nanbeige,
    "pelican": qwen.pelican,
    "granite4": qwen.granite4,
    "arch": qwen.arch,
    "granite3": tool_lists.granite3,
    "phi4mini-tools": tool_lists.phi4mini_tools,
    "granite20b": tool_lists.granite20b,
    "llama31": tool_lists.llama31,
    "xlam-llama": tool_lists.xlam_llama,
    "bitagent": tool_lists.bitagent,
    "xlam-qwen": tool_lists.xlam_qwen,
    "hammer": tool_lists.hammer,
    "glm4": tool_lists.glm4,
    "mistral": tool_lists.mistral,
    "thinkagent": tool_lists.thinkagent,
    "functiongemma": functiongemma.functiongemma,
    "minicpm3": minicpm.minicpm3,
}
