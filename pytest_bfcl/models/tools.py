"""Moved to `pytest_bfcl.rendering.tools`; the names stay importable from here."""

from pytest_bfcl.rendering.tools import CompiledTools, compile_tools, wire_names

__all__ = ["CompiledTools", "compile_tools", "wire_names"]
