"""Recorded verdicts judged again: what is equal, what differs, and why."""

from pytest_bfcl.proving import causes
from pytest_bfcl.proving.causes import Cause
from pytest_bfcl.proving.folder import prove_folder
from pytest_bfcl.proving.proof import Difference, Part, proof_markdown

__all__ = ["Cause", "Difference", "Part", "causes", "proof_markdown", "prove_folder"]
