"""A user's own model that fails the same way again and again: said once, instead of once an entry."""

from __future__ import annotations

from pytest_bfcl.endpoints.breaker import sign_of
from pytest_bfcl.failures import AdapterError
from pytest_bfcl.troubles import AdapterTrouble

AT_START = 5
"""Failures alike that stop a run in which the model has answered nothing yet."""
LATER = 25
"""Failures alike, with no answer in between, that stop it later: entries may have their own trouble."""


class UsersModelTrouble:
    """Counts failures alike of one model that the user brought; ``reason`` says why it must not be asked any more."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self.calm = False
        """Whether the last conversation was held to its end."""
        self._answered = False
        self._sign = ""
        self._alike = 0

    def answered(self) -> None:
        """A conversation was held."""
        self.calm = self._answered = True
        self._alike = 0

    def failed(self, error: AdapterError) -> None:
        """A conversation ended in this error."""
        if error.kind != AdapterTrouble.FIXTURE:
            return
        self.calm = False
        sign = sign_of(error)
        self._alike = self._alike + 1 if sign == self._sign else 1
        self._sign = sign
        if self._alike >= (LATER if self._answered else AT_START) and self.reason is None:
            self.reason = f"{error.message}; {self._alike} entries in a row ended with this error"
