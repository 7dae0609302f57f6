"""Inference engines of a run: starting one, finding one that is there, stopping what was started. Knows no pytest."""

from pytest_bfcl.serving.discovery import FoundServer, find_servers, only_model
from pytest_bfcl.serving.engines import ENGINES, Engine, engine_of
from pytest_bfcl.serving.parsers import suggested_parser
from pytest_bfcl.serving.process import RunningEngine, start_engine

__all__ = [
    "ENGINES",
    "Engine",
    "FoundServer",
    "RunningEngine",
    "engine_of",
    "find_servers",
    "only_model",
    "start_engine",
    "suggested_parser",
]
