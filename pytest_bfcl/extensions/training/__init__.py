"""Entries as environments to train on: an episode is reset, stepped with replies, and ends with a reward."""

from pytest_bfcl.conversation import HeldSnapshots
from pytest_bfcl.extensions.training.episode import Episode, Opening, StepResult
from pytest_bfcl.extensions.training.grades import Grades, TurnGrade, grades_of
from pytest_bfcl.extensions.training.tasks import Options, Tasks, tasks

__all__ = [
    "Episode",
    "Grades",
    "HeldSnapshots",
    "Opening",
    "Options",
    "StepResult",
    "Tasks",
    "TurnGrade",
    "grades_of",
    "tasks",
]
