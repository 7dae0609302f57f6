"""Expected failures as pytest's xfail: known failures are no news, only others are red."""

from __future__ import annotations

import pytest

from pytest_bfcl.failures import Failure
from pytest_bfcl.json_types import Fields
from pytest_bfcl.scoring import expectations


class Expectations(expectations.Expectations):
    """The entries expected to fail."""

    def mark(self, item: pytest.Item, record: Fields) -> None:
        """Mark an item whose failure is expected; errors stay errors, an unexpected pass is shown as one.

        Called when the entry is judged: only then the model's name and mode are certain.
        """
        if expected := self.failures.get(expectations.key_of(record)):
            why = f"expected by --bfcl-expected: {expected.get('reason') or 'a failure'}"
            item.add_marker(pytest.mark.xfail(raises=Failure, reason=why, strict=False))
