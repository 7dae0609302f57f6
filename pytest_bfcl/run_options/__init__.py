"""The options of a run, named once: `pytest --model` and `pytest-bfcl run` read one table into one `Settings`."""

from pytest_bfcl.run_options.table import GROUPS, OPTIONS, TITLE, Option, of_run

__all__ = ["GROUPS", "OPTIONS", "TITLE", "Option", "of_run"]
