"""An environment package of verifiers: install a module of this name, then ``eval bfcl-environment`` finds it."""

from pytest_bfcl.extensions.training.verifiers import BfclHarness, BfclTaskset

__all__ = ["BfclHarness", "BfclTaskset"]
