"""What to do about a failure, when a known pitfall is its cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_bfcl.failures import Verdict

if TYPE_CHECKING:
    from pytest_bfcl.dataset.entry import Entry
    from pytest_bfcl.transcript import Transcript


def advice_for(verdict: Verdict, entry: Entry, transcript: Transcript) -> str | None:
    """One sentence, or ``None`` when the failure is just a wrong answer."""
    return None
