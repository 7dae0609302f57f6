"""Wire conformance: does a server hand on the calls a model made? Checks, each a rule, its requests and a judgement.

`Examiner` runs them against an endpoint; nothing here knows pytest. What a reader needs: docs/wire.md.
"""

from __future__ import annotations

from pytest_bfcl.wire.check import APIS, Api, Check, Rule
from pytest_bfcl.wire.checks import all_checks, checks_for
from pytest_bfcl.wire.examiner import Examiner, trigger_rate
from pytest_bfcl.wire.outcome import STATES, Outcome

__all__ = [
    "APIS", "STATES", "Api", "Check", "Examiner", "Outcome", "Rule", "all_checks", "checks_for", "trigger_rate",
]  # fmt: skip
