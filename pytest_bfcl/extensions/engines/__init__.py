"""``--bfcl-serve``: the inference engines of a run, started, waited for and ended."""

from pytest_bfcl.extensions.engines.fleet import Fleet
from pytest_bfcl.extensions.engines.process import RunningEngine, start_engine
from pytest_bfcl.extensions.engines.table import ENGINES, Engine, engine_of

__all__ = ["ENGINES", "Engine", "Fleet", "RunningEngine", "engine_of", "start_engine"]
