"""Splits of a data set into entries to train on and entries to test with (docs/splits.md)."""

from pytest_bfcl.extensions.training.splits import make_split
from pytest_bfcl.selection.splits import Split

__all__ = ["Split", "make_split"]
