"""Which trials a run still has to hold, write stages before the questions that need them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pytest_bfcl.dataset.categories import CATEGORIES
from pytest_bfcl.session.trial import Trial, TrialKey

if TYPE_CHECKING:
    from pytest_bfcl.session.earlier import EarlierParts


def needed_stages(question: Trial, earlier: EarlierParts) -> list[str]:
    """Ids of the write stages that must run for a memory question, in their order; empty for every other entry."""
    return [stage for stage in question.depends_on if earlier.needs_stage(question, stage)]


def plan_trials(trials: Iterable[Trial], earlier: EarlierParts, stage: Callable[[Trial, str], Trial]) -> list[Trial]:
    """The trials without a verdict, each once, each after the write stages it needs.

    ``stage`` makes the trial of a question's write stage.
    """
    chosen = {trial.key: trial for trial in trials}
    planned: dict[TrialKey, Trial] = {}
    for trial in chosen.values():
        for stage_id in needed_stages(trial, earlier) if CATEGORIES[trial.category].backend else ():
            key = trial.key_of(stage_id)
            if key not in planned:
                planned[key] = chosen.get(key) or stage(trial, stage_id)
        if trial.key not in planned and not (earlier.settled and earlier.is_settled(trial)):
            planned[trial.key] = trial
    return list(planned.values())
