"""Simulators: the stateful APIs of multi-turn and agentic entries, and the safe execution of call texts."""

from pytest_bfcl.simulators.execution import (
    CallExecutor,
    CallRefused,
    ParsedCall,
    create_simulator,
    documents_of,
    register_simulator,
    registered_names,
    simulator_class,
    simulator_names,
    simulator_set,
    source_digests,
    split_call,
)
from pytest_bfcl.simulators.toolkit import ERROR_PREFIX, Oversized, Simulator, serialise, tool

__all__ = [
    "ERROR_PREFIX",
    "CallExecutor",
    "CallRefused",
    "Oversized",
    "ParsedCall",
    "Simulator",
    "create_simulator",
    "documents_of",
    "register_simulator",
    "registered_names",
    "serialise",
    "simulator_class",
    "simulator_names",
    "simulator_set",
    "source_digests",
    "split_call",
    "tool",
]
