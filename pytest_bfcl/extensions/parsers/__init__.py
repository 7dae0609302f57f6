"""Parsers of an installed vLLM or SGLang as decoders, each in a worker process (``vllm:NAME``, ``sglang:NAME``)."""

from pytest_bfcl.extensions.parsers.parser import ENGINES, InstalledParser, installed_parser, is_installed_name

__all__ = ["ENGINES", "InstalledParser", "installed_parser", "is_installed_name"]
