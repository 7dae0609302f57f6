"""Entries as environments to train on: an episode is reset, stepped with replies, and ends with a reward."""

from pytest_bfcl.conversation import HeldSnapshots
from pytest_bfcl.training.episode import Episode, Opening, StepResult
from pytest_bfcl.training.grades import Grades, TurnGrade, grades_of

__all__ = ["Episode", "Grades", "HeldSnapshots", "Opening", "StepResult", "TurnGrade", "grades_of"]
