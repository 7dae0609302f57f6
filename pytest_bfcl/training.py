"""Entries as environments to train on (docs/training.md): episodes, tasks, and a module for each trainer."""

from pytest_bfcl.conversation.journal import HeldSnapshots
from pytest_bfcl.extensions.training import trl, verl
from pytest_bfcl.extensions.training.episode import Episode, Opening, StepResult
from pytest_bfcl.extensions.training.rewards import Grades, TurnGrade, grades_of
from pytest_bfcl.extensions.training.tasks import Options, Tasks, episode_of, tasks

__all__ = [
    "Episode",
    "Grades",
    "HeldSnapshots",
    "Opening",
    "Options",
    "StepResult",
    "Tasks",
    "TurnGrade",
    "episode_of",
    "grades_of",
    "tasks",
    "trl",
    "verl",
]
