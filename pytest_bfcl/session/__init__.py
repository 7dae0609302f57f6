"""The one run: models and entries in, lines, summary and exit code out. Knows no pytest; any event loop drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.late_names import homes_of, late_names

if TYPE_CHECKING:
    from pytest_bfcl.session.contender import Contender as Contender
    from pytest_bfcl.session.contender import Identity as Identity
    from pytest_bfcl.session.earlier import EarlierParts as EarlierParts
    from pytest_bfcl.session.planning import plan_trials as plan_trials
    from pytest_bfcl.session.records import errored_record as errored_record
    from pytest_bfcl.session.records import judged_record as judged_record
    from pytest_bfcl.session.runner import Runner as Runner
    from pytest_bfcl.session.store import Store as Store
    from pytest_bfcl.session.trial import Trial as Trial
    from pytest_bfcl.session.trial import TrialKey as TrialKey

_NAMES = {
    "contender": "Contender Identity",
    "earlier": "EarlierParts",
    "planning": "plan_trials",
    "records": "errored_record judged_record",
    "runner": "Runner",
    "store": "Store",
    "trial": "Trial TrialKey",
}

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__, homes_of(_NAMES))
