"""Smaller parts of the tree: the folder virtual files hang on, an unusable line, the test functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_bfcl.session.trial import Trial

OWN_MODEL = "bfcl_model"
USERS_MODEL = "model"
"""Fixtures that may bring the model: the plugin's, and the short one that a project may define."""


class DataRoot(pytest.Directory):
    """The invocation directory (and those above, up to rootdir) as parent of virtual files.

    Hanging the data there makes the conftest files of the user's project apply to it.
    """

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing: virtual files are added by the session's report."""
        return ()


class BrokenLine(pytest.Collector):
    """A line of a data file that is no usable entry: one collection error that says where and what.

    ``trials`` are those that would have been run; none for a line without an id.
    """

    message = ""
    trials: tuple[Trial, ...] = ()

    def collect(self) -> Iterable[pytest.Item]:
        """Raise the error."""
        raise self.CollectError(self.message)


# What stands for the test function: its arguments are the fixtures an entry needs.


def check_entry(bfcl_model: object, bfcl_loop: object) -> None:
    """Entry and transcript are filled in by the item's setup."""


def check_users_model(model: object, bfcl_loop: object) -> None:
    """The same with the project's own ``model``."""


def check_through_fixtures(bfcl_entry: object, bfcl_transcript: object, bfcl_model: object, bfcl_loop: object) -> None:
    """For files where a project overrides one of these fixtures."""


def check_users_model_through_fixtures(
    bfcl_entry: object, bfcl_transcript: object, model: object, bfcl_loop: object
) -> None:
    """Both."""


CHECKS: dict[tuple[str, ...], Callable[..., None]] = {
    (OWN_MODEL,): check_entry,
    (USERS_MODEL,): check_users_model,
    ("bfcl_entry", "bfcl_transcript", OWN_MODEL): check_through_fixtures,
    ("bfcl_entry", "bfcl_transcript", USERS_MODEL): check_users_model_through_fixtures,
}
