"""Data defects and their proofs: rules over entries, over whole sets, and over runs of them (docs/audit.md)."""

from pytest_bfcl.auditing.audit import audit
from pytest_bfcl.auditing.defect import Defect
from pytest_bfcl.auditing.listing import known_issues_toml
from pytest_bfcl.auditing.rules import RULES, Rule

__all__ = ["RULES", "Defect", "Rule", "audit", "known_issues_toml"]
