"""A rule as a row: what must be so, and a plain function from one answer to what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_bfcl.extensions.wire.cells import Judged
from pytest_bfcl.extensions.wire.check import OPENAI, Api, Rule

Form = Literal["unstreamed", "streamed", "both"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one answer; ``proof``: the bytes that show it.

    ``certain``: no model could have done this. ``weighed``: a model could, so that it counts only where every plainer
    way of asking is right, and the same is seen again and again.
    """

    why: str
    proof: bytes = b""
    certain: bool = True
    weighed: bool = False


Found = Sequence[Finding] | None
"""What a rule says of an answer: faults, none (it held), or ``None``: nothing to judge here."""


RowJudges = Mapping[str, Callable[[Judged], Found]]
"""What judges an answer, by the rule's name in ``rules.toml``."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule over every answer of the matrix that it applies to.

    ``after``: rules whose findings in the same answer, or in the unstreamed answer to the same question, explain this
    one's. ``optional``: nothing but cells that a server may refuse. ``gate``: in unusual cells the fault is the cell's.
    """

    name: str
    rule: Rule
    judge: Callable[[Judged], Found]
    form: Form = "unstreamed"
    after: tuple[str, ...] = ()
    apis: tuple[Api, ...] = OPENAI
    optional: bool = False
    gate: bool = False

    def applies(self, judged: Judged) -> bool:
        """Whether it is about answers of this API and form."""
        return judged.api in self.apis and self.form in ("both", "streamed" if judged.cell.streamed else "unstreamed")


def wrong(why: str | None, proof: bytes = b"", *, certain: bool = True, weighed: bool = False) -> list[Finding]:
    """One finding, none without words."""
    return [Finding(why, proof, certain and not weighed, weighed)] if why else []
