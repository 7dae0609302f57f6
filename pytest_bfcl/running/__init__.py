"""The one orchestrator: models and entries in, result lines out. Knows no pytest; any event loop may drive it."""

from pytest_bfcl.running.contender import Contender, Identity
from pytest_bfcl.running.earlier import EarlierParts
from pytest_bfcl.running.planning import plan_trials
from pytest_bfcl.running.records import errored_record, judged_record
from pytest_bfcl.running.runner import Runner
from pytest_bfcl.running.store import Store
from pytest_bfcl.running.trial import Trial, TrialKey

__all__ = [
    "Contender",
    "EarlierParts",
    "Identity",
    "Runner",
    "Store",
    "Trial",
    "TrialKey",
    "errored_record",
    "judged_record",
    "plan_trials",
]
