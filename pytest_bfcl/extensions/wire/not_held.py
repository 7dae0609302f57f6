"""How a check ends when its rule did not hold: broken by the server, refused, or not tried because the model did not
call.
"""

from __future__ import annotations

from pytest_bfcl.extensions.wire.exchange import Exchange
from pytest_bfcl.extensions.wire.replies import Reply


class NotHeld(Exception):
    """How a check ended other than held. ``exchanges`` prove it; ``proof`` is the part of the bytes that matters;
    ``cells`` names where in the matrix it was so.
    """

    def __init__(self, why: str, *shown: Reply | Exchange, proof: bytes = b"", cells: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.why = why
        self.cells = cells
        self.exchanges = tuple(each if isinstance(each, Exchange) else each.exchange for each in shown)
        self.proof = proof


class Broke(NotHeld):
    """The server broke the rule. ``certain`` is false where a strange model could have done the same."""

    certain = True


class LikelyBroke(Broke):
    """A rule is broken by something that a model could do too, but none is known to."""

    certain = False


class Suspected(LikelyBroke):
    """The same question is answered rightly one way and wrongly another: counts when it is seen a second time."""


class NotCalled(NotHeld):
    """The model did not do what was plainly asked: nothing is said about the server."""


class Refused(NotHeld):
    """The server says, with a 4xx, that it does not offer this."""


class Blocked(NotHeld):
    """Not judged: the rule named ``by`` explains what this one would have found."""

    def __init__(self, by: str) -> None:
        super().__init__(f"not judged: {by} is broken")
        self.by = by
